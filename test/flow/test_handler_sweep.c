/* SPDX-License-Identifier: MIT */

/* A handler cannot harm the others. A story with everything in it (two
 * informers, a first list, changes, a resync, an error, an expired watch and a
 * relist) is told once to count its callbacks: those of listeners with all
 * kinds of options, on_error and on_state. Then it is told again and again;
 * each time one of them does one thing that a program might do: closes, adds,
 * pauses, writes, keeps. What must hold in the end: who is closed heard nothing
 * more (SI-09), who is open knows exactly what is cached, through its filter
 * (SI-20, SI-23, EH-03), who was added late was told everything once and then
 * synced (SI-11, SY-01), close callbacks came once (SI-08, SI-18), a store may
 * be written to in a callback (CO-10), and nothing is left.
 * test_handler_sweep_client.c does the same to a client on a real loop. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"
#include "support/indices.h"
#include "support/informer_world.h"

/* Listeners: three of the informer, one of the other informer, one added by an
 * action. */
enum { PLAIN, RESYNCED, FILTERED, OTHERS, ADDED, LISTENERS };

typedef enum action {
  NOTHING,
  CLOSE_INFORMER,
  CLOSE_OTHER_INFORMER,
  CLOSE_BOTH_INFORMERS,
  OPEN_OTHER_INFORMER,
  CLOSE_SELF,
  CLOSE_NEXT,
  CLOSE_ALL,
  ADD_LISTENER,
  ADD_AND_CLOSE_LISTENER,
  PAUSE_SELF,
  PAUSE_NEXT,
  PAUSE_AND_RESUME,
  WRITE_TO_STORE,
  ADD_INDEX,
  KEEP_OBJECT,
  ACTIONS
} action;

static struct {
  iw_world w; /* its own recorder is not used */
  recorder recs[LISTENERS];
  bool is_open[LISTENERS];
  bool is_paused[LISTENERS];
  kin_informer *other;
  bool is_closing; /* the informer, or it is closed */
  bool is_other_closing;
  int other_closed;
  kin_object *kept;
  char kept_version[32];
  int calls;
  int act_at;
  action action;
  bool has_acted;
  bool is_finished;
} s;

/* --- Actions -------------------------------------------------------------- */

static void on_other_closed(void *data) {
  (void)data;
  s.other_closed++;
}

static void close_informer(void) {
  if (!s.is_closing) {
    s.is_closing = true;
    assert_int_equal(kin_informer_close(s.w.informer, iw_on_closed, &s.w), 0);
  }
  if (s.w.closed == 0) {
    assert_int_equal(kin_informer_close(s.w.informer, NULL, NULL),
                     KIN_EALREADY);
  }
}

static void close_other(void) {
  if (s.other != NULL && !s.is_other_closing) {
    s.is_other_closing = true;
    assert_int_equal(kin_informer_close(s.other, on_other_closed, NULL), 0);
  }
}

static void on_call(recorder *rec, kin_informer *informer);

static bool accepts(const kin_object *object, void *data) {
  (void)data;
  kin_str app;
  return kin_object_label(object, "app", &app) &&
         kin__str_equal(app, KIN__LIT("a1"));
}

static void add_listener(int i, kin_informer *informer) {
  recorder *rec = &s.recs[i];
  recorder_init(rec);
  rec->on_call = on_call;
  kin_listener_options options = recorder_options(rec);
  options.filter = i == FILTERED ? accepts : NULL;
  options.resync_ms = i == RESYNCED ? 2000 : 0;
  options.relist_updates = i == RESYNCED;
  options.exact_limit = i == FILTERED ? 1 : 0;
  s.is_open[i] = true;
  assert_int_equal(kin_informer_listen(informer, &options, &rec->listener), 0);
}

static void close_listener(int i) {
  if (s.is_open[i]) {
    s.is_open[i] = false;
    kin_listener_close(s.recs[i].listener);
  }
}

