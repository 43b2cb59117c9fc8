/* SPDX-License-Identifier: MIT */

/* The pager under pressure: closed from everywhere, without memory, with a slow
 * callback, fed by a source of the program's own, in a real client. Proves
 * PG-04 to PG-06 for these. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <uv.h>

#include "support/client_world.h"
#include "support/hand_source.h"
#include "support/pager_world.h"

static void run(pager_world *w) {
  script_run(&w->vh.script);
}

/* --- Closing -------------------------------------------------------------- */

typedef struct closing {
  bool is_whole;
  bool closes_host;
} closing;

static closing how;

static void close_at(pager_world *w) {
  if (w->calls != w->at_call) {
    return;
  }
  w->is_over = true;
  if (how.closes_host) {
    vh_close(&w->vh);
  } else {
    assert_int_equal(kin_pager_close(w->pager, NULL, NULL), 0);
  }
  assert_int_equal(kin_pager_close(w->pager, NULL, NULL), KIN_EALREADY);
}

/* A life with every kind of callback: failures, items of two pages, the end. */
static void live(pager_world *w) {
  script_env *script = &w->vh.script;
  static const char token[][4] = {"t1", ""};
  for (unsigned page = 0; page < 2; page++) {
    if (script_open_requests(script) > 0) {
      pw_put_off(w, "/pods", 429, 1);
      script_advance(script, 1000);
    }
    if (script_open_requests(script) > 0) {
      pw_respond_page(w, "/pods", 1 + 3 * page, 3, token[page]);
    }
  }
}

/* No callback but "closed" comes after closing, whatever it is closed in
 * (PG-04). */
static void test_pager_close_in_each_callback(void **state) {
  (void)state;
  for (int k = 0; k < 4; k++) {
    how = (closing){(k & 1) != 0, (k & 2) != 0};
    int calls = 1;
    for (int at_call = 1; at_call <= calls; at_call++) {
      pager_world w;
      pw_init(&w, 0);
      w.options.whole_list = how.is_whole;
      w.then = close_at;
      w.at_call = at_call;
      assert_int_equal(pw_try_open(&w), 0);
      live(&w);
      assert_int_equal(w.calls, at_call);
      assert_int_equal(w.closed, 1);
      calls = w.has_ended ? at_call : at_call + 1;
      pw_finish(&w);
    }
    assert_int_equal(calls, 9);
  }
}

static void on_close(void *data) {
  pager_world *w = data;
  assert_int_equal(w->closed, 0); /* the caller's comes first */
  w->calls += 1000;
}

/* With items that nobody has taken, twice, and in any state. */
static void test_pager_close_with_items(void **state) {
  (void)state;
  pager_world w;
  pw_open(&w);
  kin_pager_pause(w.pager);
  pw_respond_page(&w, "/pods", 1, 400, "t1");
  assert_int_equal(script_open_requests(&w.vh.script), 1);
  assert_int_equal(kin_pager_close(w.pager, on_close, &w), 0);
  assert_int_equal(kin_pager_close(w.pager, on_close, &w), KIN_EALREADY);
  kin_pager_resume(w.pager); /* of no effect */
  assert_int_equal(script_open_requests(&w.vh.script), 0);
  assert_int_equal(w.calls, 0); /* from a later iteration */
  run(&w);
  assert_int_equal(w.calls, 1000);
  pw_expect(&w, "closed ");
  pw_finish(&w);
}

/* A list that is complete, and paused before anything was given, is dropped
 * when it is closed. */
static void test_pager_close_when_complete(void **state) {
  (void)state;
  for (int is_whole = 0; is_whole < 2; is_whole++) {
    pager_world w;
    pw_init(&w, 0);
    w.options.whole_list = is_whole != 0;
    assert_int_equal(pw_try_open(&w), 0);
    kin_pager_pause(w.pager);
    pw_respond_page(&w, "/pods", 1, 700, "");
    pw_expect(&w, "");
    pw_finish(&w);
  }
}

typedef struct steps {
  kin__task task;
  const fail_alloc *memory;
  size_t blocks;
  int falls;
  int count;
} steps;

/* Between two steps of others at most so many objects, and chunks, go. */
static bool count_step(kin__task *task) {
  steps *s = KIN__CONTAINER_OF(task, steps, task);
  size_t blocks = atomic_load(&s->memory->live_blocks);
  assert_true(s->blocks - blocks <= 256 + 8);
  s->falls += blocks < s->blocks;
  s->blocks = blocks;
  return ++s->count < 100;
}

