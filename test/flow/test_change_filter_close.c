/* SPDX-License-Identifier: MIT */

/* The ends of change filters: by the program, in each callback, with the
 * informer, with the client, and when memory is out. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <kin/error.h>

#include "support/filter_rig.h"

static void on_closed_again(void *data) {
  ++*(int *)data;
}

/* What waits is dropped. */
static void test_close_drops(void **state) {
  (void)state;
  for (int is_for_all = 0; is_for_all < 2; is_for_all++) {
    filter_rig rig;
    filter_rig_init(&rig, 0);
    rig.options.debounce_ms = 100;
    if (is_for_all) {
      filter_rig_for_all(&rig, 100, 0);
    }
    filter_rig_open(&rig);
    filter_rig_put(&rig, "k1", 1);
    rig.log[0] = '\0';
    int closed = 0;
    assert_int_equal(
        kin_change_filter_close(rig.filter, on_closed_again, &closed), 0);
    assert_int_equal(kin_change_filter_close(rig.filter, NULL, NULL),
                     KIN_EALREADY);
    kin_change_filter_flush(rig.filter);
    assert_int_equal(closed, 0); /* not inside the call */
    filter_rig_pass(&rig, 1000);
    assert_int_equal(closed, 1);
    filter_rig_expect(&rig, "closed ");
    filter_rig_put(&rig, "k1", 2); /* the informer lives on */
    assert_int_equal(kin_store_count(kin_informer_store(rig.informer)), 1);
    filter_rig_close(&rig);
  }
}

/* The filter ends with its informer, and tells nothing from its close on. */
static void test_informer_closes(void **state) {
  (void)state;
  for (int how = 0; how < 3; how++) {
    filter_rig rig;
    filter_rig_init(&rig, 0);
    rig.options.debounce_ms = 100;
    filter_rig_open(&rig);
    filter_rig_put(&rig, "k1", 1);
    rig.log[0] = '\0';
    if (how == 1) {
      /* The wait is over, and the informer closes before it is told. */
      kin_change_filter_flush(rig.filter);
    }
    assert_int_equal(kin_informer_close(rig.informer, NULL, NULL), 0);
    if (how == 2) {
      assert_int_equal(kin_change_filter_close(rig.filter, NULL, NULL), 0);
    }
    kin_change_filter *late;
    assert_int_equal(kin_change_filter_open(&late, rig.informer, &rig.options),
                     KIN_ECLOSED);
    assert_null(late);
    filter_rig_pass(&rig, 1000);
    filter_rig_expect(&rig, "closed ");
    filter_rig_close(&rig);
  }
}

static void test_no_handle_is_needed(void **state) {
  (void)state;
  filter_rig rig;
  filter_rig_init(&rig, 0);
  assert_int_equal(filter_rig_open_informer(&rig), 0);
  assert_int_equal(kin_change_filter_open(NULL, rig.informer, &rig.options), 0);
  filter_rig_put(&rig, "k1", 1);
  filter_rig_expect(&rig, "i:k1=1 synced(1) ");
  filter_rig_close(&rig);
  assert_string_equal(rig.log, "closed ");
}

/* --- The story for the sweeps --------------------------------------------- */

/* Changes of all kinds, with waits that end by their time and by a flush. */
static void play(filter_rig *rig) {
  for (int i = 0; i < 6; i++) {
    char name[8];
    snprintf(name, sizeof name, "k%d", i);
    filter_rig_put(rig, name, i);
  }
  filter_rig_pass(rig, 60);
  filter_rig_put(rig, "k1", 10);
  filter_rig_put(rig, "k2", 20);
  filter_rig_put(rig, "k2", 2);
  filter_rig_delete(rig, "k3");
  filter_rig_recreate(rig, "k4", "u2", 4);
  filter_rig_pass(rig, 60);
  if (rig->filter != NULL && !rig->is_closed) {
    kin_change_filter_flush(rig->filter);
  }
  filter_rig_put(rig, "k5", 50);
  filter_rig_pass(rig, 1000);
}

static int start(filter_rig *rig, int is_for_all, size_t fail_at) {
  filter_rig_init(rig, fail_at);
  rig->options.debounce_ms = 50;
  if (is_for_all) {
    filter_rig_for_all(rig, 50, 0);
  }
  filter_rig_change(rig, KIN_WATCH_ADDED, "k0", "u1", 100);
  int err = filter_rig_open_informer(rig);
  if (err == 0) {
    err = filter_rig_open_filter(rig);
  }
  filter_rig_run(rig);
  return err;
}

/* --- Sweeps --------------------------------------------------------------- */

static int closes_at;
static int closes_what;

