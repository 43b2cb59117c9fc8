/* SPDX-License-Identifier: MIT */
/* The queue of one listener: the rules by which undelivered notifications are
 * merged, and what bounds it (SI-20, PL-07). */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include <kin/error.h>

#include "base/alloc.h"
#include "base/str.h"
#include "dispatch/listener_queue.h"
#include "support/event_log.h"
#include "support/fail_alloc.h"

#define ALL                                                                    \
  (KIN__WANTS(KIN_EVENT_ADD) | KIN__WANTS(KIN_EVENT_UPDATE) |                  \
   KIN__WANTS(KIN_EVENT_DELETE) | KIN__WANTS(KIN_EVENT_RELISTED))

typedef struct fixture {
  fail_alloc memory;
  kin__listener_queue queue;
  event_log log;
} fixture;

static fixture f;

static void setup(uint8_t wanted, size_t exact_limit) {
  fail_alloc_init(&f.memory, 0);
  kin__listener_queue_init(&f.queue, &f.memory.allocator, wanted, exact_limit);
  event_log_clear(&f.log);
}

/* Every object and every block is gone: no reference was lost. */
static void teardown(void) {
  kin__listener_queue_finish(&f.queue);
  assert_int_equal(atomic_load(&f.memory.live_blocks), 0);
}

static kin_object *object(const char *name, int version) {
  char json[128];
  int length =
      snprintf(json, sizeof json,
               "{\"metadata\":{\"name\":\"%s\",\"resourceVersion\":\"%d\"}}",
               name, version);
  kin_object *o = NULL;
  assert_int_equal(
      kin_object_parse(&o, &f.memory.allocator, json, (size_t)length), 0);
  return o;
}

/* All keys share four hashes, so that chains are walked. */
static uint32_t hash_of(const char *name) {
  return (uint32_t)(name[strlen(name) - 1] & 3);
}

/* From now on there is no memory, or there is again. */
static void set_failing(bool is_failing) {
  f.memory.fail_at = is_failing ? atomic_load(&f.memory.calls) + 1 : 0;
  f.memory.keeps_failing = true;
}

static void push(const char *name, kin__notification notification) {
  assert_int_equal(kin__listener_queue_reserve(&f.queue), 0);
  set_failing(true);
  kin__listener_queue_push(&f.queue, &notification,
                           name != NULL ? hash_of(name) : 0);
  set_failing(false);
}

static void add(const char *name, int version, bool is_initial) {
  kin_object *o = object(name, version);
  push(name, (kin__notification){
                 .object = o, .type = KIN_EVENT_ADD, .is_initial = is_initial});
  kin_object_unref(o);
}

static void update(const char *name, int from, int to) {
  kin_object *old = object(name, from);
  kin_object *o = object(name, to);
  push(name, (kin__notification){
                 .object = o, .old_object = old, .type = KIN_EVENT_UPDATE});
  kin_object_unref(old);
  kin_object_unref(o);
}

static void resync(const char *name, int version) {
  kin_object *o = object(name, version);
  push(name, (kin__notification){.object = o,
                                 .old_object = o,
                                 .type = KIN_EVENT_UPDATE,
                                 .is_resync = true});
  kin_object_unref(o);
}

static void del(const char *name, int version) {
  kin_object *o = object(name, version);
  push(name, (kin__notification){.object = o,
                                 .type = KIN_EVENT_DELETE,
                                 .reason = KIN_DELETE_WATCH});
  kin_object_unref(o);
}

static void synced(void) {
  push(NULL, (kin__notification){.type = KIN_EVENT_SYNCED});
}

static void relisted_in(const char *namespace_, const char *version) {
  kin__marker *marker = kin__marker_new(
      &f.memory.allocator, kin__cstr(namespace_), kin__cstr(version), 5);
  assert_non_null(marker);
  push(NULL, (kin__notification){.marker = marker, .type = KIN_EVENT_RELISTED});
  kin__marker_unref(marker, &f.memory.allocator);
}

