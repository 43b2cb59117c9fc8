/* SPDX-License-Identifier: MIT */
#include "support/dispatch_rig.h"

#include "dispatch/listener.h"

#include <inttypes.h>
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include <kin/error.h>

#include "base/alloc.h"
#include "base/str.h"

static uint64_t rig_now(void *ctx) {
  dispatch_rig *rig = ctx;
  rig->now_ns += rig->tick_ns;
  return rig->now_ns;
}

static kin_str rig_synced_version(void *ctx) {
  dispatch_rig *rig = ctx;
  snprintf(rig->version_text, sizeof rig->version_text, "%" PRIu64,
           rig->version);
  return kin__cstr(rig->version_text);
}

static bool drive(kin__task *task) {
  dispatch_rig *rig = KIN__CONTAINER_OF(task, dispatch_rig, driver);
  int err = kin__dispatcher_continue(&rig->dispatcher);
  assert_true(err == 0 || err == KIN__MORE || err == KIN_ENOMEM);
  return err == KIN__MORE;
}

int rig_init(dispatch_rig *rig, const kin_allocator *allocator) {
  memset(rig, 0, sizeof *rig);
  rig->allocator = allocator != NULL ? *allocator : *kin__default_allocator();
  rig->memory = kin__memory_new(&rig->allocator);
  if (rig->memory == NULL) {
    return KIN_ENOMEM;
  }
  kin__hash_seed seed = {1, 2};
  kin__store_init(&rig->store, rig->memory, seed, true);
  kin__sched_init(&rig->sched, rig_now, rig);
  kin__timers_init(&rig->timers);
  rig->clock = (kin__clock){rig_now, rig};
  kin__task_init(&rig->driver, drive);
  rig->dispatcher = (kin__dispatcher){
      .allocator = &rig->allocator,
      .store = &rig->store,
      .sched = &rig->sched,
      .timers = &rig->timers,
      .clock = &rig->clock,
      .informer = RIG_INFORMER,
      .handler_ns = &rig->handler_ns,
      .driver = &rig->driver,
      .synced_version = rig_synced_version,
      .ctx = rig,
  };
  kin__dispatcher_init(&rig->dispatcher);
  return 0;
}

void rig_finish(dispatch_rig *rig) {
  while (kin__dispatcher_close_step(&rig->dispatcher, 7)) {
  }
  kin__dispatcher_finish(&rig->dispatcher);
  kin__sched_cancel(&rig->sched, &rig->driver);
  assert_false(kin__sched_has_work(&rig->sched));
  assert_true(kin__timers_next_ms(&rig->timers) == UINT64_MAX);
  kin__store_finish(&rig->store);
  kin__memory_unref(rig->memory);
}

kin_object *rig_object(dispatch_rig *rig, const char *name, uint64_t version) {
  char json[128];
  int length = snprintf(
      json, sizeof json,
      "{\"metadata\":{\"name\":\"%s\",\"resourceVersion\":\"%" PRIu64 "\"}}",
      name, version);
  kin_object *object = NULL;
  int err = kin_object_parse(&object, &rig->allocator, json, (size_t)length);
  assert_true(err == 0 || err == KIN_ENOMEM);
  return err == 0 ? object : NULL;
}

static uint32_t find(dispatch_rig *rig, const char *name) {
  kin_str key = kin__cstr(name);
  return kin__store_find(&rig->store, key, kin__store_hash(&rig->store, key));
}

static int reserve(dispatch_rig *rig) {
  int err;
  while ((err = kin__dispatcher_reserve(&rig->dispatcher)) == KIN__MORE) {
    if (rig->runs_between) {
      rig_step(rig);
    }
  }
  return err;
}

/* Adds what is told to a change. */
static void also(dispatch_rig *rig, kin__change *change, kin_event_type type,
                 kin_object *object, kin_object *old) {
  kin__notification *told = &change->notifications[change->count++];
  *told = (kin__notification){
      .object = object,
      .type = (uint8_t)type,
      .is_initial = type == KIN_EVENT_ADD && !rig->dispatcher.has_synced,
  };
  told->old_object = old;
}

