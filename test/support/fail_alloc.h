/* SPDX-License-Identifier: MIT */
#ifndef KIN_TEST_FAIL_ALLOC_H
#define KIN_TEST_FAIL_ALLOC_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include <kin/allocator.h>

/* An allocator for tests: it fails when told to, counts what is alive, and
 * aborts with a message when it is misused (a wrong old_size on realloc, a
 * pointer that is not its own, a second free). realloc always moves, so that a
 * stale pointer is found by the sanitizer. Counters are atomic: blocks may be
 * freed on any thread.
 *
 * fail_alloc_sweep runs a scenario once for each of its allocations.
 */
typedef struct fail_alloc {
  kin_allocator allocator; /* hand out &fail.allocator */
  atomic_size_t calls;     /* of malloc and realloc so far */
  size_t fail_at;          /* the call that fails, from 1; 0: none */
  bool keeps_failing;      /* and all calls after it */
  unsigned permille;       /* of all calls fail, in no order; 0: none */
  atomic_size_t live_blocks;
  atomic_size_t live_bytes;
  atomic_size_t peak_bytes;
  atomic_size_t failures; /* calls that were made to fail */

  /* Blocks that had one of these words when they were given back are counted;
   * NULL: no word. */
  const char *secrets[2];
  atomic_size_t leaked_secrets;
} fail_alloc;

void fail_alloc_init(fail_alloc *fail, size_t fail_at);

/* Whether a call has failed; false after a scenario means that it made fewer
 * than fail_at calls. */
bool fail_alloc_has_failed(const fail_alloc *fail);

/* Runs the scenario with allocation 1 failing, then 2, and so on, until it has
 * fewer. The scenario gives `fail_at` to fail_alloc_init; it may fail, cleanly;
 * it checks that no block is left, and returns fail_alloc_has_failed. Fails the
 * test if the scenario has fewer than `least` allocations. */
void fail_alloc_sweep(bool (*scenario)(size_t fail_at), size_t least);

#endif /* KIN_TEST_FAIL_ALLOC_H */
