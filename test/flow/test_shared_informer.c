/* SPDX-License-Identifier: MIT */

/* What client-go's shared_informer_test.go says of one informer: its indices,
 * its listeners' resync, a watch that is lost, failures, its life from open to
 * close. Who comes and goes while it runs is in
 * test_listener_registration.c. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"
#include "support/event_log.h"
#include "support/informer_world.h"
#include "support/store_rig.h"

/* Opens without a listener and without starting. */
static kin_listener *listen_to(iw_world *w, event_log *log,
                               uint32_t resync_ms) {
  event_log_clear(log);
  kin_listener_options options = KIN_LISTENER_OPTIONS_INIT;
  options.on_add = options.on_update = options.on_delete = event_log_cb;
  options.on_synced = options.on_relisted = event_log_cb;
  options.data = log;
  options.resync_ms = resync_ms;
  kin_listener *listener;
  assert_int_equal(kin_informer_listen(w->informer, &options, &listener), 0);
  return listener;
}

static int emit_app(const kin_object *object, kin_index_values *values,
                    void *data) {
  (void)data;
  kin_str app;
  return kin_object_label(object, "app", &app) ? kin_index_emit(values, app)
                                               : 0;
}

static void assert_by_app(iw_world *w, const char *index, const char *app,
                          const char *keys) {
  kin_object_list *list;
  assert_int_equal(kin_store_list_by_index(kin_informer_store(w->informer),
                                           index, kin__cstr(app), &list),
                   0);
  assert_list_keys(list, keys);
}

static size_t count_values(iw_world *w, const char *index) {
  kin_cursor cursor = {0};
  kin_str value;
  size_t count = 0;
  while (kin_store_index_next_value(kin_informer_store(w->informer), index,
                                    &cursor, &value)) {
    count++;
  }
  return count;
}

/* client-go TestIndexer; TS-07, SI-01, SI-05, SY-07: indices before the start
 * and afterwards. */
static void test_indices_at_any_time(void **state) {
  (void)state;
  iw_world w;
  iw_init(&w, 0);
  mini_put_first(&w.server, 2);
  kin_informer_options options = iw_options(&w);
  iw_open_only(&w, &options);
  kin_store *store = kin_informer_store(w.informer);
  kin_index_options index = KIN_INDEX_OPTIONS_INIT;
  index.name = "app";
  index.cb = emit_app;
  assert_int_equal(kin_store_add_index(store, &index), 0);
  assert_int_equal(kin_informer_start(w.informer), 0);
  mini_serve(&w.server);
  assert_true(kin_informer_has_synced(w.informer));
  assert_by_app(&w, "app", "a0", "even/p0");
  mini_put(&w.server, 3);
  mini_serve(&w.server);
  assert_by_app(&w, "app", "a0", "even/p0 odd/p3");

  index.name = "app-again";
  assert_int_equal(kin_store_add_index(store, &index), 0);
  assert_int_equal(kin_store_add_index(store, &index), KIN_EEXIST);
  script_run(&w.script);
  assert_true(kin_store_index_ready(store, "app-again"));
  assert_by_app(&w, "app-again", "a0", "even/p0 odd/p3");
  assert_by_app(&w, "app-again", "a1", "odd/p1");
  assert_int_equal(count_values(&w, "app"), 2);
  assert_int_equal(count_values(&w, "app-again"), 2);
  iw_finish(&w);
}

/* OQ-08, SI-05: with the option, before the start or not at all. And never to
 * an informer that is closing. */
