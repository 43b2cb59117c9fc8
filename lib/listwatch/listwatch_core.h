/* SPDX-License-Identifier: MIT */
#ifndef KIN_LISTWATCH_LISTWATCH_CORE_H
#define KIN_LISTWATCH_LISTWATCH_CORE_H

#include "listwatch/listwatch.h"

/* What the files of the state machine share. listwatch.c has the inputs,
 * reflector_stream.c those of a list that comes as a watch, reflector_only.c
 * those of a listwatch that makes no list, reflector_verify.c those of a verify
 * that was asked for, reflector_lost.c what follows a lost position,
 * reflector_enter.c the ways into each state, reflector_wait.c the time between
 * attempts. */

#define KIN__VERY_SHORT_WATCH_MS 1000u /* CN-03 */
#define KIN__WATCH_MARGIN_MS 30000u
/* Of a watch that serves a verify: an API server sends a bookmark two seconds
 * before a watch's end, so this one comes after one. */
#define KIN__SHORT_TIMEOUT_S 3u
#define KIN__SHORT_MARGIN_MS 5000u
/* Streams that are given up before a list is made instead. */
#define KIN__STREAM_TRIES 2u

void kin__listwatch_copy_version(char to[KIN__VERSION_SIZE], const char *from);
void kin__listwatch_to_state(kin__listwatch *listwatch,
                             kin__listwatch_state state);
void kin__listwatch_init_backoffs(kin__listwatch *listwatch, uint64_t now_ms);

/* "" and "0": no position. */
bool kin__listwatch_is_any_version(const char *version);
/* The position is lost; an open verify ends with KIN_EGONE. */
void kin__listwatch_lose_position(kin__listwatch *listwatch,
                                  kin__lost_reason reason);
/* Whether a failure loses it, which is done then. */
bool kin__listwatch_loses_position(kin__listwatch *listwatch,
                                   const kin__failure *failure);
/* The list that has been found is not newer than the position that was lost,
 * and not a consistent one, so one that is has to be made. */
bool kin__listwatch_list_brings_nothing(const kin__listwatch *listwatch);
/* The list that has been found is older than the position, which only a server
 * gives whose versions have gone back: what was told by uid and version to be
 * cached may be something else. True once for each lost position; such a list
 * has to be made again. */
bool kin__listwatch_list_goes_back(kin__listwatch *listwatch);
/* At the beginning of a step: a watch that is open may have held. */
void kin__listwatch_note_held(kin__listwatch *listwatch, uint64_t now_ms);
/* Counts the failure that lost the position, and waits for the list. */
void kin__listwatch_wait_for_list(kin__listwatch *listwatch,
                                  const kin__failure *failure, uint64_t now_ms,
                                  kin__listwatch_actions *actions);
/* The list after a watch without a position: at once, or when the last one was
 * long enough ago. */
void kin__listwatch_list_again(kin__listwatch *listwatch, uint64_t now_ms,
                               kin__listwatch_actions *actions);

/* LISTING: the first page of a new list, of the same one again, of the same as
 * a consistent one, the next page. */
void kin__listwatch_to_listing(kin__listwatch *listwatch,
                               kin__listwatch_actions *actions);
void kin__listwatch_restart_list(kin__listwatch *listwatch,
                                 kin__listwatch_actions *actions);
void kin__listwatch_restart_consistent_list(kin__listwatch *listwatch,
                                            kin__listwatch_actions *actions);
void kin__listwatch_request_page(kin__listwatch *listwatch,
                                 kin__listwatch_actions *actions);
void kin__listwatch_to_streaming(kin__listwatch *listwatch, uint64_t now_ms,
                                 kin__listwatch_actions *actions);
void kin__listwatch_to_opening(kin__listwatch *listwatch, uint64_t now_ms,
                               kin__listwatch_actions *actions);
void kin__listwatch_to_waiting(kin__listwatch *listwatch,
                               kin__listwatch_state after, uint64_t delay_ms,
                               kin__listwatch_actions *actions);
