/* SPDX-License-Identifier: MIT */
#include "object/packed.h"

#include <stdatomic.h>
#include <string.h>

#include <kin/error.h>

#include "base/alloc.h"
#include "object/binary.h"
#include "object/halves.h"
#include "object/object_core.h"
#include "object/strip.h"

/* At body_offset of a packed object, aligned as its members. */
typedef struct packed_body {
  kin__dictionary *dictionary;   /* a reference */
  _Atomic(kin__inflated *) text; /* NULL: not inflated */
  uint32_t length;               /* of the text */
  _Atomic uint16_t holds;        /* see kin__packed_hold */
  char frame[];
} packed_body;

#define BODY_BYTES offsetof(packed_body, frame)

_Static_assert(offsetof(kin_object, bytes) % _Alignof(packed_body) == 0,
               "a packed body would not be aligned");

static packed_body *body_of(const kin_object *object) {
  return (packed_body *)(void *)((char *)object + offsetof(kin_object, bytes) +
                                 object->body_offset);
}

static kin__packing *packing_of(const kin_object *object) {
  return kin__dictionary_packing(body_of(object)->dictionary);
}

bool kin__object_is_packed(const kin_object *object) {
  return (object->flags & KIN__PACKED) != 0;
}

kin_str kin__packed_frame(const kin_object *object) {
  return kin__str(body_of(object)->frame, object->body_length - BODY_BYTES);
}

size_t kin__object_text_length(const kin_object *object) {
  return kin__object_is_packed(object) ? body_of(object)->length
                                       : object->body_length;
}

/* --- Packing -------------------------------------------------------------- */

#define CODED_MAX_BYTES 1024u

/* The parts of a packed object. Before its body lie the key as it is, and the
 * strings. */
typedef struct parts {
  kin__dictionary *dictionary;
  kin_str key; /* with its NUL */
  kin_str uid;
  kin_str version;
  kin_str labels;
  bool has_whole_labels; /* their codes say all of the text */
  uint32_t flags;
  uint32_t body; /* its offset */
  kin_str frame;
  char codes[CODED_MAX_BYTES];
} parts;

/* Whether parts of an earlier state can be used again. */
static bool is_alike(const kin_object *before,
                     const kin__dictionary *dictionary) {
  return before != NULL && kin__object_is_packed(before) &&
         body_of(before)->dictionary == dictionary;
}

static kin_str labels_of(const kin_object *object) {
  return kin__str(object->bytes + object->labels_offset, object->labels_length);
}

/* Labels that have not changed have the codes of the state before. */
static void encode_labels(parts *p, kin_str labels, const kin_object *before) {
  const kin__label_table *table = kin__dictionary_labels(p->dictionary);
  kin_str codes = {0};
  if (is_alike(before, p->dictionary) &&
      (before->flags & KIN__LABELS_ARE_CODES) != 0) {
    codes = labels_of(before);
  }
  p->has_whole_labels = kin__label_table_says(table, codes, labels);
  if (!p->has_whole_labels) {
    size_t length = kin__dictionary_encode_labels(p->dictionary, labels,
                                                  p->codes, sizeof p->codes);
    codes = kin__str(p->codes, length);
    p->has_whole_labels = kin__label_table_says(table, codes, labels);
  }
  if (codes.length > 0) {
    p->labels = codes;
    p->flags |= KIN__LABELS_ARE_CODES;
  }
}

static void find_strings(parts *p, const kin_object *object,
                         const kin_object *before) {
  kin_str key = kin_object_key(object);
  p->key = kin__str(key.data, key.length + 1);
  p->uid = kin_object_uid(object);
  p->version = kin_object_resource_version(object);
  p->labels = labels_of(object);
  p->flags = object->flags % KIN__TRIED | KIN__PACKED;
  p->has_whole_labels = false;
  if ((p->flags & KIN__LABELS_ARE_RECORDS) == 0 && p->labels.length > 0) {
    encode_labels(p, p->labels, before);
  }
}

/* The string, if it lies in the text. */
static kin_str inside(kin_str text, kin_str s) {
  return s.data >= text.data && s.data < text.data + text.length
             ? s
             : kin__str(NULL, 0);
}

static void pack_halves(parts *p, char *text, size_t length,
                        const kin_object *before, kin__packer *packer) {
  bool has_frames =
      is_alike(before, p->dictionary) && (before->flags & KIN__HALVES) != 0;
  kin_str frames = has_frames ? kin__packed_frame(before) : kin__str(NULL, 0);
  kin__halves_place front = kin__halves_find(kin__str(text, length), frames);
  if (front.length > 0) {
    p->flags |= KIN__HALVES;
    p->frame = kin__halves_pack(packer, text, length, front, frames);
  } else {
    p->frame = kin__packer_pack(packer, kin__str(text, length));
  }
}

