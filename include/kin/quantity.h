/* SPDX-License-Identifier: MIT */
#ifndef KIN_QUANTITY_H
#define KIN_QUANTITY_H

/** @file
 * Quantities: the numbers with suffixes of resources, such as 500m and 2Gi. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kin/export.h>
#include <kin/str.h>

#ifdef __cplusplus
extern "C" {
#endif

/** How a quantity is written. */
typedef enum kin_quantity_format {
  KIN_QUANTITY_DECIMAL_SI = 0, /**< 12M: 12 * 10^6 */
  KIN_QUANTITY_BINARY_SI,      /**< 12Mi: 12 * 2^20 */
  KIN_QUANTITY_EXPONENT        /**< 12e6 */
} kin_quantity_format;

/** A number of billionths (nano), exact, with the format that it is written in:
 * apimachinery's resource.Quantity. Plain data, to be copied freely; a
 * zero-initialized quantity is 0. The magnitude is below 2^256 billionths, about
 * 10^68. */
typedef struct kin_quantity {
  uint32_t nano[8];           /**< private: the magnitude, lowest part first */
  bool is_negative;           /**< private: not for 0 */
  kin_quantity_format format; /**< may be set */
} kin_quantity;

/** The bytes of the longest text of a quantity, with its NUL. */
#define KIN_QUANTITY_SIZE 96

/** Reads a number with one of the suffixes n, u, m, k, M, G, T, P, E, Ki, Mi,
 * Gi, Ti, Pi, Ei, or with an exponent such as e3 or E-6, as apimachinery's
 * ParseQuantity does. A rest below a billionth is rounded up, away from 0. A
 * number with a binary suffix is at most 2^63-1 in magnitude: a larger one
 * becomes that. With a binary suffix and a magnitude below 1 the format is
 * DecimalSI.
 *
 * Unlike ParseQuantity this function refuses a text without any digit, such as
 * "." or "Ki", which apimachinery reads as 0.
 * Errors: KIN_EINVAL (malformed), KIN_ETOOBIG (2^256 billionths or more, or over
 * 120 digits without leading and trailing zeros). *out is left alone then.
 * */
KIN_EXTERN int kin_quantity_parse(kin_str text, kin_quantity *out);

/** A whole number; a number of thousandths: NewQuantity, NewMilliQuantity. */
KIN_EXTERN kin_quantity kin_quantity_of(int64_t value,
                                        kin_quantity_format format);
KIN_EXTERN kin_quantity kin_quantity_of_milli(int64_t value,
                                              kin_quantity_format format);

/** -1, 0 or 1: `a` is less than, equal to, greater than `b`. The formats do not
 * count. */
KIN_EXTERN int kin_quantity_compare(const kin_quantity *a,
                                    const kin_quantity *b);

/** -1, 0 or 1: less than 0, 0, greater than 0. */
KIN_EXTERN int kin_quantity_sign(const kin_quantity *quantity);

/** Adds `other` to, or subtracts it from, *quantity, which keeps its format; if
 * *quantity is 0 it takes the format of `other`. The result is exact, also
 * beyond the 2^63-1 that kin_quantity_parse allows with a binary suffix.
 * Errors: KIN_ETOOBIG (*quantity is left alone). */
KIN_EXTERN int kin_quantity_add(kin_quantity *quantity,
                                const kin_quantity *other);
KIN_EXTERN int kin_quantity_subtract(kin_quantity *quantity,
                                     const kin_quantity *other);

/** Changes the sign. */
KIN_EXTERN void kin_quantity_negate(kin_quantity *quantity);

/** The number, and the number of thousandths, rounded away from 0 to a whole
 * number: Quantity.Value and MilliValue.
 * Errors: KIN_ETOOBIG (out of the range of an int64_t; *out is left alone;
 * apimachinery returns a wrong number). */
KIN_EXTERN int kin_quantity_value(const kin_quantity *quantity, int64_t *out);
KIN_EXTERN int kin_quantity_milli_value(const kin_quantity *quantity,
                                        int64_t *out);

/** The number as a double, off by a few units in the last place at most: for
 * metrics and ratios. */
KIN_EXTERN double kin_quantity_double(const kin_quantity *quantity);

/** Writes the canonical text, as Quantity.String does: no fraction, the largest
 * suffix that leaves a whole number. BinarySI that is no whole number, or is
 * below 1024 in magnitude, is written as DecimalSI. Returns the length. */
KIN_EXTERN size_t kin_quantity_text(char out[KIN_QUANTITY_SIZE],
                                    const kin_quantity *quantity);

#ifdef __cplusplus
}
#endif

#endif /* KIN_QUANTITY_H */
