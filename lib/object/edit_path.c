/* SPDX-License-Identifier: MIT */

/* Edits along JSON Pointers. A pointer here is the rest of one: "" or
 * "/token...". Tokens are compared in their escaped form, so only the name of a
 * new member is copied.
 *
 * Recursion is as deep as the longest pointer, which has at most
 * KIN__JSON_POINTER_TOKENS tokens. */
#include <string.h>

#include <kin/error.h>

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

/* Whether the first token, with ~1 for a slash and ~0 for a tilde, is
 * `name`. */
static bool token_is(const char *pointer, kin_str name) {
  const char *at = pointer + 1;
  for (size_t i = 0; i < name.length; i++, at++) {
    char c = *at;
    if (c == '\0' || c == '/') {
      return false;
    }
    if (c == '~') {
      c = *++at == '1' ? '/' : '~';
    }
    if (c != name.data[i]) {
      return false;
    }
  }
  return *at == '\0' || *at == '/';
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

/* The rests of the pointers that begin with the current child: *count of them
 * in `rests`. *count is 0 if a pointer ends there, so that the whole child is
 * named. Returns whether any pointer begins so. */
static bool pointers_into(const kin__edit_walk *w, const char *const *pointers,
                          size_t pointer_count, const char **rests,
                          size_t *count) {
  *count = 0;
  for (size_t i = 0; i < pointer_count; i++) {
    if (!is_named(w, pointers[i])) {
      continue;
    }
    const char *rest = after_token(pointers[i]);
    if (*rest == '\0') {
      *count = 0;
      return true;
    }
    rests[(*count)++] = rest;
  }
  return *count > 0;
}

/* No pointer may be "". `rests` has room for all pointers once for each token
 * of the longest one. So a container costs no memory for each pointer that
 * leads into it. */
static int keep_below(kin__edit *edit, node *parent,
                      const char *const *pointers, size_t pointer_count,
                      const char **rests) {
  kin__edit_walk w = kin__edit_walk_of(parent);
  int err;
  while ((err = kin__edit_walk_next(edit, &w)) == 0 && w.child != NULL) {
    size_t count;
    bool is_on_the_way =
        pointers_into(&w, pointers, pointer_count, rests, &count);
    if (!is_on_the_way || (count > 0 && !is_container(w.child))) {
      err = kin__edit_walk_remove(edit, &w);
    } else if (count > 0) {
      err = kin__edit_walk_take(edit, &w);
      err = err == 0 ? keep_below(edit, w.child, rests, count, rests + count)
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

int kin__edit_keep(kin__edit *edit, const char *const *pointers, size_t count) {
  size_t longest = 0;
  for (size_t i = 0; i < count; i++) {
    size_t tokens = count_tokens(pointers[i]);
    if (tokens == 0) {
      return 0;
    }
    longest = tokens > longest ? tokens : longest;
  }
  const char **rests = kin__edit_alloc(edit, longest * count * sizeof *rests);
  return rests != NULL ? keep_below(edit, edit->root, pointers, count, rests)
                       : KIN_ENOMEM;
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
