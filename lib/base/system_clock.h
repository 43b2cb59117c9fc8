/* SPDX-License-Identifier: MIT */
#ifndef KIN_BASE_SYSTEM_CLOCK_H
#define KIN_BASE_SYSTEM_CLOCK_H

#include <stdint.h>

#include "base/clock.h"
#include "base/timestamp.h"

/* The time that leadership is measured in: it never goes back, and also counts
 * the time for which the machine was suspended. CLOCK_BOOTTIME on Linux,
 * mach_continuous_time on macOS. Elsewhere the monotonic clock, which on the
 * BSDs may stand still during a suspension. */
kin__clock kin__boot_clock(void);

/* The clock on the wall: for times that are written into objects, never for
 * the end of a wait. */
kin__timestamp kin__wall_now(void);

#endif /* KIN_BASE_SYSTEM_CLOCK_H */
