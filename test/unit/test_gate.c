/* SPDX-License-Identifier: MIT */

/* The gate: how many are inside, in which order the others follow, and what
 * leaving does in every state. */

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

typedef struct rig {
  kin__sched sched;
  kin__gate gate;
  guest guests[GUESTS];
  char order[64];      /* of enter callbacks */
  int leaves_in_enter; /* this guest leaves inside its callback; -1: none */
} rig;

static uint64_t no_time(void *ctx) {
  (void)ctx;
  return 0;
}

static void on_enter(kin__gate_visitor *visitor) {
  guest *g = KIN__CONTAINER_OF(visitor, guest, visitor);
  size_t used = strlen(g->rig->order);
  snprintf(g->rig->order + used, sizeof g->rig->order - used, "%d", g->number);
  assert_true(visitor->is_inside);
  if (g->number == g->rig->leaves_in_enter) {
    kin__gate_leave(&g->rig->gate, visitor);
  }
}

static void rig_init(rig *r, uint32_t limit) {
  *r = (rig){.leaves_in_enter = -1};
  kin__sched_init(&r->sched, no_time, NULL);
  kin__gate_init(&r->gate, &r->sched, limit);
  for (int i = 0; i < GUESTS; i++) {
    r->guests[i].rig = r;
    r->guests[i].number = i;
    kin__gate_visitor_init(&r->guests[i].visitor, on_enter);
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

static void rig_finish(rig *r) {
  for (int i = 0; i < GUESTS; i++) {
    leave(r, i);
  }
  run(r);
  kin__gate_finish(&r->gate);
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
  assert_true(r.guests[2].visitor.is_inside);
  rig_finish(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_in_order),
      cmocka_unit_test(test_leaving_early),
      cmocka_unit_test(test_leaving_in_the_callback),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
