/* SPDX-License-Identifier: MIT */

/* Edits along JSON Pointers. A pointer here is the rest of one: "" or
 * "/token...". Tokens are compared in their escaped form, so only the name of a
 * new member is copied.
 *
 * Recursion is as deep as the longest pointer, which has at most
 * KIN__JSON_POINTER_TOKENS tokens. */
#include <stdio.h>
#include <string.h>

#include <kin/error.h>

#include "base/sort.h"
#include "base/str.h"
#include "object/edit.h"
#include "object/json.h"

typedef kin__edit_node node;

/* Tokens. */

static const char *after_token(const char *pointer) {
  return pointer + 1 + strcspn(pointer + 1, "/");
}

static bool is_wildcard(const char *pointer) {
  return pointer[1] == '*' && (pointer[2] == '/' || pointer[2] == '\0');
}

static bool has_wildcard(const char *pointer) {
  while (*pointer != '\0' && !is_wildcard(pointer)) {
    pointer = after_token(pointer);
  }
  return *pointer != '\0';
}

/* Compares the first token with `name`, in the order of tokens as they are
 * written: with ~1 for a slash and ~0 for a tilde. */
static int compare_token(const char *pointer, kin_str name) {
  const unsigned char *at = (const unsigned char *)pointer + 1;
  for (size_t i = 0; i < name.length; i++, at++) {
    unsigned char c = (unsigned char)name.data[i];
    if (*at == '\0' || *at == '/') {
      return -1;
    }
    if (c == '~' || c == '/') {
      if (*at != '~') {
        return *at < '~' ? -1 : 1;
      }
      at++;
      c = c == '~' ? '0' : '1';
    }
    if (*at != c) {
      return *at < c ? -1 : 1;
    }
  }
  return *at == '\0' || *at == '/' ? 0 : 1;
}

static bool token_is(const char *pointer, kin_str name) {
  return compare_token(pointer, name) == 0;
}

/* Reads the first token as the index of an element. */
static bool token_index(const char *pointer, size_t *index) {
  const char *end = after_token(pointer);
  kin_str token = kin__str(pointer + 1, (size_t)(end - pointer) - 1);
  uint64_t value;
  if (!kin__json_token_to_element(token, &value) || value > UINT32_MAX) {
    return false;
  }
  *index = (size_t)value;
  return true;
}

static bool is_named(const kin__edit_walk *w, const char *pointer) {
  if (is_wildcard(pointer)) {
    return true;
  }
  size_t index;
  return kin__edit_is_object(w->parent)
             ? token_is(pointer, w->name)
             : token_index(pointer, &index) && index == w->index;
}

static bool is_container(const node *n) {
  return kin__edit_is_object(n) || kin__edit_is_array(n);
}

/* A walk to the children that the first token names. The ending begins behind
 * all that is written differently in the text: a name with a quote or backslash
 * is written with escapes. */
static kin__edit_walk walk_to(node *parent, const char *pointer) {
  kin__edit_walk w = kin__edit_walk_of(parent);
  if (is_wildcard(pointer)) {
    return w;
  }
  if (kin__edit_is_array(parent)) {
    w.target = token_index(pointer, &w.target) ? w.target : SIZE_MAX;
  } else {
    const char *end = after_token(pointer);
    const char *begin = end;
    while (strchr("/~\"\\", begin[-1]) == NULL) {
      begin--;
    }
    begin += begin[-1] == '~';
    w.ending = kin__str(begin, (size_t)(end - begin));
  }
  return w;
}

/* Removing. */

