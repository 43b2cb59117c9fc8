/* SPDX-License-Identifier: MIT */
#ifndef KINFORMER_KEPT_H
#define KINFORMER_KEPT_H

#include "options.h"

/* Says which option leaves the field of --index out of each object that is kept;
 * NULL: none does. Such an index would be empty, as if no object had the value. */
const char *index_complaint(const options *o);

#endif /* KINFORMER_KEPT_H */
