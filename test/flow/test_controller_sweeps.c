/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <kin/error.h>

#include "support/controller_world.h"
#include "support/objects.h"

/* A story in which everything happens to a controller, of each kind: every
 * allocation fails once, memory stays out for a while, every callback
 * closes. */

static int run_story(cw_world *w) {
  mini_server *server = &w->vh.server;
  mini_put_first(server, 9);
  server->honours_limit = true;
  w->resource.page_size = 4;
  w->options.resync_ms = 1500;
  w->failing_key = "even/p2";
  w->failures_left = w->options.retry_on_error ? 3 : 0;
  int err = cw_open(w);
  if (err != 0 || w->vh.host.members.is_closing) {
    return err;
  }
  mini_serve(server);
  for (int round = 0; round < 2; round++) {
    mini_put(server, 2);
    mini_put(server, 10 + round);
    mini_serve(server);
    mini_recreate(server, 4);
    mini_break_watches(server);
    mini_delete(server, round);
    mini_pass(server, 2000);
    mini_bookmark(server);
    mini_end_watches(server);
    mini_pass(server, 1000);
  }
  mini_break_watches(server);
  mini_put(server, 5);
  mini_delete(server, 6);
  mini_compact(server);
  mini_pass(server, 120000);
  return 0;
}

static void check_end(const cw_world *w) {
  if (w->kind != CW_QUEUE_FIFO) {
    cw_assert_truth(w);
  }
  assert_int_equal(w->synced, 1);
  assert_true(kin_controller_has_synced(w->controller));
  kin_controller_stats stats = KIN_CONTROLLER_STATS_INIT;
  assert_int_equal(kin_controller_get_stats(w->controller, &stats), 0);
  assert_true(stats.retries <= stats.failures);
  assert_true(stats.failures <= stats.items);
}

static const cw_sweep sweep = {
    .init = cw_init, .story = run_story, .check = check_end};

/* Any one allocation may fail: opening fails cleanly, or the end is the
 * truth. */
static void test_controller_sweep_allocations(void **state) {
  (void)state;
  cw_sweep_allocations(&sweep);
}

/* Memory that stays out for a while: nothing is lost for it. */
static void test_controller_sweep_outages(void **state) {
  (void)state;
  cw_sweep_outages(&sweep, 300);
}

/* An item of a controller's own that memory was out for is put back, told as
 * such and processed later: no list has to make up for it. */
static void test_controller_sweep_items(void **state) {
  (void)state;
  for (cw_kind kind = CW_IN_ORDER; kind <= CW_DELTA; kind++) {
    unsigned retried = 0;
    for (size_t n = 1;; n++) {
      cw_world w;
      cw_init(&w, kind, 0);
      w.log.is_terse = true;
      assert_int_equal(cw_open(&w), 0);
      mini_serve(&w.vh.server);
      atomic_store(&w.vh.memory.calls, 0);
      w.vh.memory.fail_at = n;
      mini_put_first(&w.vh.server, 3);
      mini_delete(&w.vh.server, 1);
      mini_serve(&w.vh.server);
      bool has_failed = fail_alloc_has_failed(&w.vh.memory);
      w.vh.memory.fail_at = 0;
      if (w.process_errors > 0) {
        assert_int_equal(w.process_errors, 1);
        assert_int_equal(w.process_error, KIN_ENOMEM);
        assert_true(w.was_retried);
        kin_controller_stats stats = KIN_CONTROLLER_STATS_INIT;
        assert_int_equal(kin_controller_get_stats(w.controller, &stats), 0);
        assert_int_equal(stats.retries, 1);
        retried++;
      }
      mini_pass(&w.vh.server, 5000);
      kin_status status = KIN_STATUS_INIT;
      assert_int_equal(kin_controller_get_status(w.controller, &status), 0);
      assert_int_equal(status.relists, 0);
      cw_assert_truth(&w);
      cw_finish(&w);
      if (!has_failed) {
        break;
      }
    }
    assert_true(retried > 0);
  }
}

static size_t objects_at_sync;

static void count_objects(kin_controller *controller, void *data) {
  (void)data;
  objects_at_sync = kin_store_count(kin_controller_store(controller));
}

/* SI-16: on_synced comes when the first list is in the store as a whole, also if
 * memory was out for one of its objects. */
static void test_controller_sweep_sync(void **state) {
  (void)state;
  for (cw_kind kind = CW_IN_ORDER; kind <= CW_DELTA; kind++) {
    unsigned retried = 0;
    bool has_failed = true;
    for (size_t n = 1; has_failed; n++) {
      cw_world w;
      cw_init(&w, kind, 0);
      w.options.on_synced = count_objects;
      objects_at_sync = 0;
      mini_put_first(&w.vh.server, 3);
      assert_int_equal(cw_open(&w), 0);
      atomic_store(&w.vh.memory.calls, 0);
      w.vh.memory.fail_at = n;
      mini_serve(&w.vh.server);
      has_failed = fail_alloc_has_failed(&w.vh.memory);
      w.vh.memory.fail_at = 0;
      mini_pass(&w.vh.server, 5000);
      assert_int_equal(objects_at_sync, 3);
      retried += w.process_errors;
      cw_finish(&w);
    }
    assert_true(retried > 0);
  }
}