static void test_fixed_indices(void **state) {
  (void)state;
  for (int is_fixed = 0; is_fixed < 2; is_fixed++) {
    iw_world w;
    iw_init(&w, 0);
    mini_put(&w.server, 0);
    kin_informer_options options = iw_options(&w);
    options.fixed_indices = is_fixed;
    iw_open_only(&w, &options);
    kin_store *store = kin_informer_store(w.informer);
    kin_index_options index = KIN_INDEX_OPTIONS_INIT;
    index.name = "early";
    index.cb = emit_app;
    assert_int_equal(kin_store_add_index(store, &index), 0);
    assert_int_equal(kin_informer_start(w.informer), 0);
    index.name = "late";
    assert_int_equal(kin_store_add_index(store, &index),
                     is_fixed ? KIN_EALREADY : 0);
    mini_serve(&w.server);
    assert_by_app(&w, "early", "a0", "even/p0");
    assert_int_equal(kin_store_index_ready(store, "late"), !is_fixed);
    assert_int_equal(kin_informer_close(w.informer, iw_on_closed, &w), 0);
    index.name = "too-late";
    assert_int_equal(kin_store_add_index(store, &index), KIN_ECLOSED);
    script_run(&w.script);
    iw_finish(&w);
  }
}

/* An informer with a period of 1 s, and listeners with none, 2 s and 3 s. */
static void open_for_resync(iw_world *w, event_log logs[3]) {
  static const uint32_t periods[] = {KIN_NEVER, 2000, 3000};
  iw_init(w, 0);
  mini_put_first(&w->server, 2);
  kin_informer_options options = iw_options(w);
  options.resync_ms = 1000;
  iw_open_only(w, &options);
  for (int i = 0; i < 3; i++) {
    listen_to(w, &logs[i], periods[i]);
  }
}

static void assert_resyncs_at_2_and_3_s(iw_world *w, event_log logs[3]) {
  event_log_expect(&logs[0], "");
  event_log_expect(&logs[1], "~p0101= ~p1102=");
  event_log_expect(&logs[2], "");
  script_advance(&w->script, 1000);
  event_log_expect(&logs[0], "");
  event_log_expect(&logs[1], "");
  event_log_expect(&logs[2], "~p0101= ~p1102=");
}

/* client-go TestListenerResyncPeriods; PD-04, SI-14, PL-04, PL-05, PL-06: each
 * listener at its own time, all objects, without a request. */
static void test_listeners_have_their_own_periods(void **state) {
  (void)state;
  static event_log logs[3];
  iw_world w;
  open_for_resync(&w, logs);
  assert_int_equal(kin_informer_start(w.informer), 0);
  mini_serve(&w.server);
  for (int i = 0; i < 3; i++) {
    event_log_expect(&logs[i], "+p0101! +p1102! S:102#2");
  }
  unsigned requests = w.script.request_count;
  script_advance(&w.script, 2000);
  assert_resyncs_at_2_and_3_s(&w, logs);
  assert_int_equal(w.script.request_count, requests);
  iw_finish(&w);
}

/* client-go TestListenerResyncPeriodsDelayed; PL-05, PL-09: a second passes
 * before anything of ours runs. Nothing waits for anything, and the periods
 * count from the registration all the same. */
static void test_periods_count_from_registration(void **state) {
  (void)state;
  static event_log logs[3];
  iw_world w;
  open_for_resync(&w, logs);
  assert_int_equal(kin_informer_start(w.informer), 0);
  w.script.now_ns += UINT64_C(1000000000); /* the loop is busy elsewhere */
  mini_serve(&w.server);
  for (int i = 0; i < 3; i++) {
    event_log_expect(&logs[i], "+p0101! +p1102! S:102#2");
  }
  script_advance(&w.script, 1000);
  assert_resyncs_at_2_and_3_s(&w, logs);
  iw_finish(&w);
}

typedef struct counts {
  int adds;
  int resyncs;
  int others;
} counts;

static void count(kin_informer *informer, const kin_event *event, void *data) {
  (void)informer;
  counts *c = data;
  c->adds += event->type == KIN_EVENT_ADD;
  c->resyncs += event->is_resync;
  c->others += event->type != KIN_EVENT_ADD && !event->is_resync;
}

static void count_for(iw_world *w, counts *c, uint32_t resync_ms) {
  *c = (counts){0};
  kin_listener_options options = KIN_LISTENER_OPTIONS_INIT;
  options.on_add = options.on_update = options.on_delete = count;
  options.resync_ms = resync_ms;
  options.data = c;
  assert_int_equal(kin_informer_listen(w->informer, &options, NULL), 0);
}

