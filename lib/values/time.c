/* SPDX-License-Identifier: MIT */
#include <kin/error.h>
#include <kin/time.h>

#include "base/str.h"
#include "base/timestamp.h"

_Static_assert(KIN_TIME_SIZE == KIN__TIMESTAMP_MAX, "the longest text");

int kin_time_parse(kin_str text, kin_time *out) {
  kin__timestamp found;
  if (out == NULL || !kin__timestamp_parse(kin__str_given(text), &found)) {
    return KIN_EINVAL;
  }
  *out = (kin_time){found.s, found.ns};
  return 0;
}

size_t kin_time_format(char out[KIN_TIME_SIZE], kin_time time,
                       unsigned fraction_digits) {
  if (out == NULL) {
    return 0;
  }
  kin__timestamp t = {.s = time.s, .ns = time.ns};
  return kin__timestamp_format(out, t, fraction_digits);
}

int kin_time_compare(kin_time a, kin_time b) {
  return a.s != b.s ? (a.s > b.s) - (a.s < b.s) : (a.ns > b.ns) - (a.ns < b.ns);
}