static void relisted(const char *version) {
  relisted_in("ns", version);
}

static bool pop(void) {
  kin__notification n;
  if (!kin__listener_queue_pop(&f.queue, &n)) {
    return false;
  }
  kin_event event = {.type = (kin_event_type)n.type,
                     .object = n.object,
                     .is_initial = n.is_initial,
                     .is_resync = n.is_resync,
                     .reason = (kin_delete_reason)n.reason};
  if (n.type == KIN_EVENT_UPDATE) {
    event.old_object = n.old_object;
  } else if (kin__notification_is_marker(&n) && n.marker != NULL) {
    event.namespace_ = n.marker->namespace_;
    event.resource_version = n.marker->version;
    event.objects = n.marker->objects;
  }
  if (kin__listener_queue_wants(&f.queue, n.type)) {
    event_log_add(&f.log, &event);
  }
  kin__notification_unref(&n, &f.memory.allocator);
  return true;
}

/* Pops everything and compares; the count must have told how much. */
static void expect(const char *text) {
  size_t count = kin__listener_queue_count(&f.queue);
  while (pop()) {
  }
  assert_int_equal(f.log.count, count);
  assert_true(kin__listener_queue_is_empty(&f.queue));
  assert_int_equal(kin__listener_queue_count(&f.queue), 0);
  assert_true(f.queue.overflow == NULL || f.queue.overflow->map.count == 0);
  event_log_expect(&f.log, text);
}

static void test_exact_keeps_everything(void **state) {
  (void)state;
  setup(ALL, SIZE_MAX); /* nothing is coalesced, nor by a pause */
  add("a", 1, true);
  update("a", 1, 2);
  synced();
  update("a", 2, 3);
  kin__listener_queue_set_paused(&f.queue, true);
  del("a", 3);
  add("a", 4, false);
  relisted("9");
  resync("a", 4);
  expect("+a1! ~a1>2 S:#0 ~a2>3 -a3:watch +a4 R:ns@9#5 ~a4=");
  teardown();
}

/* More than any test queues. */
#define LARGE_LIMIT 1000000u

/* A queue that coalesces from the start. */
static void setup_paused(uint8_t wanted) {
  setup(wanted, LARGE_LIMIT);
  kin__listener_queue_set_paused(&f.queue, true);
}

static void test_add_update_is_newest_add(void **state) {
  (void)state;
  setup_paused(ALL);
  add("a", 1, false);
  update("a", 1, 2);
  update("a", 2, 3);
  expect("+a3");
  teardown();
}

static void test_add_update_keeps_initial(void **state) {
  (void)state;
  setup_paused(ALL);
  add("a", 1, true);
  update("a", 1, 2);
  resync("a", 2);
  expect("+a2!");
  teardown();
}

static void test_add_delete_is_nothing(void **state) {
  (void)state;
  setup_paused(ALL);
  add("a", 1, true);
  add("b", 2, false);
  update("a", 1, 3);
  del("a", 3);
  expect("+b2");
  teardown();
}

static void test_update_update_spans(void **state) {
  (void)state;
  setup_paused(ALL);
  update("a", 1, 2);
  update("b", 5, 6);
  update("a", 2, 3);
  update("a", 3, 4);
  expect("~a1>4 ~b5>6");
  teardown();
}

static void test_update_delete_is_delete(void **state) {
  (void)state;
  setup_paused(ALL);
  update("a", 1, 2);
  update("b", 5, 6);
  del("a", 2);
  expect("-a2:watch ~b5>6");
  teardown();
}

static void test_delete_add_are_both_kept(void **state) {
  (void)state;
  setup_paused(ALL);
  del("a", 1);
  update("b", 5, 6);
  add("a", 2, false);
  expect("-a1:watch ~b5>6 +a2");
  teardown();
}

