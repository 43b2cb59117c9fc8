/* SPDX-License-Identifier: MIT */

/* NULL and wrong arguments, as in test_arguments.c: work queues and rate
 * limiters. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <kin/controllers.h>
#include <kin/testing/fake_source.h>

#include "support/idle_callbacks.h"
#include "support/objects.h"
#include "support/refused.h"

#define NO_BYTES ((kin_str){NULL, 3})

static int write_nothing(const char *text, size_t length, void *data) {
  (void)text;
  (void)length;
  (void)data;
  return 0;
}

static void test_rate_limiters(void **state) {
  (void)state;
  const kin_str key = {"a", 1};
  kin_rate_limiter_callbacks callbacks = KIN_RATE_LIMITER_CALLBACKS_INIT;
  callbacks.when_ms = wait_a_moment;
  REFUSED(kin_rate_limiter_new(NULL, NULL, &callbacks));
  REFUSED_OUT(kin_rate_limiter *, kin_rate_limiter_new(&out, NULL, NULL));
  REFUSED(kin_rate_limiter_new_exponential(NULL, NULL, 1, 1));
  REFUSED(kin_rate_limiter_new_fast_slow(NULL, NULL, 1, 1, 1));
  REFUSED(kin_rate_limiter_new_bucket(NULL, NULL, 1, 1));
  REFUSED(kin_rate_limiter_new_default(NULL, NULL));
  kin_rate_limiter *limiter;
  assert_int_equal(kin_rate_limiter_new_default(&limiter, NULL), 0);
  REFUSED(kin_rate_limiter_new_max_of(NULL, NULL, &limiter, 1));
  REFUSED_OUT(kin_rate_limiter *,
              kin_rate_limiter_new_max_of(&out, NULL, NULL, 1));
  REFUSED(kin_rate_limiter_new_max_wait(NULL, NULL, limiter, 1));
  REFUSED_OUT(kin_rate_limiter *,
              kin_rate_limiter_new_max_wait(&out, NULL, NULL, 1));
  ZERO(kin_rate_limiter_when_ms(NULL, key, 0));
  kin_rate_limiter_forget(NULL, key);
  ZERO(kin_rate_limiter_requeues(NULL, key));
  kin_rate_limiter_free(NULL);
  /* A key without bytes is the empty key. */
  assert_int_equal(kin_rate_limiter_when_ms(limiter, NO_BYTES, 0), 5);
  assert_int_equal(kin_rate_limiter_requeues(limiter, NO_BYTES), 1);
  kin_rate_limiter_forget(limiter, NO_BYTES);
  assert_int_equal(kin_rate_limiter_requeues(limiter, (kin_str){"", 0}), 0);
  const kin_allocator half = {0};
  REFUSED_OUT(kin_rate_limiter *, kin_rate_limiter_new_default(&out, &half));
  kin_rate_limiter_free(limiter);
}

static void check_queue(kin_work_queue *queue) {
  const kin_str key = {"a", 1};
  REFUSED(kin_work_queue_add(NULL, key));
  assert_int_equal(kin_work_queue_add(queue, NO_BYTES), KIN_EKEY);
  REFUSED(kin_work_queue_add_after(NULL, key, 1));
  assert_int_equal(kin_work_queue_add_after(queue, NO_BYTES, 1), KIN_EKEY);
  REFUSED(kin_work_queue_add_rate_limited(NULL, key));
  assert_int_equal(kin_work_queue_add_rate_limited(queue, NO_BYTES), KIN_EKEY);
  REFUSED(kin_work_queue_add_with_priority(NULL, key, 1, 1));
  assert_int_equal(kin_work_queue_add_with_priority(queue, NO_BYTES, 1, 1),
                   KIN_EKEY);
  kin_work_queue_forget(NULL, key);
  kin_work_queue_forget(queue, NO_BYTES);
  ZERO(kin_work_queue_requeues(NULL, key));
  ZERO(kin_work_queue_requeues(queue, NO_BYTES));
  REFUSED(kin_work_done(NULL, KIN_WORK_SUCCESS));
  REFUSED(kin_work_done_after(NULL, 1));
  kin_work_queue_shut_down(NULL);
  REFUSED(kin_work_queue_shut_down_with_drain(NULL, NULL, NULL));
  ZERO(kin_work_queue_is_shut_down(NULL));
  ZERO(kin_work_queue_is_drained(NULL));
  ZERO(kin_work_queue_count(NULL));
  kin_work_queue_metrics metrics = KIN_WORK_QUEUE_METRICS_INIT;
  REFUSED(kin_work_queue_get_metrics(NULL, &metrics));
  REFUSED(kin_work_queue_get_metrics(queue, NULL));
  REFUSED(kin_work_queue_metrics_write(NULL, 1, write_nothing, NULL));
  REFUSED(kin_work_queue_metrics_write(&queue, 1, NULL, NULL));
}

