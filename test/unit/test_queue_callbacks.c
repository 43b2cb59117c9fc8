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

#include "base/str.h"
#include "support/objects.h"
#include "support/queue_rig.h"

/* What all queues do with calls from inside their callbacks. See
 * support/queue_rig.h for the notation. */

static const rig_kind kinds[] = {RIG_FIFO, RIG_DELTA, RIG_IN_ORDER};
#define KINDS (sizeof kinds / sizeof kinds[0])

static void try_everything(queue_rig *rig, kin_queue_item *item) {
  rig->during = NULL;
  char text[64];
  queue_rig_describe(text, sizeof text, &item->deltas);
  static const char *const refused[] = {"P", "T", "S", "R:a@9"};
  for (size_t i = 0; i < 4; i++) {
    assert_int_equal(queue_rig_try(rig, refused[i]), KIN_EALREADY);
  }
  queue_rig_do(rig, "A:new@1 U:other@1 D:other@2 X:foo@- I:third@1 B:5 C");
  assert_true(kin_queue_is_closed(rig->queue));
  char again[64];
  queue_rig_describe(again, sizeof again, &item->deltas);
  assert_string_equal(text, again); /* not what is queued now */
}

/* A process callback may change the queue, but not pop or take it as a whole;
 * nothing is processed inside of it. */
static void test_queue_callbacks_nested_calls(void **state) {
  (void)state;
  static const char *const left[] = {
      "A:bar@1 | A:new@1 | A:third@1",
      "A:bar@1 | A:new@1 | U:other@1 D:other@2 | A:third@1",
      "A:bar@1 | A:new@1 | U:other@1 | D:other@2 | X:foo@- | A:third@1",
  };
  for (size_t kind = 0; kind < KINDS; kind++) {
    queue_rig rig;
    queue_rig_open_simple(&rig, kinds[kind], NULL);
    queue_rig_do(&rig, "A:foo@1 A:bar@1");
    rig.during = try_everything;
    queue_rig_do(&rig, "P");
    assert_string_equal(rig.log, "A:foo@1");
    assert_int_equal(rig.processed, 1);
    queue_rig_drain(&rig, left[kind]);
    queue_rig_close(&rig);
  }
}

/* Pure callbacks that are not: they are refused, and do no harm. FF-03: a list
 * discards what a FIFO has queued, as ever. */
static struct {
  queue_rig *rig;
  unsigned calls;
} impure;

static void call_back(void) {
  static const char *const refused[] = {"A:x@1", "U:x@1",   "D:x@1", "X:x@-",
                                        "I:x@1", "R:x@1#1", "S",     "B:1",
                                        "P",     "T"};
  impure.calls++;
  for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
    assert_int_equal(queue_rig_try(impure.rig, refused[i]), KIN_EALREADY);
  }
}

static int impure_transform(const kin_object *in, kin_object_builder *out,
                            void *data) {
  (void)in;
  (void)out;
  (void)data;
  call_back();
  return 0;
}

static int impure_get(void *ctx, kin_str key, const kin_object **object) {
  (void)ctx;
  (void)key;
  call_back();
  *object = NULL;
  return 0;
}

static bool impure_next(void *ctx, uintptr_t *place, kin_str *key) {
  (void)ctx;
  call_back();
  *key = KIN__LIT("gone");
  return (*place)++ == 0;
}

static void test_queue_callbacks_pure_callbacks(void **state) {
  (void)state;
  static const char *const left[] = {
      "R:b@1",
      "A:a@1 X:a@1 | S:b@1 | X:gone@-",
      "A:a@1 | D:zab@1 | X:a@1 | X:gone@- | R:b@1",
  };
  for (size_t kind = 0; kind < KINDS; kind++) {
    queue_rig rig;
    queue_rig_init(&rig);
    rig.options.transform = impure_transform;
    if (kinds[kind] != RIG_FIFO) {
      rig.options.known = (kin_known_objects){impure_get, impure_next, NULL};
    }
    queue_rig_open(&rig, kinds[kind]);
    impure.rig = &rig;
    impure.calls = 0;
    queue_rig_do(&rig, "A:a@1 D:zab@1 S R:b@1");
    assert_true(impure.calls >= 2);
    queue_rig_drain(&rig, left[kind]);
    queue_rig_close(&rig);
  }
}

static int bad_transform(const kin_object *in, kin_object_builder *out,
                         void *data) {
  (void)in;
  return kin_object_builder_set_string(out, data, "bar");
}

/* DF-10: a transform leaves the key as it is: it was taken before, and nobody
 * would find the object under another one. */
