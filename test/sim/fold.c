/* SPDX-License-Identifier: MIT */
#include "sim/fold.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"

void sim_fold_init(sim_fold *fold, const api *server, sim_trace *trace,
                   const char *name) {
  fold->api = server;
  fold->trace = trace;
  fold->name = name;
  for (int i = 0; i < server->objects; i++) {
    fold->seen[i] = API_NONE;
  }
}

bool sim_filter_accepts(sim_filter filter, const kin_object *object) {
  kin_str app;
  switch (filter) {
  case SIM_FILTER_APP:
    return kin_object_label(object, "app", &app) &&
           kin__str_equal(app, KIN__LIT("a1"));
  case SIM_FILTER_ODD:
    return (api_object_of(kin_object_key(object)) & 1) != 0;
  default:
    return true;
  }
}

/* --- Objects -------------------------------------------------------------- */

static bool is_write(const api *server, int number, const kin_object *object,
                     bool is_last_state) {
  if (number < 0 || number >= server->write_count) {
    return false;
  }
  const api_write *write = &server->writes[number];
  char uid[24];
  char app[8];
  kin_str label;
  uint64_t version = 0;
  api_uid(write, uid);
  snprintf(app, sizeof app, "a%d", write->app);
  return api_object_of(kin_object_key(object)) == write->object &&
         kin__str_equal(kin_object_uid(object), kin__cstr(uid)) &&
         kin_object_label(object, "app", &label) &&
         kin__str_equal(label, kin__cstr(app)) &&
         kin__str_to_u64(kin_object_resource_version(object), &version) &&
         (version == write->revision ||
          (is_last_state && version > write->revision));
}

int sim_write_of(const api *server, sim_trace *trace, const kin_object *object,
                 bool is_last_state) {
  kin_str label = {NULL, 0};
  uint64_t number = 0;
  if (kin_object_label(object, "w", &label) &&
      kin__str_to_u64(label, &number) &&
      is_write(server, (int)number, object, is_last_state)) {
    return (int)number;
  }
  kin_str version = kin_object_resource_version(object);
  sim_fail(trace,
           "no such object has ever been: %s at " KIN_STR_FORMAT
           ", w=" KIN_STR_FORMAT,
           kin_object_key(object).data, KIN_STR_ARG(version),
           KIN_STR_ARG(label));
  return API_NONE;
}

/* --- Events --------------------------------------------------------------- */

static void on_add(sim_fold *fold, const kin_event *event, int object,
                   int write) {
  const char *key = kin_object_key(event->object).data;
  SIM_CHECK(fold->trace, fold->seen[object] == API_NONE,
            "%s: add of %s, which is there", fold->name, key);
  SIM_CHECK(fold->trace, event->old_object == NULL,
            "%s: add of %s has an old object", fold->name, key);
  SIM_CHECK(fold->trace, !event->is_initial || fold->synced == 0,
            "%s: initial add of %s after synced", fold->name, key);
  SIM_CHECK(fold->trace, sim_filter_accepts(fold->filter, event->object),
            "%s: add of %s, which the filter refuses", fold->name, key);
  fold->count += fold->seen[object] == API_NONE;
  fold->seen[object] = write;
}

/* Without updates the old state is an older one than was told. */
static void check_old(sim_fold *fold, const kin_event *event, int object) {
  const char *key = kin_object_key(event->object).data;
  int old = sim_write_of(fold->api, fold->trace, event->old_object, false);
  if (fold->interest == SIM_INTEREST_ALL) {
    SIM_CHECK(fold->trace, old == fold->seen[object],
              "%s: update of %s from w%d, but w%d was told last", fold->name,
              key, old, fold->seen[object]);
  }
}