static int put(dispatch_rig *rig, const char *name, bool is_recreated) {
  int err = reserve(rig);
  if (err != 0) {
    return err;
  }
  kin_object *object = rig_object(rig, name, rig->version + 1);
  if (object == NULL) {
    return KIN_ENOMEM;
  }
  kin__change change = {0};
  kin_object *old = NULL;
  err = kin__store_upsert(&rig->store, object,
                          kin__store_hash(&rig->store, kin__cstr(name)),
                          &change.slot, &old);
  if (err == 0) {
    rig->version++;
    if (old != NULL && !is_recreated) {
      also(rig, &change, KIN_EVENT_UPDATE, object, old);
    } else {
      if (old != NULL) {
        also(rig, &change, KIN_EVENT_DELETE, old, NULL);
        change.notifications[0].reason = KIN_DELETE_RECREATED;
      }
      also(rig, &change, KIN_EVENT_ADD, object, NULL);
    }
    kin__dispatcher_send(&rig->dispatcher, &change);
  }
  kin_object_unref(old);
  kin_object_unref(object);
  return err;
}

int rig_put(dispatch_rig *rig, const char *name) {
  return put(rig, name, false);
}

int rig_recreate(dispatch_rig *rig, const char *name) {
  return put(rig, name, true);
}

int rig_delete(dispatch_rig *rig, const char *name) {
  int err = reserve(rig);
  kin__change change = {.slot = find(rig, name)};
  if (err == 0 && change.slot != KIN__NO_SLOT) {
    kin_object *object = kin__store_remove(&rig->store, change.slot);
    rig->version++;
    also(rig, &change, KIN_EVENT_DELETE, object, NULL);
    change.notifications[0].reason = KIN_DELETE_WATCH;
    kin__dispatcher_send(&rig->dispatcher, &change);
    kin_object_unref(object);
  }
  return err;
}

int rig_unchanged(dispatch_rig *rig, const char *name) {
  int err = reserve(rig);
  kin__change change = {.slot = find(rig, name),
                        .audience = KIN__AUDIENCE_RELIST_UPDATES};
  if (err == 0 && change.slot != KIN__NO_SLOT) {
    kin_object *object = kin__store_at(&rig->store, change.slot)->object;
    also(rig, &change, KIN_EVENT_UPDATE, object, object);
    kin__dispatcher_send(&rig->dispatcher, &change);
  }
  return err;
}

int rig_synced(dispatch_rig *rig) {
  int err;
  do {
    err = kin__dispatcher_synced(&rig->dispatcher);
  } while (err == KIN__MORE);
  return err;
}

int rig_relisted(dispatch_rig *rig, const char *namespace_, const char *version,
                 size_t objects) {
  int err;
  do {
    err = kin__dispatcher_relisted(&rig->dispatcher, kin__cstr(namespace_),
                                   kin__cstr(version), objects);
  } while (err == KIN__MORE);
  return err;
}

kin_listener_options rig_logging(event_log *log) {
  event_log_clear(log);
  kin_listener_options options = KIN_LISTENER_OPTIONS_INIT;
  options.on_add = event_log_cb;
  options.on_update = event_log_cb;
  options.on_delete = event_log_cb;
  options.on_synced = event_log_cb;
  options.on_relisted = event_log_cb;
  options.data = log;
  return options;
}

kin_listener *rig_listen(dispatch_rig *rig,
                         const kin_listener_options *options) {
  kin_listener *listener = NULL;
  assert_int_equal(kin__dispatcher_add(&rig->dispatcher, options, &listener),
                   0);
  assert_non_null(listener);
  return listener;
}

bool rig_step(dispatch_rig *rig) {
  return kin__sched_run(&rig->sched, 0);
}

void rig_run(dispatch_rig *rig) {
  while (kin__sched_run(&rig->sched, UINT64_MAX)) {
  }
}

void rig_advance(dispatch_rig *rig, uint64_t ms) {
  rig->now_ns += ms * 1000000u;
  kin__timers_run(&rig->timers, rig->now_ns / 1000000u, UINT32_MAX);
  rig_run(rig);
}

size_t rig_pending(const dispatch_rig *rig) {
  const kin__link *listeners = &rig->dispatcher.listeners;
  size_t most = 0;
  for (const kin__link *node = listeners->next; node != listeners;
       node = node->next) {
    const kin_listener *listener =
        KIN__CONTAINER_OF(node, const kin_listener, node);
    size_t pending = kin_listener_pending(listener);
    if (!listener->is_closed && pending > most) {
      most = pending;
    }
  }
  return most;
}
