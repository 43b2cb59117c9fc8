/* SPDX-License-Identifier: MIT */
#include "discovery/parts.h"

#include <string.h>

#include <kin/error.h>

#include "base/alloc.h"
#include "base/str.h"

/* Scanned or parsed in one piece, each some 20 us. An element that is longer is
 * a part of its own. */
#define SPAN_BYTES 32768u
#define PART_BYTES 8192u

enum { NO_MEMBER = KIN__LISTS, KIND, API_VERSION };

void kin__parts_init(kin__parts *parts, const kin_allocator *allocator,
                     kin__buf *text) {
  *parts = (kin__parts){.allocator = allocator,
                        .text = *text,
                        .end = text->length,
                        .member = NO_MEMBER,
                        .part_begin = SIZE_MAX};
  kin__buf_init(text, text->allocator, text->max_length);
  kin__cursor_init(&parts->cursor, allocator, false);
}

void kin__parts_drop(kin__parts *parts, uint32_t index) {
  if (parts->docs[index] != NULL) {
    kin__json_free(parts->allocator, parts->docs[index]);
    parts->docs[index] = NULL;
  }
}

void kin__parts_finish(kin__parts *parts) {
  for (uint32_t i = 0; i < parts->count; i++) {
    kin__parts_drop(parts, i);
  }
  kin__free(parts->allocator, parts->docs);
  kin__cursor_finish(&parts->cursor);
  kin__buf_finish(&parts->text);
}

/* Gives the cursor the next bytes. Returns false at the end. */
static bool feed(kin__parts *parts) {
  size_t left = parts->end - parts->fed;
  if (left > 0) {
    size_t length = left < SPAN_BYTES ? left : SPAN_BYTES;
    kin__cursor_parse(&parts->cursor, parts->text.data + parts->fed, length);
    parts->fed += length;
    return true;
  }
  if (!parts->is_closed) {
    parts->is_closed = true;
    kin__cursor_parse(&parts->cursor, "\n", 1);
    return true;
  }
  return false;
}

/* --- The members of the document ------------------------------------------ */

static void set_member(kin__parts *parts) {
  static const char *const names[] = {[KIN__LIST_ITEMS] = "items",
                                      [KIN__LIST_VERSIONS] = "versions",
                                      [KIN__LIST_GROUPS] = "groups",
                                      [KIN__LIST_RESOURCES] = "resources",
                                      [NO_MEMBER] = "",
                                      [KIND] = "kind",
                                      [API_VERSION] = "apiVersion"};
  parts->member = NO_MEMBER;
  for (int i = 0; i < (int)(sizeof names / sizeof *names); i++) {
    bool is_same = kin__str_equal(parts->cursor.text, kin__cstr(names[i]));
    if (is_same && i != NO_MEMBER && (parts->seen & (1u << i)) == 0) {
      parts->member = i;
      parts->seen |= 1u << i;
    }
  }
  if (parts->member == KIND || parts->member == API_VERSION) {
    kin__cursor_want_string(&parts->cursor);
  }
}

static void keep_text(char *to, size_t size, kin_str text) {
  size_t length = text.length < size ? text.length : size - 1;
  if (length > 0) {
    memcpy(to, text.data, length);
  }
  to[length] = '\0';
}

static void take_string(kin__parts *parts) {
  if (parts->member == KIND) {
    keep_text(parts->kind, sizeof parts->kind, parts->cursor.text);
  } else if (parts->member == API_VERSION) {
    keep_text(parts->api_version, sizeof parts->api_version,
              parts->cursor.text);
  }
}

static void take_skipped(kin__parts *parts) {
  size_t begin = (size_t)parts->cursor.begin;
  if (parts->member < KIN__LISTS && parts->text.data[begin] == '[') {
    parts->lists[parts->member].begin = begin;
    parts->lists[parts->member].end = (size_t)parts->cursor.end;
  }
}

static int take_token(kin__parts *parts, int token) {
  if (!parts->has_root) {
    parts->has_root = token == KIN__TOKEN_OBJECT;
    return parts->has_root ? 1 : KIN_EUNEXPECTED;
  }
  switch (token) {
  case KIN__TOKEN_NAME:
    set_member(parts);
    return 1;
  case KIN__TOKEN_OBJECT:
  case KIN__TOKEN_ARRAY:
    kin__cursor_skip(&parts->cursor, 1);
    return 1;
  case KIN__TOKEN_STRING:
    take_string(parts);
    return 1;
  case KIN__TOKEN_SKIPPED:
    take_skipped(parts);
    return 1;
  default:
    return 1;
  }
}

int kin__parts_scan(kin__parts *parts) {
  int token = kin__cursor_next(&parts->cursor);
  if (token != KIN__TOKEN_MORE) {
    return token < 0 ? token : take_token(parts, token);
  }
  if (feed(parts)) {
    return 1;
  }
  return kin__cursor_is_complete(&parts->cursor) ? 0 : KIN_EJSON;
}

/* --- One list ------------------------------------------------------------- */

void kin__parts_choose(kin__parts *parts, kin__parts_list list) {
  kin__cursor_reset(&parts->cursor);
  parts->fed = parts->offset = parts->lists[list].begin;
  parts->end = parts->lists[list].end;
  parts->is_closed = true;
}

/* The bytes before and behind a part become the brackets of an array; both are
 * in the list's own text. The cursor may still have to read the second. Errors:
 * KIN_EJSON, KIN_ENOMEM. */
static int parse_part(kin__parts *parts) {
  if (parts->part_begin == SIZE_MAX) {
    return 0;
  }
  char *before = parts->text.data + parts->part_begin - 1;
  char *behind = parts->text.data + parts->part_end;
  const char kept[2] = {*before, *behind};
  int err = kin__reserve_one(parts->allocator, &parts->docs, parts->count,
                             &parts->capacity, sizeof(struct yyjson_doc *));
  if (err != 0) {
    return err;
  }
  *before = '[';
  *behind = ']';
  err = kin__json_read(&parts->docs[parts->count], parts->allocator,
                       kin__str(before, (size_t)(behind - before) + 1));
  *before = kept[0];
  *behind = kept[1];
  parts->count += err == 0;
  parts->part_begin = SIZE_MAX;
  return err == KIN_ETRUNCATED ? KIN_EJSON : err;
}

/* An element of the list has ended. */
static int take_element(kin__parts *parts) {
  if (parts->part_begin == SIZE_MAX) {
    parts->part_begin = (size_t)(parts->cursor.begin + parts->offset);
  }
  parts->part_end = (size_t)(parts->cursor.end + parts->offset);
  if (parts->part_end - parts->part_begin < PART_BYTES) {
    return 1;
  }
  int err = parse_part(parts);
  return err == 0 ? 1 : err;
}

int kin__parts_cut(kin__parts *parts) {
  int token = kin__cursor_next(&parts->cursor);
  switch (token) {
  case KIN__TOKEN_MORE:
    return feed(parts) ? 1 : parse_part(parts);
  case KIN__TOKEN_ARRAY:
  case KIN__TOKEN_OBJECT:
    if (parts->cursor.depth > 1) {
      kin__cursor_skip(&parts->cursor, 1);
    }
    return 1;
  case KIN__TOKEN_SKIPPED:
  case KIN__TOKEN_STRING:
  case KIN__TOKEN_PRIMITIVE:
    return take_element(parts);
  default:
    return token < 0 ? token : 1;
  }
}
