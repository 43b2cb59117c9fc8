/* SPDX-License-Identifier: MIT */

/* Compact storage: some bytes of options, then the script of texts that are
 * alike (alike.h). Some are samples; others are packed, each after its state
 * before. Oracles:
 *  - whatever is read of a packed object is what the plain one has, and its text
 *    is the script's, byte by byte; also of a copy, of an image, after another
 *    dictionary, and when its text was dropped
 *  - a frame that is damaged is refused, or gives any bytes
 *  - without memory objects stay plain; nothing is left in the end */

#include <stdlib.h>
#include <string.h>

#include <kin/error.h>

#include "base/str.h"
#include "fuzz/alike.h"
#include "fuzz/fuzz.h"
#include "object/binary.h"
#include "object/halves.h"
#include "object/packed.h"
#include "object/same_content.h"
#include "support/fail_alloc.h"

enum { SAMPLES_BYTES = 1 << 20, SAMPLE_BYTES = 64 << 10, PACKED = 6 };

typedef struct rig {
  fail_alloc fail;
  kin__memory *memory;
  kin__packing *packing;
  kin__packer *packer;
  kin_str script;
  unsigned options;
  unsigned samples;
  unsigned damage;
} rig;

static alike text; /* of the object in hand */

static void on_noted(void *ctx, bool is_first) {
  (void)ctx;
  (void)is_first;
}

static bool may_fail(const rig *r) {
  return fail_alloc_has_failed(&r->fail);
}

/* Takes samples as an informer does, and packs with their dictionary from now
 * on. */
static bool learn(rig *r, unsigned first) {
  static char bytes[SAMPLES_BYTES];
  static kin__samples samples;
  samples = (kin__samples){.bytes = bytes};
  size_t used = 0;
  for (unsigned i = 0; i < r->samples; i++) {
    alike_write(&text, r->script, first + i, 0);
    size_t length = text.length < SAMPLE_BYTES ? text.length : SAMPLE_BYTES;
    if (length <= sizeof bytes - used) {
      memcpy(bytes + used, text.text, length);
      used += length;
      samples.sizes[samples.count++] = length;
    }
  }
  kin__dictionary *dictionary;
  bool is_small = (r->options & 1) != 0;
  bool is_thorough = (r->options & 0x1e) == 0x1e; /* takes long */
  int err = kin__dictionary_new(&dictionary, r->packing, &samples, is_small,
                                is_thorough);
  FUZZ_CHECK(err == 0 || (err == KIN_ENOMEM && may_fail(r)));
  if (err == 0) {
    kin__packer_use(r->packer, dictionary);
    kin__dictionary_unref(dictionary);
  }
  return err == 0;
}

static bool set_up(rig *r) {
  r->memory = kin__memory_new(&r->fail.allocator);
  if (r->memory == NULL || kin__memory_use_slabs(r->memory) != 0) {
    return false;
  }
  r->packing = kin__packing_new(&r->memory->allocator, on_noted, r);
  r->packer = kin__packer_new(&r->memory->allocator);
  return r->packing != NULL && r->packer != NULL && learn(r, 0);
}

/* An informer that closes forgets all notes of texts. */
static void tear_down(rig *r) {
  kin__inflated *next =
      r->packing != NULL ? kin__inflated_take(r->packing) : NULL;
  while (next != NULL) {
    kin_object *object = next->object;
    next->object = NULL;
    next = next->next;
    kin_object_unref(object);
  }
  kin__packer_free(r->packer);
  kin__packing_unref(r->packing);
  while (r->memory != NULL && kin__arena_close_step(r->memory->arena)) {
  }
  kin__memory_unref(r->memory);
  FUZZ_CHECK(atomic_load(&r->fail.live_blocks) == 0);
}

static kin_object *make(rig *r, unsigned number, unsigned state) {
  alike_write(&text, r->script, number, state);
  kin_object *made;
  kin__object_parts parts = {
      .namespace_ = alike_field_of(&text, ALIKE_NAMESPACE),
      .name = alike_field_of(&text, ALIKE_NAME),
      .uid = alike_field_of(&text, ALIKE_UID),
      .version = alike_field_of(&text, ALIKE_VERSION),
      .labels = kin__str(text.text + text.labels, text.labels_length),
      .body = kin__str(text.text, text.length)};
  int err = kin__object_new(&made, r->memory, &parts);
  FUZZ_CHECK(err == 0 || (err == KIN_ENOMEM && may_fail(r)));
  return made;
}

/* --- Reading ---------------------------------------------------------------- */

static void check_view(const rig *r, const kin_object *object) {
  kin_object_view *view;
  int err = kin_object_view_open(&view, object);
  FUZZ_CHECK(err == 0 || (err == KIN_ENOMEM && may_fail(r)));
  if (err == 0) {
    FUZZ_CHECK(kin__str_equal(kin_object_view_json(view),
                              kin__str(text.text, text.length)));
    kin_object_view_close(view);
  }
}

/* The text in place; it is dropped again, as by its owner. */
static void check_place(const rig *r, const kin_object *object) {
  kin_str found;
  int err = kin__object_text(object, &found);
  FUZZ_CHECK(err == 0 || (err == KIN_ENOMEM && may_fail(r)));
  if (err == 0) {
    FUZZ_CHECK(kin__str_equal(found, kin__str(text.text, text.length)));
    check_view(r, object);
    if ((r->options & 0x20) != 0) {
      kin__inflated *noted = kin__inflated_take(r->packing);
      FUZZ_CHECK(noted->object == object && noted->next == NULL);
      FUZZ_CHECK(kin__packed_drop_text(noted));
    }
  }
}

