/* SPDX-License-Identifier: MIT */
#ifndef KIN_TEST_E2E_SUBJECTS_H
#define KIN_TEST_E2E_SUBJECTS_H

#include <kin/store.h>

#include "words.h"

/* What is held against client-go's: a part of the library, the operations that
 * a script may have, and how to begin and end. */
typedef struct subject {
  const char *name;
  void *(*open)(const words *options);
  /* Returns false if it has no such operation. */
  bool (*run)(void *ctx, const char *operation, const words *line, text *to);
  void (*close)(void *ctx);
} subject;

extern const subject delta_subject;
extern const subject expiring_subject;
extern const subject fifo_subject;
extern const subject heap_subject;
extern const subject in_order_subject;
extern const subject informer_subject;
extern const subject keys_subject;
extern const subject lazy_subject;
extern const subject mutation_subject;
extern const subject object_subject;
extern const subject push_subject;
extern const subject selector_subject;
extern const subject store_subject;
extern const subject track_subject;

/* What reads a store: get, list, keys, index and so on. */
bool store_read(const kin_store *store, const char *operation,
                const words *line, text *to);
/* What changes one, too. */
bool store_run(kin_store *store, const char *operation, const words *line,
               text *to);
/* Adds one of the indices that scripts know: values, name, uid. */
int store_index(kin_store *store, const char *name);
/* Writes the objects as sorted words, and frees the list. */
void store_add_list(kin_object_list *list, text *to);

/* A clock that only an operation `advance MS` moves. */
uint64_t script_clock(void *ctx);
void script_clock_advance(uint64_t ms);

#endif /* KIN_TEST_E2E_SUBJECTS_H */
