/* SPDX-License-Identifier: MIT */
#ifndef KIN_TRANSPORT_INFLATE_H
#define KIN_TRANSPORT_INFLATE_H

#include <stdbool.h>
#include <stddef.h>

#include <kin/allocator.h>
#include <kin/str.h>

#include "base/library.h"

/* Undoes gzip (RFC 1952), a slice at a time: the output of a few bytes has no
 * bound, but the work of one call has. No I/O. Holds the input that is left,
 * and about 60 KiB. */
typedef struct kin__inflate kin__inflate;

/* The bounds of one step's output and input. A step takes about 50 us, also for
 * input that is made to be slow. */
#define KIN__INFLATE_BYTES (16u << 10)
#define KIN__INFLATE_INPUT_BYTES (4u << 10)

/* Whether the library was built with zlib. */
bool kin__inflate_is_supported(void);

/* Without zlib: fits. */
kin__library kin__inflate_library(void);

/* The allocator must outlive the inflater. Errors: KIN_ENOMEM, KIN_ENOTSUP
 * (without zlib). */
int kin__inflate_new(kin__inflate **out, const kin_allocator *allocator);
/* NULL is allowed. */
void kin__inflate_free(kin__inflate *inflate);

/* Takes a copy of compressed bytes. Errors: KIN_ENOMEM, KIN_ETOOBIG (over 1 MiB
 * are waiting). */
int kin__inflate_push(kin__inflate *inflate, const char *bytes, size_t length);

/* Whether a step would find work. */
bool kin__inflate_has_work(const kin__inflate *inflate);

/* Inflates a slice. The output may be empty, and is valid until the next call.
 * After an error only free and reason are legal. Errors: KIN_EHTTP (no gzip, or
 * damaged), KIN_ENOMEM. */
int kin__inflate_step(kin__inflate *inflate, kin_str *out);

/* The input has ended, and no work may be left. An empty input is valid.
 * Errors: KIN_EHTTP (the end is inside the compressed stream). */
int kin__inflate_end(kin__inflate *inflate);

/* The reason of KIN_EHTTP; static. */
const char *kin__inflate_reason(const kin__inflate *inflate);

#endif /* KIN_TRANSPORT_INFLATE_H */
