/* SPDX-License-Identifier: MIT */
#include "sim/trace.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#define FNV_OFFSET UINT64_C(0xcbf29ce484222325)
#define FNV_PRIME UINT64_C(0x100000001b3)

void sim_trace_init(sim_trace *trace, bool is_printed, bool is_hashed) {
  *trace = (sim_trace){
      .is_printed = is_printed, .is_hashed = is_hashed, .hash = FNV_OFFSET};
}

static void put_line(sim_trace *trace, const char *text) {
  char line[1200];
  uint64_t us = trace->now_ns != NULL ? *trace->now_ns / 1000 : 0;
  int length = snprintf(line, sizeof line, "%8" PRIu64 ".%06" PRIu64 " %s\n",
                        us / 1000000, us % 1000000, text);
  if (trace->is_printed) {
    fputs(line, stdout);
  }
  for (int i = 0; i < length && line[i] != '\0'; i++) {
    trace->hash = (trace->hash ^ (unsigned char)line[i]) * FNV_PRIME;
  }
  trace->lines++;
}

void sim_say(sim_trace *trace, const char *format, ...) {
  if (!sim_is_traced(trace)) {
    return;
  }
  char text[1024];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  put_line(trace, text);
}

void sim_fail(sim_trace *trace, const char *format, ...) {
  char text[640];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  sim_say(trace, "FAILED: %s", text);
  if (!trace->has_failed) {
    trace->has_failed = true;
    snprintf(trace->failure, sizeof trace->failure, "%s", text);
  }
}
