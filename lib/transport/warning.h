/* SPDX-License-Identifier: MIT */
#ifndef KIN_TRANSPORT_WARNING_H
#define KIN_TRANSPORT_WARNING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kin/allocator.h>
#include <kin/str.h>
#include <kin/warning.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/sched.h"

/* Warning header fields (RE-05): from their bytes to the program, or into the
 * log. */

/* Of the fields of one response; an API server sends 4 KiB of text. */
#define KIN__WARNING_MAX_BYTES (8u << 10)
#define KIN__WARNING_MAX_COUNT 32u
/* Of one text; an API server sends 256 characters. More is cut off. */
#define KIN__WARNING_MAX_TEXT 1024u
/* That wait to be told; more are only counted. */
#define KIN__WARNING_MAX_PENDING 64u
/* Texts that are not logged again: the last ones. */
#define KIN__WARNING_MEMORY 128u

typedef struct kin__warning {
  int code;
  kin_str agent;
  kin_str text; /* unescaped */
} kin__warning;

/* What is left of the value of one field. */
typedef struct kin__warning_line {
  char *at;
  char *end;
} kin__warning_line;

/* Takes the next warning off the line, as apimachinery's ParseWarningHeaders
 * does; its bytes are changed, and the result's lie there. Returns false at the
 * end, and for what is malformed, which ends the line. Encoded words of RFC
 * 2047 are not decoded: RFC 7234 has done away with them. */
bool kin__warning_next(kin__warning_line *line, kin__warning *warning);

/* Where a client's warnings go. */
typedef struct kin__warnings {
  const kin_allocator *allocator;
  kin__sched *sched;
  const kin__log *log;
  uint64_t *handler_ns; /* time spent in callbacks is added here */
  kin_warning_cb cb;    /* NULL: into the log, each text once */
  void *data;
  kin__task task;    /* scheduled while some are pending and there is a cb */
  kin__link pending; /* in order of arrival */
  uint32_t pending_count;
  kin__hash_seed seed;
  uint32_t logged[KIN__WARNING_MEMORY]; /* hashes, a ring */
  uint32_t logged_count;                /* ever */
  uint64_t heard;                       /* ever */
  bool is_stopped;
} kin__warnings;

/* All pointers but seed must outlive it. Allocates nothing. */
void kin__warnings_init(kin__warnings *warnings, const kin_allocator *allocator,
                        kin__sched *sched, const kin__log *log,
                        const kin__hash_seed *seed);
/* They are told to the program instead. */
void kin__warnings_tell(kin__warnings *warnings, kin_warning_cb cb, void *data,
                        uint64_t *handler_ns);
/* Nothing is told any more, and what is pending forgotten. May come twice. */
void kin__warnings_stop(kin__warnings *warnings);

/* The fields of a response to a request for `path`: values, each ended by a
 * newline; the bytes are changed. */
void kin__warnings_hear(kin__warnings *warnings, kin_str path, char *fields,
                        size_t length);

#endif /* KIN_TRANSPORT_WARNING_H */
