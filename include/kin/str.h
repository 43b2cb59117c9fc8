/* SPDX-License-Identifier: MIT */
#ifndef KIN_STR_H
#define KIN_STR_H

/** @file
 * Borrowed bytes. */

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A borrowed run of bytes, usually UTF-8. A kin_str is not NUL-terminated
 * unless the function that returns it says so, and lives as long as what it was
 * taken from. The empty string is {any pointer or NULL, 0}. */
typedef struct kin_str {
  const char *data; /**< the first byte */
  size_t length;    /**< in bytes */
} kin_str;

/** For printf: printf("key " KIN_STR_FORMAT "\n", KIN_STR_ARG(key)). */
#define KIN_STR_FORMAT "%.*s"
/** The arguments for KIN_STR_FORMAT. */
#define KIN_STR_ARG(s) (int)(s).length, (s).data ? (s).data : ""

#ifdef __cplusplus
}
#endif

#endif /* KIN_STR_H */
