/* SPDX-License-Identifier: MIT */
#include "store/index.h"

#include <string.h>

#include <kin/error.h>

#include "base/alloc.h"
#include "base/str.h"

/* Three tables: distinct values by hash, postings, and the first posting of
 * each slot. A posting is in two lists. The doubly linked list of its value
 * allows removal in O(1). The singly linked list of its slot keeps the order of
 * emission, and is only ever replaced as a whole.
 *
 * While a change is prepared, values are linked: `pending_next` leads through
 * the values emitted so far and ends in NO_SLOT. A value that was not emitted
 * has NOT_EMITTED there. `pending` is the posting that the slot has, or will
 * have, for the value. Between changes both fields are idle (NO_SLOT,
 * NOT_EMITTED). So the difference between old and new costs O(old + new), and
 * no memory besides the new postings and values.
 *
 * Most updates do not change an object's indexed values. As long as the new
 * values come in the order of the old ones they are only compared (TS-02):
 * nothing is hashed, looked up or written. */

#define NOT_EMITTED (KIN__NO_SLOT - 1)

#define HEADS_SHIFT 10u
#define HEADS_PER_SEGMENT (1u << HEADS_SHIFT)

/* The target of an index function's emissions. */
struct kin_index_values {
  int (*visit)(void *ctx, kin_str value); /* NULL: a change is being prepared */
  void *ctx;
  kin__index *index;
  uint32_t slot;
  uint32_t expected; /* the next old posting, as long as nothing differs */
  int err;           /* the first error; kept even if the index function ignores
                      * it */
};

static kin__index_value *value_at(const kin__index *index, uint32_t id) {
  return kin__slots_at(&index->values, id);
}

static kin__posting *posting_at(const kin__index *index, uint32_t id) {
  return kin__slots_at(&index->postings, id);
}

static kin__index_value *value_of(const kin__index *index, uint32_t posting) {
  return value_at(index, posting_at(index, posting)->head.hash);
}

/* Makes an index without name and source; NULL if out of memory. */
static kin__index *make_empty(kin__memory *memory, kin__hash_seed seed) {
  const kin_allocator *allocator = &memory->allocator;
  kin__index *index = kin__calloc(allocator, 1, sizeof *index);
  if (index == NULL) {
    return NULL;
  }
  index->memory = memory;
  index->allocator = allocator;
  index->seed = seed;
  index->pending_first = index->pending_last = KIN__NO_SLOT;
  kin__slots_init(&index->values, allocator, sizeof(kin__index_value));
  kin__slots_init(&index->postings, allocator, sizeof(kin__posting));
  index->values.has_holes = index->postings.has_holes = true;
  kin__map_init(&index->map, allocator, &index->values);
  return index;
}

/* Gives the index its name. `err` is an earlier error. On any error, frees the
 * index and its source. */
static int complete(kin__index **out, kin__index *index, const char *name,
                    int err) {
  if (err == 0) {
    index->name = kin__strdup(index->allocator, name);
    err = index->name != NULL ? 0 : KIN_ENOMEM;
  }
  if (err != 0) {
    kin__index_source_finish(&index->source, index->allocator);
    kin__free(index->allocator, index);
    return err;
  }
  *out = index;
  return 0;
}

int kin__index_new(kin__index **out, kin__memory *memory, kin__hash_seed seed,
                   const kin_index_options *options, bool has_labels) {
  *out = NULL;
  if (!kin__has_text(options->name)) {
    return KIN_EINVAL;
  }
  kin__index *index = make_empty(memory, seed);
  if (index == NULL) {
    return KIN_ENOMEM;
  }
  int err = kin__index_source_init(&index->source, index->allocator, options,
                                   has_labels);
  return complete(out, index, options->name, err);
}

