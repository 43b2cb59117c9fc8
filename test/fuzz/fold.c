/* SPDX-License-Identifier: MIT */
#include "fuzz/fold.h"

#include <string.h>

#include "base/str.h"
#include "fuzz/fuzz.h"
#include "object/same_content.h"

static size_t find(const fold *f, const kin_object *object) {
  size_t i = 0;
  while (i < f->count &&
         !kin__str_equal(kin_object_key(f->told[i]), kin_object_key(object))) {
    i++;
  }
  return i;
}

static bool is_same(const kin_object *a, const kin_object *b) {
  return a == b || (kin__str_equal(kin_object_uid(a), kin_object_uid(b)) &&
                    kin__str_equal(kin_object_resource_version(a),
                                   kin_object_resource_version(b)) &&
                    kin__object_has_same_text(a, b));
}

static void on_add(fold *f, const kin_event *event) {
  FUZZ_CHECK(find(f, event->object) == f->count);
  FUZZ_CHECK(event->old_object == NULL);
  FUZZ_CHECK(!event->is_initial || f->synced == 0);
  FUZZ_CHECK(f->count < FOLD_OBJECTS);
  f->told[f->count++] = kin_object_ref(event->object);
}

static void on_update(fold *f, const kin_event *event) {
  size_t i = find(f, event->object);
  FUZZ_CHECK(i < f->count);
  FUZZ_CHECK(is_same(f->told[i], event->old_object));
  FUZZ_CHECK(!event->is_resync || is_same(f->told[i], event->object));
  kin_object_unref(f->told[i]);
  f->told[i] = kin_object_ref(event->object);
}

static void on_delete(fold *f, const kin_event *event) {
  size_t i = find(f, event->object);
  FUZZ_CHECK(i < f->count);
  FUZZ_CHECK(event->reason != KIN_DELETE_NONE);
  kin_object_unref(f->told[i]);
  f->told[i] = f->told[--f->count];
}

static void on_event(kin_informer *informer, const kin_event *event,
                     void *data) {
  fold *f = data;
  (void)informer;
  f->events++;
  switch (event->type) {
  case KIN_EVENT_ADD:
    on_add(f, event);
    break;
  case KIN_EVENT_UPDATE:
    on_update(f, event);
    break;
  case KIN_EVENT_DELETE:
    on_delete(f, event);
    break;
  case KIN_EVENT_SYNCED:
    FUZZ_CHECK(f->synced++ == 0);
    break;
  default:
    break;
  }
}

/* Of the object alone, as a filter must be. */
static bool is_visible(const kin_object *object) {
  kin_str app;
  return !kin_object_label(object, "app", &app) ||
         !kin__str_equal(app, KIN__LIT("hidden"));
}

static bool filter(const kin_object *object, void *data) {
  (void)data;
  return is_visible(object);
}

int fold_listen(fold *f, kin_informer *informer, uint32_t resync_ms,
                uint32_t exact_limit, bool filters) {
  kin_listener_options options = KIN_LISTENER_OPTIONS_INIT;
  options.on_add = on_event;
  options.on_update = on_event;
  options.on_delete = on_event;
  options.on_synced = on_event;
  options.on_relisted = on_event;
  options.filter = filters ? filter : NULL;
  options.data = f;
  options.resync_ms = resync_ms;
  options.exact_limit = exact_limit;
  *f = (fold){.filters = filters};
  return kin_informer_listen(informer, &options, &f->listener);
}

void fold_forget(fold *f) {
  for (size_t i = 0; i < f->count; i++) {
    kin_object_unref(f->told[i]);
  }
  *f = (fold){.count = 0};
}

void fold_close(fold *f) {
  if (f->listener != NULL) {
    kin_listener_close(f->listener);
  }
  fold_forget(f);
}

void fold_check(const fold *f, const kin_store *store) {
  kin_cursor cursor = {0};
  const kin_object *object;
  size_t expected = 0;
  while ((object = kin_store_next(store, &cursor)) != NULL) {
    if (f->filters && !is_visible(object)) {
      continue;
    }
    size_t i = find(f, object);
    FUZZ_CHECK(i < f->count);
    FUZZ_CHECK(is_same(f->told[i], object));
    expected++;
  }
  FUZZ_CHECK(f->count == expected);
}
