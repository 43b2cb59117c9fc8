/* SPDX-License-Identifier: MIT */
#include "latency.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "measure.h"

/* A poll that finds something at once takes less than this. */
#define WAITED_NS 5000

static uint64_t prepared_ns; /* the end of the last prepare phase */
static uint64_t idle_ns;     /* what libuv had counted by then */
static uint64_t woke_ns;     /* 0: not yet */
static bool has_started;
static bool is_noted; /* woke_ns covers the poll of this turn */
static histogram spans;

void latency_begin(uv_loop_t *loop) {
  uv_loop_configure(loop, UV_METRICS_IDLE_TIME);
}

static void note_poll(uv_loop_t *loop) {
  if (is_noted) {
    return;
  }
  is_noted = true;
  uint64_t waited_ns = uv_metrics_idle_time(loop) - idle_ns;
  if (has_started && waited_ns >= WAITED_NS) {
    woke_ns = prepared_ns + waited_ns;
  }
}

/* The poll of the turn that is under way came before. */
void latency_start(void) {
  has_started = true;
  is_noted = true;
}

void latency_on_turn(uv_loop_t *loop) {
  note_poll(loop);
  is_noted = false;
  idle_ns = uv_metrics_idle_time(loop);
  prepared_ns = wall_ns();
}

void latency_on_event(uv_loop_t *loop) {
  note_poll(loop);
  if (woke_ns > 0) {
    histogram_add(&spans, wall_ns() - woke_ns);
  }
}

void latency_print(void) {
  printf(",\"latency_p50_us\":%.1f,\"latency_p99_us\":%.1f,"
         "\"latency_worst_us\":%.1f,\"latency_events\":%llu",
         (double)histogram_quantile_ns(&spans, 0.5) / 1e3,
         (double)histogram_quantile_ns(&spans, 0.99) / 1e3,
         (double)spans.longest_ns / 1e3, (unsigned long long)spans.total);
}
