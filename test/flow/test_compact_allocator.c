/* SPDX-License-Identifier: MIT */

/* Compact storage with an allocator that belongs to the loop's thread: the pool,
 * where dictionaries are made, does not call it. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include <kin/kin.h>
#include <kin/testing/fake_source.h>

#include "support/objects.h"

enum { OBJECTS = 3000, MAX_TURNS = 1000000 };

static struct {
  pthread_t thread;
  atomic_uint foreign; /* calls on another thread */
  unsigned blocks;
} owned;

static void note_call(void) {
  if (!pthread_equal(pthread_self(), owned.thread)) {
    atomic_fetch_add(&owned.foreign, 1);
  }
}

static void *take(void *ctx, size_t size) {
  (void)ctx;
  note_call();
  owned.blocks++;
  return malloc(size);
}

static void *resize(void *ctx, void *block, size_t old_size, size_t size) {
  (void)ctx;
  (void)old_size;
  note_call();
  owned.blocks += block == NULL;
  return realloc(block, size);
}

static void release(void *ctx, void *block) {
  (void)ctx;
  note_call();
  owned.blocks--;
  free(block);
}

static kin_object *make(int i) {
  return object_format(
      NULL,
      "{'metadata':{'name':'p%d','namespace':'n','uid':'u%d','labels':{'app':"
      "'a%d'}},'spec':{'containers':[{'name':'main','image':'registry/app:%d',"
      "'env':[{'name':'A','value':'%d'},{'name':'B','value':'something that is "
      "long "
      "enough'}]}],'nodeName':'node-%d'},'status':{'phase':'Running'},'y':1}",
      i, i, i % 7, i % 5, i, i % 11);
}

typedef struct pump {
  uv_loop_t *loop;
  kin_fake_source *source;
  kin_informer *informer;
} pump;

static bool has_dictionary(const kin_informer_metrics *metrics) {
  return metrics->dictionaries > 0;
}

static bool has_packed(const kin_informer_metrics *metrics) {
  return metrics->packed_objects >= OBJECTS;
}

static void until(const pump *p,
                  bool (*is_reached)(const kin_informer_metrics *metrics)) {
  kin_informer_metrics metrics = KIN_INFORMER_METRICS_INIT;
  for (int turns = 0; !is_reached(&metrics); turns++) {
    assert_true(turns < MAX_TURNS);
    (void)kin_fake_source_run(p->source);
    uv_run(p->loop, UV_RUN_NOWAIT);
    assert_int_equal(kin_informer_get_metrics(p->informer, &metrics), 0);
  }
}

/* The result is the informer's own object; the source's objects are not. */
static int transform(const kin_object *in, kin_object_builder *out,
                     void *data) {
  (void)in;
  (void)data;
  return kin_object_builder_remove(out, "/y");
}

static void check(bool no_memory_helper) {
  owned.thread = pthread_self();
  atomic_store(&owned.foreign, 0);
  owned.blocks = 0;
  const kin_allocator allocator = {
      .malloc = take, .realloc = resize, .free = release};
  uv_loop_t loop;
  assert_int_equal(uv_loop_init(&loop), 0);
  kin_fake_source *source;
  assert_int_equal(kin_fake_source_new(&source, NULL), 0);
  for (int i = 0; i < OBJECTS; i++) {
    kin_object *object = make(i);
    assert_int_equal(kin_fake_source_add(source, object), 0);
    kin_object_unref(object);
  }
  kin_lister_watcher lister_watcher = kin_fake_source_lister_watcher(source);

  kin_client *client;
  kin_client_options options = KIN_CLIENT_OPTIONS_INIT;
  options.server = "http://127.0.0.1:1";
  options.allocator = &allocator;
  options.no_memory_helper = no_memory_helper;
  assert_int_equal(kin_client_open(&client, &loop, &options), 0);
  kin_informer *informer;
  kin_informer_options of_pods = KIN_INFORMER_OPTIONS_INIT;
  of_pods.version = "v1";
  of_pods.plural = "pods";
  of_pods.source = &lister_watcher;
  of_pods.transform = transform;
  of_pods.compact = KIN_COMPACT_FAST;
  assert_int_equal(kin_informer_open(&informer, client, &of_pods), 0);
  assert_int_equal(kin_informer_start(informer), 0);

  pump p = {&loop, source, informer};
  until(&p, has_dictionary);
  for (int i = 0; i < OBJECTS; i++) {
    kin_object *object = make(i);
    assert_int_equal(kin_fake_source_modify(source, object), 0);
    kin_object_unref(object);
  }
  until(&p, has_packed);
  assert_int_equal(kin_client_close(client, NULL, NULL), 0);
  while (uv_run(&loop, UV_RUN_NOWAIT) != 0) {
    (void)kin_fake_source_run(source);
  }
  kin_fake_source_free(source);
  assert_int_equal(uv_loop_close(&loop), 0);
  assert_int_equal(owned.foreign, 0);
  assert_int_equal(owned.blocks, 0);
}

static void test_with_help(void **state) {
  (void)state;
  check(false);
}

static void test_without_help(void **state) {
  (void)state;
  check(true);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_with_help),
      cmocka_unit_test(test_without_help),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
