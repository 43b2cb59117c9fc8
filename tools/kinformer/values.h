/* SPDX-License-Identifier: MIT */
#ifndef KINFORMER_VALUES_H
#define KINFORMER_VALUES_H

#include <stdbool.h>
#include <stdint.h>

#include <kin/compact.h>
#include <kin/max_bytes.h>

/* The values of options. */

/* A decimal number without sign, at most `most`. */
bool parse_u64(const char *s, uint64_t most, uint64_t *value);

/* Seconds, with up to three decimals, as milliseconds. Unlike strtod it does
 * not depend on the locale. */
bool parse_seconds(const char *s, uint64_t most_ms, uint64_t *ms);

/* Bytes above 0: a number, or a number of Ki, Mi or Gi. */
bool parse_bytes(const char *s, uint64_t *bytes);

/* "INDEX/COUNT", with an index below the count, at most `most`. */
bool parse_part(const char *s, uint32_t most, uint32_t *index, uint32_t *count);

/* "drop", "pause" or "stop". */
bool parse_decision(const char *s, kin_memory_decision *decision);

/* NULL or "fast", or "small". */
bool parse_compact(const char *s, kin_compact *compact);

/* As the library takes the name of a namespace, and a selector; it would say so
 * only when the server is known. */
bool is_namespace(const char *name);
bool is_selector(const char *text);

/* Whether it begins with a scheme that the library knows. */
bool is_server(const char *url);

bool has_tls(const char *url);

/* Whether a pointer names what `outer` names, or a part of it. */
bool is_within(const char *pointer, const char *outer);

/* RFC 6901: "" or reference tokens that each begin with '/'. */
bool is_pointer(const char *s);

#endif /* KINFORMER_VALUES_H */