static void close_in_callback(filter_rig *rig) {
  if (rig->calls != closes_at) {
    return;
  }
  switch (closes_what) {
  case 0:
    assert_int_equal(kin_change_filter_close(rig->filter, NULL, NULL), 0);
    break;
  case 1:
    assert_int_equal(kin_informer_close(rig->informer, NULL, NULL), 0);
    break;
  default:
    vh_close(&rig->vh);
  }
  rig->log[0] = '\0';
}

/* After the close in callback k comes nothing but the close callback. */
static void test_sweep_closes(void **state) {
  (void)state;
  for (int is_for_all = 0; is_for_all < 2; is_for_all++) {
    for (closes_what = 0; closes_what < 3; closes_what++) {
      bool has_closed = true;
      for (closes_at = 1; has_closed; closes_at++) {
        filter_rig rig;
        assert_int_equal(start(&rig, is_for_all, 0), 0);
        rig.then = close_in_callback;
        rig.calls = 0;
        play(&rig);
        has_closed = rig.calls >= closes_at;
        if (has_closed) {
          assert_int_equal(rig.calls, closes_at);
          assert_string_equal(rig.log, "closed ");
        }
        filter_rig_close(&rig);
      }
      assert_true(closes_at > (is_for_all ? 3 : 8));
    }
  }
}

/* What is told ends with the truth, whatever memory was missing. */
typedef struct truth {
  int values[8]; /* of k0, k1, ...; -1: not there */
} truth;

static void fold(const kin_change *change, void *data) {
  truth *t = data;
  int key = kin_object_name(change->object).data[1] - '0';
  bool is_there = t->values[key] >= 0;
  assert_true(is_there == (change->type != KIN_EVENT_ADD));
  if (change->type == KIN_EVENT_UPDATE) {
    assert_true(change->is_recreated ||
                t->values[key] != filter_rig_value(change->object));
  }
  t->values[key] =
      change->type == KIN_EVENT_DELETE ? -1 : filter_rig_value(change->object);
}

static bool run_without_memory(size_t fail_at, bool is_for_all) {
  static const int expected[] = {0, 10, 2, -1, 4, 50, -1, -1};
  filter_rig rig;
  truth seen;
  memset(&seen, 0xff, sizeof seen);
  filter_rig_init(&rig, fail_at);
  rig.options.debounce_ms = 50;
  if (is_for_all) {
    filter_rig_for_all(&rig, 50, 0);
  } else {
    rig.on_change = fold;
    rig.data = &seen;
  }
  filter_rig_change(&rig, KIN_WATCH_ADDED, "k0", "u1", 100);
  int err = filter_rig_open_informer(&rig);
  if (err == 0) {
    err = filter_rig_open_filter(&rig);
  }
  assert_true(err == 0 || err == KIN_ENOMEM);
  if (err == 0) {
    filter_rig_run(&rig);
    play(&rig);
    filter_rig_pass(&rig, 60000);
    if (is_for_all) {
      /* If the first list came late, the first call has all of it. */
      assert_true(rig.calls >= 1);
    } else {
      assert_memory_equal(seen.values, expected, sizeof expected);
    }
  }
  bool has_failed = fail_alloc_has_failed(&rig.vh.memory);
  filter_rig_close(&rig);
  return has_failed;
}

static bool one_key_without_memory(size_t fail_at) {
  return run_without_memory(fail_at, false);
}

static bool all_keys_without_memory(size_t fail_at) {
  return run_without_memory(fail_at, true);
}

static void test_sweep_allocations(void **state) {
  (void)state;
  fail_alloc_sweep(one_key_without_memory, 35);
  fail_alloc_sweep(all_keys_without_memory, 35);
}

/* The step of one piece, so that everything may come between two pieces. */
static void test_sweep_pieces(void **state) {
  (void)state;
  for (int is_for_all = 0; is_for_all < 2; is_for_all++) {
    filter_rig whole;
    assert_int_equal(start(&whole, is_for_all, 0), 0);
    play(&whole);
    filter_rig pieces;
    assert_int_equal(start(&pieces, is_for_all, 0), 0);
    pieces.vh.script.sched.max_pieces = 1;
    play(&pieces);
    assert_string_equal(whole.log, pieces.log);
    filter_rig_close(&whole);
    filter_rig_close(&pieces);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_close_drops),
      cmocka_unit_test(test_informer_closes),
      cmocka_unit_test(test_no_handle_is_needed),
      cmocka_unit_test(test_sweep_closes),
      cmocka_unit_test(test_sweep_allocations),
      cmocka_unit_test(test_sweep_pieces),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
