/* SPDX-License-Identifier: MIT */
#ifndef KIN_LISTWATCH_LISTWATCH_CORE_H
#define KIN_LISTWATCH_LISTWATCH_CORE_H

#include <assert.h>

#include "listwatch/listwatch.h"

/* Shared by the files of the state machine. listwatch.c has the inputs;
 * stream.c those of a list that comes as a watch; watch_only.c and list_once.c
 * those of machines that only watch or only list; verify.c those of a verify;
 * lost.c the way on from a lost position; enter.c the ways into each state;
 * wait.c the time between attempts; state.c the table of transitions. */

#define KIN__VERY_SHORT_WATCH_MS 1000u /* CN-03 */
#define KIN__WATCH_MARGIN_MS 30000u
/* Timeout of a verify's watch. An API server sends a bookmark two seconds
 * before a watch's end, so a watch of 3 s gets one. */
#define KIN__SHORT_TIMEOUT_S 3u
#define KIN__SHORT_MARGIN_MS 5000u
/* After this many failed streams an ordinary list follows. */
#define KIN__STREAM_TRIES 2u

static inline bool kin__listwatch_is(const kin__listwatch *listwatch,
                                     kin__listwatch_mode mode) {
  return listwatch->options.mode == mode;
}

/* Data of the present state, which must be this one. */
static inline kin__streaming *
kin__listwatch_streaming(kin__listwatch *listwatch) {
  assert(listwatch->state == KIN__LISTWATCH_STREAMING);
  return &listwatch->in.streaming;
}

static inline kin__applying *
kin__listwatch_applying(kin__listwatch *listwatch) {
  assert(listwatch->state == KIN__LISTWATCH_APPLYING);
  return &listwatch->in.applying;
}

static inline kin__opening *kin__listwatch_opening(kin__listwatch *listwatch) {
  assert(listwatch->state == KIN__LISTWATCH_OPENING);
  return &listwatch->in.opening;
}

static inline kin__watching *
kin__listwatch_watching(kin__listwatch *listwatch) {
  assert(listwatch->state == KIN__LISTWATCH_WATCHING);
  return &listwatch->in.watching;
}

static inline kin__waiting *kin__listwatch_waiting(kin__listwatch *listwatch) {
  assert(listwatch->state == KIN__LISTWATCH_WAITING);
  return &listwatch->in.waiting;
}

/* Whether a verify is open. */
static inline bool
kin__listwatch_is_verifying(const kin__listwatch *listwatch) {
  return listwatch->verify.phase != KIN__VERIFY_NONE;
}

static inline bool kin__listwatch_has_listed(const kin__listwatch *listwatch) {
  return listwatch->past.applied_ms != UINT64_MAX;
}

void kin__listwatch_copy_version(char to[KIN__VERSION_SIZE], const char *from);
void kin__listwatch_init_backoffs(kin__listwatch *listwatch, uint64_t now_ms);

/* True for "" and "0", which are no position. */
bool kin__listwatch_is_any_version(const char *version);
/* Records the loss. An open verify ends with KIN_EGONE. */
void kin__listwatch_lose_position(kin__listwatch *listwatch,
                                  kin_relist_reason reason,
                                  kin__listwatch_actions *actions);
/* Whether the failure loses the position; if so, records the loss. */
bool kin__listwatch_lose_position_by(kin__listwatch *listwatch,
                                     const kin__failure *failure,
                                     kin__listwatch_actions *actions);
/* The found list is not newer than the lost position, or older than the start
 * version, and not a consistent one, so a consistent list has to follow. */
bool kin__listwatch_list_brings_nothing(const kin__listwatch *listwatch);
/* Whether the found list is older than the position: the server's versions went
 * back (a restored backup). If so, doubts the versions: the same uid and version
 * may now name different content, so the list is made again without reuse of
 * cached objects. True once for each lost position. */
bool kin__listwatch_note_older_list(kin__listwatch *listwatch);
/* A list is in the store, and its version is about to become the position. */
void kin__listwatch_note_progress(kin__listwatch *listwatch, uint64_t now_ms);
/* At the beginning of a step: notes whether the open watch has held. */
void kin__listwatch_note_held(kin__listwatch *listwatch, uint64_t now_ms);
/* Counts the failure that lost the position, and waits before the list. */
void kin__listwatch_wait_for_list(kin__listwatch *listwatch,
                                  const kin__failure *failure, uint64_t now_ms,
                                  kin__listwatch_actions *actions);