/* Two frames are larger than one. */
static void pack_stripped(parts *p, char *text, size_t length,
                          const kin_object *before, kin__packer *packer) {
  const kin__binary_known *known = kin__packer_known(packer);
  if (known == NULL) {
    pack_halves(p, text, length, before, packer);
    return;
  }
  bool is_whole;
  p->frame = kin__binary_pack(packer, known, text, length, &is_whole);
  p->flags |= is_whole ? 0 : KIN__BINARY;
}

/* Packs the object's text without what is among the strings. */
static void pack_text(parts *p, const kin_object *object,
                      const kin_object *before, kin__packer *packer) {
  kin_str text = kin__object_body(object);
  if (text.length < KIN__PACK_MIN_BYTES || text.length > KIN__PACK_MAX_BYTES) {
    p->frame = kin__str(NULL, 0);
    return;
  }
  kin_str name = kin_object_name(object);
  bool has_labels = p->has_whole_labels;
  const kin_str strings[KIN__RESIDENTS] = {
      [KIN__RESIDENT_NAME] = name,
      [KIN__RESIDENT_PREFIX] = kin__strip_prefix(name),
      [KIN__RESIDENT_NAMESPACE] = kin_object_namespace(object),
      [KIN__RESIDENT_UID] = inside(text, p->uid),
      [KIN__RESIDENT_VERSION] = inside(text, p->version),
      [KIN__RESIDENT_LABELS] =
          has_labels ? inside(text, labels_of(object)) : kin__str(NULL, 0)};
  char *room = kin__packer_room(packer);
  unsigned mask;
  size_t length = kin__strip(room, text, strings, &mask);
  p->flags |= mask * KIN__STRIPPED;
  pack_stripped(p, room, length, before, packer);
}

void kin__packed_note_tried(kin_object *object, const kin__packer *packer) {
  const kin__dictionary *dictionary = kin__packer_dictionary(packer);
  if (dictionary != NULL && !kin__object_is_packed(object)) {
    uint32_t number = kin__dictionary_number(dictionary);
    object->flags = object->flags % KIN__TRIED + number * KIN__TRIED;
  }
}

static bool is_tried(const kin_object *object,
                     const kin__dictionary *dictionary) {
  return object->flags / KIN__TRIED == kin__dictionary_number(dictionary);
}

/* The size of the packed object; 0 if it cannot be packed, or would not be
 * smaller: strings of a short text are in the text and beside it. */
static size_t prepare(parts *p, const kin_object *object,
                      const kin_object *before, kin__packer *packer) {
  kin__packer_begin(packer); /* forgets a failure of an earlier object */
  p->dictionary = kin__packer_dictionary(packer);
  if (p->dictionary == NULL || kin__object_is_packed(object) ||
      is_tried(object, p->dictionary)) {
    return 0;
  }
  find_strings(p, object, before);
  pack_text(p, object, before, packer);
  size_t align = _Alignof(packed_body);
  size_t body = p->key.length + p->uid.length + p->version.length +
                p->labels.length + align - 1;
  p->body = (uint32_t)(body / align * align);
  size_t size = sizeof(kin_object) + p->body + BODY_BYTES + p->frame.length;
  return p->frame.length > 0 && size < kin_object_memory(object) ? size : 0;
}

static size_t append(kin_object *object, size_t at, kin_str s) {
  if (s.length > 0) {
    memcpy(object->bytes + at, s.data, s.length);
  }
  return at + s.length;
}

/* All but the cell's head and the references. */
static void fill(kin_object *packed, const kin_object *object, const parts *p) {
  packed->flags = p->flags;
  packed->namespace_length = object->namespace_length;
  packed->name_length = object->name_length;
  packed->uid_length = object->uid_length;
  packed->version_length = object->version_length;
  size_t at = append(packed, 0, p->key);
  packed->uid_offset = (uint32_t)at;
  at = append(packed, at, p->uid);
  packed->version_offset = (uint32_t)at;
  at = append(packed, at, p->version);
  packed->labels_offset = (uint32_t)at;
  packed->labels_length = (uint32_t)p->labels.length;
  at = append(packed, at, p->labels);
  memset(packed->bytes + at, 0, p->body - at);
  packed->body_offset = p->body;
  packed->body_length = (uint32_t)(BODY_BYTES + p->frame.length);
  packed_body *body = body_of(packed);
  memcpy(body->frame, p->frame.data, p->frame.length);
  body->dictionary = p->dictionary;
  body->length = object->body_length;
}

static kin_object *take(kin__memory *memory, size_t size) {
  return (kin_object *)(void *)kin__cell_take(memory->arena, &memory->allocator,
                                              memory, size);
}

/* The last step of making an object. */
static void give(kin_object *packed, kin__memory *memory) {
  atomic_init(&packed->refs, 1);
  kin__packed_copied(packed);
  kin__memory_ref(memory);
}

