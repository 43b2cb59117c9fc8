/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/sched.h"

/* Each step takes STEP_NS of a clock that only steps move. */
#define STEP_NS 10u
#define FOREVER UINT64_MAX

static struct {
  kin__sched sched;
  uint64_t now_ns;
  char trace[64]; /* names of the tasks that ran */
  size_t length;
  unsigned wakes;
} s;

typedef struct worker {
  kin__task task;
  char name;
  unsigned work; /* steps left */
  struct worker *other;
} worker;

static uint64_t now_ns(void *ctx) {
  assert_ptr_equal(ctx, &s);
  return s.now_ns;
}

static void wake(kin__sched *sched) {
  assert_ptr_equal(sched, &s.sched);
  s.wakes++;
}

static worker *begin_step(kin__task *task) {
  worker *w = KIN__CONTAINER_OF(task, worker, task);
  assert_true(s.length + 1 < sizeof s.trace);
  s.trace[s.length++] = w->name;
  s.trace[s.length] = '\0';
  s.now_ns += STEP_NS;
  return w;
}

static bool work(kin__task *task) {
  worker *w = begin_step(task);
  return --w->work > 0;
}

static void init_worker(worker *w, char name, unsigned steps,
                        bool (*step)(kin__task *)) {
  *w = (worker){.name = name, .work = steps};
  kin__task_init(&w->task, step);
}

static int setup(void **state) {
  (void)state;
  s.now_ns = 1000;
  s.length = 0;
  s.trace[0] = '\0';
  s.wakes = 0;
  kin__sched_init(&s.sched, now_ns, &s);
  s.sched.wake = wake;
  return 0;
}

static void test_sched_is_round_robin(void **state) {
  (void)state;
  worker a;
  worker b;
  worker c;
  init_worker(&a, 'a', 3, work);
  init_worker(&b, 'b', 1, work);
  init_worker(&c, 'c', 2, work);
  kin__sched_add(&s.sched, &a.task);
  kin__sched_add(&s.sched, &b.task);
  kin__sched_add(&s.sched, &c.task);
  kin__sched_add(&s.sched, &a.task); /* is there already */
  /* Each time: whatever was to run the tasks may be gone meanwhile. */
  assert_int_equal(s.wakes, 4);
  assert_true(kin__sched_has_work(&s.sched));
  assert_int_equal(s.length, 0); /* nothing runs when it is added */
  assert_false(kin__sched_run(&s.sched, FOREVER));
  assert_string_equal(s.trace, "abcaca");
  assert_false(kin__sched_has_work(&s.sched));
}

static void test_sched_keeps_to_its_budget(void **state) {
  (void)state;
  worker a;
  worker b;
  init_worker(&a, 'a', 3, work);
  init_worker(&b, 'b', 3, work);
  kin__sched_add(&s.sched, &a.task);
  kin__sched_add(&s.sched, &b.task);
  assert_true(kin__sched_run(&s.sched, 3 * STEP_NS));
  assert_string_equal(s.trace, "aba");
  assert_true(kin__sched_run(&s.sched, 0)); /* at least one step */
  assert_string_equal(s.trace, "abab");
  assert_false(kin__sched_run(&s.sched, 2 * STEP_NS));
  assert_string_equal(s.trace, "ababab");
  assert_false(kin__sched_run(&s.sched, FOREVER));
}

static bool work_slowly(kin__task *task) {
  s.now_ns += 4 * STEP_NS;
  return work(task);
}

/* A step begins only if there is time for another as long as the longest of this
 * run; a slow step of an earlier run does not count. */
static void test_sched_leaves_time_for_the_longest_step(void **state) {
  (void)state;
  worker fast;
  worker slow;
  init_worker(&fast, 'f', 20, work);
  init_worker(&slow, 's', 3, work_slowly);
  kin__sched_add(&s.sched, &slow.task);
  kin__sched_add(&s.sched, &fast.task);
  assert_true(kin__sched_run(&s.sched, 9 * STEP_NS)); /* 5, and no 5 more */
  assert_string_equal(s.trace, "s");
  assert_true(kin__sched_run(&s.sched, 10 * STEP_NS)); /* 6, and no 5 more */
  assert_string_equal(s.trace, "sfs");
  kin__sched_cancel(&s.sched, &slow.task);
  assert_true(kin__sched_run(&s.sched, 9 * STEP_NS));
  assert_string_equal(s.trace, "sfsfffffffff");
  kin__sched_cancel(&s.sched, &fast.task);
}

static void test_sched_cancel_from_outside(void **state) {
  (void)state;
  worker a;
  init_worker(&a, 'a', 1, work);
  kin__sched_add(&s.sched, &a.task);
  kin__sched_cancel(&s.sched, &a.task);
  kin__sched_cancel(&s.sched, &a.task);
  assert_false(kin__sched_has_work(&s.sched));
  assert_false(kin__sched_run(&s.sched, FOREVER));
  assert_string_equal(s.trace, "");
  kin__sched_add(&s.sched, &a.task);
  assert_int_equal(s.wakes, 2);
  assert_false(kin__sched_run(&s.sched, FOREVER));
  assert_string_equal(s.trace, "a");
}

static bool cancel_itself(kin__task *task) {
  begin_step(task);
  kin__sched_cancel(&s.sched, task);
  return true; /* is overruled */
}

static bool cancel_other(kin__task *task) {
  worker *w = begin_step(task);
  kin__sched_cancel(&s.sched, &w->other->task);
  return false;
}

