/* SPDX-License-Identifier: MIT */
#include "support/filter_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "object/object.h"
#include "support/objects.h"
#include "toolkit/change_filter.h"

int filter_rig_value(const kin_object *object) {
  kin_str text = kin__object_body(object);
  static const char before[] = "\"spec\":{\"a\":";
  char copy[512];
  assert_true(text.length < sizeof copy);
  memcpy(copy, text.data, text.length);
  copy[text.length] = '\0';
  const char *at = strstr(copy, before);
  int value = -1;
  if (at != NULL) {
    assert_int_equal(sscanf(at + sizeof before - 1, "%d", &value), 1);
  }
  return value;
}

static void note(filter_rig *rig, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void note(filter_rig *rig, const char *format, ...) {
  size_t length = strlen(rig->log);
  va_list args;
  va_start(args, format);
  vsnprintf(rig->log + length, sizeof rig->log - length, format, args);
  va_end(args);
}

static void end_note(filter_rig *rig) {
  note(rig, " ");
  rig->calls++;
  if (rig->then != NULL) {
    rig->then(rig);
  }
}

static void on_change(kin_change_filter *filter, const kin_change *change,
                      void *data) {
  filter_rig *rig = data;
  assert_false(rig->is_closed);
  assert_true(rig->filter == NULL || filter == rig->filter);
  assert_int_equal(change->size, sizeof *change);
  assert_non_null(change->object);
  kin_str name = kin_object_name(change->object);
  if (change->type == KIN_EVENT_UPDATE) {
    assert_non_null(change->old_object);
    note(rig, "%c:" KIN_STR_FORMAT "=%d>%d", change->is_recreated ? 'R' : 'U',
         KIN_STR_ARG(name), filter_rig_value(change->old_object),
         filter_rig_value(change->object));
  } else {
    assert_null(change->old_object);
    assert_true((change->type == KIN_EVENT_DELETE) ==
                (change->reason != KIN_DELETE_NONE));
    note(rig, "%c:" KIN_STR_FORMAT "=%d",
         change->type == KIN_EVENT_DELETE ? 'D'
         : change->is_initial             ? 'i'
                                          : 'A',
         KIN_STR_ARG(name), filter_rig_value(change->object));
  }
  if (change->changes != 1) {
    note(rig, "x%u", (unsigned)change->changes);
  }
  if (rig->on_change != NULL) {
    rig->on_change(change, rig->data);
  }
  end_note(rig);
}

static void on_changes(kin_change_filter *filter, const kin_changes *changes,
                       void *data) {
  filter_rig *rig = data;
  (void)filter;
  assert_false(rig->is_closed);
  assert_int_equal(changes->size, sizeof *changes);
  assert_int_equal(changes->keys,
                   changes->added + changes->updated + changes->deleted);
  if (changes->is_initial) {
    note(rig, "first(%zu)", changes->keys);
  } else {
    assert_true(changes->changes >= changes->keys);
    note(rig, "all(+%zu~%zu-%zu)", changes->added, changes->updated,
         changes->deleted);
  }
  note(rig, "%s", changes->is_exact ? "" : "?");
  end_note(rig);
}

static void on_synced(kin_change_filter *filter, size_t objects, void *data) {
  (void)filter;
  note(data, "synced(%zu)", objects);
  end_note(data);
}

static void on_closed(void *data) {
  filter_rig *rig = data;
  assert_false(rig->is_closed);
  rig->is_closed = true;
  note(rig, "closed ");
}

void filter_rig_init(filter_rig *rig, size_t fail_at) {
  static const char *const fields[] = {"/spec/a"};
  *rig = (filter_rig){.options = KIN_CHANGE_FILTER_OPTIONS_INIT};
  vh_init(&rig->vh, fail_at);
  assert_int_equal(kin_fake_source_new(&rig->source, NULL), 0);
  rig->options.on_change = on_change;
  rig->options.on_synced = on_synced;
  rig->options.on_closed = on_closed;
  rig->options.data = rig;
  rig->options.fields = fields;
  rig->options.field_count = 1;
}

void filter_rig_for_all(filter_rig *rig, uint32_t debounce_ms,
                        uint32_t max_wait_ms) {
  rig->options.on_change = NULL;
  rig->options.on_synced = NULL;
  rig->options.on_changes = on_changes;
  rig->options.debounce_ms = debounce_ms;
  rig->options.max_wait_ms = max_wait_ms;
}

int filter_rig_open_informer(filter_rig *rig) {
  kin_lister_watcher lister_watcher =
      kin_fake_source_lister_watcher(rig->source);
  kin_informer_options options = KIN_INFORMER_OPTIONS_INIT;
  options.plural = "pods";
  options.source = &lister_watcher;
  int err = kin__informer_open_on(&rig->informer, &rig->vh.host, &options);
  return err == 0 ? kin_informer_start(rig->informer) : err;
}

int filter_rig_open_filter(filter_rig *rig) {
  return kin_change_filter_open(&rig->filter, rig->informer, &rig->options);
}

void filter_rig_open(filter_rig *rig) {
  assert_int_equal(filter_rig_open_informer(rig), 0);
  assert_int_equal(filter_rig_open_filter(rig), 0);
  filter_rig_run(rig);
}

void filter_rig_close(filter_rig *rig) {
  if (!rig->vh.host.members.is_closing) {
    vh_close(&rig->vh);
  }
  filter_rig_run(rig);
  assert_true(rig->filter == NULL || rig->is_closed ||
              rig->options.on_closed == NULL);
  vh_finish(&rig->vh);
  kin_fake_source_free(rig->source);
}

void filter_rig_change(filter_rig *rig, kin_watch_event_type type,
                       const char *name, const char *uid, int value) {
  kin_object *object =
      object_format(NULL,
                    "{'metadata':{'name':'%s','namespace':'d','uid':'%s',"
                    "'resourceVersion':'0'},'spec':{'a':%d}}",
                    name, uid, value);
  assert_int_equal(kin_fake_source_change(rig->source, type, object, false), 0);
  kin_object_unref(object);
}

void filter_rig_put(filter_rig *rig, const char *name, int value) {
  filter_rig_change(rig, KIN_WATCH_MODIFIED, name, "u1", value);
  filter_rig_run(rig);
}

void filter_rig_delete(filter_rig *rig, const char *name) {
  char key[64];
  snprintf(key, sizeof key, "d/%s", name);
  const kin_object *object = kin_fake_source_get(rig->source, key);
  assert_non_null(object);
  object = kin_object_ref(object);
  assert_int_equal(kin_fake_source_delete(rig->source, object), 0);
  kin_object_unref((kin_object *)object);
  filter_rig_run(rig);
}

void filter_rig_recreate(filter_rig *rig, const char *name, const char *uid,
                         int value) {
  filter_rig_change(rig, KIN_WATCH_DELETED, name, "u1", 0);
  filter_rig_change(rig, KIN_WATCH_ADDED, name, uid, value);
  filter_rig_run(rig);
}

void filter_rig_run(filter_rig *rig) {
  do {
    script_run(&rig->vh.script);
  } while (kin_fake_source_run(rig->source) > 0);
  script_run(&rig->vh.script);
}

void filter_rig_pass(filter_rig *rig, uint64_t ms) {
  script_advance(&rig->vh.script, ms);
  filter_rig_run(rig);
}

void filter_rig_expect(filter_rig *rig, const char *told) {
  assert_string_equal(rig->log, told);
  rig->log[0] = '\0';
}
