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
#include <kin/handler.h>

#include "base/alloc.h"
#include "base/str.h"
#include "queue/delta_fifo.h"
#include "support/fail_alloc.h"
#include "support/objects.h"

/* Deltas are written as "A1 U2 D3 R4 S5": type and version; a tombstone's D is
 * an X. A pop is written "key: deltas". */

static const kin__hash_seed seed = {1, 2};

typedef struct fixture {
  fail_alloc memory;
  kin__delta_fifo fifo;
  const char *known; /* keys, each between blanks; NULL: no known objects */
  unsigned asked;    /* calls of is_known */
} fixture;

static void setup(fixture *f) {
  *f = (fixture){0};
  fail_alloc_init(&f->memory, 0);
  kin__delta_fifo_init(&f->fifo, &f->memory.allocator, seed);
  assert_int_equal(f->memory.calls, 0);
}

static void teardown(fixture *f) {
  kin__delta_fifo_finish(&f->fifo);
  assert_int_equal(f->memory.live_blocks, 0);
}

static bool is_known(void *ctx, kin_str key, uint32_t hash) {
  fixture *f = ctx;
  f->asked++;
  assert_int_equal(hash, kin__hash(&seed, key));
  char wanted[64];
  snprintf(wanted, sizeof wanted, " " KIN_STR_FORMAT " ", KIN_STR_ARG(key));
  return strstr(f->known, wanted) != NULL;
}

static void set_known(fixture *f, const char *keys) {
  f->known = keys;
  f->fifo.is_known = is_known;
  f->fifo.ctx = f;
}

static kin_delta_type type_of(char letter) {
  switch (letter) {
  case 'A':
    return KIN_DELTA_ADDED;
  case 'U':
    return KIN_DELTA_UPDATED;
  case 'R':
    return KIN_DELTA_REPLACED;
  case 'S':
    return KIN_DELTA_SYNC;
  default:
    return KIN_DELTA_DELETED;
  }
}

/* Pushes one delta, such as "A", for a key. */
static int try_push(fixture *f, char letter, const char *key,
                    unsigned version) {
  kin_object *object = object_keyed(NULL, key, version);
  kin__delta delta = {.object = object,
                      .type = (uint8_t)type_of(letter),
                      .is_tombstone = letter == 'X'};
  int err = kin__delta_fifo_push(&f->fifo, &delta);
  kin_object_unref(object); /* the queue has its own reference */
  return err;
}

static void push(fixture *f, char letter, const char *key, unsigned version) {
  assert_int_equal(try_push(f, letter, key, version), 0);
}

static void describe(char *to, size_t size, const kin__deltas *deltas) {
  kin_str key = kin_object_key(deltas->items[0].object);
  size_t at = (size_t)snprintf(to, size, KIN_STR_FORMAT ":", KIN_STR_ARG(key));
  for (uint32_t i = 0; i < deltas->count; i++) {
    const kin__delta *d = &deltas->items[i];
    assert_true(kin__str_equal(kin_object_key(d->object), key));
    kin_str version = kin_object_resource_version(d->object);
    char letter = d->is_tombstone ? 'X' : "?AUDRS"[d->type];
    at += (size_t)snprintf(to + at, size - at, " %c" KIN_STR_FORMAT, letter,
                           KIN_STR_ARG(version));
  }
  assert_int_equal(deltas->hash, kin__hash(&seed, key));
}

static void assert_pop(fixture *f, const char *expected) {
  kin__deltas deltas;
  uint32_t id;
  size_t depth = f->fifo.depth;
  assert_true(kin__delta_fifo_take_out(&f->fifo, &id, &deltas));
  char text[256];
  describe(text, sizeof text, &deltas);
  assert_string_equal(text, expected);
  assert_int_equal(f->fifo.depth, depth - 1);
  assert_false(
      kin__delta_fifo_has(&f->fifo, kin_object_key(deltas.items[0].object)));
  kin__delta_fifo_release(&f->fifo, id);
}