int kin__index_new_like(kin__index **out, const kin__index *like) {
  *out = NULL;
  kin__index *index = make_empty(like->memory, like->seed);
  if (index == NULL) {
    return KIN_ENOMEM;
  }
  index->built = KIN__NO_SLOT;
  int err =
      kin__index_source_copy(&index->source, like->allocator, &like->source);
  return complete(out, index, like->name, err);
}

/* A value's bytes lie in a cell, after the slab pointer. With blocks of a
 * general allocator, freeing a large index may merge all its small blocks in
 * one call, which took 16 ms for 1.6 million values. */
#define BYTES_IN_CELL offsetof(kin__cell, next)

static char *take_bytes(const kin__index *index, size_t length) {
  kin__memory *memory = index->memory;
  if (memory->arena == NULL) {
    return kin__malloc(index->allocator, length);
  }
  kin__cell *cell = kin__cell_take(memory->arena, index->allocator, memory,
                                   BYTES_IN_CELL + length);
  return cell != NULL ? (char *)cell + BYTES_IN_CELL : NULL;
}

static void give_bytes(const kin__index *index, char *bytes) {
  if (index->memory->arena == NULL) {
    kin__free(index->allocator, bytes);
  } else if (bytes != NULL) {
    kin__cell_give_here((kin__cell *)(void *)(bytes - BYTES_IN_CELL));
  }
}

static bool spend(uint32_t *budget) {
  if (*budget == 0) {
    return false;
  }
  (*budget)--;
  return true;
}

/* Frees a segment. Returns false if none is left. */
static bool drop_segment(kin__index *index) {
  if (index->values.segments.count > 0) {
    kin__slots_drop_segment(&index->values);
  } else if (index->postings.segments.count > 0) {
    kin__slots_drop_segment(&index->postings);
  } else if (index->map.heads.count > 0) {
    kin__map_drop_segment(&index->map);
  } else if (index->heads_capacity > 0) {
    kin__free(index->allocator, index->heads[--index->heads_capacity]);
  } else {
    return false;
  }
  return true;
}

bool kin__index_free_step(kin__index *index, uint32_t *budget) {
  uint32_t id;
  while ((id = kin__slots_next(&index->values, index->cleared)) !=
         KIN__NO_SLOT) {
    if (!spend(budget)) {
      return true;
    }
    index->cleared = id + 1;
    give_bytes(index, value_at(index, id)->bytes);
  }
  do {
    if (!spend(budget)) {
      return true;
    }
  } while (drop_segment(index));
  kin__slots_finish(&index->values);
  kin__slots_finish(&index->postings);
  kin__map_finish(&index->map);
  kin__free(index->allocator, index->heads);
  kin__index_source_finish(&index->source, index->allocator);
  kin__free(index->allocator, index->name);
  kin__free(index->allocator, index);
  return false;
}

void kin__index_free(kin__index *index) {
  uint32_t budget;
  do {
    budget = UINT32_MAX;
  } while (kin__index_free_step(index, &budget));
}

/* Slot -> first posting. */

/* The place of the slot's first posting, or NULL if its segment is missing. */
static uint32_t *head_of(const kin__index *index, uint32_t slot) {
  uint32_t segment = slot >> HEADS_SHIFT;
  if (segment >= index->heads_capacity || index->heads[segment] == NULL) {
    return NULL;
  }
  return &index->heads[segment][slot & (HEADS_PER_SEGMENT - 1)];
}

uint32_t kin__index_first(const kin__index *index, uint32_t slot) {
  const uint32_t *head = head_of(index, slot);
  return head != NULL ? *head : KIN__NO_SLOT;
}

static int reserve_head(kin__index *index, uint32_t slot) {
  uint32_t segment = slot >> HEADS_SHIFT;
  while (segment >= index->heads_capacity) {
    uint32_t old = index->heads_capacity;
    int err = kin__reserve_one(index->allocator, &index->heads, old,
                               &index->heads_capacity, sizeof *index->heads);
    if (err != 0) {
      return err;
    }
    memset(index->heads + old, 0,
           (index->heads_capacity - old) * sizeof *index->heads);
  }
  if (index->heads[segment] == NULL) {
    size_t size = HEADS_PER_SEGMENT * sizeof **index->heads;
    uint32_t *heads = kin__malloc(index->allocator, size);
    if (heads == NULL) {
      return KIN_ENOMEM;
    }
    memset(heads, 0xff, size); /* KIN__NO_SLOT everywhere */
    index->heads[segment] = heads;
  }
  return 0;
}

