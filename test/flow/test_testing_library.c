/* SPDX-License-Identifier: MIT */

/* A test as a program's own would be: public headers, the shared library and
 * kinformer-testing only, on a real loop. NR-15. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include <kin/kin.h>
#include <kin/testing/fake_source.h>

typedef struct program {
  kin_fake_source *source;
  uv_idle_t pump; /* runs while the source has something to feed */
  uv_loop_t loop;
  kin_client *client;
  int adds;
  int deletes;
} program;

static void on_pump(uv_idle_t *pump) {
  uv_idle_stop(pump);
  kin_fake_source_run(((program *)pump->data)->source);
}

static void on_wake(void *data) {
  uv_idle_start(&((program *)data)->pump, on_pump);
}

static void on_add(kin_informer *informer, const kin_event *event, void *data) {
  (void)informer;
  (void)event;
  ((program *)data)->adds++;
}

static void on_delete(kin_informer *informer, const kin_event *event,
                      void *data) {
  program *p = data;
  (void)informer;
  assert_int_equal(event->reason, KIN_DELETE_WATCH);
  p->deletes++;
  assert_int_equal(kin_client_close(p->client, NULL, NULL), 0);
  uv_close((uv_handle_t *)&p->pump, NULL);
}

static void on_synced(kin_informer *informer, const kin_event *event,
                      void *data) {
  program *p = data;
  (void)informer;
  assert_int_equal(event->objects, 1);
  const kin_object *object = kin_fake_source_get(p->source, "ns/a");
  assert_int_equal(kin_fake_source_delete(p->source, object), 0);
}

/* The source says when there is something to do, and the loop ends by
 * itself. */
static void test_informer_on_a_loop(void **state) {
  (void)state;
  static const char text[] =
      "{\"metadata\":{\"namespace\":\"ns\",\"name\":\"a\",\"uid\":\"u\"}}";
  program p = {0};
  assert_int_equal(uv_loop_init(&p.loop), 0);
  assert_int_equal(uv_idle_init(&p.loop, &p.pump), 0);
  p.pump.data = &p;
  kin_fake_source_options so = KIN_FAKE_SOURCE_OPTIONS_INIT;
  so.wake = on_wake;
  so.data = &p;
  assert_int_equal(kin_fake_source_new(&p.source, &so), 0);
  kin_object *object;
  assert_int_equal(kin_object_parse(&object, NULL, text, sizeof text - 1), 0);
  assert_int_equal(kin_fake_source_add(p.source, object), 0);
  kin_object_unref(object);
  kin_client_options co = KIN_CLIENT_OPTIONS_INIT;
  co.server = "http://127.0.0.1"; /* never asked */
  assert_int_equal(kin_client_open(&p.client, &p.loop, &co), 0);
  kin_lister_watcher source = kin_fake_source_lister_watcher(p.source);
  kin_informer_options io = KIN_INFORMER_OPTIONS_INIT;
  io.plural = "pods";
  io.source = &source;
  kin_informer *informer;
  assert_int_equal(kin_informer_open(&informer, p.client, &io), 0);
  kin_listener_options lo = KIN_LISTENER_OPTIONS_INIT;
  lo.on_add = on_add;
  lo.on_delete = on_delete;
  lo.on_synced = on_synced;
  lo.data = &p;
  assert_int_equal(kin_informer_listen(informer, &lo, NULL), 0);
  assert_int_equal(kin_informer_start(informer), 0);
  assert_int_equal(uv_run(&p.loop, UV_RUN_DEFAULT), 0);
  assert_int_equal(p.adds, 1);
  assert_int_equal(p.deletes, 1);
  assert_int_equal(uv_loop_close(&p.loop), 0);
  kin_fake_source_free(p.source);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_informer_on_a_loop),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
