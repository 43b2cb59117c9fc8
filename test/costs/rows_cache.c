/* SPDX-License-Identifier: MIT */
/* The caches that stand alone: heap, expiring and push stores, sync tracking,
 * names. */
#include "costs/cost.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <kin/expiring_store.h>
#include <kin/heap.h>
#include <kin/informer_name.h>
#include <kin/push_store.h>
#include <kin/sync_track.h>

static char *text_of(char to[32], const char *name, size_t i) {
  snprintf(to, 32, "%s%zu", name, i);
  return to;
}

/* --- Heap ----------------------------------------------------------------- */

static bool is_less(const void *a, const void *b, void *data) {
  (void)data;
  return (uintptr_t)a < (uintptr_t)b;
}

/* Items in the order in which they come out: 16, 17, ... */
static kin_heap *heap_of(size_t n) {
  kin_heap *heap;
  kin_heap_options options = KIN_HEAP_OPTIONS_INIT;
  options.allocator = cost_memory();
  options.less = is_less;
  cost_must(kin_heap_new(&heap, &options));
  for (size_t i = 0; i < n; i++) {
    void *item = (void *)(uintptr_t)(i + 16);
    cost_must(kin_heap_put(heap, kin_object_key(cost_pod(i)), item, NULL));
  }
  return heap;
}

static void heap_free(size_t n) {
  kin_heap *heap = heap_of(n);
  COST(kin_heap_free(heap));
}

/* Each new item is the first, and so is moved through all levels. */
static void heap_put(size_t n) {
  kin_heap *heap = heap_of(n);
  const kin_object **pods = cost_pods(n, 15);
  COST_EACH(i, 15,
            cost_must(kin_heap_put(heap, kin_object_key(pods[i]),
                                   (void *)(uintptr_t)(15 - i), NULL)));
  free(pods);
  kin_heap_free(heap);
}

static void heap_put_new(size_t n) {
  kin_heap *heap = heap_of(n);
  const kin_object *pod = cost_pod(n);
  COST(cost_must(
      kin_heap_put_new(heap, kin_object_key(pod), (void *)(uintptr_t)1)));
  kin_heap_free(heap);
}

static void heap_put_all(size_t n) {
  kin_heap *heap = heap_of(0);
  kin_heap_entry *entries = calloc(n, sizeof *entries);
  cost_assert(entries != NULL);
  for (size_t i = 0; i < n; i++) {
    entries[i].key = kin_object_key(cost_pod(i));
    entries[i].item = (void *)(uintptr_t)(n - i);
  }
  COST(cost_must(kin_heap_put_all(heap, entries, n, NULL)));
  free(entries);
  kin_heap_free(heap);
}

static void heap_delete(size_t n) {
  kin_heap *heap = heap_of(n);
  COST_EACH(
      i, COST_CALLS,
      cost_must(kin_heap_delete(heap, kin_object_key(cost_pod(i)), NULL)));
  kin_heap_free(heap);
}

static void heap_pop(size_t n) {
  kin_heap *heap = heap_of(n);
  COST_EACH(i, COST_CALLS, cost_must(kin_heap_pop(heap, NULL)));
  kin_heap_free(heap);
}

static void heap_look(size_t n) {
  kin_heap *heap = heap_of(n);
  COST(cost_assert(kin_heap_peek(heap) != NULL));
  kin_heap_free(heap);
}

static void heap_get(size_t n) {
  kin_heap *heap = heap_of(n);
  COST(cost_assert(kin_heap_get(heap, COST_STR("space/pod-7")) != NULL));
  kin_heap_free(heap);
}

/* --- Expiring store ------------------------------------------------------- */

static uint64_t now(void *ctx) {
  return *(uint64_t *)ctx;
}

static kin_expiring_store *expiring_of(size_t n, uint64_t *now_ms) {
  kin_expiring_store *store;
  kin_expiring_store_options options = KIN_EXPIRING_STORE_OPTIONS_INIT;
  options.allocator = cost_memory();
  options.now_ms = now;
  options.now_ctx = now_ms;
  options.ttl_ms = 1000;
  cost_must(kin_expiring_store_new(&store, &options));
  for (size_t i = 0; i < n; i++) {
    cost_must(kin_expiring_store_put(store, cost_pod(i)));
  }
  return store;
}

static void expiring_free(size_t n) {
  uint64_t now_ms = 0;
  kin_expiring_store *store = expiring_of(n, &now_ms);
  COST(kin_expiring_store_free(store));
}

static void expiring_put(size_t n) {
  uint64_t now_ms = 0;
  kin_expiring_store *store = expiring_of(n, &now_ms);
  const kin_object *pod = cost_pod(n);
  now_ms = 2000; /* all others have expired */
  COST(cost_must(kin_expiring_store_put(store, pod)));
  kin_expiring_store_free(store);
}