bool kin__object_pack(kin_object **object, const kin_object *before,
                      kin__memory *memory, kin__packer *packer) {
  parts p;
  if (memory->check != KIN_MUTATION_CHECK_OFF) {
    return false;
  }
  size_t size = prepare(&p, *object, before, packer);
  if (size == 0) {
    if (!kin__packer_lacks_memory(packer)) {
      kin__packed_note_tried(*object, packer);
    }
    return false;
  }
  kin_object *packed = take(memory, size);
  if (packed == NULL) {
    return false;
  }
  fill(packed, *object, &p);
  give(packed, memory);
  kin__object_unref(*object);
  *object = packed;
  return true;
}

size_t kin__object_pack_to(char *to, size_t room, const kin_object *object,
                           kin__packer *packer) {
  parts p;
  size_t size = prepare(&p, object, NULL, packer);
  if (size > 0 && size <= room) {
    fill((kin_object *)(void *)to, object, &p);
  }
  return size;
}

kin_object *kin__object_of_image(kin__memory *memory, const char *image,
                                 size_t size) {
  kin_object *packed = take(memory, size);
  if (packed != NULL) {
    size_t head = offsetof(kin_object, flags);
    memcpy((char *)packed + head, image + head, size - head);
    give(packed, memory);
  }
  return packed;
}

void kin__packed_copied(kin_object *copy) {
  packed_body *body = body_of(copy);
  (void)kin__dictionary_ref(body->dictionary);
  atomic_init(&body->text, NULL);
  atomic_init(&body->holds, 0);
}

void kin__packed_release(const kin_object *object) {
  packed_body *body = body_of(object);
  kin__inflated_free(packing_of(object),
                     atomic_load_explicit(&body->text, memory_order_acquire));
  kin__dictionary_unref(body->dictionary);
}

/* --- Reading -------------------------------------------------------------- */

bool kin__packed_label(const kin_object *object, kin_str name, kin_str *value) {
  return kin__dictionary_label(body_of(object)->dictionary, labels_of(object),
                               name, value);
}

static int inflate_stripped(const kin_object *object, char *to, size_t length) {
  kin__dictionary *dictionary = body_of(object)->dictionary;
  kin_str frame = kin__packed_frame(object);
  if ((object->flags & KIN__HALVES) != 0) {
    return kin__halves_inflate(dictionary, frame, to, length);
  }
  if ((object->flags & KIN__BINARY) != 0) {
    return kin__binary_inflate(dictionary, frame, to, length);
  }
  return kin__dictionary_inflate(dictionary, frame, to, length);
}

/* The text without what is among the strings comes to the end first. */
static int inflate_text(const kin_object *object, char *to) {
  const packed_body *body = body_of(object);
  kin_str name = kin_object_name(object);
  bool has_codes = (object->flags & KIN__LABELS_ARE_CODES) != 0;
  const kin__residents residents = {
      .strings = {[KIN__RESIDENT_NAME] = name,
                  [KIN__RESIDENT_PREFIX] = kin__strip_prefix(name),
                  [KIN__RESIDENT_NAMESPACE] = kin_object_namespace(object),
                  [KIN__RESIDENT_UID] = kin_object_uid(object),
                  [KIN__RESIDENT_VERSION] = kin_object_resource_version(object),
                  [KIN__RESIDENT_LABELS] =
                      kin__str(object->bytes + object->labels_offset,
                               has_codes ? object->labels_length : 0)},
      .table = kin__dictionary_labels(body->dictionary)};
  unsigned mask = object->flags / KIN__STRIPPED;
  size_t length = kin__stripped_length(&residents, mask, body->length);
  char *end = to + (body->length - length);
  int err = inflate_stripped(object, end, length);
  if (err == 0 && mask != 0 &&
      !kin__unstrip(to, body->length, length, &residents)) {
    err = KIN_EUNEXPECTED;
  }
  return err;
}

static kin_str text_of(const kin__inflated *inflated) {
  return kin__str(inflated->text, inflated->length);
}

/* Another thread may be first; then its text is the object's. While this one
 * holds the text, no thread frees the note that is written here. */
static kin__inflated *publish(const kin_object *object, kin__inflated *made) {
  kin__packing *packing = packing_of(object);
  kin__inflated *first = NULL;
  made->object = kin__object_ref(object);
  kin__packed_hold(object);
  if (!atomic_compare_exchange_strong(&body_of(object)->text, &first, made)) {
    kin__object_unref(object);
    kin__inflated_free(packing, made);
    made = first;
  } else if (!kin__inflated_note(packing, made)) {
    made->object = NULL;
    kin__object_unref(object);
  }
  kin__packed_let_go(object);
  return made;
}

