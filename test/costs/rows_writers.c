/* SPDX-License-Identifier: MIT */
#include "costs/cost.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kin/leader_election.h>
#include <kin/ownership.h>

#include "base/system_clock.h"
#include "costs/world.h"
#include "election/elector.h"
#include "recorder/recorder.h"

/* --- Electors ------------------------------------------------------------- */

static void on_started(kin_leader_elector *elector, void *data) {
  (void)elector;
  (void)data;
}

static void on_stopped(kin_leader_elector *elector, const kin_leader_stop *stop,
                       void *data) {
  (void)elector;
  (void)stop;
  (void)data;
}

/* n electors; the last one. */
static kin_leader_elector *electors(cost_world *w, size_t n) {
  kin_leader_elector *elector = NULL;
  kin__clock boot = kin__boot_clock();
  kin_leader_elector_options options = KIN_LEADER_ELECTOR_OPTIONS_INIT;
  options.namespace_ = "n";
  options.name = "l";
  options.on_started = on_started;
  options.on_stopped = on_stopped;
  cost_world_init(w);
  for (size_t i = 0; i < n; i++) {
    cost_must(kin__leader_elector_open(&elector, &w->vh.host, &options, &boot));
  }
  return elector;
}

static void is_leader(size_t n) {
  cost_world w;
  kin_leader_elector *elector = electors(&w, n);
  COST(cost_assert(!kin_leader_elector_is_leader(elector)));
  cost_world_finish(&w);
}

static void check(size_t n) {
  cost_world w;
  kin_leader_elector *elector = electors(&w, n);
  COST(cost_must(kin_leader_elector_check(elector, 0)));
  cost_world_finish(&w);
}

static void elector_metrics(size_t n) {
  cost_world w;
  kin_leader_elector *elector = electors(&w, n);
  kin_leader_elector_metrics metrics = KIN_LEADER_ELECTOR_METRICS_INIT;
  COST(cost_must(kin_leader_elector_get_metrics(elector, &metrics)));
  cost_world_finish(&w);
}

/* --- Events --------------------------------------------------------------- */

static kin_event_recorder *recorder_of(cost_world *w) {
  kin_event_recorder *recorder;
  kin_event_recorder_options options = KIN_EVENT_RECORDER_OPTIONS_INIT;
  options.controller = "c";
  options.max_queued = 65536;
  options.burst = 65536;
  cost_world_init(w);
  cost_must(kin__event_recorder_open(&recorder, &w->vh.host, &options));
  return recorder;
}

static int record(kin_event_recorder *recorder, const char *reason,
                  kin_str text) {
  const kin_object_reference about = {.api_version = text,
                                      .kind = {"Pod", 3},
                                      .namespace_ = text,
                                      .name = text,
                                      .uid = text,
                                      .resource_version = text,
                                      .field_path = text};
  return kin_event_recorder_record(recorder, &about, &about, "Normal", reason,
                                   "Act", "");
}

static void open_with(const kin_allocator *allocator, size_t max_series) {
  cost_world w;
  cost_world_init(&w);
  script_env *script = &w.vh.script;
  kin__memory_unref(script->memory);
  script->memory = kin__memory_new(allocator);
  script->env.memory = script->memory;
  script->env.allocator = &script->memory->allocator;
  kin_event_recorder *recorder;
  kin_event_recorder_options options = KIN_EVENT_RECORDER_OPTIONS_INIT;
  options.controller = "c";
  options.max_series = (uint32_t)max_series;
  COST(cost_must(kin__event_recorder_open(&recorder, &w.vh.host, &options)));
  cost_world_finish(&w);
}

static void open_in_own_memory(size_t n) {
  open_with(cost_memory(), n);
}

static void open_in_default_memory(size_t n) {
  open_with(NULL, n);
}

/* n events are remembered already. */
static void record_one_more(size_t n) {
  cost_world w;
  kin_event_recorder *recorder = recorder_of(&w);
  char reason[32];
  for (size_t i = 0; i < n; i++) {
    snprintf(reason, sizeof reason, "R%zu", i);
    cost_must(record(recorder, reason, (kin_str){"web", 3}));
  }
  COST(cost_must(record(recorder, "Other", (kin_str){"web", 3})));
  cost_world_finish(&w);
}