static void expiring_get(size_t n) {
  uint64_t now_ms = 0;
  kin_expiring_store *store = expiring_of(n, &now_ms);
  kin_str key = COST_STR("space/pod-7");
  cost_begin();
  cost_assert(kin_expiring_store_get(store, key) != NULL);
  cost_next();
  now_ms = 2000;
  cost_assert(kin_expiring_store_get(store, key) == NULL);
  cost_end();
  kin_expiring_store_free(store);
}

static void expiring_next(size_t n) {
  uint64_t now_ms = 0;
  kin_expiring_store *store = expiring_of(n, &now_ms);
  const kin_object *pod = cost_pod(n);
  now_ms = 2000; /* all others have expired */
  cost_must(kin_expiring_store_put(store, pod));
  kin_cursor cursor = {0};
  COST(cost_assert(kin_expiring_store_next(store, &cursor) == pod));
  cost_assert(kin_expiring_store_count(store) == 1);
  kin_expiring_store_free(store);
}

static void expiring_next_of_many(size_t n) {
  uint64_t now_ms = 0;
  kin_expiring_store *store = expiring_of(n, &now_ms);
  kin_cursor cursor = {0};
  COST(cost_assert(kin_expiring_store_next(store, &cursor) != NULL));
  kin_expiring_store_free(store);
}

static void expiring_delete(size_t n) {
  uint64_t now_ms = 0;
  kin_expiring_store *store = expiring_of(n, &now_ms);
  COST(cost_must(kin_expiring_store_delete(store, COST_STR("space/pod-7"))));
  kin_expiring_store_free(store);
}

/* --- Push store ----------------------------------------------------------- */

static void pushed(const kin_object_list *objects, void *data) {
  *(size_t *)data = objects->count;
}

static kin_push_store *push_of(size_t n, size_t *count) {
  kin_push_store *store;
  kin_push_store_options options = KIN_PUSH_STORE_OPTIONS_INIT;
  options.allocator = cost_memory();
  options.push = pushed;
  options.data = count;
  cost_must(kin_push_store_new(&store, &options));
  const kin_object **pods = cost_pods(0, n);
  cost_must(kin_push_store_replace(store, pods, n, COST_STR("7")));
  free(pods);
  return store;
}

static void push_put(size_t n) {
  size_t count = 0;
  kin_push_store *store = push_of(n, &count);
  const kin_object *pod = cost_pod(n);
  COST(cost_must(kin_push_store_put(store, pod)));
  cost_assert(count == n + 1);
  kin_push_store_free(store);
}

static void push_free(size_t n) {
  size_t count = 0;
  kin_push_store *store = push_of(n, &count);
  COST(kin_push_store_free(store));
}

/* --- Sync tracking -------------------------------------------------------- */

static kin_sync_set *set_of(size_t n) {
  kin_sync_set *set;
  cost_must(kin_sync_set_new(&set, cost_memory()));
  for (size_t i = 0; i < n; i++) {
    cost_must(kin_sync_set_start(set, kin_object_key(cost_pod(i))));
  }
  return set;
}

static void sync_free(size_t n) {
  kin_sync_set *set = set_of(n);
  COST(kin_sync_set_free(set));
}

static void sync_start(size_t n) {
  kin_sync_set *set = set_of(n);
  const kin_object **pods = cost_pods(n, COST_CALLS);
  COST_EACH(i, COST_CALLS,
            cost_must(kin_sync_set_start(set, kin_object_key(pods[i]))));
  free(pods);
  kin_sync_set_free(set);
}

static void sync_finish(size_t n) {
  kin_sync_set *set = set_of(n);
  COST_EACH(i, COST_CALLS,
            kin_sync_set_finish(set, kin_object_key(cost_pod(i))));
  cost_assert(kin_sync_set_count(set) == n - COST_CALLS);
  kin_sync_set_free(set);
}

static void sync_has_synced(size_t n) {
  kin_sync_set *set = set_of(n);
  kin_sync_set_upstream_synced(set);
  COST(cost_assert(!kin_sync_set_has_synced(set)));
  kin_sync_set_free(set);
}

/* --- Names ---------------------------------------------------------------- */

typedef struct names_rig {
  kin_informer_names *names;
  kin_informer_name **held;
  size_t count;
} names_rig;

static void take_name(names_rig *rig, const char *text) {
  cost_must(kin_informer_name_new(&rig->held[rig->count++], rig->names, text));
}

static names_rig names_of(size_t n) {
  names_rig rig = {.held = calloc(n + 1, sizeof(kin_informer_name *))};
  cost_assert(rig.held != NULL);
  cost_must(kin_informer_names_new(&rig.names, cost_memory()));
  char text[32];
  for (size_t i = 0; i < n; i++) {
    take_name(&rig, text_of(text, "n", i));
  }
  return rig;
}

static void unref_names(names_rig *rig) {
  for (size_t i = 0; i < rig->count; i++) {
    kin_informer_name_unref(rig->held[i]);
  }
  free(rig->held);
}