static void assert_empty(fixture *f) {
  kin__deltas deltas;
  uint32_t id;
  assert_false(kin__delta_fifo_take_out(&f->fifo, &id, &deltas));
  assert_int_equal(deltas.count, 0);
  assert_false(kin__delta_fifo_peek(&f->fifo, &deltas));
  assert_int_equal(f->fifo.depth, 0);
  assert_int_equal(f->fifo.deltas, 0);
  kin__delta_fifo_drop(&f->fifo); /* nothing */
}

static bool has(const fixture *f, const char *key) {
  return kin__delta_fifo_has(&f->fifo, kin__cstr(key));
}

/* client-go TestDeltaFIFO_basic; DF-01: keys come out in the order in which
 * they went in. */
static void test_delta_fifo_is_in_order(void **state) {
  (void)state;
  enum { COUNT = 3000 };
  fixture f;
  setup(&f);
  assert_empty(&f);
  for (unsigned i = 0; i < COUNT; i++) {
    char key[16];
    snprintf(key, sizeof key, "a%u", i);
    push(&f, 'A', key, i + 1);
    snprintf(key, sizeof key, "ns/b%u", i);
    push(&f, 'U', key, i + 1);
  }
  assert_int_equal(f.fifo.depth, 2 * COUNT);
  for (unsigned i = 0; i < COUNT; i++) {
    char expected[32];
    snprintf(expected, sizeof expected, "a%u: A%u", i, i + 1);
    assert_pop(&f, expected);
    snprintf(expected, sizeof expected, "ns/b%u: U%u", i, i + 1);
    assert_pop(&f, expected);
  }
  assert_empty(&f);
  teardown(&f);
}

/* client-go TestDeltaFIFO_addUpdate; DF-01, DF-02: a key is queued once, with
 * all its deltas, oldest first; the type tells what was done. */
static void test_delta_fifo_collects_deltas(void **state) {
  (void)state;
  fixture f;
  setup(&f);
  push(&f, 'A', "foo", 10);
  push(&f, 'U', "foo", 12);
  push(&f, 'A', "foo", 13);
  push(&f, 'U', "foo", 15);
  assert_true(has(&f, "foo"));
  assert_int_equal(f.fifo.depth, 1);
  assert_pop(&f, "foo: A10 U12 A13 U15");
  assert_empty(&f);
  assert_false(has(&f, "foo"));
  teardown(&f);
}

/* client-go TestDeltaFIFO_detectLineJumpers; DF-01. */
static void test_delta_fifo_nobody_jumps_the_queue(void **state) {
  (void)state;
  fixture f;
  setup(&f);
  push(&f, 'A', "foo", 10);
  push(&f, 'A', "bar", 1);
  push(&f, 'U', "foo", 11);
  push(&f, 'A', "foo", 13);
  push(&f, 'A', "zab", 30);
  assert_pop(&f, "foo: A10 U11 A13");
  push(&f, 'A', "foo", 14); /* behind the others now */
  assert_pop(&f, "bar: A1");
  assert_pop(&f, "zab: A30");
  assert_pop(&f, "foo: A14");
  teardown(&f);
}

/* Keys with one and the same hash are two keys. */
static void test_delta_fifo_keys_that_collide(void **state) {
  (void)state;
  assert_int_equal(kin__hash(&seed, KIN__LIT("k9361")),
                   kin__hash(&seed, KIN__LIT("k20366")));
  fixture f;
  setup(&f);
  push(&f, 'A', "k9361", 1);
  assert_false(has(&f, "k20366"));
  push(&f, 'A', "k20366", 2);
  push(&f, 'U', "k9361", 3);
  push(&f, 'U', "k20366", 4);
  assert_pop(&f, "k9361: A1 U3");
  assert_true(has(&f, "k20366"));
  assert_pop(&f, "k20366: A2 U4");
  assert_empty(&f);
  teardown(&f);
}

/* client-go TestDeltaFIFO_enqueueingNoLister; DF-02, DF-03: without known
 * objects a deletion counts only for a key that is queued. */
