/* SPDX-License-Identifier: MIT */
#include "base/fork.h"

#include <stddef.h>

#include <sys/mman.h>
#include <unistd.h>

/* The kernel rounds this up to a page. */
#define PAGE_BYTES 1u

void kin__fork_mark_init(kin__fork_mark *mark) {
  *mark = (kin__fork_mark){.pid = getpid()};
#ifdef MADV_WIPEONFORK
  void *page = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) {
    return;
  }
  if (madvise(page, PAGE_BYTES, MADV_WIPEONFORK) != 0) {
    (void)munmap(page, PAGE_BYTES);
    return;
  }
  *(unsigned char *)page = 1;
  mark->page = page;
#endif
}

void kin__fork_mark_finish(kin__fork_mark *mark) {
  if (mark->page != NULL) {
    (void)munmap((void *)mark->page, PAGE_BYTES);
    mark->page = NULL;
  }
}

bool kin__fork_mark_is_child(const kin__fork_mark *mark) {
  return mark->page != NULL ? *mark->page == 0 : getpid() != mark->pid;
}
