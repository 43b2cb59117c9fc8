/* SPDX-License-Identifier: MIT */

/* The retry watcher under pressure: paused, closed from everywhere, without
 * memory, fed by a source of the program's own, in a real client. Proves TW-05,
 * and TW-03 and TW-04 for such sources. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <uv.h>

#include "base/str.h"
#include "support/client_world.h"
#include "support/objects.h"
#include "support/retry_world.h"

static void run(retry_world *w) {
  script_run(&w->vh.script);
}

static bool send_version(retry_world *w, unsigned version) {
  char frame[128];
  snprintf(frame, sizeof frame, RW_FRAME("MODIFIED", RW_OBJECT("%u")), version);
  return rw_send(w, frame);
}

/* --- Pausing -------------------------------------------------------------- */

typedef struct counter {
  unsigned next;
  kin_retry_watcher *watcher;
  unsigned pause_at; /* 0: never */
} counter;

/* Each comes once, in order. */
static void on_counted(const kin_watch_event *event, void *data) {
  counter *c = data;
  char version[16];
  snprintf(version, sizeof version, "%u", c->next);
  assert_int_equal(event->resource_version.length, strlen(version));
  assert_memory_equal(event->resource_version.data, version, strlen(version));
  assert_string_equal(kin_retry_watcher_resource_version(c->watcher), version);
  if (c->next++ == c->pause_at) {
    kin_retry_watcher_pause(c->watcher);
  }
}

/* TW-05, RW-14: who does not read stalls the server, and misses nothing. */
static void test_retry_watcher_back_pressure(void **state) {
  (void)state;
  retry_world w;
  rw_init(&w, "1000", 0);
  counter c = {.next = 1001};
  w.options.on_event = on_counted;
  w.options.on_error = NULL;
  w.options.on_end = NULL;
  w.options.on_closed = NULL;
  w.options.data = &c;
  assert_int_equal(rw_try_open(&w), 0);
  c.watcher = w.watcher;
  kin_retry_watcher_pause(w.watcher);
  rw_head(&w);
  unsigned sent = 1000;
  while (!script_expect(&w.vh.script, "watch=true")->is_paused) {
    assert_true(send_version(&w, ++sent));
    assert_true(sent < 1300);
  }
  assert_int_equal(sent, 1256);
  assert_int_equal(c.next, 1001);
  /* What has been read already still comes in. */
  assert_true(send_version(&w, ++sent));
  /* It goes on when there is room, also after a second pause. */
  c.pause_at = 1100;
  kin_retry_watcher_resume(w.watcher);
  run(&w);
  assert_int_equal(c.next, 1101);
  assert_true(script_expect(&w.vh.script, "watch=true")->is_paused);
  c.pause_at = 1210;
  kin_retry_watcher_resume(w.watcher);
  run(&w);
  assert_int_equal(c.next, 1211);
  assert_false(script_expect(&w.vh.script, "watch=true")->is_paused);
  /* A watch that ends meanwhile is resumed after what was received. */
  script_advance(&w.vh.script, 5000);
  rw_end(&w);
  rw_expect_request(&w, "1257");
  rw_head(&w);
  assert_true(send_version(&w, ++sent));
  c.pause_at = 0;
  kin_retry_watcher_resume(w.watcher);
  run(&w);
  assert_int_equal(c.next, sent + 1);
  rw_finish(&w);
}

/* A watch that ends does not let more in: the next one is not read either. */
static void test_retry_watcher_stays_full(void **state) {
  (void)state;
  retry_world w;
  rw_init(&w, "1000", 0);
  counter c = {.next = 1001};
  w.options.on_event = on_counted;
  w.options.on_error = NULL;
  w.options.on_end = NULL;
  w.options.on_closed = NULL;
  w.options.data = &c;
  assert_int_equal(rw_try_open(&w), 0);
  c.watcher = w.watcher;
  kin_retry_watcher_pause(w.watcher);
  rw_head(&w);
  for (unsigned sent = 1001; sent <= 1256; sent++) {
    assert_true(send_version(&w, sent));
  }
  for (int i = 0; i < 3; i++) {
    assert_true(script_expect(&w.vh.script, "watch=true")->is_paused);
    script_advance(&w.vh.script, 5000);
    rw_end(&w);
    rw_expect_request(&w, "1256");
    rw_head(&w);
  }
  assert_true(script_expect(&w.vh.script, "watch=true")->is_paused);
  kin_retry_watcher_resume(w.watcher);
  run(&w);
  assert_int_equal(c.next, 1257);
  assert_false(script_expect(&w.vh.script, "watch=true")->is_paused);
  rw_finish(&w);
}