int kin__packed_text(const kin_object *object, kin_str *text) {
  packed_body *body = body_of(object);
  kin__inflated *inflated = atomic_load(&body->text);
  if (inflated == NULL) {
    kin__inflated *made = kin__inflated_new(packing_of(object), body->length);
    if (made == NULL) {
      return KIN_ENOMEM;
    }
    int err = inflate_text(object, made->text);
    if (err != 0) {
      kin__inflated_free(packing_of(object), made);
      return err;
    }
    bool is_late = kin__inflated_is_closed(packing_of(object)) &&
                   atomic_load(&body->holds) == 0;
    if (is_late) {
      kin__inflated_keep(packing_of(object), made);
    }
    inflated = is_late ? made : publish(object, made);
  }
  *text = text_of(inflated);
  return 0;
}

/* If the text is in place, *block is the object itself: kin__packed_free then
 * gives the hold back. */
int kin__packed_open(const kin_object *object, kin_str *text, void **block) {
  packed_body *body = body_of(object);
  *block = NULL;
  if (atomic_load(&body->text) != NULL) {
    kin__packed_hold(object);
    const kin__inflated *inflated = atomic_load(&body->text);
    if (inflated != NULL) {
      *text = text_of(inflated);
      *block = (void *)object;
      return 0;
    }
    kin__packed_let_go(object);
  }
  char *bytes = kin__malloc(kin__object_allocator(object), body->length);
  if (bytes == NULL) {
    return KIN_ENOMEM;
  }
  int err = inflate_text(object, bytes);
  if (err != 0) {
    kin__free(kin__object_allocator(object), bytes);
    return err;
  }
  *block = bytes;
  *text = kin__str(bytes, body->length);
  return 0;
}

void kin__packed_free(const kin_object *object, void *block) {
  if (block == object) {
    kin__packed_let_go(object);
  } else {
    kin__free(kin__object_allocator(object), block);
  }
}

unsigned kin__object_holders(const kin_object *object) {
  return atomic_load_explicit(&object->refs, memory_order_acquire);
}

/* A count that has reached its maximum stays there. */
void kin__packed_hold(const kin_object *object) {
  _Atomic uint16_t *holds = &body_of(object)->holds;
  uint16_t count = atomic_load(holds);
  while (count != UINT16_MAX &&
         !atomic_compare_exchange_weak(holds, &count, (uint16_t)(count + 1))) {
  }
}

static void push(packed_body *body, kin__inflated *texts) {
  kin__inflated *last = texts;
  while (last->older != NULL) {
    last = last->older;
  }
  kin__inflated *first = atomic_load(&body->text);
  do {
    last->older = first;
  } while (!atomic_compare_exchange_weak(&body->text, &first, texts));
}

/* Without an owner of notes, any thread frees the texts. As in
 * kin__packed_drop_text, either a thread that takes a reference meanwhile finds
 * no text, or its reference is counted here. */
static void free_texts(const kin_object *object) {
  packed_body *body = body_of(object);
  while (atomic_load(&body->holds) == 0) {
    kin__inflated *texts = atomic_exchange(&body->text, NULL);
    if (texts == NULL) {
      return;
    }
    if (atomic_load(&body->holds) == 0) {
      kin__inflated_free(packing_of(object), texts);
      return;
    }
    push(body, texts);
  }
}

/* The program's reads of the text happen before the text is freed. */
void kin__packed_let_go(const kin_object *object) {
  _Atomic uint16_t *holds = &body_of(object)->holds;
  uint16_t count = atomic_load_explicit(holds, memory_order_relaxed);
  while (count != UINT16_MAX && count != 0 &&
         !atomic_compare_exchange_weak(holds, &count, (uint16_t)(count - 1))) {
  }
  if (count == 1 && atomic_load(&body_of(object)->text) != NULL &&
      kin__inflated_is_closed(packing_of(object))) {
    free_texts(object);
  }
}

/* In the one order of these operations and of those of a thread that takes a
 * reference and then asks for the text, either that thread finds no text, or
 * its reference is counted here. */
bool kin__packed_drop_text(kin__inflated *inflated) {
  const kin_object *object = inflated->object;
  packed_body *body = body_of(object);
  if (atomic_load(&body->holds) > 0) {
    return false;
  }
  kin__inflated *newer = NULL;
  atomic_store(&body->text, NULL);
  if (atomic_load(&body->holds) == 0) {
    kin__inflated_free(packing_of(object), inflated);
  } else if (atomic_compare_exchange_strong(&body->text, &newer, inflated)) {
    return false;
  } else {
    inflated->object = NULL;
    newer->older = inflated;
  }
  kin__object_unref(object);
  return true;
}

void kin__packed_disown(kin__inflated *inflated) {
  kin_object *object = inflated->object;
  inflated->object = NULL;
  kin__packed_let_go(object);
  kin__object_unref(object);
}