/* Values. */

static bool value_is(const kin__index_value *value, kin_str bytes) {
  return kin__str_equal(kin__str(value->bytes, value->length), bytes);
}

static uint32_t find_value(const kin__index *index, kin_str bytes,
                           uint32_t hash) {
  uint32_t id = kin__map_first(&index->map, hash);
  while (id != KIN__NO_SLOT && !value_is(value_at(index, id), bytes)) {
    id = kin__map_next(&index->map, id);
  }
  return id;
}

/* Adds a value without postings. */
static int add_value(kin__index *index, kin_str bytes, uint32_t hash,
                     uint32_t *id) {
  int err = kin__slots_take(&index->values, id);
  if (err != 0) {
    return err;
  }
  kin__index_value *value = value_at(index, *id);
  if (bytes.length > 0) {
    value->bytes = take_bytes(index, bytes.length);
    err = value->bytes != NULL ? 0 : KIN_ENOMEM;
  }
  if (err == 0) {
    err = kin__map_insert(&index->map, hash, *id);
  }
  if (err != 0) {
    give_bytes(index, value->bytes);
    kin__slots_give(&index->values, *id);
    return err;
  }
  if (bytes.length > 0) {
    memcpy(value->bytes, bytes.data, bytes.length);
  }
  value->length = (uint32_t)bytes.length;
  value->first = value->pending = KIN__NO_SLOT;
  value->pending_next = NOT_EMITTED;
  return 0;
}

/* TS-04: a value without postings does not stay. */
static void drop_value_if_unused(kin__index *index, uint32_t id) {
  kin__index_value *value = value_at(index, id);
  if (value->count == 0) {
    kin__map_remove(&index->map, id);
    give_bytes(index, value->bytes);
    kin__slots_give(&index->values, id);
  }
}

/* A value's list of postings. */

static void link_posting(kin__index *index, uint32_t id) {
  kin__posting *posting = posting_at(index, id);
  kin__index_value *value = value_at(index, posting->head.hash);
  posting->prev = KIN__NO_SLOT;
  posting->head.next = value->first;
  if (value->first != KIN__NO_SLOT) {
    posting_at(index, value->first)->prev = id;
  }
  value->first = id;
  value->count++;
}

/* Removes a posting from its value's list and frees it. */
static void drop_posting(kin__index *index, uint32_t id) {
  kin__posting *posting = posting_at(index, id);
  uint32_t value_id = posting->head.hash;
  kin__index_value *value = value_at(index, value_id);
  uint32_t next = posting->head.next;
  if (posting->prev != KIN__NO_SLOT) {
    posting_at(index, posting->prev)->head.next = next;
  } else {
    value->first = next;
  }
  if (next != KIN__NO_SLOT) {
    posting_at(index, next)->prev = posting->prev;
  }
  value->count--;
  kin__slots_give(&index->postings, id);
  drop_value_if_unused(index, value_id);
}

/* Preparing. */

static void append_pending(kin__index *index, uint32_t value_id) {
  value_at(index, value_id)->pending_next = KIN__NO_SLOT;
  if (index->pending_last != KIN__NO_SLOT) {
    value_at(index, index->pending_last)->pending_next = value_id;
  } else {
    index->pending_first = value_id;
  }
  index->pending_last = value_id;
}

/* The new values differ from the old ones. Marks the old values and appends
 * those that were emitted already: the ones before `expected`. */
