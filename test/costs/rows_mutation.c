/* SPDX-License-Identifier: MIT */
#include "costs/cost.h"

#include <stdint.h>

#include <kin/mutation_cache.h>
#include <kin/mutation_detector.h>
#include <kin/object_list.h>

static uint64_t now(void *ctx) {
  (void)ctx;
  return 1000;
}

/* --- Cache of writes ------------------------------------------------------ */

typedef struct writes {
  kin_store *store;
  kin_mutation_cache *cache;
} writes;

/* A store of `stored` pods, and remembered writes of the next `written`. */
static writes writes_of(size_t stored, size_t written) {
  writes made = {.store = cost_store(stored)};
  kin_mutation_cache_options options = KIN_MUTATION_CACHE_OPTIONS_INIT;
  options.allocator = cost_memory();
  options.store = made.store;
  options.now_ms = now;
  options.include_adds = true;
  options.max_entries = (uint32_t)written;
  cost_must(kin_mutation_cache_new(&made.cache, &options));
  for (size_t i = 0; i < written; i++) {
    cost_must(kin_mutation_cache_mutation(made.cache, cost_pod(stored + i)));
  }
  (void)cost_pod(stored + written + COST_CALLS);
  return made;
}

static void writes_free(const writes *of) {
  kin_mutation_cache_free(of->cache);
  kin_store_free(of->store);
}

/* The cache is full: each write makes it forget one. */
static void mutation(size_t stored, size_t written) {
  writes of = writes_of(stored, written);
  COST_EACH(i, COST_CALLS,
            cost_must(kin_mutation_cache_mutation(
                of.cache, cost_pod(stored + written + i))));
  cost_assert(kin_mutation_cache_count(of.cache) == written);
  writes_free(&of);
}

static void mutation_objects(size_t n) {
  mutation(n, 64);
}

static void mutation_entries(size_t n) {
  mutation(64, n);
}

static void get(size_t stored, size_t written) {
  writes of = writes_of(stored, written);
  cost_begin();
  cost_assert(kin_mutation_cache_get(of.cache, COST_STR("space/pod-7")) !=
              NULL);
  cost_next();
  kin_str key = kin_object_key(cost_pod(stored));
  cost_assert(kin_mutation_cache_get(of.cache, key) != NULL);
  cost_end();
  writes_free(&of);
}

static void get_objects(size_t n) {
  get(n, 64);
}

static void get_entries(size_t n) {
  get(64, n);
}

static void free_cache(size_t n) {
  writes of = writes_of(64, n);
  COST(kin_mutation_cache_free(of.cache));
  kin_store_free(of.store);
}

static void on_put(size_t n) {
  writes of = writes_of(64, n);
  COST(kin_mutation_cache_on_put(of.cache, cost_pod(64)));
  cost_assert(kin_mutation_cache_count(of.cache) == n - 1);
  writes_free(&of);
}

static void on_delete(size_t n) {
  writes of = writes_of(64, n);
  COST(cost_must(kin_mutation_cache_on_delete(of.cache, cost_pod(64))));
  writes_free(&of);
}

static void by_index(size_t stored, size_t written, const char *name,
                     kin_str value, size_t expected) {
  writes of = writes_of(stored, written);
  kin_object_list *found;
  COST(cost_must(kin_mutation_cache_by_index(of.cache, name, value, &found)));
  cost_assert(found->count == expected);
  kin_object_list_free(found);
  writes_free(&of);
}

static void by_index_found(size_t n) {
  by_index(n, 4, "app", COST_STR("all"), n + 4);
}

static void by_index_entries(size_t n) {
  by_index(64, n, "own", COST_STR("o7"), 1);
}

static void by_index_others(size_t n) {
  by_index(n, 4, "own", COST_STR("o7"), 1);
}

/* --- Detector of writes --------------------------------------------------- */

static void found(const kin_mutation *mutated, void *data) {
  (void)mutated;
  (void)data;
  cost_assert(!"nothing was written to");
}

