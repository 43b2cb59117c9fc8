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
#include "listwatch/request.h"

/* The lister-watcher that asks an API server: one per feed. It writes the
 * request, checks the head of the response, feeds its body to a decoder, and
 * hands what comes out of that to the feed. */
typedef struct kin__http_source {
  const kin__env *env;
  kin__memory
      *memory; /* of the objects: env's, unless its owner sets another */
  const kin__resource *resource;
  const kin__decode_limits *limits;
  const kin__projection *projection;

  kin_feed *feed; /* whose request is open */
  void *exchange; /* NULL if none is, or while it waits for its turn */
  kin__limiter_visitor turn; /* at env->limiter */
  bool is_watch;
  bool is_paused;
  bool is_verify;  /* its items are not wanted */
  bool has_usable; /* an object of the list, from its first page on, was one of
                    * an API; or it was bad */
  bool has_bad;
  int http_status; /* 0 before the head */
  bool has_body;   /* a byte of it */
  int64_t retry_after_s;
  kin__buf target;
  kin__buf error_body;
  kin__timer error_timer;          /* while such a body comes */
  size_t status_seen;              /* of a 200's body: see kin__status_begins */
  kin__status_rest status_rest;    /* of a watch's: see kin__status_ends */
  kin__list_decoder *list_decoder; /* made when first needed */
  kin__watch_decoder *watch_decoder;
  kin_object *known; /* what known() found: one reference */
  kin__status error_event;
} kin__http_source;

/* All pointers must outlive the source. Allocates nothing. */
void kin__http_source_init(kin__http_source *source, const kin__env *env,
                           const kin__resource *resource,
                           const kin__decode_limits *limits,
                           const kin__projection *projection);
/* No request may be open. */
void kin__http_source_finish(kin__http_source *source);

kin_lister_watcher kin__http_source_lister_watcher(kin__http_source *source);

/* By how much the next state of an object is likely to be larger, because it is
 * not from a list: see kin__object_parts. */
size_t kin__http_source_headroom(kin__decoded_type type, kin_str body);

#endif /* KIN_FEED_HTTP_SOURCE_H */