static void test_changes_after_delete_add_go_into_the_add(void **state) {
  (void)state;
  setup_paused(ALL);
  del("a", 1);
  add("a", 2, false);
  update("a", 2, 3);
  assert_int_equal(kin__listener_queue_count(&f.queue), 2);
  del("a", 3);
  assert_int_equal(kin__listener_queue_count(&f.queue), 1);
  add("a", 4, false);
  update("a", 4, 5);
  expect("-a1:watch +a5");

  update("a", 5, 6);
  del("a", 6);
  add("a", 7, false);
  del("a", 7);
  expect("-a6:watch");
  teardown();
}

static void test_resync_survives_only_if_both_are(void **state) {
  (void)state;
  setup_paused(ALL);
  resync("a", 1);
  resync("a", 1);
  resync("b", 2);
  update("b", 2, 3);
  update("c", 4, 5);
  resync("c", 5);
  resync("d", 6);
  del("d", 6);
  /* a's two objects differ here, so the log shows the flag in words. */
  expect("~a1>1?resync ~b2>3 ~c4>5 -d6:watch");
  teardown();
}

static void test_markers_keep_their_place(void **state) {
  (void)state;
  setup_paused(ALL);
  add("a", 1, true);
  update("c", 1, 2);
  synced();
  update("a", 1, 3); /* into the add, before synced */
  update("b", 1, 4);
  relisted("7");
  relisted("8");
  update("b", 4, 5);
  del("c", 2);
  add("c", 6, false); /* after the markers */
  expect("+a3! -c2:watch S:#0 ~b1>5 R:ns@8#5 +c6");

  relisted("9"); /* alone */
  expect("R:ns@9#5");
  teardown();
}

/* A server that relists again and again does not fill the queue of a listener
 * that is paused. */
static void test_relists_without_changes_are_one(void **state) {
  (void)state;
  setup_paused(ALL);
  relisted_in("a", "1");
  add("x", 1, false);
  relisted_in("a", "2");
  synced();
  for (int i = 0; i < 300; i++) {
    relisted_in("b", "3");
    relisted_in("a", "4");
  }
  update("x", 1, 5); /* into the add */
  relisted_in("b", "6");
  expect("R:a@1#5 +x5 R:a@4#5 S:#0 R:b@6#5");
  teardown();
}

/* The change that kept two relists apart is gone: the later relist is left, in
 * the place of the earlier one. */
static void test_relists_join_when_the_change_between_them_goes(void **state) {
  (void)state;
  setup_paused(ALL);
  relisted_in("a", "1");
  relisted_in("c", "1");
  synced();
  add("p", 1, false);
  relisted_in("b", "2");
  relisted_in("a", "2");
  add("q", 1, false);
  relisted_in("c", "3");
  relisted_in("b", "3");
  del("p", 2);
  assert_int_equal(kin__listener_queue_count(&f.queue), 7);
  del("q", 2);
  expect("R:a@2#5 R:c@3#5 S:#0 R:b@3#5");
  teardown();
}

/* A server that relists while other objects come and go neither: a listener may
 * also know the adds alone by what they hide. */
static void test_relists_between_passing_objects_do_not_grow(void **state) {
  (void)state;
  static const uint8_t wanted[] = {ALL, KIN__WANTS(KIN_EVENT_DELETE) |
                                            KIN__WANTS(KIN_EVENT_RELISTED)};
  for (size_t w = 0; w < sizeof wanted; w++) {
    setup_paused(wanted[w]);
    add("x", 1, false);
    for (int i = 0; i < 300; i++) {
      relisted_in("a", "4");
      add(i % 2 != 0 ? "p" : "q", 1, false);
      if (i > 0) {
        del(i % 2 != 0 ? "q" : "p", 2);
      }
      assert_true(f.queue.overflow->entries.live <= 5);
    }
    del("p", 2);
    expect(w == 0 ? "+x1 R:a@4#5" : "R:a@4#5");
    teardown();
  }
}

/* As many namespaces as an informer may have, all of which relist on both sides
 * of the change, in different orders. */