static void check_labels(const kin_object *packed, const kin_object *plain) {
  static const char *const names[] = {"app", "track", "",   "a/b",
                                      "own", "aown",  "no", "field1"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    kin_str a = kin__str(NULL, 0);
    kin_str b = a;
    FUZZ_CHECK(kin_object_label(packed, names[i], &a) ==
               kin_object_label(plain, names[i], &b));
    FUZZ_CHECK(kin__str_equal(a, b));
  }
}

/* `text` is the text of both. */
static void check_same(const rig *r, const kin_object *packed,
                       const kin_object *plain) {
  FUZZ_CHECK(kin__str_equal(kin_object_key(packed), kin_object_key(plain)));
  FUZZ_CHECK(kin_object_key(packed).data[kin_object_key(packed).length] == 0);
  FUZZ_CHECK(kin__str_equal(kin_object_name(packed), kin_object_name(plain)));
  FUZZ_CHECK(kin__str_equal(kin_object_uid(packed), kin_object_uid(plain)));
  FUZZ_CHECK(kin__str_equal(kin_object_resource_version(packed),
                            kin_object_resource_version(plain)));
  FUZZ_CHECK(kin__object_text_length(packed) == text.length);
  FUZZ_CHECK(kin_object_memory(packed) < kin_object_memory(plain));
  check_labels(packed, plain);
  check_view(r, packed);
  check_place(r, packed);
  FUZZ_CHECK(kin__object_has_same_text(packed, plain) || may_fail(r));
}

/* --- Damage ----------------------------------------------------------------- */

/* In memory of exactly their lengths. */
static void check_damaged(const rig *r, const kin_object *packed) {
  kin_str frame = kin__packed_frame(packed);
  size_t length = kin__object_text_length(packed);
  size_t kept = frame.length - r->damage / 64 % frame.length;
  char *bytes = malloc(kept);
  char *to = malloc(length);
  FUZZ_CHECK(bytes != NULL && to != NULL);
  memcpy(bytes, frame.data, kept);
  size_t from_end = r->damage % 16 * (r->damage % 3 == 0 ? 7u : 1u);
  bytes[kept - 1 - from_end % kept] ^= (char)(1u << r->damage / 16 % 8);
  kin__dictionary *dictionary = kin__packer_dictionary(r->packer);
  kin_str damaged = kin__str(bytes, kept);
  (void)kin__halves_inflate(dictionary, damaged, to, length);
  (void)kin__binary_inflate(dictionary, damaged, to, length);
  (void)kin__dictionary_inflate(dictionary, damaged, to, length);
  free(bytes);
  free(to);
}

/* --- Packing ---------------------------------------------------------------- */

static kin_object *pack_to_image(rig *r, kin_object *take_object) {
  size_t room = kin_object_memory(take_object) - r->damage / 32;
  char *image = malloc(room);
  FUZZ_CHECK(image != NULL);
  size_t size = kin__object_pack_to(image, room, take_object, r->packer);
  FUZZ_CHECK(size < kin_object_memory(take_object));
  kin_object *packed = size > 0 && size <= room
                           ? kin__object_of_image(r->memory, image, size)
                           : NULL;
  free(image);
  if (packed == NULL) {
    return take_object;
  }
  kin_object_unref(take_object);
  return packed;
}

static void check_copy(rig *r, const kin_object *packed,
                       const kin_object *plain) {
  kin_object *copy;
  if (kin__object_copy(&copy, r->memory, packed, 0) == 0) {
    check_same(r, copy, plain);
    kin_object_unref(copy);
  }
}

/* Packs the state of an object; returns it, packed or not. NULL: no memory. */
static kin_object *check_state(rig *r, unsigned number, unsigned state,
                               const kin_object *before) {
  kin_object *object = make(r, number, state);
  kin_object *plain = NULL;
  if (object == NULL || kin__object_copy(&plain, r->memory, object, 0) != 0) {
    kin_object_unref(object);
    return NULL;
  }
  if ((r->options & 0x40) != 0 && state == 0) {
    object = pack_to_image(r, object);
  } else {
    (void)kin__object_pack(&object, before, r->memory, r->packer);
  }
  if (kin__object_is_packed(object)) {
    check_same(r, object, plain);
    check_copy(r, object, plain);
    check_damaged(r, object);
  }
  kin_object_unref(plain);
  return object;
}

static void check_packed(rig *r) {
  kin_object *before = NULL;
  for (unsigned i = 0; i < PACKED; i++) {
    /* Three states of one object, then another object after them. */
    unsigned number = r->samples / 2 + i / 3;
    kin_object *object = check_state(r, number, i % 3, before);
    kin_object_unref(before);
    before = object;
    if (i == 1 && (r->options & 0x80) != 0) {
      (void)learn(r, 1000);
    }
  }
  kin_object_unref(before);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_input in = {data, size};
  rig r = {.options = fuzz_byte(&in), .damage = fuzz_byte(&in)};
  r.samples = 8 + fuzz_below(&in, 25);
  size_t fail_at = fuzz_byte(&in);
  unsigned how = fuzz_byte(&in);
  fail_alloc_init(&r.fail, how % 4 == 3 ? 1 + fail_at : 0);
  r.fail.keeps_failing = how / 4 % 4 == 3;
  r.script = fuzz_rest(&in);
  if (set_up(&r)) {
    check_packed(&r);
  }
  tear_down(&r);
  return 0;
}
