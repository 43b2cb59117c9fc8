/* SPDX-License-Identifier: MIT */

/* A cached object is one block of memory:
 *
 *   header | key "ns/name" NUL | strings | body
 *
 * Resident strings are offsets into the body if possible: uid, version and
 * labels are JSON text that needs no unescaping and was not dropped. `strings`
 * holds the others, and is mostly empty. So a pod costs its kept bytes, the
 * header and its key.
 *
 * Invariants: all offsets count from `bytes`. The body is the parts' body
 * without the dropped spans. Only `refs` changes after kin__object_new; a
 * memory that uses seals checks this (object/seal.h).
 *
 * Labels are kept in one of two forms. Without escapes they are JSON text
 * inside the body, so that values can be lent as they are. Otherwise they are a
 * list of unescaped records in `strings` (see label_record).
 *
 * packed.c makes objects of the same form whose body is packed. */
#include "object/object_core.h"

#include <string.h>

#include <kin/error.h>

#include "base/str.h"
#include "object/packed.h"
#include "object/seal.h"
#include "object/text.h"

_Static_assert(sizeof(kin_object) <= 56, "an object's header has grown");
_Static_assert(offsetof(kin_object, refs) + sizeof(atomic_uint) <=
                   KIN__CELL_OPEN_BYTES,
               "references of a protected object cannot be counted");

static const size_t body_max = (size_t)1 << 30;

/* An unescaped label; name and value follow it. */
typedef struct label_record {
  uint32_t name_length;
  uint32_t value_length; /* NO_STRING: no value */
} label_record;

#define NO_STRING UINT32_MAX
#define CACHE_LINE 64u
#define ROOM_BYTES 4096u /* behind them the processor sees the pattern */

/* The places of all parts, computed before memory is taken. */
typedef struct layout {
  size_t body_length; /* kept bytes */
  size_t uid_offset;  /* inside the kept body if uid_is_inside */
  size_t version_offset;
  size_t labels_offset;
  size_t strings_length;
  bool uid_is_inside;
  bool version_is_inside;
  bool labels_are_records;
} layout;

static size_t dropped_bytes(const kin__object_parts *parts) {
  size_t sum = 0;
  for (size_t i = 0; i < parts->dropped_count; i++) {
    sum += parts->dropped[i].length;
  }
  return sum;
}

/* Whether `s` is a slice of the body that is kept whole. If so, *offset is its
 * place in the kept body. */
static bool find_in_body(const kin__object_parts *parts, kin_str s,
                         size_t *offset) {
  uintptr_t body = (uintptr_t)parts->body.data;
  uintptr_t data = (uintptr_t)s.data;
  if (s.length == 0 || data < body || data - body > parts->body.length ||
      s.length > parts->body.length - (data - body)) {
    return false;
  }
  size_t begin = data - body;
  size_t before = 0;
  for (size_t i = 0; i < parts->dropped_count; i++) {
    const kin__span *gap = &parts->dropped[i];
    if (gap->offset >= begin + s.length) {
      break;
    }
    if (gap->offset + (size_t)gap->length > begin) {
      return false;
    }
    before += gap->length;
  }
  *offset = begin - before;
  return true;
}

/* An upper bound of the bytes that write_label_records writes. */
static size_t label_records_bound(kin_str labels) {
  kin__text_members members = {.text = labels};
  size_t bound = 0;
  while (kin__text_next(&members)) {
    bound += sizeof(label_record) + members.name.length + members.value.length;
  }
  return bound;
}

/* A name with invalid escapes is left out. An invalid value is left out, too,
 * but its name stays: if a name occurs twice the first counts. */
static size_t write_label_records(char *to, kin_str labels) {
  kin__text_members members = {.text = labels};
  size_t written = 0;
  while (kin__text_next(&members)) {
    size_t name;
    size_t value = 0;
    char *text = to + written + sizeof(label_record);
    if (kin__text_unescape(text, &name, members.name) != 0) {
      continue;
    }
    kin_str raw;
    bool is_string = kin__text_string(members.value, &raw) &&
                     kin__text_unescape(text + name, &value, raw) == 0;
    value = is_string ? value : 0;
    label_record record = {(uint32_t)name,
                           is_string ? (uint32_t)value : NO_STRING};
    memcpy(to + written, &record, sizeof record);
    written += sizeof record + name + value;
  }
  return written;
}

