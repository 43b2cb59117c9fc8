/* SPDX-License-Identifier: MIT */
#ifndef KIN_TEST_RESIDENT_H
#define KIN_TEST_RESIDENT_H

#include <stddef.h>

#include <sys/mman.h>
#include <unistd.h>

static inline size_t page_bytes(void) {
  return (size_t)sysconf(_SC_PAGESIZE);
}

/* How many of the `count` pages from `pages` on, at most 128, are in memory. */
static inline size_t resident_pages(char *pages, size_t count) {
  unsigned char resident[128];
  assert_true(count <= sizeof resident);
  assert_int_equal(mincore(pages, count * page_bytes(), (void *)resident), 0);
  size_t sum = 0;
  for (size_t i = 0; i < count; i++) {
    sum += resident[i] & 1u;
  }
  return sum;
}

#endif /* KIN_TEST_RESIDENT_H */