static void begin_change(kin_index_values *values) {
  kin__index *index = values->index;
  bool is_emitted = true;
  uint32_t id = kin__index_first(index, values->slot);
  while (id != KIN__NO_SLOT) {
    is_emitted = is_emitted && id != values->expected;
    kin__posting *posting = posting_at(index, id);
    value_at(index, posting->head.hash)->pending = id;
    if (is_emitted) {
      append_pending(index, posting->head.hash);
    }
    id = posting->next_of_slot;
  }
  index->has_change = true;
}

/* Appends a value that is neither old nor emitted before. */
static int add_pending(kin_index_values *values, uint32_t value_id) {
  kin__index *index = values->index;
  uint32_t id = KIN__NO_SLOT;
  int err = reserve_head(index, values->slot);
  if (err == 0) {
    err = kin__slots_take(&index->postings, &id);
  }
  if (err != 0) {
    return err;
  }
  kin__posting *posting = posting_at(index, id);
  posting->head.hash = value_id;
  posting->slot = KIN__NO_SLOT;
  value_at(index, value_id)->pending = id;
  append_pending(index, value_id);
  return 0;
}

static int emit_changed(kin_index_values *values, kin_str bytes) {
  kin__index *index = values->index;
  uint32_t hash = kin__hash(&index->seed, bytes);
  uint32_t id = find_value(index, bytes, hash);
  if (id == KIN__NO_SLOT) {
    int err = add_value(index, bytes, hash, &id);
    if (err != 0) {
      return err;
    }
  }
  kin__index_value *value = value_at(index, id);
  if (value->pending_next != NOT_EMITTED) {
    return 0; /* TS-03: duplicates collapse */
  }
  if (value->pending != KIN__NO_SLOT) {
    append_pending(index, id);
    return 0;
  }
  int err = add_pending(values, id);
  if (err != 0) {
    drop_value_if_unused(index, id);
  }
  return err;
}

int kin_index_emit(kin_index_values *values, kin_str value) {
  if (values == NULL) {
    return KIN_EINVAL;
  }
  value = kin__str_given(value);
  kin__index *index = values->index;
  if (values->err != 0) {
    return values->err;
  }
  if (value.length > KIN__INDEX_VALUE_MAX) {
    return values->err = KIN_ETOOBIG;
  }
  if (values->visit != NULL) {
    return values->err = values->visit(values->ctx, value);
  }
  if (!index->has_change) {
    uint32_t expected = values->expected;
    if (expected != KIN__NO_SLOT &&
        value_is(value_of(index, expected), value)) {
      values->expected = posting_at(index, expected)->next_of_slot;
      return 0;
    }
    begin_change(values);
  }
  return values->err = emit_changed(values, value);
}

static void prepare_nothing(kin__index *index, uint32_t slot) {
  kin__index_cancel(index, slot);
  kin_index_values none = {
      .index = index, .slot = slot, .expected = kin__index_first(index, slot)};
  if (none.expected != KIN__NO_SLOT) {
    begin_change(&none);
  }
}

int kin__index_prepare(kin__index *index, uint32_t slot,
                       kin__index_reader *reader) {
  assert(!index->has_change);
  kin_index_values values = {
      .index = index, .slot = slot, .expected = kin__index_first(index, slot)};
  int err = kin__index_source_each(&index->source, reader, &values);
  if (values.err != 0) {
    err = values.err == KIN_ENOMEM ? KIN_ENOMEM : KIN_EINDEX;
  }
  if (err == KIN_EINDEX && index->is_tolerant) {
    prepare_nothing(index, slot);
    return 0;
  }
  if (err != 0) {
    kin__index_cancel(index, slot);
  } else if (!index->has_change && values.expected != KIN__NO_SLOT) {
    begin_change(&values); /* the last old values are gone */
  }
  return err;
}

static void end_change(kin__index *index) {
  index->pending_first = index->pending_last = KIN__NO_SLOT;
  index->has_change = false;
}

