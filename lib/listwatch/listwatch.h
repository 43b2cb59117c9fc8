/* SPDX-License-Identifier: MIT */
#ifndef KIN_LISTWATCH_LISTWATCH_H
#define KIN_LISTWATCH_LISTWATCH_H

#include <stdbool.h>
#include <stdint.h>

#include <kin/allocator.h>
#include <kin/str.h>

#include "base/buf.h"
#include "base/random.h"
#include "decode/sink.h"
#include "listwatch/backoff.h"
#include "listwatch/failure.h"
#include "listwatch/retry_deadline.h"

/* The list-and-watch protocol of one scope, without I/O: inputs and the time go
 * in, actions come out, and whoever drives it carries them out. At any time at
 * most one request is open and at most one timer runs.
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
 * STREAMING stands for LISTING wherever a list can come as a watch; from it,
 * APPLYING leads to WATCHING on the same response, if that is still open.
 *
 * WAITING is entered on a failure and left by the timer to `after_wait`: to
 * LISTING when the position is lost, else to where the failure happened.
 * STOPPED is entered from everywhere and never left.
 *
 * The position is the last resource version. It is lost, and only then a list
 * is made again, by: 410 on a watch (response or event), a version that is too
 * large for the server, StorageReadError, a body that cannot be decoded, a
 * watch request refused as malformed (400, 422), internal errors for longer
 * than they are to be retried, and a verify that fails; after that the list is
 * a consistent one. Any other failure resumes from the last version.
 *
 * A position that was lost is never watched again: the list asks for what is
 * not older than it, and if that is not newer, a consistent one follows
 * (reflector_lost.c). Lists without a version give no position: then a list
 * follows each watch, however it ended, and a verify (KIN_ENOTSUP).
 *
 * KIN__INPUT_VERIFY goes from WATCHING to VERIFYING, OPENING and WATCHING for
 * one or two watches of a short time (reflector_verify.c). If these neither
 * come to the version in question nor prove that nothing is left up to it, it
 * goes on to a consistent list (LISTING) from WATCHING; from VERIFYING, if the
 * newest version is older than the position; and from there to VERIFYING again,
 * for the position alone, if the server knows nothing of the version in
 * question.
 *
 * A listwatch that only watches (kin__listwatch_watch_only) has its first
 * version from its owner and can make no list. It goes from IDLE to OPENING,
 * resumes after every end and failure, a second after the last watch began or
 * later, and is STOPPED by what no other attempt can mend: 401 and 403 in
 * answer to the request; later 410, and an event that has no place in the order
 * of versions.
 *
 * A listwatch that only lists (kin__listwatch_list_only) goes from LISTING to
 * APPLYING with each page, and from there to LISTING for the next one. It is
 * STOPPED by the last one, and by what it may not try again. */
typedef enum kin__listwatch_state {
  KIN__LISTWATCH_IDLE = 0,  /* not started; no request, no timer */
  KIN__LISTWATCH_LISTING,   /* a page is requested; the stage fills */
  KIN__LISTWATCH_STREAMING, /* a watch is requested that begins with what
                             * there is; the stage fills; timer: progress */
  KIN__LISTWATCH_APPLYING,  /* the stage is complete and being applied; no
                             * timer; no request, or the stream's, held */
  KIN__LISTWATCH_OPENING,   /* a watch is requested; timer: none */
  KIN__LISTWATCH_WATCHING,  /* its head was 200; timer: the watch's deadline */
  KIN__LISTWATCH_VERIFYING, /* one item is listed: at the last version,
                             * because a watch ended without saying anything;
                             * or at that of a verify that is open */
  KIN__LISTWATCH_WAITING,   /* no request; timer: the backoff */
  KIN__LISTWATCH_STOPPED    /* no request, no timer */
} kin__listwatch_state;

