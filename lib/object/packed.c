/* SPDX-License-Identifier: MIT */
#include "object/packed.h"

#include <stdatomic.h>
#include <string.h>

#include <kin/error.h>

#include "base/alloc.h"
#include "object/object_core.h"

/* At body_offset of a packed object, aligned as its members. */
typedef struct packed_body {
  kin__dictionary *dictionary;   /* a reference */
  _Atomic(kin__inflated *) text; /* NULL: not inflated */
  uint32_t length;               /* of the text */
  char frame[];
} packed_body;

#define BODY_BYTES offsetof(packed_body, frame)

_Static_assert(offsetof(kin_object, bytes) % _Alignof(packed_body) == 0,
               "a packed body would not be aligned");

static packed_body *body_of(const kin_object *object) {
  return (packed_body *)(void *)((char *)object + offsetof(kin_object, bytes) +
                                 object->body_offset);
}

static kin_str frame_of(const kin_object *object) {
  return kin__str(body_of(object)->frame, object->body_length - BODY_BYTES);
}

static kin__packing *packing_of(const kin_object *object) {
  return kin__dictionary_packing(body_of(object)->dictionary);
}

bool kin__object_is_packed(const kin_object *object) {
  return (object->flags & KIN__PACKED) != 0;
}

kin_str kin__packed_frame(const kin_object *object) {
  return frame_of(object);
}

size_t kin__object_text_length(const kin_object *object) {
  return kin__object_is_packed(object) ? body_of(object)->length
                                       : object->body_length;
}

/* --- Packing -------------------------------------------------------------- */

#define CODED_MAX_BYTES 1024u

/* The parts of a packed object before its body: the key as it is, then the
 * strings. */
typedef struct strings {
  kin_str key; /* with its NUL */
  kin_str uid;
  kin_str version;
  kin_str labels;
  uint32_t flags;
  char codes[CODED_MAX_BYTES];
} strings;

static void find_strings(strings *s, const kin_object *object,
                         const kin__dictionary *dictionary) {
  kin_str key = kin_object_key(object);
  s->key = kin__str(key.data, key.length + 1);
  s->uid = kin_object_uid(object);
  s->version = kin_object_resource_version(object);
  s->labels =
      kin__str(object->bytes + object->labels_offset, object->labels_length);
  s->flags = object->flags | KIN__PACKED;
  if ((s->flags & KIN__LABELS_ARE_RECORDS) == 0 && s->labels.length > 0) {
    size_t length = kin__dictionary_encode_labels(dictionary, s->labels,
                                                  s->codes, sizeof s->codes);
    if (length > 0) {
      s->labels = kin__str(s->codes, length);
      s->flags |= KIN__LABELS_ARE_CODES;
    }
  }
}

static size_t append(kin_object *object, size_t at, kin_str s) {
  if (s.length > 0) {
    memcpy(object->bytes + at, s.data, s.length);
  }
  return at + s.length;
}

static void fill(kin_object *packed, const kin_object *object, const strings *s,
                 size_t body, kin_str frame) {
  packed->flags = s->flags;
  packed->namespace_length = object->namespace_length;
  packed->name_length = object->name_length;
  packed->uid_length = object->uid_length;
  packed->version_length = object->version_length;
  size_t at = append(packed, 0, s->key);
  packed->uid_offset = (uint32_t)at;
  at = append(packed, at, s->uid);
  packed->version_offset = (uint32_t)at;
  at = append(packed, at, s->version);
  packed->labels_offset = (uint32_t)at;
  packed->labels_length = (uint32_t)s->labels.length;
  at = append(packed, at, s->labels);
  memset(packed->bytes + at, 0, body - at);
  packed->body_offset = (uint32_t)body;
  packed->body_length = (uint32_t)(BODY_BYTES + frame.length);
  memcpy(body_of(packed)->frame, frame.data, frame.length);
}