static int check_parts(const kin__object_parts *parts) {
  if (parts->name.length == 0 || parts->name.length > UINT16_MAX ||
      parts->namespace_.length > UINT16_MAX || parts->uid.length > UINT16_MAX ||
      parts->version.length > UINT16_MAX) {
    return KIN_EKEY;
  }
  return parts->body.length > body_max ? KIN_ETOOBIG : 0;
}

static void plan(layout *l, const kin__object_parts *parts) {
  *l = (layout){.body_length = parts->body.length - dropped_bytes(parts)};
  l->uid_is_inside = find_in_body(parts, parts->uid, &l->uid_offset);
  if (!l->uid_is_inside) {
    l->strings_length += parts->uid.length;
  }
  l->version_is_inside =
      find_in_body(parts, parts->version, &l->version_offset);
  if (!l->version_is_inside) {
    l->strings_length += parts->version.length;
  }
  l->labels_are_records =
      parts->labels.length > 0 &&
      (kin__text_is_escaped(parts->labels) ||
       !find_in_body(parts, parts->labels, &l->labels_offset));
  if (l->labels_are_records) {
    l->strings_length += label_records_bound(parts->labels);
  }
}

static size_t write_bytes(char *to, kin_str s) {
  if (s.length > 0) {
    memcpy(to, s.data, s.length);
  }
  return s.length;
}

static size_t write_key(char *to, const kin__object_parts *parts) {
  size_t at = write_bytes(to, parts->namespace_);
  if (at > 0) {
    to[at++] = '/';
  }
  at += write_bytes(to + at, parts->name);
  to[at++] = '\0';
  return at;
}

static void write_body(char *to, const kin__object_parts *parts) {
  if (parts->body.length == 0) {
    return;
  }
  size_t from = 0;
  for (size_t i = 0; i < parts->dropped_count; i++) {
    const kin__span *gap = &parts->dropped[i];
    to +=
        write_bytes(to, kin__str(parts->body.data + from, gap->offset - from));
    from = gap->offset + (size_t)gap->length;
  }
  write_bytes(to, kin__str_from(parts->body, from));
}

/* Fills the strings between key and body, and the offsets of all three. */
static void write_strings(kin_object *object, size_t at, const layout *l,
                          const kin__object_parts *parts) {
  size_t body = at + l->strings_length;
  size_t uid = body + l->uid_offset;
  if (!l->uid_is_inside) {
    uid = at;
    at += write_bytes(object->bytes + at, parts->uid);
  }
  size_t version = body + l->version_offset;
  if (!l->version_is_inside) {
    version = at;
    at += write_bytes(object->bytes + at, parts->version);
  }
  size_t labels = body + l->labels_offset;
  size_t labels_length = parts->labels.length;
  if (l->labels_are_records) {
    labels = at;
    labels_length = write_label_records(object->bytes + at, parts->labels);
  }
  object->uid_offset = (uint32_t)uid;
  object->version_offset = (uint32_t)version;
  object->labels_offset = (uint32_t)labels;
  object->labels_length = (uint32_t)labels_length;
  object->body_offset = (uint32_t)body;
}

static kin_object *take(kin__memory *memory, size_t key_length, const layout *l,
                        size_t total, size_t headroom) {
  if (memory->check == KIN_MUTATION_CHECK_OFF) {
    return (kin_object *)(void *)kin__cell_take(
        memory->arena, &memory->allocator, memory, total + headroom);
  }
  size_t sums =
      kin__object_sum_count(key_length + l->strings_length, l->body_length);
  kin_object *object =
      (kin_object *)(void *)kin__sealed_take(memory, total, sums);
  if (object != NULL) {
    /* The strings may not fill all of their room. */
    memset(object->bytes + key_length, 0, l->strings_length);
  }
  return object;
}

/* The last step of making an object: from here on only `refs` changes. */
static int give(kin_object **out, kin__memory *memory, kin_object *object) {
  if (memory->check != KIN_MUTATION_CHECK_OFF) {
    object = kin__object_close(object);
    if (object == NULL) {
      return KIN_ENOMEM;
    }
  }
  kin__memory_ref(memory);
  *out = object;
  return 0;
}

