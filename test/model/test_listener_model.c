/* SPDX-License-Identifier: MIT */
/* Random runs against a model: whatever is changed, paused, resumed, joined,
 * resynced and closed in whatever order, each listener sees legal events, its
 * queue stays bounded, markers tell the truth, and in the end the fold of what
 * it saw is the store (SI-11, SI-20, SI-23, SY-01, PL-06).
 *
 * usage: test_listener_model [SEEDS [FIRST]]; a failure names its seed. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/random.h"
#include "base/str.h"
#include "dispatch/listener.h"
#include "support/dispatch_rig.h"
#include "support/seeds.h"

#define KEYS 9u
#define WATCHERS 8u
#define OPERATIONS 400u
#define RELISTS 64u
#define NAMESPACES 2u /* whose relists take turns */

/* What the store said of each key at one moment. */
typedef struct snapshot {
  uint64_t at;             /* rig.version */
  uint64_t versions[KEYS]; /* 0: not there */
} snapshot;

typedef struct watcher {
  kin_listener *handle;   /* NULL: closed, or not opened yet */
  uint8_t wanted;         /* of KIN__WANTS */
  kin_object *view[KEYS]; /* what was last told of a key */
  bool has_synced;
  bool is_synced_due;
  snapshot synced_at_least; /* synced must tell no less */
  uint64_t last_relist[NAMESPACES];
  uint64_t last_relist_due[NAMESPACES];
  uint64_t events;
} watcher;

static dispatch_rig rig;
static kin__random rng;
static watcher watchers[WATCHERS];
static uint64_t last_delete[KEYS]; /* version at which a key was last deleted */
static snapshot relists[RELISTS];
static unsigned relist_count;
static uint64_t total_events;
static uint64_t total_coalesced;

static bool chance(unsigned percent) {
  return kin__random_below(&rng, 100) < percent;
}

static const char *key_name(size_t key) {
  static const char *const names[KEYS] = {"a", "b", "c", "d", "e",
                                          "f", "g", "h", "i"};
  return names[key];
}

static size_t key_of(const kin_object *object) {
  return (size_t)(kin_object_name(object).data[0] - 'a');
}

static uint64_t version_of(const kin_object *object) {
  uint64_t version = 0;
  if (object != NULL) {
    assert_true(kin__str_to_u64(kin_object_resource_version(object), &version));
  }
  return version;
}

static snapshot take_snapshot(void) {
  snapshot s = {.at = rig.version};
  for (size_t k = 0; k < KEYS; k++) {
    s.versions[k] = version_of(kin_store_get_key(&rig.store, key_name(k)));
  }
  return s;
}

/* Whether a listener that sees everything was told at least what the snapshot
 * says. */
static void expect_no_older_than(const watcher *w, const snapshot *s) {
  for (size_t k = 0; k < KEYS; k++) {
    uint64_t version = version_of(w->view[k]);
    if (version != 0) {
      assert_true(version == s->versions[k] || version > s->at);
    } else {
      assert_true(s->versions[k] == 0 || last_delete[k] > s->at);
    }
  }
}

static bool wants(const watcher *w, kin_event_type type) {
  return (w->wanted & KIN__WANTS(type)) != 0;
}

static bool wants_all(const watcher *w) {
  return wants(w, KIN_EVENT_ADD) && wants(w, KIN_EVENT_UPDATE) &&
         wants(w, KIN_EVENT_DELETE);
}

static void on_object_event(watcher *w, const kin_event *event) {
  size_t k = key_of(event->object);
  const kin_object *known = w->view[k];
  switch (event->type) {
  case KIN_EVENT_ADD:
    assert_true(known == NULL || !wants(w, KIN_EVENT_DELETE));
    assert_false(event->is_initial && w->has_synced);
    assert_false(event->is_resync);
    break;
  case KIN_EVENT_UPDATE:
    if (wants(w, KIN_EVENT_ADD)) {
      assert_ptr_equal(event->old_object, known);
    } else if (known != NULL && wants(w, KIN_EVENT_DELETE)) {
      assert_ptr_equal(event->old_object, known);
    }
    assert_true(!event->is_resync || event->object == event->old_object);
    assert_false(event->is_resync && !w->is_synced_due && !w->has_synced);
    break;
  default:
    assert_true(known != NULL || !wants(w, KIN_EVENT_ADD));
    assert_int_not_equal(event->reason, KIN_DELETE_NONE);
    break;
  }
  kin_object_unref(w->view[k]);
  w->view[k] =
      event->type != KIN_EVENT_DELETE ? kin_object_ref(event->object) : NULL;
}

