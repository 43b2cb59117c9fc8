/* SPDX-License-Identifier: MIT */

/* RR-12: the token bucket, and the queue before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/limiter.h"
#include "base/random.h"

#define MS UINT64_C(1000000)
#define SECOND UINT64_C(1000000000)
#define START (UINT64_C(1) << 62) /* a clock may begin anywhere */

/* --- The bucket ----------------------------------------------------------- */

/* client-go TestBasicThrottle, RR-12: what the burst allows, and no more. */
static void test_bucket_starts_full(void **state) {
  (void)state;
  kin__bucket bucket;
  kin__bucket_init(&bucket, 1000, 3, START);
  for (int i = 0; i < 3; i++) {
    assert_true(kin__bucket_try(&bucket, START));
  }
  assert_false(kin__bucket_try(&bucket, START));
  assert_int_equal(kin__bucket_wait_ns(&bucket, START), SECOND);
}

/* client-go TestIncrementThrottle, RR-12: one comes back after its time. */
static void test_bucket_refills(void **state) {
  (void)state;
  kin__bucket bucket;
  kin__bucket_init(&bucket, 1000, 1, START);
  assert_true(kin__bucket_try(&bucket, START));
  assert_false(kin__bucket_try(&bucket, START + SECOND - 1));
  assert_int_equal(kin__bucket_wait_ns(&bucket, START + SECOND - 1), 1);
  assert_true(kin__bucket_try(&bucket, START + SECOND));
  assert_false(kin__bucket_try(&bucket, START + SECOND));
}

/* RR-12: never more than the burst, however long the pause. */
static void test_bucket_is_capped(void **state) {
  (void)state;
  static const uint64_t pauses[] = {2 * SECOND, 2 * SECOND + 1, 3600 * SECOND,
                                    UINT64_C(1) << 61};
  for (size_t i = 0; i < sizeof pauses / sizeof *pauses; i++) {
    kin__bucket bucket;
    uint64_t now = START;
    kin__bucket_init(&bucket, 5000, 10, now);
    while (kin__bucket_try(&bucket, now)) {
    }
    now += pauses[i];
    unsigned count = 0;
    while (kin__bucket_try(&bucket, now)) {
      count++;
    }
    assert_int_equal(count, 10);
    assert_int_equal(kin__bucket_wait_ns(&bucket, now), 200 * MS);
  }
}

/* client-go TestRatePrecisionBug, RR-12: a rate of which a token's time is no
 * whole number of nanoseconds, asked at every odd moment, gives as many tokens
 * as it says. */
static void test_bucket_is_exact(void **state) {
  (void)state;
  static const struct {
    uint32_t qps_milli;
    uint64_t seconds;
    uint64_t tokens;
  } rows[] = {{3000, 1000, 3000},
              {7, 1000, 7},
              {1, 5000, 5},
              {999999, 100, 99999},
              {1000000000, 1, 1000000}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    kin__bucket bucket;
    kin__random random = {.state = i + 1};
    uint64_t now = START;
    uint64_t end = START + rows[i].seconds * SECOND;
    uint64_t token_ns = UINT64_C(1000000000000) / rows[i].qps_milli + 1;
    kin__bucket_init(&bucket, rows[i].qps_milli, 2, now);
    assert_true(kin__bucket_try(&bucket, now));
    assert_true(kin__bucket_try(&bucket, now));
    uint64_t count = 0;
    for (;;) {
      while (kin__bucket_try(&bucket, now)) {
        count++;
      }
      if (now == end) {
        break;
      }
      now += kin__random_below(&random, (uint32_t)(token_ns / 2 + 1)) + 1;
      now = now < end ? now : end;
    }
    assert_int_equal(count, rows[i].tokens);
  }
}

/* When it says that there is one, there is, and not a nanosecond before. */
static void test_bucket_wait(void **state) {
  (void)state;
  static const uint32_t rates[] = {1, 3, 999, 3000, 7777777, 1000000000};
  for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
    kin__bucket bucket;
    uint64_t now = START;
    kin__bucket_init(&bucket, rates[i], 1, now);
    assert_int_equal(kin__bucket_wait_ns(&bucket, now), 0);
    for (int n = 0; n < 50; n++) {
      assert_true(kin__bucket_try(&bucket, now));
      uint64_t wait_ns = kin__bucket_wait_ns(&bucket, now);
      assert_true(wait_ns > 0);
      assert_false(kin__bucket_try(&bucket, now + wait_ns - 1));
      now += wait_ns;
    }
  }
}

/* The largest values do not overflow. */
static void test_bucket_limits(void **state) {
  (void)state;
  kin__bucket bucket;
  kin__bucket_init(&bucket, KIN__BUCKET_MAX_QPS_MILLI, KIN__BUCKET_MAX_BURST,
                   0);
  for (uint32_t i = 0; i < KIN__BUCKET_MAX_BURST; i++) {
    assert_true(kin__bucket_try(&bucket, 0));
  }
  assert_false(kin__bucket_try(&bucket, 0));
  assert_int_equal(kin__bucket_wait_ns(&bucket, 0), 1000);
  assert_true(kin__bucket_try(&bucket, UINT64_MAX));
  kin__bucket_init(&bucket, 1, KIN__BUCKET_MAX_BURST, 0);
  assert_true(kin__bucket_try(&bucket, UINT64_MAX / 2));
}

