/* SPDX-License-Identifier: MIT */
#ifndef KIN_LISTWATCH_ACTIONS_H
#define KIN_LISTWATCH_ACTIONS_H

#include <stdbool.h>
#include <stdint.h>

/* The actions that the list-and-watch machine asks for after an input. */

typedef enum kin__request_kind {
  KIN__REQUEST_NONE = 0,
  KIN__REQUEST_LIST,
  KIN__REQUEST_WATCH,
  KIN__REQUEST_VERIFY,
  KIN__REQUEST_PROOF, /* an empty list, see verify.c */
  KIN__REQUEST_STREAM /* a watch with sendInitialEvents; becomes WATCH */
} kin__request_kind;

/* All that a source needs to know of a request. Strings that a request does not
 * have are NULL. */
typedef struct kin__listwatch_request {
  kin__request_kind kind;
  const char *version; /* resourceVersion */
  const char *version_match;
  const char *token;
  uint32_t limit;
  uint32_t timeout_s;
  bool is_retry; /* the last attempt, of any kind, has failed */
} kin__listwatch_request;

/* The result of a KIN__INPUT_VERIFY. */
typedef struct kin__verdict {
  bool is_given;
  int code;            /* 0, KIN_EGONE, KIN_ECLOSED, or a failure's code */
  const char *version; /* the verify's target; "" if none was found */
} kin__verdict;

/* The report that the program gets. */
typedef enum kin__listwatch_report {
  KIN__REPORT_NONE = 0,
  KIN__REPORT_FAILURE, /* `input.failure` */
  /* The position is lost, and `verdict.version` is the version in question: */
  KIN__REPORT_NOT_REACHED, /* the watch has not come to it */
  KIN__REPORT_WENT_BACK    /* it is the newest, and before the position */
} kin__listwatch_report;

/* A list that came as a watch is given up, because for `silent_ms` there was
 * nothing, or no progress. */
typedef enum kin__stream_end {
  KIN__STREAM_NOT_GIVEN_UP = 0,
  KIN__STREAM_SILENT,      /* no byte has come since the head */
  KIN__STREAM_FELL_SILENT, /* bytes came, and then none */
  KIN__STREAM_ENDLESS      /* bytes come, but no new object, and no end */
} kin__stream_end;

/* The feed carries the actions out in the order of the members
 * (kin__feed_act). Strings belong to the machine and are valid until the next
 * input. */
typedef struct kin__listwatch_actions {
  kin__verdict verdict;
  bool stop_timer;
  bool drop_stage;
  bool cancel_request; /* if one is still open */
  bool hold_request;   /* stop reading the stream */
  bool apply_stage;
  bool start_timer;
  uint64_t timer_ms; /* from now */
  kin__listwatch_report report;
  uint64_t retry_in_ms; /* of the report */
  kin__stream_end gave_up_stream;
  uint64_t silent_ms;
  bool ended; /* the machine has stopped by itself; `input.failure` says why,
               * NULL at the end of a single watch */
  bool continue_request; /* read on; the stream is a watch now */
  kin__listwatch_request request;
} kin__listwatch_actions;

#endif /* KIN_LISTWATCH_ACTIONS_H */
