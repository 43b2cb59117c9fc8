/* SPDX-License-Identifier: MIT */

/* The gate: how many are inside, in which order the others follow, what leaving
 * does in every state, and that nobody waits for ever for a visitor that never
 * leaves. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/gate.h"

#define GUESTS 6

typedef struct guest {
  kin__gate_visitor visitor;
  struct rig *rig;
  int number;
} guest;

#define TURN_MS 100

typedef struct rig {
  kin__sched sched;
  kin__timers timers;
  uint64_t now_ms;
  kin__gate gate;
  guest guests[GUESTS];
  char order[64];      /* of enter callbacks */
  char overdue[64];    /* of overstay callbacks */
  uint64_t waited_ms;  /* as the last enter callback was told */
  int leaves_in_enter; /* this guest leaves inside its callback; -1: none */
} rig;

static uint64_t now_ns(void *ctx) {
  return ((rig *)ctx)->now_ms * 1000000;
}

static void note(char text[64], int number) {
  size_t used = strlen(text);
  snprintf(text + used, 64 - used, "%d", number);
}

static void on_enter(kin__gate_visitor *visitor, uint64_t waited_ms) {
  guest *g = KIN__CONTAINER_OF(visitor, guest, visitor);
  note(g->rig->order, g->number);
  g->rig->waited_ms = waited_ms;
  assert_int_equal(visitor->state, KIN__GATE_INSIDE);
  if (g->number == g->rig->leaves_in_enter) {
    kin__gate_leave(&g->rig->gate, visitor);
  }
}

static void on_overstay(kin__gate_visitor *visitor) {
  guest *g = KIN__CONTAINER_OF(visitor, guest, visitor);
  note(g->rig->overdue, g->number);
  assert_int_equal(visitor->state, KIN__GATE_OVERDUE);
}

static void rig_init(rig *r, uint32_t limit) {
  *r = (rig){.leaves_in_enter = -1, .now_ms = 1000};
  kin__sched_init(&r->sched, now_ns, r);
  kin__timers_init(&r->timers);
  kin__gate_init(&r->gate, &r->sched, &r->timers, limit, TURN_MS);
  for (int i = 0; i < GUESTS; i++) {
    r->guests[i].rig = r;
    r->guests[i].number = i;
    kin__gate_visitor_init(&r->guests[i].visitor, on_enter, on_overstay);
  }
}

static bool enter(rig *r, int i) {
  return kin__gate_enter(&r->gate, &r->guests[i].visitor);
}

static void leave(rig *r, int i) {
  kin__gate_leave(&r->gate, &r->guests[i].visitor);
}

static void run(rig *r) {
  while (kin__sched_run(&r->sched, 1000)) {
  }
}

/* Lets time pass, in one piece: timers that are late come late. */
static void pass(rig *r, uint64_t ms) {
  r->now_ms += ms;
  run(r);
  while (kin__timers_next_ms(&r->timers) <= r->now_ms) {
    (void)kin__timers_run(&r->timers, r->now_ms, 1);
    run(r);
  }
}

static void rig_finish(rig *r) {
  for (int i = 0; i < GUESTS; i++) {
    leave(r, i);
  }
  run(r);
  kin__gate_finish(&r->gate);
  assert_true(kin__timers_next_ms(&r->timers) == UINT64_MAX);
}

static void test_in_order(void **state) {
  (void)state;
  rig r;
  rig_init(&r, 2);
  assert_true(enter(&r, 0));
  assert_true(enter(&r, 1));
  assert_true(enter(&r, 1)); /* again is still once */
  assert_int_equal(r.gate.inside, 2);
  assert_false(enter(&r, 2));
  assert_false(enter(&r, 3));
  assert_false(enter(&r, 2)); /* keeps its place */
  assert_false(enter(&r, 4));
  leave(&r, 1);
  assert_string_equal(r.order, ""); /* never inside the call */
  assert_false(enter(&r, 5));       /* does not overtake */
  run(&r);
  assert_string_equal(r.order, "2");
  leave(&r, 0);
  leave(&r, 2);
  run(&r);
  assert_string_equal(r.order, "234");
  assert_int_equal(r.gate.inside, 2);
  rig_finish(&r);
  assert_string_equal(r.order, "234"); /* 5 went without having been in */
}

static void test_leaving_early(void **state) {
  (void)state;
  rig r;
  rig_init(&r, 1);
  leave(&r, 3); /* was never there */
  assert_true(enter(&r, 0));
  assert_false(enter(&r, 1));
  assert_false(enter(&r, 2));
  leave(&r, 1);
  leave(&r, 0);
  leave(&r, 0);
  assert_int_equal(r.gate.inside, 0);
  run(&r);
  assert_string_equal(r.order, "2");
  rig_finish(&r);
}