/* client-go TestResyncCheckPeriod; PL-02, PL-03: there is no common check that
 * periods are rounded to. Whoever asks for a shorter one, before the start or
 * after it, gets it, and nobody else's changes. */
static void test_periods_do_not_depend_on_each_other(void **state) {
  (void)state;
  enum { HOUR_MS = 3600 * 1000 };
  static const struct {
    uint32_t resync_ms;
    int in_ten_minutes;
    int in_twelve_hours;
  } rows[] = {
      {KIN_NEVER, 0, 0},     {0, 0, 1}, /* the informer's */
      {60 * 1000, 10, 720},  {55 * 1000, 10, 785},
      {5 * 1000, 120, 8640},
  };
  enum { ROWS = sizeof rows / sizeof rows[0] };
  counts seen[ROWS];
  counts late;
  iw_world w;
  iw_init(&w, 0);
  mini_put(&w.server, 0);
  kin_informer_options options = iw_options(&w);
  options.resync_ms = 12 * HOUR_MS;
  iw_open_only(&w, &options);
  for (size_t i = 0; i < ROWS; i++) {
    count_for(&w, &seen[i], rows[i].resync_ms);
  }
  assert_int_equal(kin_informer_start(w.informer), 0);
  mini_serve(&w.server);
  count_for(&w, &late, 2000); /* the shortest of all, after the start */
  script_advance(&w.script, 600 * 1000);
  for (size_t i = 0; i < ROWS; i++) {
    assert_int_equal(seen[i].resyncs, rows[i].in_ten_minutes);
  }
  assert_int_equal(late.resyncs, 300);
  script_advance(&w.script, 12 * HOUR_MS - 600 * 1000);
  for (size_t i = 0; i < ROWS; i++) {
    assert_int_equal(seen[i].resyncs, rows[i].in_twelve_hours);
    assert_int_equal(seen[i].adds, 1);
    assert_int_equal(seen[i].others, 0);
  }
  iw_finish(&w);
}

/* PL-02, where client-go has a weakness: an informer without a period takes
 * none from its listeners. Here a listener's period is its own. */
static void test_period_without_a_default(void **state) {
  (void)state;
  counts without;
  counts with;
  iw_world w;
  iw_init(&w, 0);
  mini_put(&w.server, 0);
  kin_informer_options options = iw_options(&w);
  iw_open_only(&w, &options);
  count_for(&w, &without, 0);
  count_for(&w, &with, 4000);
  assert_int_equal(kin_informer_start(w.informer), 0);
  mini_serve(&w.server);
  script_advance(&w.script, 10000);
  assert_int_equal(without.resyncs, 0);
  assert_int_equal(with.resyncs, 2);
  iw_finish(&w);
}

/* client-go TestSharedInformerInitializationRace; SI-22: listeners that join
 * before the start, and after each byte of the first list. */
static void test_listeners_join_during_the_start(void **state) {
  (void)state;
  static const char list[] =
      "{\"kind\":\"PodList\",\"items\":["
      "{\"metadata\":{\"name\":\"a\",\"uid\":\"1\",\"resourceVersion\":\"3\"}},"
      "{\"metadata\":{\"name\":\"b\",\"uid\":\"2\",\"resourceVersion\":\"4\"}}"
      "],\"metadata\":{\"resourceVersion\":\"5\"}}";
  enum { PIECE = 16, LISTENERS = sizeof list / PIECE + 5 };
  static recorder joined[LISTENERS];
  size_t count = 0;
  iw_world w;
  iw_init(&w, 0);
  kin_informer_options options = iw_options(&w);
  iw_open_only(&w, &options);
  for (size_t i = 0; i < LISTENERS; i++) {
    recorder_init(&joined[i]);
  }
  assert_int_equal(recorder_listen(&joined[count++], w.informer), 0);
  assert_int_equal(kin_informer_start(w.informer), 0);
  assert_int_equal(recorder_listen(&joined[count++], w.informer), 0);
  script_run(&w.script);
  assert_int_equal(recorder_listen(&joined[count++], w.informer), 0);
  assert_true(script_head(&w.script, "/pods", 200));
  for (size_t at = 0; at < sizeof list - 1; at += PIECE) {
    size_t rest = sizeof list - 1 - at;
    assert_int_equal(recorder_listen(&joined[count++], w.informer), 0);
    assert_true(script_body(&w.script, "/pods", list + at,
                            rest < PIECE ? rest : PIECE));
  }
  assert_true(script_end(&w.script, "/pods"));
  assert_int_equal(recorder_listen(&joined[count++], w.informer), 0);
  script_run(&w.script);
  for (size_t i = 0; i < count; i++) {
    assert_int_equal(joined[i].initial_adds, 2);
    assert_int_equal(joined[i].calls, 3);
    assert_true(kin_listener_has_synced(joined[i].listener));
    recorder_assert_folds_to(&joined[i], kin_informer_store(w.informer));
  }
  iw_finish(&w);
}

