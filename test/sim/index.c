/* SPDX-License-Identifier: MIT */
#include "sim/world.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/str.h"

/* Four indices of all kinds: a label, which is resident; a string of the body;
 * all strings of an array of the body; and a callback with two values. */

#define VALUES 8

typedef enum which_index { BY_APP, BY_NODE, BY_IMAGE, BY_CALLBACK } which_index;

static const char *const index_names[SIM_INDICES] = {"app", "node", "image",
                                                     "callback"};

/* "k0" or "k1" by the object's number, "w0" to "w2" by its write's. */
static int emit_values(const kin_object *object, kin_index_values *values,
                       void *data) {
  const sim_world *w = ((const sim_actor *)data)->world;
  bool lies = w->options.mutation == SIM_MUTATE_INDEX && w->has_mutated;
  int number = api_object_of(kin_object_key(object)) + (lies ? 1 : 0);
  char value[8];
  kin_str label;
  uint64_t write = 0;
  snprintf(value, sizeof value, "k%d", number & 1);
  int err = kin_index_emit(values, kin__cstr(value));
  if (err == 0 && kin_object_label(object, "w", &label) &&
      kin__str_to_u64(label, &write)) {
    snprintf(value, sizeof value, "w%d", (int)(write % 3));
    err = kin_index_emit(values, kin__cstr(value));
  }
  return err;
}

void sim_index_add(sim_actor *actor, unsigned which) {
  static const char *const pointers[SIM_INDICES] = {
      "/metadata/labels/app", "/spec/nodeName", "/spec/containers/*/image",
      NULL};
  sim_trace *trace = &actor->world->trace;
  kin_index_options options = KIN_INDEX_OPTIONS_INIT;
  options.name = index_names[which];
  options.pointer = pointers[which];
  options.cb = pointers[which] == NULL ? emit_values : NULL;
  options.data = actor;
  kin_store *store = kin_informer_store(actor->informer);
  int err = kin_store_add_index(store, &options);
  sim_say(trace, "%u index %s -> %s", actor->number, options.name,
          kin_err_name(err));
  SIM_CHECK(trace,
            err == KIN_ENOMEM ||
                err == (actor->has_index[which] ? KIN_EEXIST : 0),
            "%u: adding index %s gives %s", actor->number, options.name,
            kin_err_name(err));
  actor->has_index[which] = actor->has_index[which] || err == 0;
}

/* Whether an object at that write has the index's i-th value. */
static bool has_value(const sim_actor *actor, which_index which,
                      const kin_object *object, int number, unsigned i) {
  const api_write *write = &actor->world->api.writes[number];
  switch (which) {
  case BY_APP:
    return write->app == i;
  case BY_NODE:
    return !actor->is_metadata && !kin_object_is_key_only(object) &&
           write->node == i;
  case BY_IMAGE:
    return !actor->is_metadata && !actor->is_node_only &&
           !kin_object_is_key_only(object) && (write->images & (1u << i)) != 0;
  default:
    return i < 2 ? (write->object & 1) == (int)i : number % 3 == (int)i - 2;
  }
}

static void name_value(which_index which, unsigned i, char value[8]) {
  static const char letters[SIM_INDICES] = {'a', 'n', 'i', 'k'};
  bool is_second = which == BY_CALLBACK && i >= 2;
  snprintf(value, 8, "%c%u", is_second ? 'w' : letters[which],
           is_second ? i - 2 : i);
}

static size_t check_value(sim_actor *actor, which_index which, unsigned i) {
  sim_world *w = actor->world;
  const kin_store *store = kin_informer_store(actor->informer);
  const char *name = index_names[which];
  char value[8];
  name_value(which, i, value);
  kin_index_cursor cursor;
  SIM_CHECK(&w->trace,
            kin_store_by_index(store, name, kin__cstr(value), &cursor) == 0,
            "%u: no index %s", actor->number, name);
  size_t found = 0;
  const kin_object *object;
  while ((object = kin_store_by_index_next(store, &cursor)) != NULL) {
    int number = sim_write_of(&w->api, &w->trace, object, false);
    if (number == API_NONE) {
      return 0;
    }
    SIM_CHECK(&w->trace, has_value(actor, which, object, number, i),
              "%u: %s is in index %s at %s", actor->number,
              kin_object_key(object).data, name, value);
    found++;
  }
  SIM_CHECK(&w->trace,
            kin_store_index_count(store, name, kin__cstr(value)) == found,
            "%u: index %s counts wrong at %s", actor->number, name, value);
  return found;
}

static size_t expected_entries(sim_actor *actor, which_index which) {
  sim_world *w = actor->world;
  const kin_store *store = kin_informer_store(actor->informer);
  size_t entries = 0;
  kin_cursor cursor = {0};
  const kin_object *object;
  while ((object = kin_store_next(store, &cursor)) != NULL) {
    int number = sim_write_of(&w->api, &w->trace, object, false);
    for (unsigned i = 0; number != API_NONE && i < VALUES; i++) {
      entries += has_value(actor, which, object, number, i);
    }
  }
  return entries;
}

void sim_check_indices(sim_actor *actor) {
  sim_trace *trace = &actor->world->trace;
  const kin_store *store = kin_informer_store(actor->informer);
  for (int which = 0; which < SIM_INDICES; which++) {
    if (!actor->has_index[which]) {
      continue;
    }
    size_t found = 0;
    for (unsigned i = 0; i < VALUES; i++) {
      found += check_value(actor, (which_index)which, i);
    }
    size_t expected = expected_entries(actor, (which_index)which);
    bool is_ready = kin_store_index_ready(store, index_names[which]);
    SIM_CHECK(trace, is_ready ? found == expected : found <= expected,
              "%u: index %s has %zu entries, not %zu", actor->number,
              index_names[which], found, expected);
    SIM_CHECK(trace, is_ready || !actor->world->is_calm,
              "%u: index %s is not ready", actor->number, index_names[which]);
  }
}
