/* SPDX-License-Identifier: MIT */
#include "store/index_pass.h"

#include <kin/error.h>

#include "base/alloc.h"
#include "object/json.h"

enum {
  NONE = -1,
  KEPT_VALUES = 1024 /* values whose memory is kept for the next object */
};

typedef struct kin__index_found {
  kin_str scalar; /* in the object's text */
  int64_t next;   /* of the same pointer, or NONE */
} found;

typedef struct kin__index_chain {
  int64_t first; /* place in `found`, or NONE */
  int64_t last;
} chain;

kin__index_pass *kin__index_pass_new(const kin_allocator *allocator) {
  kin__index_pass *pass = kin__calloc(allocator, 1, sizeof *pass);
  if (pass != NULL) {
    kin__pointer_set_init(&pass->set, allocator);
  }
  return pass;
}

void kin__index_pass_free(kin__index_pass *pass) {
  if (pass != NULL) {
    const kin_allocator *allocator = pass->set.allocator;
    kin__free(allocator, pass->chains);
    kin__free(allocator, pass->found);
    kin__pointer_set_finish(&pass->set);
    kin__free(allocator, pass);
  }
}

int kin__index_pass_add(kin__index_pass *pass, const char *pointer,
                        uint32_t *place) {
  int err =
      kin__reserve_one(pass->set.allocator, &pass->chains, pass->set.count,
                       &pass->chain_capacity, sizeof *pass->chains);
  return err == 0 ? kin__pointer_set_add(&pass->set, pointer, place) : err;
}

static int note(void *ctx, uint32_t id, kin_str scalar) {
  kin__index_pass *pass = ctx;
  int err =
      kin__reserve_one(pass->set.allocator, &pass->found, pass->found_count,
                       &pass->found_capacity, sizeof *pass->found);
  if (err != 0) {
    return err;
  }
  int64_t place = pass->found_count++;
  pass->found[place] = (found){.scalar = scalar, .next = NONE};
  chain *c = &pass->chains[id];
  if (c->first == NONE) {
    c->first = place;
  } else {
    pass->found[c->last].next = place;
  }
  c->last = place;
  return 0;
}

int kin__index_pass_read(kin__index_pass *pass, kin_str text) {
  pass->found_count = 0;
  for (uint32_t i = 0; i < pass->set.count; i++) {
    pass->chains[i] = (chain){NONE, NONE};
  }
  return kin__pointer_set_read(&pass->set, text, note, pass);
}

int kin__index_pass_each(const kin__index_pass *pass, uint32_t place,
                         int (*emit)(void *ctx, kin_str value), void *ctx) {
  int result = 0;
  int64_t at = pass->chains[place].first;
  while (result == 0 && at != NONE) {
    result = kin__json_scalar(pass->set.allocator, pass->found[at].scalar, emit,
                              ctx);
    at = pass->found[at].next;
  }
  return result;
}

void kin__index_pass_forget(kin__index_pass *pass) {
  pass->found_count = 0;
  if (pass->found_capacity > KEPT_VALUES) {
    kin__free(pass->set.allocator, pass->found);
    pass->found = NULL;
    pass->found_capacity = 0;
  }
}
