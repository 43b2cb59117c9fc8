/* SPDX-License-Identifier: MIT */
#ifndef KIN_VALUES_VALUE_H
#define KIN_VALUES_VALUE_H

#include <kin/error.h>
#include <kin/value.h>

#include "base/str.h"

/* A value that is absent, and why. */
static inline kin_value kin__value_failed(int error) {
  return (kin_value){.error = error};
}

static inline kin_value kin__value_of_text(const char *data, size_t length) {
  return (kin_value){.json = kin__str(data, length)};
}

/* Returns 0 if the value is of that type; KIN_ENOENT for null; the other errors
 * that <kin/value.h> names. */
int kin__value_expect(kin_value value, kin_value_type type);

#endif /* KIN_VALUES_VALUE_H */
