/* SPDX-License-Identifier: MIT */
#ifndef KIN_TEST_TARGETS_H
#define KIN_TEST_TARGETS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <kin/reflector_store.h>

/* The targets of reflectors as values. */

static inline kin_reflector_store store_target(kin_store *store) {
  kin_reflector_store target = KIN_REFLECTOR_STORE_INIT;
  assert_int_equal(kin_store_reflector_store(store, &target), 0);
  return target;
}

static inline kin_reflector_store queue_target(kin_queue *queue) {
  kin_reflector_store target = KIN_REFLECTOR_STORE_INIT;
  assert_int_equal(kin_queue_reflector_store(queue, &target), 0);
  return target;
}

#endif /* KIN_TEST_TARGETS_H */
