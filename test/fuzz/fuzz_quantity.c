/* SPDX-License-Identifier: MIT */

/* Quantities, durations and times: each line is one. Oracles:
 *  - what is written is read as the same number, and written the same again
 *  - the order of two quantities is the sign of their difference, and adding
 *    undoes subtracting
 *  - Value is the least whole number that is not closer to 0 */

#include <stdlib.h>
#include <string.h>

#include <kin/error.h>
#include <kin/quantity.h>
#include <kin/time.h>

#include "fuzz/fuzz.h"

static void check_text(const kin_quantity *quantity) {
  char once[KIN_QUANTITY_SIZE];
  char twice[KIN_QUANTITY_SIZE];
  size_t length = kin_quantity_text(once, quantity);
  FUZZ_CHECK(length == strlen(once) && length > 0);
  kin_quantity again;
  FUZZ_CHECK(kin_quantity_parse(kin_str_of(once), &again) == 0);
  int64_t value;
  if (once[length - 1] == 'i' && kin_quantity_value(quantity, &value) != 0) {
    return; /* a sum beyond what a binary suffix may have when it is read */
  }
  FUZZ_CHECK(kin_quantity_compare(quantity, &again) == 0);
  kin_quantity_text(twice, &again);
  /* 1023 with a binary format is written, and read, without a suffix. */
  FUZZ_CHECK(quantity->format != again.format || strcmp(once, twice) == 0);
}

static void check_value(const kin_quantity *quantity) {
  int64_t value;
  int err = kin_quantity_value(quantity, &value);
  FUZZ_CHECK(err == 0 || err == KIN_ETOOBIG);
  if (err != 0) {
    return;
  }
  kin_quantity whole = kin_quantity_of(value, KIN_QUANTITY_DECIMAL_SI);
  int sign = kin_quantity_sign(quantity);
  int order = kin_quantity_compare(&whole, quantity);
  FUZZ_CHECK(order == 0 || order == sign);
  kin_quantity one = kin_quantity_of(sign, KIN_QUANTITY_DECIMAL_SI);
  FUZZ_CHECK(kin_quantity_subtract(&whole, &one) == 0);
  order = kin_quantity_compare(&whole, quantity);
  FUZZ_CHECK(sign == 0 || order == -sign);
}

static void check_pair(const kin_quantity *a, const kin_quantity *b) {
  kin_quantity difference = *a;
  int err = kin_quantity_subtract(&difference, b);
  FUZZ_CHECK(err == 0 || err == KIN_ETOOBIG);
  if (err == 0) {
    FUZZ_CHECK(kin_quantity_compare(a, b) == kin_quantity_sign(&difference));
    check_text(&difference);
    err = kin_quantity_add(&difference, b);
    FUZZ_CHECK(err == 0 && kin_quantity_compare(&difference, a) == 0);
  }
}

static void check_duration(kin_str line) {
  int64_t ns;
  if (kin_duration_parse(line, &ns) == 0) {
    char text[KIN_DURATION_SIZE];
    FUZZ_CHECK(kin_duration_format(text, ns) == strlen(text));
    int64_t again;
    FUZZ_CHECK(kin_duration_parse(kin_str_of(text), &again) == 0);
    FUZZ_CHECK(again == ns);
  }
}

static void check_time(kin_str line) {
  kin_time moment;
  char text[KIN_TIME_SIZE];
  if (kin_time_parse(line, &moment) == 0 &&
      kin_time_format(text, moment, 9) > 0) {
    kin_time again;
    FUZZ_CHECK(kin_time_parse(kin_str_of(text), &again) == 0);
    FUZZ_CHECK(kin_time_compare(moment, again) == 0);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_input in = {data, size};
  kin_quantity last = kin_quantity_of(0, KIN_QUANTITY_DECIMAL_SI);
  while (in.left > 0) {
    kin_str line = fuzz_line(&in);
    /* In memory of its own, so that reading beyond its end is found. */
    char *bytes = malloc(line.length + 1);
    FUZZ_CHECK(bytes != NULL);
    memcpy(bytes, line.data, line.length);
    kin_str copy = {bytes, line.length};
    kin_quantity quantity;
    if (kin_quantity_parse(copy, &quantity) == 0) {
      check_text(&quantity);
      check_value(&quantity);
      check_pair(&quantity, &last);
      last = quantity;
    }
    check_duration(copy);
    check_time(copy);
    free(bytes);
  }
  return 0;
}