static void test_alone(void **state) {
  (void)state;
  kin_work_queue *queue;
  kin_work_queue_options options = KIN_WORK_QUEUE_OPTIONS_INIT;
  REFUSED(kin_work_queue_new(NULL, &options));
  REFUSED_OUT(kin_work_queue *, kin_work_queue_new(&out, NULL));
  const kin_allocator half = {0};
  options.allocator = &half;
  REFUSED_OUT(kin_work_queue *, kin_work_queue_new(&out, &options));
  options.allocator = NULL;
  assert_int_equal(kin_work_queue_new(&queue, &options), 0);
  REFUSED(kin_work_queue_advance(NULL, 1, NULL));
  REFUSED_OUT(const kin_work_item *, kin_work_queue_get(NULL, &out));
  REFUSED(kin_work_queue_get(queue, NULL));
  check_queue(queue);
  kin_work_queue_free(NULL);
  kin_work_queue_free(queue);
}

static void emit_nothing(const kin_object *object, kin_work_keys *keys,
                         void *data) {
  (void)object;
  *(int *)data += 1;
  assert_int_equal(kin_work_emit(keys, NO_BYTES), KIN_EKEY);
}

static void test_attached(void **state) {
  (void)state;
  uv_loop_t loop;
  kin_client *client;
  kin_fake_source *source;
  kin_informer *informer;
  kin_work_queue *queue;
  assert_int_equal(uv_loop_init(&loop), 0);
  assert_int_equal(kin_fake_source_new(&source, NULL), 0);
  kin_object *object = object_of(NULL, "{'metadata':{'name':'a','uid':'u'}}");
  assert_int_equal(kin_fake_source_add(source, object), 0);
  kin_object_unref(object);
  kin_lister_watcher lister_watcher = kin_fake_source_lister_watcher(source);
  kin_client_options client_options = KIN_CLIENT_OPTIONS_INIT;
  client_options.server = "http://127.0.0.1"; /* never asked */
  assert_int_equal(kin_client_open(&client, &loop, &client_options), 0);
  kin_informer_options informer_options = KIN_INFORMER_OPTIONS_INIT;
  informer_options.plural = "pods";
  informer_options.source = &lister_watcher;
  assert_int_equal(kin_informer_open(&informer, client, &informer_options), 0);

  kin_work_queue_options options = KIN_WORK_QUEUE_OPTIONS_INIT;
  options.worker = on_work;
  REFUSED(kin_work_queue_open(NULL, client, &options));
  REFUSED_OUT(kin_work_queue *, kin_work_queue_open(&out, NULL, &options));
  REFUSED_OUT(kin_work_queue *, kin_work_queue_open(&out, client, NULL));
  assert_int_equal(kin_work_queue_open(&queue, client, &options), 0);
  check_queue(queue);
  REFUSED(kin_work_queue_close(NULL, NULL, NULL));
  int calls = 0;
  kin_work_follow_options follow = KIN_WORK_FOLLOW_OPTIONS_INIT;
  follow.keys = emit_nothing;
  follow.data = &calls;
  REFUSED(kin_work_queue_follow(NULL, informer, &follow));
  REFUSED(kin_work_queue_follow(queue, NULL, &follow));
  REFUSED(kin_work_emit(NULL, (kin_str){"a", 1}));
  assert_int_equal(kin_work_queue_follow(queue, informer, &follow), 0);
  assert_int_equal(kin_informer_start(informer), 0);
  while (calls == 0) {
    kin_fake_source_run(source);
    uv_run(&loop, UV_RUN_NOWAIT);
  }
  assert_int_equal(kin_work_queue_close(queue, NULL, NULL), 0);
  assert_int_equal(kin_client_close(client, NULL, NULL), 0);
  assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
  assert_int_equal(uv_loop_close(&loop), 0);
  kin_fake_source_free(source);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_rate_limiters),
      cmocka_unit_test(test_alone),
      cmocka_unit_test(test_attached),
  };
  return cmocka_run_group_tests_name("arguments of work queues", tests, NULL,
                                     NULL);
}
