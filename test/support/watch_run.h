/* SPDX-License-Identifier: MIT */
#ifndef KIN_TEST_WATCH_RUN_H
#define KIN_TEST_WATCH_RUN_H

#include <stddef.h>
#include <stdint.h>

#include "decode/watch.h"
#include "support/decoded.h"

/* One watch being decoded, in any spans. */
typedef struct watch_run {
  decoded got;
  kin__watch_decoder *decoder;
  kin__projection *projection;
} watch_run;

/* Frames of up to 1 MiB, or of what is given, without metadata.managedFields. */
void watch_run_init(watch_run *r);
void watch_run_init_limited(watch_run *r, uint32_t max_object_bytes);
/* With all that comes. */
void watch_run_init_whole(watch_run *r);
void watch_run_finish(watch_run *r);

/* Forgets the last body; what `got` was told to know stays. */
void watch_run_again(watch_run *r);

/* Feeds bytes that are gone afterwards. */
int watch_run_feed(watch_run *r, const char *bytes, size_t length);

/* Feeds the text in two parts cut at an offset, or byte by byte. Returns the
 * first error. */
int watch_run_decode(watch_run *r, kin_str text, int cut);

#endif /* KIN_TEST_WATCH_RUN_H */
