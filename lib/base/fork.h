/* SPDX-License-Identifier: MIT */
#ifndef KIN_BASE_FORK_H
#define KIN_BASE_FORK_H

#include <stdbool.h>

#include <sys/types.h>

/* Tells a forked child from the process that opened a resource. A child shares
 * its parent's sockets and must neither read from them nor write to them.
 *
 * Where the system can do so, the mark is a page that the kernel wipes in a
 * child, so a test costs one load. Elsewhere a test costs getpid(). */
typedef struct kin__fork_mark {
  const volatile unsigned char *page; /* NULL: pid is the mark */
  pid_t pid;
} kin__fork_mark;

/* Cannot fail. */
void kin__fork_mark_init(kin__fork_mark *mark);
void kin__fork_mark_finish(kin__fork_mark *mark);

/* Whether this process is a child of the one that called init. */
bool kin__fork_mark_is_child(const kin__fork_mark *mark);

#endif /* KIN_BASE_FORK_H */
