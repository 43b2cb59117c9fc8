/* SPDX-License-Identifier: MIT */
/* Does what the public headers promise a cost for, with few and with many of
 * what the promise is about. Under valgrind's callgrind each count becomes a
 * part of its output, which costs.py reads; alone, the program only shows that
 * the rows work.
 *
 * usage: kin-costs [--planted] [--list | FUNCTION...]
 *
 * --list prints the rows: number, function, promising declaration, promise,
 * what grows, class; separated by tabs. --planted: rows that must be found to be
 * wrong, and some that must not, instead of the real ones. */
#include "costs/cost.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __has_include
#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#define COUNTS 1
#endif
#endif
#ifndef COUNTS
#define COUNTS 0
#define CALLGRIND_START_INSTRUMENTATION
#define CALLGRIND_STOP_INSTRUMENTATION
#define CALLGRIND_ZERO_STATS
#define CALLGRIND_DUMP_STATS_AT(name) (void)(name)
#endif

static const cost_row *const tables[] = {
    cost_rows_store,      cost_rows_index,
    cost_rows_object,     cost_rows_cache,
    cost_rows_mutation,   cost_rows_queue,
    cost_rows_process,    cost_rows_informer,
    cost_rows_listener,   cost_rows_client,
    cost_rows_change,     cost_rows_value,
    cost_rows_work_queue, cost_rows_kubeconfig,
    cost_rows_writers,    NULL};
static const cost_row *const planted_tables[] = {cost_rows_planted, NULL};

static char count_name[64]; /* "row 12 at 4096" */
static unsigned counts;     /* of the run */

void cost_begin(void) {
  CALLGRIND_START_INSTRUMENTATION;
  CALLGRIND_ZERO_STATS;
}

void cost_next(void) {
  CALLGRIND_DUMP_STATS_AT(count_name);
  counts++;
}

void cost_end(void) {
  cost_next();
  CALLGRIND_STOP_INSTRUMENTATION;
}

static void run_at(const cost_row *row, unsigned number, size_t n) {
  snprintf(count_name, sizeof count_name, "row %u at %zu", number, n);
  counts = 0;
  row->run(n);
  cost_assert(counts > 0);
  if (cost_memory_live() != 0) {
    fprintf(stderr, "kin-costs: %s (%s) leaks\n", row->function, row->grows);
    exit(1);
  }
}

static void run_row(const cost_row *row, unsigned number) {
  size_t least = row->least > 0 ? row->least : COST_LEAST;
  run_at(row, number, least);
  run_at(row, number,
         least * (least == COST_SEGMENT ? COST_SEGMENT_FACTOR : COST_FACTOR));
}

static void print_row(const cost_row *row, unsigned number) {
  static const char *const classes[COST_CLASSES] = {[COST_ONE] = "O(1)",
                                                    [COST_LOG] = "O(log n)",
                                                    [COST_LINEAR] = "O(n)",
                                                    [COST_LINEAR_LOG] =
                                                        "O(n log n)"};
  printf("%u\t%s\t%s\t%s\t%s\t%s\n", number, row->function,
         row->of != NULL ? row->of : row->function,
         row->promise != NULL ? row->promise : "", row->grows,
         classes[row->allowed]);
}

static bool is_wanted(const cost_row *row, char **names) {
  bool is_named = *names == NULL;
  for (; *names != NULL; names++) {
    is_named = is_named || strcmp(*names, row->function) == 0;
  }
  return is_named;
}

int main(int argc, char **argv) {
  (void)argc;
  argv++;
  const cost_row *const *from = tables;
  if (*argv != NULL && strcmp(*argv, "--planted") == 0) {
    from = planted_tables;
    argv++;
  }
  bool is_list = *argv != NULL && strcmp(*argv, "--list") == 0;
  if (is_list) {
    argv++;
    printf("%s\n", COUNTS ? "counts" : "does not count");
  }
  unsigned number = 0;
  for (; *from != NULL; from++) {
    for (const cost_row *row = *from; row->function != NULL; row++) {
      number++;
      if (is_list) {
        print_row(row, number);
      } else if (is_wanted(row, argv)) {
        run_row(row, number);
      }
    }
  }
  return 0;
}
