/* SPDX-License-Identifier: MIT */
#include "support/controller_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <kin/error.h>

#include "base/str.h"
#include "cache/controller.h"

static bool has_queue(const cw_world *w) {
  return w->kind >= CW_QUEUE_FIFO;
}

static void count_call(cw_world *w) {
  assert_false(w->is_closing);
  w->calls++;
  if (w->calls == w->act_at) {
    w->act(w);
  }
}

/* kin_process_deltas is the test's own call: it goes on to the end of the
 * item. */
static void on_change(change_log *log) {
  cw_world *w = log->data;
  if (!w->is_closing || !has_queue(w)) {
    count_call(w);
  }
}

static bool fails(cw_world *w, const kin_deltas *deltas) {
  kin_str key;
  if (w->failing_key == NULL || w->failures_left == 0 ||
      kin_delta_key(&deltas->items[0], &key) != 0 ||
      strncmp(key.data, w->failing_key, strlen(w->failing_key)) != 0) {
    return false;
  }
  w->failures_left--;
  return true;
}

static int process(kin_queue *queue, kin_queue_item *item, void *data) {
  cw_world *w = data;
  assert_ptr_equal(queue, w->queue);
  assert_false(w->is_closing);
  if (fails(w, &item->deltas)) {
    count_call(w);
    return KIN_ETYPE;
  }
  return kin_process_deltas(w->store, &w->log.handlers, &item->deltas,
                            item->is_initial);
}

static int process_batch(kin_queue *queue, kin_queue_item *item, void *data) {
  cw_world *w = data;
  assert_ptr_equal(queue, w->queue);
  assert_false(w->is_closing);
  return kin_process_batch(w->store, &w->log.handlers, &item->deltas,
                           item->is_initial);
}

static void on_error(kin_controller *controller, kin_error_event *event,
                     void *data) {
  cw_world *w = data;
  assert_ptr_equal(controller, w->controller);
  w->errors++;
  w->last_status = event->status;
  count_call(w);
}

static void on_process_error(kin_controller *controller, int error, kin_str key,
                             bool is_retried, void *data) {
  cw_world *w = data;
  assert_ptr_equal(controller, w->controller);
  assert_true(error < 0);
  w->process_errors++;
  w->process_error = error;
  w->was_retried = is_retried;
  snprintf(w->error_key, sizeof w->error_key, KIN_STR_FORMAT, KIN_STR_ARG(key));
  count_call(w);
}

static void on_synced(kin_controller *controller, void *data) {
  cw_world *w = data;
  assert_true(kin_controller_has_synced(controller));
  w->synced++;
  count_call(w);
}

static void on_closed(void *data) {
  ((cw_world *)data)->on_closed++;
}

static void on_close(void *data) {
  ((cw_world *)data)->closed++;
}

void cw_init(cw_world *w, cw_kind kind, size_t fail_at) {
  memset(w, 0, sizeof *w);
  w->kind = kind;
  vh_init(&w->vh, fail_at);
  change_log_init(&w->log, NULL);
  w->log.during = on_change;
  w->log.data = w;
  w->resource = (kin_informer_options)KIN_INFORMER_OPTIONS_INIT;
  w->resource.plural = "pods";
  w->queue_options = (kin_queue_options)KIN_QUEUE_OPTIONS_INIT;
  w->options = (kin_controller_options)KIN_CONTROLLER_OPTIONS_INIT;
  w->options.resource = &w->resource;
  w->options.on_error = on_error;
  w->options.on_process_error = on_process_error;
  w->options.on_synced = on_synced;
  w->options.on_closed = on_closed;
  w->options.data = w;
  if (!has_queue(w)) {
    w->options.handlers = &w->log.handlers;
    w->options.queue_kind =
        kind == CW_DELTA ? KIN_CONTROLLER_DELTA : KIN_CONTROLLER_IN_ORDER;
    return;
  }
  assert_int_equal(kin_store_new(&w->store, NULL), 0);
  w->log.store = kind != CW_QUEUE_BATCHES ? w->store : NULL;
  w->options.process = process;
  w->options.process_batch = kind == CW_QUEUE_BATCHES ? process_batch : NULL;
  w->queue_options.allocator = &w->vh.memory.allocator;
  if (kind == CW_QUEUE_DELTA) {
    w->queue_options.known = kin_store_known_objects(w->store);
    w->queue_options.emit_replaced = true;
  } else if (kind != CW_QUEUE_FIFO) {
    w->queue_options.emit_bookmarks = true;
  }
}

static int open_queue(cw_world *w) {
  if (!has_queue(w)) {
    return 0;
  }
  static int (*const makers[])(kin_queue **, const kin_queue_options *) = {
      [CW_QUEUE_FIFO] = kin_queue_new_fifo,
      [CW_QUEUE_DELTA] = kin_queue_new_delta,
      [CW_QUEUE_IN_ORDER] = kin_queue_new_in_order,
      [CW_QUEUE_BATCHES] = kin_queue_new_in_order};
  int err = makers[w->kind](&w->queue, &w->queue_options);
  w->options.queue = w->queue;
  return err;
}

