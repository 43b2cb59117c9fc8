/* SPDX-License-Identifier: MIT */

/* When a pause of max_bytes is over: the bound that was reached has room again,
 * whatever made the room. Proves RW-10 for informers that were paused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <kin/object_builder.h>

#include "support/informer_world.h"

enum { PADDING = 1000, EACH = 10 };

static iw_world w;
static kin__byte_bound clients; /* the client's bound */

static void put(int from, int to) {
  for (int i = from; i < to; i++) {
    w.server.padding[i] = PADDING;
    mini_put(&w.server, i);
  }
}

static uint64_t cached_bytes(void) {
  return kin_store_bytes(kin_informer_store(w.informer));
}

static kin_informer_options init(void) {
  clients = (kin__byte_bound){0};
  iw_init(&w, 0);
  w.script.env.object_bytes = &clients;
  put(0, EACH);
  kin_informer_options options = iw_options(&w);
  options.on_max_bytes = iw_on_max_bytes;
  return options;
}

static void set_bound(uint64_t max_bytes) {
  assert_int_equal(kin_informer_set_max_bytes(w.informer, max_bytes), 0);
}

/* The cache is there, and the informer's own bound leaves room for one object,
 * but no eighth. */
static void open_nearly_full(const kin_informer_options *options) {
  assert_int_equal(iw_open(&w, options), 0);
  mini_pass(&w.server, 1000);
  set_bound(cached_bytes() * 112 / 100);
}

/* The same, and one more object comes, for which the client's bound has no
 * room. */
static void exceed_clients(const kin_informer_options *options) {
  open_nearly_full(options);
  clients.max = clients.used + 10;
  put(EACH, EACH + 1);
  mini_pass(&w.server, 5000);
}

static void expect_paused(kin_memory_bound expected) {
  assert_int_equal(w.asked, 1);
  assert_int_equal(w.question.bound, expected);
  assert_int_equal(iw_status(&w, "").memory_state, KIN_MEMORY_STATE_PAUSED);
  mini_pass(&w.server, 300000);
  assert_int_equal(iw_status(&w, "").memory_state, KIN_MEMORY_STATE_PAUSED);
}

static void expect_live(void) {
  mini_pass(&w.server, 61000);
  assert_int_equal(iw_status(&w, "").memory_state, KIN_MEMORY_STATE_WHOLE);
  assert_int_equal(iw_status(&w, "").state, KIN_STATE_LIVE);
  assert_int_equal(iw_metrics(&w).bounded_bytes, cached_bytes());
  iw_assert_truth(&w);
}

/* --- Two bounds ----------------------------------------------------------- */

/* The informer's own bound has refused nothing, so no eighth of it need be
 * free. */
static void test_client_bound_is_lifted(void **state) {
  (void)state;
  kin_informer_options options = init();
  exceed_clients(&options);
  expect_paused(KIN_MEMORY_BOUND_CLIENT);
  clients.max = 0; /* as kin_client_set_max_bytes */
  expect_live();
  assert_int_equal(w.asked, 1);
  iw_finish(&w);
}

/* The same with the bounds the other way round. */
static void test_client_is_nearly_full(void **state) {
  (void)state;
  kin_informer_options options = init();
  open_nearly_full(&options);
  set_bound(cached_bytes() + 10);
  put(EACH, EACH + 1);
  mini_pass(&w.server, 5000);
  expect_paused(KIN_MEMORY_BOUND_INFORMER);
  clients.max = clients.used * 112 / 100;
  w.informer->max_bytes.own.max = 0; /* without what set_max_bytes does */
  expect_live();
  iw_finish(&w);
}

/* An object that the informer's own bound has no room for waits for it, too. */
static void test_own_bound_refuses(void **state) {
  (void)state;
  kin_informer_options options = init();
  exceed_clients(&options);
  w.informer->max_bytes.own.max = cached_bytes() + 10;
  clients.max = 0;
  expect_paused(KIN_MEMORY_BOUND_CLIENT);
  set_bound(0);
  expect_live();
  iw_finish(&w);
}

static void lift_bound(kin_informer *informer, kin_error_event *event,
                       void *data) {
  iw_on_error(informer, event, data);
  clients.max = 0;
}

/* Then there is nothing to ask. */
static void test_lifted_before_the_question(void **state) {
  (void)state;
  kin_informer_options options = init();
  options.on_error = lift_bound;
  exceed_clients(&options);
  assert_int_equal(w.last_code, KIN_EMAXBYTES);
  assert_int_equal(w.asked, 0);
  expect_live();
  iw_finish(&w);
}

