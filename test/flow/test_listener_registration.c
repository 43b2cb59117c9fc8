/* SPDX-License-Identifier: MIT */

/* Handlers that are added to an informer and removed from it, at any point of
 * its life: what client-go's shared_informer_test.go and
 * event_handler_name_test.go say of registrations. A listener is removed when
 * kin_listener_close returns; tests free what its callbacks work on right then,
 * so that the sanitizer sees a callback that comes too late. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"
#include "support/informer_world.h"

static void open_and_start(iw_world *w) {
  iw_init(w, 0);
  kin_informer_options options = iw_options(w);
  iw_open_only(w, &options);
  assert_int_equal(kin_informer_start(w->informer), 0);
  mini_serve(&w->server);
}

static size_t count_listeners(const iw_world *w) {
  const kin__link *listeners = &w->informer->dispatcher.listeners;
  size_t count = 0;
  for (const kin__link *l = listeners->next; l != listeners; l = l->next) {
    count++;
  }
  return count;
}

static recorder *join(iw_world *w) {
  recorder *rec = malloc(sizeof *rec);
  assert_non_null(rec);
  recorder_init(rec);
  assert_int_equal(recorder_listen(rec, w->informer), 0);
  return rec;
}

/* Ends the registration, and at once what it works on. */
static void leave(recorder *rec) {
  kin_listener_close(rec->listener);
  free(rec);
}

/* client-go TestSharedInformerRemoveHandler; SI-08, SY-01: removed before the
 * start, in any order. */
static void test_handlers_are_removed(void **state) {
  (void)state;
  iw_world w;
  iw_init(&w, 0);
  mini_put(&w.server, 0);
  kin_informer_options options = iw_options(&w);
  iw_open_only(&w, &options);
  size_t blocks = atomic_load(&w.memory.live_blocks);
  recorder *first = join(&w);
  recorder *second = join(&w);
  assert_int_equal(count_listeners(&w), 2);
  assert_false(kin_listener_has_synced(second->listener));
  leave(second);
  script_run(&w.script);
  assert_int_equal(count_listeners(&w), 1);
  leave(first);
  script_run(&w.script);
  assert_int_equal(count_listeners(&w), 0);
  assert_int_equal(atomic_load(&w.memory.live_blocks), blocks);
  assert_int_equal(kin_informer_start(w.informer), 0);
  mini_serve(&w.server);
  assert_true(kin_informer_has_synced(w.informer));
  iw_finish(&w);
}

/* client-go TestSharedInformerRemoveForeignHandler; SI-08: a handle knows its
 * informer, so that it cannot be given to another; and no other notices. */
static void test_handle_belongs_to_its_informer(void **state) {
  (void)state;
  iw_world worlds[2];
  recorder *stays[2];
  recorder *goes = NULL;
  for (int i = 0; i < 2; i++) {
    open_and_start(&worlds[i]);
    stays[i] = join(&worlds[i]);
  }
  goes = join(&worlds[0]);
  assert_int_equal(count_listeners(&worlds[0]), 2);
  assert_int_equal(count_listeners(&worlds[1]), 1);
  leave(goes);
  for (int i = 0; i < 2; i++) {
    mini_put(&worlds[i].server, 1);
    mini_serve(&worlds[i].server);
    assert_int_equal(count_listeners(&worlds[i]), 1);
    assert_int_equal(stays[i]->adds, 1);
    iw_finish(&worlds[i]);
    free(stays[i]);
  }
}

static void bump(kin_informer *informer, const kin_event *event, void *data) {
  (void)informer;
  (void)event;
  ++*(int *)data;
}

static kin_listener_options bumping(int *calls) {
  kin_listener_options options = KIN_LISTENER_OPTIONS_INIT;
  options.on_add = options.on_update = options.on_delete = bump;
  options.data = calls;
  return options;
}

/* client-go TestSharedInformerMultipleRegistration; SI-07: the same handlers
 * with the same data, twice; each handle ends its own registration. */
