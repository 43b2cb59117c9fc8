/* SPDX-License-Identifier: MIT */
#ifndef KIN_YYJSON_H
#define KIN_YYJSON_H

/** @file
 * An object as a document of yyjson, for programs that use yyjson themselves.
 * No other header mentions yyjson, and kin/kin.h does not include this one: see
 * kin/value.h. kinformer.pc requires yyjson for the sake of this header. */

#include <kin/export.h>
#include <kin/object.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The parsed document. NULL, with *error set to KIN_ENOMEM, KIN_EJSON or
 * KIN_EINVAL (no view), if it cannot be made; `error` may be NULL. The first
 * call parses the object: O(bytes). The type is yyjson's; include <yyjson.h> to
 * use it, and do not free it. The document may be 10,000 levels deep: a
 * function that recurses for each level needs a stack for that. */
struct yyjson_doc;
KIN_EXTERN struct yyjson_doc *kin_object_view_document(kin_object_view *view,
                                                       int *error);

#ifdef __cplusplus
}
#endif

#endif /* KIN_YYJSON_H */
