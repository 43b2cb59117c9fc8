/* SPDX-License-Identifier: MIT */
#ifndef KIN_BASE_OPTIONS_H
#define KIN_BASE_OPTIONS_H

#include <stddef.h>

#include <kin/allocator.h>

#include "base/log.h"

/* Copies a sized option struct of a caller that may be older or newer than the
 * library. `size` is the first member of both structs. Fields that the caller
 * does not know become 0. `first_size` is the struct's size in its first
 * release, KIN__FIRST_SIZE(type) of base/first_size.h.
 *
 * Errors: KIN_EINVAL (NULL or smaller than first_size), KIN_ENOTSUP (a newer
 * caller has set a field that this library does not know). */
int kin__options_copy(void *to, size_t to_size, const void *from,
                      size_t first_size);

/* The same, and on an error calls kin__log_problem with the struct's name
 * `type`. `type` NULL: no call. `log` may be NULL. */
int kin__options_take(void *to, size_t to_size, const void *from,
                      size_t first_size, const char *type, const kin__log *log);

/* The options that several structs have: an allocator, which may be NULL, and
 * the level of a log. Errors: KIN_EINVAL, told to `log`. */
int kin__options_check_common(const kin_allocator *allocator,
                              kin_log_level level, const kin__log *log);

#endif /* KIN_BASE_OPTIONS_H */