/* What was not shown when it is paused is not lost, the end included. */
static void test_retry_watcher_pause_before_the_end(void **state) {
  (void)state;
  retry_world w;
  rw_open(&w, "5");
  rw_head(&w);
  kin_retry_watcher_pause(w.watcher);
  rw_send(&w, RW_FRAME("ADDED", RW_OBJECT("6"))
                  RW_FRAME("ERROR", RW_STATUS("410", "Expired")));
  run(&w);
  watch_log_expect(&w.log, "");
  kin_retry_watcher_resume(w.watcher);
  kin_retry_watcher_pause(w.watcher);
  run(&w);
  watch_log_expect(&w.log, "");
  kin_retry_watcher_resume(w.watcher);
  run(&w);
  watch_log_expect(&w.log, "A:x@6 E:410/Expired end:EGONE ");
  kin_retry_watcher_resume(w.watcher);
  run(&w);
  watch_log_expect(&w.log, "");
  rw_finish(&w);
}

static void take_a_millisecond(watch_log *log) {
  script_env *script = log->data;
  script->now_ns += 1000000;
}

typedef struct other_task {
  kin__task task;
  const watch_log *log;
  int steps;
} other_task;

static bool count_step(kin__task *task) {
  other_task *other = KIN__CONTAINER_OF(task, other_task, task);
  assert_int_equal(other->log->events, other->steps);
  return ++other->steps < 5;
}

/* A slow callback delays nobody longer than it takes: what else is to be done
 * comes between two of them. Its time counts as the program's. */
static void test_retry_watcher_slow_callback(void **state) {
  (void)state;
  retry_world w;
  rw_open(&w, "5");
  const uint64_t *handler_ns = &w.vh.script.handler_ns;
  w.log.then = take_a_millisecond;
  w.log.data = &w.vh.script;
  other_task other = {.log = &w.log};
  kin__task_init(&other.task, count_step);
  rw_head(&w);
  kin_retry_watcher_pause(w.watcher);
  for (unsigned i = 6; i < 11; i++) {
    assert_true(send_version(&w, i));
  }
  kin__sched_add(&w.vh.script.sched, &other.task);
  kin_retry_watcher_resume(w.watcher);
  run(&w);
  assert_int_equal(other.steps, 5);
  assert_int_equal(w.log.events, 5);
  assert_int_equal(*handler_ns, 5000000);
  /* So does that of on_error and on_end. */
  script_advance(&w.vh.script, 5000);
  rw_break(&w);
  run(&w);
  assert_int_equal(*handler_ns, 6000000);
  script_advance(&w.vh.script, 5000);
  rw_head(&w);
  rw_send(&w, RW_FRAME("ERROR", RW_STATUS("410", "Expired")));
  run(&w);
  assert_int_equal(*handler_ns, 8000000);
  rw_finish(&w);
}

/* --- Closing -------------------------------------------------------------- */

static void on_close(void *data) {
  watch_log *log = data;
  assert_int_equal(log->closed, 0); /* the caller's comes first */
  log->calls += 1000;
}

/* TW-05. client-go TestRetryWatcherToFinishWithUnreadEvents: closing with
 * events that nobody has read, twice. */
static void test_retry_watcher_close_with_unread_events(void **state) {
  (void)state;
  retry_world w;
  rw_open(&w, "1");
  rw_head(&w);
  kin_retry_watcher_pause(w.watcher);
  for (unsigned i = 2; i < 600; i++) {
    if (!script_expect(&w.vh.script, "watch=true")->is_paused) {
      assert_true(send_version(&w, i));
    }
  }
  assert_int_equal(kin_retry_watcher_close(w.watcher, on_close, &w.log), 0);
  assert_int_equal(kin_retry_watcher_close(w.watcher, on_close, &w.log),
                   KIN_EALREADY);
  kin_retry_watcher_resume(w.watcher); /* of no effect */
  rw_expect_none(&w);
  assert_int_equal(w.log.calls, 0); /* from a later iteration */
  run(&w);
  assert_int_equal(w.log.calls, 1000);
  watch_log_expect(&w.log, "closed ");
  rw_finish(&w);
}

typedef struct closer {
  retry_world *w;
  int at_call;
  bool closes_host;
} closer;

static void close_at(watch_log *log) {
  closer *c = log->data;
  if (log->calls != c->at_call) {
    return;
  }
  log->is_over = true;
  if (c->closes_host) {
    vh_close(&c->w->vh);
  } else {
    assert_int_equal(kin_retry_watcher_close(c->w->watcher, NULL, NULL), 0);
  }
  assert_int_equal(kin_retry_watcher_close(c->w->watcher, NULL, NULL),
                   KIN_EALREADY);
}

