/* SPDX-License-Identifier: MIT */
#ifndef KIN_LISTWATCH_LISTWATCH_H
#define KIN_LISTWATCH_LISTWATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <kin/allocator.h>
#include <kin/str.h>

#include "base/random.h"
#include "decode/sink.h"
#include "listwatch/actions.h"
#include "listwatch/failure.h"
#include "listwatch/machine.h"
#include "listwatch/options.h"

/* The list-and-watch protocol of one scope, without I/O. Inputs and the time go
 * in, actions come out, and the driver (a feed) carries the actions out. At any
 * time at most one request is open and at most one timer runs.
 *
 *                 +-- next page, full list, too large a version --+
 *                 v                                               |
 *   IDLE ----> LISTING --complete--> APPLYING --applied--> OPENING <-+
 *                 ^                                          |       |
 *                 |                                        head      |
 *                 |                                          v       |
 *                 |          +------ saw something ------ WATCHING   |
 *                 |          |                               |       |
 *                 |          |               silent, VERIFY  |       |
 *                 |          v                               v       |
 *               WAITING   OPENING                        VERIFYING --+
 *                                                          position ok
 *
 * STREAMING stands for LISTING wherever a list can come as a watch. After
 * STREAMING, APPLYING leads to WATCHING on the same response, if that response
 * is still open.
 *
 * A failure enters WAITING. The timer leaves WAITING to the state that the
 * failure chose: to LISTING if the position is lost, else to the state of the
 * failure. STOPPED is entered from everywhere and never left.
 *
 * The position is the last resourceVersion. Only a lost position makes a new
 * list. The position is lost by: 410 on a watch (response or event), a version
 * too large for the server, StorageReadError, an undecodable body, a watch
 * request refused as malformed (400, 422), internal errors beyond their retry
 * time, and a failed verify. After a failed verify and a too large version the
 * list is a consistent one. Any other failure resumes from the last version.
 *
 * A lost position is never watched again. The next list asks for "not older
 * than" the position; if the list is not newer, a consistent list follows
 * (lost.c). Lists without a version give no position. Then a list follows each
 * watch, however the watch ended, and each verify (KIN_ENOTSUP).
 *
 * KIN__INPUT_VERIFY goes from WATCHING to VERIFYING, then to OPENING and
 * WATCHING for one or two short watches (verify.c). In WAITING without a
 * failure VERIFYING comes after the wait. The short watches either
 * come to the target version, or prove that nothing is left up to it, or the
 * position is lost and a consistent list follows. If the server refuses the
 * target, VERIFYING is entered again for the position alone; or a consistent
 * list follows, if the verify needs an answer. In any verify a version before
 * the position leads to LISTING at once.
 *
 * KIN__INPUT_RELIST leads to LISTING from every state with a request, and after
 * APPLYING. The position stays, so that the list is not older.
 *
 * A machine of mode KIN__WATCH_ONLY gets its first version from its owner and
 * makes no list. It goes from IDLE to OPENING and resumes after every end and
 * failure, at least a second after the last watch began. It is STOPPED by
 * failures that a retry cannot mend: 401 and 403 to the request; 410 or an
 * event without a place in the order of versions on an open watch.
 *
 * A machine of mode KIN__LIST_ONCE goes from LISTING to APPLYING with each page,
 * and back to LISTING for the next page. It is STOPPED by the last page, and by
 * a failure that it may not retry.
 *
 * The machine's data is in machine.h. Other rooms do not touch it: they use the
 * functions below. */

typedef enum kin__listwatch_input_type {
  KIN__INPUT_START,
  KIN__INPUT_STOP,
  KIN__INPUT_HEAD,         /* the request was answered with 200 */
  KIN__INPUT_PAGE,         /* a list body ended: version, token; failure: the
                            * report if the token cannot be kept */
  KIN__INPUT_STREAMED,     /* the stream has brought all objects: version */
  KIN__INPUT_APPLIED,      /* the stage is in the store */
  KIN__INPUT_WATCH_ENDED,  /* the watch's body ended between two frames */
  KIN__INPUT_ERROR_EVENT,  /* the watch sent ERROR: failure */
  KIN__INPUT_FAILED,       /* the request or its body failed: failure */
  KIN__INPUT_APPLY_FAILED, /* the stage cannot be applied: failure */
  KIN__INPUT_TIMER,        /* the requested timer fired */
  KIN__INPUT_REFUSED, /* the server refused another feed's stream while this
                       * one's request waited for its turn */
  KIN__INPUT_VERIFY,  /* find out whether the watch is up to `version`; "": the
                       * newest version */
  KIN__INPUT_FORGET,  /* in WAITING: make a consistent list next */
  KIN__INPUT_RELIST,  /* what is to be listed has changed: list now, or
                           * after the wait */
  KIN__INPUT_RETRY_AFTER, /* the program answered a failure: delay_ms */
  KIN__INPUT_REACHED,     /* kin__listwatch_saw has returned true */
  KIN__INPUT_TYPES
} kin__listwatch_input_type;

typedef struct kin__listwatch_input {
  kin__listwatch_input_type type;
  const char *version;
  const char *token; /* "" on the last page */
  const kin__failure *failure;
  uint64_t delay_ms;
  bool needs_answer;   /* VERIFY: if the target is refused, or there is no
                        * version, a consistent list follows */
  uint64_t connection; /* HEAD, PAGE: connection of the answer; 0: unknown */
  uint64_t quiet_ms;   /* WATCH_ENDED: time since the last byte of the body, or
                        * since its head */
} kin__listwatch_input;

/* Allocates nothing. `options` is copied. `random` and the allocator must
 * outlive the machine. */
