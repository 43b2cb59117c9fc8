/* SPDX-License-Identifier: MIT */
#ifndef KIN_TEST_STORE_RIG_H
#define KIN_TEST_STORE_RIG_H

#include <kin/object_list.h>
#include <kin/store.h>

#include "support/fail_alloc.h"

/* A store that is used alone, of objects with a label "users" (see
 * support/indices.h). Content is written as "name=users name=users". */
typedef struct store_rig {
  fail_alloc memory;
  kin_store *store;
} store_rig;

void store_rig_setup(store_rig *f);
void store_rig_setup_with(store_rig *f, kin_transform_cb transform, void *data);
/* Also checks that nothing leaked. */
void store_rig_teardown(store_rig *f);

kin_object *object_of_user(const char *name, const char *users,
                           const char *version);

/* kin_store_replace by objects of those words. */
int replace_users(kin_store *store, const char *words, const char *version);

/* The content, sorted by name; also by list, look-up, count and bytes. */
void assert_users(const kin_store *store, const char *expected);
void assert_store_version(const kin_store *store, const char *expected);

/* The keys of a list in its order, separated by spaces; frees it. */
void assert_list_keys(kin_object_list *list, const char *expected);

/* What client-go's doTestStore does with each kind of store. */
void run_store_story(kin_store *store);

#endif /* KIN_TEST_STORE_RIG_H */