/* A life with every kind of callback: events, failures, a bookmark, the end. */
static void live(retry_world *w) {
  script_env *script = &w->vh.script;
  for (int watch = 0; watch < 3; watch++) {
    char frames[1024];
    snprintf(frames, sizeof frames,
             RW_FRAME("ADDED", RW_OBJECT("%d"))
                 RW_FRAME("MODIFIED", RW_OBJECT("%d"))
                     RW_FRAME("BOOKMARK", RW_OBJECT("%d"))
                         RW_FRAME("DELETED", RW_OBJECT("%d")) "%s",
             6 + 10 * watch, 7 + 10 * watch, 8 + 10 * watch, 9 + 10 * watch,
             watch == 2 ? RW_FRAME("ERROR", RW_STATUS("410", "Gone"))
                        : RW_FRAME("ERROR", RW_STATUS("500", "Internal")));
    if (script_head(script, "watch=true", 200)) {
      rw_send(w, frames);
    }
    script_advance(script, 1000);
    if (script_find(script, "watch=true") != NULL && watch == 0) {
      rw_break(w);
      script_advance(script, 1000);
    }
  }
}

/* No callback but "closed" comes after closing, whatever it is closed in. */
static void test_retry_watcher_close_in_each_callback(void **state) {
  (void)state;
  for (int closes_host = 0; closes_host < 2; closes_host++) {
    int calls = 1;
    for (int at_call = 1; at_call <= calls; at_call++) {
      retry_world w;
      rw_init(&w, "5", 0);
      closer c = {&w, at_call, closes_host != 0};
      w.options.forward_bookmarks = true;
      w.log.then = close_at;
      w.log.data = &c;
      assert_int_equal(rw_try_open(&w), 0);
      live(&w);
      assert_int_equal(w.log.calls, at_call);
      assert_int_equal(w.log.closed, 1);
      calls = w.log.has_ended ? at_call : at_call + 1;
      rw_finish(&w);
    }
    assert_int_equal(calls, 17);
  }
}

/* --- Memory --------------------------------------------------------------- */

/* Each event comes once, in order, whichever allocation fails: after a failure
 * the watch is resumed where it was. */
static void serve(retry_world *w) {
  static const char *const frames[] = {RW_FRAME("ADDED", RW_OBJECT("6")),
                                       RW_FRAME("MODIFIED", RW_OBJECT("7")),
                                       RW_FRAME("DELETED", RW_OBJECT("8"))};
  for (int attempt = 0; attempt < 5; attempt++) {
    script_request *request = script_find(&w->vh.script, "watch=true");
    if (request != NULL && request->position == 0) {
      request->position = 1;
      int after = atoi(strstr(request->target, "resourceVersion=") + 16);
      bool is_open = script_request_head(request, 200);
      for (int i = after - 5; i < 3 && is_open; i++) {
        is_open = rw_send(w, frames[i]);
      }
    }
    script_advance(&w->vh.script, 1000);
  }
  while (!w->log.has_ended) {
    rw_send(w, RW_FRAME("ERROR", RW_STATUS("410", "Gone")));
    script_advance(&w->vh.script, 1000);
    script_head(&w->vh.script, "watch=true", 200);
  }
}

static void test_retry_watcher_fails_cleanly(void **state) {
  (void)state;
  bool has_failed = true;
  size_t refused = 0;
  for (size_t n = 1; has_failed; n++) {
    retry_world w;
    rw_init(&w, "5", n);
    int err = rw_try_open(&w);
    if (err != 0) {
      assert_int_equal(err, KIN_ENOMEM);
      assert_null(w.watcher);
      refused++;
    } else {
      serve(&w);
      char said[256];
      size_t used = 0;
      for (const char *c = w.log.text; *c != '\0'; c++) {
        if (c[0] == '!') {
          c++; /* and its space */
        } else {
          said[used++] = *c;
        }
      }
      said[used] = '\0';
      assert_string_equal(said, "A:x@6 M:x@7 D:x@8 E:410/Gone end:EGONE ");
    }
    has_failed = fail_alloc_has_failed(&w.vh.memory);
    rw_finish(&w);
  }
  assert_in_range(refused, 1, 8);
}

/* --- Sources of the program's own ----------------------------------------- */

typedef struct source {
  kin_lister_watcher vtable;
  kin_feed *feed; /* NULL if no watch is open */
  int opened;
  int fail_open;
  kin_retry_watcher *closed_by_resume;
  char version[64];
  uint32_t timeout_s;
} source;

