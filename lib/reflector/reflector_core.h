/* SPDX-License-Identifier: MIT */
#ifndef KIN_REFLECTOR_REFLECTOR_CORE_H
#define KIN_REFLECTOR_REFLECTOR_CORE_H

#include "reflector/reflector.h"

/* What the files of the state machine share. reflector.c has the inputs,
 * reflector_stream.c those of a list that comes as a watch, reflector_only.c
 * those of a reflector that makes no list, reflector_enter.c the ways into each
 * state. */

#define KIN__VERY_SHORT_WATCH_MS 1000u /* CN-03 */
#define KIN__WATCH_MARGIN_MS 30000u
/* Streams that are given up before a list is made instead. */
#define KIN__STREAM_TRIES 2u

void kin__copy_version(char to[KIN__VERSION_SIZE], const char *from);
/* The list that has been found is older than the position, which only a server
 * gives whose versions have gone back: what was told by uid and version to be
 * cached may be something else. True once for each lost position; such a list
 * has to be made again. */
bool kin__list_goes_back(kin__reflector *reflector);
void kin__to_state(kin__reflector *reflector, kin__reflector_state state);

/* LISTING: the first page of a new list, of the same one again, the next
 * page. */
void kin__to_listing(kin__reflector *reflector,
                     kin__reflector_actions *actions);
void kin__restart_list(kin__reflector *reflector,
                       kin__reflector_actions *actions);
void kin__request_page(kin__reflector *reflector,
                       kin__reflector_actions *actions);
void kin__to_streaming(kin__reflector *reflector, uint64_t now_ms,
                       kin__reflector_actions *actions);
void kin__to_opening(kin__reflector *reflector, uint64_t now_ms,
                     kin__reflector_actions *actions);
void kin__to_waiting(kin__reflector *reflector, kin__reflector_state after,
                     uint64_t delay_ms, kin__reflector_actions *actions);
/* LISTING (which may be STREAMING), VERIFYING or OPENING. */
void kin__enter(kin__reflector *reflector, kin__reflector_state state,
                uint64_t now_ms, kin__reflector_actions *actions);

/* What the server asked for, if that is more. */
uint64_t kin__delay_at_least(uint64_t delay_ms, int64_t retry_after_s);
uint64_t kin__next_delay_ms(kin__reflector *reflector, int64_t retry_after_s,
                            uint64_t now_ms);
void kin__count_failure(kin__reflector *reflector, uint64_t now_ms,
                        kin__reflector_actions *actions);
/* Counts the failure and waits for the next step of the backoff. */
void kin__fail_and_wait(kin__reflector *reflector, const kin__failure *failure,
                        kin__reflector_state after, uint64_t now_ms,
                        kin__reflector_actions *actions);

/* Inputs of a reflector that only watches. */
void kin__on_only_watch_failed(kin__reflector *reflector,
                               const kin__failure *failure, uint64_t now_ms,
                               kin__reflector_actions *actions);
void kin__on_only_watch_ended(kin__reflector *reflector, uint64_t now_ms,
                              kin__reflector_actions *actions);

/* Inputs in STREAMING, and in APPLYING while the stream is still open. */
void kin__on_stream_head(kin__reflector *reflector, uint64_t now_ms,
                         kin__reflector_actions *actions);
void kin__on_stream_complete(kin__reflector *reflector, const char *version,
                             kin__reflector_actions *actions);
void kin__on_stream_applied(kin__reflector *reflector, uint64_t now_ms,
                            kin__reflector_actions *actions);
void kin__on_stream_ended(kin__reflector *reflector, uint64_t now_ms,
                          kin__reflector_actions *actions);
void kin__on_stream_failed(kin__reflector *reflector,
                           const kin__failure *failure, uint64_t now_ms,
                           kin__reflector_actions *actions);
void kin__on_stream_refused(kin__reflector *reflector,
                            kin__reflector_actions *actions);
void kin__on_stream_timer(kin__reflector *reflector,
                          kin__reflector_actions *actions);

#endif /* KIN_REFLECTOR_REFLECTOR_CORE_H */