static void pause_listener(int i) {
  if (s.is_open[i]) {
    s.is_paused[i] = true;
    kin_listener_pause(s.recs[i].listener);
  }
}

static void resume_listener(int i) {
  if (s.is_open[i] && s.is_paused[i]) {
    s.is_paused[i] = false;
    kin_listener_resume(s.recs[i].listener);
  }
}

static int make_other(kin_informer **out) {
  kin_informer_options options = KIN_INFORMER_OPTIONS_INIT;
  static const char *const namespaces[] = {"even"};
  options.plural = "pods";
  options.namespaces = namespaces;
  options.namespace_count = 1;
  options.on_closed = on_other_closed;
  return kin__informer_open(out, &s.w.script.env, &options);
}

static void open_other(void) {
  assert_int_equal(make_other(&s.other), 0);
  add_listener(OTHERS, s.other);
  assert_int_equal(kin_informer_start(s.other), 0);
}

static const kin_object *any_cached(void) {
  kin_cursor cursor = {0};
  return kin_store_next(kin_informer_store(s.w.informer), &cursor);
}

/* Shows the server's state early, which the server then confirms; what is put
 * here is what is there, so that nothing is kept from the handlers. */
static void write_to_store(void) {
  kin_store *store = kin_informer_store(s.w.informer);
  kin_object *object = kin_object_ref(any_cached());
  if (object != NULL) {
    assert_int_equal(kin_store_put(store, object), 0);
    assert_ptr_equal(kin_store_get(store, kin_object_key(object)), object);
  }
  kin_object_unref(object);
}

static void keep_object(void) {
  s.kept = kin_object_ref(any_cached());
  if (s.kept != NULL) {
    snprintf(s.kept_version, sizeof s.kept_version, KIN_STR_FORMAT,
             KIN_STR_ARG(kin_object_resource_version(s.kept)));
  }
}

/* `self` is the listener that is called, or PLAIN for on_error and on_state. */
static void act(int self) {
  int next = self < OTHERS ? (self + 1) % OTHERS : PLAIN;
  switch (s.action) {
  case CLOSE_INFORMER:
    close_informer();
    break;
  case CLOSE_OTHER_INFORMER:
    close_other();
    break;
  case CLOSE_BOTH_INFORMERS:
    close_informer();
    close_other();
    break;
  case OPEN_OTHER_INFORMER:
    open_other();
    break;
  case CLOSE_SELF:
    close_listener(self);
    break;
  case CLOSE_NEXT:
    close_listener(next);
    break;
  case CLOSE_ALL:
    for (int i = 0; i < OTHERS; i++) {
      close_listener(i);
    }
    break;
  case ADD_LISTENER:
  case ADD_AND_CLOSE_LISTENER:
    add_listener(ADDED, s.w.informer);
    if (s.action == ADD_AND_CLOSE_LISTENER) {
      close_listener(ADDED);
    }
    break;
  case PAUSE_SELF:
    pause_listener(self);
    break;
  case PAUSE_NEXT:
    pause_listener(next);
    break;
  case PAUSE_AND_RESUME:
    pause_listener(self);
    resume_listener(self);
    break;
  case WRITE_TO_STORE:
    write_to_store();
    break;
  case ADD_INDEX:
    assert_int_equal(add_pointer(kin_informer_store(s.w.informer), "app",
                                 "/metadata/labels/app"),
                     0);
    break;
  case KEEP_OBJECT:
    keep_object();
    break;
  default:
    break;
  }
}

/* --- Callbacks ------------------------------------------------------------ */

static void count(int self) {
  if (++s.calls == s.act_at) {
    s.has_acted = true;
    act(self);
  }
}

static void on_call(recorder *rec, kin_informer *informer) {
  int self = (int)(rec - s.recs);
  bool is_other = self == OTHERS;
  assert_true(s.is_open[self] && !s.is_paused[self]);
  assert_false(is_other ? s.is_other_closing : s.is_closing);
  assert_ptr_equal(informer, is_other ? s.other : s.w.informer);
  count(self);
}

