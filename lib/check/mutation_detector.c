/* SPDX-License-Identifier: MIT */
#include <assert.h>

#include <kin/error.h>
#include <kin/mutation_detector.h>

#include "base/alloc.h"
#include "base/first_size.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/options.h"
#include "base/str.h"
#include "object/object.h"
#include "object/seal.h"
#include "check/mutation_detector.h"

/* A set of objects by address, with checksums, and a cursor that compares.
 * client-go moves objects to a retained set and drops that. Here rounds are
 * counted instead: an object of round n is dropped when the cursor meets it in
 * round n + 2 or later. */

enum { RETAIN_DEFAULT_MS = 2 * 60 * 1000 };

typedef struct entry {
  kin__slot_head head;
  kin_object *object; /* one reference; NULL iff the entry is free */
  uint64_t *sums;     /* NULL: the object is sealed */
  uint32_t round;     /* of the last add */
  uint32_t key_length;
  bool is_reported;
} entry;

_Static_assert(sizeof(entry) <= 40, "the header says so");

struct kin_mutation_detector {
  kin_allocator allocator;
  kin_mutation_detector_options options;
  kin__hash_seed seed;
  kin__slots entries;
  kin__map map;
  uint32_t cursor;  /* next entry to compare */
  uint32_t dropped; /* entries below this are dropped for good */
  uint32_t round;
  uint64_t round_began_ms;
};

static entry *at(const kin_mutation_detector *detector, uint32_t id) {
  return kin__slots_at(&detector->entries, id);
}

static uint64_t now_ms(const kin_mutation_detector *detector) {
  return detector->options.now_ms(detector->options.now_ctx);
}

/* Rounds without a call count as well. */
static void pass_rounds(kin_mutation_detector *detector) {
  uint64_t now = now_ms(detector);
  uint64_t retain = detector->options.retain_ms;
  if (now > detector->round_began_ms) {
    uint64_t rounds = (now - detector->round_began_ms) / retain;
    detector->round += (uint32_t)rounds;
    detector->round_began_ms += rounds * retain;
  }
}

static uint32_t hash_of(const kin_mutation_detector *detector,
                        const kin_object *object) {
  return kin__hash(&detector->seed,
                   kin__str((const char *)&object, sizeof object));
}

static uint32_t find(const kin_mutation_detector *detector,
                     const kin_object *object, uint32_t hash) {
  uint32_t id = kin__map_first(&detector->map, hash);
  while (id != KIN__NO_SLOT && at(detector, id)->object != object) {
    id = kin__map_next(&detector->map, id);
  }
  return id;
}

int kin_mutation_detector_new(kin_mutation_detector **out,
                              const kin_mutation_detector_options *options) {
  if (out == NULL) {
    return KIN_EINVAL;
  }
  *out = NULL;
  kin_mutation_detector_options o;
  int err = kin__options_copy(&o, sizeof o, options,
                              KIN__FIRST_SIZE(kin_mutation_detector_options));
  if (err == 0 && (o.now_ms == NULL || o.on_mutation == NULL)) {
    err = KIN_EINVAL;
  }
  if (err != 0) {
    return err;
  }
  const kin_allocator *allocator =
      o.allocator != NULL ? o.allocator : kin__default_allocator();
  kin_mutation_detector *detector = kin__calloc(allocator, 1, sizeof *detector);
  if (detector == NULL) {
    return KIN_ENOMEM;
  }
  o.retain_ms = o.retain_ms != 0 ? o.retain_ms : RETAIN_DEFAULT_MS;
  detector->allocator = *allocator;
  detector->options = o;
  detector->seed = kin__hash_make_seed(detector);
  kin__slots_init(&detector->entries, &detector->allocator, sizeof(entry));
  kin__map_init(&detector->map, &detector->allocator, &detector->entries);
  detector->round_began_ms = now_ms(detector);
  *out = detector;
  return 0;
}

void kin_mutation_detector_free(kin_mutation_detector *detector) {
  if (detector == NULL) {
    return;
  }
  for (uint32_t id = 0; id < kin__slots_limit(&detector->entries); id++) {
    kin__free(&detector->allocator, at(detector, id)->sums);
    kin__object_unref(at(detector, id)->object);
  }
  kin__map_finish(&detector->map);
  kin__slots_finish(&detector->entries);
  kin_allocator allocator = detector->allocator;
  kin__free(&allocator, detector);
}

