/* SPDX-License-Identifier: MIT */
#ifndef KINFORMER_KEPT_H
#define KINFORMER_KEPT_H

#include "options.h"

/* What keeps the field of --index from being in any object that is kept, or NULL.
 * Such an index would be empty, as if no object had the value. */
const char *index_complaint(const options *o);

#endif /* KINFORMER_KEPT_H */
