/* SPDX-License-Identifier: MIT */
#ifndef KIN_TOOLKIT_FIELD_SET_H
#define KIN_TOOLKIT_FIELD_SET_H

#include <stdbool.h>
#include <stddef.h>

#include <kin/fields.h>
#include <kin/object.h>

#define KIN__FIELDS_MAX 64u

/* Fields by which two states of an object are compared. */
typedef struct kin__field_set {
  const kin_allocator *allocator;
  kin_fields *fields; /* NULL: none, the whole texts are compared */
  size_t count;
  kin_value *values; /* of one object, and then of the other */
} kin__field_set;

/* Errors: KIN_EINVAL (a pointer, a `*`, or too many), KIN_ENOMEM. The set can
 * then be finished, too. *bad gets the place of the pointer that is wrong. */
int kin__field_set_init(kin__field_set *set, const kin_allocator *allocator,
                        const char *const *fields, size_t count, size_t *bad);
void kin__field_set_finish(kin__field_set *set);

/* Whether all fields have equal values (object/text_equal.h) in both objects.
 * No value equals null. A field behind malformed text cannot be read, and
 * differs. Without fields: whether the texts are the same bytes. One pass over
 * each object. Only a compact object needs memory, for the call; without that
 * memory the fields differ. */
bool kin__field_set_is_same(kin__field_set *set, const kin_object *a,
                            const kin_object *b);

#endif /* KIN_TOOLKIT_FIELD_SET_H */
