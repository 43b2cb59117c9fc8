/* SPDX-License-Identifier: MIT */
#include "object/binary_known.h"

#include <kin/error.h>

#include "base/alloc.h"
#include "base/str.h"
#include "object/dictionary.h"

#define KNOWN_SLOTS 4096u
#define SEEN_SLOTS 16384u

/* A value, and the sample that had it first. */
typedef struct seen {
  uint32_t hash; /* 0: free */
  uint32_t sample;
} seen;

static uint32_t hash_of(const kin__binary_known *known,
                        const kin__binary_value *v) {
  return kin__hash(&known->seed, kin__str((const char *)v->bytes, v->length)) |
         1u;
}

static uint32_t *slot_of(const kin__binary_known *known, uint32_t hash) {
  uint32_t at = hash / 2 % KNOWN_SLOTS;
  while (known->slots[at] != 0 && known->slots[at] != hash) {
    at = (at + 1) % KNOWN_SLOTS;
  }
  return &known->slots[at];
}

bool kin__binary_is_known(const kin__binary_known *known,
                          const kin__binary_value *v) {
  return v->kind != KIN__BINARY_TIME && *slot_of(known, hash_of(known, v)) != 0;
}

/* Counts of free slots: both tables stay half empty. */
typedef struct maker {
  kin__binary_known *known;
  seen *seen;
  uint32_t seen_free;
  uint32_t known_free;
} maker;

static void note(maker *m, const kin__binary_value *v, uint32_t sample) {
  uint32_t hash = hash_of(m->known, v);
  uint32_t at = hash / 2 % SEEN_SLOTS;
  while (m->seen[at].hash != 0 && m->seen[at].hash != hash) {
    at = (at + 1) % SEEN_SLOTS;
  }
  if (m->seen[at].hash == 0) {
    if (m->seen_free > 0) {
      m->seen[at] = (seen){hash, sample};
      m->seen_free--;
    }
  } else if (m->seen[at].sample != sample && m->known_free > 0) {
    uint32_t *slot = slot_of(m->known, hash);
    m->known_free -= *slot == 0;
    *slot = hash;
  }
}

static void note_sample(maker *m, kin_str text, uint32_t sample) {
  const char *at = kin__binary_first(text.data, text.length);
  kin__binary_value v;
  while (kin__binary_next(&at, text.data + text.length, &v)) {
    note(m, &v, sample);
  }
}

int kin__binary_known_init(kin__binary_known *known,
                           const kin_allocator *allocator,
                           const kin__hash_seed *seed,
                           const kin__samples *samples) {
  known->seed = *seed;
  known->slots = kin__calloc(allocator, KNOWN_SLOTS, sizeof *known->slots);
  maker m = {.known = known,
             .seen = kin__calloc(allocator, SEEN_SLOTS, sizeof *m.seen),
             .seen_free = SEEN_SLOTS / 2,
             .known_free = KNOWN_SLOTS / 2};
  bool has_memory = known->slots != NULL && m.seen != NULL;
  if (has_memory) {
    const char *at = samples->bytes;
    for (unsigned i = 0; i < samples->count; i++) {
      note_sample(&m, kin__str(at, samples->sizes[i]), i);
      at += samples->sizes[i];
    }
  }
  kin__free(allocator, m.seen);
  return has_memory ? 0 : KIN_ENOMEM;
}

void kin__binary_known_finish(kin__binary_known *known,
                              const kin_allocator *allocator) {
  kin__free(allocator, known->slots);
}
