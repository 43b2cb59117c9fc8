/* SPDX-License-Identifier: MIT */
#include "costs/cost.h"

#include <stdio.h>
#include <stdlib.h>

#include <kin/error.h>
#include <kin/lister.h>
#include <kin/object_list.h>
#include <kin/store.h>

#define VERSION COST_STR("77")

static void free_objects(size_t n) {
  kin_store *store = cost_store(n);
  COST(kin_store_free(store));
}

/* --- Changes -------------------------------------------------------------- */

static void put_new(size_t n) {
  kin_store *store = cost_store(n);
  (void)cost_pod(n + COST_CALLS);
  const kin_object **pods = cost_pods(n, COST_CALLS);
  COST_EACH(i, COST_CALLS, cost_must(kin_store_put(store, pods[i])));
  free(pods);
  kin_store_free(store);
}

static void put_again(size_t n) {
  kin_store *store = cost_store(n);
  const kin_object **pods = cost_pods(0, COST_CALLS);
  COST_EACH(i, COST_CALLS, cost_must(kin_store_put(store, pods[i])));
  free(pods);
  kin_store_free(store);
}

static void put_values(size_t n) {
  kin_store *store = cost_store(64);
  kin_index_options options = KIN_INDEX_OPTIONS_INIT;
  options.name = "labels";
  options.pointer = "/metadata/labels/*";
  cost_must(kin_store_add_index(store, &options));
  kin_object *object = cost_labelled_object(n);
  COST(cost_must(kin_store_put(store, object)));
  kin_object_unref(object);
  kin_store_free(store);
}

static void delete_key(size_t n) {
  kin_store *store = cost_store(n);
  const kin_object **pods = cost_pods(n / 2, COST_CALLS);
  COST_EACH(i, COST_CALLS,
            cost_must(kin_store_delete(store, kin_object_key(pods[i]))));
  free(pods);
  kin_store_free(store);
}

static void delete_object(size_t n) {
  kin_store *store = cost_store(n);
  const kin_object **pods = cost_pods(n / 2, COST_CALLS);
  COST_EACH(i, COST_CALLS, cost_must(kin_store_delete_object(store, pods[i])));
  free(pods);
  kin_store_free(store);
}

static void replace_old(size_t n) {
  kin_store *store = cost_store(n);
  COST(cost_must(kin_store_replace(store, NULL, 0, VERSION)));
  kin_store_free(store);
}

static void replace_new(size_t n) {
  kin_store *store = cost_store(0);
  const kin_object **pods = cost_pods(0, n);
  COST(cost_must(kin_store_replace(store, pods, n, VERSION)));
  free(pods);
  kin_store_free(store);
}

static void replace_kept(size_t n) {
  kin_store *store = cost_store(n);
  const kin_object **pods = cost_pods(0, n);
  COST(cost_must(kin_store_replace(store, pods, n, VERSION)));
  free(pods);
  kin_store_free(store);
}

static void transact(size_t stored, size_t n) {
  kin_store *store = cost_store(stored);
  (void)cost_pod(stored + n);
  kin_store_op *ops = calloc(n, sizeof *ops);
  cost_assert(ops != NULL);
  for (size_t i = 0; i < n; i++) {
    ops[i].type = i % 2 > 0 ? KIN_STORE_PUT : KIN_STORE_DELETE;
    ops[i].object = cost_pod(i % 2 > 0 ? stored + i : i);
  }
  COST(cost_must(kin_store_transact(store, ops, n, NULL)));
  free(ops);
  kin_store_free(store);
}

static void transact_operations(size_t n) {
  transact(64, n);
}

static void transact_objects(size_t n) {
  transact(n, COST_CALLS);
}

static void bookmark(size_t n) {
  kin_store *store = cost_store(n);
  COST(cost_must(kin_store_bookmark(store, VERSION)));
  kin_store_free(store);
}

/* --- Look-ups ------------------------------------------------------------- */

static void get(size_t n) {
  kin_store *store = cost_store(n);
  const kin_object **pods = cost_pods(n / 2, COST_CALLS);
  COST_EACH(
      i, COST_CALLS,
      cost_assert(kin_store_get(store, kin_object_key(pods[i])) == pods[i]));
  free(pods);
  kin_store_free(store);
}

static void get_key(size_t n) {
  kin_store *store = cost_store(n);
  COST(cost_assert(kin_store_get_key(store, "space/pod-7") == cost_pod(7)));
  kin_store_free(store);
}

static void resource_version(size_t n) {
  kin_store *store = cost_store(n);
  COST(cost_assert(kin_store_resource_version(store).length > 0));
  kin_store_free(store);
}

static void version_gauge(size_t n) {
  kin_store *store = cost_store(n);
  double value;
  COST(cost_assert(kin_store_version_gauge(store, &value)));
  kin_store_free(store);
}

static void count(size_t n) {
  kin_store *store = cost_store(n);
  COST(cost_assert(kin_store_count(store) == n));
  kin_store_free(store);
}

static void bytes(size_t n) {
  kin_store *store = cost_store(n);
  COST(cost_assert(kin_store_bytes(store) > 0));
  kin_store_free(store);
}

/* --- Scans and lists ------------------------------------------------------ */

static void scan(const kin_store *store, size_t expected) {
  kin_cursor cursor = {0};
  size_t found = 0;
  cost_begin();
  while (kin_store_next(store, &cursor) != NULL) {
    found++;
  }
  cost_end();
  cost_assert(found == expected);
}

static void scan_objects(size_t n) {
  kin_store *store = cost_store(n);
  scan(store, n);
  kin_store_free(store);
}