static void test_queue_callbacks_bad_transform(void **state) {
  (void)state;
  static const struct {
    const char *pointer;
    int err;
  } cases[] = {
      {"/metadata/name", KIN_EINVAL}, {"metadata", KIN_EINVAL}, {"/x", 0}};
  static const char *const operations[] = {"A:foo@1", "U:foo@1", "R:foo@1"};
  for (size_t kind = 0; kind < KINDS; kind++) {
    for (size_t i = 0; i < 3; i++) {
      queue_rig rig;
      queue_rig_init(&rig);
      rig.options.transform = bad_transform;
      rig.options.on_synced = NULL;
      rig.options.data = (void *)cases[i].pointer;
      queue_rig_open(&rig, kinds[kind]);
      for (size_t k = 0; k < 3; k++) {
        assert_int_equal(queue_rig_try(&rig, operations[k]), cases[i].err);
      }
      assert_int_equal(kin_queue_count(rig.queue) == 0, cases[i].err != 0);
      queue_rig_close(&rig);
    }
  }
}

static void free_queue(queue_rig *rig, kin_queue_item *item) {
  kin_queue_free(rig->queue);
  char text[256]; /* the item is there until the callback returns */
  queue_rig_describe(text, sizeof text, &item->deltas);
  assert_non_null(strstr(text, "foo@1"));
}

/* A queue may be freed while it processes: it goes when the pop returns. */
static void test_queue_callbacks_free_while_processing(void **state) {
  (void)state;
  static const char *const pops[] = {"P", "T"};
  for (size_t kind = 0; kind < KINDS; kind++) {
    for (int i = 0; i < 8; i++) {
      queue_rig rig;
      queue_rig_open_simple(&rig, kinds[kind], NULL);
      queue_rig_do(&rig, i / 4 ? "A:foo@1 A:bar@1" : "R:foo@1#1");
      rig.during = free_queue;
      rig.requeue = i % 2;
      rig.result = KIN_EHTTP;
      assert_int_equal(queue_rig_try(&rig, pops[i / 2 % 2]), KIN_EHTTP);
      assert_int_equal(rig.told, i / 4 ? 1 : 0);
      rig.queue = NULL;
      queue_rig_close(&rig);
    }
  }
}

static struct {
  int told;
  int processed;
  bool frees;
} at_sync;

static int count_item(kin_queue *queue, kin_queue_item *item, void *data) {
  (void)queue;
  (void)item;
  (void)data;
  at_sync.processed++;
  return 0;
}

static void use_everything(kin_queue *queue, void *data) {
  (void)data;
  at_sync.told++;
  kin_object *object = object_keyed(NULL, "foo", 9);
  const kin_object *list[] = {object};
  assert_int_equal(kin_queue_add(queue, object), 0);
  assert_int_equal(kin_queue_pop(queue, count_item, NULL), 0);
  assert_int_equal(kin_queue_replace(queue, list, 1, KIN__LIT("9")), 0);
  assert_int_equal(kin_queue_resync(queue), 0);
  assert_int_equal(kin_queue_pop_batch(queue, count_item, count_item, NULL), 0);
  kin_object_unref(object);
  if (at_sync.frees) {
    kin_queue_free(queue);
  }
}

/* DF-15: told once, from whichever call it was, when that is done; anything may
 * be called from there. */
static void test_queue_callbacks_on_synced(void **state) {
  (void)state;
  static const char *const operations[] = {"A:a@1", "R:", "R:a@1 P", "D:a@1",
                                           "I:a@1"};
  for (size_t kind = 0; kind < KINDS; kind++) {
    for (int i = 0; i < 10; i++) {
      queue_rig rig;
      queue_rig_init(&rig);
      rig.options.on_synced = use_everything;
      queue_rig_open(&rig, kinds[kind]);
      at_sync.told = at_sync.processed = 0;
      at_sync.frees = i / 5 != 0;
      queue_rig_do(&rig, operations[i % 5]);
      bool is_one_change = kinds[kind] == RIG_IN_ORDER && i % 5 == 1;
      assert_int_equal(at_sync.told, is_one_change ? 0 : 1);
      assert_int_equal(at_sync.processed, is_one_change ? 0 : 2);
      if (at_sync.frees && at_sync.told > 0) {
        rig.queue = NULL;
      }
      queue_rig_close(&rig);
    }
  }
}

static void check_synced_later(queue_rig *rig, kin_queue_item *item) {
  (void)item;
  rig->during = NULL;
  queue_rig_do(rig, "A:b@1"); /* a call inside tells nothing */
  assert_int_equal(rig->told, 0);
}

static void test_queue_callbacks_synced_is_told_at_the_end(void **state) {
  (void)state;
  for (size_t kind = 0; kind < KINDS; kind++) {
    queue_rig rig;
    queue_rig_open_simple(&rig, kinds[kind], NULL);
    queue_rig_do(&rig, "R:a@1");
    rig.during = check_synced_later;
    queue_rig_do(&rig, "P");
    assert_int_equal(rig.told, 1);
    queue_rig_close(&rig);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_queue_callbacks_nested_calls),
      cmocka_unit_test(test_queue_callbacks_pure_callbacks),
      cmocka_unit_test(test_queue_callbacks_bad_transform),
      cmocka_unit_test(test_queue_callbacks_free_while_processing),
      cmocka_unit_test(test_queue_callbacks_on_synced),
      cmocka_unit_test(test_queue_callbacks_synced_is_told_at_the_end),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