int kin__object_new(kin_object **out, kin__memory *memory,
                    const kin__object_parts *parts) {
  *out = NULL;
  int err = check_parts(parts);
  if (err != 0) {
    return err;
  }
  layout l;
  plan(&l, parts);
  size_t key = parts->namespace_.length + (parts->namespace_.length > 0) +
               parts->name.length + 1;
  size_t total = sizeof(kin_object) + key + l.strings_length + l.body_length;
  if (total > UINT32_MAX) {
    return KIN_ETOOBIG;
  }
  kin_object *object = take(memory, key, &l, total, parts->headroom);
  if (object == NULL) {
    return KIN_ENOMEM;
  }
  atomic_init(&object->refs, 1);
  object->body_length = (uint32_t)l.body_length;
  object->namespace_length = (uint16_t)parts->namespace_.length;
  object->name_length = (uint16_t)parts->name.length;
  object->uid_length = (uint16_t)parts->uid.length;
  object->version_length = (uint16_t)parts->version.length;
  object->flags = (l.labels_are_records ? KIN__LABELS_ARE_RECORDS : 0u) |
                  (parts->is_key_only ? KIN__KEY_ONLY : 0u);
  size_t at = write_key(object->bytes, parts);
  write_strings(object, at, &l, parts);
  write_body(object->bytes + object->body_offset, parts);
  return give(out, memory, object);
}

int kin__object_copy(kin_object **out, kin__memory *memory,
                     const kin_object *object, size_t headroom) {
  *out = NULL;
  size_t key = kin_object_key(object).length + 1;
  layout l = {.body_length = object->body_length,
              .strings_length = object->body_offset - key};
  size_t total = kin_object_memory(object);
  kin_object *copy = take(memory, key, &l, total, headroom);
  if (copy == NULL) {
    return KIN_ENOMEM;
  }
  size_t header = offsetof(kin_object, flags);
  atomic_init(&copy->refs, 1);
  memcpy((char *)copy + header, (const char *)object + header, total - header);
  if (kin__object_is_packed(object)) {
    kin__packed_copied(copy);
  }
  return give(out, memory, copy);
}

void kin__object_prefetch(const kin_object *object) {
  const char *header = (const char *)object;
  __builtin_prefetch(header);
  __builtin_prefetch(header + CACHE_LINE);
}

void kin__object_prefetch_rest(const kin_object *object) {
  kin__cell_prefetch((const kin__cell *)(const void *)object);
  __builtin_prefetch(object->bytes + object->uid_offset);
  __builtin_prefetch(object->bytes + object->version_offset);
}

void kin__object_prefetch_region(const kin_object *object) {
  kin__cell_prefetch_region((const kin__cell *)(const void *)object);
}

void kin__object_prefetch_room(const kin_object *object) {
  size_t length = kin_object_memory(object);
  size_t end = length < ROOM_BYTES ? length : ROOM_BYTES;
  for (size_t at = 2 * CACHE_LINE; at < end; at += CACHE_LINE) {
    __builtin_prefetch((const char *)object + at, 1, 2);
  }
}

bool kin__object_is_movable(const kin_object *object,
                            const kin__memory *memory) {
  return atomic_load_explicit(&object->refs, memory_order_acquire) == 1 &&
         kin__cell_is_lonely((const kin__cell *)(const void *)object,
                             memory->arena);
}

/* An object whose memory is checked may have been overwritten, flags and all; it
 * is never packed. */
static bool is_packed_in(const kin__memory *memory, const kin_object *object) {
  return memory->check == KIN_MUTATION_CHECK_OFF &&
         kin__object_is_packed(object);
}

kin_object *kin__object_ref(const kin_object *object) {
  kin_object *counted = (kin_object *)object;
  if (counted != NULL) {
    atomic_fetch_add_explicit(&counted->refs, 1, memory_order_relaxed);
  }
  return counted;
}

/* The flag comes first: the owner is in memory of its own. */
static bool is_packed(const kin_object *object) {
  return object != NULL && kin__object_is_packed(object) &&
         is_packed_in(kin__cell_owner((const kin__cell *)(const void *)object),
                      object);
}

void kin__object_hand_out(const kin_object *object) {
  if (is_packed(object)) {
    kin__packed_hold(object);
  }
}

kin_object *kin_object_ref(const kin_object *object) {
  kin__object_hand_out(object);
  return kin__object_ref(object);
}

/* Acquire and release: the releasing thread's reads happen before the free,
 * whichever thread frees. */
void kin__object_unref(const kin_object *object) {
  kin_object *counted = (kin_object *)object;
  if (counted != NULL &&
      atomic_fetch_sub_explicit(&counted->refs, 1, memory_order_acq_rel) == 1) {
    kin__cell *cell = (kin__cell *)(void *)counted;
    kin__memory *memory = kin__cell_owner(cell);
    if (is_packed_in(memory, counted)) {
      kin__packed_release(counted);
    }
    kin__cell_give(cell);
    kin__memory_unref(memory);
  }
}

void kin_object_unref(const kin_object *object) {
  if (is_packed(object)) {
    kin__packed_let_go(object);
  }
  kin__object_unref(object);
}