/* The store had n objects, and has one. */
static void scan_places(size_t n) {
  kin_store *store = cost_store(n);
  for (size_t i = 0; i + 1 < n; i++) {
    cost_must(kin_store_delete(store, kin_object_key(cost_pod(i))));
  }
  scan(store, 1);
  kin_store_free(store);
}

/* One step of a scan whose objects follow each other. */
static void next(size_t n) {
  kin_store *store = cost_store(n);
  kin_cursor cursor = {0};
  COST_EACH(i, COST_CALLS, cost_assert(kin_store_next(store, &cursor) != NULL));
  kin_store_free(store);
}

static void list(size_t n) {
  kin_store *store = cost_store(n);
  kin_object_list *objects;
  COST(cost_must(kin_store_list(store, &objects)));
  cost_assert(objects->count == n);
  kin_object_list_free(objects);
  kin_store_free(store);
}

static void list_free(size_t n) {
  kin_store *store = cost_store(n);
  kin_object_list *objects;
  cost_must(kin_store_list(store, &objects));
  COST(kin_object_list_free(objects));
  kin_store_free(store);
}

/* --- Listers -------------------------------------------------------------- */

static kin_object *elsewhere(size_t i) {
  char json[128];
  snprintf(json, sizeof json,
           "{'metadata':{'name':'other-%zu','namespace':'elsewhere'}}", i);
  return cost_object(json);
}

/* `here` objects in "space" and `there` in another namespace. */
static kin_store *of_two_namespaces(size_t here, size_t there,
                                    bool is_indexed) {
  kin_store *store = cost_store(here);
  for (size_t i = 0; i < there; i++) {
    kin_object *object = elsewhere(i);
    cost_must(kin_store_put(store, object));
    kin_object_unref(object);
  }
  kin_index_options options = KIN_INDEX_OPTIONS_INIT;
  options.name = "by-namespace";
  options.pointer = "/metadata/namespace";
  if (is_indexed) {
    cost_must(kin_store_add_index(store, &options));
  }
  return store;
}

static void scan_namespace(size_t here, size_t there, bool is_indexed) {
  kin_store *store = of_two_namespaces(here, there, is_indexed);
  kin_lister lister = kin_lister_in(kin_lister_of(store), COST_STR("space"));
  size_t found = 0;
  cost_begin();
  kin_lister_scan rest = kin_lister_list(&lister, NULL);
  while (kin_lister_next(&rest) != NULL) {
    found++;
  }
  cost_end();
  cost_assert(found == here);
  kin_store_free(store);
}

static void lister_namespace(size_t n) {
  scan_namespace(n, 64, true);
}

static void lister_elsewhere(size_t n) {
  scan_namespace(64, n, true);
}

static void lister_without_index(size_t n) {
  scan_namespace(64, n, false);
}

static void lister_get(size_t n) {
  kin_store *store = of_two_namespaces(n, n, true);
  kin_lister lister = kin_lister_in(kin_lister_of(store), COST_STR("space"));
  const kin_object *object;
  COST(cost_must(kin_lister_get(&lister, COST_STR("pod-7"), &object)));
  kin_store_free(store);
}

const cost_row cost_rows_store[] = {
    {"kin_store_free", "O(objects)", "objects", COST_LINEAR, free_objects},
    {"kin_store_put", "O(index values)", "values", COST_LINEAR, put_values},
    {"kin_store_put", NULL, "objects, of a new one", COST_ONE, put_new,
     COST_SEGMENT},
    {"kin_store_put", NULL, "objects, of a known one", COST_ONE, put_again},
    {"kin_store_delete", NULL, "objects", COST_ONE, delete_key},
    {"kin_store_delete_object", NULL, "objects", COST_ONE, delete_object},
    {"kin_store_replace", "O(old + new objects)", "old ones", COST_LINEAR,
     replace_old},
    {"kin_store_replace", "O(old + new objects)", "new ones", COST_LINEAR,
     replace_new},
    {"kin_store_replace", "O(old + new objects)", "both", COST_LINEAR,
     replace_kept},
    {"kin_store_transact", "the sum of the operations'", "operations",
     COST_LINEAR, transact_operations},
    {"kin_store_transact", NULL, "objects", COST_ONE, transact_objects},
    {"kin_store_bookmark", NULL, "objects", COST_ONE, bookmark},
    {"kin_store_get", NULL, "objects", COST_ONE, get},
    {"kin_store_get_key", NULL, "objects", COST_ONE, get_key},
    {"kin_store_resource_version", NULL, "objects", COST_ONE, resource_version},
    {"kin_store_version_gauge", NULL, "objects", COST_ONE, version_gauge},
    {"kin_store_count", NULL, "objects", COST_ONE, count},
    {"kin_store_bytes", NULL, "objects", COST_ONE, bytes},
    {"kin_store_next", "O(the most objects the store ever had)", "objects",
     COST_LINEAR, scan_objects},
    {"kin_store_next", "O(the most objects the store ever had)",
     "objects, all but one deleted", COST_LINEAR, scan_places},
    {"kin_store_next", NULL, "objects, for one step", COST_ONE, next},
    {"kin_store_list", "O(objects)", "objects", COST_LINEAR, list},
    {"kin_object_list_free", "O(count)", "objects", COST_LINEAR, list_free},
    {"kin_lister_get", "O(1)", "objects", COST_ONE, lister_get},
    {"kin_lister_next", "O(objects of the namespace)", "objects", COST_LINEAR,
     lister_namespace},
    {"kin_lister_next", "O(objects of the namespace)",
     "objects of other namespaces", COST_ONE, lister_elsewhere},
    {"kin_lister_next", "O(the most objects the store ever had)", "objects",
     COST_LINEAR, lister_without_index},
    {0},
};