static void on_error(kin_informer *informer, kin_error_event *event,
                     void *data) {
  assert_false(s.is_closing);
  iw_on_error(informer, event, data);
  count(PLAIN);
}

static void on_state(kin_informer *informer, const char *namespace_,
                     kin_state from, kin_state to, void *data) {
  assert_false(s.is_closing);
  iw_on_state(informer, namespace_, from, to, data);
  count(PLAIN);
}

/* --- The story ------------------------------------------------------------ */

static void begin(action what, int at) {
  memset(&s, 0, sizeof s);
  s.action = what;
  s.act_at = at;
  iw_init(&s.w, 0);
  mini_put_first(&s.w.server, 6);
  kin_informer_options options = iw_options(&s.w);
  options.on_error = on_error;
  options.on_state = on_state;
  iw_open_only(&s.w, &options);
  add_listener(PLAIN, s.w.informer);
  add_listener(RESYNCED, s.w.informer);
  add_listener(FILTERED, s.w.informer);
  assert_int_equal(kin_informer_start(s.w.informer), 0);
  if (what != OPEN_OTHER_INFORMER) {
    open_other();
  }
}

static void tell(void) {
  mini_server *server = &s.w.server;
  mini_serve(server); /* list and watch */
  mini_put(server, 7);
  mini_put(server, 1);
  mini_delete(server, 2);
  mini_recreate(server, 4);
  mini_serve(server);         /* live changes */
  mini_pass(server, 2100);    /* a resync */
  mini_break_watches(server); /* an error, and resumed */
  mini_pass(server, 200);
  mini_break_watches(server);
  mini_put(server, 10);
  mini_put(server, 3);
  mini_delete(server, 1);
  mini_recreate(server, 4);
  mini_compact(server);
  mini_pass(server, 12000); /* 410, a backoff, and a relist */
  mini_put(server, 5);
  mini_serve(server);
}

/* --- What must hold ------------------------------------------------------- */

static void assert_truth(const char *namespace_, kin_informer *informer) {
  const kin_store *store = kin_informer_store(informer);
  for (int i = 0; i < MINI_OBJECTS; i++) {
    const char *home = i % 2 == 0 ? "even" : "odd";
    char key[32];
    char version[32];
    snprintf(key, sizeof key, "%s/p%d", home, i);
    snprintf(version, sizeof version, "%llu",
             (unsigned long long)s.w.server.versions[i]);
    const kin_object *object = kin_store_get_key(store, key);
    bool is_there = s.w.server.versions[i] != 0 &&
                    (namespace_[0] == '\0' || strcmp(namespace_, home) == 0);
    assert_int_equal(object != NULL, is_there);
    assert_true(object == NULL ||
                kin__str_equal(kin_object_resource_version(object),
                               kin__cstr(version)));
  }
}

static void assert_filtered_fold(const recorder *rec, const kin_store *store) {
  int expected = 0;
  kin_cursor cursor = {0};
  const kin_object *object;
  while ((object = kin_store_next(store, &cursor)) != NULL) {
    expected += accepts(object, NULL);
  }
  assert_int_equal(rec->count, expected);
  for (int i = 0; i < rec->count; i++) {
    object = kin_store_get_key(store, rec->seen[i].key);
    assert_non_null(object);
    assert_true(accepts(object, NULL));
    assert_true(kin__str_equal(kin_object_resource_version(object),
                               kin__cstr(rec->seen[i].version)));
  }
}

static void assert_listener(int i, kin_informer *informer) {
  const recorder *rec = &s.recs[i];
  const kin_store *store = kin_informer_store(informer);
  if (!s.is_open[i]) {
    return;
  }
  assert_int_equal(rec->synced, 1);
  assert_true(kin_listener_has_synced(rec->listener));
  assert_int_equal(kin_listener_pending(rec->listener), 0);
  if (i == FILTERED) {
    assert_filtered_fold(rec, store);
  } else {
    recorder_assert_folds_to(rec, store);
  }
}

