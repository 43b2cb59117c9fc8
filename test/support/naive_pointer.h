/* SPDX-License-Identifier: MIT */
#ifndef KIN_TEST_NAIVE_POINTER_H
#define KIN_TEST_NAIVE_POINTER_H

#include <yyjson.h>

#include "base/buf.h"
#include "base/str.h"
#include "support/json_gen.h"

/* JSON Pointers with `*` tokens, read from a parsed document, one at a time:
 * slow, but plainly right. */

/* Calls emit with the value of each string, number and boolean that a valid
 * pointer names. */
void naive_pointer_each(yyjson_val *root, const char *pointer,
                        void (*emit)(void *ctx, kin_str value), void *ctx);

/* Appends a valid pointer, with its NUL, that names something in the document
 * or almost does; some tokens are `*`. */
void naive_pointer_random(json_gen *gen, yyjson_val *root, kin__buf *out);

#endif /* KIN_TEST_NAIVE_POINTER_H */