void kin__index_commit(kin__index *index, uint32_t slot) {
  if (!index->has_change) {
    return;
  }
  uint32_t id = kin__index_first(index, slot);
  while (id != KIN__NO_SLOT) {
    uint32_t next = posting_at(index, id)->next_of_slot;
    kin__index_value *value = value_of(index, id);
    if (value->pending_next == NOT_EMITTED) {
      value->pending = KIN__NO_SLOT;
      drop_posting(index, id);
    }
    id = next;
  }
  uint32_t none = KIN__NO_SLOT;
  uint32_t *link = head_of(index, slot);
  link = link != NULL ? link : &none;
  for (uint32_t v = index->pending_first; v != KIN__NO_SLOT;) {
    kin__index_value *value = value_at(index, v);
    kin__posting *posting = posting_at(index, value->pending);
    if (posting->slot == KIN__NO_SLOT) {
      posting->slot = slot;
      link_posting(index, value->pending);
    }
    *link = value->pending;
    link = &posting->next_of_slot;
    v = value->pending_next;
    value->pending = KIN__NO_SLOT;
    value->pending_next = NOT_EMITTED;
  }
  *link = KIN__NO_SLOT;
  end_change(index);
}

void kin__index_cancel(kin__index *index, uint32_t slot) {
  if (!index->has_change) {
    return;
  }
  for (uint32_t v = index->pending_first; v != KIN__NO_SLOT;) {
    kin__index_value *value = value_at(index, v);
    uint32_t next = value->pending_next;
    uint32_t posting = value->pending;
    value->pending = KIN__NO_SLOT;
    value->pending_next = NOT_EMITTED;
    if (posting_at(index, posting)->slot == KIN__NO_SLOT) {
      kin__slots_give(&index->postings, posting);
      drop_value_if_unused(index, v);
    }
    v = next;
  }
  uint32_t id = kin__index_first(index, slot);
  for (; id != KIN__NO_SLOT; id = posting_at(index, id)->next_of_slot) {
    value_of(index, id)->pending = KIN__NO_SLOT;
  }
  end_change(index);
}

void kin__index_remove(kin__index *index, uint32_t slot) {
  uint32_t *head = head_of(index, slot);
  if (head == NULL) {
    return;
  }
  uint32_t id = *head;
  *head = KIN__NO_SLOT;
  while (id != KIN__NO_SLOT) {
    uint32_t next = posting_at(index, id)->next_of_slot;
    drop_posting(index, id);
    id = next;
  }
}

/* Reading. */

int kin__index_visit(const kin__index *index, const kin_object *object,
                     int (*visit)(void *ctx, kin_str value), void *ctx) {
  kin_index_values values = {.visit = visit, .ctx = ctx};
  kin__index_reader reader;
  kin__index_reader_init(&reader, object, NULL);
  int err = kin__index_source_each(&index->source, &reader, &values);
  kin__index_reader_finish(&reader);
  if (values.err != 0) {
    err = values.err == KIN_ETOOBIG ? KIN_EINDEX : values.err;
  }
  return err;
}

const kin__index_value *kin__index_find(const kin__index *index,
                                        kin_str value) {
  uint32_t hash = kin__hash(&index->seed, value);
  uint32_t id = find_value(index, value, hash);
  return id != KIN__NO_SLOT ? value_at(index, id) : NULL;
}

bool kin__index_next_value(const kin__index *index, uint32_t *next,
                           kin_str *value) {
  uint32_t id;
  while ((id = kin__slots_next(&index->values, *next)) != KIN__NO_SLOT) {
    *next = id + 1;
    const kin__index_value *at = value_at(index, id);
    if (at->count > 0) {
      *value = kin__str(at->bytes, at->length);
      return true;
    }
  }
  return false;
}

const kin__posting *kin__index_posting(const kin__index *index,
                                       uint32_t posting) {
  return posting < kin__slots_limit(&index->postings) &&
                 !kin__slots_is_hole(&index->postings, posting)
             ? posting_at(index, posting)
             : NULL;
}