bool kin__object_pack(kin_object **object, kin__memory *memory,
                      kin__packer *packer) {
  const kin_object *plain = *object;
  kin__dictionary *dictionary = kin__packer_dictionary(packer);
  if (dictionary == NULL || kin__object_is_packed(plain) ||
      memory->check != KIN_MUTATION_CHECK_OFF) {
    return false;
  }
  kin_str frame = kin__packer_pack(packer, kin__object_body(plain));
  if (frame.length == 0) {
    return false;
  }
  strings s;
  find_strings(&s, plain, dictionary);
  size_t align = _Alignof(packed_body);
  size_t body = s.key.length + s.uid.length + s.version.length +
                s.labels.length + align - 1;
  body = body / align * align;
  size_t total = sizeof(kin_object) + body + BODY_BYTES + frame.length;
  kin_object *packed = (kin_object *)(void *)kin__cell_take(
      memory->arena, &memory->allocator, memory, total);
  if (packed == NULL) {
    return false;
  }
  fill(packed, plain, &s, body, frame);
  atomic_init(&packed->refs, 1);
  packed_body *its = body_of(packed);
  its->dictionary = kin__dictionary_ref(dictionary);
  atomic_init(&its->text, NULL);
  its->length = plain->body_length;
  kin__memory_ref(memory);
  kin_object_unref(plain);
  *object = packed;
  return true;
}

void kin__packed_copied(kin_object *copy) {
  packed_body *body = body_of(copy);
  (void)kin__dictionary_ref(body->dictionary);
  atomic_init(&body->text, NULL);
}

void kin__packed_release(const kin_object *object) {
  packed_body *body = body_of(object);
  kin__object_drop_text(object);
  kin__dictionary_unref(body->dictionary);
}

/* --- Reading -------------------------------------------------------------- */

bool kin__packed_label(const kin_object *object, kin_str name, kin_str *value) {
  kin_str codes =
      kin__str(object->bytes + object->labels_offset, object->labels_length);
  return kin__dictionary_label(body_of(object)->dictionary, codes, name, value);
}

static int inflate_text(const kin_object *object, char *to) {
  const packed_body *body = body_of(object);
  return kin__dictionary_inflate(body->dictionary, frame_of(object), to,
                                 body->length);
}

static kin_str text_of(const kin__inflated *inflated) {
  return kin__str(inflated->text, inflated->length);
}

/* Another thread may be first; then its text is the object's. */
static kin__inflated *publish(const kin_object *object, kin__inflated *made) {
  kin__packing *packing = packing_of(object);
  kin__inflated *first = NULL;
  made->object = kin_object_ref(object);
  if (!atomic_compare_exchange_strong_explicit(&body_of(object)->text, &first,
                                               made, memory_order_acq_rel,
                                               memory_order_acquire)) {
    kin_object_unref(object);
    kin__inflated_free(packing, made);
    return first;
  }
  if (!kin__inflated_note(packing, made)) {
    made->object = NULL;
    kin_object_unref(object);
  }
  return made;
}

int kin__packed_text(const kin_object *object, kin_str *text) {
  packed_body *body = body_of(object);
  kin__inflated *inflated =
      atomic_load_explicit(&body->text, memory_order_acquire);
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
    inflated = publish(object, made);
  }
  *text = text_of(inflated);
  return 0;
}

int kin__packed_open(const kin_object *object, kin_str *text, void **block) {
  packed_body *body = body_of(object);
  *block = NULL;
  kin__inflated *inflated =
      atomic_load_explicit(&body->text, memory_order_acquire);
  if (inflated != NULL) {
    *text = text_of(inflated);
    return 0;
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
  kin__free(kin__object_allocator(object), block);
}

unsigned kin__object_holders(const kin_object *object) {
  return atomic_load_explicit(&object->refs, memory_order_acquire);
}

void kin__object_drop_text(const kin_object *object) {
  kin__inflated *inflated = atomic_exchange_explicit(
      &body_of(object)->text, NULL, memory_order_acquire);
  if (inflated != NULL) {
    kin__inflated_free(packing_of(object), inflated);
  }
}