/* A list that is dropped goes in bounded steps, and others come in between. */
static void test_pager_drops_in_steps(void **state) {
  (void)state;
  pager_world w;
  pw_init(&w, 0);
  w.options.whole_list = true;
  assert_int_equal(pw_try_open(&w), 0);
  pw_respond_page(&w, "/pods", 1, 5000, "t");
  assert_int_equal(w.calls, 0);
  assert_int_equal(kin_pager_close(w.pager, NULL, NULL), 0);
  steps s = {.memory = &w.vh.memory,
             .blocks = atomic_load(&w.vh.memory.live_blocks)};
  kin__task_init(&s.task, count_step);
  kin__sched_add(&w.vh.script.sched, &s.task);
  run(&w);
  assert_int_equal(s.falls, (5000 + 255) / 256);
  pw_expect(&w, "closed ");
  pw_finish(&w);
}

/* --- Time ----------------------------------------------------------------- */

static void take_a_millisecond(pager_world *w) {
  w->vh.script.now_ns += 1000000;
}

typedef struct other_task {
  kin__task task;
  const pager_world *w;
  int steps;
} other_task;

static bool other_step(kin__task *task) {
  other_task *other = KIN__CONTAINER_OF(task, other_task, task);
  assert_int_equal(other->w->calls, other->steps);
  return ++other->steps < 5;
}

/* A slow callback delays nobody longer than it takes: what else is to be done
 * comes between two of them. Its time counts as the program's. */
static void test_pager_slow_callback(void **state) {
  (void)state;
  pager_world w;
  pw_open(&w);
  w.then = take_a_millisecond;
  kin_pager_pause(w.pager);
  pw_respond_page(&w, "/pods", 1, 10, "");
  other_task other = {.w = &w};
  kin__task_init(&other.task, other_step);
  kin__sched_add(&w.vh.script.sched, &other.task);
  kin_pager_resume(w.pager);
  run(&w);
  assert_int_equal(other.steps, 5);
  assert_int_equal(w.calls, 11);
  assert_int_equal(w.vh.script.handler_ns, 11000000);
  pw_finish(&w);
}

/* --- Memory --------------------------------------------------------------- */

/* Items in order, none twice, and the end says if not all of them came. */
static bool check_items(const pager_world *w) {
  const char *said = w->text;
  unsigned count = 0;
  for (; strncmp(said, "end:", 4) != 0; said = strchr(said, ' ') + 1) {
    if (said[0] != '!') {
      char item[16];
      snprintf(item, sizeof item, "p%04u@%u ", count + 1, count + 1);
      assert_memory_equal(said, item, strlen(item));
      count++;
    }
  }
  char all[32];
  snprintf(all, sizeof all, "end:0/7/%u+ ", 70u);
  if (strcmp(said, all) == 0) {
    assert_int_equal(count, 70);
    return true;
  }
  assert_memory_equal(said, "end:ENOMEM/", 11);
  assert_true(!w->options.whole_list || count == 0);
  return false;
}

/* Whichever allocation fails: it is not opened, or ends with KIN_ENOMEM. */
static void test_pager_fails_cleanly(void **state) {
  (void)state;
  for (int is_whole = 0; is_whole < 2; is_whole++) {
    bool has_failed = true;
    size_t refused = 0;
    size_t ended = 0;
    for (size_t n = 1; has_failed; n++) {
      pager_world w;
      pw_init(&w, n);
      w.options.whole_list = is_whole != 0;
      int err = pw_try_open(&w);
      if (err != 0) {
        assert_int_equal(err, KIN_ENOMEM);
        assert_null(w.pager);
        refused++;
      } else {
        for (unsigned i = 0; i < 2; i++) {
          if (script_open_requests(&w.vh.script) > 0) {
            pw_respond_page(&w, "/pods", 1 + 35 * i, 35, i == 0 ? "t" : "");
          }
        }
        run(&w);
        assert_true(w.has_ended);
        ended += !check_items(&w);
      }
      has_failed = fail_alloc_has_failed(&w.vh.memory);
      pw_finish(&w);
    }
    assert_in_range(refused, 1, 8);
    assert_in_range(ended, 5, 500);
  }
}

