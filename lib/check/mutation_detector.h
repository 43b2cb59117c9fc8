/* SPDX-License-Identifier: MIT */
#ifndef KIN_CHECK_MUTATION_DETECTOR_H
#define KIN_CHECK_MUTATION_DETECTOR_H

#include <stdbool.h>
#include <stddef.h>

#include <kin/mutation_detector.h>

/* As kin_mutation_detector_check, but also ends when *bytes are compared.
 * Subtracts the compared bytes. */
bool kin__mutation_detector_check_some(kin_mutation_detector *detector,
                                       size_t count, size_t *bytes);

/* Drops up to `count` objects, or segments of the table after them, and returns
 * whether some are left, so that a large detector can be freed in bounded
 * steps. After the first call, only this function and
 * kin_mutation_detector_free are allowed. */
bool kin__mutation_detector_drop(kin_mutation_detector *detector, size_t count);

#endif /* KIN_CHECK_MUTATION_DETECTOR_H */