static void test_delta_fifo_deletes_without_known_objects(void **state) {
  (void)state;
  fixture f;
  setup(&f);
  push(&f, 'A', "foo", 10);
  push(&f, 'U', "bar", 15);
  push(&f, 'A', "qux", 17);
  push(&f, 'D', "qux", 18);
  push(&f, 'D', "baz", 20); /* nobody has it */
  assert_false(has(&f, "baz"));
  assert_pop(&f, "foo: A10");
  assert_pop(&f, "bar: U15");
  assert_pop(&f, "qux: A17 D18");
  assert_empty(&f);
  teardown(&f);
}

/* client-go TestDeltaFIFO_enqueueingWithLister; DF-03: known is asked only
 * about deletions of keys that are not queued. */
static void test_delta_fifo_deletes_with_known_objects(void **state) {
  (void)state;
  fixture f;
  setup(&f);
  set_known(&f, " foo bar baz ");
  push(&f, 'A', "foo", 10);
  push(&f, 'U', "bar", 15);
  assert_int_equal(f.asked, 0);
  push(&f, 'D', "baz", 20);
  assert_int_equal(f.asked, 1);
  push(&f, 'D', "foo", 11);
  assert_int_equal(f.asked, 1);
  push(&f, 'D', "zab", 30);
  assert_int_equal(f.asked, 2);
  assert_pop(&f, "foo: A10 D11");
  assert_pop(&f, "bar: U15");
  assert_pop(&f, "baz: D20");
  assert_empty(&f);
  teardown(&f);
}

/* client-go TestDeltaFIFO_DeleteExistingNonPropagated; DF-03: a deletion of
 * what is only queued is kept, though nobody knows the object. */
static void test_delta_fifo_deletes_what_is_only_queued(void **state) {
  (void)state;
  fixture f;
  setup(&f);
  set_known(&f, " ");
  push(&f, 'A', "foo", 1);
  push(&f, 'D', "foo", 2);
  assert_pop(&f, "foo: A1 D2");
  push(&f, 'D', "foo", 3);
  assert_empty(&f);
  teardown(&f);
}

/* client-go TestDeltaFIFO_addReplace, TestDeltaFIFO_ReplaceDeltaType and
 * TestDeltaFIFO_replaceWithDeleteDeltaIn; DF-05, DF-14: a listed object is
 * appended, also to a deletion, and can be told from a resynced one. */
static void test_delta_fifo_replaced_is_appended(void **state) {
  (void)state;
  fixture f;
  setup(&f);
  set_known(&f, " foo ");
  push(&f, 'A', "foo", 10);
  push(&f, 'R', "foo", 15);
  assert_pop(&f, "foo: A10 R15");
  push(&f, 'D', "foo", 16);
  push(&f, 'R', "foo", 17);
  assert_pop(&f, "foo: D16 R17");
  push(&f, 'D', "foo", 18);
  push(&f, 'A', "foo", 19);
  push(&f, 'R', "foo", 20);
  assert_pop(&f, "foo: D18 A19 R20");
  push(&f, 'R', "foo", 21);
  push(&f, 'S', "foo", 21);
  assert_pop(&f, "foo: R21 S21");
  teardown(&f);
}

/* Everything a delta says comes out as it went in. */
static void test_delta_fifo_keeps_all_fields(void **state) {
  (void)state;
  fixture f;
  setup(&f);
  set_known(&f, " foo ");
  kin_object *object = object_keyed(NULL, "foo", 1);
  const kin__delta deltas[] = {
      {object, 7, 3, KIN_DELTA_REPLACED, 0, false, true},
      {object, 8, 4, KIN_DELTA_DELETED, KIN_DELETE_RELIST, true, false},
      {object, 9, 5, KIN_DELTA_ADDED, 0, false, false},
  };
  for (size_t count = 1; count <= 3; count++) {
    for (size_t i = 0; i < count; i++) {
      assert_int_equal(kin__delta_fifo_push(&f.fifo, &deltas[i]), 0);
    }
    kin__deltas popped;
    uint32_t id;
    assert_true(kin__delta_fifo_take_out(&f.fifo, &id, &popped));
    assert_int_equal(popped.count, count);
    for (size_t i = 0; i < count; i++) {
      assert_ptr_equal(popped.items[i].object, object);
      assert_int_equal(popped.items[i].generation, deltas[i].generation);
      assert_int_equal(popped.items[i].scope, deltas[i].scope);
      assert_int_equal(popped.items[i].type, deltas[i].type);
      assert_int_equal(popped.items[i].reason, deltas[i].reason);
      assert_int_equal(popped.items[i].is_tombstone, deltas[i].is_tombstone);
      assert_int_equal(popped.items[i].is_initial, deltas[i].is_initial);
    }
    kin__delta_fifo_release(&f.fifo, id);
  }
  kin_object_unref(object);
  teardown(&f);
}

