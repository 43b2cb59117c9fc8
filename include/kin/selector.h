/* SPDX-License-Identifier: MIT */
#ifndef KIN_SELECTOR_H
#define KIN_SELECTOR_H

/** @file
 * Label selectors. */

#include <stdbool.h>

#include <kin/allocator.h>
#include <kin/export.h>
#include <kin/object.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A label selector, parsed once and then matched against objects, as an API
 * server matches it against the objects it sends. Requirements are separated by
 * commas, and all must hold:
 *
 *   key            the label exists
 *   !key           the label does not exist
 *   key=value      the label exists and has that value; also key==value
 *   key!=value     the label does not exist, or has another value
 *   key in (a,b)   the label exists and has one of the values
 *   key notin (a)  the label does not exist, or has none of the values
 *   key>5, key<5   the label exists, and both are integers of 64 bits; the
 *                  bound must be a valid label value, so it has no sign
 *
 * White space may stand between the parts. A value may be empty; `in ()` is the
 * empty value. An empty selector matches everything.
 *
 * A selector is immutable: it may be used on any thread. */
typedef struct kin_selector kin_selector;

/** Parses `text`; NULL and "" match everything. `allocator` may be NULL.
 * Errors: KIN_EINVAL (malformed; a key that is not [prefix/]name, or a value
 * that is not one of a label), KIN_ETOOBIG (over 64 KiB), KIN_ENOMEM.
 * Cost: O(length). */
KIN_EXTERN int kin_selector_parse(kin_selector **out,
                                  const kin_allocator *allocator,
                                  const char *text);

/** Makes a selector that matches nothing, which no text can express. Errors:
 * KIN_ENOMEM. */
KIN_EXTERN int kin_selector_nothing(kin_selector **out,
                                    const kin_allocator *allocator);

/** Frees a selector. NULL is allowed. */
KIN_EXTERN void kin_selector_free(kin_selector *selector);

/** Returns whether all requirements hold. NULL matches everything. Never
 * allocates. Cost: O(bytes of the labels + values) for each requirement. */
KIN_EXTERN bool kin_selector_matches(const kin_selector *selector,
                                     const kin_object *object);

/** Returns whether the selector matches everything, or nothing, whatever the
 * labels. */
KIN_EXTERN bool kin_selector_is_everything(const kin_selector *selector);
KIN_EXTERN bool kin_selector_is_nothing(const kin_selector *selector);

#ifdef __cplusplus
}
#endif

#endif /* KIN_SELECTOR_H */
