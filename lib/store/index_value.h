/* SPDX-License-Identifier: MIT */
#ifndef KIN_STORE_INDEX_VALUE_H
#define KIN_STORE_INDEX_VALUE_H

#include <stdbool.h>
#include <stdint.h>

#include <kin/allocator.h>
#include <kin/store.h>

#include "store/index_pass.h"

/* The source of an index's values. Strings that are resident in an object are
 * read there, values of any other JSON Pointer in its text. */
typedef struct kin__index_source {
  enum kin__index_source_kind {
    KIN__INDEX_CALLBACK,
    KIN__INDEX_NAMESPACE,
    KIN__INDEX_NAME,
    KIN__INDEX_UID,
    KIN__INDEX_LABEL,
    KIN__INDEX_POINTER
  } kind;
  char *text;            /* label key or pointer; NULL for the other kinds */
  kin__pointer_set *own; /* the pointer alone; NULL for the other kinds */
  uint32_t place;        /* in the pass that it joined */
  kin_index_cb cb;
  void *data;
} kin__index_source;

/* The longest value in bytes. */
#define KIN__INDEX_VALUE_MAX 65536u

/* Copies the parts of `options` that it needs. Exactly one of `pointer` and
 * `cb` must be set. `has_labels`: the labels of objects are resident. Errors:
 * KIN_EINVAL (both, neither or a malformed pointer), KIN_ENOMEM. */
int kin__index_source_init(kin__index_source *source,
                           const kin_allocator *allocator,
                           const kin_index_options *options, bool has_labels);
/* Errors: KIN_ENOMEM; *source can then be finished, too. */
int kin__index_source_copy(kin__index_source *source,
                           const kin_allocator *allocator,
                           const kin__index_source *from);
void kin__index_source_finish(kin__index_source *source,
                              const kin_allocator *allocator);

/* One object as the indices read it. The first one with a pointer reads the
 * values of all. */
typedef struct kin__index_reader {
  const kin_object *object; /* borrowed */
  kin__index_pass *pass;    /* borrowed; NULL: each index reads for itself */
  void *block;              /* of the object's text, while it is open */
  bool has_read;
} kin__index_reader;

/* Reads nothing yet. `pass` has the pointers of all indices that will use the
 * reader, or is NULL: then one index uses it. */
void kin__index_reader_init(kin__index_reader *reader, const kin_object *object,
                            kin__index_pass *pass);
void kin__index_reader_finish(kin__index_reader *reader);

/* Adds the source's pointer, if it has one, to those that a store reads
 * together. *pass is NULL before the first. Errors: KIN_ENOMEM. */
int kin__index_source_join(kin__index_source *source,
                           const kin_allocator *allocator,
                           kin__index_pass **pass);

/* Calls kin_index_emit for each value of the object. A pointer skips whatever
 * cannot be a value: containers, null, strings that are too long, and text that
 * is not JSON. A server must not be able to keep an object out of a store by a
 * field's content. Errors: KIN_ENOMEM, KIN_EINDEX (the callback
 * returned another error). */
int kin__index_source_each(const kin__index_source *source,
                           kin__index_reader *reader, kin_index_values *values);

#endif /* KIN_STORE_INDEX_VALUE_H */
