/* SPDX-License-Identifier: MIT */
#include "object/binary_value.h"

#include <string.h>

#include "base/ascii.h"
#include "base/str.h"
#include "base/timestamp.h"

#define HASH_MIN_BYTES 12u
#define UUID_LENGTH 36u
#define ADDRESS_MIN_LENGTH (sizeof "1.1.1.1" - 1)
#define ADDRESS_MAX_LENGTH (sizeof "255.255.255.255" - 1)
#define TIME_LENGTH (sizeof "2006-01-02T15:04:05Z" - 1)

/* --- Reading ---------------------------------------------------------------- */

static bool is_hex(char c) {
  return kin__is_digit(c) || (c >= 'a' && c <= 'f');
}

/* Reads pairs of digits; false if there is another character. */
static bool read_hex(kin__binary_value *v, const char *from, size_t bytes) {
  for (size_t i = 0; i < bytes; i++, from += 2) {
    if (!is_hex(from[0]) || !is_hex(from[1])) {
      return false;
    }
    v->bytes[v->length++] =
        (unsigned char)(kin__hex_value(from[0]) * 16 + kin__hex_value(from[1]));
  }
  return true;
}

/* Whether a '-' stands before byte i of a UUID. */
static bool has_dash(size_t i) {
  return i == 4 || i == 6 || i == 8 || i == 10;
}

static bool read_uuid(kin__binary_value *v) {
  const char *from = v->begin;
  v->kind = KIN__BINARY_UUID;
  for (size_t i = 0; i < KIN__BINARY_UUID_BYTES; i++, from += 2) {
    if ((has_dash(i) && *from++ != '-') || !read_hex(v, from, 1)) {
      return false;
    }
  }
  return true;
}

/* Numbers as a program writes them: no zero comes first. */
static bool read_address(kin__binary_value *v) {
  const char *from = v->begin;
  v->kind = KIN__BINARY_ADDRESS;
  while (v->length < KIN__BINARY_ADDRESS_BYTES) {
    unsigned number = 0;
    const char *first = from;
    while (from < v->end && from - first < 3 && kin__is_digit(*from)) {
      number = number * 10 + (unsigned)(*from++ - '0');
    }
    if (from == first || (*first == '0' && from - first > 1) || number > 255) {
      return false;
    }
    v->bytes[v->length++] = (unsigned char)number;
    if (v->length < KIN__BINARY_ADDRESS_BYTES &&
        (from == v->end || *from++ != '.')) {
      return false;
    }
  }
  return from == v->end;
}

uint32_t kin__binary_seconds(const kin__binary_value *v) {
  uint32_t seconds;
  memcpy(&seconds, v->bytes, sizeof seconds);
  return seconds;
}

void kin__binary_set_seconds(kin__binary_value *v, uint32_t seconds) {
  v->kind = KIN__BINARY_TIME;
  v->length = sizeof seconds;
  memcpy(v->bytes, &seconds, sizeof seconds);
}

static bool read_time(kin__binary_value *v) {
  kin__timestamp t;
  kin_str text = kin__str(v->begin, (size_t)(v->end - v->begin));
  if (!kin__timestamp_parse(text, &t) || t.s < 0 || t.s > UINT32_MAX) {
    return false;
  }
  kin__binary_set_seconds(v, (uint32_t)t.s);
  return true;
}

/* The last digits, an even number of them. */
static bool read_hash(kin__binary_value *v) {
  size_t room = (size_t)(v->end - v->begin) / 2;
  size_t bytes = 0;
  while (bytes < room && bytes < KIN__BINARY_MAX_BYTES &&
         is_hex(v->end[-1 - 2 * (ptrdiff_t)bytes]) &&
         is_hex(v->end[-2 - 2 * (ptrdiff_t)bytes])) {
    bytes++;
  }
  v->kind = KIN__BINARY_HASH;
  v->begin = v->end - 2 * bytes;
  return bytes >= HASH_MIN_BYTES && read_hex(v, v->begin, bytes);
}

/* Reads the text between two quotes. The quotes may be the end of one string and
 * the beginning of the next one. */
static bool read_value(kin__binary_value *v, const char *begin,
                       const char *end) {
  size_t length = (size_t)(end - begin);
  bool is_time = length == TIME_LENGTH && end[-1] == 'Z';
  if (length < ADDRESS_MIN_LENGTH || (!is_hex(end[-1]) && !is_time)) {
    return false;
  }
  v->begin = begin;
  v->end = end;
  v->length = 0;
  if (is_time) {
    return read_time(v);
  }
  if (length <= ADDRESS_MAX_LENGTH) {
    return read_address(v);
  }
  if (length == UUID_LENGTH && begin[8] == '-') {
    return read_uuid(v);
  }
  return length >= (size_t)2 * HASH_MIN_BYTES && read_hash(v);
}

const char *kin__binary_first(const char *text, size_t length) {
  return length > 0 ? memchr(text, '"', length) : NULL;
}

bool kin__binary_next(const char **at, const char *end, kin__binary_value *v) {
  while (*at != NULL) {
    const char *begin = *at + 1;
    *at = memchr(begin, '"', (size_t)(end - begin));
    if (*at != NULL && read_value(v, begin, *at)) {
      return true;
    }
  }
  return false;
}

/* --- Writing ---------------------------------------------------------------- */

static char *write_hex(char *to, unsigned char byte) {
  static const char digits[] = "0123456789abcdef";
  *to++ = digits[byte >> 4];
  *to++ = digits[byte & 15u];
  return to;
}

static char *write_number(char *to, unsigned number) {
  if (number >= 100) {
    *to++ = (char)('0' + number / 100);
  }
  if (number >= 10) {
    *to++ = (char)('0' + number / 10 % 10);
  }
  *to++ = (char)('0' + number % 10);
  return to;
}

size_t kin__binary_write(char to[KIN__BINARY_WRITTEN_BYTES],
                         const kin__binary_value *v) {
  if (v->kind == KIN__BINARY_TIME) {
    kin__timestamp t = {.s = kin__binary_seconds(v)};
    return kin__timestamp_format(to, t, 0);
  }
  char *at = to;
  for (size_t i = 0; i < v->length; i++) {
    bool is_address = v->kind == KIN__BINARY_ADDRESS;
    if (is_address && i > 0) {
      *at++ = '.';
    } else if (v->kind == KIN__BINARY_UUID && has_dash(i)) {
      *at++ = '-';
    }
    at =
        is_address ? write_number(at, v->bytes[i]) : write_hex(at, v->bytes[i]);
  }
  return (size_t)(at - to);
}
