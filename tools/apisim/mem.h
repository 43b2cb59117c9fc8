/* SPDX-License-Identifier: MIT */
#ifndef APISIM_MEM_H
#define APISIM_MEM_H

/* Checked allocation. kin-apisim is a developer tool: when memory is gone it
 * says so and exits with status 1, so no caller has to handle NULL. Everything
 * is still freed on a clean exit; LeakSanitizer must stay silent. */

#include <stddef.h>

void *xmalloc(size_t size);
void *xcalloc(size_t count, size_t size);
/* Resizes to count * size bytes; exits on overflow too. */
void *xrealloc(void *ptr, size_t count, size_t size);
char *xstrdup(const char *str);
/* Copies len bytes and adds a NUL. */
char *xstrndup(const char *str, size_t len);

#endif
