/* SPDX-License-Identifier: MIT */
#ifndef KIN_LISTWATCH_MACHINE_H
#define KIN_LISTWATCH_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

#include <kin/metrics.h>

#include "base/buf.h"
#include "base/random.h"
#include "listwatch/backoff.h"
#include "listwatch/options.h"
#include "listwatch/retry_deadline.h"

/* The data of the list-and-watch machine. Only lib/listwatch reads and writes
 * these fields (test/check/check_layers.py). A struct of another room may embed
 * the machine. */

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

/* The news of a list that comes as a watch, from less to more. */
typedef enum kin__stream_news {
  KIN__NEWS_NONE = 0,
  KIN__NEWS_BYTES,  /* of an incomplete object */
  KIN__NEWS_OBJECT, /* a whole event whose key had come before, or a bookmark
                     * that is not the end */
  KIN__NEWS_KEY     /* a whole event with a new key */
} kin__stream_news;

/* Size of a continue token with its NUL; equal to the list decoder's limit. */
#define KIN__TOKEN_SIZE ((16u << 10) + 1)

/* --- Data of a state ------------------------------------------------------ */

/* Data of a state lives no longer than the state. The function that enters the
 * state makes the data, all of it (enter.c). */

typedef struct kin__streaming {
  uint64_t began_ms;     /* of the request; from its head on: of the head */
  uint32_t timeout_s;    /* as requested */
  kin__stream_news news; /* the most since the last tick */
  uint32_t idle_ticks;   /* timer ticks in a row without progress */
  uint32_t silent_ticks; /* timer ticks in a row without a byte */
  bool had_bytes;        /* before the last tick */
  uint64_t heard_ms;     /* last tick with bytes, or the head */
  uint64_t progress_ms;  /* last tick with progress, or the head */
} kin__streaming;

typedef struct kin__applying {
  bool is_stream_open;         /* the list came as a watch that has not ended */
  uint64_t stream_deadline_ms; /* of that watch */
  bool is_outdated; /* what is to be listed has changed: a list follows */
} kin__applying;

typedef struct kin__opening {
  uint64_t began_ms;
  uint32_t timeout_s; /* as requested; CN-02: random, so that watches do not end
                       * together; 0: none */
} kin__opening;

typedef struct kin__watching {
  uint64_t began_ms;           /* of the request; after a list: of the watch */
  uint64_t since_ms;           /* WATCHING was entered */
  bool saw_anything;           /* an event or a bookmark */
  bool has_moved;              /* the position */
  bool is_ordered;             /* RW-09: every event advances the version */
  bool is_on_proof_connection; /* see kin__verify */
} kin__watching;

typedef struct kin__waiting {
  kin__listwatch_state after; /* LISTING, OPENING or VERIFYING */
} kin__waiting;

/* --- Data of several states ----------------------------------------------- */

/* The doubt about the server's versions, from none to most. */
typedef enum kin__version_doubt {
  KIN__DOUBT_NONE = 0,
  KIN__DOUBT_UNAVAILABLE, /* RF-15: the next list is consistent */
  KIN__DOUBT_REPEAT       /* the same; and the versions have gone back, so one
                           * version may come twice, and an equal uid and version
                           * do not prove an equal object */
} kin__version_doubt;

typedef struct kin__position {
  char version[KIN__VERSION_SIZE]; /* last seen; "" before the first list */
  kin__version_doubt doubt;        /* until the next list is applied */
  bool is_unversioned; /* the last list had no version, so no event's version is
                        * a position */
  /* Until a list is applied: `version` is lost. KIN_RELIST_REASONS: it is
   * not. */
  kin_relist_reason lost_by;
} kin__position;

/* The list under way, or the last one. Made anew when a list begins. A list
 * that is made again after a fall-back is a new one. */
typedef struct kin__listing {
  const char *version; /* as requested: the position's, an option or static */
  const char *match;   /* its resourceVersionMatch; static, or "" */
  uint32_t limit;
  uint32_t pages;
  kin__buf token;
  uint32_t retries;          /* LIST_ONCE: of this page, in a row */
  bool fell_back_to_full;    /* PG-03 */
  bool fell_back_to_current; /* RL-05, WL-07; also of the list that this one
                              * makes again */
  bool replaces_refused; /* WL-07: it stands for a stream that was refused, and
                          * nothing shows yet that only streams are */
  bool may_lack_watches; /* the stream was refused as any watch would be */
} kin__listing;

/* Facts that earlier lists have shown. */
typedef struct kin__past_lists {
  uint64_t applied_ms;   /* the last one; UINT64_MAX: none yet */
  bool has_progressed;   /* it was newer than the position that was lost before
                        * it; or a watch has stayed open for a second since */
  bool is_paginated;     /* RL-03: the watch cache does not serve version 0 */
  uint8_t empty_watches; /* in a row: each ended within a second of its head
                          * and did not move the position */
  uint32_t streams_given_up; /* since the last complete list */
  bool never_streams;        /* streams are given up for the machine's life */
} kin__past_lists;

typedef enum kin__verify_phase {
  KIN__VERIFY_NONE = 0, /* no verify is open */
  KIN__VERIFY_ASKING,   /* VERIFYING lists one item at the target */
  KIN__VERIFY_PROVING   /* VERIFYING requests the PROOF */
} kin__verify_phase;

/* The KIN__INPUT_VERIFY that is open, or the last one. */
typedef struct kin__verify {
  kin__verify_phase phase;
  uint8_t watches;           /* short ones that did not come to the target */
  bool needs_answer;         /* see kin__listwatch_input */
  uint64_t proof_connection; /* for the next watch: the connection whose server
                              * has reached the target; 0: none */
} kin__verify;

typedef struct kin__retries {
  kin__backoff backoffs[KIN__BACKOFF_KINDS];
  kin__retry_deadline internal_errors;
  bool was_granted;  /* the last request was answered with 200 */
  uint32_t failures; /* in a row */
  uint64_t failing_since_ms;
} kin__retries;

/* --- The machine ---------------------------------------------------------- */

typedef struct kin__listwatch {
  kin__listwatch_options options;
  kin__random *random;
  kin__listwatch_state state;
  kin__past_lists past;
  kin__verify verify;
  kin__listing list;
  union { /* by state; the other states have no data */
    kin__streaming streaming;
    kin__applying applying;
    kin__opening opening;
    kin__watching watching;
    kin__waiting waiting;
  } in;
  kin__position position;
  union {                               /* a verify ends before a list begins */
    char list_found[KIN__VERSION_SIZE]; /* of the first page (PG-02) */
    char verify_target[KIN__VERSION_SIZE]; /* "" until it is found */
  };
  uint32_t lost_positions[KIN_RELIST_INTERNAL + 1];
  kin__retries retries;
} kin__listwatch;

#endif /* KIN_LISTWATCH_MACHINE_H */
