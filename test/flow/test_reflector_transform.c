/* SPDX-License-Identifier: MIT */

/* A reflector that writes to what transforms. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/str.h"
#include "support/queue_rig.h"
#include "support/reflector_rig.h"
#include "support/store_rig.h"
#include "support/targets.h"

static int mark(const kin_object *in, kin_object_builder *out, void *data) {
  (void)in;
  ++*(unsigned *)data;
  return kin_object_builder_set_string(out, "/metadata/labels/users", "yes");
}

static void run_reflector(kin_reflector_store store) {
  reflector_rig f;
  reflector_rig_init(&f, 0);
  f.store = store;
  assert_int_equal(reflector_rig_open(&f), 0);
  hand_source_list(&f.source, "a@1 b@2", "5");
  hand_source_event(&f.source, KIN_WATCH_ADDED, "c@6");
  hand_source_event(&f.source, KIN_WATCH_MODIFIED, "b@7");
  hand_source_event(&f.source, KIN_WATCH_DELETED, "a@8");
  assert_int_equal(f.errors, 0);
  reflector_rig_finish(&f);
}

/* client-go TestReflectorRespectStoreTransformer; DF-10, DF-15, RF-16, WL-10,
 * NR-03: what it writes has been transformed by the store once, since nothing
 * is gathered in a store of its own before. */
static void test_into_a_transforming_store(void **state) {
  (void)state;
  unsigned calls = 0;
  store_rig f;
  store_rig_setup_with(&f, mark, &calls);
  run_reflector(store_target(f.store));
  assert_users(f.store, "b=yes c=yes");
  assert_store_version(f.store, "8");
  assert_int_equal(calls, 4);
  store_rig_teardown(&f);
}

/* The same of queues; of the last states, too. */
static void test_into_transforming_queues(void **state) {
  (void)state;
  static const struct {
    rig_kind kind;
    unsigned calls;
    const char *items; /* a ' for each time that the transform has seen it */
  } cases[] = {
      {RIG_DELTA, 5, "S:a@1' D:a@8' | S:b@2' U:b@7' | A:c@6'"},
      {RIG_IN_ORDER, 5, "R*(a@1',b@2')#5 | A:c@6' | U:b@7' | D:a@8'"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    queue_rig q;
    queue_rig_init(&q);
    queue_rig_transform(&q);
    queue_rig_open(&q, cases[i].kind);
    run_reflector(queue_target(q.queue));
    assert_int_equal(q.transforms, cases[i].calls);
    queue_rig_drain(&q, cases[i].items);
    queue_rig_close(&q);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_into_a_transforming_store),
      cmocka_unit_test(test_into_transforming_queues),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
