/* SPDX-License-Identifier: MIT */
#ifndef KIN_SIM_TRACE_H
#define KIN_SIM_TRACE_H

#include <stdbool.h>
#include <stdint.h>

/* What a simulated world writes down: one line for everything that happens,
 * with the virtual time. Nothing in it depends on an address, on the real time
 * or on the machine, so the same seed gives the same bytes; their hash is what
 * the self-test compares.
 *
 * Also the place where an oracle's finding is kept: the first one counts, and
 * the world ends in an orderly way after it. */
typedef struct sim_trace {
  const uint64_t *now_ns;
  bool is_printed; /* to standard output */
  bool is_hashed;
  uint64_t hash;
  uint64_t lines;
  bool has_failed;
  char failure[640];
} sim_trace;

void sim_trace_init(sim_trace *trace, bool is_printed, bool is_hashed);

/* Whether anybody reads the lines; without, saying them costs nothing. */
static inline bool sim_is_traced(const sim_trace *trace) {
  return trace->is_printed || trace->is_hashed;
}

__attribute__((format(printf, 2, 3))) void sim_say(sim_trace *trace,
                                                   const char *format, ...);

/* Something is not as it must be. */
__attribute__((format(printf, 2, 3))) void sim_fail(sim_trace *trace,
                                                    const char *format, ...);

/* The oracles' assertion; returns whether it holds. */
#define SIM_CHECK(trace, condition, ...)                                       \
  ((condition) ? true : (sim_fail((trace), __VA_ARGS__), false))

#endif /* KIN_SIM_TRACE_H */
