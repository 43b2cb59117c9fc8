/* SPDX-License-Identifier: MIT */
#include "support/seeds.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

uint64_t seeds_count;
static uint64_t first_seed;
static uint64_t running;
static bool is_running;

void seeds_take(int argc, char **argv, uint64_t count, uint64_t first) {
  seeds_count = argc > 1 ? strtoull(argv[1], NULL, 10) : count;
  first_seed = argc > 2 ? strtoull(argv[2], NULL, 10) : first;
}

void seeds_run(void (*run)(uint64_t seed)) {
  is_running = true;
  for (uint64_t i = 0; i < seeds_count; i++) {
    running = first_seed + i;
    run(running);
  }
  is_running = false;
}

int seeds_tell(void **state) {
  (void)state;
  if (is_running) {
    print_error("failed with seed %" PRIu64 "\n", running);
  }
  return 0;
}
