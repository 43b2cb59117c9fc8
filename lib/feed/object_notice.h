/* SPDX-License-Identifier: MIT */
#ifndef KIN_FEED_OBJECT_NOTICE_H
#define KIN_FEED_OBJECT_NOTICE_H

#include <stdint.h>

#include <kin/lister_watcher.h>

#include "base/sched.h"
#include "base/timers.h"
#include "decode/sink.h"
#include "object/object.h"
#include "feed/noted_failure.h"
#include "feed/told_states.h"

/* Notices about single objects that the feed could not take as they are. An
 * object over a limit is kept as its key alone. An object that is no API object
 * is skipped. An informer adds the objects that its transform refused.
 *
 * Each key, uid and version is reported and counted once, as far as
 * told_states.h can remember. The server cannot cause more than one error event
 * in KIN__OBJECT_NOTICE_MS, and one before the end of a feed: the event names
 * the first object and the number of others. */
#define KIN__OBJECT_NOTICE_MS 1000u

typedef struct kin__object_notice {
  kin_feed *feed;
  kin__task task;   /* reports */
  kin__timer timer; /* until the next report is allowed */
  uint64_t next_ms; /* no report before this time */
  kin__noted_failures untold;
  kin__told_states told;
} kin__object_notice;

/* Reports what is not reported yet, now: before the end of a feed that no later
 * report may follow. The report may do what an event callback may. */
void kin__object_notice_flush(kin_feed *feed);
/* A feed's notice is made with its first such object. Drops pending reports. */
void kin__object_notice_stop(kin_feed *feed);
void kin__object_notice_finish(kin_feed *feed);

/* An object of the open request is over one of the limits. No limit is 0.
 * Errors: KIN_ENOMEM. */
int kin__feed_oversized(kin_feed *feed, const kin__object_parts *parts,
                        const kin__decode_limits *limits);
/* An object of the open request is no API object: see kin__decode_sink.bad.
 * Returns 0, KIN_ENOMEM, or `code` if the feed cannot skip it (TW-04). */
int kin__feed_bad_object(kin_feed *feed, int code,
                         const kin__object_parts *identity);

/* Some other failure of an object, whose message names the object. Errors:
 * KIN_ENOMEM. */
int kin__feed_note_object(kin_feed *feed, kin__failure *failure);
/* A list begins. If versions repeat, each state counts as new from here on, for
 * the owner, too. */
void kin__feed_forget_states(kin_feed *feed);
/* Whether a report is due. */
bool kin__object_notice_is_due(const kin_feed *feed);

#endif /* KIN_FEED_OBJECT_NOTICE_H */