/* A clock that goes back, or a late look at an earlier time, gives nothing. */
static void test_bucket_time_goes_back(void **state) {
  (void)state;
  kin__bucket bucket;
  kin__bucket_init(&bucket, 1000, 3, START);
  for (int i = 0; i < 3; i++) {
    assert_true(kin__bucket_try(&bucket, START));
  }
  assert_false(kin__bucket_try(&bucket, START - 1));
  assert_false(kin__bucket_try(&bucket, 0));
  assert_int_equal(kin__bucket_wait_ns(&bucket, START), SECOND);
  assert_true(kin__bucket_try(&bucket, START + SECOND));
  assert_false(kin__bucket_try(&bucket, START + SECOND));
}

/* --- The queue ------------------------------------------------------------ */

#define VISITORS 6

typedef struct rig {
  kin__sched sched;
  kin__timers timers;
  kin__limiter limiter;
  uint64_t now_ns;
  kin__limiter_visitor visitors[VISITORS];
  char passed[64];        /* "2@400": who, and after how many ms */
  int leave_when_passing; /* this one takes all others with it; -1: none */
} rig;

static rig *the_rig;

static uint64_t rig_now_ns(void *ctx) {
  return ((rig *)ctx)->now_ns;
}

static void on_pass(kin__limiter_visitor *visitor, uint64_t waited_ns) {
  rig *r = the_rig;
  int i = (int)(visitor - r->visitors);
  size_t length = strlen(r->passed);
  snprintf(r->passed + length, sizeof r->passed - length, "%d@%llu ", i,
           (unsigned long long)(waited_ns / MS));
  if (i == r->leave_when_passing) {
    for (int k = 0; k < VISITORS; k++) {
      kin__limiter_leave(&r->limiter, &r->visitors[k]);
    }
  }
}

static void rig_init(rig *r, uint32_t qps_milli, uint32_t burst) {
  memset(r, 0, sizeof *r);
  the_rig = r;
  r->now_ns = START / MS * MS;
  r->leave_when_passing = -1;
  kin__sched_init(&r->sched, rig_now_ns, r);
  kin__timers_init(&r->timers);
  kin__limiter_init(&r->limiter, &r->sched, &r->timers, qps_milli, burst);
  for (int i = 0; i < VISITORS; i++) {
    kin__limiter_visitor_init(&r->visitors[i], on_pass);
  }
}

static void rig_advance(rig *r, uint64_t ms) {
  uint64_t end_ms = r->now_ns / MS + ms;
  for (;;) {
    kin__sched_run(&r->sched, UINT64_MAX);
    uint64_t next_ms = kin__timers_next_ms(&r->timers);
    if (next_ms > end_ms) {
      break;
    }
    r->now_ns = next_ms * MS;
    kin__timers_run(&r->timers, next_ms, 1);
  }
  r->now_ns = end_ms * MS;
}

static void rig_finish(rig *r) {
  kin__limiter_finish(&r->limiter);
  assert_false(kin__sched_has_work(&r->sched));
  assert_true(kin__timers_next_ms(&r->timers) == UINT64_MAX);
}

static bool enter(rig *r, int i) {
  return kin__limiter_enter(&r->limiter, &r->visitors[i]);
}

/* client-go TestThrottle, TestMultithreadedThrottling; RR-12: in order of
 * arrival, each as soon as there is a token for it, and never inside a call. */
static void test_limiter_order(void **state) {
  (void)state;
  rig r;
  rig_init(&r, 5000, 2);
  assert_true(enter(&r, 5));
  assert_true(enter(&r, 4));
  for (int i = 0; i < 4; i++) {
    assert_false(enter(&r, i));
  }
  assert_string_equal(r.passed, "");
  rig_advance(&r, 199);
  assert_string_equal(r.passed, "");
  rig_advance(&r, 1);
  assert_string_equal(r.passed, "0@200 ");
  assert_false(enter(&r, 5)); /* nobody overtakes */
  rig_advance(&r, 600);
  assert_string_equal(r.passed, "0@200 1@400 2@600 3@800 ");
  rig_advance(&r, 200);
  assert_string_equal(r.passed, "0@200 1@400 2@600 3@800 5@800 ");
  assert_int_equal(r.limiter.delayed, 5);
  assert_int_equal(r.limiter.delayed_ns, 2800 * MS);
  assert_false(enter(&r, 0)); /* nothing is left over */
  kin__limiter_leave(&r.limiter, &r.visitors[0]);
  rig_finish(&r);
}

/* Who comes when a token is there, but not given out yet, is behind those who
 * have waited for it. */