/* --- Sources of the program's own ----------------------------------------- */

static void open_sourced(pager_world *w, hand_source *source) {
  pw_init(w, 0);
  hand_source_init(source, &w->vh.script);
  w->resource.source = &source->lister_watcher;
  w->resource.page_size = 2;
  w->options.resource_version = "5";
  w->options.resource_version_match = "Exact";
  assert_int_equal(pw_try_open(w), 0);
}

static void test_pager_own_source(void **state) {
  (void)state;
  pager_world w;
  hand_source source;
  open_sourced(&w, &source);
  hand_source_expect(&source, "L:5=/2");
  hand_source_item(&source, "a@1");
  pw_expect(&w, "a@1 ");
  kin_pager_pause(w.pager);
  for (unsigned i = 2; i < 6; i++) {
    char item[16];
    snprintf(item, sizeof item, "b%u@%u", i, i);
    hand_source_item(&source, item);
  }
  hand_source_expect(&source, "");
  hand_source_item(&source, "c@6"); /* more than two pages */
  hand_source_expect(&source, "p");
  kin_pager_resume(w.pager);
  run(&w);
  hand_source_expect(&source, "r");
  pw_expect(&w, "b2@2 b3@3 b4@4 b5@5 c@6 ");
  hand_source_list_end(&source, "9", "tok");
  hand_source_expect(&source, "L=tok/2");
  kin_feed_error busy = KIN_FEED_ERROR_INIT;
  busy.status = 503;
  busy.retry_after_s = 4; /* as the header of a response */
  source.is_open = false;
  assert_int_equal(kin_feed_fail(source.feed, &busy, false), 0);
  run(&w);
  pw_expect(&w, "! ");
  assert_int_equal(w.retry_in_ms, 4000);
  script_advance(&w.vh.script, 4000);
  hand_source_expect(&source, "L=tok/2");
  hand_source_fail(&source, 503, "", false);
  pw_expect(&w, "end:ESTATUS/9/6+ ");
  pw_finish(&w);
}

static pager_world *paused_world;

static void close_inside(hand_source *source) {
  source->inside_pause = source->inside_resume = source->inside_open = NULL;
  paused_world->is_over = true;
  assert_int_equal(kin_pager_close(paused_world->pager, NULL, NULL), 0);
}

/* A source that closes the pager while it is paused or resumed. */
static void test_pager_closed_by_its_source(void **state) {
  (void)state;
  for (int is_resume = 0; is_resume < 2; is_resume++) {
    pager_world w;
    hand_source source;
    paused_world = &w;
    open_sourced(&w, &source);
    *(is_resume ? &source.inside_resume : &source.inside_pause) = close_inside;
    kin_pager_pause(w.pager);
    kin_object *object = hand_source_object("a@1");
    int err = 0;
    for (int i = 0; i < 5; i++) {
      err = kin_feed_item(source.feed, object);
    }
    kin_object_unref(object);
    assert_int_equal(err, is_resume ? 0 : KIN_ECLOSED);
    if (is_resume) {
      kin_pager_resume(w.pager);
    }
    run(&w);
    hand_source_expect(&source, is_resume ? "L:5=/2 p r x" : "L:5=/2 p x");
    pw_finish(&w);
  }
}

/* A source that closes the pager while it opens a later page. The continue
 * token is valid until open returns: the source compares all strings of a
 * request. */
static void test_pager_closed_at_a_page(void **state) {
  (void)state;
  pager_world w;
  hand_source source;
  paused_world = &w;
  open_sourced(&w, &source);
  hand_source_item(&source, "a@1");
  source.inside_open = close_inside;
  hand_source_list_end(&source, "9", "tok");
  hand_source_expect(&source, "L:5=/2 L=tok/2 x");
  pw_finish(&w);
}