static int remove_below(kin__edit *edit, node *parent, const char *pointer) {
  const char *rest = after_token(pointer);
  kin__edit_walk w = walk_to(parent, pointer);
  int err;
  while ((err = kin__edit_walk_next(edit, &w)) == 0 && w.child != NULL) {
    if (!is_named(&w, pointer)) {
      continue;
    }
    if (*rest == '\0') {
      err = kin__edit_walk_remove(edit, &w);
    } else if (is_container(w.child)) {
      err = kin__edit_walk_take(edit, &w);
      err = err == 0 ? remove_below(edit, w.child, rest) : err;
    }
    bool is_only = kin__edit_is_array(parent) && !is_wildcard(pointer);
    if (err != 0 || is_only) {
      return err;
    }
  }
  return err;
}

int kin__edit_remove(kin__edit *edit, const char *pointer) {
  return remove_below(edit, edit->root, pointer);
}

/* Keeping. */

/* Pointers in order, so those that share their first tokens are side by side:
 * the shared part of pointers[begin, end) is their first `at` bytes. */
typedef struct range {
  uint32_t begin;
  uint32_t end;
  uint32_t at;
} range;

/* The order of whole pointers: a token comes before all that it begins. */
static int compare_pointers(const char *a, const char *b) {
  while (*a == *b && *a != '\0') {
    a++;
    b++;
  }
  int ranks[] = {*a == '/' ? 1 : (unsigned char)*a + (*a != '\0'),
                 *b == '/' ? 1 : (unsigned char)*b + (*b != '\0')};
  return (ranks[0] > ranks[1]) - (ranks[0] < ranks[1]);
}

static bool is_less(void *ctx, size_t a, size_t b) {
  const char **pointers = ctx;
  return compare_pointers(pointers[a], pointers[b]) < 0;
}

static void swap(void *ctx, size_t a, size_t b) {
  const char **pointers = ctx;
  const char *moved = pointers[a];
  pointers[a] = pointers[b];
  pointers[b] = moved;
}

/* Appends the part of a range whose next token is `name`. Returns whether a
 * pointer ends with that token. */
static bool narrow(const char *const *pointers, const range *whole,
                   kin_str name, range *parts, size_t *count) {
  uint32_t bounds[2];
  for (int i = 0; i < 2; i++) {
    uint32_t low = whole->begin;
    uint32_t high = whole->end;
    while (low < high) {
      uint32_t middle = low + (high - low) / 2;
      bool is_before = compare_token(pointers[middle] + whole->at, name) < i;
      low = is_before ? middle + 1 : low;
      high = is_before ? high : middle;
    }
    bounds[i] = low;
  }
  if (bounds[0] == bounds[1]) {
    return false;
  }
  const char *first = pointers[bounds[0]];
  const char *rest = after_token(first + whole->at);
  parts[(*count)++] = (range){bounds[0], bounds[1], (uint32_t)(rest - first)};
  return *rest == '\0';
}

/* The parts of the ranges that begin with the current child: *count of them.
 * Returns whether a pointer ends there, so that the whole child is named. */
static bool ranges_into(const kin__edit_walk *w, const char *const *pointers,
                        const range *ranges, size_t range_count, range *parts,
                        size_t *count) {
  char digits[24];
  kin_str name = w->name;
  if (!kin__edit_is_object(w->parent)) {
    name = kin__str(digits,
                    (size_t)snprintf(digits, sizeof digits, "%zu", w->index));
  }
  bool is_whole = false;
  *count = 0;
  for (size_t i = 0; i < range_count && !is_whole; i++) {
    is_whole = narrow(pointers, &ranges[i], KIN__LIT("*"), parts, count) ||
               (!token_is("/*", name) &&
                narrow(pointers, &ranges[i], name, parts, count));
  }
  return is_whole;
}

/* No pointer may be "". `parts` has room for a range of each pointer, once for
 * each token of the longest one. So a container costs no memory for each pointer
 * that leads into it. */
