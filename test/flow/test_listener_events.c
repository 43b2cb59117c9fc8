/* SPDX-License-Identifier: MIT */

/* What an event carries, and which callbacks get it: what client-go's
 * typed_test.go says of handlers, and of deleted objects in controller_test.go.
 * There is one type of object here, so what it tests of casts has no
 * counterpart. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"
#include "support/informer_world.h"

#define MAX_SEEN 64

/* Events as they came, objects kept. */
typedef struct witness {
  kin_event events[MAX_SEEN];
  size_t count;
} witness;

static void witness_event(kin_informer *informer, const kin_event *event,
                          void *data) {
  (void)informer;
  witness *seen = data;
  assert_true(seen->count < MAX_SEEN);
  kin_object_ref(event->object);
  kin_object_ref(event->old_object);
  seen->events[seen->count++] = *event;
}

static void forget(witness *seen) {
  for (size_t i = 0; i < seen->count; i++) {
    kin_object_unref((kin_object *)seen->events[i].object);
    kin_object_unref((kin_object *)seen->events[i].old_object);
  }
  *seen = (witness){.count = 0};
}

enum { ADD = 1, UPDATE = 2, DELETE = 4, SYNCED = 8 };

static void listen_to(iw_world *w, witness *seen, int wanted) {
  kin_listener_options options = KIN_LISTENER_OPTIONS_INIT;
  options.on_add = wanted & ADD ? witness_event : NULL;
  options.on_update = wanted & UPDATE ? witness_event : NULL;
  options.on_delete = wanted & DELETE ? witness_event : NULL;
  options.on_synced = wanted & SYNCED ? witness_event : NULL;
  options.data = seen;
  assert_int_equal(kin_informer_listen(w->informer, &options, NULL), 0);
}

static void open_only(iw_world *w) {
  iw_init(w, 0);
  kin_informer_options options = iw_options(w);
  iw_open_only(w, &options);
}

static void start(iw_world *w) {
  assert_int_equal(kin_informer_start(w->informer), 0);
  mini_serve(&w->server);
}

static void assert_version(const kin_object *object, const char *version) {
  assert_non_null(object);
  assert_true(
      kin__str_equal(kin_object_resource_version(object), kin__cstr(version)));
}

/* client-go TestTypedResourceEventHandlerFuncs; EH-02: any of the callbacks may
 * be missing, and the others get what is theirs. */
static void test_each_callback_is_optional(void **state) {
  (void)state;
  static witness seen[16];
  iw_world w;
  open_only(&w);
  for (int wanted = 0; wanted < 16; wanted++) {
    listen_to(&w, &seen[wanted], wanted);
  }
  mini_put(&w.server, 0); /* 101 */
  start(&w);
  mini_put(&w.server, 0); /* 102 */
  mini_delete(&w.server, 0);
  mini_serve(&w.server);
  for (int wanted = 0; wanted < 16; wanted++) {
    const kin_event *event = seen[wanted].events;
    const kin_event *end = event + seen[wanted].count;
    if (wanted & ADD) {
      assert_int_equal(event->type, KIN_EVENT_ADD);
      assert_version(event->object, "101");
      assert_null(event++->old_object);
    }
    if (wanted & SYNCED) {
      assert_int_equal(event->type, KIN_EVENT_SYNCED);
      assert_null(event++->object);
    }
    if (wanted & UPDATE) {
      assert_int_equal(event->type, KIN_EVENT_UPDATE);
      assert_version(event->old_object, "101");
      assert_version(event++->object, "102");
    }
    if (wanted & DELETE) {
      assert_int_equal(event->type, KIN_EVENT_DELETE);
      assert_version(event->object, "103");
      assert_null(event++->old_object);
    }
    assert_ptr_equal(event, end);
    forget(&seen[wanted]);
  }
  iw_finish(&w);
}

/* client-go TestTypedResourceEventHandlerDetailedFuncs; EH-02: every add says
 * whether it is part of the initial state. */
