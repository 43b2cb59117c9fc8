/* SPDX-License-Identifier: MIT */
#ifndef KIN_LISTWATCH_OPTIONS_H
#define KIN_LISTWATCH_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include <kin/informer.h>

/* The purpose of a list-and-watch machine, given once at kin__listwatch_init. The
 * options of a mode lie in a union under that mode, so a machine that only
 * lists has no options of a watch. Strings are kept and must outlive the
 * machine, unless a comment says otherwise. */

#define KIN__VERSION_SIZE 64u

typedef enum kin__listwatch_mode {
  KIN__LIST_AND_WATCH = 0,
  KIN__WATCH_ONLY,
  KIN__LIST_ONCE
} kin__listwatch_mode;

typedef struct kin__list_and_watch {
  uint32_t page_size; /* 0: by RL-02; UINT32_MAX: unlimited */
  /* AT_LEAST: the first list is not older than `start_version` (not "", not
   * "0"), or the newest one if the server does not know that version yet.
   * MOST_RECENT: every list is the newest one. */
  kin_consistency consistency;
  const char *start_version; /* AT_LEAST only */
  /* Lists come as watches, unless `*stream_refused` says that the server
   * refuses streams. The machine also sets it. NULL: lists never come as
   * watches. Must outlive the machine. */
  bool *stream_refused;
  /* A watch that ends with an internal error is repeated without a wait for so
   * long; then the position is lost. 0: repeated with waits, without end. */
  uint32_t internal_error_retry_ms;
} kin__list_and_watch;

typedef struct kin__watch_only {
  /* The first position: shorter than KIN__VERSION_SIZE, not "" or "0". Read by
   * kin__listwatch_init only. */
  const char *version;
  uint32_t timeout_s; /* requested length of each watch; 0: none */
  bool is_single;     /* the first end or failure is the last */
} kin__watch_only;

typedef struct kin__list_once {
  uint32_t page_size;  /* 0: 500; UINT32_MAX: unlimited */
  const char *version; /* shorter than KIN__VERSION_SIZE */
  const char *version_match;
  bool is_whole;           /* the owner wants the whole stage or nothing */
  bool falls_back_to_full; /* PG-03; only with is_whole */
  uint32_t max_retries;    /* of one page, in a row */
} kin__list_once;

typedef struct kin__listwatch_options {
  kin__listwatch_mode mode;
  union { /* by mode */
    kin__list_and_watch list_and_watch;
    kin__watch_only watch_only;
    kin__list_once list_once;
  };
} kin__listwatch_options;

#endif /* KIN_LISTWATCH_OPTIONS_H */
