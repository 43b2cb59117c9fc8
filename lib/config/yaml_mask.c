/* SPDX-License-Identifier: MIT */
#include "config/yaml_mask.h"

#include <string.h>

#include <openssl/crypto.h>

#include <kin/error.h>

#include "base/alloc.h"
#include "base/str.h"

/* A mark: U+E000, which no kubeconfig needs, then place and length, each as
 * four digits of 6 bits. */
#define FIRST "\xee\x80\x80"
#define FIRST_BYTES 3u
#define DIGITS 4u
#define MARK_BYTES (FIRST_BYTES + 2 * DIGITS)

/* The longest escape in double quotes, \UXXXXXXXX, without its backslash. */
#define MAX_ESCAPE_BYTES 9u

static const char digits[] =
    "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_";

/* --- Runs ----------------------------------------------------------------- */

static bool is_one_of(char c, const char *set) {
  return c != '\0' && strchr(set, c) != NULL;
}

/* Never an indicator with more than two characters behind it. */
static bool may_begin(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         (c >= '0' && c <= '9') || is_one_of(c, "+/=._-");
}

/* The others are indicators at the beginning of a scalar only. */
static bool may_follow(char c) {
  return may_begin(c) || is_one_of(c, "!$%&()*;<>@^`|~");
}

static size_t run_length(kin_str text, size_t at) {
  size_t end = at;
  while (end < text.length &&
         (end == at ? may_begin(text.data[end]) : may_follow(text.data[end]))) {
    end++;
  }
  return end - at;
}

/* Names of anchors and tags, and directives, must stay as they are, and none of
 * them follows a quote; so must the character after a backslash. */
static size_t bytes_to_keep(kin_str text, size_t at) {
  char before = at > 0 ? text.data[at - 1] : ' ';
  bool is_quoted = at > 1 && is_one_of(text.data[at - 2], "\"'");
  if (is_one_of(before, "&*!%") && !is_quoted) {
    return SIZE_MAX;
  }
  return before == '\\' ? MAX_ESCAPE_BYTES : 0;
}

/* --- Marks ---------------------------------------------------------------- */

static void put_number(char *to, size_t number) {
  for (size_t i = DIGITS; i > 0; i--) {
    to[i - 1] = digits[number & 63];
    number >>= 6;
  }
}

static bool take_number(const char *from, size_t *number) {
  *number = 0;
  for (size_t i = 0; i < DIGITS; i++) {
    if (!is_one_of(from[i], digits)) {
      return false;
    }
    *number = *number << 6 | (size_t)(strchr(digits, from[i]) - digits);
  }
  return true;
}

static void put_mark(char *to, size_t at, size_t length) {
  memcpy(to, FIRST, FIRST_BYTES);
  put_number(to + FIRST_BYTES, at);
  put_number(to + FIRST_BYTES + DIGITS, length);
}

/* Whether a mark, of a run of the source, is here. */
static bool take_mark(const kin__yaml_mask *mask, kin_str scalar, size_t at,
                      kin_str *run) {
  const char *p = scalar.data + at;
  size_t begin;
  size_t length;
  if (scalar.length - at < MARK_BYTES || memcmp(p, FIRST, FIRST_BYTES) != 0 ||
      !take_number(p + FIRST_BYTES, &begin) ||
      !take_number(p + FIRST_BYTES + DIGITS, &length) ||
      begin > mask->source.length || length > mask->source.length - begin) {
    return false;
  }
  *run = kin__str(mask->source.data + begin, length);
  return true;
}

/* Whether the text has the first character of a mark at this place, or an
 * escape that is one. */
static bool is_first(kin_str text, size_t at) {
  const char *p = text.data + at;
  size_t left = text.length - at;
  return (left >= FIRST_BYTES && memcmp(p, FIRST, FIRST_BYTES) == 0) ||
         (left >= 4 && (p[0] == 'e' || p[0] == 'E') &&
          memcmp(p + 1, "000", 3) == 0);
}

/* --- The text ------------------------------------------------------------- */

/* Copies text as it is. Returns false if it may be a mark. */
static bool keep(kin__yaml_mask *mask, size_t at, size_t length) {
  for (size_t i = at; i < at + length; i++) {
    if (is_first(mask->source, i)) {
      return false;
    }
  }
  memcpy(mask->copy + mask->length, mask->source.data + at, length);
  mask->length += length;
  return true;
}

static bool write_masked(kin__yaml_mask *mask) {
  kin_str text = mask->source;
  for (size_t at = 0; at < text.length;) {
    size_t length = run_length(text, at);
    size_t kept = length > 0 ? bytes_to_keep(text, at) : 1;
    if (length > 0 && (kept >= length || length - kept < MARK_BYTES)) {
      kept = length;
    }
    if (!keep(mask, at, kept)) {
      return false;
    }
    at += kept;
    if (kept < length) {
      put_mark(mask->copy + mask->length, at, length - kept);
      mask->length += MARK_BYTES;
      at += length - kept;
    }
  }
  return true;
}

int kin__yaml_mask_init(kin__yaml_mask *mask, const kin_allocator *allocator,
                        kin_str source) {
  *mask = (kin__yaml_mask){.allocator = allocator, .source = source};
  mask->copy = kin__malloc(allocator, source.length > 0 ? source.length : 1);
  if (mask->copy == NULL) {
    return KIN_ENOMEM;
  }
  mask->has_marks = source.length >> 6 * DIGITS == 0 && write_masked(mask);
  if (!mask->has_marks && source.length > 0) {
    memcpy(mask->copy, source.data, source.length);
    mask->length = source.length;
  }
  return 0;
}

void kin__yaml_mask_finish(kin__yaml_mask *mask) {
  if (mask->copy != NULL) {
    OPENSSL_cleanse(mask->copy, mask->source.length);
    kin__free(mask->allocator, mask->copy);
    mask->copy = NULL;
  }
}

size_t kin__yaml_unmask(const kin__yaml_mask *mask, kin_str scalar, char *to) {
  size_t length = 0;
  for (size_t at = 0; at < scalar.length;) {
    kin_str part;
    if (mask->has_marks && take_mark(mask, scalar, at, &part)) {
      at += MARK_BYTES;
    } else {
      part = kin__str(scalar.data + at, 1);
      at++;
    }
    if (to != NULL) {
      memcpy(to + length, part.data, part.length);
    }
    length += part.length;
  }
  return length;
}
