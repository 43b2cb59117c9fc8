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

/* Warning header fields (RE-05): parsed, then given to the program or
 * logged. */

/* Bounds for the fields of one response; an API server sends 4 KiB of text. */
#define KIN__WARNING_MAX_BYTES (8u << 10)
#define KIN__WARNING_MAX_COUNT 32u
/* The bound of one text, which is cut; an API server sends 256 characters. */
#define KIN__WARNING_MAX_TEXT 1024u
/* Warnings that wait for their callback; more are only counted. */
#define KIN__WARNING_MAX_PENDING 64u
/* The last texts that were logged; they are not logged again. */
#define KIN__WARNING_MEMORY 128u

typedef struct kin__warning {
  int code;
  kin_str agent;
  kin_str text; /* unescaped */
} kin__warning;

/* The rest of one field's value. */
typedef struct kin__warning_line {
  char *at;
  char *end;
} kin__warning_line;

/* Takes the next warning off the line, as apimachinery's ParseWarningHeaders
 * does. The line's bytes change, and the result points into them. Returns false
 * at the end. Malformed bytes end the line. Encoded words of RFC 2047 are not
 * decoded, because RFC 7234 abolished them. */
bool kin__warning_next(kin__warning_line *line, kin__warning *warning);

/* The destination of a client's warnings. */
typedef struct kin__warnings {
  const kin_allocator *allocator;
  kin__sched *sched;
  const kin__log *log;
  uint64_t *handler_ns; /* gets the time spent in callbacks added */
  kin_warning_cb cb;    /* NULL: each text is logged once */
  void *data;
  kin__task task;    /* scheduled while warnings are pending and there is a
                      * cb */
  kin__link pending; /* in order of arrival */
  uint32_t pending_count;
  kin__hash_seed seed;
  uint32_t logged[KIN__WARNING_MEMORY]; /* hashes, a ring */
  uint32_t logged_count;                /* all so far */
  uint64_t heard;                       /* all so far */
  bool is_stopped;
} kin__warnings;

/* All pointers but seed must outlive `warnings`. Allocates nothing. */
void kin__warnings_init(kin__warnings *warnings, const kin_allocator *allocator,
                        kin__sched *sched, const kin__log *log,
                        const kin__hash_seed *seed);
/* From now on the program gets the warnings, instead of the log. */
void kin__warnings_tell(kin__warnings *warnings, kin_warning_cb cb, void *data,
                        uint64_t *handler_ns);
/* Forgets the pending warnings and makes no further call. May be called
 * twice. */
void kin__warnings_stop(kin__warnings *warnings);

/* Takes the fields of a response to a request for `path`: values, each ended by
 * a newline. The bytes are changed. */
void kin__warnings_hear(kin__warnings *warnings, kin_str path, char *fields,
                        size_t length);

#endif /* KIN_TRANSPORT_WARNING_H */
