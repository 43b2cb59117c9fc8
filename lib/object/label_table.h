/* SPDX-License-Identifier: MIT */
#ifndef KIN_OBJECT_LABEL_TABLE_H
#define KIN_OBJECT_LABEL_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kin/allocator.h>
#include <kin/str.h>

#include "base/hash.h"

struct kin__samples;

/* Strings that occur twice or more among the labels of samples. Never changes,
 * so that any thread may read it. */
typedef struct kin__label_table {
  kin__hash_seed seed;
  uint32_t *places; /* of string i in `bytes`; one more for the end */
  uint16_t *slots;  /* an open hash table of codes + 1; 0: free */
  char *bytes;
  uint32_t count;
} kin__label_table;

#define KIN__LABEL_STRINGS_MAX 4096u
#define KIN__LABEL_BYTES_MAX (64u << 10)

/* The seed keeps labels from being chosen so that all are in one place. Errors:
 * KIN_ENOMEM; the table can be finished then, too. */
int kin__label_table_init(kin__label_table *table,
                          const kin_allocator *allocator,
                          const kin__hash_seed *seed,
                          const struct kin__samples *samples);
void kin__label_table_finish(kin__label_table *table,
                             const kin_allocator *allocator);

/* See kin__dictionary_encode_labels and kin__dictionary_label. */
size_t kin__label_table_encode(const kin__label_table *table, kin_str labels,
                               char *to, size_t size);
/* Writes the labels of the codes as JSON text without white space, if `to` is
 * not NULL. Returns its length. */
size_t kin__label_table_write(const kin__label_table *table, kin_str codes,
                              char *to);
/* Whether that text is `labels`. */
bool kin__label_table_says(const kin__label_table *table, kin_str codes,
                           kin_str labels);
bool kin__label_table_find(const kin__label_table *table, kin_str codes,
                           kin_str name, kin_str *value);

#endif /* KIN_OBJECT_LABEL_TABLE_H */
