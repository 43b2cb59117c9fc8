/* SPDX-License-Identifier: MIT */
#include "costs/cost.h"

#include <kin/object_list.h>
#include <kin/store.h>

/* --- Putting -------------------------------------------------------------- */

static void put_big(size_t n, const char *pointer) {
  kin_store *store = cost_store(64);
  kin_index_options options = KIN_INDEX_OPTIONS_INIT;
  options.name = "new";
  options.pointer = pointer;
  cost_must(kin_store_add_index(store, &options));
  kin_object *object = cost_big_object(n);
  COST(cost_must(kin_store_put(store, object)));
  kin_object_unref(object);
  kin_store_free(store);
}

static void put_parsed(size_t n) {
  put_big(n, "/spec/nodeName");
}

static void put_unparsed(size_t n) {
  put_big(n, "/metadata/namespace");
}

typedef struct emitter {
  size_t values;
  bool is_same;
} emitter;

static int emit(const kin_object *object, kin_index_values *values,
                void *data) {
  (void)object;
  const emitter *from = data;
  int err = 0;
  for (size_t i = 0; i < from->values && err == 0; i++) {
    err = kin_index_emit(
        values, (kin_str){(const char *)(from->is_same ? &from->values : &i),
                          sizeof i});
  }
  return err;
}

static void put_emitted(emitter *from) {
  kin_store *store = cost_store(64);
  kin_index_options options = KIN_INDEX_OPTIONS_INIT;
  options.name = "new";
  options.cb = emit;
  options.data = from;
  cost_must(kin_store_add_index(store, &options));
  const kin_object *pod = cost_pod(64);
  COST(cost_must(kin_store_put(store, pod)));
  kin_store_free(store);
}

static void emit_values(size_t n) {
  put_emitted(&(emitter){.values = n});
}

static void emit_same(size_t n) {
  put_emitted(&(emitter){.values = n, .is_same = true});
}

/* --- The index ------------------------------------------------------------ */

static void add_index(size_t n) {
  kin_store *store = cost_store(n);
  kin_index_options options = KIN_INDEX_OPTIONS_INIT;
  options.name = "new";
  options.pointer = "/spec/nodeName";
  COST(cost_must(kin_store_add_index(store, &options)));
  kin_store_free(store);
}

static void index_ready(size_t n) {
  kin_store *store = cost_store(n);
  COST(cost_assert(kin_store_index_ready(store, "app")));
  kin_store_free(store);
}

static void next_index(size_t n) {
  kin_store *store = cost_store(n);
  kin_cursor cursor = {0};
  COST(cost_assert(kin_store_next_index(store, &cursor) != NULL));
  kin_store_free(store);
}

static void index_count(size_t n) {
  kin_store *store = cost_store(n);
  COST(cost_assert(kin_store_index_count(store, "app", COST_STR("all")) == n));
  kin_store_free(store);
}

static void next_value(size_t n) {
  kin_store *store = cost_store(n);
  kin_cursor cursor = {0};
  kin_str value;
  size_t found = 0;
  cost_begin();
  while (kin_store_index_next_value(store, "own", &cursor, &value)) {
    found++;
  }
  cost_end();
  cost_assert(found == n);
  kin_store_free(store);
}

/* --- Look-ups ------------------------------------------------------------- */

static void by_value(size_t n, const char *name, kin_str value) {
  kin_store *store = cost_store(n);
  kin_index_cursor cursor;
  COST(cost_must(kin_store_by_index(store, name, value, &cursor));
       cost_assert(kin_store_by_index_next(store, &cursor) != NULL));
  kin_store_free(store);
}

static void by_shared_value(size_t n) {
  by_value(n, "app", COST_STR("all"));
}

static void by_own_value(size_t n) {
  by_value(n, "own", COST_STR("o7"));
}

static void next_of_value(size_t n) {
  kin_store *store = cost_store(n);
  kin_index_cursor cursor;
  cost_must(kin_store_by_index(store, "app", COST_STR("all"), &cursor));
  COST_EACH(i, COST_CALLS,
            cost_assert(kin_store_by_index_next(store, &cursor) != NULL));
  kin_store_free(store);
}

static void list_by_value(size_t n, const char *name, kin_str value,
                          size_t expected) {
  kin_store *store = cost_store(n);
  kin_object_list *found;
  COST(cost_must(kin_store_list_by_index(store, name, value, &found)));
  cost_assert(found->count == expected);
  kin_object_list_free(found);
  kin_store_free(store);
}

static void list_found(size_t n) {
  list_by_value(n, "app", COST_STR("all"), n);
}

static void list_among(size_t n) {
  list_by_value(n, "own", COST_STR("o7"), 1);
}

static void list_like(size_t n, const char *name, size_t expected) {
  kin_store *store = cost_store(n);
  kin_object_list *found;
  const kin_object *pod = cost_pod(7);
  COST(cost_must(kin_store_list_like(store, name, pod, &found)));
  cost_assert(found->count == expected);
  kin_object_list_free(found);
  kin_store_free(store);
}

static void like_found(size_t n) {
  list_like(n, "app", n);
}

static void like_among(size_t n) {
  list_like(n, "own", 1);
}

const cost_row cost_rows_index[] = {
    {"kin_store_put", "O(object)", "bytes of the object", COST_LINEAR,
     put_parsed, COST_BYTES, "kin_index_options"},
    {"kin_store_put", NULL, "bytes, and only resident fields are indexed",
     COST_ONE, put_unparsed, COST_BYTES},
    {"kin_store_put", "O(index values)", "values of a callback", COST_LINEAR,
     emit_values},
    {"kin_store_put", NULL, "times that a callback gives one value",
     COST_LINEAR, emit_same},
    {"kin_store_add_index", "O(objects)", "objects", COST_LINEAR, add_index},
    {"kin_store_index_ready", NULL, "objects", COST_ONE, index_ready},
    {"kin_store_next_index", NULL, "objects", COST_ONE, next_index},
    {"kin_store_index_count", NULL, "objects of the value", COST_ONE,
     index_count},
    {"kin_store_index_next_value", NULL, "values, for a whole scan",
     COST_LINEAR, next_value},
    {"kin_store_by_index", NULL, "objects of the value", COST_ONE,
     by_shared_value},
    {"kin_store_by_index", NULL, "values", COST_ONE, by_own_value},
    {"kin_store_by_index_next", NULL, "objects of the value", COST_ONE,
     next_of_value},
    {"kin_store_list_by_index", "O(n log n)", "objects found", COST_LINEAR_LOG,
     list_found},
    {"kin_store_list_by_index", NULL, "other objects", COST_ONE, list_among},
    {"kin_store_list_like", "O(n log n)", "objects found", COST_LINEAR_LOG,
     like_found},
    {"kin_store_list_like", NULL, "other objects", COST_ONE, like_among},
    {0},
};
