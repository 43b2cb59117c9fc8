/* SPDX-License-Identifier: MIT */

/* Finalizers and owners of a compact object whose text cannot be read for want
 * of memory: that is told, and taken for nothing else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <kin/error.h>
#include <kin/ownership.h>

#include "base/str.h"
#include "support/like_pods.h"

#define SAMPLES 64

static const char text[] =
    "{\"metadata\":{\"name\":\"web-7\",\"namespace\":\"shop\",\"uid\":\"u-7\","
    "\"resourceVersion\":\"107\",\"finalizers\":[\"example.com/f\"],"
    "\"ownerReferences\":[{\"apiVersion\":\"apps/v1\",\"kind\":\"ReplicaSet\","
    "\"name\":\"web\",\"uid\":\"u-r\",\"controller\":true}]},"
    "\"spec\":{\"nodeName\":\"node-1\",\"containers\":[{\"name\":\"c\","
    "\"image\":\"registry.example.com/shop/web:v1\",\"terminationMessagePath\":"
    "\"/dev/termination-log\",\"imagePullPolicy\":\"IfNotPresent\"}]}}";

static const kin_object_reference other = {
    .api_version = {"example.com/v1", 14},
    .kind = {"Widget", 6},
    .name = {"w", 1},
    .uid = {"u-w", 3}};

static kin_object *make_packed(like_pods *l) {
  kin_object *object;
  assert_int_equal(like_pods_make(&object, l->memory, text, sizeof text - 1),
                   0);
  assert_true(kin__object_pack(&object, NULL, l->memory, l->packer));
  assert_true(kin__object_is_packed(object));
  return object;
}

static int add(const kin_object *object, const char *finalizer) {
  char patch[512];
  size_t length;
  return kin_object_add_finalizer_patch(object, finalizer, patch, sizeof patch,
                                        &length);
}

static int take_off(const kin_object *object, const char *finalizer) {
  char patch[512];
  size_t length;
  return kin_object_remove_finalizer_patch(object, finalizer, patch,
                                           sizeof patch, &length);
}

static int own(const kin_object *object) {
  kin_object *owned;
  int err =
      kin_object_set_owner(&owned, NULL, object, &other, KIN_OWNER_CONTROLLER);
  assert_null(owned);
  return err;
}

/* No text fits while others are held. Twice. */
static void test_no_room_for_a_text(void **state) {
  (void)state;
  like_pods l;
  assert_int_equal(like_pods_init(&l, 0, 0, SAMPLES), 0);
  kin_object *object = make_packed(&l);
  kin__inflated *most =
      kin__inflated_new(l.packing, KIN__INFLATED_MAX_BYTES - 100);
  assert_non_null(most);
  for (int round = 0; round < 2; round++) {
    assert_false(kin_object_has_finalizer(object, "example.com/f"));
    assert_int_equal(add(object, "example.com/f"), KIN_ENOMEM);
    assert_int_equal(add(object, "example.com/g"), KIN_ENOMEM);
    assert_int_equal(take_off(object, "example.com/f"), KIN_ENOMEM);
    assert_int_equal(own(object), KIN_ENOMEM);
  }
  kin__inflated_free(l.packing, most);
  assert_true(kin_object_has_finalizer(object, "example.com/f"));
  assert_int_equal(add(object, "example.com/f"), KIN_EALREADY);
  assert_int_equal(take_off(object, "example.com/f"), 0);
  assert_int_equal(own(object), KIN_EEXIST);
  kin_object_unref(object);
  like_pods_finish(&l);
}

/* Whichever allocation fails: the answer is that there is no memory, or that
 * another controller owns the object. */
static bool own_without_memory(size_t fail_at) {
  like_pods l;
  assert_int_equal(like_pods_init(&l, 0, 0, SAMPLES), 0);
  kin_object *object = make_packed(&l);
  atomic_store(&l.fail.calls, 0);
  l.fail.fail_at = fail_at;
  int err = own(object);
  bool has_failed = fail_alloc_has_failed(&l.fail);
  assert_int_equal(err, has_failed ? KIN_ENOMEM : KIN_EEXIST);
  kin_object_unref(object);
  like_pods_finish(&l);
  return has_failed;
}

static void test_owner_allocations_fail(void **state) {
  (void)state;
  fail_alloc_sweep(own_without_memory, 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_no_room_for_a_text),
      cmocka_unit_test(test_owner_allocations_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