/* LISTING (which may be STREAMING), VERIFYING or OPENING. */
void kin__listwatch_enter(kin__listwatch *listwatch, kin__listwatch_state state,
                          uint64_t now_ms, kin__listwatch_actions *actions);

/* What the server asked for, if that is more. */
uint64_t kin__listwatch_delay_at_least(uint64_t delay_ms,
                                       int64_t retry_after_s);
uint64_t kin__listwatch_next_delay_ms(kin__listwatch *listwatch,
                                      kin__backoff_kind kind,
                                      int64_t retry_after_s, uint64_t now_ms);
/* Whether the server gave no answer at all. */
bool kin__listwatch_is_unreached(const kin__failure *failure);
void kin__listwatch_count_failure(kin__listwatch *listwatch, uint64_t now_ms,
                                  kin__listwatch_actions *actions);
/* Counts the failure and waits for the next step of the backoff. */
void kin__listwatch_fail_and_wait(kin__listwatch *listwatch,
                                  const kin__failure *failure,
                                  kin__listwatch_state after, uint64_t now_ms,
                                  kin__listwatch_actions *actions);

/* An ERROR event that is an internal error is retried, or, after the deadline,
 * loses the position. False: it is another one, or there is no deadline. */
bool kin__listwatch_retries_internal_error(kin__listwatch *listwatch,
                                           const kin__failure *failure,
                                           uint64_t now_ms,
                                           kin__listwatch_actions *actions);

/* KIN__INPUT_VERIFY. */
void kin__listwatch_on_verify(kin__listwatch *listwatch, const char *target,
                              uint64_t now_ms, kin__listwatch_actions *actions);
/* VERIFYING: the list of one item, or the proof, has been made. */
void kin__listwatch_on_verified_list(kin__listwatch *listwatch,
                                     const kin__listwatch_input *input,
                                     uint64_t now_ms,
                                     kin__listwatch_actions *actions);
/* It was refused for what was asked for, which need not be the position: the
 * position is verified by itself, or there is no proof. False: it is another
 * failure. */
bool kin__listwatch_verify_list_failed(kin__listwatch *listwatch,
                                       const kin__failure *failure,
                                       uint64_t now_ms,
                                       kin__listwatch_actions *actions);
/* The position has moved: that may have been all. */
void kin__listwatch_check_verify(kin__listwatch *listwatch);
/* A watch was granted. */
void kin__listwatch_on_short_head(kin__listwatch *listwatch,
                                  uint64_t connection);
/* A watch has ended in good order: whether that answers an open verify. */
bool kin__listwatch_proves_verify(kin__listwatch *listwatch, uint64_t quiet_ms,
                                  uint64_t now_ms);
/* The verify is open, and a watch has ended: where to go on. */
kin__listwatch_state
kin__listwatch_after_short_watch(kin__listwatch *listwatch);
/* At the end of a step: it may have lost the position. */
void kin__listwatch_tell_lost_verify(kin__listwatch *listwatch, uint64_t now_ms,
                                     kin__listwatch_actions *actions);
/* If it is open. */
void kin__listwatch_end_verify(kin__listwatch *listwatch, int code);

/* Inputs of a listwatch that only watches. */
void kin__listwatch_on_only_watch_failed(kin__listwatch *listwatch,
                                         const kin__failure *failure,
                                         uint64_t now_ms,
                                         kin__listwatch_actions *actions);
void kin__listwatch_on_only_watch_ended(kin__listwatch *listwatch,
                                        uint64_t now_ms,
                                        kin__listwatch_actions *actions);

/* Inputs of a listwatch that only lists. */
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
void kin__listwatch_on_stream_refused(kin__listwatch *listwatch,
                                      kin__listwatch_actions *actions);
void kin__listwatch_on_stream_timer(kin__listwatch *listwatch, uint64_t now_ms,
                                    kin__listwatch_actions *actions);

#endif /* KIN_LISTWATCH_LISTWATCH_CORE_H */
