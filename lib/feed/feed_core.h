/* SPDX-License-Identifier: MIT */
#ifndef KIN_FEED_FEED_CORE_H
#define KIN_FEED_FEED_CORE_H

#include "feed/feed.h"

/* Shared by the files of a feed. feed.c carries the machine's actions out;
 * request_life.c has the request at the source, list_turn.c the place among the
 * client's lists; feed_input.c takes objects from a source; feed_verify.c finds
 * out whether a feed is up to date; feed_state.c computes the public state;
 * feed_report.c logs. */

static inline bool kin__is_watch(kin__request_kind request) {
  return request == KIN__REQUEST_WATCH || request == KIN__REQUEST_STREAM;
}

/* Of objects; a stream is one until it is complete. */
static inline bool kin__is_list(kin__request_kind request) {
  return request == KIN__REQUEST_LIST || request == KIN__REQUEST_STREAM;
}

/* The age of the open request; of a list: of its first page. */
static inline uint64_t kin__feed_request_age_ns(const kin_feed *feed) {
  return kin__clock_ns(&feed->env->clock) - feed->metrics.request_began_ns;
}

/* Counts a value of the metrics. */
static inline void kin__feed_count(kin_feed *feed, kin__feed_histogram which,
                                   uint64_t value) {
  kin__small_histogram_add(&feed->metrics.histograms[which],
                           feed->env->allocator, value, 1);
}

/* Gives the machine an input and carries its actions out. */
void kin__feed_step(kin_feed *feed, const kin__listwatch_input *input);

/* Carries actions out, in their declared order. `failure`: of the input. */
void kin__feed_act(kin_feed *feed, const kin__listwatch_actions *actions,
                   const kin__failure *failure);

/* Makes a request, if the owner admits it. `err`: a failure before; it is an
 * input of the machine, as is a failure of the owner or the source. */
void kin__feed_make_request(kin_feed *feed,
                            const kin__listwatch_request *wanted, int err);

/* Opens a request at the source. Errors: the modifier's, the source's. */
int kin__feed_send_request(kin_feed *feed,
                           const kin__listwatch_request *wanted);
/* The time of a request begins now; of a list: with its first page. */
void kin__feed_start_clock(kin_feed *feed);
/* Unknown until the list: whether the server selects the objects of the
 * shard. */
void kin__feed_doubt_shard(kin_feed *feed);
/* Reading stops while a streamed list is applied, so that no event overtakes
 * the list. */
void kin__feed_hold(kin_feed *feed);
/* The list is applied: takes the events that were held, and reads on. */
void kin__feed_unhold(kin_feed *feed);
/* The request has ended at its source. */
void kin__feed_request_ended(kin_feed *feed);
/* Cancels the request, if one is open. The source must not feed from inside
 * cancel. */
void kin__feed_drop_request(kin_feed *feed);

/* A client makes a few lists at a time (a stream is a list until it is
 * complete). So many informers that start together do not request and stage all
 * objects at once. *must_wait: the request is made when its turn comes. Errors:
 * KIN_ENOMEM. */
int kin__feed_take_turn(kin_feed *feed, const kin__listwatch_request *wanted,
                        bool *must_wait);
/* The machine's state has changed. A list that waits for another attempt, or is
 * being applied, goes on without its place. */
void kin__feed_update_turn(kin_feed *feed);

/* Something has come. An answer that is late, and is not a watch, is logged once
 * and makes the state STALE. */
void kin__feed_mind_time(kin_feed *feed);
void kin__feed_report_late(kin_feed *feed, uint64_t after_ms);

/* Time until failures without a success make the state STALE; UINT64_MAX: they
 * do so already. */
uint64_t kin__feed_stale_in_ms(const kin_feed *feed);

/* A verify has ended. The owner is told if the verify was asked for. */
void kin__feed_take_verdict(kin_feed *feed, const kin__verdict *verdict);
/* The machine's state has changed: starts or stops the silence timer. */
void kin__feed_mind_silence(kin_feed *feed);
void kin__feed_init_silence(kin_feed *feed);

/* A failure of a request of that kind, which need not be open. */
void kin__feed_failure_of(const kin_feed *feed, kin__request_kind kind,
                          int code, kin__failure *failure);
/* Logs the failure that actions.report stands for, which is not
 * KIN__REPORT_NONE, and notifies the owner. */
void kin__feed_report_action(kin_feed *feed,
                             const kin__listwatch_actions *actions,
                             const kin__failure *failure);
/* A stream was silent, or without progress, for so long that a list follows. */
void kin__feed_report_silence(const kin_feed *feed,
                              const kin__listwatch_actions *actions);
/* A list has its turn after a wait (CN-08). */
void kin__feed_report_turn(kin_feed *feed, uint64_t waited_ms);
/* A list was not complete in time. It goes on, but its place among the client's
 * lists is free. */
void kin__feed_report_overdue(kin_feed *feed);
/* Points in the life of a list (OQ-07): wanted; asked for, when its turn has
 * come; complete; applied, where a slow list is reported. Other requests may be
 * asked for without a list. */
void kin__feed_list_wanted(kin_feed *feed);
void kin__feed_list_asked(kin_feed *feed);
/* A page has ended with this token. Why the list has no end; NULL: nothing is
 * wrong. */
const char *kin__feed_list_page(kin_feed *feed, const char *token);
void kin__feed_list_complete(kin_feed *feed);
void kin__feed_list_applied(kin_feed *feed);

#endif /* KIN_FEED_FEED_CORE_H */
