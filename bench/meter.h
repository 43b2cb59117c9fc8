/* SPDX-License-Identifier: MIT */
#ifndef BENCH_METER_H
#define BENCH_METER_H

#include <stddef.h>

#include <kin/allocator.h>

/* An allocator that counts what malloc really sets aside, its own header
 * included; glibc and musl. */
typedef struct meter {
  kin_allocator allocator;
  size_t bytes; /* alive */
} meter;

void meter_init(meter *m);

#endif /* BENCH_METER_H */