static void test_relists_of_many_namespaces_join(void **state) {
  (void)state;
  enum { NAMESPACES = 1024 };
  setup_paused(KIN__WANTS(KIN_EVENT_ADD) | KIN__WANTS(KIN_EVENT_RELISTED));
  for (int round = 0; round < 2; round++) {
    for (int i = 0; i < NAMESPACES; i++) {
      char name[16];
      snprintf(name, sizeof name, "n%d", round == 0 ? i : NAMESPACES - 1 - i);
      relisted_in(name, round == 0 ? "1" : "2");
    }
    if (round == 0) {
      add("p", 1, false);
    }
  }
  assert_int_equal(kin__listener_queue_count(&f.queue), 2 * NAMESPACES + 1);
  del("p", 1);
  assert_int_equal(kin__listener_queue_count(&f.queue), NAMESPACES);
  for (int i = 0; i < NAMESPACES; i++) {
    char name[16];
    snprintf(name, sizeof name, "n%d", i);
    kin__notification n;
    assert_true(kin__listener_queue_pop(&f.queue, &n));
    assert_true(kin__str_equal(n.marker->namespace_, kin__cstr(name)));
    assert_true(kin__str_equal(n.marker->version, KIN__LIT("2")));
    kin__notification_unref(&n, &f.memory.allocator);
  }
  expect("");
  teardown();
}

static void test_overflow_begins_at_limit_and_ends_when_drained(void **state) {
  (void)state;
  setup(ALL, 3);
  add("a", 1, false);
  update("a", 1, 2);
  update("a", 2, 3);
  assert_true(kin__listener_queue_is_coalescing(&f.queue));
  update("a", 3, 4);
  update("a", 4, 5);
  assert_int_equal(kin__listener_queue_count(&f.queue), 4);
  /* There is room in the exact part, but the overflow comes after it. */
  assert_true(pop());
  assert_true(pop());
  assert_true(kin__listener_queue_is_coalescing(&f.queue));
  update("a", 5, 6);
  assert_int_equal(kin__listener_queue_count(&f.queue), 2);
  assert_true(pop());
  assert_true(pop());
  assert_false(kin__listener_queue_is_coalescing(&f.queue));
  update("a", 6, 7);
  update("a", 7, 8);
  while (pop()) {
  }
  event_log_expect(&f.log, "+a1 ~a1>2 ~a2>3 ~a3>6 ~a6>7 ~a7>8");
  teardown();
}

static void test_pause_coalesces_behind_the_exact_part(void **state) {
  (void)state;
  setup(ALL, LARGE_LIMIT);
  add("a", 1, false);
  kin__listener_queue_set_paused(&f.queue, true);
  update("a", 1, 2); /* not merged into what is exact */
  update("a", 2, 3);
  kin__listener_queue_set_paused(&f.queue, false);
  update("a", 3, 4); /* the overflow goes on until it is drained */
  expect("+a1 ~a1>4");
  update("a", 4, 5);
  update("a", 5, 6);
  expect("~a4>5 ~a5>6");
  teardown();
}

/* An overflow that is emptied by merging is over, too; its memory is given back
 * in steps. */
