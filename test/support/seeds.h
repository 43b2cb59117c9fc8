/* SPDX-License-Identifier: MIT */
#ifndef KIN_TEST_SEEDS_H
#define KIN_TEST_SEEDS_H

#include <stdint.h>

/* The seeds of a model test, which runs one random story for each of them.
 * Usage of such a test: NAME [SEEDS [FIRST]]. */

extern uint64_t seeds_count;

/* From the arguments; `count` and `first` are the defaults. */
void seeds_take(int argc, char **argv, uint64_t count, uint64_t first);

/* Runs once for each seed. */
void seeds_run(void (*run)(uint64_t seed));

/* A teardown: names the seed at which seeds_run has failed. */
int seeds_tell(void **state);

#endif /* KIN_TEST_SEEDS_H */
