/* SPDX-License-Identifier: MIT */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"

#define LOUD_FAILURES 4u
#define WARNING_PERIOD 16u

void kin__log_write(const kin__log *log, kin_log_level level,
                    const char *format, ...) {
  if (log == NULL || log->cb == NULL || level > log->level) {
    return;
  }
  char line[512];
  va_list args;
  va_start(args, format);
  vsnprintf(line, sizeof line, format, args);
  va_end(args);
  kin__put_on_one_line(line);
  log->cb(level, line, log->data);
}

kin_log_level kin__log_level_of_failure(uint32_t failures) {
  return failures > LOUD_FAILURES && failures % WARNING_PERIOD != 0
             ? KIN_LOG_DEBUG
             : KIN_LOG_WARN;
}

int kin__log_problem(const kin__log *log, int code, const char *format, ...) {
  char line[KIN__PROBLEM_SIZE];
  va_list args;
  va_start(args, format);
  vsnprintf(line, sizeof line, format, args);
  va_end(args);
  kin__put_on_one_line(line);
  if (log != NULL && log->problem != NULL) {
    memcpy(log->problem, line, sizeof line);
  }
  kin__log_write(log, KIN_LOG_ERROR, "%s", line);
  return code;
}

void kin__log_no_problem(const kin__log *log) {
  if (log != NULL && log->problem != NULL) {
    log->problem[0] = '\0';
  }
}