static int keep_below(kin__edit *edit, node *parent,
                      const char *const *pointers, const range *ranges,
                      size_t range_count, range *parts) {
  kin__edit_walk w = kin__edit_walk_of(parent);
  int err;
  while ((err = kin__edit_walk_next(edit, &w)) == 0 && w.child != NULL) {
    size_t count;
    bool is_whole =
        ranges_into(&w, pointers, ranges, range_count, parts, &count);
    if (!is_whole && (count == 0 || !is_container(w.child))) {
      err = kin__edit_walk_remove(edit, &w);
    } else if (!is_whole) {
      err = kin__edit_walk_take(edit, &w);
      err = err == 0 ? keep_below(edit, w.child, pointers, parts, count,
                                  parts + count)
                     : err;
    }
    if (err != 0) {
      return err;
    }
  }
  return err;
}

static size_t count_tokens(const char *pointer) {
  size_t count = 0;
  for (; *pointer != '\0'; pointer = after_token(pointer)) {
    count++;
  }
  return count;
}

int kin__edit_keep(kin__edit *edit, const char **pointers, size_t count) {
  size_t longest = 0;
  for (size_t i = 0; i < count; i++) {
    size_t tokens = count_tokens(pointers[i]);
    if (tokens == 0) {
      return 0;
    }
    longest = tokens > longest ? tokens : longest;
  }
  range *parts = kin__edit_alloc(edit, longest * count * sizeof *parts);
  if (parts == NULL) {
    return KIN_ENOMEM;
  }
  kin__sort(
      &(kin__row){.ctx = (void *)pointers, .is_less = is_less, .swap = swap},
      count);
  range all = {0, (uint32_t)count, 0};
  return keep_below(edit, edit->root, pointers, &all, 1, parts);
}

/* Setting. */

static int set_below(kin__edit *edit, node *n, const char *pointer,
                     kin_str text);

/* Adds a missing child: the value itself, or an object on the way to it.
 * `index` is the number of children. */
static int add_child(kin__edit *edit, node *parent, const char *pointer,
                     size_t index, kin_str text) {
  const char *rest = after_token(pointer);
  size_t length = (size_t)(rest - pointer) - 1;
  size_t at;
  if (kin__edit_is_array(parent) && !(length == 1 && pointer[1] == '-')) {
    if (!token_index(pointer, &at)) {
      return KIN_ETYPE;
    }
    if (at != index) {
      return KIN_ENOENT;
    }
  }
  char *name = kin__edit_alloc(edit, length);
  if (name == NULL) {
    return KIN_ENOMEM;
  }
  size_t written =
      kin__json_token_unescape(name, kin__str(pointer + 1, length));
  bool is_last = *rest == '\0';
  node *made = kin__edit_append(edit, parent, kin__str(name, written),
                                is_last ? text : KIN__LIT("{}"));
  if (made == NULL) {
    return KIN_ENOMEM;
  }
  return is_last ? 0 : set_below(edit, made, rest, text);
}

static int set_below(kin__edit *edit, node *n, const char *pointer,
                     kin_str text) {
  if (*pointer == '\0') {
    return kin__edit_replace(edit, n, text);
  }
  if (kin__str_equal(n->text, KIN__LIT("null"))) {
    if (has_wildcard(pointer)) {
      return 0;
    }
    int err = kin__edit_replace(edit, n, KIN__LIT("{}"));
    if (err != 0) {
      return err;
    }
  }
  if (!is_container(n)) {
    return KIN_ETYPE;
  }
  bool is_all = is_wildcard(pointer);
  kin__edit_walk w = walk_to(n, pointer);
  int err;
  while ((err = kin__edit_walk_next(edit, &w)) == 0 && w.child != NULL) {
    if (!is_named(&w, pointer)) {
      continue;
    }
    err = kin__edit_walk_take(edit, &w);
    err = err == 0 ? set_below(edit, w.child, after_token(pointer), text) : err;
    if (err != 0 || !is_all) {
      return err;
    }
  }
  return err != 0 || has_wildcard(pointer)
             ? err
             : add_child(edit, n, pointer, w.index, text);
}

int kin__edit_set(kin__edit *edit, const char *pointer, kin_str text) {
  return set_below(edit, edit->root, pointer, text);
}
