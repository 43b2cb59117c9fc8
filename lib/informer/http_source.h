/* SPDX-License-Identifier: MIT */
#ifndef KIN_INFORMER_HTTP_SOURCE_H
#define KIN_INFORMER_HTTP_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include <kin/lister_watcher.h>

#include "base/buf.h"
#include "decode/list.h"
#include "decode/projection.h"
#include "decode/watch.h"
#include "informer/env.h"
#include "reflector/request.h"

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
  void *exchange; /* NULL if none is */
  bool is_watch;
  bool is_verify;  /* its items are not wanted */
  int http_status; /* 0 before the head */
  int64_t retry_after_s;
  kin__buf target;
  kin__buf error_body;
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

#endif /* KIN_INFORMER_HTTP_SOURCE_H */
