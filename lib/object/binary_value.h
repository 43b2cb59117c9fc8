/* SPDX-License-Identifier: MIT */
#ifndef KIN_OBJECT_BINARY_VALUE_H
#define KIN_OBJECT_BINARY_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Values that JSON texts write with digits, and that differ in most objects. Each
 * is at the end of a string:
 *
 * - a hash: at least 24 hexadecimal digits, of which the last 128 count;
 * - a UUID, an IPv4 address, or a time of metav1.Time from 1970 to 2106, that is
 *   the whole string.
 *
 * Only what would be written with the same digits again is such a value. */
typedef enum kin__binary_kind {
  KIN__BINARY_HASH = 'h',
  KIN__BINARY_UUID = 'u',
  KIN__BINARY_ADDRESS = 'a',
  KIN__BINARY_TIME = 't'
} kin__binary_kind;

#define KIN__BINARY_MAX_BYTES 64u
#define KIN__BINARY_UUID_BYTES 16u
#define KIN__BINARY_ADDRESS_BYTES 4u
#define KIN__BINARY_TIME_BYTES 4u
/* Of digits, and a NUL. */
#define KIN__BINARY_WRITTEN_BYTES (2 * KIN__BINARY_MAX_BYTES + 1)

typedef struct kin__binary_value {
  kin__binary_kind kind;
  const char *begin; /* in the text */
  const char *end;
  unsigned char bytes[KIN__BINARY_MAX_BYTES];
  size_t length; /* of the bytes */
} kin__binary_value;

/* The first quote of a text; NULL if there is none. */
const char *kin__binary_first(const char *text, size_t length);
/* Finds the next value from the quote at *at on, and moves *at to the quote
 * behind the value. *at may be NULL, and is NULL when there is no other quote. */
bool kin__binary_next(const char **at, const char *end, kin__binary_value *v);

/* The seconds since 1970 that a time's bytes are, and such a value. */
uint32_t kin__binary_seconds(const kin__binary_value *v);
void kin__binary_set_seconds(kin__binary_value *v, uint32_t seconds);

/* Writes the digits of a value whose bytes are set. Returns how many. */
size_t kin__binary_write(char to[KIN__BINARY_WRITTEN_BYTES],
                         const kin__binary_value *v);

#endif /* KIN_OBJECT_BINARY_VALUE_H */
