/* SPDX-License-Identifier: MIT */
#ifndef KIN_BASE_SIZED_H
#define KIN_BASE_SIZED_H

#include <stddef.h>

/* Results of public functions: see kin/sized.h. */

/* The largest size of a result that is taken seriously. A larger one is that of
 * a struct that was not initialised. */
#define KIN__MAX_RESULT 65536

/* Fills a caller's result `to` from `from`, the library's struct of the same
 * type and of `from_size` bytes. `size` is the first member of both. Writes
 * to->size bytes: members that the library does not have become 0. to->size
 * becomes the number of bytes that came from the library.
 *
 * Errors: KIN_EINVAL (NULL, or to->size is below `first_size`, the struct's
 * size in its first release, or above KIN__MAX_RESULT); nothing is written
 * then. */
int kin__sized_fill(void *to, const void *from, size_t from_size,
                    size_t first_size);

#endif /* KIN_BASE_SIZED_H */
