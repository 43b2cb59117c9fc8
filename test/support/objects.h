/* SPDX-License-Identifier: MIT */
#ifndef KIN_TEST_OBJECTS_H
#define KIN_TEST_OBJECTS_H

#include <kin/object.h>

/* Objects for tests, of JSON text in which ' stands for ". `allocator` may be
 * NULL. Aborts the program when the text is no object. */
kin_object *object_of(const kin_allocator *allocator, const char *json);

/* The same with printf's directives. */
kin_object *object_format(const kin_allocator *allocator, const char *format,
                          ...) __attribute__((format(printf, 2, 3)));

/* An object of a key, "namespace/name" or "name", with a resourceVersion. */
kin_object *object_keyed(const kin_allocator *allocator, const char *key,
                         unsigned version);

/* ADDED events as a watch sends them, in one piece, of PREFIX0, PREFIX1, ...
 * with versions from `first_version` on. `prefix` is a key's beginning, such as
 * "even/p". The label "app" is a0, a1 and a2 in turn. The caller frees it. */
char *objects_added(const char *prefix, int count, int first_version);

/* The JSON text of an object with so many arrays, each in the other. The caller
 * frees it. */
char *object_nested(size_t arrays);

#endif /* KIN_TEST_OBJECTS_H */