/* Handlers are told once of each part of an item, also if memory runs out in the
 * middle of the item. */
static void test_controller_sweep_parts_of_items(void **state) {
  (void)state;
  unsigned retried = 0;
  bool has_failed = true;
  for (size_t n = 1; has_failed; n++) {
    cw_world w;
    cw_open_with_one(&w, CW_DELTA);
    kin_index_options index = KIN_INDEX_OPTIONS_INIT;
    index.name = "version"; /* each update needs memory */
    index.pointer = "/metadata/resourceVersion";
    assert_int_equal(kin_store_add_index(w.store, &index), 0);
    script_run(&w.vh.script);
    atomic_store(&w.vh.memory.calls, 0);
    w.vh.memory.fail_at = n;
    mini_put(&w.vh.server, 0);
    mini_put(&w.vh.server, 0);
    mini_recreate(&w.vh.server, 0);
    mini_serve(&w.vh.server);
    has_failed = fail_alloc_has_failed(&w.vh.memory);
    w.vh.memory.fail_at = 0;
    mini_pass(&w.vh.server, 5000);
    change_log_expect(&w.log, "U:even/p0@101>102 U:even/p0@102>103 "
                              "D:even/p0@104 A:even/p0@105");
    retried += w.process_errors;
    cw_assert_truth(&w);
    cw_finish(&w);
  }
  assert_true(retried > 1);
}

/* The same of a list and a resync of everything, which are processed in
 * steps. */
static void test_controller_sweep_lists(void **state) {
  (void)state;
  unsigned retried = 0;
  for (size_t n = 1;; n++) {
    cw_world w;
    cw_init(&w, CW_IN_ORDER, 0);
    w.log.is_terse = true;
    mini_put_first(&w.vh.server, 3);
    assert_int_equal(cw_open(&w), 0);
    atomic_store(&w.vh.memory.calls, 0);
    w.vh.memory.fail_at = n;
    mini_serve(&w.vh.server);
    bool has_failed = fail_alloc_has_failed(&w.vh.memory);
    w.vh.memory.fail_at = 0;
    if (w.process_errors > 0) {
      assert_int_equal(w.process_error, KIN_ENOMEM);
      assert_true(w.was_retried);
      assert_string_equal(w.error_key, ""); /* of all */
      retried++;
    }
    mini_pass(&w.vh.server, 5000);
    cw_assert_truth(&w);
    cw_finish(&w);
    if (!has_failed) {
      break;
    }
  }
  assert_true(retried > 0);
}

/* CO-10, CO-03: the controller, or what it lives in, is closed in each
 * callback, handlers, process functions and errors among them: no other comes,
 * and all is gone. */
static void test_controller_sweep_closes(void **state) {
  (void)state;
  cw_sweep_closes(&sweep);
}

/* Closed between any two steps, at once or with its host, before and after the
 * start. */
static void test_controller_sweep_closes_between_steps(void **state) {
  (void)state;
  for (cw_kind kind = 0; kind < CW_KINDS; kind++) {
    for (unsigned steps = 0; steps < 60; steps++) {
      cw_world w;
      cw_init(&w, kind, 0);
      w.log.is_terse = true;
      mini_put_first(&w.vh.server, 20);
      assert_int_equal(cw_open(&w), 0);
      script_request *list = script_expect(&w.vh.script, "limit=");
      static const char head[] = "{\"kind\":\"PodList\",\"metadata\":{"
                                 "\"resourceVersion\":\"9\"},\"items\":[";
      char body[4096];
      size_t length = (size_t)snprintf(body, sizeof body, "%s", head);
      for (int i = 0; i < 20; i++) {
        length += (size_t)snprintf(
            body + length, sizeof body - length,
            "%s{\"metadata\":{\"name\":\"p%d\",\"namespace\":\"x\",\"uid\":"
            "\"u\",\"resourceVersion\":\"%d\"}}",
            i > 0 ? "," : "", i, i + 1);
      }
      length += (size_t)snprintf(body + length, sizeof body - length, "]}");
      kin__response_head ok = {.status = 200,
                               .content_type = {"application/json", 16},
                               .retry_after_s = -1,
                               .is_identity = true};
      list->callbacks->on_head(list->ctx, &ok);
      list->callbacks->on_body(list->ctx, body, length);
      const kin__exchange_callbacks *callbacks = list->callbacks;
      void *ctx = list->ctx;
      for (unsigned i = 0; i < SCRIPT_MAX_REQUESTS; i++) {
        if (w.vh.script.requests[i] == list) {
          w.vh.script.requests[i] = NULL;
        }
      }
      free(list);
      callbacks->on_end(ctx, NULL);
      for (unsigned i = 0; i < steps; i++) {
        kin__sched_run(&w.vh.script.sched, 0); /* one step */
      }
      if (steps % 2 == 0) {
        cw_close_host(&w);
        w.act_at = UINT32_MAX;
      }
      cw_finish(&w);
    }
  }
}

