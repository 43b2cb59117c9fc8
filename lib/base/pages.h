/* SPDX-License-Identifier: MIT */
#ifndef KIN_BASE_PAGES_H
#define KIN_BASE_PAGES_H

#include <stdbool.h>
#include <stddef.h>

/* Memory that comes from the system, and goes back, as whole pages. On any
 * thread. */

/* Zeroed, but not touched. NULL if there is no memory. */
void *kin__pages_map(size_t bytes);

/* Of a page: a power of two, at least 4,096. */
size_t kin__pages_page_bytes(void);
/* `bytes` and what is missing to whole pages. */
size_t kin__pages_round_up(size_t bytes);

/* Gives pages of one kin__pages_map back. Returns false if the addresses stay
 * taken, and only the memory goes back: a process that has too many mappings
 * cannot split one. */
bool kin__pages_unmap(void *pages, size_t bytes);

#endif /* KIN_BASE_PAGES_H */