/* client-go TestSharedInformerWatchDisruption; PD-02, EH-01, SI-14, SI-15: what
 * changed while the watch was away comes with the next list, to everybody; what
 * did not, only to who is due for a resync. A delete always has its object. */
static void test_changes_while_the_watch_is_away(void **state) {
  (void)state;
  static event_log without;
  static event_log with;
  iw_world w;
  iw_init(&w, 0);
  for (int i = 0; i < 3; i++) {
    mini_put(&w.server, i); /* 101, 102, 103 */
  }
  kin_informer_options options = iw_options(&w);
  options.resync_ms = 10000;
  iw_open_only(&w, &options);
  listen_to(&w, &without, KIN_NEVER);
  listen_to(&w, &with, 0);
  assert_int_equal(kin_informer_start(w.informer), 0);
  mini_serve(&w.server);
  event_log_expect(&without, "+p0101! +p1102! +p2103! S:103#3");
  event_log_expect(&with, "+p0101! +p1102! +p2103! S:103#3");

  mini_put(&w.server, 3);    /* 104 */
  mini_put(&w.server, 1);    /* 105 */
  mini_delete(&w.server, 2); /* 106 */
  script_run(&w.script);
  event_log_expect(&without, "");
  mini_compact(&w.server);
  mini_break_watches(&w.server);
  mini_pass(&w.server, 9000);
  event_log_expect(&without, "~p1102>105 +p3104 -p2103:relist R:@106#3");
  event_log_expect(&with, "~p1102>105 +p3104 -p2103:relist R:@106#3");
  mini_pass(&w.server, 1000);
  event_log_expect(&without, "");
  event_log_expect(&with, "~p0101= ~p1105= ~p3104=");
  iw_finish(&w);
}

typedef struct denial {
  int count;
  uint64_t retry_in_ms;
  char message[256];
} denial;

static void on_denied(kin_informer *informer, kin_error_event *event,
                      void *data) {
  (void)informer;
  denial *d = data;
  d->count++;
  d->retry_in_ms = event->retry_in_ms;
  snprintf(d->message, sizeof d->message, "%s", event->message);
  assert_int_equal(event->error_class, KIN_CLASS_FORBIDDEN);
  assert_int_equal(event->status, 403);
  assert_string_equal(event->reason, "Forbidden");
}

/* client-go TestSharedInformerErrorHandling; CO-02, RF-08, RL-07, SI-04: the
 * handler of errors gets what the server said, each time, and the informer goes
 * on. It is an option, so nothing can set it too late. */
