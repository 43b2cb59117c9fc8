/* SPDX-License-Identifier: MIT */
#ifndef KIN_DECODE_SINK_H
#define KIN_DECODE_SINK_H

#include <stdbool.h>
#include <stdint.h>

#include "decode/status.h"
#include "object/object.h"

/* The kinds of decoded objects. */
typedef enum kin__decoded_type {
  KIN__DECODED_LISTED = 1, /* an item of a list */
  KIN__DECODED_ADDED,
  KIN__DECODED_MODIFIED,
  KIN__DECODED_DELETED
} kin__decoded_type;

/* Where decoded objects go. All calls happen inside the decoder's parse
 * function. A non-zero result ends the decoder, and parse returns it. */
typedef struct kin__decode_sink {
  void *ctx;

  /* Returns whether this object is cached as it is. The decoder asks once per
   * object (not for DELETED), as soon as namespace, name, uid and
   * resourceVersion have been seen; the other parts are empty. If true, the
   * remaining bytes are dropped as they arrive, and `object` gets an empty
   * body. May be NULL. */
  bool (*known)(void *ctx, const kin__object_parts *identity);

  int (*object)(void *ctx, kin__decoded_type type,
                const kin__object_parts *parts);

  /* Watches only. */
  int (*bookmark)(void *ctx, kin_str version, bool initial_events_end);
  int (*error)(void *ctx, const kin__status *status);

  /* An object that is valid JSON, but no API object. Codes: KIN_EKEY (without
   * metadata.name, or with a name, namespace, uid or version of over 65,535
   * bytes), KIN_EUNEXPECTED (a Table; RW-08). `identity` holds those of the
   * four strings that were found. Result 0 skips the object. NULL: such an
   * object ends the decoder. */
  int (*bad)(void *ctx, int code, const kin__object_parts *identity);
} kin__decode_sink;

/* Bounds on a server's data. 0 means the default. */
typedef struct kin__decode_limits {
  uint32_t max_object_bytes; /* of one object as it came, in a list or an event;
                              * at most 1 GiB, default 16 MiB (WS-04); a longer
                              * one is kept as its identity only */
  uint32_t max_depth;        /* of one object's nesting, the object itself being
                              * level 1; default KIN__JSON_DEPTH_MAX; a deeper
                              * one is kept as its identity only */
  uint32_t max_passed_bytes; /* of an object that is not kept or is known; at
                              * most 1 GiB, the default */
} kin__decode_limits;

#endif /* KIN_DECODE_SINK_H */