static void test_sched_cancel_from_a_step(void **state) {
  (void)state;
  worker a;
  worker b;
  worker c;
  init_worker(&a, 'a', 1, cancel_itself);
  init_worker(&b, 'b', 1, cancel_other);
  init_worker(&c, 'c', 1, work);
  b.other = &c;
  kin__sched_add(&s.sched, &a.task);
  kin__sched_add(&s.sched, &b.task);
  kin__sched_add(&s.sched, &c.task);
  assert_false(kin__sched_run(&s.sched, FOREVER));
  assert_string_equal(s.trace, "ab");
}

static bool add_other(kin__task *task) {
  worker *w = begin_step(task);
  kin__sched_add(&s.sched, &w->other->task);
  return false;
}

/* Adding inside a run wakes nobody: the run goes on. */
static void test_sched_add_from_a_step(void **state) {
  (void)state;
  worker a;
  worker b;
  init_worker(&a, 'a', 1, add_other);
  init_worker(&b, 'b', 2, work);
  a.other = &b;
  kin__sched_add(&s.sched, &a.task);
  assert_false(kin__sched_run(&s.sched, FOREVER));
  assert_string_equal(s.trace, "abb");
  assert_int_equal(s.wakes, 1);
}

static bool add_itself(kin__task *task) {
  worker *w = begin_step(task);
  if (--w->work > 0) {
    kin__sched_add(&s.sched, task);
  }
  return w->work > 0; /* asked for twice, queued once */
}

static void test_sched_step_adds_itself(void **state) {
  (void)state;
  worker a;
  init_worker(&a, 'a', 2, add_itself);
  kin__sched_add(&s.sched, &a.task);
  assert_false(kin__sched_run(&s.sched, FOREVER));
  assert_string_equal(s.trace, "aa");
}

static bool free_both(kin__task *task) {
  worker *w = begin_step(task);
  kin__sched_cancel(&s.sched, &w->other->task);
  free(w->other);
  free(w);
  return false;
}

static void test_sched_step_frees_tasks(void **state) {
  (void)state;
  worker *a = malloc(sizeof *a);
  worker *b = malloc(sizeof *b);
  init_worker(a, 'a', 1, free_both);
  init_worker(b, 'b', 1, free_both);
  a->other = b;
  b->other = a;
  kin__sched_add(&s.sched, &a->task);
  kin__sched_add(&s.sched, &b->task);
  assert_false(kin__sched_run(&s.sched, FOREVER));
  assert_string_equal(s.trace, "a");
}

static bool call_handlers(kin__task *task) {
  begin_step(task);
  s.sched.handler_ns += 4;
  return false;
}

static void test_sched_handlers_time_is_of_one_run(void **state) {
  (void)state;
  worker a;
  worker b;
  init_worker(&a, 'a', 1, call_handlers);
  init_worker(&b, 'b', 1, call_handlers);
  kin__sched_add(&s.sched, &a.task);
  kin__sched_add(&s.sched, &b.task);
  assert_false(kin__sched_run(&s.sched, FOREVER));
  assert_int_equal(s.sched.handler_ns, 8);
  assert_false(kin__sched_run(&s.sched, FOREVER));
  assert_int_equal(s.sched.handler_ns, 0);
}

/* A step's work: the clock moves by a piece's time with each piece. */
static unsigned count_pieces(kin__slice slice, uint64_t piece_ns) {
  unsigned pieces = 0;
  while (kin__slice_next(&slice)) {
    pieces++;
    s.now_ns += piece_ns;
  }
  return pieces;
}

/* A step ends after its number of pieces, or when its time is over. */
static void test_slice_is_bounded(void **state) {
  (void)state;
  assert_int_equal(count_pieces(kin__slice_begin(&s.sched, 100), 0), 100);
  assert_int_equal(count_pieces(kin__slice_begin_small(&s.sched, 100), 0), 100);
  assert_int_equal(
      count_pieces(kin__slice_begin(&s.sched, 100), KIN__SLICE_NS / 4), 4);
  assert_int_equal(
      count_pieces(kin__slice_begin(&s.sched, 100), 10 * KIN__SLICE_NS), 1);
  assert_int_equal(
      count_pieces(kin__slice_begin_small(&s.sched, 100), KIN__SLICE_NS), 16);
}

/* What tests make every step smaller with. */
static void test_slice_bounds_can_be_set(void **state) {
  (void)state;
  s.sched.max_pieces = 2;
  assert_int_equal(count_pieces(kin__slice_begin(&s.sched, 100), 0), 2);
  assert_int_equal(count_pieces(kin__slice_begin_small(&s.sched, 100), 0), 2);
  assert_int_equal(count_pieces(kin__slice_begin(&s.sched, 1), 0), 1);
  assert_int_equal(kin__sched_pieces(&s.sched, 64), 2);
  s.sched.max_pieces = UINT32_MAX;
  s.sched.slice_ns = 10;
  assert_int_equal(count_pieces(kin__slice_begin(&s.sched, 100), 5), 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(test_sched_is_round_robin, setup),
      cmocka_unit_test_setup(test_sched_keeps_to_its_budget, setup),
      cmocka_unit_test_setup(test_sched_leaves_time_for_the_longest_step,
                             setup),
      cmocka_unit_test_setup(test_sched_cancel_from_outside, setup),
      cmocka_unit_test_setup(test_sched_cancel_from_a_step, setup),
      cmocka_unit_test_setup(test_sched_add_from_a_step, setup),
      cmocka_unit_test_setup(test_sched_step_adds_itself, setup),
      cmocka_unit_test_setup(test_sched_step_frees_tasks, setup),
      cmocka_unit_test_setup(test_sched_handlers_time_is_of_one_run, setup),
      cmocka_unit_test_setup(test_slice_is_bounded, setup),
      cmocka_unit_test_setup(test_slice_bounds_can_be_set, setup),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