static void on_update(sim_fold *fold, const kin_event *event, int object,
                      int write) {
  const char *key = kin_object_key(event->object).data;
  if (!SIM_CHECK(fold->trace, event->old_object != NULL,
                 "%s: update of %s without an old object", fold->name, key)) {
    return;
  }
  bool is_folded = fold->interest == SIM_INTEREST_ALL;
  int old = fold->seen[object];
  SIM_CHECK(fold->trace, !is_folded || old != API_NONE,
            "%s: update of %s, which is not there", fold->name, key);
  check_old(fold, event, object);
  SIM_CHECK(fold->trace,
            kin__str_equal(kin_object_uid(event->object),
                           kin_object_uid(event->old_object)),
            "%s: update of %s to another uid", fold->name, key);
  SIM_CHECK(fold->trace, !event->is_resync || !is_folded || old == write,
            "%s: resync of %s changes it", fold->name, key);
  bool gets_body = kin_object_is_key_only(event->old_object) &&
                   !kin_object_is_key_only(event->object);
  bool may_repeat = gets_body || event->is_resync || fold->relist_updates ||
                    !is_folded || fold->api->restores > 0;
  SIM_CHECK(fold->trace, may_repeat || old != write,
            "%s: update of %s changes nothing", fold->name, key);
  SIM_CHECK(fold->trace, !is_folded || fold->api->restores > 0 || write >= old,
            "%s: update of %s goes back from w%d to w%d", fold->name, key, old,
            write);
  SIM_CHECK(fold->trace, sim_filter_accepts(fold->filter, event->object),
            "%s: update of %s, which the filter refuses", fold->name, key);
  fold->resyncs[object] += event->is_resync;
  fold->seen[object] = write;
}

static void on_delete(sim_fold *fold, const kin_event *event, int object) {
  const char *key = kin_object_key(event->object).data;
  int seen = fold->seen[object];
  if (!SIM_CHECK(fold->trace, seen != API_NONE,
                 "%s: delete of %s, which is not there", fold->name, key)) {
    return;
  }
  char uid[24];
  api_uid(&fold->api->writes[seen], uid);
  SIM_CHECK(fold->trace,
            kin__str_equal(kin_object_uid(event->object), kin__cstr(uid)),
            "%s: delete of %s, but of another uid", fold->name, key);
  bool is_reason =
      event->reason == KIN_DELETE_WATCH || event->reason == KIN_DELETE_RELIST ||
      event->reason == KIN_DELETE_RECREATED ||
      (event->reason == KIN_DELETE_FILTERED &&
       fold->filter != SIM_FILTER_NONE) ||
      (event->reason == KIN_DELETE_SCOPE_REMOVED && fold->loses_scopes) ||
      (event->reason == KIN_DELETE_CLEARED && fold->is_cleared);
  SIM_CHECK(fold->trace, is_reason, "%s: delete of %s with the reason \"%s\"",
            fold->name, key, kin_delete_reason_name(event->reason));
  fold->seen[object] = API_NONE;
  fold->count--;
}

static void on_change(sim_fold *fold, const kin_event *event) {
  int object = api_object_of(kin_object_key(event->object));
  bool is_delete = event->type == KIN_EVENT_DELETE;
  int write = sim_write_of(fold->api, fold->trace, event->object, is_delete);
  if (write == API_NONE || object == API_NONE) {
    return;
  }
  switch (event->type) {
  case KIN_EVENT_ADD:
    on_add(fold, event, object, write);
    break;
  case KIN_EVENT_UPDATE:
    on_update(fold, event, object, write);
    break;
  default:
    on_delete(fold, event, object);
    break;
  }
}

void sim_fold_take(sim_fold *fold, const kin_event *event) {
  fold->events++;
  if (event->type == KIN_EVENT_ADD || event->type == KIN_EVENT_UPDATE ||
      event->type == KIN_EVENT_DELETE) {
    on_change(fold, event);
    return;
  }
  if (event->type == KIN_EVENT_SYNCED) {
    SIM_CHECK(fold->trace, ++fold->synced == 1, "%s: synced twice", fold->name);
  } else {
    SIM_CHECK(fold->trace, fold->synced == 1, "%s: relisted before synced",
              fold->name);
  }
  SIM_CHECK(fold->trace,
            fold->interest == SIM_INTEREST_UPDATES ||
                event->objects == fold->count,
            "%s: told of %zu objects, but knows %zu", fold->name,
            event->objects, fold->count);
}