/* What a source does wrong is the end; nothing is asked of it any more. */
static void test_pager_own_source_errs(void **state) {
  (void)state;
  pager_world w;
  hand_source source;
  open_sourced(&w, &source);
  kin_object *object = hand_source_object("a@1");
  source.is_open = true;
  assert_int_equal(kin_feed_event(source.feed, KIN_WATCH_ADDED, object),
                   KIN_ECLOSED); /* no watch was asked for */
  kin_object_unref(object);
  assert_int_equal(kin_feed_item(source.feed, NULL), KIN_EINVAL);
  run(&w);
  hand_source_expect(&source, "L:5=/2 x");
  pw_expect(&w, "end:EINVAL//0 ");
  pw_finish(&w);
  /* It cannot even be asked. */
  pw_init(&w, 0);
  hand_source_init(&source, &w.vh.script);
  source.fail_opens = 1;
  source.open_error = UV_EIO;
  w.resource.source = &source.lister_watcher;
  assert_int_equal(pw_try_open(&w), 0);
  assert_int_equal(w.calls, 0); /* not inside the call */
  run(&w);
  pw_expect(&w, "end:EIO//0 ");
  pw_finish(&w);
}

/* A source that cannot be paused loses nothing. */
static void test_pager_source_without_pause(void **state) {
  (void)state;
  pager_world w;
  hand_source source;
  pw_init(&w, 0);
  hand_source_init(&source, NULL);
  source.lister_watcher.pause = NULL;
  source.lister_watcher.resume = NULL;
  w.resource.source = &source.lister_watcher;
  w.resource.page_size = 1;
  assert_int_equal(pw_try_open(&w), 0);
  for (int i = 0; i < 300; i++) {
    hand_source_item(&source, "a@1");
  }
  assert_int_equal(w.calls, 0); /* never inside a call */
  run(&w);
  assert_int_equal(w.items, 300);
  hand_source_list_end(&source, "9", "");
  run(&w);
  assert_true(w.has_ended);
  pw_finish(&w);
}

/* --- A real client -------------------------------------------------------- */

typedef struct paged_client {
  client_world base;
  char text[256];
} paged_client;

static int on_client_item(const kin_object *item, void *data) {
  paged_client *w = data;
  size_t length = strlen(w->text);
  snprintf(w->text + length, sizeof w->text - length, KIN_STR_FORMAT " ",
           KIN_STR_ARG(kin_object_key(item)));
  return 0;
}

static void on_gone(client_world *base) {
  strncat(((paged_client *)base->data)->text, "gone", 5);
}

static void on_client_end(const kin_pager_result *result, void *data) {
  paged_client *w = data;
  assert_int_equal(result->code, 0);
  assert_string_equal(result->resource_version, "7");
  assert_int_equal(client_world_close(&w->base), 0);
}

static void on_pager_closed(void *data) {
  paged_client *w = data;
  strncat(w->text, "closed ", 8);
}

static void test_pager_in_a_client(void **state) {
  (void)state;
  static const loop_reply reply = {
      .bytes = ANSWER_TO_END ANSWER_PODS(
          "7", "{\"metadata\":{\"name\":\"a\"}}," ANSWER_POD("b", "1", "5")),
      .then = LOOP_CLOSE};
  paged_client w = {.text = ""};
  client_world_serve(&w.base, &reply, 1);
  w.base.hook = on_gone;
  w.base.data = &w;
  assert_int_equal(client_world_open_client(&w.base), 0);
  kin_informer_options resource = KIN_INFORMER_OPTIONS_INIT;
  resource.plural = "pods";
  kin_pager_options options = KIN_PAGER_OPTIONS_INIT;
  options.resource = &resource;
  options.on_item = on_client_item;
  options.on_end = on_client_end;
  options.on_closed = on_pager_closed;
  options.data = &w;
  kin_pager *pager;
  assert_int_equal(kin_pager_open(&pager, w.base.client, &options), 0);
  CLIENT_UNTIL(&w.base, w.base.client == NULL);
  client_world_finish(&w.base);
  assert_string_equal(w.text, "a n/b closed gone");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_pager_close_in_each_callback),
      cmocka_unit_test(test_pager_close_with_items),
      cmocka_unit_test(test_pager_close_when_complete),
      cmocka_unit_test(test_pager_drops_in_steps),
      cmocka_unit_test(test_pager_slow_callback),
      cmocka_unit_test(test_pager_fails_cleanly),
      cmocka_unit_test(test_pager_own_source),
      cmocka_unit_test(test_pager_closed_by_its_source),
      cmocka_unit_test(test_pager_closed_at_a_page),
      cmocka_unit_test(test_pager_own_source_errs),
      cmocka_unit_test(test_pager_source_without_pause),
      cmocka_unit_test(test_pager_in_a_client),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