typedef enum kin__listwatch_input_type {
  KIN__INPUT_START,
  KIN__INPUT_STOP,
  KIN__INPUT_HEAD,         /* the request was answered with 200 */
  KIN__INPUT_PAGE,         /* a list body ended: version, token; failure: what
                            * to tell if the token cannot be kept */
  KIN__INPUT_STREAMED,     /* the stream has brought everything: version */
  KIN__INPUT_APPLIED,      /* the stage is in the store */
  KIN__INPUT_WATCH_ENDED,  /* the watch's body ended between two frames */
  KIN__INPUT_ERROR_EVENT,  /* the watch sent ERROR: failure */
  KIN__INPUT_FAILED,       /* the request or its body failed: failure */
  KIN__INPUT_APPLY_FAILED, /* the stage cannot be applied: failure */
  KIN__INPUT_TIMER,        /* the timer that was asked for */
  KIN__INPUT_REFUSED, /* while the request for a stream waited for its turn,
                            * the server has refused another one's */
  KIN__INPUT_VERIFY,  /* find out whether the watch is up to `version`, "" for
                          * the newest there is */
  KIN__INPUT_FORGET,  /* in WAITING: list next, whatever there is */
  KIN__INPUT_RETRY_AFTER /* the program answered a failure: delay_ms */
} kin__listwatch_input_type;

typedef struct kin__listwatch_input {
  kin__listwatch_input_type type;
  const char *version;
  const char *token; /* "" on the last page */
  const kin__failure *failure;
  uint64_t delay_ms;
  uint64_t connection; /* HEAD, PAGE: that it came on; 0: not known */
  uint64_t quiet_ms;   /* WATCH_ENDED: since the last byte of its body, or its
                        * head */
} kin__listwatch_input;

typedef enum kin__listwatch_request {
  KIN__REQUEST_NONE = 0,
  KIN__REQUEST_LIST,
  KIN__REQUEST_WATCH,
  KIN__REQUEST_VERIFY,
  KIN__REQUEST_PROOF, /* a list that is empty, see reflector_verify.c */
  KIN__REQUEST_STREAM /* a watch with sendInitialEvents; becomes WATCH */
} kin__listwatch_request;

/* What is to be done, in this order. Strings are the listwatch's, valid until
 * the next step. */
typedef struct kin__listwatch_actions {
  bool cancel_request; /* it is still open */
  bool stop_timer;
  bool drop_stage;
  bool hold_request; /* the stream's: read no further */
  bool apply_stage;
  bool continue_request; /* read on; it is a watch now */
  kin__listwatch_request request;
  const char *version; /* of the request: resourceVersion */
  const char *version_match;
  const char *token;
  uint32_t limit;
  uint32_t timeout_s;
  bool start_timer;
  uint64_t timer_ms; /* from now */
  bool report;       /* tell about `input.failure`, or, with lost_verify, */
  bool lost_verify;  /* that a verify has lost the position */
  uint64_t retry_in_ms;
  bool gave_up_stream; /* it said nothing, for `silent_ms`; */
  bool had_events;     /* but had before; */
  uint64_t silent_ms;
  bool is_endless; /* or it said nothing of use for as long */
  bool ended; /* it has stopped by itself; `input.failure` says why, NULL for
               * the end of a single watch */
} kin__listwatch_actions;

#define KIN__VERSION_SIZE 64u
/* Of a continue token, with its NUL; as the list decoder has it. */
#define KIN__TOKEN_SIZE ((16u << 10) + 1)

/* Why a position was lost: kin_relist_reason, with the same numbers. */
typedef enum kin__lost_reason {
  KIN__LOST_EXPIRED = 0,
  KIN__LOST_TOO_LARGE,
  KIN__LOST_STORAGE,
  KIN__LOST_DECODE,
  KIN__LOST_REFUSED,
  KIN__LOST_VERIFY,
  KIN__LOST_INTERNAL,
  KIN__LOST_REASONS
} kin__lost_reason;