static int make_sums(const kin_mutation_detector *detector,
                     const kin_object *object, uint64_t **sums) {
  *sums = NULL;
  if (kin__object_seal(object) != NULL) {
    return 0;
  }
  size_t count = kin__object_sum_count(
      kin__object_part(object, KIN_MUTATION_STRINGS).length,
      kin__object_part(object, KIN_MUTATION_JSON).length);
  *sums = kin__calloc(&detector->allocator, count, sizeof **sums);
  if (*sums == NULL) {
    return KIN_ENOMEM;
  }
  kin__object_sum(object, *sums);
  return 0;
}

static int add(kin_mutation_detector *detector, const kin_object *object,
               uint32_t hash) {
  uint64_t *sums;
  uint32_t id = KIN__NO_SLOT;
  int err = make_sums(detector, object, &sums);
  if (err == 0) {
    err = kin__map_reserve(&detector->map);
  }
  if (err == 0) {
    err = kin__slots_take(&detector->entries, &id);
  }
  if (err != 0) {
    kin__free(&detector->allocator, sums);
    return err;
  }
  entry *e = at(detector, id);
  e->object = kin__object_ref(object);
  e->sums = sums;
  e->round = detector->round;
  e->key_length = (uint32_t)kin_object_key(object).length;
  err = kin__map_insert(&detector->map, hash, id);
  assert(err == 0);
  return err;
}

int kin_mutation_detector_add(kin_mutation_detector *detector,
                              const kin_object *object) {
  if (detector == NULL || object == NULL) {
    return KIN_EINVAL;
  }
  pass_rounds(detector);
  uint32_t hash = hash_of(detector, object);
  uint32_t id = find(detector, object, hash);
  if (id == KIN__NO_SLOT) {
    return add(detector, object, hash);
  }
  at(detector, id)->round = detector->round;
  return 0;
}

static void drop(kin_mutation_detector *detector, uint32_t id) {
  kin__object_unref(at(detector, id)->object);
  kin__free(&detector->allocator, at(detector, id)->sums);
  kin__map_remove(&detector->map, id);
  kin__slots_give(&detector->entries, id);
}

/* The checksums of an entry; NULL: the object cannot have changed. */
static const uint64_t *sums_of(const entry *e) {
  return e->sums != NULL ? e->sums : kin__object_seal(e->object)->sums;
}

/* Returns the bytes compared. The callback comes last, because it may add
 * objects. */
static size_t check(kin_mutation_detector *detector, uint32_t id) {
  entry *e = at(detector, id);
  kin_object *object = kin__object_ref(e->object);
  const uint64_t *sums = e->is_reported ? NULL : sums_of(e);
  size_t block = 0;
  size_t compared = sums != NULL ? kin_object_memory(object) : 0;
  bool is_changed =
      sums != NULL &&
      kin__object_compare(object, sums, &block, SIZE_MAX) == KIN__DIFFERENT;
  kin_mutation mutation;
  if (is_changed) {
    e->is_reported = true;
    mutation = kin__object_mutation(object, sums, block, e->key_length);
  }
  if (detector->round - e->round >= 2) {
    drop(detector, id);
  }
  if (is_changed) {
    detector->options.on_mutation(&mutation, detector->options.data);
  }
  kin__object_unref(object);
  return compared;
}

bool kin__mutation_detector_check_some(kin_mutation_detector *detector,
                                       size_t count, size_t *bytes) {
  pass_rounds(detector);
  for (; count > 0 && *bytes > 0 &&
         detector->cursor < kin__slots_limit(&detector->entries);
       count--) {
    uint32_t id = detector->cursor++;
    if (at(detector, id)->object != NULL) {
      size_t compared = check(detector, id);
      *bytes -= compared < *bytes ? compared : *bytes;
    }
  }
  if (detector->cursor < kin__slots_limit(&detector->entries)) {
    return true;
  }
  detector->cursor = 0;
  return false;
}

bool kin_mutation_detector_check(kin_mutation_detector *detector,
                                 size_t count) {
  if (detector == NULL) {
    return false;
  }
  size_t bytes = SIZE_MAX;
  return kin__mutation_detector_check_some(detector, count, &bytes);
}

bool kin__mutation_detector_drop(kin_mutation_detector *detector,
                                 size_t count) {
  uint32_t limit = kin__slots_limit(&detector->entries);
  for (; count > 0 && detector->dropped < limit; count--) {
    uint32_t id = detector->dropped++;
    if (at(detector, id)->object != NULL) {
      drop(detector, id);
    }
  }
  for (; count > 0 && detector->entries.segments.count > 0; count--) {
    kin__slots_drop_segment(&detector->entries);
  }
  return detector->entries.segments.count > 0;
}

size_t kin_mutation_detector_count(const kin_mutation_detector *detector) {
  return detector != NULL ? detector->map.count : 0;
}