int cw_open(cw_world *w) {
  int err = open_queue(w);
  if (err == 0) {
    err = kin__controller_open(&w->controller, &w->vh.host, &w->options);
  }
  if (err != 0) {
    return err;
  }
  if (!has_queue(w)) {
    w->store = kin_controller_store(w->controller);
    w->log.store = w->store;
  }
  return kin_controller_start(w->controller);
}

void cw_open_with_one(cw_world *w, cw_kind kind) {
  cw_init(w, kind, 0);
  w->vh.server.sends_together = true;
  mini_put(&w->vh.server, 0);
  assert_int_equal(cw_open(w), 0);
  mini_serve(&w->vh.server);
  change_log_expect(&w->log, "I:even/p0@101");
}

void cw_open_failing(cw_world *w, cw_kind kind, const char *key,
                     unsigned failures) {
  cw_init(w, kind, 0);
  w->options.retry_on_error = true;
  assert_int_equal(cw_open(w), 0);
  mini_serve(&w->vh.server);
  w->failing_key = key;
  w->failures_left = failures;
}

void cw_close(cw_world *w) {
  w->is_closing = true;
  assert_int_equal(kin_controller_close(w->controller, on_close, w), 0);
  assert_int_equal(kin_controller_close(w->controller, on_close, w),
                   KIN_EALREADY);
}

void cw_close_host(cw_world *w) {
  w->is_closing = true;
  vh_close(&w->vh);
}

void cw_finish(cw_world *w) {
  bool was_open = w->controller != NULL;
  if (was_open && w->act_at == 0) {
    cw_close(w);
    assert_int_equal(w->closed, 0);
  }
  if (!w->vh.host.members.is_closing) {
    vh_close(&w->vh);
  }
  script_run(&w->vh.script);
  assert_int_equal(w->on_closed, was_open ? 1 : 0);
  if (has_queue(w)) {
    assert_true(w->queue == NULL || !was_open || kin_queue_is_closed(w->queue));
    kin_queue_free(w->queue);
    kin_store_free(w->store);
  }
  change_log_finish(&w->log);
  vh_finish(&w->vh);
}

int cw_number(const kin_object *object) {
  return atoi(kin_object_name(object).data + 1);
}

void cw_assert_truth(const cw_world *w) {
  change_log_assert_folds_to(&w->log, w->store);
  assert_int_equal(kin_store_count(w->store), mini_count(&w->vh.server, ""));
  kin_cursor cursor = {0};
  const kin_object *object;
  while ((object = kin_store_next(w->store, &cursor)) != NULL) {
    char version[32];
    snprintf(version, sizeof version, "%llu",
             (unsigned long long)w->vh.server.versions[cw_number(object)]);
    assert_true(kin__str_equal(kin_object_resource_version(object),
                               kin__cstr(version)));
  }
}

/* --- Sweeps --------------------------------------------------------------- */

void cw_sweep_allocations(const cw_sweep *sweep) {
  for (cw_kind kind = 0; kind < CW_KINDS; kind++) {
    for (size_t n = 1;; n++) {
      cw_world w;
      sweep->init(&w, kind, n);
      w.log.is_terse = true;
      w.options.retry_on_error = kind >= CW_QUEUE_FIFO;
      int err = sweep->story(&w);
      bool has_failed = fail_alloc_has_failed(&w.vh.memory);
      if (err != 0) {
        assert_int_equal(err, KIN_ENOMEM);
      } else {
        sweep->check(&w);
      }
      cw_finish(&w);
      if (!has_failed) {
        print_message("kind %d: %zu allocations\n", (int)kind, n - 1);
        assert_true(n > 40);
        break;
      }
    }
  }
}

void cw_sweep_outages(const cw_sweep *sweep, size_t most) {
  for (cw_kind kind = 0; kind < CW_KINDS; kind++) {
    for (size_t n = 1; n < most; n += 7) {
      cw_world w;
      sweep->init(&w, kind, 0);
      w.log.is_terse = true;
      mini_put(&w.vh.server, 0);
      assert_int_equal(cw_open(&w), 0);
      atomic_store(&w.vh.memory.calls, 0);
      w.vh.memory.fail_at = n;
      w.vh.memory.keeps_failing = true;
      for (int i = 0; i < 12; i++) {
        mini_put(&w.vh.server, i);
        mini_pass(&w.vh.server, 500);
      }
      w.vh.memory.fail_at = 0;
      w.vh.memory.keeps_failing = false;
      mini_put(&w.vh.server, 20);
      mini_pass(&w.vh.server, 150000);
      sweep->check(&w);
      cw_finish(&w);
    }
  }
}

void cw_sweep_closes(const cw_sweep *sweep) {
  static void (*const acts[])(cw_world *) = {cw_close, cw_close_host};
  for (cw_kind kind = 0; kind < CW_KINDS; kind++) {
    for (size_t act = 0; act < 2; act++) {
      unsigned at = 1;
      for (bool was_called = true; was_called; at++) {
        cw_world w;
        sweep->init(&w, kind, 0);
        w.log.is_terse = true;
        w.options.retry_on_error = kind >= CW_QUEUE_FIFO;
        w.act_at = at;
        w.act = acts[act];
        (void)sweep->story(&w);
        was_called = w.calls >= at;
        assert_true(!was_called || w.calls == at);
        assert_true(!was_called || w.on_closed == 1);
        cw_finish(&w);
      }
      assert_true(at > 20);
    }
  }
}
