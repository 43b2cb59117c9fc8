/* SPDX-License-Identifier: MIT */
#ifndef KIN_BASE_LOG_H
#define KIN_BASE_LOG_H

#include <kin/log.h>

/* A sink and its threshold, copied from the client's options. */
typedef struct kin__log {
  kin_log_cb cb;
  void *data;
  kin_log_level level;
} kin__log;

/* Formats a line of at most 511 bytes and passes it on if the level is wanted.
 * `log` may be NULL. Never pass bodies or credentials. */
void kin__log_write(const kin__log *log, kin_log_level level,
                    const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif /* KIN_BASE_LOG_H */
