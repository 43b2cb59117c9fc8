/* SPDX-License-Identifier: MIT */
#include "config/vault.h"

#include <stdint.h>
#include <string.h>

#include <openssl/crypto.h>

#include <kin/error.h>

#include "base/alloc.h"
#include "base/str.h"

#define USUAL_BLOCK_BYTES 4096u

typedef union vault_unit {
  long double number;
  void *pointer;
  uint64_t bits;
} vault_unit;

struct kin__vault_block {
  struct kin__vault_block *next;
  size_t size; /* of units, in bytes */
  vault_unit units[];
};

void kin__vault_init(kin__vault *vault, const kin_allocator *allocator) {
  *vault =
      (kin__vault){.allocator = allocator, .block_bytes = USUAL_BLOCK_BYTES};
}

void kin__vault_finish(kin__vault *vault) {
  struct kin__vault_block *block = vault->blocks;
  while (block != NULL) {
    struct kin__vault_block *next = block->next;
    OPENSSL_cleanse(block->units, block->size);
    kin__free(vault->allocator, block);
    block = next;
  }
  kin__vault_init(vault, vault->allocator);
}

/* A block for one large piece goes behind the first one, whose rest stays in
 * use. */
static struct kin__vault_block *add_block(kin__vault *vault, size_t size) {
  struct kin__vault_block *block =
      kin__malloc(vault->allocator, sizeof *block + size);
  if (block == NULL) {
    return NULL;
  }
  memset(block->units, 0, size);
  block->size = size;
  if (vault->blocks != NULL && size > vault->block_bytes) {
    block->next = vault->blocks->next;
    vault->blocks->next = block;
  } else {
    block->next = vault->blocks;
    vault->blocks = block;
    vault->used = 0;
  }
  return block;
}

void *kin__vault_alloc(kin__vault *vault, size_t count, size_t size) {
  const size_t unit = sizeof(vault_unit);
  if (size != 0 && count > (SIZE_MAX / 2 - unit) / size) {
    return NULL;
  }
  size_t bytes = (count * size + unit - 1) / unit * unit;
  struct kin__vault_block *block = vault->blocks;
  if (bytes > vault->block_bytes) {
    block = add_block(vault, bytes);
    if (block == NULL) {
      return NULL;
    }
    if (block == vault->blocks) {
      vault->used = bytes;
    }
    return block->units;
  }
  if (block == NULL || block->size - vault->used < bytes) {
    block = add_block(vault, vault->block_bytes);
    if (block == NULL) {
      return NULL;
    }
  }
  void *piece = (char *)block->units + vault->used;
  vault->used += bytes;
  return piece;
}

char *kin__vault_copy(kin__vault *vault, kin_str text) {
  char *copy = kin__vault_alloc(vault, text.length + 1, 1);
  if (copy != NULL && text.length > 0) {
    memcpy(copy, text.data, text.length);
  }
  return copy;
}

int kin__vault_take(kin__vault *vault, const char **to, const char *text) {
  *to = NULL;
  if (text != NULL) {
    *to = kin__vault_copy(vault, kin__cstr(text));
  }
  return text == NULL || *to != NULL ? 0 : KIN_ENOMEM;
}

int kin__vault_take_all(kin__vault *vault, const char *const **to,
                        const char *const *texts, size_t count) {
  const char **copy = kin__vault_alloc(vault, count, sizeof *copy);
  int err = copy != NULL ? 0 : KIN_ENOMEM;
  for (size_t i = 0; i < count && err == 0; i++) {
    err = kin__vault_take(vault, &copy[i], texts[i]);
  }
  *to = copy;
  return err;
}
