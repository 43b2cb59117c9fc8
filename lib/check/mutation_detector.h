/* SPDX-License-Identifier: MIT */
#ifndef KIN_CHECK_MUTATION_DETECTOR_H
#define KIN_CHECK_MUTATION_DETECTOR_H

#include <stdbool.h>
#include <stddef.h>

#include <kin/mutation_detector.h>

/* kin_mutation_detector_check that ends as well after the object with which
 * *bytes have been compared; they are subtracted. */
bool kin__mutation_detector_check_some(kin_mutation_detector *detector,
                                       size_t count, size_t *bytes);

/* Drops up to `count` objects and returns whether some are left, so that a
 * detector with many can be freed in bounded steps. After the first call only
 * this one and kin_mutation_detector_free are allowed. */
bool kin__mutation_detector_drop(kin_mutation_detector *detector, size_t count);

#endif /* KIN_CHECK_MUTATION_DETECTOR_H */
