/* SPDX-License-Identifier: MIT */
#include "costs/cost.h"

#include <stdlib.h>

#include <kin/delta.h>
#include <kin/process.h>

static kin_delta *changes_of(kin_delta_type type, size_t first, size_t n) {
  kin_delta *changes = calloc(n, sizeof *changes);
  cost_assert(changes != NULL);
  for (size_t i = 0; i < n; i++) {
    changes[i].type = type;
    changes[i].object = cost_pod(first + i);
    changes[i].key = kin_object_key(changes[i].object);
  }
  return changes;
}

/* --- Changes -------------------------------------------------------------- */

static void copy_changes(size_t n) {
  kin_delta *changes = changes_of(KIN_DELTA_UPDATED, 0, n);
  kin_deltas *copied;
  COST(cost_must(
      kin_deltas_copy(&copied, &(kin_deltas){changes, n}, cost_memory())));
  kin_deltas_free(copied);
  free(changes);
}

static void free_changes(size_t n) {
  kin_delta *changes = changes_of(KIN_DELTA_UPDATED, 0, n);
  kin_deltas *copied;
  cost_must(kin_deltas_copy(&copied, &(kin_deltas){changes, n}, cost_memory()));
  COST(kin_deltas_free(copied));
  free(changes);
}

static void copy_listed(size_t n) {
  const kin_object **pods = cost_pods(0, n);
  kin_delta list = {.type = KIN_DELTA_REPLACED_ALL,
                    .objects = pods,
                    .object_count = n,
                    .resource_version = COST_STR("7")};
  kin_deltas *copied;
  COST(cost_must(
      kin_deltas_copy(&copied, &(kin_deltas){&list, 1}, cost_memory())));
  kin_deltas_free(copied);
  free(pods);
}

static void key_of_changes(size_t n) {
  kin_delta *changes = changes_of(KIN_DELTA_UPDATED, 0, n);
  kin_str key;
  COST(cost_must(kin_deltas_key(&(kin_deltas){changes, n}, &key)));
  free(changes);
}

/* --- Processing ----------------------------------------------------------- */

static void on_update(const kin_object *old_object, const kin_object *object,
                      void *data) {
  (void)old_object;
  (void)object;
  ++*(size_t *)data;
}

typedef int (*process_cb)(kin_store *store,
                          const kin_process_handlers *handlers,
                          const kin_deltas *deltas, bool is_initial);

/* A store of `stored` objects, `n` of which have changed. */
static void process(process_cb call, size_t stored, size_t n) {
  kin_store *store = cost_store(stored);
  kin_delta *changes = changes_of(KIN_DELTA_UPDATED, 0, n);
  kin_deltas deltas = {changes, n};
  size_t updates = 0;
  kin_process_handlers handlers = KIN_PROCESS_HANDLERS_INIT;
  handlers.on_update = on_update;
  handlers.data = &updates;
  COST(cost_must(call(store, &handlers, &deltas, false)));
  cost_assert(updates == n);
  free(changes);
  kin_store_free(store);
}

static void deltas_changes(size_t n) {
  process(kin_process_deltas, n, n);
}

static void deltas_objects(size_t n) {
  process(kin_process_deltas, n, 1);
}

static void batch_changes(size_t n) {
  process(kin_process_batch, n, n);
}

static void batch_objects(size_t n) {
  process(kin_process_batch, n, 1);
}

static void replaced_all(size_t n) {
  kin_store *store = cost_store(n);
  const kin_object **pods = cost_pods(n / 2, n);
  kin_delta list = {.type = KIN_DELTA_REPLACED_ALL,
                    .objects = pods,
                    .object_count = n,
                    .resource_version = COST_STR("7")};
  COST(cost_must(
      kin_process_deltas(store, NULL, &(kin_deltas){&list, 1}, false)));
  free(pods);
  kin_store_free(store);
}

static void sync_all(size_t n) {
  kin_store *store = cost_store(n);
  kin_delta all = {.type = KIN_DELTA_SYNC_ALL};
  size_t updates = 0;
  kin_process_handlers handlers = KIN_PROCESS_HANDLERS_INIT;
  handlers.on_update = on_update;
  handlers.data = &updates;
  COST(cost_must(
      kin_process_deltas(store, &handlers, &(kin_deltas){&all, 1}, false)));
  cost_assert(updates == n);
  kin_store_free(store);
}

const cost_row cost_rows_process[] = {
    {"kin_deltas_copy", "O(changes + listed objects)", "changes", COST_LINEAR,
     copy_changes},
    {"kin_deltas_copy", "O(changes + listed objects)", "listed objects",
     COST_LINEAR, copy_listed},
    {"kin_deltas_free", "O(changes + listed objects)", "changes", COST_LINEAR,
     free_changes},
    {"kin_deltas_key", NULL, "changes", COST_ONE, key_of_changes},
    {"kin_process_deltas", "the sum of the store's operations", "changes",
     COST_LINEAR, deltas_changes},
    {"kin_process_deltas", NULL, "objects", COST_ONE, deltas_objects},
    {"kin_process_deltas", "O(objects)", "objects, replaced", COST_LINEAR,
     replaced_all},
    {"kin_process_deltas", "O(objects)", "objects, synced", COST_LINEAR,
     sync_all},
    {"kin_process_batch", "O(changes)", "changes", COST_LINEAR, batch_changes},
    {"kin_process_batch", NULL, "objects", COST_ONE, batch_objects},
    {0},
};
