/* SPDX-License-Identifier: MIT */
#include "object/label_table.h"

#include <string.h>

#include <kin/error.h>

#include "base/alloc.h"
#include "base/str.h"
#include "object/dictionary.h"
#include "object/text.h"

#define SLOTS (2 * KIN__LABEL_STRINGS_MAX)
#define SEEN (8 * KIN__LABEL_STRINGS_MAX)

/* --- Making --------------------------------------------------------------- */

/* Hashes of the strings that have been seen once. Two strings with one hash
 * only let a string into the table that occurs once. */
typedef struct maker {
  kin__label_table *table;
  uint32_t *seen;
  uint32_t seen_count;
} maker;

static kin_str string_at(const kin__label_table *table, uint32_t i) {
  return kin__str(table->bytes + table->places[i],
                  table->places[i + 1] - table->places[i]);
}

/* The slot of the string, or the free one where it belongs. */
static uint32_t slot_of(const kin__label_table *table, kin_str s) {
  uint32_t slot = kin__hash(&table->seed, s) % SLOTS;
  while (table->slots[slot] != 0 &&
         !kin__str_equal(string_at(table, table->slots[slot] - 1u), s)) {
    slot = (slot + 1) % SLOTS;
  }
  return slot;
}

/* Returns whether it was seen before. When the table is full, nothing counts as
 * seen. */
static bool note_string(maker *m, kin_str s) {
  uint32_t hash = kin__hash(&m->table->seed, s) | 1u;
  uint32_t at = hash / 2 % SEEN;
  while (m->seen[at] != 0 && m->seen[at] != hash) {
    at = (at + 1) % SEEN;
  }
  bool is_seen = m->seen[at] == hash;
  if (!is_seen && m->seen_count < SEEN / 2) {
    m->seen[at] = hash;
    m->seen_count++;
  }
  return is_seen;
}

static void add(maker *m, kin_str s) {
  kin__label_table *table = m->table;
  if (!note_string(m, s)) {
    return;
  }
  uint32_t slot = slot_of(table, s);
  uint32_t end = table->places[table->count];
  if (table->slots[slot] == 0 && table->count < KIN__LABEL_STRINGS_MAX &&
      s.length <= KIN__LABEL_BYTES_MAX - end) {
    memcpy(table->bytes + end, s.data, s.length);
    table->slots[slot] = (uint16_t)++table->count;
    table->places[table->count] = end + (uint32_t)s.length;
  }
}

static kin_str member_of(kin_str text, kin_str name) {
  kin__text_members members = {.text = text};
  while (kin__text_next(&members)) {
    if (kin__str_equal(members.name, name)) {
      return members.value;
    }
  }
  return kin__str(NULL, 0);
}

static void add_sample(maker *m, kin_str text) {
  kin__text_members labels = {
      .text =
          member_of(member_of(text, KIN__LIT("metadata")), KIN__LIT("labels"))};
  while (kin__text_next(&labels)) {
    kin_str value;
    if (kin__text_string(labels.value, &value)) {
      add(m, labels.name);
      add(m, value);
    }
  }
}

int kin__label_table_init(kin__label_table *table,
                          const kin_allocator *allocator,
                          const kin__hash_seed *seed,
                          const struct kin__samples *samples) {
  *table = (kin__label_table){.seed = *seed};
  maker m = {.table = table,
             .seen = kin__calloc(allocator, SEEN, sizeof *m.seen)};
  table->places =
      kin__calloc(allocator, KIN__LABEL_STRINGS_MAX + 1, sizeof *table->places);
  table->slots = kin__calloc(allocator, SLOTS, sizeof *table->slots);
  table->bytes = kin__malloc(allocator, KIN__LABEL_BYTES_MAX);
  int err = m.seen == NULL || table->places == NULL || table->slots == NULL ||
                    table->bytes == NULL
                ? KIN_ENOMEM
                : 0;
  const char *at = samples->bytes;
  for (unsigned i = 0; err == 0 && i < samples->count; i++) {
    add_sample(&m, kin__str(at, samples->sizes[i]));
    at += samples->sizes[i];
  }
  kin__free(allocator, m.seen);
  return err;
}

void kin__label_table_finish(kin__label_table *table,
                             const kin_allocator *allocator) {
  kin__free(allocator, table->places);
  kin__free(allocator, table->slots);
  kin__free(allocator, table->bytes);
}

/* --- Codes ---------------------------------------------------------------- */

typedef struct writer {
  const kin__label_table *table;
  char *at;
  char *end;
  bool is_full;
} writer;

static void put(writer *w, const void *bytes, size_t length) {
  if ((size_t)(w->end - w->at) < length) {
    w->is_full = true;
    return;
  }
  memcpy(w->at, bytes, length);
  w->at += length;
}

/* A code, and a length of a string as it is:
 *
 *   0 to 127               the code
 *   128 to 253, low byte   the code, less 128
 *   254, length            a string of up to 255 bytes
 *   255, two bytes         a longer one
 *
 * The table has frequent strings first, and most names of labels are. */