static void name_new(size_t n) {
  names_rig rig = names_of(n);
  COST(take_name(&rig, "new"));
  unref_names(&rig);
  kin_informer_names_free(rig.names);
}

static void names_free(size_t n) {
  names_rig rig = names_of(n);
  COST(kin_informer_names_free(rig.names));
  unref_names(&rig);
}

typedef struct identifiers {
  kin_informer_names *names;
  kin_informer_name *name;
  kin_informer_id **ids;
  size_t count;
} identifiers;

static void add_id(identifiers *of, const char *plural) {
  cost_must(
      kin_informer_id_new(&of->ids[of->count++], of->name, NULL, NULL, plural));
}

static identifiers identifiers_of(size_t n) {
  identifiers made = {.ids = calloc(n + 1, sizeof(kin_informer_id *))};
  cost_assert(made.ids != NULL);
  cost_must(kin_informer_names_new(&made.names, cost_memory()));
  cost_must(kin_informer_name_new(&made.name, made.names, "name"));
  char text[32];
  for (size_t i = 0; i < n; i++) {
    add_id(&made, text_of(text, "plural", i));
  }
  return made;
}

static void identifiers_free(identifiers *of) {
  for (size_t i = 0; i < of->count; i++) {
    kin_informer_id_free(of->ids[i]);
  }
  free(of->ids);
  kin_informer_name_unref(of->name);
  kin_informer_names_free(of->names);
}

static void id_new(size_t n) {
  identifiers of = identifiers_of(n);
  COST(add_id(&of, "new"));
  identifiers_free(&of);
}

static void id_is_reserved(size_t n) {
  identifiers of = identifiers_of(n);
  COST(cost_assert(kin_informer_id_is_reserved(of.ids[n / 2])));
  identifiers_free(&of);
}

static void id_free(size_t n) {
  identifiers of = identifiers_of(n);
  of.count--;
  COST(kin_informer_id_free(of.ids[of.count]));
  identifiers_free(&of);
}

static void name_release(size_t n) {
  identifiers of = identifiers_of(n);
  COST(kin_informer_name_release(of.name));
  identifiers_free(&of);
}

const cost_row cost_rows_cache[] = {
    {"kin_heap_free", "O(items)", "items", COST_LINEAR, heap_free},
    {"kin_heap_put", "O(log n)", "items", COST_LOG, heap_put, COST_SEGMENT},
    {"kin_heap_put_new", NULL, "items", COST_LOG, heap_put_new},
    {"kin_heap_put_all", NULL, "entries, of O(log n) each", COST_LINEAR_LOG,
     heap_put_all},
    {"kin_heap_delete", "O(log n)", "items", COST_LOG, heap_delete},
    {"kin_heap_pop", "O(log n)", "items", COST_LOG, heap_pop},
    {"kin_heap_peek", NULL, "items", COST_ONE, heap_look},
    {"kin_heap_get", NULL, "items", COST_ONE, heap_get},
    {"kin_expiring_store_free", "O(objects)", "objects", COST_LINEAR,
     expiring_free},
    {"kin_expiring_store_put", NULL, "expired objects", COST_ONE, expiring_put},
    {"kin_expiring_store_get", NULL, "objects", COST_ONE, expiring_get},
    {"kin_expiring_store_next", "O(expired objects on the way)",
     "expired objects", COST_LINEAR, expiring_next},
    {"kin_expiring_store_next", NULL, "objects", COST_ONE,
     expiring_next_of_many},
    {"kin_expiring_store_delete", NULL, "objects", COST_ONE, expiring_delete},
    {"kin_push_store_put", "O(objects)", "objects", COST_LINEAR, push_put,
     .of = "kin_push_store"},
    {"kin_push_store_free", "O(objects)", "objects", COST_LINEAR, push_free},
    {"kin_sync_set_free", "O(keys)", "keys", COST_LINEAR, sync_free},
    {"kin_sync_set_start", "O(1)", "keys", COST_ONE, sync_start, COST_SEGMENT},
    {"kin_sync_set_finish", NULL, "keys", COST_ONE, sync_finish},
    {"kin_sync_set_has_synced", NULL, "keys", COST_ONE, sync_has_synced},
    {"kin_informer_name_new", "O(names held)", "names", COST_LINEAR, name_new},
    {"kin_informer_id_new", "O(identifiers of the name)", "identifiers",
     COST_LINEAR, id_new},
    {"kin_informer_id_is_reserved", NULL, "identifiers", COST_ONE,
     id_is_reserved},
    {"kin_informer_id_free", NULL, "identifiers", COST_ONE, id_free},
    {"kin_informer_name_release", "O(identifiers of the name)", "identifiers",
     COST_LINEAR, name_release},
    {"kin_informer_names_free", "O(names held)", "names", COST_LINEAR,
     names_free},
    {0},
};
