/* SPDX-License-Identifier: MIT */
#ifndef KIN_TEST_LIKE_PODS_H
#define KIN_TEST_LIKE_PODS_H

#include "object/packed.h"
#include "support/fail_alloc.h"

/* Objects that resemble each other, and their packer. */

#define LIKE_PODS_SIZE 4096

/* The text of object number `i`, in which `padding` characters are random.
 * Returns its length. */
size_t like_pods_text(char to[LIKE_PODS_SIZE], int i, int padding);

/* An object of this text. Errors: those of kin__object_new. */
int like_pods_make(kin_object **out, kin__memory *memory, const char *text,
                   size_t length);

typedef struct like_pods {
  fail_alloc fail;
  kin__memory *memory;
  kin__packing *packing;
  kin__packer *packer;
  atomic_int noted; /* calls of on_noted */
  atomic_int calls; /* those of a first text */
  bool is_small;    /* of the dictionaries that are made from now on */
} like_pods;

/* Makes all of it, with a dictionary of `samples` objects from number `first`
 * on. Errors: KIN_ENOMEM; like_pods_finish is called then, too. */
int like_pods_init(like_pods *l, size_t fail_at, int first, int samples);
/* Packs with another dictionary from now on. Errors: KIN_ENOMEM. */
int like_pods_renew(like_pods *l, int first, int samples, bool is_thorough);
/* Forgets all notes of texts, as an informer that closes. */
void like_pods_close(like_pods *l);
/* Also like_pods_close, if it was not called; fails the test if a block is
 * left. */
void like_pods_finish(like_pods *l);

#endif /* KIN_TEST_LIKE_PODS_H */
