/* SPDX-License-Identifier: MIT */
#ifndef KIN_TEST_INDICES_H
#define KIN_TEST_INDICES_H

#include <kin/store.h>

/* Helpers for tests of stores with indices. */

/* Puts an object of JSON text (see object_of) and keeps no reference to it. */
int put_json(kin_store *store, const char *json);

/* Puts an object with a comma-separated list of users as a label. */
int put_users(kin_store *store, const char *name, const char *users);

/* An index function: each of those users. `data` is not used. */
int emit_users(const kin_object *object, kin_index_values *values, void *data);

/* The same, but that an object whose only user is "refused" is refused. */
int refuse_users(const kin_object *object, kin_index_values *values,
                 void *data);

int add_callback(kin_store *store, const char *name, kin_index_cb cb,
                 void *data);
int add_pointer(kin_store *store, const char *name, const char *pointer);

/* Writes the names of the objects with a value, in ascending order: "a b c".
 * `to` has room for 1,024 bytes. */
void names_by(char *to, const kin_store *store, const char *index,
              kin_str value);
void assert_names(const kin_store *store, const char *index, const char *value,
                  const char *expected);

/* The distinct values of an index, in ascending order. */
void assert_values(const kin_store *store, const char *index,
                   const char *expected);

#endif /* KIN_TEST_INDICES_H */