static void test_adds_say_whether_they_are_initial(void **state) {
  (void)state;
  static witness early;
  static witness late;
  iw_world w;
  open_only(&w);
  listen_to(&w, &early, ADD);
  mini_put(&w.server, 0);
  start(&w);
  mini_put(&w.server, 1);
  mini_serve(&w.server);
  listen_to(&w, &late, ADD);
  mini_put(&w.server, 2);
  mini_serve(&w.server);
  static const bool initial_for_early[] = {true, false, false};
  static const bool initial_for_late[] = {true, true, false};
  assert_int_equal(early.count, 3);
  assert_int_equal(late.count, 3);
  for (int i = 0; i < 3; i++) {
    assert_int_equal(early.events[i].is_initial, initial_for_early[i]);
    assert_int_equal(late.events[i].is_initial, initial_for_late[i]);
  }
  forget(&early);
  forget(&late);
  iw_finish(&w);
}

/* client-go TestTypedResourceEventHandlerAdapter; EH-04, EH-01: a delete that
 * was seen has the object that the server sent last; one that was missed has
 * what was cached, and says so. There is none without an object. */
static void test_deletes_have_an_object_and_a_reason(void **state) {
  (void)state;
  static witness seen;
  iw_world w;
  open_only(&w);
  listen_to(&w, &seen, DELETE);
  for (int i = 0; i < 3; i++) {
    mini_put(&w.server, i); /* 101 to 103 */
  }
  start(&w);
  mini_delete(&w.server, 0); /* 104 */
  mini_serve(&w.server);
  mini_recreate(&w.server, 1); /* 105, 106 */
  mini_delete(&w.server, 2);   /* 107 */
  mini_compact(&w.server);
  mini_break_watches(&w.server);
  mini_pass(&w.server, 5000);
  assert_int_equal(seen.count, 3);
  assert_int_equal(seen.events[0].reason, KIN_DELETE_WATCH);
  assert_version(seen.events[0].object, "104");
  assert_int_equal(seen.events[1].reason, KIN_DELETE_RECREATED);
  assert_version(seen.events[1].object, "102");
  assert_int_equal(seen.events[2].reason, KIN_DELETE_RELIST);
  assert_version(seen.events[2].object, "103");
  forget(&seen);
  iw_finish(&w);
}

/* client-go TestDeletedObjectGetKey, TestDeletedObjectGetObjectName; EH-05:
 * key, name and namespace are those of the object, however it was deleted. */
static void test_deleted_objects_have_key_and_name(void **state) {
  (void)state;
  static witness seen;
  iw_world w;
  open_only(&w);
  listen_to(&w, &seen, DELETE);
  mini_put(&w.server, 3);
  mini_put(&w.server, 4);
  start(&w);
  mini_delete(&w.server, 3);
  mini_serve(&w.server);
  mini_delete(&w.server, 4);
  mini_compact(&w.server);
  mini_break_watches(&w.server);
  mini_pass(&w.server, 5000);
  static const char *const expected[][3] = {{"odd/p3", "odd", "p3"},
                                            {"even/p4", "even", "p4"}};
  assert_int_equal(seen.count, 2);
  for (int i = 0; i < 2; i++) {
    const kin_object *object = seen.events[i].object;
    assert_true(
        kin__str_equal(kin_object_key(object), kin__cstr(expected[i][0])));
    assert_true(kin__str_equal(kin_object_namespace(object),
                               kin__cstr(expected[i][1])));
    assert_true(
        kin__str_equal(kin_object_name(object), kin__cstr(expected[i][2])));
  }
  forget(&seen);
  iw_finish(&w);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_each_callback_is_optional),
      cmocka_unit_test(test_adds_say_whether_they_are_initial),
      cmocka_unit_test(test_deletes_have_an_object_and_a_reason),
      cmocka_unit_test(test_deleted_objects_have_key_and_name),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