/* One that leaves as it enters makes way for the next. */
static void test_leaving_in_the_callback(void **state) {
  (void)state;
  rig r;
  rig_init(&r, 1);
  r.leaves_in_enter = 1;
  assert_true(enter(&r, 0));
  assert_false(enter(&r, 1));
  assert_false(enter(&r, 2));
  assert_false(enter(&r, 3));
  leave(&r, 0);
  run(&r);
  assert_string_equal(r.order, "12");
  assert_int_equal(r.guests[2].visitor.state, KIN__GATE_INSIDE);
  rig_finish(&r);
}

/* A visitor that stays loses its place to the first who waits, and goes on: it
 * may enter again as often as it likes, and is not counted. */
static void test_overdue(void **state) {
  (void)state;
  rig r;
  rig_init(&r, 2);
  assert_true(enter(&r, 0));
  pass(&r, 10);
  assert_true(enter(&r, 1));
  pass(&r, 10);
  assert_false(enter(&r, 2));
  assert_false(enter(&r, 3));
  assert_false(enter(&r, 4));
  pass(&r, TURN_MS - 21);
  assert_string_equal(r.order, "");
  pass(&r, 1); /* 0 has been inside for a turn */
  assert_string_equal(r.overdue, "0");
  assert_string_equal(r.order, "2");
  assert_int_equal(r.waited_ms, TURN_MS - 20);
  assert_true(enter(&r, 0));
  assert_int_equal(r.gate.inside, 2);
  assert_int_equal(r.gate.overdue, 1);
  pass(&r, 10);
  assert_string_equal(r.order, "23");
  pass(&r, TURN_MS - 10); /* 2 entered a turn ago */
  assert_string_equal(r.overdue, "012");
  assert_string_equal(r.order, "234");
  leave(&r, 0);
  assert_int_equal(r.gate.overdue, 2);
  assert_int_equal(r.gate.inside, 2);
  assert_true(r.gate.queued == 0);
  rig_finish(&r);
}

/* Nobody is sent away for nothing; the first to come after a turn is over has
 * its place at once. */
static void test_long_stay_alone(void **state) {
  (void)state;
  rig r;
  rig_init(&r, 1);
  assert_true(enter(&r, 0));
  pass(&r, 50 * TURN_MS);
  assert_string_equal(r.overdue, "");
  assert_int_equal(r.guests[0].visitor.state, KIN__GATE_INSIDE);
  assert_false(enter(&r, 1));
  pass(&r, 0);
  assert_string_equal(r.order, "1");
  assert_string_equal(r.overdue, "0");
  rig_finish(&r);
}

/* A timer that comes late sends away all whose turns are over, one in a step;
 * who has just entered stays. */
static void test_many_turns_at_once(void **state) {
  (void)state;
  rig r;
  rig_init(&r, 2);
  assert_true(enter(&r, 0));
  assert_true(enter(&r, 1));
  for (int i = 2; i < GUESTS; i++) {
    assert_false(enter(&r, i));
  }
  pass(&r, 10 * TURN_MS);
  assert_string_equal(r.overdue, "01");
  assert_string_equal(r.order, "23");
  pass(&r, TURN_MS);
  assert_string_equal(r.order, "2345");
  /* The second time: one that has been overdue waits like any other. */
  leave(&r, 0);
  assert_false(enter(&r, 0));
  pass(&r, TURN_MS);
  assert_string_equal(r.order, "23450");
  assert_string_equal(r.overdue, "01234");
  rig_finish(&r);
}

/* A visitor that waits and goes takes nobody's place away. */
static void test_leaving_while_turns_run(void **state) {
  (void)state;
  rig r;
  rig_init(&r, 1);
  assert_true(enter(&r, 0));
  assert_false(enter(&r, 1));
  leave(&r, 1);
  pass(&r, 2 * TURN_MS);
  assert_int_equal(r.guests[0].visitor.state, KIN__GATE_INSIDE);
  assert_false(enter(&r, 2));
  leave(&r, 0);
  run(&r);
  assert_string_equal(r.order, "2");
  assert_string_equal(r.overdue, "");
  rig_finish(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_in_order),
      cmocka_unit_test(test_leaving_early),
      cmocka_unit_test(test_leaving_in_the_callback),
      cmocka_unit_test(test_overdue),
      cmocka_unit_test(test_long_stay_alone),
      cmocka_unit_test(test_many_turns_at_once),
      cmocka_unit_test(test_leaving_while_turns_run),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
