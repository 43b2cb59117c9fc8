/* SPDX-License-Identifier: MIT */
#include "measure.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <time.h>

static uint64_t clock_ns(clockid_t id) {
  struct timespec t;
  clock_gettime(id, &t);
  return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

uint64_t wall_ns(void) {
  return clock_ns(CLOCK_MONOTONIC);
}

uint64_t process_cpu_ns(void) {
  return clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

uint64_t thread_cpu_ns(void) {
  return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

uint64_t thread_page_faults(void) {
#ifdef RUSAGE_THREAD
  struct rusage usage;
  return getrusage(RUSAGE_THREAD, &usage) == 0
             ? (uint64_t)usage.ru_minflt + (uint64_t)usage.ru_majflt
             : 0;
#else
  return 0;
#endif
}

uint64_t memory_bytes(const char *field) {
  FILE *file = fopen("/proc/self/status", "r");
  if (!file) {
    return 0;
  }
  char line[256];
  uint64_t bytes = 0;
  while (fgets(line, sizeof(line), file)) {
    if (strncmp(line, field, strlen(field)) == 0) {
      bytes = strtoull(line + strlen(field), NULL, 10) * 1024;
      break;
    }
  }
  fclose(file);
  return bytes;
}

void histogram_add(histogram *h, uint64_t ns) {
  uint64_t step = ns / 1000;
  h->counts[step < HISTOGRAM_STEPS ? step : HISTOGRAM_STEPS]++;
  h->total++;
  if (ns > h->longest_ns) {
    h->longest_ns = ns;
  }
}

void histogram_merge(histogram *h, const histogram *from) {
  for (size_t i = 0; i <= HISTOGRAM_STEPS; i++) {
    h->counts[i] += from->counts[i];
  }
  h->total += from->total;
  if (from->longest_ns > h->longest_ns) {
    h->longest_ns = from->longest_ns;
  }
}

uint64_t histogram_quantile_ns(const histogram *h, double share) {
  uint64_t seen = 0;
  for (size_t i = 0; i < HISTOGRAM_STEPS; i++) {
    seen += h->counts[i];
    if (h->total > 0 && (double)seen >= share * (double)h->total) {
      uint64_t end_ns = (i + 1) * 1000;
      return end_ns < h->longest_ns ? end_ns : h->longest_ns;
    }
  }
  return h->longest_ns;
}

uint64_t histogram_count_over(const histogram *h, uint64_t ns) {
  uint64_t count = 0;
  for (uint64_t i = ns / 1000; i <= HISTOGRAM_STEPS; i++) {
    count += h->counts[i];
  }
  return count;
}

uint64_t number_argument(const char *program, const char *name, const char *s) {
  char *end;
  errno = 0;
  uint64_t value = strtoull(s, &end, 10);
  if (*s < '0' || *s > '9' || *end || errno != 0) {
    fprintf(stderr, "%s: %s: %s is not a number\n", program, name, s);
    exit(2);
  }
  return value;
}

int run_sizes(int argc, char **argv, const char *usage,
              void (*run)(size_t size)) {
  struct utsname machine;
  if (uname(&machine) == 0) {
    printf("# %s %s %s, compiler %s\n", machine.sysname, machine.release,
           machine.machine, __VERSION__);
  }
  static const size_t sizes[] = {10000, 100000, 1000000};
  for (size_t i = 0; argc < 2 && i < sizeof sizes / sizeof sizes[0]; i++) {
    run(sizes[i]);
  }
  for (int i = 1; i < argc; i++) {
    char *end;
    errno = 0;
    unsigned long count = strtoul(argv[i], &end, 10);
    if (errno != 0 || *end != '\0' || count == 0 || count > 100000000) {
      fprintf(stderr, "usage: %s\n", usage);
      return 2;
    }
    run(count);
  }
  return 0;
}
