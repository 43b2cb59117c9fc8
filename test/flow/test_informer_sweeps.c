/* SPDX-License-Identifier: MIT */

/* The three sweeps over a story in which everything happens to an informer:
 * every allocation fails once, every callback closes, every split of the input.
 * Proves SI-18, SI-23, RF-10, RL-07, RW-10 (nothing is lost) under them. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"
#include "support/informer_world.h"

/* Everything that can happen to an informer, in short. */
static int run_story(iw_world *w) {
  static const char *const namespaces[] = {"even", "odd"};
  mini_put_first(&w->server, 9);
  w->server.honours_limit = true;
  kin_informer_options options = iw_options(w);
  options.page_size = 3;
  options.namespaces = namespaces;
  options.namespace_count = 2;
  int err = iw_open(w, &options);
  if (err != 0 || w->closed > 0) {
    return err;
  }
  mini_serve(&w->server);
  for (int round = 0; round < 3 && w->closed == 0; round++) {
    mini_put(&w->server, 2);
    mini_put(&w->server, 10 + round);
    mini_serve(&w->server);
    mini_recreate(&w->server, 4);
    mini_break_watches(&w->server);
    mini_delete(&w->server, round);
    mini_pass(&w->server, 3000);
    mini_end_watches(&w->server);
    mini_pass(&w->server, 1000);
  }
  mini_break_watches(&w->server);
  mini_put(&w->server, 5);
  mini_delete(&w->server, 6);
  mini_compact(&w->server);
  mini_pass(&w->server, 200000);
  return 0;
}

static void test_story(void **state) {
  (void)state;
  iw_world w;
  iw_init(&w, 0);
  assert_int_equal(run_story(&w), 0);
  iw_assert_truth(&w);
  assert_true(w.rec.relisted > 0);
  iw_finish(&w);
}

static bool run_without_memory(size_t n) {
  return iw_run_without_memory(run_story, n);
}

static void test_sweep_allocations(void **state) {
  (void)state;
  fail_alloc_sweep(run_without_memory, 60);
}

/* Memory that stays out for a while: the same. */
static void test_sweep_outages(void **state) {
  (void)state;
  for (size_t n = 1; n < 400; n += 7) {
    iw_world w;
    iw_init(&w, 0);
    mini_put(&w.server, 0);
    kin_informer_options options = iw_options(&w);
    assert_int_equal(iw_open(&w, &options), 0);
    atomic_store(&w.memory.calls, 0);
    w.memory.fail_at = n;
    w.memory.keeps_failing = true;
    for (int i = 0; i < 12; i++) {
      mini_put(&w.server, i);
      mini_pass(&w.server, 500);
    }
    w.memory.fail_at = 0;
    w.memory.keeps_failing = false;
    mini_put(&w.server, 20);
    mini_pass(&w.server, 150000);
    iw_assert_truth(&w);
    iw_finish(&w);
  }
}

static void test_sweep_splits(void **state) {
  (void)state;
  for (size_t split = 1; split < 700;
       split = split < 40 ? split + 1 : split + 61) {
    iw_world w;
    iw_init(&w, 0);
    w.script.split = split;
    assert_int_equal(run_story(&w), 0);
    iw_assert_truth(&w);
    iw_finish(&w);
  }
}

static int close_at;
static int calls_so_far;

static void close_when_due(kin_informer *informer, iw_world *w) {
  if (calls_so_far++ == close_at) {
    assert_int_equal(kin_informer_close(informer, iw_on_closed, w), 0);
  } else {
    assert_true(close_at < 0 || calls_so_far <= close_at);
  }
}

static void close_on_event(recorder *rec, kin_informer *informer) {
  close_when_due(informer, rec->data);
}

static void close_on_error(kin_informer *informer, kin_error_event *event,
                           void *data) {
  iw_on_error(informer, event, data);
  close_when_due(informer, data);
}

static void close_on_state(kin_informer *informer, const char *namespace_,
                           kin_state from, kin_state to, void *data) {
  iw_on_state(informer, namespace_, from, to, data);
  close_when_due(informer, data);
}

static void run_closing_story(iw_world *w) {
  mini_put_first(&w->server, 5);
  kin_informer_options options = iw_options(w);
  options.on_error = close_on_error;
  options.on_state = close_on_state;
  w->rec.on_call = close_on_event;
  w->rec.data = w;
  assert_int_equal(iw_open(w, &options), 0);
  mini_serve(&w->server);
  mini_put(&w->server, 1);
  mini_recreate(&w->server, 2);
  mini_serve(&w->server);
  mini_break_watches(&w->server);
  mini_delete(&w->server, 0);
  mini_put(&w->server, 7);
  mini_compact(&w->server);
  mini_pass(&w->server, 20000);
}

/* The informer is closed in its k-th callback, whichever that is: no callback
 * comes after it but the close callback, and nothing is left. */
static void test_sweep_closes(void **state) {
  (void)state;
  for (close_at = 0;; close_at++) {
    iw_world w;
    iw_init(&w, 0);
    calls_so_far = 0;
    run_closing_story(&w);
    bool was_reached = calls_so_far > close_at;
    assert_int_equal(w.closed, was_reached);
    iw_finish(&w);
    if (!was_reached) {
      assert_true(close_at > 15);
      break;
    }
  }
}

/* And after each of the story's requests. */
static void test_close_in_every_state(void **state) {
  (void)state;
  for (unsigned stop = 0; stop < 8; stop++) {
    iw_world w;
    iw_init(&w, 0);
    mini_put(&w.server, 0);
    kin_informer_options options = iw_options(&w);
    assert_int_equal(iw_open(&w, &options), 0);
    if (stop == 1) {
      script_head(&w.script, "/pods", 200);
    } else if (stop == 2) {
      script_head(&w.script, "/pods", 200);
      script_body(&w.script, "/pods", "{\"items\":[{\"metadata\":{\"name\"",
                  29);
    } else if (stop == 3) {
      script_respond(&w.script, "/pods", 503, "");
    } else if (stop >= 4) {
      mini_serve(&w.server);
    }
    if (stop == 5) {
      mini_break_watches(&w.server);
    } else if (stop == 6) {
      mini_pass(&w.server, 2000);
      mini_end_watches(&w.server);
    } else if (stop == 7) {
      script_body(&w.script, "watch=true", "{\"type\":\"ADDED\",\"obj", 20);
    }
    iw_finish(&w);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_story),
      cmocka_unit_test(test_sweep_allocations),
      cmocka_unit_test(test_sweep_outages),
      cmocka_unit_test(test_sweep_splits),
      cmocka_unit_test(test_sweep_closes),
      cmocka_unit_test(test_close_in_every_state),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
