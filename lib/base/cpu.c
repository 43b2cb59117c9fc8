/* SPDX-License-Identifier: MIT */
#include "base/cpu.h"

#include <stdatomic.h>
#include <stdbool.h>

#if defined(__x86_64__) || defined(__i386__)

#include <cpuid.h>

/* Beside the features: the processor has been asked. */
#define IS_ASKED 0x80u

/* Bits of XCR0: the system saves these registers at a switch of threads. */
enum { SAVES_AVX = 0x6, SAVES_AVX512 = 0xe6 };

static unsigned saved_registers(void) {
  unsigned low;
  unsigned high;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

static bool has_all(unsigned bits, unsigned needed) {
  return (bits & needed) == needed;
}

/* __builtin_cpu_supports would add 4.5 KB for its table of all processors. */
static unsigned ask_cpu(void) {
  unsigned a;
  unsigned b;
  unsigned c;
  unsigned d;
  unsigned features = IS_ASKED;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0) {
    return features;
  }
  features |= (d & bit_SSE2) != 0 ? KIN__CPU_SSE2 : 0u;
  const unsigned needed = bit_OSXSAVE | bit_AVX | bit_POPCNT | bit_PCLMUL;
  unsigned saved = has_all(c, needed) ? saved_registers() : 0;
  if (has_all(saved, SAVES_AVX) &&
      __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && has_all(b, bit_AVX2)) {
    features |= KIN__CPU_AVX2;
    if (has_all(saved, SAVES_AVX512) &&
        has_all(b, bit_AVX512F | bit_AVX512BW)) {
      features |= KIN__CPU_AVX512;
    }
  }
  return features;
}

/* cpuid is slow, in a virtual machine above all. Any thread may ask, and all
 * get the same answer. */
unsigned kin__cpu_features(void) {
  static atomic_uint known;
  unsigned features = atomic_load_explicit(&known, memory_order_relaxed);
  if (features == 0) {
    features = ask_cpu();
    atomic_store_explicit(&known, features, memory_order_relaxed);
  }
  return features;
}

#else

unsigned kin__cpu_features(void) {
  return 0;
}

#endif