static int source_open(void *ctx, const kin_feed_request *request,
                       kin_feed *feed, void **out) {
  source *s = ctx;
  assert_true(request->is_watch);
  s->opened++;
  if (s->fail_open > 0) {
    s->fail_open--;
    return UV_ECONNREFUSED;
  }
  snprintf(s->version, sizeof s->version, "%s", request->resource_version);
  s->timeout_s = request->timeout_s;
  s->feed = feed;
  *out = s;
  return 0;
}

static void source_cancel(void *ctx, void *answer) {
  source *s = ctx;
  assert_ptr_equal(answer, s);
  assert_non_null(s->feed);
  s->feed = NULL;
}

static void open_sourced(retry_world *w, source *s) {
  *s = (source){.vtable = KIN_LISTER_WATCHER_INIT};
  s->vtable.open = source_open;
  s->vtable.cancel = source_cancel;
  s->vtable.ctx = s;
  rw_init(w, "5", 0);
  w->resource.source = &s->vtable;
  assert_int_equal(rw_try_open(w), 0);
}

static int feed(retry_world *w, source *s, kin_watch_event_type type,
                unsigned version) {
  kin_object *object = object_keyed(NULL, "x", version);
  int calls = w->log.calls;
  int err = kin_feed_event(s->feed, type, object);
  kin_object_unref(object);
  assert_int_equal(w->log.calls, calls); /* never inside a call */
  run(w);
  return err;
}

/* TW-03, TW-04: what such a source gives is shown, and what it does wrong is
 * the end, or another attempt. */
static void test_retry_watcher_own_source(void **state) {
  (void)state;
  retry_world w;
  source s;
  open_sourced(&w, &s);
  assert_string_equal(s.version, "5");
  assert_int_equal(s.timeout_s, 0);
  assert_int_equal(feed(&w, &s, KIN_WATCH_ADDED, 6), 0);
  assert_int_equal(kin_feed_bookmark(s.feed, kin__cstr("7"), false), 0);
  script_advance(&w.vh.script, 1000);
  kin_feed *ended = s.feed;
  s.feed = NULL;
  s.fail_open = 1;
  assert_int_equal(kin_feed_watch_end(ended), 0);
  script_advance(&w.vh.script, 1000);
  assert_int_equal(s.opened, 3);
  assert_string_equal(s.version, "7");
  kin_feed_error error = KIN_FEED_ERROR_INIT;
  error.status = 503;
  error.retry_after_s = 3;
  kin_feed *failed = s.feed;
  s.feed = NULL;
  assert_int_equal(kin_feed_fail(failed, &error, false), 0);
  script_advance(&w.vh.script, 2999);
  assert_int_equal(s.opened, 3);
  script_advance(&w.vh.script, 1);
  assert_int_equal(s.opened, 4);
  assert_int_equal(feed(&w, &s, KIN_WATCH_DELETED, 8), 0);
  watch_log_expect(&w.log, "A:x@6 ! ! D:x@8 ");
  kin_feed *last = s.feed;
  assert_int_equal(feed(&w, &s, KIN_WATCH_BOOKMARK, 9), KIN_EINVAL);
  assert_null(s.feed);
  assert_int_equal(kin_feed_received(last, 1), KIN_ECLOSED);
  watch_log_expect(&w.log, "E:500/InternalError end:EINVAL ");
  script_advance(&w.vh.script, 60000);
  assert_int_equal(s.opened, 4);
  rw_finish(&w);
}

/* All at once, so that the failure would be told after the end: it is not. */
static void test_retry_watcher_late_failure(void **state) {
  (void)state;
  retry_world w;
  source s;
  open_sourced(&w, &s);
  assert_int_equal(kin_feed_bookmark(s.feed, kin__cstr("6"), false), 0);
  w.vh.script.now_ns += 2000 * UINT64_C(1000000);
  kin_feed_error error = KIN_FEED_ERROR_INIT;
  kin_feed *feed = s.feed;
  error.status = 500;
  assert_int_equal(kin_feed_fail(feed, &error, true), 0);
  assert_int_equal(s.opened, 2); /* at once */
  error.status = 410;
  assert_int_equal(kin_feed_fail(feed, &error, true), 0);
  run(&w);
  watch_log_expect(&w.log, "E:410/ end:EGONE ");
  rw_finish(&w);
}

static void source_pause(void *ctx, void *answer) {
  assert_ptr_equal(answer, ctx);
}