/* The store lives until the close callback: while it is closing it may be read,
 * written to and indexed. It has all it had, or nothing. */
static void test_controller_store_while_closing(void **state) {
  (void)state;
  enum { COUNT = 5000 };
  for (cw_kind kind = CW_IN_ORDER; kind <= CW_DELTA; kind++) {
    cw_world w;
    cw_init(&w, kind, 0);
    w.log.is_terse = true;
    assert_int_equal(cw_open(&w), 0);
    mini_serve(&w.vh.server);
    for (unsigned i = 0; i < COUNT; i++) {
      char key[16];
      snprintf(key, sizeof key, "x/p%u", i);
      kin_object *object = object_keyed(NULL, key, 1);
      assert_int_equal(kin_store_put(w.store, object), 0);
      kin_object_unref(object);
    }
    cw_close(&w);
    kin_index_options index = KIN_INDEX_OPTIONS_INIT;
    index.name = "late";
    index.pointer = "/metadata/namespace";
    assert_int_equal(kin_store_add_index(w.store, &index), KIN_ECLOSED);
    kin_object *mine = object_keyed(NULL, "x/mine", 1);
    for (bool has_more = true; has_more;) {
      size_t count = kin_store_count(w.store);
      assert_true(count == COUNT || count <= 1);
      size_t seen = 0;
      kin_cursor cursor = {0};
      for (const kin_object *o;
           (o = kin_store_next(w.store, &cursor)) != NULL;) {
        assert_ptr_equal(kin_store_get(w.store, kin_object_key(o)), o);
        seen++;
      }
      assert_int_equal(seen, count);
      has_more = kin__sched_run(&w.vh.script.sched, 0); /* one step */
    }
    assert_int_equal(kin_store_put(w.store, mine), 0);
    kin_object_unref(mine);
    w.act_at = UINT32_MAX; /* it is closed */
    cw_finish(&w);
  }
}

static bool has_been_idle;

static void expect_no_wait(void *ctx, bool is_before) {
  const cw_world *w = ctx;
  kin_status status = KIN_STATUS_INIT;
  if (is_before || w->on_closed + w->closed > 0) {
    return;
  }
  assert_int_equal(kin_controller_get_status(w->controller, &status), 0);
  assert_true(status.turn_wait_ms == UINT64_MAX);
  assert_true(status.limit_wait_ms == UINT64_MAX);
  assert_int_equal(status.shard_count, 1);
  if (status.lists == 0) {
    assert_true(status.byte_age_ms == UINT64_MAX);
    has_been_idle = true;
  }
}

/* The reflector is gone before a large store is. The controller waits for no
 * turn then. */
static void test_controller_status_while_closing(void **state) {
  (void)state;
  cw_world w;
  cw_init(&w, CW_DELTA, 0);
  w.log.is_terse = true;
  assert_int_equal(cw_open(&w), 0);
  mini_put_first(&w.vh.server, 1);
  mini_serve(&w.vh.server);
  for (unsigned i = 0; i < 5000; i++) {
    char key[16];
    snprintf(key, sizeof key, "x/p%u", i);
    kin_object *object = object_keyed(NULL, key, 1);
    assert_int_equal(kin_store_put(w.store, object), 0);
    kin_object_unref(object);
  }
  has_been_idle = false;
  w.vh.script.on_step = expect_no_wait;
  w.vh.script.on_step_ctx = &w;
  cw_close(&w);
  script_run(&w.vh.script);
  w.vh.script.on_step = NULL;
  assert_true(has_been_idle);
  w.act_at = UINT32_MAX; /* it is closed */
  cw_finish(&w);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_controller_sweep_allocations),
      cmocka_unit_test(test_controller_sweep_outages),
      cmocka_unit_test(test_controller_sweep_items),
      cmocka_unit_test(test_controller_sweep_sync),
      cmocka_unit_test(test_controller_sweep_parts_of_items),
      cmocka_unit_test(test_controller_sweep_lists),
      cmocka_unit_test(test_controller_sweep_closes),
      cmocka_unit_test(test_controller_sweep_closes_between_steps),
      cmocka_unit_test(test_controller_store_while_closing),
      cmocka_unit_test(test_controller_status_while_closing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
