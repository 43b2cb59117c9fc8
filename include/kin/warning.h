/* SPDX-License-Identifier: MIT */
#ifndef KIN_WARNING_H
#define KIN_WARNING_H

/** @file
 * Warnings of the server. */

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A warning that an API server sends with its answer, such as that a version
 * of a resource is deprecated: one of a response's Warning header fields (RFC
 * 7234, 5.5). The strings are valid during the call and never NULL. */
typedef struct kin_warning {
  size_t size;       /**< see KIN_HAS */
  int code;          /**< three digits; API servers send 299 */
  const char *agent; /**< the sender; "-" if the server does not name one */
  const char *text;  /**< UTF-8, without control characters; may be "" */
  const char *path;  /**< of the request, without its query: "/api/v1/pods" */
} kin_warning;

/** An event callback: comes from the loop, never inside a kin_ call, and may
 * call anything. `data` is as given with the callback. */
typedef void (*kin_warning_cb)(const kin_warning *warning, void *data);

#ifdef __cplusplus
}
#endif

#endif /* KIN_WARNING_H */