static void test_annulled_overflow_ends(void **state) {
  (void)state;
  enum { KEYS = 20000, ROOM = 20 * KIN__SEGMENT_MAX, SEGMENTS_PER_STEP = 16 };
  setup(ALL, 2);
  add("x", 1, false);
  add("y", 1, false);
  char name[16];
  for (int i = 0; i < KEYS; i++) {
    snprintf(name, sizeof name, "k%d", i);
    add(name, 1, false);
  }
  assert_int_equal(kin__listener_queue_count(&f.queue), KEYS + 2);
  assert_int_equal(kin__segments_room(&f.queue.overflow->entries.segments),
                   ROOM);
  for (int i = KEYS; i-- > 0;) {
    snprintf(name, sizeof name, "k%d", i);
    del(name, 1);
  }
  assert_int_equal(kin__listener_queue_count(&f.queue), 2);
  assert_true(kin__listener_queue_wants_trim(&f.queue));
  assert_true(kin__listener_queue_trim_step(&f.queue));
  assert_int_equal(kin__segments_room(&f.queue.overflow->retired.segments),
                   ROOM - SEGMENTS_PER_STEP * KIN__SEGMENT_MAX);
  while (kin__listener_queue_trim_step(&f.queue)) {
  }
  assert_false(kin__listener_queue_wants_trim(&f.queue));
  assert_int_equal(f.queue.overflow->entries.segments.count, 0);
  assert_true(pop());
  update("y", 1, 2); /* exact again */
  update("y", 2, 3); /* overflow again */
  update("y", 3, 4);
  while (pop()) {
  }
  event_log_expect(&f.log, "+x1 +y1 ~y1>2 ~y2>4");
  teardown();
}

/* Objects that come and go while nobody reads cost nothing, whatever is
 * wanted. */
static void test_churn_of_new_keys_does_not_grow(void **state) {
  (void)state;
  static const uint8_t wanted[] = {
      ALL,
      KIN__WANTS(KIN_EVENT_ADD),
      KIN__WANTS(KIN_EVENT_UPDATE),
      KIN__WANTS(KIN_EVENT_DELETE),
      KIN__WANTS(KIN_EVENT_UPDATE) | KIN__WANTS(KIN_EVENT_DELETE),
      KIN__WANTS(KIN_EVENT_ADD) | KIN__WANTS(KIN_EVENT_DELETE),
      0,
  };
  for (size_t w = 0; w < sizeof wanted; w++) {
    setup_paused(wanted[w]);
    for (int i = 0; i < 3000; i++) {
      char name[16];
      snprintf(name, sizeof name, "k%d", i);
      add(name, 1, false);
      update(name, 1, 2);
      del(name, 2);
      assert_int_equal(kin__listener_queue_count(&f.queue), 0);
    }
    assert_true(kin__slots_limit(&f.queue.overflow->entries) <= 2);
    expect("");
    teardown();
  }
}

/* A queue that tells of objects that came and went does so for so many. */
static void test_gone_objects(void **state) {
  (void)state;
  setup_paused(ALL);
  f.queue.max_gone = 2;
  const char *const names[] = {"a", "b", "c", "a", "b"};
  for (size_t i = 0; i < 5; i++) {
    add(names[i], 1, true);
    update(names[i], 1, 2);
    del(names[i], 2);
  }
  assert_int_equal(f.queue.gone, 2);
  expect("-a2:watch -b2:watch");
  assert_int_equal(f.queue.gone, 0);
  add("c", 3, false);
  del("c", 3);
  add("c", 4, false);
  expect("-c3:watch +c4");
  teardown();
}

/* PL-07: the delete in which an initial add ends is no initial event. */
static void test_gone_object_is_not_initial(void **state) {
  (void)state;
  setup_paused(ALL);
  f.queue.max_gone = 1;
  add("a", 1, true);
  del("a", 2);
  kin__notification n;
  assert_true(kin__listener_queue_pop(&f.queue, &n));
  assert_int_equal(n.type, KIN_EVENT_DELETE);
  assert_false(n.is_initial);
  kin__notification_unref(&n, &f.memory.allocator);
  teardown();
}

/* PL-07: an object goes, comes and goes. One delete tells as much as two, and
 * the place of an object that came and went is left for another. */
static void test_gone_object_has_one_delete(void **state) {
  (void)state;
  setup_paused(ALL);
  f.queue.max_gone = 1;
  del("a", 1);
  add("a", 2, false);
  del("a", 3);
  assert_int_equal(f.queue.gone, 0);
  add("b", 4, false);
  del("b", 4);
  expect("-a1:watch -b4:watch");
  teardown();
}

