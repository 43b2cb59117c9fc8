/* SPDX-License-Identifier: MIT */
#include "base/pages.h"

#include <sys/mman.h>
#include <unistd.h>

void *kin__pages_map(size_t bytes) {
  void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return pages != MAP_FAILED ? pages : NULL;
}

size_t kin__pages_page_bytes(void) {
  return (size_t)sysconf(_SC_PAGESIZE);
}

size_t kin__pages_round_up(size_t bytes) {
  size_t page = kin__pages_page_bytes();
  return (bytes + page - 1) & ~(page - 1);
}

bool kin__pages_unmap(void *pages, size_t bytes) {
  bool is_unmapped = munmap(pages, bytes) == 0;
  if (!is_unmapped) {
    (void)madvise(pages, bytes, MADV_DONTNEED);
  }
  return is_unmapped;
}
