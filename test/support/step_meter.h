/* SPDX-License-Identifier: MIT */
#ifndef KIN_TEST_STEP_METER_H
#define KIN_TEST_STEP_METER_H

#include <stdbool.h>
#include <stdint.h>

#include "support/script_env.h"

/* Whether each step of each task, and each deferred call, in a script_env does
 * a bounded piece of work: reads gauges of what is worked on between any two of
 * them, and keeps how far each has moved in one step, and in all. */
#define STEP_GAUGES 4

/* Small pieces between two looks at the clock, see base/sched.h. */
#define STEP_BETWEEN_LOOKS 16

typedef enum step_bound {
  STEP_PIECES, /* two pieces a step, while the clock stands still */
  STEP_TIME    /* any number, but each look at the clock takes a slice */
} step_bound;

typedef struct step_meter {
  script_env *script;
  step_bound bound;
  void (*read)(void *ctx, int64_t *gauges);
  void *ctx;
  unsigned steps;
  int64_t now[STEP_GAUGES];
  int64_t moved[STEP_GAUGES]; /* in all */
  int64_t most[STEP_GAUGES];  /* in one step */
} step_meter;

/* `meter` must outlive the script's last run. */
void step_meter_begin(step_meter *meter, script_env *script, step_bound bound,
                      void (*read)(void *ctx, int64_t *gauges), void *ctx);

/* Fails the test if a gauge has moved by more than `most` in a step, or by less
 * than `in_all`: then its task was not seen. */
void step_meter_expect(const step_meter *meter, unsigned gauge,
                       const char *name, int64_t most, int64_t in_all);

#endif /* KIN_TEST_STEP_METER_H */