enum { LONG_CODE = 128, SHORT_RAW = 254, LONG_RAW = 255 };

_Static_assert(KIN__LABEL_STRINGS_MAX <=
                   LONG_CODE + ((SHORT_RAW - LONG_CODE) << 8),
               "a code would not fit");

static void put_bytes(writer *w, unsigned first, unsigned second) {
  const unsigned char bytes[] = {(unsigned char)first, (unsigned char)second};
  put(w, bytes, sizeof bytes);
}

static void put_code(writer *w, unsigned code) {
  if (code < LONG_CODE) {
    unsigned char byte = (unsigned char)code;
    put(w, &byte, sizeof byte);
  } else {
    code -= LONG_CODE;
    put_bytes(w, LONG_CODE + (code >> 8), code & 0xffu);
  }
}

static void write_string(writer *w, kin_str s) {
  uint16_t code = w->table->slots[slot_of(w->table, s)];
  if (code != 0) {
    put_code(w, code - 1u);
    return;
  }
  if (s.length <= UINT8_MAX) {
    put_bytes(w, SHORT_RAW, (unsigned)s.length);
  } else {
    unsigned char first = LONG_RAW;
    uint16_t length = (uint16_t)s.length;
    put(w, &first, sizeof first);
    put(w, &length, sizeof length);
  }
  put(w, s.data, s.length);
}

size_t kin__label_table_encode(const kin__label_table *table, kin_str labels,
                               char *to, size_t size) {
  writer w = {.table = table, .at = to, .end = to + size};
  kin__text_members members = {.text = labels};
  while (!w.is_full && kin__text_next(&members)) {
    kin_str value;
    if (!kin__text_string(members.value, &value) || value.length > UINT16_MAX ||
        members.name.length > UINT16_MAX) {
      return 0;
    }
    write_string(&w, members.name);
    write_string(&w, value);
  }
  return w.is_full ? 0 : (size_t)(w.at - to);
}

/* Reads the string at *at and moves *at behind it. */
static kin_str read_string(const kin__label_table *table, kin_str codes,
                           size_t *at) {
  unsigned first = (unsigned char)codes.data[(*at)++];
  if (first < LONG_CODE) {
    return string_at(table, first);
  }
  if (first == LONG_RAW) {
    uint16_t length;
    memcpy(&length, codes.data + *at, sizeof length);
    *at += sizeof length + length;
    return kin__str(codes.data + *at - length, length);
  }
  unsigned second = (unsigned char)codes.data[(*at)++];
  if (first < SHORT_RAW) {
    return string_at(table, LONG_CODE + ((first - LONG_CODE) << 8) + second);
  }
  *at += second;
  return kin__str(codes.data + *at - second, second);
}

bool kin__label_table_find(const kin__label_table *table, kin_str codes,
                           kin_str name, kin_str *value) {
  size_t at = 0;
  while (at < codes.length) {
    kin_str found = read_string(table, codes, &at);
    kin_str its_value = read_string(table, codes, &at);
    if (kin__str_equal(found, name)) {
      *value = its_value;
      return true;
    }
  }
  return false;
}

static size_t write_at(char *to, size_t at, const char *bytes, size_t length) {
  if (to != NULL && length > 0) {
    memcpy(to + at, bytes, length);
  }
  return at + length;
}

size_t kin__label_table_write(const kin__label_table *table, kin_str codes,
                              char *to) {
  size_t length = 0;
  size_t at = 0;
  while (at < codes.length) {
    kin_str name = read_string(table, codes, &at);
    kin_str value = read_string(table, codes, &at);
    length = write_at(to, length, length == 0 ? "{\"" : ",\"", 2);
    length = write_at(to, length, name.data, name.length);
    length = write_at(to, length, "\":\"", 3);
    length = write_at(to, length, value.data, value.length);
    length = write_at(to, length, "\"", 1);
  }
  return write_at(to, length, "}", 1);
}

static bool skip_past(kin_str *left, kin_str s) {
  if (left->length < s.length ||
      (s.length > 0 && memcmp(left->data, s.data, s.length) != 0)) {
    return false;
  }
  *left = kin__str_from(*left, s.length);
  return true;
}

bool kin__label_table_says(const kin__label_table *table, kin_str codes,
                           kin_str labels) {
  size_t at = 0;
  kin_str before = KIN__LIT("{\"");
  while (at < codes.length) {
    kin_str name = read_string(table, codes, &at);
    kin_str value = read_string(table, codes, &at);
    if (!skip_past(&labels, before) || !skip_past(&labels, name) ||
        !skip_past(&labels, KIN__LIT("\":\"")) || !skip_past(&labels, value) ||
        !skip_past(&labels, KIN__LIT("\""))) {
      return false;
    }
    before = KIN__LIT(",\"");
  }
  return kin__str_equal(labels, KIN__LIT("}"));
}