static void test_registered_twice(void **state) {
  (void)state;
  iw_world w;
  open_and_start(&w);
  int calls = 0;
  kin_listener_options options = bumping(&calls);
  kin_listener *handles[2];
  for (int i = 0; i < 2; i++) {
    assert_int_equal(kin_informer_listen(w.informer, &options, &handles[i]), 0);
  }
  assert_ptr_not_equal(handles[0], handles[1]);
  static const int calls_after[] = {2, 3, 3};
  for (int left = 0; left <= 2; left++) {
    mini_put(&w.server, 0);
    mini_serve(&w.server);
    assert_int_equal(calls, calls_after[left]);
    assert_int_equal(count_listeners(&w), 2 - left);
    if (left < 2) {
      kin_listener_close(handles[left]);
      script_run(&w.script);
    }
  }
  iw_finish(&w);
}

/* client-go TestRemovingRemovedSharedInformer; SI-08: a handle that is NULL, as
 * one is set to that was closed, is no registration, at any time. While the
 * informer is closing handles may be closed, and NULL still is none. */
static void test_removing_the_removed(void **state) {
  (void)state;
  iw_world w;
  open_and_start(&w);
  recorder *rec = join(&w);
  leave(rec);
  kin_listener *handle = NULL;
  kin_listener_close(handle);
  script_run(&w.script);
  assert_int_equal(count_listeners(&w), 0);
  rec = join(&w);
  assert_int_equal(kin_informer_close(w.informer, iw_on_closed, &w), 0);
  kin_listener_close(handle);
  leave(rec);
  script_run(&w.script);
  assert_int_equal(w.closed, 1);
  iw_finish(&w);
}

/* client-go TestRemoveWhileActive; SI-09. */
static void test_removed_while_events_come(void **state) {
  (void)state;
  iw_world w;
  open_and_start(&w);
  recorder *goes = join(&w);
  recorder *stays = join(&w);
  mini_put(&w.server, 1);
  mini_serve(&w.server);
  assert_int_equal(goes->adds, 1);
  mini_put(&w.server, 2);
  kin_listener_pause(goes->listener); /* so that something is queued */
  mini_serve(&w.server);
  assert_int_equal(kin_listener_pending(goes->listener), 1);
  leave(goes);
  mini_put(&w.server, 3);
  mini_serve(&w.server);
  assert_int_equal(count_listeners(&w), 1);
  assert_int_equal(stays->adds, 3);
  recorder_assert_folds_to(stays, kin_informer_store(w.informer));
  iw_finish(&w);
  free(stays);
}

/* client-go TestAddWhileActive; SI-11, SI-12, SY-01, SY-02: a late listener has
 * not synced before it has seen what is there, and misses nothing. */
static void test_added_while_events_come(void **state) {
  (void)state;
  iw_world w;
  iw_init(&w, 0);
  kin_informer_options options = iw_options(&w);
  iw_open_only(&w, &options);
  recorder *first = join(&w);
  assert_false(kin_listener_has_synced(first->listener));
  assert_int_equal(kin_informer_start(w.informer), 0);
  assert_false(kin_listener_has_synced(first->listener));
  mini_serve(&w.server);
  assert_true(kin_listener_has_synced(first->listener));
  mini_put(&w.server, 1);
  mini_serve(&w.server);
  recorder *second = join(&w);
  assert_false(kin_listener_has_synced(second->listener));
  mini_put(&w.server, 2);
  mini_serve(&w.server);
  assert_true(kin_listener_has_synced(second->listener));
  assert_string_equal(first->log, "synced 0\n"
                                  "add odd/p1 101\n"
                                  "add even/p2 102\n");
  assert_string_equal(second->log, "add odd/p1 101 initial\n"
                                   "synced 1\n"
                                   "add even/p2 102\n");
  iw_finish(&w);
  free(first);
  free(second);
}

