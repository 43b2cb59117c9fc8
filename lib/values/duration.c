/* SPDX-License-Identifier: MIT */

/* Durations as Go's package time reads and writes them. */
#include <kin/error.h>
#include <kin/time.h>

#include <stdbool.h>
#include <string.h>

#include "base/str.h"

#include "base/ascii.h"

#define S_NS UINT64_C(1000000000)
#define RANGE ((uint64_t)INT64_MAX + 1) /* of magnitudes */

static const struct {
  kin_str name;
  uint64_t ns;
} units[] = {
    {{"ns", 2}, 1},           {{"us", 2}, 1000},
    {{"\xc2\xb5s", 3}, 1000}, /* the micro sign */
    {{"\xce\xbcs", 3}, 1000}, /* the Greek letter mu */
    {{"ms", 2}, 1000000},     {{"s", 1}, S_NS},
    {{"m", 1}, 60 * S_NS},    {{"h", 1}, 3600 * S_NS},
};

static void step(kin_str *text, size_t count) {
  text->data += count;
  text->length -= count;
}

/* Takes digits; there may be none. Returns whether they are at most RANGE. */
static bool take_integer(kin_str *text, uint64_t *value) {
  *value = 0;
  for (; kin__is_digit(kin__str_byte(*text, 0)); step(text, 1)) {
    if (*value > RANGE / 10) {
      return false;
    }
    *value = *value * 10 + (uint64_t)(text->data[0] - '0');
    if (*value > RANGE) {
      return false;
    }
  }
  return true;
}

/* Takes digits after a point, which are value / scale. Those that fit no
 * uint64_t do not count. */
static void take_fraction(kin_str *text, uint64_t *value, double *scale) {
  bool is_full = false;
  *value = 0;
  *scale = 1;
  for (; kin__is_digit(kin__str_byte(*text, 0)); step(text, 1)) {
    is_full = is_full || *value > (uint64_t)INT64_MAX / 10;
    uint64_t next = *value * 10 + (uint64_t)(text->data[0] - '0');
    is_full = is_full || next > RANGE;
    if (!is_full) {
      *value = next;
      *scale *= 10;
    }
  }
}

/* Takes a unit: all up to the next digit or point. Returns 0 if it is none. */
static uint64_t take_unit(kin_str *text) {
  size_t length = 0;
  while (length < text->length && text->data[length] != '.' &&
         !kin__is_digit(text->data[length])) {
    length++;
  }
  kin_str name = kin__str(text->data, length);
  step(text, length);
  for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
    if (kin__str_equal(units[i].name, name)) {
      return units[i].ns;
    }
  }
  return 0;
}

/* Go rounds each result to a double. An i387 keeps more bits until the result is
 * stored, and the nanoseconds could be off by one. */
static double stored(double result) {
  volatile double place = result;
  return place;
}

/* Takes a number with its unit, and adds it. */
static bool take_part(kin_str *text, uint64_t *ns) {
  uint64_t value;
  uint64_t fraction = 0;
  double scale = 1;
  size_t before = text->length;
  if (!take_integer(text, &value)) {
    return false;
  }
  size_t digits = before - text->length;
  if (text->length > 0 && text->data[0] == '.') {
    step(text, 1);
    before = text->length;
    take_fraction(text, &fraction, &scale);
    digits += before - text->length;
  }
  uint64_t unit = take_unit(text);
  if (digits == 0 || unit == 0 || value > RANGE / unit) {
    return false;
  }
  value *= unit;
  if (fraction > 0) {
    double unit_of_last = stored((double)unit / scale);
    value += (uint64_t)stored((double)fraction * unit_of_last);
  }
  if (value > RANGE || value > RANGE - *ns) {
    return false;
  }
  *ns += value;
  return true;
}

int kin_duration_parse(kin_str text, int64_t *ns) {
  text = kin__str_given(text);
  if (ns == NULL || text.length == 0) {
    return KIN_EINVAL;
  }
  bool is_negative = text.data[0] == '-';
  if (is_negative || text.data[0] == '+') {
    step(&text, 1);
  }
  uint64_t magnitude = 0;
  if (!kin__str_equal(text, KIN__LIT("0"))) {
    do {
      if (!take_part(&text, &magnitude)) {
        return KIN_EINVAL;
      }
    } while (text.length > 0);
  }
  if (!is_negative && magnitude == RANGE) {
    return KIN_EINVAL;
  }
  *ns = is_negative ? (int64_t)(0 - magnitude) : (int64_t)magnitude;
  return 0;
}

/* Writing goes from the end of the buffer to its beginning. */

static char *put_integer(char *at, uint64_t value) {
  do {
    *--at = (char)('0' + value % 10);
    value /= 10;
  } while (value > 0);
  return at;
}

/* Writes the last `digits` digits of *value behind a point, without zeros at
 * the end, and takes them off. */
static char *put_fraction(char *at, uint64_t *value, unsigned digits) {
  bool has_digit = false;
  for (unsigned i = 0; i < digits; i++, *value /= 10) {
    has_digit = has_digit || *value % 10 != 0;
    if (has_digit) {
      *--at = (char)('0' + *value % 10);
    }
  }
  if (has_digit) {
    *--at = '.';
  }
  return at;
}

static char *put_below_a_second(char *at, uint64_t ns) {
  unsigned digits = 0;
  if (ns >= 1000000) {
    *--at = 'm';
    digits = 6;
  } else if (ns >= 1000) {
    at -= 2;
    memcpy(at, "\xc2\xb5", 2);
    digits = 3;
  } else if (ns > 0) {
    *--at = 'n';
  }
  at = put_fraction(at, &ns, digits);
  return put_integer(at, ns);
}

static char *put_seconds(char *at, uint64_t ns) {
  at = put_fraction(at, &ns, 9);
  uint64_t s = ns;
  at = put_integer(at, s % 60);
  if (s >= 60) {
    *--at = 'm';
    at = put_integer(at, s / 60 % 60);
  }
  if (s >= 3600) {
    *--at = 'h';
    at = put_integer(at, s / 3600);
  }
  return at;
}

size_t kin_duration_format(char out[KIN_DURATION_SIZE], int64_t ns) {
  if (out == NULL) {
    return 0;
  }
  char text[KIN_DURATION_SIZE];
  char *end = text + sizeof text;
  uint64_t magnitude = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
  char *at = end;
  *--at = 's';
  at = magnitude < S_NS ? put_below_a_second(at, magnitude)
                        : put_seconds(at, magnitude);
  if (ns < 0) {
    *--at = '-';
  }
  size_t length = (size_t)(end - at);
  memcpy(out, at, length);
  out[length] = '\0';
  return length;
}