static kin_mutation_detector *detector_of(size_t n) {
  kin_mutation_detector *detector;
  kin_mutation_detector_options options = KIN_MUTATION_DETECTOR_OPTIONS_INIT;
  options.allocator = cost_memory();
  options.now_ms = now;
  options.on_mutation = found;
  cost_must(kin_mutation_detector_new(&detector, &options));
  for (size_t i = 0; i < n; i++) {
    cost_must(kin_mutation_detector_add(detector, cost_pod(i)));
  }
  return detector;
}

static void detector_free(size_t n) {
  kin_mutation_detector *detector = detector_of(n);
  COST(kin_mutation_detector_free(detector));
}

static void add_bytes(size_t n) {
  kin_mutation_detector *detector = detector_of(0);
  kin_object *big = cost_big_object(n);
  COST(cost_must(kin_mutation_detector_add(detector, big)));
  kin_mutation_detector_free(detector);
  kin_object_unref(big);
}

static void add_known(size_t n) {
  kin_mutation_detector *detector = detector_of(0);
  kin_object *big = cost_big_object(n);
  cost_must(kin_mutation_detector_add(detector, big));
  COST(cost_must(kin_mutation_detector_add(detector, big)));
  kin_mutation_detector_free(detector);
  kin_object_unref(big);
}

static void add_objects(size_t n) {
  kin_mutation_detector *detector = detector_of(n);
  const kin_object *pod = cost_pod(n);
  COST(cost_must(kin_mutation_detector_add(detector, pod)));
  kin_mutation_detector_free(detector);
}

static void check_bytes(size_t n) {
  kin_mutation_detector *detector = detector_of(0);
  kin_object *big = cost_big_object(n);
  cost_must(kin_mutation_detector_add(detector, big));
  COST(cost_assert(!kin_mutation_detector_check(detector, 1)));
  kin_mutation_detector_free(detector);
  kin_object_unref(big);
}

static void check_objects(size_t n) {
  kin_mutation_detector *detector = detector_of(n);
  COST(cost_assert(!kin_mutation_detector_check(detector, n)));
  kin_mutation_detector_free(detector);
}

static void check_among(size_t n) {
  kin_mutation_detector *detector = detector_of(n);
  COST(cost_assert(kin_mutation_detector_check(detector, 4)));
  kin_mutation_detector_free(detector);
}

#define BYTES "bytes of the object"
const cost_row cost_rows_mutation[] = {
    {"kin_mutation_cache_mutation", "O(1)", "objects", COST_ONE,
     mutation_objects},
    {"kin_mutation_cache_mutation", "O(1)", "entries", COST_ONE,
     mutation_entries},
    {"kin_mutation_cache_get", "O(1)", "objects", COST_ONE, get_objects},
    {"kin_mutation_cache_get", "O(1)", "entries", COST_ONE, get_entries},
    {"kin_mutation_cache_free", "O(max_entries)", "entries", COST_LINEAR,
     free_cache},
    {"kin_mutation_cache_on_put", NULL, "entries", COST_ONE, on_put},
    {"kin_mutation_cache_on_delete", NULL, "entries", COST_ONE, on_delete},
    {"kin_mutation_cache_by_index", "O(n log n)", "objects found",
     COST_LINEAR_LOG, by_index_found},
    {"kin_mutation_cache_by_index", "O(max_entries)", "entries", COST_LINEAR,
     by_index_entries},
    {"kin_mutation_cache_by_index", NULL, "other objects", COST_ONE,
     by_index_others},
    {"kin_mutation_detector_free", "O(objects)", "objects", COST_LINEAR,
     detector_free},
    {"kin_mutation_detector_add", "O(bytes of the object)", BYTES, COST_LINEAR,
     add_bytes, COST_BYTES},
    {"kin_mutation_detector_add", "O(1)", "bytes of a known object", COST_ONE,
     add_known, COST_BYTES},
    {"kin_mutation_detector_add", NULL, "other objects", COST_ONE, add_objects,
     COST_SEGMENT},
    {"kin_mutation_detector_check", "O(bytes of these objects)", BYTES,
     COST_LINEAR, check_bytes, COST_BYTES},
    {"kin_mutation_detector_check", "O(bytes of these objects)", "objects",
     COST_LINEAR, check_objects},
    {"kin_mutation_detector_check", NULL, "other objects", COST_ONE,
     check_among},
    {0},
};
