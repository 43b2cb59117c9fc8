/* SPDX-License-Identifier: MIT */
#include "costs/cost.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kin/toolkit.h>

#include "costs/world.h"
#include "support/objects.h"

#define DEBOUNCE_MS 100000u
#define LINGER_MS 100000u

/* --- Change filters ------------------------------------------------------- */

static void on_change(kin_change_filter *filter, const kin_change *change,
                      void *data) {
  (void)filter;
  (void)change;
  (void)data;
}

static kin_change_filter *open_filter(cost_world *w, const char *const *fields,
                                      size_t count) {
  kin_change_filter_options options = KIN_CHANGE_FILTER_OPTIONS_INIT;
  options.on_change = on_change;
  options.fields = fields;
  options.field_count = count;
  options.debounce_ms = DEBOUNCE_MS;
  kin_change_filter *filter;
  cost_must(kin_change_filter_open(&filter, w->informer, &options));
  return filter;
}

/* An object of about `bytes` bytes. */
static void put(cost_world *w, const char *name, int value, size_t bytes) {
  char *padding = calloc(bytes + 1, 1);
  cost_assert(padding != NULL);
  for (size_t i = 0; i < bytes; i++) {
    padding[i] = 'x';
  }
  kin_object *object = object_format(
      cost_memory(),
      "{'metadata':{'name':'%s','uid':'u','resourceVersion':'1'},'data':{"
      "'a':'%s','b':%d}}",
      name, padding, value);
  cost_must(kin_fake_source_modify(w->source, object));
  kin_object_unref(object);
  free(padding);
}

static void filter_open(size_t n) {
  cost_world w;
  cost_world_start(&w, 0, 1);
  char *field = cost_text(n + 1);
  memset(field, 'x', n);
  field[0] = '/';
  field[n] = '\0';
  const char *const fields[] = {field};
  COST(open_filter(&w, fields, 1));
  free(field);
  cost_world_finish(&w);
}

/* Includes what the source and the informer do with the object. */
static void filter_update(size_t n) {
  static const char *const fields[] = {"/data"};
  cost_world w;
  cost_world_start(&w, 0, 1);
  open_filter(&w, fields, 1);
  put(&w, "x", 1, n);
  cost_world_run(&w);
  put(&w, "x", 2, n);
  COST(cost_world_run(&w));
  cost_world_finish(&w);
}

static void filter_change(size_t n) {
  static const char *const fields[] = {"/data/b"};
  cost_world w;
  cost_world_start(&w, 0, 1);
  kin_change_filter *filter = open_filter(&w, fields, 1);
  cost_world_run(&w);
  for (size_t i = 0; i < n; i++) {
    char name[32];
    snprintf(name, sizeof name, "x%zu", i);
    put(&w, name, 1, 1);
  }
  cost_world_run(&w);
  cost_assert(kin_change_filter_waiting(filter) == n);
  put(&w, "x0", 2, 1);
  COST(cost_world_run(&w));
  cost_assert(kin_change_filter_waiting(filter) == n);
  cost_world_finish(&w);
}

/* --- Lingering indices ---------------------------------------------------- */

/* n objects have a value; if `are_gone`, had. */
static kin_lingering_index *open_lingering(cost_world *w, size_t n,
                                           bool are_gone) {
  cost_world_start(w, 0, 0);
  kin_index_options index = KIN_INDEX_OPTIONS_INIT;
  index.name = "value";
  index.pointer = "/data/b";
  cost_must(kin_store_add_index(kin_informer_store(w->informer), &index));
  kin_lingering_index_options options = KIN_LINGERING_INDEX_OPTIONS_INIT;
  options.name = "value";
  options.linger_ms = LINGER_MS;
  kin_lingering_index *lingering;
  cost_must(kin_lingering_index_open(&lingering, w->informer, &options));
  for (int round = 0; round < (are_gone ? 2 : 1); round++) {
    for (size_t i = 0; i < n; i++) {
      char name[32];
      snprintf(name, sizeof name, "x%zu", i);
      put(w, name, 1 + round, 1);
    }
    cost_world_run(w);
  }
  cost_assert(kin_lingering_index_count(lingering) == (are_gone ? n : 0));
  return lingering;
}

static const kin_str one = {"1", 1};

static void lingering_open(size_t n) {
  cost_world w;
  open_lingering(&w, n, true);
  kin_lingering_index_options options = KIN_LINGERING_INDEX_OPTIONS_INIT;
  options.name = "value";
  options.linger_ms = LINGER_MS;
  kin_lingering_index *more;
  COST(cost_must(kin_lingering_index_open(&more, w.informer, &options)));
  cost_world_finish(&w);
}

static void lingering_update(size_t n) {
  cost_world w;
  open_lingering(&w, n, true);
  put(&w, "x0", 3, 1);
  COST(cost_world_run(&w));
  cost_world_finish(&w);
}

static void lingering_find(size_t n) {
  cost_world w;
  kin_lingering_index *lingering = open_lingering(&w, n, true);
  kin_lingering_cursor cursor;
  COST(cost_must(kin_lingering_index_find(lingering, one, &cursor)));
  cost_world_finish(&w);
}

static void lingering_scan(size_t n) {
  cost_world w;
  kin_lingering_index *lingering = open_lingering(&w, n, true);
  kin_lingering_cursor cursor;
  cost_must(kin_lingering_index_find(lingering, one, &cursor));
  size_t found = 0;
  COST(while (kin_lingering_index_next(lingering, &cursor, NULL) != NULL) {
    found++;
  });
  cost_assert(found == n);
  cost_world_finish(&w);
}

static void lingering_owner(size_t n) {
  cost_world w;
  kin_lingering_index *lingering = open_lingering(&w, n, true);
  COST(cost_assert(kin_lingering_index_owner(lingering, one, LINGER_MS, NULL) !=
                   NULL));
  cost_world_finish(&w);
}

static void lingering_owner_of_live(size_t n) {
  cost_world w;
  kin_lingering_index *lingering = open_lingering(&w, n, false);
  COST(cost_assert(kin_lingering_index_owner(lingering, one, 0, NULL) != NULL));
  cost_world_finish(&w);
}

const cost_row cost_rows_change[] = {
    {"kin_change_filter_open", "O(bytes of the fields)", "bytes", COST_LINEAR,
     filter_open, COST_BYTES},
    {"kin_change_filter_open", "O(bytes of the two objects)", "bytes",
     COST_LINEAR, filter_update, COST_BYTES},
    {"kin_change_filter_open", "O(log n)", "waiting keys", COST_LOG,
     filter_change},
    {"kin_lingering_index_open", "O(1)", "objects that linger", COST_ONE,
     lingering_open},
    {"kin_lingering_index_open", NULL, "objects that linger", COST_ONE,
     lingering_update},
    {"kin_lingering_index_find", NULL, "objects that linger", COST_ONE,
     lingering_find},
    {"kin_lingering_index_next", "O(objects found)", "objects", COST_LINEAR,
     lingering_scan, 32},
    {"kin_lingering_index_owner", "O(objects that linger under the value)",
     "objects", COST_LINEAR, lingering_owner, 32},
    {"kin_lingering_index_owner", NULL, "objects that live", COST_ONE,
     lingering_owner_of_live, 32},
    {0},
};