/* The list that follows a watch without a position: at once, or
 * LIST_DISTANCE_MS after the last list. */
void kin__listwatch_list_again(kin__listwatch *listwatch, uint64_t now_ms,
                               kin__listwatch_actions *actions);

/* The ways into each state. No other function changes the state, and each makes
 * the data of its state. */

/* Makes the list under way a new one. It counts as the same one again in this:
 * it falls back to a consistent list at most once. Strings are static or the
 * options'. */
void kin__listwatch_begin_list(kin__listwatch *listwatch, const char *version,
                               const char *match, uint32_t limit);
/* The `limit` of an option page_size; of 0: the default, if the list is paged. */
uint32_t kin__listwatch_limit(uint32_t page_size, bool is_paged);
/* To LISTING: the first page of a new list; of the same list again; of the same
 * list as a consistent one; the next page. */
void kin__listwatch_to_listing(kin__listwatch *listwatch,
                               kin__listwatch_actions *actions);
void kin__listwatch_restart_list(kin__listwatch *listwatch,
                                 kin__listwatch_actions *actions);
void kin__listwatch_restart_consistent_list(kin__listwatch *listwatch,
                                            kin__listwatch_actions *actions);
/* PG-03: if a later page has expired, the list is made again without a limit,
 * once. False: another kind of failure, or the second one. */
bool kin__listwatch_fall_back_to_full(kin__listwatch *listwatch,
                                      const kin__failure *failure,
                                      kin__listwatch_actions *actions);
void kin__listwatch_request_page(kin__listwatch *listwatch,
                                 kin__listwatch_actions *actions);
void kin__listwatch_to_streaming(kin__listwatch *listwatch, uint64_t now_ms,
                                 kin__listwatch_actions *actions);
void kin__listwatch_to_applying(kin__listwatch *listwatch,
                                const kin__applying *applying,
                                kin__listwatch_actions *actions);
void kin__listwatch_to_opening(kin__listwatch *listwatch, uint64_t now_ms,
                               kin__listwatch_actions *actions);
void kin__listwatch_to_waiting(kin__listwatch *listwatch,
                               kin__listwatch_state after, uint64_t delay_ms,
                               kin__listwatch_actions *actions);
void kin__listwatch_to_watching(kin__listwatch *listwatch,
                                const kin__watching *watching);
void kin__listwatch_to_stopped(kin__listwatch *listwatch);
/* To the first state of the machine's mode. */
void kin__listwatch_leave_idle(kin__listwatch *listwatch, uint64_t now_ms,
                               kin__listwatch_actions *actions);
/* To LISTING (or STREAMING in its place), VERIFYING or OPENING. */
void kin__listwatch_enter(kin__listwatch *listwatch, kin__listwatch_state state,
                          uint64_t now_ms, kin__listwatch_actions *actions);

uint64_t kin__listwatch_next_delay_ms(kin__listwatch *listwatch,
                                      kin__backoff_kind kind,
                                      int64_t retry_after_s, uint64_t now_ms);
/* Whether no answer came from the server. */
bool kin__listwatch_is_unreached(const kin__failure *failure);
/* Counts a failure to report, at most one in a step. */
void kin__listwatch_count_failure(kin__listwatch *listwatch, uint64_t now_ms,
                                  kin__listwatch_actions *actions);
/* Counts the failure and waits for the next step of the backoff. */
void kin__listwatch_fail_and_wait(kin__listwatch *listwatch,
                                  const kin__failure *failure,
                                  kin__listwatch_state after, uint64_t now_ms,
                                  kin__listwatch_actions *actions);

/* An internal error in an ERROR event is retried; after the deadline it loses
 * the position. False: another kind of error, or no deadline is set. */
bool kin__listwatch_retry_internal_error(kin__listwatch *listwatch,
                                         const kin__failure *failure,
                                         uint64_t now_ms,
                                         kin__listwatch_actions *actions);

/* Makes the next VERIFYING that of a verify. */
void kin__listwatch_begin_verify(kin__listwatch *listwatch, const char *target,
                                 bool needs_answer);
