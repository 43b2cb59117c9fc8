/* SPDX-License-Identifier: MIT */

/* Quantities as numbers: apimachinery's quantity.go, amount.go, scale_int.go.
 * apimachinery keeps an int64 with a power of ten, or a decimal of any length,
 * and rounds what it reads to billionths. So a whole number of billionths holds
 * the same values; only the range is bounded here. */
#include "values/quantity.h"

#include <string.h>

#include <kin/error.h>

#include "base/str.h"

enum { PARTS = KIN__QUANTITY_PARTS };

static bool is_zero(const kin_quantity *quantity) {
  return kin__wide_is_zero(quantity->nano, PARTS);
}

static void set_u64(kin_quantity *quantity, uint64_t value) {
  quantity->nano[0] = (uint32_t)value;
  quantity->nano[1] = (uint32_t)(value >> 32);
}

/* `value` units of so many billionths each. */
static kin_quantity make(int64_t value, uint32_t unit_nano,
                         kin_quantity_format format) {
  kin_quantity quantity = {.is_negative = value < 0, .format = format};
  set_u64(&quantity, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
  (void)kin__wide_multiply(quantity.nano, PARTS, unit_nano, 0); /* 94 bits */
  return quantity;
}

kin_quantity kin_quantity_of(int64_t value, kin_quantity_format format) {
  return make(value, KIN__QUANTITY_NANO, format);
}

kin_quantity kin_quantity_of_milli(int64_t value, kin_quantity_format format) {
  return make(value, KIN__QUANTITY_NANO / 1000, format);
}

int kin_quantity_sign(const kin_quantity *quantity) {
  if (quantity == NULL || is_zero(quantity)) {
    return 0;
  }
  return quantity->is_negative ? -1 : 1;
}

int kin_quantity_compare(const kin_quantity *a, const kin_quantity *b) {
  if (a == NULL || b == NULL) {
    return 0;
  }
  int a_sign = kin_quantity_sign(a);
  int b_sign = kin_quantity_sign(b);
  return a_sign != b_sign ? (a_sign > b_sign) - (a_sign < b_sign)
                          : a_sign * kin__wide_compare(a->nano, b->nano, PARTS);
}

void kin_quantity_negate(kin_quantity *quantity) {
  if (quantity != NULL) {
    quantity->is_negative = !quantity->is_negative && !is_zero(quantity);
  }
}

int kin_quantity_add(kin_quantity *quantity, const kin_quantity *other) {
  if (quantity == NULL || other == NULL) {
    return KIN_EINVAL;
  }
  kin_quantity sum = *quantity;
  sum.format = is_zero(quantity) ? other->format : quantity->format;
  if (quantity->is_negative == other->is_negative) {
    if (!kin__wide_add(sum.nano, other->nano, PARTS)) {
      return KIN_ETOOBIG;
    }
  } else if (kin__wide_compare(sum.nano, other->nano, PARTS) >= 0) {
    kin__wide_subtract(sum.nano, other->nano, PARTS);
  } else {
    memcpy(sum.nano, other->nano, sizeof sum.nano);
    kin__wide_subtract(sum.nano, quantity->nano, PARTS);
    sum.is_negative = other->is_negative;
  }
  sum.is_negative = sum.is_negative && !is_zero(&sum);
  *quantity = sum;
  return 0;
}

int kin_quantity_subtract(kin_quantity *quantity, const kin_quantity *other) {
  if (quantity == NULL || other == NULL) {
    return KIN_EINVAL;
  }
  kin_quantity negated = *other;
  kin_quantity_negate(&negated);
  return kin_quantity_add(quantity, &negated);
}

/* In units of so many billionths, rounded away from 0. */
static int to_int64(const kin_quantity *quantity, uint32_t unit_nano,
                    int64_t *out) {
  if (quantity == NULL || out == NULL) {
    return KIN_EINVAL;
  }
  kin_quantity units = *quantity;
  if (kin__wide_divide(units.nano, PARTS, unit_nano) > 0) {
    (void)kin__wide_multiply(units.nano, PARTS, 1, 1);
  }
  uint64_t magnitude = (uint64_t)units.nano[1] << 32 | units.nano[0];
  uint64_t most = (uint64_t)INT64_MAX + (quantity->is_negative ? 1 : 0);
  if (!kin__wide_is_zero(units.nano + 2, PARTS - 2) || magnitude > most) {
    return KIN_ETOOBIG;
  }
  *out = quantity->is_negative ? (int64_t)(0 - magnitude) : (int64_t)magnitude;
  return 0;
}

int kin_quantity_value(const kin_quantity *quantity, int64_t *out) {
  return to_int64(quantity, KIN__QUANTITY_NANO, out);
}

int kin_quantity_milli_value(const kin_quantity *quantity, int64_t *out) {
  return to_int64(quantity, KIN__QUANTITY_NANO / 1000, out);
}

double kin_quantity_double(const kin_quantity *quantity) {
  double nano = 0;
  for (size_t i = quantity != NULL ? PARTS : 0; i-- > 0;) {
    nano = nano * 4294967296.0 + quantity->nano[i];
  }
  double value = nano / KIN__QUANTITY_NANO;
  return quantity != NULL && quantity->is_negative ? -value : value;
}