/* KIN__INPUT_VERIFY that is under way, or has ended and not been told. */
typedef struct kin__verify {
  bool is_open;                   /* it has not come to an end */
  char target[KIN__VERSION_SIZE]; /* "" until it is found */
  uint32_t watches;               /* short ones that did not come to it */
  bool is_proving;                /* PROOF is what VERIFYING asks for */
  bool is_same_server;            /* the short watch is on proof_connection */
  uint64_t proof_connection;      /* whose server is at the target; 0: none */
  bool is_lost;                   /* and it has to be told */
  bool went_back;   /* the same: the target is before the position */
  bool has_verdict; /* taken by kin__listwatch_take_verdict */
  int verdict;      /* 0, KIN_EGONE, KIN_ECLOSED, or a failure's code */
} kin__verify;

/* What a listwatch that only lists is to do. */
typedef struct kin__list_once {
  const char *version; /* shorter than KIN__VERSION_SIZE */
  const char *version_match;
  bool is_whole;           /* all of the stage or nothing is wanted */
  bool falls_back_to_full; /* PG-03; only with is_whole */
  uint32_t max_retries;    /* of one page in a row */
} kin__list_once;

/* How new the first list has to be: kin_consistency, with the same numbers. */
typedef enum kin__consistency {
  KIN__CONSISTENCY_ANY = 0,
  KIN__CONSISTENCY_AT_LEAST,
  KIN__CONSISTENCY_MOST_RECENT
} kin__consistency;

typedef struct kin__listwatch {
  kin__listwatch_state state;
  kin__listwatch_state after_wait; /* LISTING, OPENING or VERIFYING */
  kin__random *random;
  kin__backoff backoffs[KIN__BACKOFF_KINDS];
  kin__retry_deadline internal_errors;
  uint32_t page_size; /* 0: by RL-02; UINT32_MAX: unlimited */
  bool is_watch_only;
  bool is_single;          /* watch only, and once */
  uint32_t only_timeout_s; /* watch only: of each watch; 0: none */
  bool is_list_only;
  kin__list_once once;  /* list only */
  uint32_t retries;     /* list only: of this page, in a row */
  bool *stream_refused; /* remembered for this server; NULL: never stream */
  kin__consistency consistency;
  const char *start_version; /* AT_LEAST: of the first list */

  char version[KIN__VERSION_SIZE]; /* last one seen; "" before the first list */
  bool version_unavailable; /* RF-15: the next list is a consistent one */
  char lost_version[KIN__VERSION_SIZE]; /* the position that was lost, until a
                                         * list is applied; "" if none */
  bool is_unversioned;  /* the last list had no version, so that nothing is a
                        * position, whatever events say */
  bool versions_repeat; /* the server's versions have gone back, as after a
                         * restore from a backup, so it may give one twice:
                         * until the next list has been applied, the same uid
                         * and version do not mean the same object */
  bool is_paginated;    /* RL-03: the cache does not serve version 0 */

  /* The list that is being made. */
  char list_version[KIN__VERSION_SIZE];  /* as requested */
  const char *list_match;                /* the same; static, or "" */
  char found_version[KIN__VERSION_SIZE]; /* of its first page (PG-02) */
  kin__buf token;
  uint32_t list_limit;
  uint32_t pages;
  bool fell_back_to_full;    /* PG-03 */
  bool fell_back_to_current; /* RL-05, WL-07 */
  uint32_t streams_given_up; /* since the last complete list */
  bool has_given_up_streams; /* for good */
  uint32_t idle_ticks;       /* STREAMING: of its timer, in a row, without
                              * progress; */
  uint32_t silent_ticks;     /* and without a byte */
  bool had_events;           /* STREAMING: bytes have come before a tick */
  bool saw_whole;            /* STREAMING: an event, since the last tick */
  bool saw_new;              /* STREAMING: and one of another key */
  uint64_t heard_ms; /* STREAMING: at the last tick with bytes, or the head */
  uint64_t progress_ms; /* STREAMING: the same with progress */
  bool is_stream_open;  /* APPLYING: the stream has not ended */

  bool is_granted; /* the last request was answered with 200 */
  bool has_listed;
  uint64_t listed_ms; /* when the last list was applied */
  bool has_held;      /* a watch has been open for a second since then */
  uint64_t watching_since_ms;

  /* The watch that is open, or was last. */
  uint64_t watch_began_ms;
  uint32_t
      watch_timeout_s; /* CN-02: random, so that watches do not end at once */
  bool saw_anything;   /* an event or a bookmark */
  bool version_is_ordered; /* RW-09: every event advances the version */

  kin__verify verify;
  bool is_verify_lost; /* by that the position was lost, and there is no list
                        * yet */

  uint32_t failures; /* in a row */
  uint64_t failing_since_ms;
  uint64_t lost_positions[KIN__LOST_REASONS];
} kin__listwatch;