static void source_resume(void *ctx, void *answer) {
  source *s = answer;
  assert_ptr_equal(s, ctx);
  assert_int_equal(kin_retry_watcher_close(s->closed_by_resume, NULL, NULL), 0);
}

/* A source that closes the watcher while it is resumed: no event follows. */
static void test_retry_watcher_closed_by_resume(void **state) {
  (void)state;
  retry_world w;
  source s = {.vtable = KIN_LISTER_WATCHER_INIT};
  s.vtable.open = source_open;
  s.vtable.cancel = source_cancel;
  s.vtable.pause = source_pause;
  s.vtable.resume = source_resume;
  s.vtable.ctx = &s;
  rw_init(&w, "5", 0);
  w.resource.source = &s.vtable;
  assert_int_equal(rw_try_open(&w), 0);
  s.closed_by_resume = w.watcher;
  kin_retry_watcher_pause(w.watcher);
  for (unsigned i = 0; i < 260; i++) {
    assert_int_equal(feed(&w, &s, KIN_WATCH_MODIFIED, 6 + i), 0);
  }
  kin_retry_watcher_resume(w.watcher);
  run(&w);
  assert_null(s.feed);
  assert_int_equal(w.log.closed, 1);
  assert_int_equal(w.log.calls, 260 - 64);
  w.log.text[0] = '\0';
  rw_finish(&w);
}

/* A source that cannot be paused is never made to lose anything. */
static void test_retry_watcher_source_without_pause(void **state) {
  (void)state;
  retry_world w;
  source s;
  open_sourced(&w, &s);
  kin_retry_watcher_pause(w.watcher);
  for (unsigned i = 6; i < 1006; i++) {
    assert_int_equal(feed(&w, &s, KIN_WATCH_MODIFIED, i), 0);
  }
  kin_retry_watcher_resume(w.watcher);
  run(&w);
  assert_int_equal(w.log.events, 1000);
  kin_retry_watcher_pause(w.watcher);
  for (unsigned i = 1006; i < 2006; i++) {
    assert_int_equal(feed(&w, &s, KIN_WATCH_MODIFIED, i), 0);
  }
  rw_finish(&w); /* which drops them, in steps */
}

/* --- A real client -------------------------------------------------------- */

static void check_end(client_world *w) {
  assert_null(w->client);
  assert_int_equal(((watch_log *)w->data)->closed, 1); /* it ends first */
}

static void close_client(watch_log *log) {
  if (log->has_ended) {
    assert_int_equal(client_world_close(log->data), 0);
  }
}

static void test_retry_watcher_in_a_client(void **state) {
  (void)state;
  static const loop_reply reply = {
      .bytes = ANSWER_TO_END RW_FRAME("ADDED", RW_OBJECT("6"))
          RW_FRAME("ERROR", RW_STATUS("410", "Expired")),
      .then = LOOP_CLOSE};
  client_world w;
  client_world_serve(&w, &reply, 1);
  assert_int_equal(client_world_open_client(&w), 0);
  watch_log log = {.then = close_client, .data = &w};
  w.hook = check_end;
  w.data = &log;
  kin_informer_options resource = KIN_INFORMER_OPTIONS_INIT;
  resource.plural = "pods";
  kin_retry_watcher_options options = KIN_RETRY_WATCHER_OPTIONS_INIT;
  options.resource = &resource;
  options.resource_version = "5";
  options.on_event = watch_log_on_event;
  options.on_end = watch_log_on_end;
  options.on_closed = watch_log_on_closed;
  options.data = &log;
  kin_retry_watcher *watcher;
  assert_int_equal(kin_retry_watcher_open(&watcher, w.client, &options), 0);
  CLIENT_UNTIL(&w, w.client == NULL);
  client_world_finish(&w);
  watch_log_expect(&log, "A:x@6 E:410/Expired end:EGONE closed ");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_retry_watcher_back_pressure),
      cmocka_unit_test(test_retry_watcher_stays_full),
      cmocka_unit_test(test_retry_watcher_pause_before_the_end),
      cmocka_unit_test(test_retry_watcher_slow_callback),
      cmocka_unit_test(test_retry_watcher_close_with_unread_events),
      cmocka_unit_test(test_retry_watcher_close_in_each_callback),
      cmocka_unit_test(test_retry_watcher_fails_cleanly),
      cmocka_unit_test(test_retry_watcher_own_source),
      cmocka_unit_test(test_retry_watcher_late_failure),
      cmocka_unit_test(test_retry_watcher_closed_by_resume),
      cmocka_unit_test(test_retry_watcher_source_without_pause),
      cmocka_unit_test(test_retry_watcher_in_a_client),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
