/* SPDX-License-Identifier: MIT */
/* For the self-test: promises that are kept, and promises that are not. */
#include "costs/cost.h"

#include <stdint.h>

static volatile uint64_t sink;

static void work(size_t steps) {
  for (size_t i = 0; i < steps; i++) {
    sink += i;
  }
}

static size_t log_of(size_t n) {
  size_t log = 0;
  while (n >> log > 1) {
    log++;
  }
  return log;
}

static void constant(size_t n) {
  COST(work(1000 + n % 2));
}

static void logarithmic(size_t n) {
  COST(work(log_of(n) * 1000));
}

static void linear(size_t n) {
  COST(work(n));
}

static void linear_log(size_t n) {
  COST(work(n * log_of(n)));
}

static void quadratic(size_t n) {
  COST(work(n * n / 16));
}

/* Fifteen calls of sixteen are quick. */
static void once_linear(size_t n) {
  COST_EACH(i, COST_CALLS, work(i == 7 ? n : 1));
}

const cost_row cost_rows_planted[] = {
    {"right_one", NULL, "n", COST_ONE, constant},
    {"right_log", "O(log n)", "n", COST_LOG, logarithmic},
    {"right_linear", "O(n)", "n", COST_LINEAR, linear},
    {"right_linear_log", "O(n log n)", "n", COST_LINEAR_LOG, linear_log},
    {"wrong_one", NULL, "n", COST_ONE, linear},
    {"wrong_one_once", NULL, "n", COST_ONE, once_linear},
    {"wrong_log", "O(log n)", "n", COST_LOG, linear},
    {"wrong_linear", "O(n)", "n", COST_LINEAR, quadratic},
    {"wrong_linear_log", "O(n log n)", "n", COST_LINEAR_LOG, quadratic},
    {"wrong_unchanged", "O(n)", "n", COST_LINEAR, constant},
    {0},
};
