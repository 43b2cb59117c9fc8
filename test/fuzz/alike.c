/* SPDX-License-Identifier: MIT */
#include "fuzz/alike.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"

enum {
  DEPTH_MAX = 40,
  VALUE_BYTES = 300,
  END_BYTES = 40 << 10 /* for metadata, and what closes the text */
};

typedef struct writer {
  alike *to;
  fuzz_input script;
  unsigned number;
  unsigned state;
  char closing[DEPTH_MAX]; /* brackets of the open containers */
  unsigned depth;
  bool has_child;
  bool has_metadata;
  unsigned names;
  uint32_t time; /* the last one */
} writer;

static void put(writer *w, const char *bytes, size_t length) {
  FUZZ_CHECK(length <= ALIKE_BYTES - w->to->length);
  memcpy(w->to->text + w->to->length, bytes, length);
  w->to->length += length;
}

static void put_text(writer *w, const char *text) {
  put(w, text, strlen(text));
}

__attribute__((format(printf, 2, 3))) static void
print(writer *w, const char *format, ...) {
  char text[VALUE_BYTES];
  va_list args;
  va_start(args, format);
  int length = vsnprintf(text, sizeof text, format, args);
  va_end(args);
  FUZZ_CHECK(length >= 0 && (size_t)length < sizeof text);
  put(w, text, (size_t)length);
}

static uint32_t next_random(uint32_t *seed) {
  *seed = *seed * 1664525u + 1013904223u;
  return *seed >> 8;
}

/* A seed that is the same for all objects, for the states of one, or for none
 * other. */
static uint32_t seed_of(writer *w) {
  unsigned byte = fuzz_byte(&w->script);
  uint32_t seed = byte >> 2;
  seed += (byte & 1) != 0 ? w->number * 7919u : 0;
  seed += (byte & 2) != 0 ? w->state * 104729u : 0;
  (void)next_random(&seed);
  return seed;
}

/* A byte of a string, as JSON writes it, or with an escape that it does not
 * need. */
static void put_byte(writer *w, char c, bool is_escaped) {
  unsigned char byte = (unsigned char)c;
  if (byte < 0x20 || (is_escaped && byte < 0x80)) {
    print(w, "\\u%04x", byte);
  } else if (c == '"' || c == '\\') {
    print(w, "\\%c", c);
  } else {
    put(w, byte < 0x80 ? &c : "?", 1);
  }
}

static void put_string(writer *w, const char *text, size_t length) {
  put_text(w, "\"");
  for (size_t i = 0; i < length; i++) {
    put_byte(w, text[i], false);
  }
  put_text(w, "\"");
}

/* --- Values ----------------------------------------------------------------- */

static size_t write_digits(char *to, size_t count, uint32_t seed) {
  for (size_t i = 0; i < count; i++) {
    to[i] = "0123456789abcdef"[next_random(&seed) % 16];
  }
  return count;
}

static size_t write_uuid(char to[VALUE_BYTES], uint32_t seed) {
  write_digits(to, 36, seed);
  to[8] = to[13] = to[18] = to[23] = '-';
  return 36;
}

static size_t write_address(char to[VALUE_BYTES], uint32_t seed) {
  unsigned parts[4];
  for (unsigned i = 0; i < 4; i++) {
    unsigned random = next_random(&seed);
    parts[i] = random % 5 == 0 ? random % 300 : random % 12;
  }
  return (size_t)snprintf(to, VALUE_BYTES, "%u.%u.%u.%u", parts[0], parts[1],
                          parts[2], parts[3]);
}

/* Not every one is a date. */
static size_t write_time(writer *w, char to[VALUE_BYTES], uint32_t seed) {
  uint32_t random = next_random(&seed);
  w->time = random % 3 == 0 ? random * 17u : w->time + random % 300;
  uint32_t t = w->time;
  unsigned year = random % 31 == 0 ? t % 10000 : 1968 + t / 30000000 % 140;
  return (size_t)snprintf(
      to, VALUE_BYTES, "%04u-%02u-%02uT%02u:%02u:%02u%s", year,
      1 + t / 2600000 % 12, 1 + t / 86400 % 31, t / 3600 % 24, t / 60 % 60,
      t % 60 + (random % 29 == 0 ? 1 : 0), random % 37 == 0 ? ".5Z" : "Z");
}

static size_t write_known(writer *w, char to[VALUE_BYTES], unsigned kind,
                          uint32_t seed) {
  size_t before = 0;
  switch (kind % 4) {
  case 0:
    if (seed % 3 == 0) {
      memcpy(to, "sha256:", before = 7);
    }
    return before + write_digits(to + before, 20 + seed / 3 % 130, seed);
  case 1:
    return write_uuid(to, seed);
  case 2:
    return write_address(to, seed);
  default:
    return write_time(w, to, seed);
  }
}