/* --- The program's own writes --------------------------------------------- */

static void delete_all(void) {
  kin_store *store = kin_informer_store(w.informer);
  kin_cursor cursor = {0};
  const kin_object *object;
  while ((object = kin_store_next(store, &cursor)) != NULL) {
    assert_int_equal(kin_store_delete(store, kin_object_key(object)), 0);
  }
}

/* The program makes the room itself. No event comes that would tell. */
static void test_program_deletes(void **state) {
  (void)state;
  for (int is_client = 0; is_client < 2; is_client++) {
    kin_informer_options options = init();
    open_nearly_full(&options);
    set_bound(is_client ? 0 : cached_bytes() + 10);
    clients.max = is_client ? cached_bytes() + 10 : 0;
    put(EACH, EACH + 1);
    mini_pass(&w.server, 5000);
    expect_paused(is_client ? KIN_MEMORY_BOUND_CLIENT
                            : KIN_MEMORY_BOUND_INFORMER);
    delete_all();
    mini_pass(&w.server, 61000);
    assert_int_equal(iw_status(&w, "").memory_state, KIN_MEMORY_STATE_WHOLE);
    assert_int_equal(iw_status(&w, "").state, KIN_STATE_LIVE);
    assert_int_equal(kin_store_count(kin_informer_store(w.informer)), 1);
    assert_int_equal(iw_metrics(&w).bounded_bytes, cached_bytes());
    assert_int_equal(clients.used, cached_bytes());
    iw_finish(&w);
  }
}

static void put_own(int i) {
  char json[3 * PADDING];
  int length = snprintf(json, sizeof json,
                        "{\"metadata\":{\"name\":\"own%d\",\"namespace\":"
                        "\"even\",\"uid\":\"o%d\","
                        "\"resourceVersion\":\"5\"},\"x\":\"%*s\"}",
                        i, i, 2 * PADDING, "");
  assert_true(length > 0 && (size_t)length < sizeof json);
  kin_object_builder *builder;
  kin_object *object;
  assert_int_equal(kin_object_builder_new(&builder, NULL, NULL), 0);
  kin_object_builder_set_json(builder, "", json, (size_t)length);
  assert_int_equal(kin_object_builder_finish(builder, &object), 0);
  assert_int_equal(kin_store_put(kin_informer_store(w.informer), object), 0);
  kin_object_unref(object);
}

/* The informer keeps keys only; then the program puts whole objects. The same
 * answer makes room of these. Then no body is left, and it is a pause. */
static void test_program_puts_bodies(void **state) {
  (void)state;
  kin_informer_options options = init();
  w.decision = KIN_MEMORY_DROP_BODIES;
  options.max_bytes = EACH / 2 * PADDING;
  assert_int_equal(iw_open(&w, &options), 0);
  mini_pass(&w.server, 120000);
  assert_int_equal(w.asked, 1);
  assert_int_equal(kin_store_count(kin_informer_store(w.informer)), EACH);
  for (int i = 0; i < 3; i++) {
    put_own(i);
  }
  for (int i = EACH; i < EACH + 2; i++) { /* the first counts the puts */
    put(i, i + 1);
    mini_pass(&w.server, 120000);
  }
  assert_int_equal(w.asked, 2);
  assert_int_equal(kin_store_count(kin_informer_store(w.informer)),
                   EACH + 3 + 2);
  assert_int_equal(iw_status(&w, "").memory_state, KIN_MEMORY_STATE_KEYS_ONLY);
  assert_int_equal(iw_status(&w, "").state, KIN_STATE_LIVE);

  w.informer->max_bytes.own.max = cached_bytes() + 10;
  put(EACH + 2, EACH + 3);
  mini_pass(&w.server, 300000);
  assert_int_equal(w.asked, 3);
  assert_int_equal(iw_status(&w, "").memory_state, KIN_MEMORY_STATE_PAUSED);
  iw_finish(&w);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_client_bound_is_lifted),
      cmocka_unit_test(test_client_is_nearly_full),
      cmocka_unit_test(test_own_bound_refuses),
      cmocka_unit_test(test_lifted_before_the_question),
      cmocka_unit_test(test_program_deletes),
      cmocka_unit_test(test_program_puts_bodies),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
