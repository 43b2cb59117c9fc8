/* SPDX-License-Identifier: MIT */
#ifndef KIN_BASE_ALLOC_H
#define KIN_BASE_ALLOC_H

#include <stddef.h>
#include <stdint.h>

#include <kin/allocator.h>

/* The C library's allocator. The struct is static. */
const kin_allocator *kin__default_allocator(void);

/* Functions that return a pointer return NULL when memory is out or a size
 * overflows. */
void *kin__malloc(const kin_allocator *allocator, size_t size);
void *kin__calloc(const kin_allocator *allocator, size_t count, size_t size);
void *kin__realloc_array(const kin_allocator *allocator, void *ptr,
                         size_t old_count, size_t count, size_t size);
/* Makes room for one more element behind the first `count` of an array, whose
 * pointer is at `place`. Errors: KIN_ENOMEM; nothing has changed then. */
int kin__reserve_one(const kin_allocator *allocator, void *place,
                     uint32_t count, uint32_t *capacity, size_t size);
/* Copies `length` bytes and adds a NUL. */
char *kin__strndup(const kin_allocator *allocator, const char *s,
                   size_t length);
/* NULL gives NULL. */
char *kin__strdup(const kin_allocator *allocator, const char *s);
/* NULL is allowed. */
void kin__free(const kin_allocator *allocator, void *ptr);

#endif /* KIN_BASE_ALLOC_H */