/* DF-04: of two deletions in a row one stays: the older, unless it is a
 * tombstone. Nothing else is compressed. */
static void test_delta_fifo_merges_deletions(void **state) {
  (void)state;
  fixture f;
  setup(&f);
  set_known(&f, " foo ");
  static const struct {
    const char *pushed;
    const char *kept;
  } cases[] = {
      {"DD", "foo: D1"},
      {"DX", "foo: D1"},
      {"XD", "foo: D2"},
      {"XX", "foo: X2"},
      {"DDDD", "foo: D1"},
      {"XXDX", "foo: D3"},
      {"ADDA", "foo: A1 D2 A4"},
      {"ADXU", "foo: A1 D2 U4"},
      {"AXDX", "foo: A1 D3"},
      {"DADX", "foo: D1 A2 D3"},
      {"AAUU", "foo: A1 A2 U3 U4"},
      {"RRSS", "foo: R1 R2 S3 S4"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    for (unsigned k = 0; cases[i].pushed[k] != '\0'; k++) {
      push(&f, cases[i].pushed[k], "foo", k + 1);
    }
    assert_pop(&f, cases[i].kept);
  }
  teardown(&f);
}

/* Pushes a delta for each of several keys; a resync skips those that are
 * queued. */
static void push_each(fixture *f, char letter, const char *keys,
                      unsigned version) {
  char text[64];
  char *save;
  strcpy(text, keys);
  for (char *key = strtok_r(text, " ", &save); key != NULL;
       key = strtok_r(NULL, " ", &save)) {
    if (letter != 'S' || !has(f, key)) {
      push(f, letter, key, version);
    }
  }
}

/* A whole list, as its driver applies it: what is listed, then tombstones for
 * what is queued or known and is not. */
static void replace(fixture *f, const char *listed, unsigned version,
                    const char *missing, unsigned known_version) {
  push_each(f, 'R', listed, version);
  push_each(f, 'X', missing, known_version);
}

/* client-go TestDeltaFIFO_ReplaceMakesDeletions and
 * TestDeltaFIFO_ReplaceMakesDeletionsReplaced; DF-04, DF-05, DF-06. */
static void test_delta_fifo_replace_makes_deletions(void **state) {
  (void)state;
  fixture f;
  setup(&f);
  set_known(&f, " foo bar baz ");
  push(&f, 'D', "baz", 10);
  replace(&f, "foo", 5, "bar baz", 7);
  assert_pop(&f, "baz: D10"); /* its final state is known */
  assert_pop(&f, "foo: R5");
  assert_pop(&f, "bar: X7");
  assert_empty(&f);

  push(&f, 'A', "baz", 10); /* recreated, and again not listed */
  push(&f, 'D', "baz", 11);
  replace(&f, "foo", 6, "bar baz", 7);
  assert_pop(&f, "baz: A10 D11");
  assert_pop(&f, "foo: R6");
  assert_pop(&f, "bar: X7");
  assert_empty(&f);
  teardown(&f);
}

/* client-go TestDeltaFIFOW_ReplaceMakesDeletionsForObjectsOnlyInQueue; DF-04,
 * DF-06. */
static void test_delta_fifo_replace_deletes_what_is_only_queued(void **state) {
  (void)state;
  static const struct {
    const char *pushed;
    const char *popped;
  } cases[] = {
      {"A", "foo: A1 X9"}, {"AD", "foo: A1 D2"}, {"ADA", "foo: A1 D2 A3 X9"},
      {"U", "foo: U1 X9"}, {"AX", "foo: A1 X9"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    fixture f;
    setup(&f);
    set_known(&f, " ");
    for (unsigned k = 0; cases[i].pushed[k] != '\0'; k++) {
      push(&f, cases[i].pushed[k], "foo", k + 1);
    }
    replace(&f, "bar", 5, "foo", 9);
    assert_pop(&f, cases[i].popped);
    assert_pop(&f, "bar: R5");
    assert_empty(&f);
    teardown(&f);
  }
}

/* client-go TestDeltaFIFO_Resync, TestDeltaFIFO_UpdateResyncRace and
 * TestDeltaFIFO_ResyncNonExisting; DF-09: a resync skips keys with pending
 * deltas, which are newer, and does not bring back what is about to go. */
static void test_delta_fifo_resync_skips_queued_keys(void **state) {
  (void)state;
  fixture f;
  setup(&f);
  set_known(&f, " foo bar baz ");
  push(&f, 'U', "foo", 12);
  push(&f, 'D', "baz", 10);
  push_each(&f, 'S', "foo bar baz", 5);
  assert_pop(&f, "foo: U12");
  assert_pop(&f, "baz: D10");
  assert_pop(&f, "bar: S5");
  assert_empty(&f);
  teardown(&f);
}

/* A consumer that cannot finish leaves the deltas where they are. */
static void test_delta_fifo_peek_then_drop(void **state) {
  (void)state;
  fixture f;
  setup(&f);
  push(&f, 'A', "foo", 1);
  push(&f, 'A', "bar", 2);
  push(&f, 'U', "bar", 3);
  static const char *const expected[] = {"foo: A1", "bar: A2 U3"};
  for (size_t i = 0; i < 2; i++) {
    for (int again = 0; again < 2; again++) {
      kin__deltas deltas;
      assert_true(kin__delta_fifo_peek(&f.fifo, &deltas));
      char text[64];
      describe(text, sizeof text, &deltas);
      assert_string_equal(text, expected[i]);
      assert_int_equal(f.fifo.depth, 2 - i);
    }
    kin__delta_fifo_drop(&f.fifo);
  }
  assert_empty(&f);
  teardown(&f);
}

/* Objects live as long as their deltas. */
static void test_delta_fifo_counts_references(void **state) {
  (void)state;
  fixture f;
  setup(&f);
  set_known(&f, " foo ");
  fail_alloc objects;
  fail_alloc_init(&objects, 0);
  const char types[] = "AUDXXADDR";
  for (size_t i = 0; i < strlen(types); i++) {
    kin_object *object = object_keyed(&objects.allocator, "foo", 1);
    kin__delta delta = {.object = object,
                        .type = (uint8_t)type_of(types[i]),
                        .is_tombstone = types[i] == 'X'};
    assert_int_equal(kin__delta_fifo_push(&f.fifo, &delta), 0);
    kin_object_unref(object);
  }
  kin__deltas deltas;
  uint32_t id;
  assert_true(kin__delta_fifo_take_out(&f.fifo, &id, &deltas));
  assert_int_equal(deltas.count, 6); /* A U D A D R */
  kin_object *kept = kin_object_ref(deltas.items[5].object);
  kin__delta_fifo_release(&f.fifo, id);
  assert_true(kin__str_equal(kin_object_key(kept), KIN__LIT("foo")));
  kin_object_unref(kept);
  assert_int_equal(objects.live_blocks, 0);
  teardown(&f);
}

static void test_delta_fifo_clears_in_steps(void **state) {
  (void)state;
  fixture f;
  setup(&f);
  for (unsigned i = 0; i < 10; i++) {
    char key[8];
    snprintf(key, sizeof key, "a%u", i);
    push(&f, 'A', key, 1);
    push(&f, 'U', key, 2);
  }
  assert_true(kin__delta_fifo_clear_step(&f.fifo, 7));
  assert_int_equal(f.fifo.depth, 7);
  assert_int_equal(f.fifo.deltas, 13);
  assert_true(kin__delta_fifo_clear_step(&f.fifo, 8));
  push(&f, 'U', "a7", 3); /* the queue works on */
  push(&f, 'A', "b", 1);
  assert_int_equal(f.fifo.deltas, 7);
  assert_false(kin__delta_fifo_clear_step(&f.fifo, 7));
  assert_empty(&f);
  push(&f, 'A', "c", 1);
  teardown(&f); /* drops the rest */
}

/* Each allocation fails once: that push fails and changes nothing. */
static void test_delta_fifo_push_fails_cleanly(void **state) {
  (void)state;
  static const struct {
    char type;
    const char *key;
  } script[] = {{'A', "foo"}, {'U', "foo"}, {'A', "bar"}, {'U', "foo"},
                {'D', "foo"}, {'X', "foo"}, {'A', "foo"}, {'D', "bar"}};
  bool has_failed = true;
  size_t n = 1;
  for (; has_failed; n++) {
    fixture f;
    setup(&f);
    f.memory.fail_at = n;
    for (unsigned i = 0; i < sizeof script / sizeof script[0]; i++) {
      bool was_queued = has(&f, script[i].key);
      size_t depth = f.fifo.depth;
      int err = try_push(&f, script[i].type, script[i].key, i + 1);
      if (err != 0) {
        assert_int_equal(err, KIN_ENOMEM);
        assert_int_equal(has(&f, script[i].key), was_queued);
        assert_int_equal(f.fifo.depth, depth);
        push(&f, script[i].type, script[i].key, i + 1);
      }
    }
    has_failed = fail_alloc_has_failed(&f.memory);
    assert_pop(&f, "foo: A1 U2 U4 D5 A7");
    assert_pop(&f, "bar: A3 D8");
    assert_empty(&f);
    teardown(&f);
  }
  assert_true(n > 7); /* the tables and three arrays */
}

/* The usual case, one delta a key, allocates nothing for it. */
static void test_delta_fifo_single_deltas_need_no_memory(void **state) {
  (void)state;
  fixture f;
  setup(&f);
  push(&f, 'A', "foo", 1);
  assert_pop(&f, "foo: A1");
  size_t calls = f.memory.calls;
  for (unsigned i = 0; i < 100; i++) {
    push(&f, 'A', "foo", i);
    push(&f, 'A', "bar", i);
    kin__delta_fifo_drop(&f.fifo);
    kin__delta_fifo_drop(&f.fifo);
  }
  assert_int_equal(f.memory.calls, calls);
  teardown(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_delta_fifo_is_in_order),
      cmocka_unit_test(test_delta_fifo_collects_deltas),
      cmocka_unit_test(test_delta_fifo_nobody_jumps_the_queue),
      cmocka_unit_test(test_delta_fifo_keys_that_collide),
      cmocka_unit_test(test_delta_fifo_deletes_without_known_objects),
      cmocka_unit_test(test_delta_fifo_deletes_with_known_objects),
      cmocka_unit_test(test_delta_fifo_deletes_what_is_only_queued),
      cmocka_unit_test(test_delta_fifo_replaced_is_appended),
      cmocka_unit_test(test_delta_fifo_keeps_all_fields),
      cmocka_unit_test(test_delta_fifo_merges_deletions),
      cmocka_unit_test(test_delta_fifo_replace_makes_deletions),
      cmocka_unit_test(test_delta_fifo_replace_deletes_what_is_only_queued),
      cmocka_unit_test(test_delta_fifo_resync_skips_queued_keys),
      cmocka_unit_test(test_delta_fifo_peek_then_drop),
      cmocka_unit_test(test_delta_fifo_counts_references),
      cmocka_unit_test(test_delta_fifo_clears_in_steps),
      cmocka_unit_test(test_delta_fifo_push_fails_cleanly),
      cmocka_unit_test(test_delta_fifo_single_deltas_need_no_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
