/* SPDX-License-Identifier: MIT */
#include "base/timestamp.h"

#include <stddef.h>

#include "base/ascii.h"

#define DAY_S INT64_C(86400)

/* 0000-01-01T00:00:00Z and 9999-12-31T23:59:59Z. */
#define FIRST_S INT64_C(-62167219200)
#define LAST_S INT64_C(253402300799)

enum { NS_DIGITS = 9 };

/* Takes `count` digits, whose value must lie in [min, max]. */
static bool take_number(kin_str *text, size_t count, int min, int max,
                        int *value) {
  *value = 0;
  if (text->length < count) {
    return false;
  }
  for (size_t i = 0; i < count; i++) {
    if (!kin__is_digit(text->data[i])) {
      return false;
    }
    *value = *value * 10 + (text->data[i] - '0');
  }
  text->data += count;
  text->length -= count;
  return *value >= min && *value <= max;
}

static bool take_char(kin_str *text, char c) {
  if (text->length == 0 || text->data[0] != c) {
    return false;
  }
  text->data++;
  text->length--;
  return true;
}

static int days_of_month(int year, int month) {
  static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  bool is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
  return days[month - 1] + (month == 2 && is_leap);
}

/* Days since 1970-01-01 in the proleptic Gregorian calendar. A year begins in
 * March here, so that its leap day is its last. */
static int64_t days_since_1970(int year, int month, int day) {
  int64_t y = month <= 2 ? year - 1 : year;
  int64_t m = month <= 2 ? month + 9 : month - 3;
  int64_t y_floor = y >= 0 ? y : y - 399;
  int64_t era = y_floor / 400;
  int64_t year_of_era = y - era * 400;
  int64_t day_of_year = (153 * m + 2) / 5 + day - 1;
  int64_t day_of_era =
      year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
  return era * 146097 + day_of_era - 719468;
}

static bool take_fraction(kin_str *text, uint32_t *ns) {
  *ns = 0;
  if (!take_char(text, '.')) {
    return true;
  }
  uint32_t unit = 100000000;
  bool has_digit = false;
  while (text->length > 0 && kin__is_digit(text->data[0])) {
    *ns += unit * (uint32_t)(text->data[0] - '0');
    unit /= 10;
    has_digit = true;
    text->data++;
    text->length--;
  }
  return has_digit;
}

/* "Z", "+hh:mm" or "-hh:mm", at the end of the text. */
static bool take_offset(kin_str *text, int64_t *offset_s) {
  *offset_s = 0;
  if (take_char(text, 'Z')) {
    return text->length == 0;
  }
  int hours;
  int minutes;
  bool is_west = take_char(text, '-');
  if ((!is_west && !take_char(text, '+')) ||
      !take_number(text, 2, 0, 24, &hours) || !take_char(text, ':') ||
      !take_number(text, 2, 0, 60, &minutes) || text->length > 0) {
    return false;
  }
  *offset_s = (hours * 60 + minutes) * INT64_C(60) * (is_west ? -1 : 1);
  return true;
}

bool kin__timestamp_parse(kin_str text, kin__timestamp *out) {
  int year;
  int month;
  int day;
  int hour;
  int minute;
  int second;
  uint32_t ns;
  int64_t offset_s;
  if (!take_number(&text, 4, 0, 9999, &year) || !take_char(&text, '-') ||
      !take_number(&text, 2, 1, 12, &month) || !take_char(&text, '-') ||
      !take_number(&text, 2, 1, days_of_month(year, month), &day) ||
      !take_char(&text, 'T') || !take_number(&text, 2, 0, 23, &hour) ||
      !take_char(&text, ':') || !take_number(&text, 2, 0, 59, &minute) ||
      !take_char(&text, ':') || !take_number(&text, 2, 0, 59, &second) ||
      !take_fraction(&text, &ns) || !take_offset(&text, &offset_s)) {
    return false;
  }
  out->s = days_since_1970(year, month, day) * DAY_S +
           (hour * 60 + minute) * INT64_C(60) + second - offset_s;
  out->ns = ns;
  return true;
}

/* The inverse of days_since_1970. */
static void date_of_days(int64_t days, int *year, int *month, int *day) {
  days += 719468;
  int64_t era = (days >= 0 ? days : days - 146096) / 146097;
  int64_t day_of_era = days - era * 146097;
  int64_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 -
                         day_of_era / 146096) /
                        365;
  int64_t day_of_year =
      day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  int64_t m = (5 * day_of_year + 2) / 153; /* from March */
  *day = (int)(day_of_year - (153 * m + 2) / 5 + 1);
  *month = (int)(m < 10 ? m + 3 : m - 9);
  *year = (int)(year_of_era + era * 400 + (*month <= 2));
}

/* Writes `value` in `digits` digits, and `after` unless it is NUL. */
static char *put_number(char *to, int value, unsigned digits, char after) {
  for (unsigned i = digits; i-- > 0; value /= 10) {
    to[i] = (char)('0' + value % 10);
  }
  to += digits;
  if (after != '\0') {
    *to++ = after;
  }
  return to;
}

size_t kin__timestamp_format(char out[KIN__TIMESTAMP_MAX], kin__timestamp t,
                             unsigned fraction_digits) {
  out[0] = '\0';
  if (t.s < FIRST_S || t.s > LAST_S || t.ns > 999999999 ||
      fraction_digits > NS_DIGITS) {
    return 0;
  }
  int64_t days = (t.s - (t.s < 0 ? DAY_S - 1 : 0)) / DAY_S;
  int second_of_day = (int)(t.s - days * DAY_S);
  int year;
  int month;
  int day;
  date_of_days(days, &year, &month, &day);
  char *at = put_number(out, year, 4, '-');
  at = put_number(at, month, 2, '-');
  at = put_number(at, day, 2, 'T');
  at = put_number(at, second_of_day / 3600, 2, ':');
  at = put_number(at, second_of_day / 60 % 60, 2, ':');
  at = put_number(at, second_of_day % 60, 2, '\0');
  if (fraction_digits > 0) {
    int fraction = (int)t.ns;
    for (unsigned i = fraction_digits; i < NS_DIGITS; i++) {
      fraction /= 10;
    }
    *at++ = '.';
    at = put_number(at, fraction, fraction_digits, '\0');
  }
  *at++ = 'Z';
  *at = '\0';
  return (size_t)(at - out);
}
