/* SPDX-License-Identifier: MIT */
#ifndef KIN_CONFIG_VAULT_H
#define KIN_CONFIG_VAULT_H

#include <stddef.h>

#include <kin/allocator.h>
#include <kin/str.h>

/* Memory for what may be secret: blocks that are never moved, and that are
 * wiped and freed together. A growing buffer would leave copies behind. */
typedef struct kin__vault {
  const kin_allocator *allocator; /* must outlive the vault */
  struct kin__vault_block *blocks;
  size_t used;        /* of the first block */
  size_t block_bytes; /* the least size of a block; tests make it small */
} kin__vault;

/* Allocates nothing. */
void kin__vault_init(kin__vault *vault, const kin_allocator *allocator);
/* Wipes and frees all memory. The vault may be used again. */
void kin__vault_finish(kin__vault *vault);

/* Zeroed memory, aligned for every type. NULL if memory is out or the size
 * overflows. */
void *kin__vault_alloc(kin__vault *vault, size_t count, size_t size);

/* A copy with a NUL behind it; NULL if memory is out. */
char *kin__vault_copy(kin__vault *vault, kin_str text);

/* The same; NULL gives NULL in *to. Errors: KIN_ENOMEM. */
int kin__vault_take(kin__vault *vault, const char **to, const char *text);
/* The same for an array of `count` texts; none gives an empty one. */
int kin__vault_take_all(kin__vault *vault, const char *const **to,
                        const char *const *texts, size_t count);

#endif /* KIN_CONFIG_VAULT_H */
