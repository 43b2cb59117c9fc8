/* SPDX-License-Identifier: MIT */
#ifndef KIN_TRANSPORT_INFLATE_H
#define KIN_TRANSPORT_INFLATE_H

#include <stdbool.h>
#include <stddef.h>

#include <kin/allocator.h>
#include <kin/str.h>

/* Undoes gzip (RFC 1952), a slice at a time: what a few bytes may grow to has
 * no bound, what one call does has. No I/O. Holds the input that is left, and
 * about 60 KiB. */
typedef struct kin__inflate kin__inflate;

/* Of output, and of input, that one step handles: about 50 us, also if the
 * input is made to be slow. */
#define KIN__INFLATE_BYTES (16u << 10)
#define KIN__INFLATE_INPUT_BYTES (4u << 10)

/* Whether the library was built with zlib. */
bool kin__inflate_is_supported(void);

/* The allocator must outlive it. Errors: KIN_ENOMEM, KIN_ENOTSUP (without
 * zlib). */
int kin__inflate_new(kin__inflate **out, const kin_allocator *allocator);
/* NULL is allowed. */
void kin__inflate_free(kin__inflate *inflate);

/* Takes a copy of compressed bytes. Errors: KIN_ENOMEM, KIN_ETOOBIG (over 1 MiB
 * are waiting). */
int kin__inflate_push(kin__inflate *inflate, const char *bytes, size_t length);

/* Whether a step has something to do. */
bool kin__inflate_has_work(const kin__inflate *inflate);

/* Inflates a slice; what comes out, maybe nothing, is valid until the next
 * call. After an error only free and reason are legal. Errors: KIN_EHTTP (no
 * gzip, or damaged), KIN_ENOMEM. */
int kin__inflate_step(kin__inflate *inflate, kin_str *out);

/* Nothing more comes, and there is no work left. Errors: KIN_EHTTP (in the
 * middle of the compressed stream). No byte at all is a stream, too. */
int kin__inflate_end(kin__inflate *inflate);

/* Why KIN_EHTTP was returned; static. */
const char *kin__inflate_reason(const kin__inflate *inflate);

#endif /* KIN_TRANSPORT_INFLATE_H */