static void on_relisted(watcher *w, const kin_event *event) {
  uint64_t number = 0;
  assert_true(kin__str_to_u64(event->resource_version, &number));
  assert_true(number > 0 && number <= relist_count);
  uint64_t *last = &w->last_relist[number % NAMESPACES];
  assert_true(number > *last);
  *last = number;
  if (wants_all(w)) {
    expect_no_older_than(w, &relists[number - 1]);
  }
}

static void act(watcher *self);

static void watcher_cb(struct kin_informer *informer, const kin_event *event,
                       void *data) {
  watcher *w = data;
  assert_ptr_equal(informer, RIG_INFORMER);
  assert_non_null(w->handle); /* never after close */
  assert_false(w->handle->queue.is_paused);
  assert_true(rig.dispatcher.is_closed == false);
  assert_true(wants(w, event->type));
  w->events++;
  switch (event->type) {
  case KIN_EVENT_SYNCED:
    assert_true(w->is_synced_due && !w->has_synced);
    assert_true(kin_listener_has_synced(w->handle));
    w->has_synced = true;
    if (wants_all(w)) {
      expect_no_older_than(w, &w->synced_at_least);
    }
    break;
  case KIN_EVENT_RELISTED:
    on_relisted(w, event);
    break;
  default:
    on_object_event(w, event);
    break;
  }
  if (chance(3)) {
    act(w);
  }
}

static void forget_view(watcher *w) {
  for (size_t k = 0; k < KEYS; k++) {
    kin_object_unref(w->view[k]);
    w->view[k] = NULL;
  }
}

static void open_watcher(watcher *w) {
  static const uint32_t limits[] = {0, 1, 2, 3, 7, 20, KIN_NEVER};
  memset(w, 0, sizeof *w);
  w->wanted = chance(70) ? 0xff : (uint8_t)kin__random_below(&rng, 256);
  w->wanted |= KIN__WANTS(KIN_EVENT_SYNCED);
  kin_listener_options options = KIN_LISTENER_OPTIONS_INIT;
  options.on_add = wants(w, KIN_EVENT_ADD) ? watcher_cb : NULL;
  options.on_update = wants(w, KIN_EVENT_UPDATE) ? watcher_cb : NULL;
  options.on_delete = wants(w, KIN_EVENT_DELETE) ? watcher_cb : NULL;
  options.on_relisted = wants(w, KIN_EVENT_RELISTED) ? watcher_cb : NULL;
  options.on_synced = watcher_cb;
  options.data = w;
  options.exact_limit =
      limits[kin__random_below(&rng, sizeof limits / sizeof *limits)];
  options.resync_ms = chance(30) ? 1000 : 0;
  options.relist_updates = chance(20);
  w->is_synced_due = rig.dispatcher.has_synced;
  w->synced_at_least = take_snapshot();
  w->handle = rig_listen(&rig, &options);
}

static void close_watcher(watcher *w) {
  kin_listener *handle = w->handle;
  w->handle = NULL;
  total_events += w->events;
  forget_view(w);
  kin_listener_close(handle);
}

/* Something that is done to a listener from outside or from a callback. */
static void act(watcher *self) {
  watcher *w = self != NULL && chance(50)
                   ? self
                   : &watchers[kin__random_below(&rng, WATCHERS)];
  if (w->handle == NULL) {
    if (chance(40)) {
      open_watcher(w);
    }
  } else if (chance(40)) {
    kin_listener_pause(w->handle);
  } else if (chance(70)) {
    kin_listener_resume(w->handle);
  } else if (chance(40)) {
    close_watcher(w);
  }
}

static void change(void) {
  size_t k = kin__random_below(&rng, KEYS);
  bool exists = kin_store_get_key(&rig.store, key_name(k)) != NULL;
  int err = 0;
  if (!exists || chance(50)) {
    err = rig_put(&rig, key_name(k));
  } else if (chance(60)) {
    err = rig_delete(&rig, key_name(k));
    last_delete[k] = rig.version;
  } else if (chance(60)) {
    err = rig_recreate(&rig, key_name(k));
    last_delete[k] = rig.version;
  } else {
    err = rig_unchanged(&rig, key_name(k));
  }
  assert_int_equal(err, 0);
}

static void sync_all(void) {
  if (rig.dispatcher.has_synced) {
    return;
  }
  for (size_t i = 0; i < WATCHERS; i++) {
    watchers[i].is_synced_due = true;
    watchers[i].synced_at_least = take_snapshot();
  }
  assert_int_equal(rig_synced(&rig), 0);
}

static void relist(void) {
  if (relist_count == RELISTS) {
    return;
  }
  relists[relist_count++] = take_snapshot();
  for (size_t i = 0; i < WATCHERS; i++) {
    watcher *w = &watchers[i];
    if (w->handle != NULL && wants(w, KIN_EVENT_RELISTED) &&
        rig.dispatcher.has_synced && w->handle->replay == KIN__NO_SLOT) {
      w->last_relist_due[relist_count % NAMESPACES] = relist_count;
    }
  }
  char version[8];
  snprintf(version, sizeof version, "%u", relist_count);
  static const char *const names[NAMESPACES] = {"m", "n"};
  const char *name = names[relist_count % NAMESPACES];
  assert_int_equal(rig_relisted(&rig, name, version, 1), 0);
}