static void put_known(writer *w, unsigned kind, bool is_missed) {
  char text[VALUE_BYTES];
  uint32_t seed = seed_of(w);
  size_t length = write_known(w, text, kind, seed);
  if (is_missed) {
    text[next_random(&seed) % length] =
        "gAZ-.: 0f\"\\\x01\x02"[next_random(&seed) % 13];
    length -= next_random(&seed) % 4 == 0 ? 1 : 0;
  }
  put_string(w, text, length);
}

/* Like texts of people, or random letters. */
static void put_filler(writer *w, size_t length) {
  char phrase[] = "terminationMessagePath /dev/termination-log policy";
  uint32_t seed = seed_of(w);
  bool is_random = seed % 5 == 0;
  put_text(w, "\"");
  while (length > 0 && w->to->length < ALIKE_BYTES - END_BYTES) {
    size_t part = length < sizeof phrase - 1 ? length : sizeof phrase - 1;
    if (is_random) {
      write_digits(phrase, sizeof phrase - 1, next_random(&seed));
    }
    put(w, phrase, part);
    length -= part;
  }
  put_text(w, "\"");
}

/* A string of the identity that comes again, behind other bytes. */
static void put_again(writer *w) {
  unsigned byte = fuzz_byte(&w->script);
  const alike_string *s = &w->to->fields[byte % ALIKE_FIELDS];
  size_t skipped = byte / 64 < s->length ? byte / 64 : 0;
  put_string(w, s->plain + skipped, s->length - skipped);
}

/* --- Metadata --------------------------------------------------------------- */

static void put_name(writer *w, const char *name) {
  put_text(w, w->has_child ? ",\"" : "\"");
  put_text(w, name);
  put_text(w, fuzz_byte(&w->script) % 16 == 15 ? "\" : " : "\":");
  w->has_child = true;
}

static void set_field(writer *w, alike_field field, uint32_t seed) {
  alike_string *s = &w->to->fields[field];
  unsigned random = next_random(&seed);
  if (field == ALIKE_UID && random % 4 != 0) {
    s->length = write_uuid(s->plain, random);
  } else if (field == ALIKE_VERSION && random % 8 != 0) {
    s->length = (size_t)snprintf(s->plain, ALIKE_STRING, "%u", random % 100000);
  } else if (random % 16 == 1) {
    s->length =
        write_digits(s->plain, 1 + random / 16 % (ALIKE_STRING - 1), random);
  } else {
    s->length = (size_t)snprintf(s->plain, ALIKE_STRING, "web-%u-%x",
                                 random % 7, random % 99999);
  }
}

static void put_field(writer *w, alike_field field) {
  static const char *const names[] = {"name", "namespace", "uid",
                                      "resourceVersion"};
  alike_string *s = &w->to->fields[field];
  unsigned how = fuzz_byte(&w->script);
  if (how == 255 && field != ALIKE_NAME) {
    s->length = 0;
    return;
  }
  put_name(w, names[field]);
  put_text(w, "\"");
  s->at = how % 16 != 15 ? w->to->length : 0;
  for (size_t i = 0; i < s->length; i++) {
    put_byte(w, s->plain[i], s->at == 0);
  }
  put_text(w, "\"");
}

static void put_label_value(writer *w, unsigned how, uint32_t seed) {
  char digits[VALUE_BYTES];
  if (how % 32 == 31) {
    put_text(w, seed % 2 == 0 ? "1" : "{\"a\":\"b\"}");
  } else if (how % 8 == 7) {
    put_string(w, digits, write_digits(digits, seed % VALUE_BYTES, seed));
  } else if (how % 32 == 30) {
    put_text(w, "\"\\u0061\\n\"");
  } else {
    print(w, "\"value-%u\"", seed % 5);
  }
}

static void put_labels(writer *w) {
  static const char *const names[] = {"app", "track", "", "a/b", "own"};
  unsigned count = fuzz_below(&w->script, 8);
  put_name(w, "labels");
  w->to->labels = w->to->length;
  put_text(w, "{");
  for (unsigned i = 0; i < count; i++) {
    unsigned how = fuzz_byte(&w->script);
    put_text(w, i > 0 ? "," : "");
    put_text(w, how == 254 ? " " : "");
    print(w, how == 253 ? "\"\\u0061%s\":" : "\"%s\":", names[how / 8 % 5]);
    put_label_value(w, how, seed_of(w));
  }
  put_text(w, "}");
  w->to->labels_length = w->to->length - w->to->labels;
}

static void put_generate_name(writer *w) {
  const alike_string *name = &w->to->fields[ALIKE_NAME];
  put_name(w, "generateName");
  put_string(w, name->plain, name->length > 5 ? name->length - 5 : 0);
}

