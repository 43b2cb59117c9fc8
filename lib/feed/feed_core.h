/* SPDX-License-Identifier: MIT */
#ifndef KIN_FEED_FEED_CORE_H
#define KIN_FEED_FEED_CORE_H

#include "feed/feed.h"

/* What the files of a feed share: feed.c carries the reflector's actions out,
 * feed_input.c takes what a source feeds, feed_verify.c finds out whether a
 * feed is up to date, feed_state.c says what it is doing, feed_report.c
 * logs. */

static inline bool kin__is_watch(kin__listwatch_request request) {
  return request == KIN__REQUEST_WATCH || request == KIN__REQUEST_STREAM;
}

/* A step of the reflector, and what is to be done after it. */
void kin__feed_step(kin_feed *feed, const kin__listwatch_input *input);

/* A verify may have come to its end. */
void kin__feed_check_verdict(kin_feed *feed);
/* The reflector is in another state: whether silence is of interest. */
void kin__feed_mind_silence(kin_feed *feed);
void kin__feed_init_silence(kin_feed *feed);

/* A failure is told, and logged. */
void kin__feed_report(kin_feed *feed, const kin__failure *failure,
                      uint64_t retry_in_ms);
/* A verify has lost the position; the same. */
void kin__feed_report_lost(kin_feed *feed, uint64_t retry_in_ms);
/* A stream has said nothing, or nothing of use, for so long that a list is
 * made. */
void kin__feed_report_silence(const kin_feed *feed,
                              const kin__listwatch_actions *actions);
/* A list has waited for its turn (CN-08), and has it now. */
void kin__feed_report_turn(kin_feed *feed, uint64_t waited_ms);
/* A list has lost its place among the client's lists, because it was not
 * complete in time, and goes on. */
void kin__feed_report_overdue(kin_feed *feed);
/* A list has come to its next point (OQ-07): it is wanted; asked for, after
 * its turn came; complete; applied, at which it is reported if it was slow. */
void kin__feed_list_wanted(kin_feed *feed);
void kin__feed_list_asked(kin_feed *feed);
void kin__feed_list_complete(kin_feed *feed);
void kin__feed_list_applied(kin_feed *feed);

#endif /* KIN_FEED_FEED_CORE_H */