/* Allocates nothing. `random` and the allocator must outlive it. */
void kin__listwatch_init(kin__listwatch *listwatch,
                         const kin_allocator *allocator, kin__random *random,
                         uint32_t page_size, uint64_t now_ms);
void kin__listwatch_finish(kin__listwatch *listwatch);

/* Before the start: lists come as watches, unless the server is known to refuse
 * that. *refused must outlive the listwatch, which also sets it. */
void kin__listwatch_use_streams(kin__listwatch *listwatch, bool *refused);

/* Before the start: AT_LEAST, the first list is not older than `start_version`
 * (not "", not "0"; kept), or the newest there is if the server does not know
 * that version yet; MOST_RECENT, every list is the newest there is. */
void kin__listwatch_use_consistency(kin__listwatch *listwatch,
                                    kin__consistency consistency,
                                    const char *start_version);

/* Before the start: for how long a watch that ends with an internal error is
 * repeated without a wait; then the position is lost. 0: repeated with waits,
 * for ever. */
void kin__listwatch_retry_internal_errors(kin__listwatch *listwatch,
                                          uint64_t max_ms);

/* Before the start: it only watches, after `version`, which must be shorter
 * than KIN__VERSION_SIZE and not "" or "0". Each watch is to end after
 * `timeout_s`, 0 for never. `is_single`: the first one to end, or to fail, is
 * the last. */
void kin__listwatch_watch_only(kin__listwatch *listwatch, const char *version,
                               uint32_t timeout_s, bool is_single);

/* Before the start: it only lists, once, in pages as its page_size says (0:
 * 500). The strings of `list` must outlive it. */
void kin__listwatch_list_only(kin__listwatch *listwatch,
                              const kin__list_once *list);

/* The one way in. An input that does not fit the state (a late answer to
 * something that was given up) changes nothing and gives no action. */
void kin__listwatch_step(kin__listwatch *listwatch,
                         const kin__listwatch_input *input, uint64_t now_ms,
                         kin__listwatch_actions *actions);

/* A watch event was accepted, or a bookmark (type 0): advances the position
 * (RF-13, RW-09, RW-11). Versions of 64 bytes and more are not taken
 * over. */
void kin__listwatch_saw(kin__listwatch *listwatch, kin__decoded_type type,
                        kin_str version);

/* In STREAMING: an event, or a bookmark that ends nothing, is whole; `is_new`:
 * of a key that this stream has not brought before. */
void kin__listwatch_streamed(kin__listwatch *listwatch, bool is_new);

/* After each step and each kin__listwatch_saw: whether a verify has come to its
 * end, once. */
bool kin__listwatch_take_verdict(kin__listwatch *listwatch, int *code);

/* Whether the table allows a change of state. */
bool kin__listwatch_may(kin__listwatch_state from, kin__listwatch_state to);

/* "LISTING". Static. */
const char *kin__listwatch_state_name(kin__listwatch_state state);

#endif /* KIN_LISTWATCH_LISTWATCH_H */
