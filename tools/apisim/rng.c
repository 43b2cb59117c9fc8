/* SPDX-License-Identifier: MIT */
#include "rng.h"

#include <stdio.h>
#include <string.h>

uint64_t rng_mix(uint64_t value) {
  value += 0x9e3779b97f4a7c15u;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}

uint64_t rng_next(rng *r) {
  uint64_t value = rng_mix(r->state);
  r->state += 0x9e3779b97f4a7c15u;
  return value;
}

/* The upper half of a * b. No type of 32-bit machines holds the product. */
static uint64_t high_product(uint64_t a, uint64_t b) {
  uint64_t a_low = (uint32_t)a, a_high = a >> 32;
  uint64_t b_low = (uint32_t)b, b_high = b >> 32;
  uint64_t middle = a_high * b_low + (a_low * b_low >> 32);
  uint64_t other = a_low * b_high + (uint32_t)middle;
  return a_high * b_high + (middle >> 32) + (other >> 32);
}

uint64_t rng_below(rng *r, uint64_t bound) {
  if (bound == 0) {
    return 0;
  }
  return high_product(rng_next(r), bound);
}

void rng_uuid(rng *r, char out[UUID_LEN + 1]) {
  uint64_t hi = (rng_next(r) & ~0xf000ull) | 0x4000u;
  uint64_t lo = (rng_next(r) & ~(0xc0ull << 56)) | (0x80ull << 56);
  snprintf(out, UUID_LEN + 1, "%08x-%04x-%04x-%04x-%012llx",
           (unsigned)(hi >> 32), (unsigned)(hi >> 16) & 0xffffu,
           (unsigned)hi & 0xffffu, (unsigned)(lo >> 48),
           (unsigned long long)(lo & 0xffffffffffffu));
}

static void put_digits(char *at, unsigned value, int count) {
  while (count-- > 0) {
    at[count] = (char)('0' + value % 10);
    value /= 10;
  }
}

/* Days to civil date with March as the first month of the year, so that the
 * leap day is the last of it; strftime() is ten times slower, and generated
 * pods carry a dozen times each. */
void format_rfc3339(time_t t, char out[RFC3339_LEN + 1]) {
  uint64_t seconds = t > 0 ? (uint64_t)t : 0;
  unsigned in_day = (unsigned)(seconds % 86400);
  uint64_t days = seconds / 86400 + 719468;
  uint64_t era = days / 146097;
  unsigned of_era = (unsigned)(days % 146097);
  unsigned year_of_era =
      (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
  unsigned of_year =
      of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  unsigned shifted = (5 * of_year + 2) / 153;
  unsigned month = shifted < 10 ? shifted + 3 : shifted - 9;
  unsigned year = year_of_era + (unsigned)era * 400 + (month <= 2 ? 1 : 0);
  memcpy(out, "0000-00-00T00:00:00Z", RFC3339_LEN + 1);
  put_digits(out, year, 4);
  put_digits(out + 5, month, 2);
  put_digits(out + 8, of_year - (153 * shifted + 2) / 5 + 1, 2);
  put_digits(out + 11, in_day / 3600, 2);
  put_digits(out + 14, in_day / 60 % 60, 2);
  put_digits(out + 17, in_day % 60, 2);
}
