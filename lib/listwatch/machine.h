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

/* What a list that comes as a watch has brought, from less to more. */
typedef enum kin__stream_news {
  KIN__NEWS_NONE = 0,
  KIN__NEWS_BYTES,  /* of an incomplete object */
  KIN__NEWS_OBJECT, /* a whole event whose key had come before, or a bookmark
                     * that is not the end */
  KIN__NEWS_KEY     /* a whole event with a new key */
} kin__stream_news;

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

#endif /* KIN_LISTWATCH_MACHINE_H */