static void test_failed_list_is_told(void **state) {
  (void)state;
  static const char body[] =
      "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"Forbidden\","
      "\"message\":\"Access Denied\",\"code\":403}";
  denial denied = {0};
  iw_world w;
  iw_init(&w, 0);
  mini_put(&w.server, 1);
  kin_informer_options options = iw_options(&w);
  options.on_error = on_denied;
  options.on_state = NULL;
  options.data = &denied;
  iw_open_only(&w, &options);
  assert_int_equal(kin_informer_start(w.informer), 0);
  script_run(&w.script);
  for (int i = 1; i <= 3; i++) {
    script_respond(&w.script, "/pods", 403, body);
    assert_int_equal(denied.count, i);
    assert_non_null(strstr(denied.message, "Access Denied"));
    assert_false(kin_informer_has_synced(w.informer));
    /* The attempt comes when the handler was told that it would. */
    assert_true(denied.retry_in_ms >= 800);
    script_advance(&w.script, denied.retry_in_ms - 1);
    assert_int_equal(script_open_requests(&w.script), 0);
    script_advance(&w.script, 1);
    assert_int_equal(script_open_requests(&w.script), 1);
  }
  mini_serve(&w.server);
  assert_true(kin_informer_has_synced(w.informer));
  assert_int_equal(denied.count, 3);
  iw_finish(&w);
}

static kin_state state_of(iw_world *w) {
  kin_status status = iw_status(w, "");
  return status.state;
}

static void note_closed(void *data) {
  ++*(int *)data;
}

/* client-go TestStateSharedInformer; SI-02, SI-03, SI-17: it is started once,
 * and closed once. */
static void test_life_of_an_informer(void **state) {
  (void)state;
  static event_log log;
  iw_world w;
  iw_init(&w, 0);
  mini_put(&w.server, 0);
  kin_informer_options options = iw_options(&w);
  iw_open_only(&w, &options);
  listen_to(&w, &log, 0);
  script_advance(&w.script, 60000);
  assert_int_equal(w.script.request_count, 0); /* not before the start */
  assert_int_equal(state_of(&w), KIN_STATE_IDLE);

  assert_int_equal(kin_informer_start(w.informer), 0);
  assert_int_equal(kin_informer_start(w.informer), KIN_EALREADY);
  script_run(&w.script);
  assert_int_equal(state_of(&w), KIN_STATE_SYNCING);
  kin_status status = iw_status(&w, "");
  assert_string_equal(status.resource_version, "");
  mini_serve(&w.server);
  event_log_expect(&log, "+p0101! S:101#1");
  assert_int_equal(state_of(&w), KIN_STATE_LIVE);
  status = iw_status(&w, "");
  assert_string_equal(status.resource_version, "101");
  assert_int_equal(kin_informer_start(w.informer), KIN_EALREADY);

  int never = 0;
  assert_int_equal(kin_informer_close(w.informer, iw_on_closed, &w), 0);
  assert_int_equal(kin_informer_start(w.informer), KIN_ECLOSED);
  assert_int_equal(kin_informer_close(w.informer, note_closed, &never),
                   KIN_EALREADY);
  assert_int_equal(w.closed, 0); /* never inside a call */
  script_run(&w.script);
  assert_int_equal(w.closed, 1);
  assert_int_equal(never, 0);
  iw_finish(&w);
}

/* How far an informer comes before it is closed. */
typedef enum shutdown_point {
  NEVER_STARTED,
  STARTED,
  LISTING,
  LISTED, /* all of the body, but not its end */
  SYNCED,
  SYNCED_THEN_JOINED,
  SHUTDOWN_POINTS
} shutdown_point;

static void come_to(iw_world *w, shutdown_point point, event_log *log) {
  if (point != SYNCED_THEN_JOINED) {
    listen_to(w, log, 1000);
  }
  if (point >= STARTED) {
    assert_int_equal(kin_informer_start(w->informer), 0);
  }
  if (point == LISTING) {
    script_run(&w->script);
    assert_true(script_head(&w->script, "/pods", 200));
    assert_true(script_body(&w->script, "/pods", "{\"items\":[{\"meta", 16));
  } else if (point == LISTED) {
    static const char list[] = "{\"items\":[{\"metadata\":{\"name\":\"a\"}}],"
                               "\"metadata\":{\"resourceVersion\":\"5\"}}";
    script_run(&w->script);
    script_request *request = script_expect(&w->script, "/pods");
    assert_true(script_request_head(request, 200));
    request->callbacks->on_body(request->ctx, list, sizeof list - 1);
  } else if (point >= SYNCED) {
    mini_serve(&w->server);
    assert_true(kin_informer_has_synced(w->informer));
  }
  if (point == SYNCED_THEN_JOINED) {
    listen_to(w, log, 1000);
  }
}