/* client-go TestAddOnStoppedSharedInformer; SI-03, SI-06. */
static void test_added_to_a_closed_informer(void **state) {
  (void)state;
  for (int is_started = 0; is_started < 2; is_started++) {
    iw_world w;
    iw_init(&w, 0);
    kin_informer_options options = iw_options(&w);
    iw_open_only(&w, &options);
    if (is_started) {
      assert_int_equal(kin_informer_start(w.informer), 0);
      mini_serve(&w.server);
    }
    assert_int_equal(kin_informer_close(w.informer, iw_on_closed, &w), 0);
    int calls = 0;
    kin_listener_options listener = bumping(&calls);
    kin_listener *handle = (kin_listener *)&w;
    assert_int_equal(kin_informer_listen(w.informer, &listener, &handle),
                     KIN_ECLOSED);
    assert_null(handle);
    assert_int_equal(kin_informer_listen(w.informer, &listener, NULL),
                     KIN_ECLOSED);
    script_run(&w.script);
    assert_int_equal(calls, 0);
    iw_finish(&w);
  }
}

/* client-go TestRemoveOnStoppedSharedInformer; SI-06, SI-08: until the close
 * callback handles can be used: nothing is pending, nothing comes. */
static void test_removed_from_a_closed_informer(void **state) {
  (void)state;
  iw_world w;
  open_and_start(&w);
  recorder *rec = join(&w);
  mini_put(&w.server, 0);
  mini_serve(&w.server);
  kin_listener_pause(rec->listener);
  mini_put(&w.server, 0);
  mini_serve(&w.server);
  assert_int_equal(kin_informer_close(w.informer, iw_on_closed, &w), 0);
  kin_listener_resume(rec->listener);
  assert_true(kin_listener_has_synced(rec->listener));
  leave(rec);
  assert_int_equal(w.closed, 0);
  script_run(&w.script);
  assert_int_equal(w.closed, 1);
  iw_finish(&w);
}

/* Ends its own registration in its first callback, and goes on. */
typedef struct quitter {
  kin_listener *handle;
  int calls;
  int calls_when_closed;
} quitter;

static void quit(kin_informer *informer, const kin_event *event, void *data) {
  quitter *q = data;
  q->calls++;
  kin_listener_close(q->handle);
  q->calls_when_closed = q->calls;
  /* What the callback was given lives on, and so does what it may call. */
  assert_non_null(kin_store_get(kin_informer_store(informer),
                                kin_object_key(event->object)));
}

/* client-go TestRemoveEventHandler_AsynchronousPanic; SI-09: removed while its
 * callback runs. That one goes on, and no other comes. */
static void test_removed_while_its_callback_runs(void **state) {
  (void)state;
  iw_world w;
  iw_init(&w, 0);
  mini_put_first(&w.server, 5);
  kin_informer_options options = iw_options(&w);
  iw_open_only(&w, &options);
  quitter *q = calloc(1, sizeof *q);
  assert_non_null(q);
  kin_listener_options listener = KIN_LISTENER_OPTIONS_INIT;
  listener.on_add = quit;
  listener.data = q;
  assert_int_equal(kin_informer_listen(w.informer, &listener, &q->handle), 0);
  assert_int_equal(kin_informer_start(w.informer), 0);
  mini_serve(&w.server);
  assert_int_equal(q->calls, 1);
  assert_int_equal(q->calls_when_closed, 1);
  free(q);
  mini_put(&w.server, 0);
  mini_serve(&w.server);
  assert_int_equal(count_listeners(&w), 0);
  iw_finish(&w);
}

/* client-go TestRemoveEventHandler_SynchronousShutdown; SI-10: between two of
 * its callbacks, with more to come. When the call returns, its data may go. */
