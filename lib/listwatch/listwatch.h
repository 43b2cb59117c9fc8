/* SPDX-License-Identifier: MIT */
#ifndef KIN_LISTWATCH_LISTWATCH_H
#define KIN_LISTWATCH_LISTWATCH_H

#include <stdbool.h>
#include <stdint.h>

#include <kin/allocator.h>
#include <kin/metrics.h>
#include <kin/str.h>

#include "base/buf.h"
#include "base/random.h"
#include "decode/sink.h"
#include "listwatch/actions.h"
#include "listwatch/backoff.h"
#include "listwatch/failure.h"
#include "listwatch/options.h"
#include "listwatch/retry_deadline.h"

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
 * A failure enters WAITING. The timer leaves WAITING to `after_wait`: to
 * LISTING if the position is lost, else to the state of the failure. STOPPED is
 * entered from everywhere and never left.
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
 * WATCHING for one or two short watches (verify.c). The short watches either
 * come to the target version, or prove that nothing is left up to it, or the
 * position is lost and a consistent list follows. If the newest version is
 * older than the position, VERIFYING goes to LISTING at once. If the server
 * does not know the target, VERIFYING is entered again for the position alone.
 *
 * A machine of mode KIN__WATCH_ONLY gets its first version from its owner and
 * makes no list. It goes from IDLE to OPENING and resumes after
 * every end and failure, at least a second after the last watch began. It is
 * STOPPED by failures that a retry cannot mend: 401 and 403 to the request; 410
 * or an event without a place in the order of versions on an open watch.
 *
 * A machine of mode KIN__LIST_ONCE goes from LISTING to APPLYING with each page,
 * and back to LISTING for the next page. It is STOPPED by the
 * last page, and by a failure that it may not retry. */
typedef enum kin__listwatch_state {
  KIN__LISTWATCH_IDLE = 0,  /* not started; no request, no timer */
  KIN__LISTWATCH_LISTING,   /* a page is requested; the stage fills */
  KIN__LISTWATCH_STREAMING, /* a watch that begins with the present objects is
                             * requested; the stage fills; timer: progress */
  KIN__LISTWATCH_APPLYING,  /* the stage is complete and being applied; no
                             * timer; no request, or the held stream */
  KIN__LISTWATCH_OPENING,   /* a watch is requested; timer: none */
  KIN__LISTWATCH_WATCHING,  /* the head was 200; timer: the watch's deadline */
  KIN__LISTWATCH_VERIFYING, /* one item is listed: at the last version, because
                             * a watch ended silent; or at the target of an open
                             * verify */
  KIN__LISTWATCH_WAITING,   /* no request; timer: the backoff */
  KIN__LISTWATCH_STOPPED    /* no request, no timer */
} kin__listwatch_state;

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
  uint64_t connection; /* HEAD, PAGE: connection of the answer; 0: unknown */
  uint64_t quiet_ms;   /* WATCH_ENDED: time since the last byte of the body, or
                        * since its head */
} kin__listwatch_input;

/* Size of a continue token with its NUL; equal to the list decoder's limit. */
#define KIN__TOKEN_SIZE ((16u << 10) + 1)

/* A KIN__INPUT_VERIFY that is under way. */
typedef struct kin__verify {
  bool is_open;                   /* no verdict yet */
  char target[KIN__VERSION_SIZE]; /* "" until it is found */
  uint32_t watches;               /* short ones that did not come to the
                                   * target */
  bool is_proving;                /* VERIFYING requests the PROOF */
  bool is_same_server;            /* the short watch is on proof_connection */
  uint64_t proof_connection;      /* whose server has reached the target; 0:
                                   * none */
} kin__verify;

typedef struct kin__listwatch {
  kin__listwatch_options options;
  kin__listwatch_state state;
  kin__listwatch_state after_wait; /* LISTING, OPENING or VERIFYING */
  kin__random *random;
  kin__backoff backoffs[KIN__BACKOFF_KINDS];
  kin__retry_deadline internal_errors;
  uint32_t retries; /* LIST_ONCE: of this page, in a row */

  char version[KIN__VERSION_SIZE]; /* last seen; "" before the first list */
  bool version_unavailable;        /* RF-15: the next list is consistent */
  char lost_version[KIN__VERSION_SIZE]; /* the lost position, until a list is
                                         * applied; "": none */
  bool is_unversioned;  /* the last list had no version, so no event's version
                         * is a position */
  bool versions_repeat; /* The server's versions have gone back (a restored
                         * backup), so one version may come twice. Until the
                         * next list is applied, an equal uid and version do not
                         * prove an equal object. */
  bool is_paginated;    /* RL-03: the watch cache does not serve version 0 */

  /* The list under way. */
  char list_version[KIN__VERSION_SIZE];  /* as requested */
  const char *list_match;                /* its resourceVersionMatch; static, or
                                          * "" */
  char found_version[KIN__VERSION_SIZE]; /* of its first page (PG-02) */
  kin__buf token;
  uint32_t list_limit;
  uint32_t pages;
  bool fell_back_to_full;    /* PG-03 */
  bool fell_back_to_current; /* RL-05, WL-07 */
  uint32_t streams_given_up; /* since the last complete list */
  bool has_given_up_streams; /* for the machine's life */
  uint32_t idle_ticks;       /* STREAMING: timer ticks in a row without
                              * progress */
  uint32_t silent_ticks;     /* STREAMING: timer ticks in a row without a
                              * byte */
  bool had_events;           /* STREAMING: bytes came before the last tick */
  bool saw_whole;            /* STREAMING: a whole event since the last tick */
  bool saw_new;              /* STREAMING: a new key since the last tick */
  uint64_t heard_ms;         /* STREAMING: last tick with bytes, or the head */
  uint64_t progress_ms; /* STREAMING: last tick with progress, or the head */
  bool is_stream_open;  /* APPLYING: the stream has not ended */

  bool is_granted; /* the last request was answered with 200 */
  bool has_listed;
  uint64_t listed_ms; /* when the last list was applied */
  bool has_held;      /* a watch stayed open for a second since then */
  uint64_t watching_since_ms;

  /* The open watch, or the last one. */
  uint64_t watch_began_ms;
  uint32_t
      watch_timeout_s; /* CN-02: random, so that watches do not end together */
  bool saw_anything;   /* an event or a bookmark */
  bool version_is_ordered; /* RW-09: every event advances the version */

  kin__verify verify;
  bool is_verify_lost; /* a verify lost the position; no list since */

  uint32_t failures; /* in a row */
  uint64_t failing_since_ms;
  uint64_t lost_positions[KIN_RELIST_REASONS];
} kin__listwatch;

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
 * (RF-13, RW-09, RW-11). A version of KIN__VERSION_SIZE bytes or more is
 * ignored. True if an open verify has come to its target: KIN__INPUT_REACHED is
 * the next input.
 *
 * This function and the next are no inputs of kin__listwatch_step, because they
 * are called for each event and change no state: they only note what has come,
 * so they have no actions. */
bool kin__listwatch_saw(kin__listwatch *listwatch, kin__decoded_type type,
                        kin_str version);

/* In STREAMING: a whole event came, or a bookmark that is not the end.
 * `is_new`: this stream has not brought the event's key before. */
void kin__listwatch_streamed(kin__listwatch *listwatch, bool is_new);

/* Whether the table of transitions allows a change. */
bool kin__listwatch_may(kin__listwatch_state from, kin__listwatch_state to);

/* "LISTING". Static. */
const char *kin__listwatch_state_name(kin__listwatch_state state);

#endif /* KIN_LISTWATCH_LISTWATCH_H */