/* One key, changed for ever: at most a delete and an add. */
static void test_two_entries_a_key(void **state) {
  (void)state;
  setup_paused(ALL);
  int version = 1;
  for (int i = 0; i < 1000; i++) {
    del("a", version);
    add("a", ++version, false);
    update("a", version, version + 1);
    version++;
    assert_int_equal(kin__listener_queue_count(&f.queue), 2);
  }
  expect("-a1:watch +a2001");
  teardown();
}

static void test_unwanted_types_are_not_kept(void **state) {
  (void)state;
  setup(KIN__WANTS(KIN_EVENT_DELETE), LARGE_LIMIT);
  add("a", 1, true);
  update("a", 1, 2);
  synced(); /* always kept */
  relisted("3");
  del("a", 2);
  assert_int_equal(kin__listener_queue_count(&f.queue), 2);
  expect("S:#0 -a2:watch");

  kin__listener_queue_set_paused(&f.queue, true);
  add("a", 1, true); /* hidden, for the delete that may come */
  update("b", 1, 2);
  relisted("3");
  assert_int_equal(kin__listener_queue_count(&f.queue), 0);
  assert_int_equal(f.queue.overflow->entries.live, 1);
  del("b", 2);
  assert_int_equal(kin__listener_queue_count(&f.queue), 1);
  expect("-b2:watch");
  teardown();

  setup_paused(0);
  add("a", 1, true); /* nobody will ever ask */
  assert_int_equal(f.queue.overflow->entries.live, 0);
  teardown();
}

/* Without deletes, an add that is annulled does not come, and an update neither
 * when its object is gone. */
static void test_unwanted_delete_annuls(void **state) {
  (void)state;
  setup_paused(KIN__WANTS(KIN_EVENT_ADD) | KIN__WANTS(KIN_EVENT_UPDATE));
  add("a", 1, false);
  update("b", 1, 2);
  update("c", 1, 2);
  del("a", 1);
  del("b", 2);
  add("b", 3, false);
  expect("~c1>2 +b3");
  teardown();
}

/* No changes of a store lead to these. */
static void test_odd_pairs_stay_legal_and_bounded(void **state) {
  (void)state;
  setup_paused(ALL);
  add("a", 1, true);
  add("a", 2, false);
  update("b", 1, 2);
  add("b", 3, false);
  del("c", 1);
  del("c", 2);
  update("c", 3, 4);
  del("d", 1);
  update("d", 2, 3);
  del("d", 3);
  expect("+a2! ~b1>3 -c1:watch +c4 -d1:watch");
  teardown();
}

static void test_clear_step_is_bounded(void **state) {
  (void)state;
  setup(ALL, 4);
  for (int i = 0; i < 10; i++) {
    char name[] = {(char)('a' + i), '\0'};
    update(name, 1, 2);
  }
  relisted("1");
  assert_int_equal(kin__listener_queue_clear_step(&f.queue, 3), 3);
  assert_int_equal(kin__listener_queue_count(&f.queue), 8);
  assert_int_equal(kin__listener_queue_clear_step(&f.queue, 100), 8);
  assert_int_equal(kin__listener_queue_clear_step(&f.queue, 100), 0);
  expect("");
  teardown();
}

/* Two pushes after one reserve, at every border between the two parts. */
static void test_reserve_covers_two_pushes(void **state) {
  (void)state;
  for (size_t limit = 1; limit < 130; limit++) {
    setup(ALL, limit);
    kin_object *o = object("a", 1);
    kin__notification deleted = {.object = o, .type = KIN_EVENT_DELETE};
    kin__notification added = {.object = o, .type = KIN_EVENT_ADD};
    for (int i = 0; i < 140; i++) {
      assert_int_equal(kin__listener_queue_reserve(&f.queue), 0);
      set_failing(true);
      kin__listener_queue_push(&f.queue, i % 2 == 0 ? &added : &deleted, 1);
      kin__listener_queue_push(&f.queue, i % 2 == 0 ? &deleted : &added, 1);
      set_failing(false);
    }
    kin_object_unref(o);
    teardown();
  }
}