static void test_limiter_nobody_overtakes(void **state) {
  (void)state;
  rig r;
  rig_init(&r, 1000, 1);
  assert_true(enter(&r, 5));
  assert_false(enter(&r, 0));
  r.now_ns += 1000 * MS;
  assert_false(enter(&r, 1));
  rig_advance(&r, 1000);
  assert_string_equal(r.passed, "0@1000 1@1000 ");
  rig_finish(&r);
}

/* Timers know milliseconds only; that does not add up. */
static void test_limiter_does_not_drift(void **state) {
  (void)state;
  rig r;
  rig_init(&r, 3000, 1);
  assert_true(enter(&r, 5));
  for (int i = 0; i < 5; i++) {
    assert_false(enter(&r, i));
  }
  rig_advance(&r, 2000);
  assert_string_equal(r.passed, "0@334 1@667 2@1000 3@1334 4@1667 ");
  rig_finish(&r);
}

/* Who leaves costs no token, wherever it stood. */
static void test_limiter_leave(void **state) {
  (void)state;
  for (int leaver = 0; leaver < 3; leaver++) {
    rig r;
    rig_init(&r, 1000, 1);
    assert_true(enter(&r, 5));
    for (int i = 0; i < 3; i++) {
      assert_false(enter(&r, i));
    }
    kin__limiter_leave(&r.limiter, &r.visitors[leaver]);
    kin__limiter_leave(&r.limiter, &r.visitors[leaver]);
    kin__limiter_leave(&r.limiter, &r.visitors[4]); /* was not there */
    rig_advance(&r, 10000);
    static const char *const passed[] = {"1@1000 2@2000 ", "0@1000 2@2000 ",
                                         "0@1000 1@2000 "};
    assert_string_equal(r.passed, passed[leaver]);
    assert_int_equal(r.limiter.delayed, 2);
    rig_finish(&r);
  }
}

/* The last one that leaves takes timer and task with it, also when the token
 * has come. */
static void test_limiter_all_leave(void **state) {
  (void)state;
  rig r;
  rig_init(&r, 1000, 1);
  assert_true(enter(&r, 5));
  assert_false(enter(&r, 0));
  kin__limiter_leave(&r.limiter, &r.visitors[0]);
  assert_true(kin__timers_next_ms(&r.timers) == UINT64_MAX);
  assert_false(enter(&r, 0));
  r.now_ns += 1000 * MS;
  kin__timers_run(&r.timers, r.now_ns / MS, 1);
  assert_true(kin__sched_has_work(&r.sched));
  kin__limiter_leave(&r.limiter, &r.visitors[0]);
  assert_false(kin__sched_has_work(&r.sched));
  assert_true(enter(&r, 0)); /* the token is still there */
  rig_finish(&r);
}

static void test_limiter_leave_inside_pass(void **state) {
  (void)state;
  rig r;
  rig_init(&r, 1000, 1);
  r.leave_when_passing = 1;
  assert_true(enter(&r, 5));
  for (int i = 0; i < 5; i++) {
    assert_false(enter(&r, i));
  }
  rig_advance(&r, 10000);
  assert_string_equal(r.passed, "0@1000 1@2000 ");
  rig_finish(&r);
}

/* After a pause of the loop all that has come is given out, one a step. */
static void test_limiter_catches_up(void **state) {
  (void)state;
  rig r;
  rig_init(&r, 1000, 3);
  while (enter(&r, 5)) {
  }
  kin__limiter_leave(&r.limiter, &r.visitors[5]);
  for (int i = 0; i < 5; i++) {
    assert_false(enter(&r, i));
  }
  r.now_ns += 60 * SECOND;
  kin__timers_run(&r.timers, r.now_ns / MS, 1);
  assert_string_equal(r.passed, "");
  rig_advance(&r, 0);
  assert_string_equal(r.passed, "0@60000 1@60000 2@60000 ");
  rig_advance(&r, 2000);
  assert_string_equal(r.passed, "0@60000 1@60000 2@60000 3@61000 4@62000 ");
  rig_finish(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_bucket_starts_full),
      cmocka_unit_test(test_bucket_refills),
      cmocka_unit_test(test_bucket_is_capped),
      cmocka_unit_test(test_bucket_is_exact),
      cmocka_unit_test(test_bucket_wait),
      cmocka_unit_test(test_bucket_limits),
      cmocka_unit_test(test_bucket_time_goes_back),
      cmocka_unit_test(test_limiter_order),
      cmocka_unit_test(test_limiter_nobody_overtakes),
      cmocka_unit_test(test_limiter_does_not_drift),
      cmocka_unit_test(test_limiter_leave),
      cmocka_unit_test(test_limiter_all_leave),
      cmocka_unit_test(test_limiter_leave_inside_pass),
      cmocka_unit_test(test_limiter_catches_up),
  };
  return cmocka_run_group_tests_name("limiter", tests, NULL, NULL);
}
