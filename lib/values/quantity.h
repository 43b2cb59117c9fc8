/* SPDX-License-Identifier: MIT */
#ifndef KIN_VALUES_QUANTITY_H
#define KIN_VALUES_QUANTITY_H

#include <kin/quantity.h>

#include "values/wide.h"

/* The parts of a quantity's magnitude. */
enum { KIN__QUANTITY_PARTS = 8 };

#define KIN__QUANTITY_NANO UINT32_C(1000000000) /* in 1 */

#endif /* KIN_VALUES_QUANTITY_H */
