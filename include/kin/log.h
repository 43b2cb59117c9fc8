/* SPDX-License-Identifier: MIT */
#ifndef KIN_LOG_H
#define KIN_LOG_H

/** @file
 * The log. */

#ifdef __cplusplus
extern "C" {
#endif

/** The importance of a line. ERROR: a failure that needs the program's
 * attention. WARN: handled, but not expected. INFO: state changes, a handful
 * per informer and hour. DEBUG: every request. */
typedef enum kin_log_level {
  KIN_LOG_DEFAULT = 0, /**< of an option: KIN_LOG_WARN */
  KIN_LOG_ERROR = 1,
  KIN_LOG_WARN = 2,
  KIN_LOG_INFO = 3,
  KIN_LOG_DEBUG = 4
} kin_log_level;

/** Receives one line without a newline, valid during the call. Lines never hold
 * object bodies or credentials. The library itself writes nowhere. A log
 * callback is pure: it may be called inside a kin_ call and may not call
 * one. */
typedef void (*kin_log_cb)(kin_log_level level, const char *line, void *data);

#ifdef __cplusplus
}
#endif

#endif /* KIN_LOG_H */
