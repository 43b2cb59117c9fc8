/* SPDX-License-Identifier: MIT */
#include "support/step_meter.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static uint64_t meter_now(void *ctx) {
  const step_meter *meter = ctx;
  script_env *script = meter->script;
  if (meter->bound == STEP_TIME && script->sched.is_stepping) {
    script->now_ns += script->sched.slice_ns;
  }
  return script->now_ns;
}

static void on_step(void *ctx, bool is_before) {
  step_meter *meter = ctx;
  int64_t before[STEP_GAUGES];
  memcpy(before, meter->now, sizeof before);
  meter->read(meter->ctx, meter->now);
  if (is_before) {
    return;
  }
  meter->steps++;
  for (unsigned i = 0; i < STEP_GAUGES; i++) {
    int64_t by = meter->now[i] - before[i];
    by = by < 0 ? -by : by;
    meter->moved[i] += by;
    meter->most[i] = by > meter->most[i] ? by : meter->most[i];
  }
}

void step_meter_begin(step_meter *meter, script_env *script, step_bound bound,
                      void (*read)(void *ctx, int64_t *gauges), void *ctx) {
  *meter =
      (step_meter){.script = script, .bound = bound, .read = read, .ctx = ctx};
  script->sched.max_pieces = bound == STEP_PIECES ? 2 : UINT32_MAX;
  script->sched.now_ns = meter_now;
  script->sched.ctx = meter;
  script->env.clock = (kin__clock){meter_now, meter};
  script->on_step = on_step;
  script->on_step_ctx = meter;
}

void step_meter_expect(const step_meter *meter, unsigned gauge,
                       const char *name, int64_t most, int64_t in_all) {
  if (meter->most[gauge] > most || meter->moved[gauge] < in_all) {
    fail_msg("%s: moved by %lld in a step of at most %lld, by %lld of at least "
             "%lld in all",
             name, (long long)meter->most[gauge], (long long)most,
             (long long)meter->moved[gauge], (long long)in_all);
  }
}
