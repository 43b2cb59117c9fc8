/* SPDX-License-Identifier: MIT */
#include "support/recorder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"

void recorder_init(recorder *rec) {
  memset(rec, 0, sizeof *rec);
}

static void copy(char *to, size_t size, kin_str from) {
  snprintf(to, size, KIN_STR_FORMAT, KIN_STR_ARG(from));
}

static int find(const recorder *rec, const char *key) {
  for (int i = 0; i < rec->count; i++) {
    if (strcmp(rec->seen[i].key, key) == 0) {
      return i;
    }
  }
  return -1;
}

static void note(recorder *rec, const char *format, ...) {
  va_list args;
  va_start(args, format);
  int length = vsnprintf(rec->log + rec->used, sizeof rec->log - rec->used,
                         format, args);
  va_end(args);
  size_t room = sizeof rec->log - rec->used;
  rec->used += (size_t)length < room ? (size_t)length : 0;
}

static void set(recorder *rec, int i, const kin_object *object) {
  copy(rec->seen[i].uid, sizeof rec->seen[i].uid, kin_object_uid(object));
  copy(rec->seen[i].version, sizeof rec->seen[i].version,
       kin_object_resource_version(object));
}

static void on_add(recorder *rec, const kin_event *event) {
  char key[64];
  copy(key, sizeof key, kin_object_key(event->object));
  assert_int_equal(find(rec, key), -1);
  assert_true(rec->count < RECORDER_KEYS);
  assert_null(event->old_object);
  if (event->is_initial) {
    assert_int_equal(rec->synced, 0);
    rec->initial_adds++;
  }
  int i = rec->count++;
  snprintf(rec->seen[i].key, sizeof rec->seen[i].key, "%s", key);
  set(rec, i, event->object);
  rec->adds++;
  note(rec, "add %s %s%s\n", key, rec->seen[i].version,
       event->is_initial ? " initial" : "");
}

static void on_update(recorder *rec, const kin_event *event) {
  char key[64];
  char old_version[32];
  copy(key, sizeof key, kin_object_key(event->object));
  int i = find(rec, key);
  assert_true(i >= 0);
  copy(old_version, sizeof old_version,
       kin_object_resource_version(event->old_object));
  assert_string_equal(rec->seen[i].version, old_version);
  set(rec, i, event->object);
  rec->updates++;
  note(rec, "update %s %s -> %s%s\n", key, old_version, rec->seen[i].version,
       event->is_resync ? " resync" : "");
}

static void on_delete(recorder *rec, const kin_event *event) {
  char key[64];
  copy(key, sizeof key, kin_object_key(event->object));
  int i = find(rec, key);
  assert_true(i >= 0);
  assert_true(event->reason != KIN_DELETE_NONE);
  rec->seen[i] = rec->seen[--rec->count];
  rec->deletes++;
  note(rec, "delete %s %s\n", key, kin_delete_reason_name(event->reason));
}

static void on_event(kin_informer *informer, const kin_event *event,
                     void *data) {
  recorder *rec = data;
  rec->calls++;
  switch (event->type) {
  case KIN_EVENT_ADD:
    on_add(rec, event);
    break;
  case KIN_EVENT_UPDATE:
    on_update(rec, event);
    break;
  case KIN_EVENT_DELETE:
    on_delete(rec, event);
    break;
  case KIN_EVENT_SYNCED:
    assert_int_equal(rec->synced++, 0);
    note(rec, "synced %zu\n", event->objects);
    break;
  case KIN_EVENT_RELISTED:
    rec->relisted++;
    note(rec, "relisted " KIN_STR_FORMAT " " KIN_STR_FORMAT " %zu\n",
         KIN_STR_ARG(event->namespace_), KIN_STR_ARG(event->resource_version),
         event->objects);
    break;
  }
  if (rec->on_call != NULL) {
    rec->on_call(rec, informer);
  }
}

kin_listener_options recorder_options(recorder *rec) {
  kin_listener_options options = KIN_LISTENER_OPTIONS_INIT;
  options.on_add = on_event;
  options.on_update = on_event;
  options.on_delete = on_event;
  options.on_synced = on_event;
  options.on_relisted = on_event;
  options.data = rec;
  return options;
}

int recorder_listen(recorder *rec, kin_informer *informer) {
  kin_listener_options options = recorder_options(rec);
  return kin_informer_listen(informer, &options, &rec->listener);
}

void recorder_assert_folds_to(const recorder *rec, const kin_store *store) {
  assert_int_equal(rec->count, kin_store_count(store));
  for (int i = 0; i < rec->count; i++) {
    const kin_object *object = kin_store_get_key(store, rec->seen[i].key);
    assert_non_null(object);
    assert_true(kin__str_equal(kin_object_resource_version(object),
                               kin__cstr(rec->seen[i].version)));
    assert_true(
        kin__str_equal(kin_object_uid(object), kin__cstr(rec->seen[i].uid)));
  }
}
