/* SPDX-License-Identifier: MIT */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>

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
  log->cb(level, line, log->data);
}