/* KIN__INPUT_VERIFY. */
void kin__listwatch_on_verify(kin__listwatch *listwatch,
                              const kin__listwatch_input *input,
                              uint64_t now_ms, kin__listwatch_actions *actions);
/* VERIFYING: the list of one item, or the proof, is complete. */
void kin__listwatch_on_verified_list(kin__listwatch *listwatch,
                                     const kin__listwatch_input *input,
                                     uint64_t now_ms,
                                     kin__listwatch_actions *actions);
/* The server refused the target, which need not be the position. So the
 * position is verified alone, or a list follows; or the proof is left out.
 * False: another kind of failure. */
bool kin__listwatch_verify_list_failed(kin__listwatch *listwatch,
                                       const kin__failure *failure,
                                       uint64_t now_ms,
                                       kin__listwatch_actions *actions);
/* Whether the position has come to the target of an open verify. */
bool kin__listwatch_has_reached(const kin__listwatch *listwatch);
/* A watch is granted. Whether it is on the connection of the proof. */
bool kin__listwatch_take_proof_connection(kin__listwatch *listwatch,
                                          uint64_t connection);
/* A watch ended in good order. Returns whether its end answers an open
 * verify. */
bool kin__listwatch_proves_verify(kin__listwatch *listwatch, uint64_t quiet_ms,
                                  uint64_t now_ms);
/* A watch ended while the verify is open. Returns the next state. */
kin__listwatch_state
kin__listwatch_after_short_watch(kin__listwatch *listwatch, uint64_t now_ms,
                                 kin__listwatch_actions *actions);
/* Gives an open verify its verdict. */
void kin__listwatch_end_verify(kin__listwatch *listwatch, int code,
                               kin__listwatch_actions *actions);

/* Inputs of a watch-only machine. */
void kin__listwatch_on_only_watch_failed(kin__listwatch *listwatch,
                                         const kin__failure *failure,
                                         uint64_t now_ms,
                                         kin__listwatch_actions *actions);
void kin__listwatch_on_only_watch_ended(kin__listwatch *listwatch,
                                        uint64_t now_ms,
                                        kin__listwatch_actions *actions);

/* LIST_ONCE: IDLE to LISTING, the first page. */
void kin__listwatch_begin_only_list(kin__listwatch *listwatch,
                                    kin__listwatch_actions *actions);
/* Inputs of a list-only machine. */
void kin__listwatch_on_only_page(kin__listwatch *listwatch,
                                 const kin__listwatch_input *input,
                                 kin__listwatch_actions *actions);
void kin__listwatch_on_only_page_applied(kin__listwatch *listwatch,
                                         kin__listwatch_actions *actions);
void kin__listwatch_on_only_list_failed(kin__listwatch *listwatch,
                                        const kin__failure *failure,
                                        uint64_t now_ms,
                                        kin__listwatch_actions *actions);

/* Inputs in STREAMING, and in APPLYING while the stream is still open. */
void kin__listwatch_on_stream_head(kin__listwatch *listwatch, uint64_t now_ms,
                                   kin__listwatch_actions *actions);
void kin__listwatch_on_stream_complete(kin__listwatch *listwatch,
                                       const char *version, uint64_t now_ms,
                                       kin__listwatch_actions *actions);
void kin__listwatch_on_stream_applied(kin__listwatch *listwatch,
                                      uint64_t now_ms,
                                      kin__listwatch_actions *actions);
void kin__listwatch_on_stream_ended(kin__listwatch *listwatch, uint64_t now_ms,
                                    kin__listwatch_actions *actions);
void kin__listwatch_on_stream_failed(kin__listwatch *listwatch,
                                     const kin__failure *failure,
                                     uint64_t now_ms,
                                     kin__listwatch_actions *actions);
/* A list or a watch is granted: it may show that the server refuses nothing but
 * streams. */
void kin__listwatch_blame_streams(kin__listwatch *listwatch);
void kin__listwatch_on_stream_refused(kin__listwatch *listwatch,
                                      kin__listwatch_actions *actions);
void kin__listwatch_on_stream_timer(kin__listwatch *listwatch, uint64_t now_ms,
                                    kin__listwatch_actions *actions);

#endif /* KIN_LISTWATCH_LISTWATCH_CORE_H */