kin_str kin_object_key(const kin_object *object) {
  if (object == NULL) {
    return kin__str(NULL, 0);
  }
  size_t separator = object->namespace_length > 0 ? 1 : 0;
  return kin__str(object->bytes,
                  object->namespace_length + separator + object->name_length);
}

kin_str kin_object_name(const kin_object *object) {
  if (object == NULL) {
    return kin__str(NULL, 0);
  }
  size_t separator = object->namespace_length > 0 ? 1 : 0;
  return kin__str(object->bytes + object->namespace_length + separator,
                  object->name_length);
}

kin_str kin_object_namespace(const kin_object *object) {
  return object != NULL ? kin__str(object->bytes, object->namespace_length)
                        : kin__str(NULL, 0);
}

kin_str kin_object_uid(const kin_object *object) {
  return object != NULL
             ? kin__str(object->bytes + object->uid_offset, object->uid_length)
             : kin__str(NULL, 0);
}

kin_str kin_object_resource_version(const kin_object *object) {
  return object != NULL ? kin__str(object->bytes + object->version_offset,
                                   object->version_length)
                        : kin__str(NULL, 0);
}

static bool find_record(kin_str records, kin_str key, kin_str *value) {
  size_t at = 0;
  while (at < records.length) {
    label_record record;
    memcpy(&record, records.data + at, sizeof record);
    uint32_t value_length =
        record.value_length != NO_STRING ? record.value_length : 0;
    const char *name = records.data + at + sizeof record;
    if (kin__str_equal(kin__str(name, record.name_length), key)) {
      if (record.value_length == NO_STRING) {
        return false;
      }
      *value = kin__str(name + record.name_length, value_length);
      return true;
    }
    at += sizeof record + record.name_length + value_length;
  }
  return false;
}

bool kin_object_label(const kin_object *object, const char *key,
                      kin_str *value) {
  if (object == NULL || key == NULL) {
    return false;
  }
  kin_str ignored;
  value = value != NULL ? value : &ignored;
  kin_str labels =
      kin__str(object->bytes + object->labels_offset, object->labels_length);
  kin_str wanted = kin__cstr(key);
  if ((object->flags & KIN__LABELS_ARE_RECORDS) != 0) {
    return find_record(labels, wanted, value);
  }
  if ((object->flags & KIN__LABELS_ARE_CODES) != 0) {
    return kin__packed_label(object, wanted, value);
  }
  kin__text_members members = {.text = labels};
  while (kin__text_next(&members)) {
    if (kin__str_equal(members.name, wanted)) {
      return kin__text_string(members.value, value);
    }
  }
  return false;
}

bool kin_object_is_key_only(const kin_object *object) {
  return object != NULL && (object->flags & KIN__KEY_ONLY) != 0;
}

size_t kin_object_memory(const kin_object *object) {
  return object != NULL
             ? sizeof *object + object->body_offset + object->body_length
             : 0;
}

kin_str kin__object_body(const kin_object *object) {
  return kin__str(object->bytes + object->body_offset, object->body_length);
}

int kin__object_text(const kin_object *object, kin_str *text) {
  if (kin__object_is_packed(object)) {
    return kin__packed_text(object, text);
  }
  *text = kin__object_body(object);
  return 0;
}

int kin__object_open_text(const kin_object *object, kin_str *text,
                          void **block) {
  if (kin__object_is_packed(object)) {
    return kin__packed_open(object, text, block);
  }
  *block = NULL;
  *text = kin__object_body(object);
  return 0;
}

void kin__object_close_text(const kin_object *object, void *block) {
  if (block != NULL) {
    kin__packed_free(object, block);
  }
}

const char *kin__object_bytes(const kin_object *object) {
  return object->bytes;
}

kin_str kin__object_part(const kin_object *object, kin_mutation_part part) {
  size_t header = offsetof(kin_object, flags);
  switch (part) {
  case KIN_MUTATION_HEADER:
    return kin__str((const char *)object + header,
                    offsetof(kin_object, bytes) - header);
  case KIN_MUTATION_STRINGS:
    return kin__str(object->bytes, object->body_offset);
  case KIN_MUTATION_JSON:
    break;
  }
  return kin__object_is_packed(object) ? kin__packed_frame(object)
                                       : kin__object_body(object);
}

const kin_allocator *kin__object_allocator(const kin_object *object) {
  const kin__memory *memory =
      kin__cell_owner((const kin__cell *)(const void *)object);
  return &memory->allocator;
}