void kin__listwatch_init(kin__listwatch *listwatch,
                         const kin__listwatch_options *options,
                         const kin_allocator *allocator, kin__random *random,
                         uint64_t now_ms);
void kin__listwatch_finish(kin__listwatch *listwatch);

/* The one way in for inputs. An input that does not fit the state (a late
 * answer to a given-up request) changes nothing and gives no action. */
void kin__listwatch_step(kin__listwatch *listwatch,
                         const kin__listwatch_input *input, uint64_t now_ms,
                         kin__listwatch_actions *actions);

/* A watch event was accepted, or a bookmark (type 0): advances the position
 * (RF-13, RW-09, RW-11). The version "0", and one of KIN__VERSION_SIZE bytes or
 * more, are ignored. True if an open verify has come to its target:
 * KIN__INPUT_REACHED is the next input.
 *
 * This function and the next are no inputs of kin__listwatch_step, because they
 * are called for each event and change no state: they only note what has come,
 * so they have no actions. */
bool kin__listwatch_saw(kin__listwatch *listwatch, kin__decoded_type type,
                        kin_str version);

/* In STREAMING: news of the list. */
void kin__listwatch_heard(kin__listwatch *listwatch, kin__stream_news news);

/* --- What the machine knows ----------------------------------------------- */

static inline kin__listwatch_mode
kin__listwatch_mode_of(const kin__listwatch *listwatch) {
  return listwatch->options.mode;
}

static inline kin__listwatch_state
kin__listwatch_state_of(const kin__listwatch *listwatch) {
  return listwatch->state;
}

/* The position: the last version seen, "" before the first list. */
static inline const char *
kin__listwatch_version(const kin__listwatch *listwatch) {
  return listwatch->position.version;
}

/* Version of the complete list in APPLYING; and of the last list, if the machine
 * only lists. */
static inline const char *
kin__listwatch_list_version(const kin__listwatch *listwatch) {
  return listwatch->list_found;
}

/* RF-15: the server does not have the position, or lists have no version. So
 * the next list is a consistent one. */
static inline bool
kin__listwatch_is_unavailable(const kin__listwatch *listwatch) {
  return listwatch->position.doubt != KIN__DOUBT_NONE;
}

/* The server's versions have gone back (a restored backup), so one version may
 * come twice. Until the next list is applied, an equal uid and version do not
 * prove an equal object. */
static inline bool
kin__listwatch_versions_repeat(const kin__listwatch *listwatch) {
  return listwatch->position.doubt == KIN__DOUBT_REPEAT;
}

/* Doubts versions at least so much. */
void kin__listwatch_doubt(kin__listwatch *listwatch, kin__version_doubt doubt);

/* A complete list is being applied, and what is to be listed has changed since
 * then: another list follows. */
static inline bool kin__listwatch_is_outdated(const kin__listwatch *listwatch) {
  return listwatch->state == KIN__LISTWATCH_APPLYING &&
         listwatch->in.applying.is_outdated;
}

/* Failures in a row. */
static inline uint32_t
kin__listwatch_failures(const kin__listwatch *listwatch) {
  return listwatch->retries.failures;
}

/* Time since the first failure of the row; 0: no failure. */
static inline uint64_t
kin__listwatch_failing_ms(const kin__listwatch *listwatch, uint64_t now_ms) {
  return listwatch->retries.failures > 0
             ? now_ms - listwatch->retries.failing_since_ms
             : 0;
}

/* How often a position was lost, by kin_relist_reason. */
static inline const uint32_t *
kin__listwatch_lost_positions(const kin__listwatch *listwatch) {
  return listwatch->lost_positions;
}

/* A verify lost the position, and no list has been applied since. */
static inline bool
kin__listwatch_has_lost_verify(const kin__listwatch *listwatch) {
  return listwatch->position.lost_by == KIN_RELIST_VERIFY;
}

/* Whether KIN__INPUT_VERIFY would begin a verify now. */
bool kin__listwatch_can_verify(const kin__listwatch *listwatch);

/* Whether the server is known to refuse lists that come as watches. */
static inline bool
kin__listwatch_is_stream_refused(const kin__listwatch *listwatch) {
  const kin__listwatch_options *options = &listwatch->options;
  return options->mode == KIN__LIST_AND_WATCH &&
         options->list_and_watch.stream_refused != NULL &&
         *options->list_and_watch.stream_refused;
}

/* Whether the page that is requested, or will be next, is a later one of its
 * list. */
static inline bool
kin__listwatch_is_later_page(const kin__listwatch *listwatch) {
  return listwatch->list.token.length > 0;
}

/* Whether the page that is requested has this token. */
static inline bool kin__listwatch_has_token(const kin__listwatch *listwatch,
                                            const char *token) {
  return kin__listwatch_is_later_page(listwatch) &&
         strcmp(listwatch->list.token.data, token) == 0;
}

/* RL-03: a list has come in pages although it could have come from the server's
 * cache. KIN__LIST_ONCE: the list has come in pages. */
static inline bool
kin__listwatch_is_paginated(const kin__listwatch *listwatch) {
  return listwatch->past.is_paginated;
}

/* Whether a list has been applied, and the next one has neither begun nor is
 * waited for. */
bool kin__listwatch_is_between_lists(const kin__listwatch *listwatch);

/* Whether the table of transitions allows a change. */
bool kin__listwatch_may(kin__listwatch_state from, kin__listwatch_state to);

/* "LISTING". Static. */
const char *kin__listwatch_state_name(kin__listwatch_state state);

#endif /* KIN_LISTWATCH_LISTWATCH_H */
