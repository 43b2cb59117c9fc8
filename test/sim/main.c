/* SPDX-License-Identifier: MIT */

/* The deterministic simulation: whole informers in worlds that are each made of
 * one number. See doc/simulation.md.
 *
 * usage: kin-sim [--seeds N] [--from S] [--seed S] [--trace] [--mutate K]
 *        [--self-test]
 *
 *   --seeds N     run N worlds (200)
 *   --from S      beginning with this seed (1)
 *   --seed S      run this one world
 *   --trace       print everything that happens, byte for byte the same each
 * time   --mutate K    spoil each world in the K-th way of the self-test
 *   --self-test   spoil worlds in every way we know, and see that each is
 * noticed;
 *                 and that a world happens the same way twice
 *
 * Ends with a line `N passed, N failed`; status 0 only if nothing failed. */

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/world.h"

#define DEFAULT_SEEDS 200u
#define MUTATED_SEEDS 12u
#define REPLAYED_SEEDS 12u
#define MAX_REPORTED 20u

static sim_world world;

/* --- A seed that takes the process down ----------------------------------- */

static void tell_seed(void) {
  char line[96];
  int length = snprintf(line, sizeof line,
                        "seed %" PRIu64 " ended the process; replay: "
                        "./dev sim --seed %" PRIu64 " --trace\n",
                        world.seed, world.seed);
  if (write(STDERR_FILENO, line, (size_t)length) < 0) {
    return;
  }
}

static void on_signal(int number) {
  tell_seed();
  signal(number, SIG_DFL);
  raise(number);
}

/* The sanitizers', if there are any. */
__attribute__((weak)) void __sanitizer_set_death_callback(void (*cb)(void));

static void expect_the_worst(void) {
  signal(SIGABRT, on_signal);
  signal(SIGSEGV, on_signal);
  if (__sanitizer_set_death_callback != NULL) {
    signal(SIGSEGV, SIG_DFL);
    __sanitizer_set_death_callback(tell_seed);
  }
}

/* --- Worlds --------------------------------------------------------------- */

typedef struct totals {
  uint64_t passed;
  uint64_t failed;
  uint64_t events;
  uint64_t requests;
  uint64_t quiet;
  uint64_t virtual_s;
} totals;

static void run_seeds(uint64_t first, uint64_t count,
                      const sim_options *options, totals *sum) {
  for (uint64_t seed = first; seed < first + count; seed++) {
    sim_live(&world, seed, options);
    sum->events += world.events;
    sum->requests += world.net.requests;
    sum->quiet += world.quiet;
    sum->virtual_s += world.script.now_ns / UINT64_C(1000000000) - 1000;
    if (!world.trace.has_failed) {
      sum->passed++;
      if (world.has_mutated) {
        printf("seed %" PRIu64 ": spoiled, and not found\n", seed);
      }
    } else if (sum->failed++ < MAX_REPORTED) {
      printf("seed %" PRIu64 ": %s\n  replay: ./dev sim --seed %" PRIu64
             " --trace\n",
             seed, world.trace.failure, seed);
      fflush(stdout);
    }
  }
}

/* --- The self-test -------------------------------------------------------- */

/* Every world in which the spoiling took place must be found out. */
static void test_mutation(sim_mutation mutation, totals *sum) {
  sim_options options = {.mutation = mutation};
  unsigned spoiled = 0;
  unsigned found = 0;
  for (uint64_t seed = 1; seed <= MUTATED_SEEDS; seed++) {
    sim_live(&world, seed, &options);
    spoiled += world.has_mutated;
    found += world.has_mutated && world.trace.has_failed;
    if (world.has_mutated != world.trace.has_failed) {
      printf("seed %" PRIu64 ", %s: %s\n", seed, sim_mutation_name(mutation),
             world.has_mutated ? "not found" : world.trace.failure);
    }
  }
  bool is_ok = found == spoiled && spoiled >= MUTATED_SEEDS / 2;
  printf("%s: %u spoiled, %u found\n", sim_mutation_name(mutation), spoiled,
         found);
  sum->passed += is_ok;
  sum->failed += !is_ok;
}

static void test_replay(totals *sum) {
  sim_options options = {.is_hashed = true};
  bool is_ok = true;
  for (uint64_t seed = 1; seed <= REPLAYED_SEEDS; seed++) {
    uint64_t hashes[2];
    for (int i = 0; i < 2; i++) {
      sim_live(&world, seed, &options);
      hashes[i] = world.trace.hash;
    }
    is_ok = is_ok && hashes[0] == hashes[1] && world.trace.lines > 100;
  }
  printf("a seed gives the same trace twice: %s\n", is_ok ? "yes" : "no");
  sum->passed += is_ok;
  sum->failed += !is_ok;
}

static void self_test(totals *sum) {
  for (int i = SIM_MUTATE_NOTHING + 1; i < SIM_MUTATIONS; i++) {
    test_mutation((sim_mutation)i, sum);
  }
  test_replay(sum);
}

/* --- Command line --------------------------------------------------------- */

static int usage(void) {
  fprintf(stderr, "usage: kin-sim [--seeds N] [--from S] [--seed S] [--trace] "
                  "[--mutate K] [--self-test]\n");
  return 2;
}

static bool parse_number(const char *text, uint64_t *number) {
  char *end;
  if (text == NULL || text[0] < '0' || text[0] > '9') {
    return false;
  }
  *number = strtoull(text, &end, 10);
  return *end == '\0';
}

int main(int argc, char **argv) {
  uint64_t count = DEFAULT_SEEDS;
  uint64_t first = 1;
  uint64_t mutation = SIM_MUTATE_NOTHING;
  sim_options options = {0};
  bool is_self_test = false;
  for (int i = 1; i < argc; i++) {
    const char *value = argv[i + 1];
    bool is_ok = true;
    if (strcmp(argv[i], "--trace") == 0) {
      options.is_traced = true;
    } else if (strcmp(argv[i], "--self-test") == 0) {
      is_self_test = true;
    } else if (strcmp(argv[i], "--seeds") == 0) {
      is_ok = parse_number(value, &count);
      i++;
    } else if (strcmp(argv[i], "--from") == 0) {
      is_ok = parse_number(value, &first);
      i++;
    } else if (strcmp(argv[i], "--seed") == 0) {
      is_ok = parse_number(value, &first);
      count = 1;
      i++;
    } else if (strcmp(argv[i], "--mutate") == 0) {
      is_ok = parse_number(value, &mutation) && mutation < SIM_MUTATIONS;
      options.mutation = (sim_mutation)mutation;
      i++;
    } else {
      is_ok = false;
    }
    if (!is_ok) {
      return usage();
    }
  }
  expect_the_worst();
  totals sum = {0};
  if (is_self_test) {
    self_test(&sum);
  } else {
    run_seeds(first, count, &options, &sum);
    printf("%" PRIu64 " events, %" PRIu64 " requests, %" PRIu64
           " checks at rest, %" PRIu64 " s of virtual time\n",
           sum.events, sum.requests, sum.quiet, sum.virtual_s);
  }
  printf("%" PRIu64 " passed, %" PRIu64 " failed\n", sum.passed, sum.failed);
  return sum.failed == 0 ? 0 : 1;
}
