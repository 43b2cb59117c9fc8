/* SPDX-License-Identifier: MIT */
#ifndef BENCH_MEASURE_H
#define BENCH_MEASURE_H

#include <stddef.h>
#include <stdint.h>

/* What both benchmark programs measure with. */

uint64_t wall_ns(void);
uint64_t process_cpu_ns(void);
uint64_t thread_cpu_ns(void);

/* Of the calling thread; 0 where the system does not count them. */
uint64_t thread_page_faults(void);

/* A field of /proc/self/status such as "VmHWM:", in bytes; 0 if unknown. */
uint64_t memory_bytes(const char *field);

/* Durations, counted in steps of a microsecond up to 20 ms; the longest is
 * exact. Fixed in size, so that measuring does not disturb the memory that is
 * measured. */
enum { HISTOGRAM_STEPS = 20000 };

typedef struct histogram {
  uint32_t counts[HISTOGRAM_STEPS + 1]; /* the last: longer */
  uint64_t total;
  uint64_t longest_ns;
} histogram;

void histogram_add(histogram *h, uint64_t ns);

/* Adds what `from` has counted. */
void histogram_merge(histogram *h, const histogram *from);

/* The upper end of the step below which `share` (0 to 1) of the durations are;
 * the longest if that is beyond the last step. */
uint64_t histogram_quantile_ns(const histogram *h, double share);

/* How many durations were longer than that; whole microseconds up to 20 ms. */
uint64_t histogram_count_over(const histogram *h, uint64_t ns);

/* A decimal number from the command line; ends the program if it is none. */
uint64_t number_argument(const char *program, const char *name, const char *s);

/* The main function of a benchmark: says which machine it is, then runs for
 * each of the sizes on the command line, or for ten and a hundred thousand and
 * a million. Returns the exit status. */
int run_sizes(int argc, char **argv, const char *usage,
              void (*run)(size_t size));

#endif /* BENCH_MEASURE_H */