/* Members in any order, which the script says. */
static void put_metadata(writer *w) {
  unsigned order = fuzz_byte(&w->script);
  bool had_child = true;
  w->has_metadata = true;
  put_name(w, "metadata");
  put_text(w, "{");
  w->has_child = false;
  for (unsigned i = 0; i < ALIKE_FIELDS + 2; i++) {
    unsigned member = (i + order) % (ALIKE_FIELDS + 2);
    if (member < ALIKE_FIELDS) {
      put_field(w, (alike_field)member);
    } else if (member == ALIKE_FIELDS && order % 8 != 7) {
      put_labels(w);
    } else if (member > ALIKE_FIELDS && order / 8 % 4 != 3) {
      put_generate_name(w);
    }
  }
  put_text(w, "}");
  w->has_child = had_child;
}

/* --- The text --------------------------------------------------------------- */

static void begin_child(writer *w) {
  if (w->closing[w->depth - 1] == '}') {
    char name[24];
    snprintf(name, sizeof name, "field%u", w->names++ % 11);
    put_name(w, name);
  } else {
    put_text(w, w->has_child ? "," : "");
    w->has_child = true;
  }
}

static void open_container(writer *w, char open) {
  if (w->depth < DEPTH_MAX) {
    begin_child(w);
    put(w, &open, 1);
    w->closing[w->depth++] = open == '{' ? '}' : ']';
    w->has_child = false;
  }
}

static void close_container(writer *w) {
  put(w, &w->closing[--w->depth], 1);
  w->has_child = true;
}

static void put_status(writer *w) {
  if (w->closing[w->depth - 1] == '}' && w->depth < DEPTH_MAX) {
    put_name(w, "status");
    put_text(w, "{");
    w->closing[w->depth++] = '}';
    w->has_child = false;
  }
}

/* A byte that no JSON text has. A stream's decoder skips the byte outside of
 * strings. */
static void put_mark(writer *w) {
  static const char marks[] = "\x01\x02";
  unsigned byte = fuzz_byte(&w->script);
  put(w, &marks[byte % 2], 1);
  put(w, &"abcdefhltru"[byte / 2 % 11], 1);
}

static void put_scalar(writer *w, unsigned kind) {
  static const char *const scalars[] = {
      "true", "null", "-1.5e3", "18446744073709551616", "[]", "{}"};
  begin_child(w);
  if (kind < 4) {
    put_known(w, kind, false);
  } else if (kind == 4) {
    put_known(w, fuzz_byte(&w->script), true);
  } else if (kind == 5) {
    kin_str text = fuzz_take(&w->script, fuzz_below(&w->script, 40));
    put_string(w, text.data, text.length);
  } else if (kind == 6) {
    put_filler(w, (size_t)16 * fuzz_byte(&w->script));
  } else if (kind == 7) {
    unsigned byte = fuzz_byte(&w->script);
    put_filler(w, byte > 250 ? (size_t)byte * 512 : byte);
  } else if (kind == 8) {
    put_again(w);
  } else {
    put_text(w, scalars[seed_of(w) % 6]);
  }
}

static void put_piece(writer *w) {
  unsigned kind = fuzz_below(&w->script, 16);
  if (kind < 10) {
    put_scalar(w, kind);
  } else if (kind == 10 || kind == 11) {
    open_container(w, kind == 10 ? '{' : '[');
  } else if (kind == 12 && w->depth > 1) {
    close_container(w);
  } else if (kind == 13 && w->depth == 1 && !w->has_metadata) {
    put_metadata(w);
  } else if (kind == 14) {
    put_status(w);
  } else if (kind == 15 && fuzz_byte(&w->script) == 255) {
    put_mark(w);
  }
}

void alike_write(alike *to, kin_str script, unsigned number, unsigned state) {
  writer w = {.to = to,
              .script = {(const uint8_t *)script.data, script.length},
              .number = number,
              .state = state,
              .closing = "}",
              .depth = 1};
  memset(to, 0, offsetof(alike, text));
  for (unsigned i = 0; i < ALIKE_FIELDS; i++) {
    set_field(&w, (alike_field)i, seed_of(&w));
  }
  put_text(&w, "{");
  while (w.script.left > 0 && to->length < ALIKE_BYTES - 2 * END_BYTES) {
    put_piece(&w);
  }
  while (w.depth > 1) {
    close_container(&w);
  }
  if (!w.has_metadata) {
    put_metadata(&w);
  }
  put_text(&w, "}");
}

kin_str alike_field_of(const alike *text, alike_field field) {
  const alike_string *s = &text->fields[field];
  return kin__str(s->at > 0 ? text->text + s->at : s->plain, s->length);
}
