/* SPDX-License-Identifier: MIT */
#ifndef KINFORMER_VALUES_H
#define KINFORMER_VALUES_H

#include <stdbool.h>
#include <stdint.h>

/* The values of options. */

/* A decimal number without sign, at most `most`. */
bool parse_u64(const char *s, uint64_t most, uint64_t *value);

/* Seconds, with up to three decimals, as milliseconds. Unlike strtod it does
 * not depend on the locale. */
bool parse_seconds(const char *s, uint64_t most_ms, uint64_t *ms);

/* RFC 6901: "" or reference tokens that each begin with '/'. */
bool is_pointer(const char *s);

#endif /* KINFORMER_VALUES_H */