/* At most the exact part, two entries for each key, a relist of each namespace
 * before, between and behind them, and the synced marker. A delete in hand has
 * been made and is not told yet. */
static void expect_bounds(void) {
  for (size_t i = 0; i < WATCHERS; i++) {
    const watcher *w = &watchers[i];
    if (w->handle == NULL) {
      continue;
    }
    const kin__listener_queue *queue = &w->handle->queue;
    size_t live = kin_store_count(&rig.store) +
                  kin__dispatcher_is_sending(&rig.dispatcher);
    size_t most = KEYS + live;
    assert_true(queue->exact.count <= queue->exact_limit);
    size_t merged = queue->overflow != NULL ? queue->overflow->entries.live : 0;
    size_t changes = queue->overflow != NULL ? queue->overflow->map.count : 0;
    assert_true(changes <= most);
    assert_true(merged <= changes + NAMESPACES * (changes + 1) + 1);
    assert_true(kin_listener_pending(w->handle) <= queue->exact.count + merged);
    total_coalesced += merged > 0;
  }
}

static void operate(void) {
  uint64_t what = kin__random_below(&rng, 100);
  if (what < 55) {
    change();
  } else if (what < 75) {
    rig_step(&rig);
  } else if (what < 90) {
    act(NULL);
  } else if (what < 93) {
    rig_advance(&rig, 300);
  } else if (what < 95) {
    rig_run(&rig);
  } else if (what < 98) {
    relist();
  } else {
    sync_all();
  }
}

static void expect_view_is_store(const watcher *w) {
  for (size_t k = 0; k < KEYS; k++) {
    const kin_object *stored = kin_store_get_key(&rig.store, key_name(k));
    if (wants_all(w)) {
      assert_ptr_equal(w->view[k], stored);
    } else if (wants(w, KIN_EVENT_ADD) && wants(w, KIN_EVENT_DELETE)) {
      assert_int_equal(w->view[k] != NULL, stored != NULL);
    } else if (stored == NULL && wants(w, KIN_EVENT_DELETE)) {
      assert_null(w->view[k]);
    }
  }
}

/* Callbacks may pause again, so this repeats until nothing is left. */
static void drain(void) {
  bool is_drained;
  do {
    is_drained = true;
    for (size_t i = 0; i < WATCHERS; i++) {
      kin_listener *handle = watchers[i].handle;
      if (handle != NULL) {
        kin_listener_resume(handle);
      }
    }
    rig_run(&rig);
    for (size_t i = 0; i < WATCHERS; i++) {
      const kin_listener *handle = watchers[i].handle;
      is_drained = is_drained && (handle == NULL || !handle->queue.is_paused);
    }
  } while (!is_drained);
}

static void run_seed(uint64_t seed) {
  rng.state = seed;
  relist_count = 0;
  memset(watchers, 0, sizeof watchers);
  memset(last_delete, 0, sizeof last_delete);
  assert_int_equal(rig_init(&rig, NULL), 0);
  rig.tick_ns = chance(50) ? 20000 : 0;
  if (chance(50)) { /* no change is told to all of them at once */
    rig.sched.max_pieces = 1 + (uint32_t)kin__random_below(&rng, 4);
    rig.runs_between = true;
  }
  open_watcher(&watchers[0]);
  open_watcher(&watchers[1]);
  for (unsigned i = 0; i < OPERATIONS; i++) {
    operate();
    expect_bounds();
  }
  if (!chance(20)) { /* else closed in the middle of everything */
    sync_all();
    drain();
    for (size_t i = 0; i < WATCHERS; i++) {
      const watcher *w = &watchers[i];
      if (w->handle != NULL) {
        assert_int_equal(kin_listener_pending(w->handle), 0);
        assert_true(w->has_synced);
        assert_memory_equal(w->last_relist, w->last_relist_due,
                            sizeof w->last_relist);
        expect_view_is_store(w);
      }
    }
  }
  rig_finish(&rig);
  for (size_t i = 0; i < WATCHERS; i++) {
    total_events += watchers[i].events;
    forget_view(&watchers[i]);
  }
}

static void test_random_runs(void **state) {
  (void)state;
  seeds_run(run_seed);
  /* The runs are not idle. */
  assert_true(total_events > seeds_count * 100);
  assert_true(total_coalesced > seeds_count * 10);
}

int main(int argc, char **argv) {
  seeds_take(argc, argv, 1000, 1);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_teardown(test_random_runs, seeds_tell)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