/* client-go TestShutdown, TestMain; SI-16, SI-18, TD-04: closed at any point,
 * it takes everything with it: requests, timers, tasks, memory (iw_finish
 * looks). What was queued is dropped, and one that is closed first never
 * syncs. */
static void test_shutdown_leaves_nothing(void **state) {
  (void)state;
  static event_log log;
  for (int point = 0; point < SHUTDOWN_POINTS; point++) {
    iw_world w;
    iw_init(&w, 0);
    mini_put(&w.server, 0);
    kin_informer_options options = iw_options(&w);
    iw_open_only(&w, &options);
    come_to(&w, (shutdown_point)point, &log);
    bool has_synced = kin_informer_has_synced(w.informer);
    assert_int_equal(has_synced, point >= SYNCED);
    size_t told = log.count;
    assert_int_equal(kin_informer_close(w.informer, iw_on_closed, &w), 0);
    assert_int_equal(script_open_requests(&w.script), 0);
    assert_int_equal(kin_informer_has_synced(w.informer), has_synced);
    script_run(&w.script);
    assert_int_equal(w.closed, 1);
    assert_int_equal(log.count, told);
    iw_finish(&w);
    assert_int_equal(atomic_load(&w.memory.live_bytes), 0);
  }
}

static int number_of(const kin_object *object) {
  return kin_object_name(object).data[1] - '0';
}

/* Changes what was added, deletes what was changed, on the server, from inside
 * the callback. */
static void change_the_source(kin_informer *informer, const kin_event *event,
                              void *data) {
  (void)informer;
  mini_server *server = data;
  if (event->type == KIN_EVENT_ADD) {
    mini_put(server, number_of(event->object));
  } else if (event->type == KIN_EVENT_UPDATE) {
    mini_delete(server, number_of(event->object));
  }
}

/* client-go TestUpdate; PD-01, CO-06, CO-10: handlers write to what they watch.
 * Each object's events stay in order, and everything is gone at the end. */
static void test_handlers_change_the_source(void **state) {
  (void)state;
  iw_world w;
  iw_init(&w, 0);
  mini_put_first(&w.server, 8);
  kin_informer_options options = iw_options(&w);
  iw_open_only(&w, &options);
  assert_int_equal(recorder_listen(&w.rec, w.informer), 0);
  kin_listener_options listener = KIN_LISTENER_OPTIONS_INIT;
  listener.on_add = listener.on_update = change_the_source;
  listener.data = &w.server;
  assert_int_equal(kin_informer_listen(w.informer, &listener, NULL), 0);
  assert_int_equal(kin_informer_start(w.informer), 0);
  mini_serve(&w.server);
  assert_int_equal(w.rec.initial_adds, 8);
  assert_int_equal(w.rec.adds, 8);
  assert_int_equal(w.rec.updates, 8);
  assert_int_equal(w.rec.deletes, 8);
  iw_assert_truth(&w);
  assert_int_equal(kin_store_count(kin_informer_store(w.informer)), 0);
  iw_finish(&w);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_indices_at_any_time),
      cmocka_unit_test(test_fixed_indices),
      cmocka_unit_test(test_listeners_have_their_own_periods),
      cmocka_unit_test(test_periods_count_from_registration),
      cmocka_unit_test(test_periods_do_not_depend_on_each_other),
      cmocka_unit_test(test_period_without_a_default),
      cmocka_unit_test(test_listeners_join_during_the_start),
      cmocka_unit_test(test_changes_while_the_watch_is_away),
      cmocka_unit_test(test_failed_list_is_told),
      cmocka_unit_test(test_life_of_an_informer),
      cmocka_unit_test(test_shutdown_leaves_nothing),
      cmocka_unit_test(test_handlers_change_the_source),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
