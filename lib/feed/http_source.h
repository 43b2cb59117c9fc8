/* SPDX-License-Identifier: MIT */
#ifndef KIN_FEED_HTTP_SOURCE_H
#define KIN_FEED_HTTP_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include <kin/lister_watcher.h>

#include "base/buf.h"
#include "decode/list.h"
#include "decode/projection.h"
#include "decode/watch.h"
#include "client/env.h"
#include "feed/settings.h"
#include "listwatch/target.h"

/* A request until its answer is known to be a list or a watch. */
typedef struct kin__http_pending {
  struct kin__http_source *source;
  kin__limiter_visitor turn; /* at env->limiter */
  kin__buf target;           /* until the request is sent */
  kin__buf error_body;
  kin__timer error_timer;    /* limits the time of an error body */
  kin__status_search search; /* in a 200's body */
} kin__http_pending;

/* The lister-watcher for an API server: one per feed. It writes the request,
 * checks the head of the response, decodes the body, and gives the objects to
 * the feed. */
typedef struct kin__http_source {
  const kin__env *env;
  kin__memory *memory; /* for objects; env's, unless the owner sets another */
  const kin__settings *settings;

  kin_feed *feed; /* whose request is open */
  void *exchange; /* NULL: none, or the request waits for its turn */
  kin__http_pending *pending; /* NULL: no request is open, or see there */
  bool is_watch;
  bool is_paused;
  bool is_verify;  /* a verify: its items are ignored */
  bool has_usable; /* a usable object has come since the list's first page */
  bool has_bad;    /* the same of an object that is no API object */
  bool has_body;   /* a byte of the body has come */
  uint16_t slow_bytes; /* of a body that is no watch, see is_too_slow */
  int http_status;     /* 0 before the head */
  uint32_t slow_ms;
  int64_t retry_after_s;
  kin__list_decoder *list_decoder;   /* from the body's first byte to its end */
  kin__watch_decoder *watch_decoder; /* in the middle of a frame, else NULL */
  kin_object *known;                 /* result of known(): one reference */
  kin__status *error_event;          /* valid while a decoder parses */
} kin__http_source;

/* All pointers must outlive the source. Allocates nothing; a source without an
 * open request owns nothing. */
void kin__http_source_init(kin__http_source *source, const kin__env *env,
                           const kin__settings *settings);

/* Its functions; their ctx is the source. Static. */
const kin_lister_watcher *kin__http_source_lister_watcher(void);

/* Bytes by which an object's next state is likely larger, because items of a
 * list lack fields: see kin__object_parts. */
size_t kin__http_source_headroom(kin__decoded_type type, kin_str body);

#endif /* KIN_FEED_HTTP_SOURCE_H */