static void record_text(size_t n) {
  cost_world w;
  kin_event_recorder *recorder = recorder_of(&w);
  char *text = malloc(n);
  cost_assert(text != NULL);
  memset(text, 'a', n);
  cost_must(record(recorder, "R", (kin_str){"web", 3}));
  COST(cost_must(record(recorder, "R", (kin_str){text, n})));
  free(text);
  cost_world_finish(&w);
}

static void recorder_metrics(size_t n) {
  cost_world w;
  kin_event_recorder *recorder = recorder_of(&w);
  char reason[32];
  for (size_t i = 0; i < n; i++) {
    snprintf(reason, sizeof reason, "R%zu", i);
    cost_must(record(recorder, reason, (kin_str){"web", 3}));
  }
  kin_event_recorder_metrics metrics = KIN_EVENT_RECORDER_METRICS_INIT;
  COST(cost_must(kin_event_recorder_get_metrics(recorder, &metrics)));
  cost_world_finish(&w);
}

/* --- Ownership ------------------------------------------------------------ */

static void reference_of(size_t n) {
  kin_object *big = cost_big_object(n);
  kin_object_reference reference;
  COST(kin_object_reference_of(&reference, big, "v1", "Pod"));
  kin_object_unref(big);
}

static void has_finalizer(size_t n) {
  kin_object *big = cost_annotated_object(n);
  COST(cost_assert(!kin_object_has_finalizer(big, "f")));
  kin_object_unref(big);
}

static void is_terminating(size_t n) {
  kin_object *big = cost_annotated_object(n);
  COST(cost_assert(!kin_object_is_terminating(big)));
  kin_object_unref(big);
}

static void add_finalizer(size_t n) {
  kin_object *big = cost_annotated_object(n);
  char patch[256];
  size_t length;
  COST((void)kin_object_add_finalizer_patch(big, "f", patch, sizeof patch,
                                            &length));
  kin_object_unref(big);
}

static void remove_finalizer(size_t n) {
  kin_object *big = cost_annotated_object(n);
  char patch[256];
  size_t length;
  COST((void)kin_object_remove_finalizer_patch(big, "f", patch, sizeof patch,
                                               &length));
  kin_object_unref(big);
}

static void set_owner(size_t n) {
  kin_object *big = cost_big_object(n);
  kin_object *owned;
  const kin_object_reference owner = {.api_version = {"v1", 2},
                                      .kind = {"Node", 4},
                                      .name = {"n", 1},
                                      .uid = {"u", 1}};
  COST(cost_must(kin_object_set_owner(&owned, cost_memory(), big, &owner,
                                      KIN_OWNER_CONTROLLER)));
  kin_object_unref(owned);
  kin_object_unref(big);
}

#define BYTES "bytes of the object"
const cost_row cost_rows_writers[] = {
    {"kin_leader_elector_is_leader", "O(1)", "electors", COST_ONE, is_leader,
     COST_FEW},
    {"kin_leader_elector_check", "O(1)", "electors", COST_ONE, check, COST_FEW},
    {"kin_leader_elector_get_metrics", "O(1)", "electors", COST_ONE,
     elector_metrics, COST_FEW},
    {"kin_event_recorder_open", "O(max_series)", "series", COST_LINEAR,
     open_in_own_memory, COST_BYTES},
    {"kin_event_recorder_open", "O(1)", "series", COST_ONE,
     open_in_default_memory, COST_FEW},
    {"kin_event_recorder_record", NULL, "remembered events", COST_ONE,
     record_one_more, COST_FEW},
    {"kin_event_recorder_record", "O(length of the texts)",
     "bytes of each text", COST_LINEAR, record_text, COST_FEW},
    {"kin_event_recorder_get_metrics", "O(1)", "remembered events", COST_ONE,
     recorder_metrics, COST_FEW},
    {"kin_object_reference_of", "O(1)", BYTES, COST_ONE, reference_of,
     COST_BYTES},
    {"kin_object_has_finalizer", "O(bytes)", BYTES, COST_LINEAR, has_finalizer,
     COST_BYTES},
    {"kin_object_is_terminating", "O(bytes)", BYTES, COST_LINEAR,
     is_terminating, COST_BYTES},
    {"kin_object_add_finalizer_patch", "O(bytes)", BYTES, COST_LINEAR,
     add_finalizer, COST_BYTES},
    {"kin_object_remove_finalizer_patch", "O(bytes)", BYTES, COST_LINEAR,
     remove_finalizer, COST_BYTES},
    {"kin_object_set_owner", "O(bytes)", BYTES, COST_LINEAR, set_owner,
     COST_BYTES},
    {0},
};
