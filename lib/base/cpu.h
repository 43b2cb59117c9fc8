/* SPDX-License-Identifier: MIT */
#ifndef KIN_BASE_CPU_H
#define KIN_BASE_CPU_H

/* The instruction sets that the processor has and the system supports. */
enum { KIN__CPU_SSE2 = 1, KIN__CPU_AVX2 = 2, KIN__CPU_AVX512 = 4 };

/* Of an x86 processor; 0 on others. On any thread. */
unsigned kin__cpu_features(void);

#endif /* KIN_BASE_CPU_H */