static void test_removal_is_complete_when_it_returns(void **state) {
  (void)state;
  iw_world w;
  open_and_start(&w);
  recorder *rec = join(&w);
  mini_put(&w.server, 0);
  mini_serve(&w.server);
  assert_int_equal(rec->adds, 1);
  kin_listener_pause(rec->listener);
  for (int i = 1; i < MINI_OBJECTS; i++) {
    mini_put(&w.server, i);
  }
  mini_serve(&w.server);
  kin_listener_resume(rec->listener); /* its step is scheduled */
  assert_int_equal(kin_listener_pending(rec->listener), MINI_OBJECTS - 1);
  leave(rec);
  mini_put(&w.server, 0);
  mini_serve(&w.server);
  assert_int_equal(count_listeners(&w), 0);
  iw_finish(&w);
}

/* client-go TestShutDownEventHandler_Lifecycles; SI-10: an informer that was
 * never started, one that was before the listener came, one that was after. */
static void test_removal_at_each_stage(void **state) {
  (void)state;
  for (int stage = 0; stage < 3; stage++) {
    iw_world w;
    iw_init(&w, 0);
    mini_put(&w.server, 0);
    kin_informer_options options = iw_options(&w);
    iw_open_only(&w, &options);
    recorder *rec = NULL;
    if (stage != 1) {
      rec = join(&w);
    }
    if (stage != 0) {
      assert_int_equal(kin_informer_start(w.informer), 0);
      mini_serve(&w.server);
    }
    if (stage == 1) {
      rec = join(&w);
    }
    assert_int_equal(kin_listener_has_synced(rec->listener), stage == 2);
    assert_int_equal(rec->calls, stage == 2 ? 2 : 0);
    leave(rec);
    script_run(&w.script);
    assert_int_equal(count_listeners(&w), 0);
    iw_finish(&w);
  }
}

/* client-go TestNameForHandler; EH-07: a function has no name in C that one
 * could look up, so the caller gives one; else there is an address. */
static void test_names(void **state) {
  (void)state;
  char longest[257];
  memset(longest, 'n', sizeof longest);
  longest[256] = '\0';
  static const char *const given[] = {"pods to nodes", "x", NULL, ""};
  iw_world w;
  open_and_start(&w);
  int calls = 0;
  kin_listener_options options = bumping(&calls);
  kin_listener *handle;
  for (size_t i = 0; i < sizeof given / sizeof given[0]; i++) {
    char copied[32] = "";
    snprintf(copied, sizeof copied, "%s", given[i] != NULL ? given[i] : "");
    options.name = given[i] != NULL ? copied : NULL;
    assert_int_equal(kin_informer_listen(w.informer, &options, &handle), 0);
    memset(copied, '?', sizeof copied); /* it was copied */
    if (given[i] != NULL && given[i][0] != '\0') {
      assert_string_equal(kin_listener_name(handle), given[i]);
    } else {
      const char *name = kin_listener_name(handle);
      assert_memory_equal(name, "handler@", 8);
      void *address;
      assert_int_equal(sscanf(name + 8, "%p", &address), 1);
      assert_ptr_equal(address, handle);
    }
    kin_listener_close(handle);
  }
  options.name = longest;
  assert_int_equal(kin_informer_listen(w.informer, &options, &handle),
                   KIN_EINVAL);
  assert_null(handle);
  longest[255] = '\0';
  assert_int_equal(kin_informer_listen(w.informer, &options, &handle), 0);
  assert_string_equal(kin_listener_name(handle), longest);
  iw_finish(&w);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_handlers_are_removed),
      cmocka_unit_test(test_handle_belongs_to_its_informer),
      cmocka_unit_test(test_registered_twice),
      cmocka_unit_test(test_removing_the_removed),
      cmocka_unit_test(test_removed_while_events_come),
      cmocka_unit_test(test_added_while_events_come),
      cmocka_unit_test(test_added_to_a_closed_informer),
      cmocka_unit_test(test_removed_from_a_closed_informer),
      cmocka_unit_test(test_removed_while_its_callback_runs),
      cmocka_unit_test(test_removal_is_complete_when_it_returns),
      cmocka_unit_test(test_removal_at_each_stage),
      cmocka_unit_test(test_names),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