/* The same where the first push ends the overflow. */
static void test_reserve_covers_the_end_of_the_overflow(void **state) {
  (void)state;
  setup_paused(ALL);
  add("a", 1, false);
  kin__listener_queue_set_paused(&f.queue, false);
  kin_object *o = object("a", 1);
  kin__notification deleted = {.object = o, .type = KIN_EVENT_DELETE};
  kin__notification added = {.object = o, .type = KIN_EVENT_ADD};
  assert_int_equal(kin__listener_queue_reserve(&f.queue), 0);
  set_failing(true);
  kin__listener_queue_push(&f.queue, &deleted, hash_of("a"));
  assert_false(kin__listener_queue_is_coalescing(&f.queue));
  kin__listener_queue_push(&f.queue, &added, hash_of("a"));
  set_failing(false);
  expect("+a1");
  kin_object_unref(o);
  teardown();
}

/* A reserve that fails changes nothing, and succeeds when there is memory. */
static void test_reserve_fails_cleanly(void **state) {
  (void)state;
  for (int is_paused = 0; is_paused < 2; is_paused++) {
    size_t failures = 0;
    for (size_t n = 1;; n++) {
      setup(ALL, 1);
      kin__listener_queue_set_paused(&f.queue, is_paused != 0);
      kin_object *o = object("a", 1);
      f.memory.fail_at = atomic_load(&f.memory.calls) + n;
      int err = kin__listener_queue_reserve(&f.queue);
      assert_true(err == 0 || err == KIN_ENOMEM);
      bool has_failed = fail_alloc_has_failed(&f.memory);
      assert_int_equal(has_failed, err != 0);
      failures += has_failed;
      f.memory.fail_at = 0;
      add("b", 1, false);
      expect("+b1");
      kin_object_unref(o);
      teardown();
      if (!has_failed) {
        break;
      }
    }
    /* The overflow, its directory and segment, the map's two; a chunk unless
     * paused. */
    assert_int_equal(failures, is_paused ? 5 : 6);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_exact_keeps_everything),
      cmocka_unit_test(test_add_update_is_newest_add),
      cmocka_unit_test(test_add_update_keeps_initial),
      cmocka_unit_test(test_add_delete_is_nothing),
      cmocka_unit_test(test_update_update_spans),
      cmocka_unit_test(test_update_delete_is_delete),
      cmocka_unit_test(test_delete_add_are_both_kept),
      cmocka_unit_test(test_changes_after_delete_add_go_into_the_add),
      cmocka_unit_test(test_resync_survives_only_if_both_are),
      cmocka_unit_test(test_markers_keep_their_place),
      cmocka_unit_test(test_relists_without_changes_are_one),
      cmocka_unit_test(test_relists_join_when_the_change_between_them_goes),
      cmocka_unit_test(test_relists_between_passing_objects_do_not_grow),
      cmocka_unit_test(test_relists_of_many_namespaces_join),
      cmocka_unit_test(test_overflow_begins_at_limit_and_ends_when_drained),
      cmocka_unit_test(test_pause_coalesces_behind_the_exact_part),
      cmocka_unit_test(test_annulled_overflow_ends),
      cmocka_unit_test(test_churn_of_new_keys_does_not_grow),
      cmocka_unit_test(test_gone_objects),
      cmocka_unit_test(test_gone_object_is_not_initial),
      cmocka_unit_test(test_gone_object_has_one_delete),
      cmocka_unit_test(test_two_entries_a_key),
      cmocka_unit_test(test_unwanted_types_are_not_kept),
      cmocka_unit_test(test_unwanted_delete_annuls),
      cmocka_unit_test(test_odd_pairs_stay_legal_and_bounded),
      cmocka_unit_test(test_clear_step_is_bounded),
      cmocka_unit_test(test_reserve_covers_two_pushes),
      cmocka_unit_test(test_reserve_covers_the_end_of_the_overflow),
      cmocka_unit_test(test_reserve_fails_cleanly),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
