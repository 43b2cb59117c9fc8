/* SPDX-License-Identifier: MIT */
#ifndef KIN_FEED_OBJECT_NOTICE_H
#define KIN_FEED_OBJECT_NOTICE_H

#include <stdint.h>

#include <kin/lister_watcher.h>

#include "base/hash.h"
#include "base/sched.h"
#include "base/timers.h"
#include "decode/sink.h"
#include "object/object.h"
#include "listwatch/failure.h"

/* What a feed has to tell about single objects that it could not take as they
 * are, and went on without: those over a limit, of which only the key is
 * kept, and those that are no objects of an API, which are skipped.
 *
 * A state is told, and counted, once for each key, uid and version, as far as a
 * table of KIN__OBJECT_NOTICE_TABLE places can remember. Whatever a server
 * sends, there is at most one event in KIN__OBJECT_NOTICE_MS: about the first
 * object, saying how many more there were. Kept in place, so that it can be
 * told when there is no memory. */
#define KIN__OBJECT_NOTICE_TABLE 4096u
#define KIN__OBJECT_NOTICE_MS 1000u

typedef struct kin__object_notice {
  kin__task task;     /* tells */
  kin__timer timer;   /* until it may tell again */
  uint64_t next_ms;   /* not before */
  kin__failure first; /* that has not been told */
  uint32_t untold;    /* how many there are */
  kin__hash_seed seed;
  uint64_t *told; /* fingerprints, at their value modulo the table's size; 0:
                   * none. NULL before the first */
} kin__object_notice;

void kin__object_notice_init(kin__object_notice *notice);
/* Nothing more is told. */
void kin__object_notice_stop(kin_feed *feed);
void kin__object_notice_finish(kin_feed *feed);

/* An object of the open request was over one of the limits, none of which is
 * 0. */
void kin__feed_oversized(kin_feed *feed, const kin__object_parts *parts,
                         const kin__decode_limits *limits);
/* One of it is no object of an API: see kin__decode_sink.bad. Returns 0, or
 * `code` if the feed cannot go on without (TW-04). */
int kin__feed_bad_object(kin_feed *feed, int code,
                         const kin__object_parts *identity);

#endif /* KIN_FEED_OBJECT_NOTICE_H */
