/* SPDX-License-Identifier: MIT */
#include "base/system_clock.h"

#include <stddef.h>
#include <time.h>

#ifdef __APPLE__
#include <mach/mach_time.h>

static uint64_t boot_now_ns(void *ctx) {
  mach_timebase_info_data_t base;
  (void)ctx;
  if (mach_timebase_info(&base) != KERN_SUCCESS || base.denom == 0) {
    return 0;
  }
  uint64_t ticks = mach_continuous_time();
  return ticks / base.denom * base.numer +
         ticks % base.denom * base.numer / base.denom;
}
#else

#ifdef CLOCK_BOOTTIME
#define BOOT_CLOCK CLOCK_BOOTTIME
#else
#define BOOT_CLOCK CLOCK_MONOTONIC
#endif

static uint64_t boot_now_ns(void *ctx) {
  struct timespec now;
  (void)ctx;
  if (clock_gettime(BOOT_CLOCK, &now) != 0) {
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
  }
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}
#endif

kin__clock kin__boot_clock(void) {
  return (kin__clock){.now_ns = boot_now_ns, .ctx = NULL};
}

kin__timestamp kin__wall_now(void) {
  struct timespec now;
  (void)clock_gettime(CLOCK_REALTIME, &now);
  return (kin__timestamp){.s = now.tv_sec, .ns = (uint32_t)now.tv_nsec};
}