static void assert_all_is_well(void) {
  if (!s.is_closing) {
    assert_truth("", s.w.informer);
    for (int i = 0; i < LISTENERS; i++) {
      if (i != OTHERS) {
        assert_listener(i, s.w.informer);
      }
    }
    assert_true(s.action != ADD_INDEX || !s.has_acted ||
                kin_store_index_ready(kin_informer_store(s.w.informer), "app"));
  } else {
    assert_int_equal(s.w.closed, 1);
  }
  if (s.other != NULL && !s.is_other_closing) {
    assert_truth("even", s.other);
    assert_listener(OTHERS, s.other);
  }
}

static void finish(void) {
  close_informer();
  close_other();
  script_run(&s.w.script);
  assert_int_equal(s.w.closed, 1);
  /* Once by the argument of the close, once by the option. */
  assert_int_equal(s.other_closed, s.other != NULL ? 2 : 0);
  if (s.kept != NULL) {
    assert_true(kin__str_equal(kin_object_resource_version(s.kept),
                               kin__cstr(s.kept_version)));
    kin_object_unref(s.kept);
  }
  script_env_finish(&s.w.script);
  assert_int_equal(atomic_load(&s.w.memory.live_blocks), 0);
  s.is_finished = true;
}

static int tell_where(void **state) {
  (void)state;
  if (!s.is_finished) {
    print_error("failed with action %d in callback %d\n%s", (int)s.action,
                s.act_at, s.recs[PLAIN].log);
  }
  return 0;
}

static int run(action what, int at) {
  begin(what, at);
  tell();
  for (int i = 0; i < LISTENERS; i++) {
    resume_listener(i);
  }
  mini_pass(&s.w.server, 100);
  assert_all_is_well();
  int calls = s.calls;
  finish();
  return calls;
}

/* --- Tests ---------------------------------------------------------------- */

static void test_the_story_has_everything(void **state) {
  (void)state;
  begin(NOTHING, 0);
  tell();
  mini_pass(&s.w.server, 100);
  assert_all_is_well();
  const recorder *plain = &s.recs[PLAIN];
  assert_true(plain->initial_adds == 6 && plain->adds > 8);
  assert_true(plain->updates > 2 && plain->deletes > 3);
  assert_int_equal(plain->relisted, 1);
  assert_non_null(strstr(s.recs[RESYNCED].log, " resync"));
  assert_true(s.recs[RESYNCED].updates > plain->updates + 20);
  assert_true(s.recs[FILTERED].count > 0);
  assert_true(s.recs[FILTERED].count < plain->count);
  assert_true(s.recs[OTHERS].deletes > 0);
  assert_true(s.w.errors >= 2 && s.w.states >= 6);
  finish();
}

static void test_every_action_in_every_callback(void **state) {
  (void)state;
  for (int what = NOTHING + 1; what < ACTIONS; what++) {
    int calls = run((action)what, 0);
    assert_true(calls > 80);
    for (int at = 1; at <= calls; at++) {
      run((action)what, at);
      if (!s.has_acted) {
        fail_msg("action %d never came to callback %d", what, at);
      }
    }
  }
}

/* The last callback of all, too. */
static void close_other_when_closed(void *data) {
  iw_on_closed(data);
  close_other();
}

static void test_close_in_the_close_callback(void **state) {
  (void)state;
  begin(NOTHING, 0);
  tell();
  s.is_closing = true;
  assert_int_equal(
      kin_informer_close(s.w.informer, close_other_when_closed, &s.w), 0);
  script_run(&s.w.script);
  assert_int_equal(s.w.closed, 1);
  finish();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_the_story_has_everything),
      cmocka_unit_test_teardown(test_every_action_in_every_callback,
                                tell_where),
      cmocka_unit_test(test_close_in_the_close_callback),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
