/* SPDX-License-Identifier: MIT */
#ifndef KINFORMER_KEPT_H
#define KINFORMER_KEPT_H

#include <stdbool.h>
#include <stddef.h>

#include "options.h"

/* Writes what is wrong with the options that choose the parts of an object that
 * are kept; false: nothing is. An index of a field that is left out would be
 * empty, as if no object had the value. */
bool kept_complaint(const options *o, char *text, size_t size);

#endif /* KINFORMER_KEPT_H */
