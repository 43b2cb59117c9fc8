/* SPDX-License-Identifier: MIT */
#ifndef KIN_BASE_LOG_H
#define KIN_BASE_LOG_H

#include <stdint.h>

#include <kin/log.h>

/* A sink and its threshold, copied from the client's options. */
typedef struct kin__log {
  kin_log_cb cb;
  void *data;
  kin_log_level level;
  char *problem; /* KIN__PROBLEM_SIZE bytes, see kin__log_problem; or NULL */
} kin__log;

#define KIN__PROBLEM_SIZE 256

/* Formats a line of at most 511 bytes without control characters, and passes it
 * to the sink if the level is wanted. `log` may be NULL. Never pass bodies or
 * credentials. */
void kin__log_write(const kin__log *log, kin_log_level level,
                    const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The level of the line about a failure that goes on. The first four in a row
 * are warnings, and then one of 16: where a resource is absent, that is a line
 * in some minutes. `failures` is the number in a row, from 1. */
kin_log_level kin__log_level_of_failure(uint32_t failures);

/* Logs an ERROR line about a wrong value that the program gave. The line is
 * also kept, cut to fit, for kin_client_problem. Returns `code`. */
int kin__log_problem(const kin__log *log, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Forgets the kept line. */
void kin__log_no_problem(const kin__log *log);

#endif /* KIN_BASE_LOG_H */
