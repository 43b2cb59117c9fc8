/* SPDX-License-Identifier: MIT */
#ifndef KIN_OBJECT_OBJECT_H
#define KIN_OBJECT_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kin/mutation_detector.h>
#include <kin/object.h>

#include "base/memory.h"
#include "base/str.h"

/* A range of bytes of an object's JSON text. */
typedef struct kin__span {
  uint32_t offset;
  uint32_t length;
} kin__span;

/* The parts of an object that decode cut from the stream, borrowed for one
 * call. The strings are unescaped. Strings without escapes point into
 * `body`. */
typedef struct kin__object_parts {
  kin_str namespace_;
  kin_str name; /* never empty for objects that are stored */
  kin_str uid;
  kin_str version; /* metadata.resourceVersion */
  kin_str labels;  /* JSON text of metadata.labels inside body, or empty */
  kin_str body;    /* JSON text; {NULL, 0} if the sink knew the object */
  const kin__span *dropped; /* ascending, disjoint ranges of body that */
  size_t dropped_count;     /* are not stored; the rest is valid JSON */
  size_t
      headroom; /* bytes to reserve: the object will be replaced by one that is
                 * this much larger and should fit the same memory */
  bool is_key_only;  /* it was over a limit: body holds the identity only */
  uint32_t received; /* if is_key_only: the object's size as it came */
} kin__object_parts;

/* Makes an object with one reference: one allocation, and one copy of the kept
 * bytes. Errors: KIN_ENOMEM, KIN_EKEY (empty name, or name, namespace, uid or
 * version over 65,535 bytes), KIN_ETOOBIG (over 1 GiB). */
int kin__object_new(kin_object **out, kin__memory *memory,
                    const kin__object_parts *parts);

/* Copies the object into another memory. For `headroom` see kin__object_parts.
 * Errors: KIN_ENOMEM. */
int kin__object_copy(kin_object **out, kin__memory *memory,
                     const kin_object *object, size_t headroom);

/* The library's own references, which are counted apart from the program's: the
 * inflated text of a packed object is kept for the program's alone
 * (kin__packed_hold). kin__object_ref goes with kin__object_unref, and
 * kin_object_ref with kin_object_unref. */
kin_object *kin__object_ref(const kin_object *object);
void kin__object_unref(const kin_object *object);
/* The library's reference becomes the program's. NULL is allowed. */
void kin__object_hand_out(const kin_object *object);

/* Three steps that let the cache misses of several objects overlap: the first
 * asks for the header and the key, the second for what comparing and releasing
 * the object read besides, the third for what the second leads to. */
void kin__object_prefetch(const kin_object *object);
void kin__object_prefetch_rest(const kin_object *object);
void kin__object_prefetch_region(const kin_object *object);
/* For an object that another one replaces: its memory is the next to be written
 * to, and only its header was read so far. */
void kin__object_prefetch_room(const kin_object *object);

/* Whether the caller has the only reference, and a copy in the same memory
 * would help to give memory back, see kin__cell_is_lonely. On the memory's
 * thread. */
bool kin__object_is_movable(const kin_object *object,
                            const kin__memory *memory);

/* The JSON text. It lives as long as the object; in place, so that a packed
 * object (object/packed.h) is inflated first. Errors: those of
 * kin__packed_text; never for a plain object. */
int kin__object_text(const kin_object *object, kin_str *text);
/* The same for one reader, until kin__object_close_text. A packed object that has
 * no text in place is inflated into memory of the reader's own: for objects that
 * are read and not looked at again. No other thread frees the text meanwhile. */
int kin__object_open_text(const kin_object *object, kin_str *text,
                          void **block);
void kin__object_close_text(const kin_object *object, void *block);

/* The stored body: of a plain object the JSON text. Empty for an object that
 * has an identity only (informer/transform.h). */
kin_str kin__object_body(const kin_object *object);
/* Whether the object has an identity only. */
static inline bool kin__object_has_no_text(const kin_object *object) {
  return kin__object_body(object).length == 0;
}
/* Lives as long as the object. */
const kin_allocator *kin__object_allocator(const kin_object *object);

/* One part of the bytes that never change: all but the slab pointer and the
 * count of references. The key is at the start of kin__object_bytes. The
 * header's place and size are constants. */
kin_str kin__object_part(const kin_object *object, kin_mutation_part part);
const char *kin__object_bytes(const kin_object *object);

#endif /* KIN_OBJECT_OBJECT_H */
