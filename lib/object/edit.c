/* SPDX-License-Identifier: MIT */

/* The tree: how it grows and is written. edit_path.c walks the tree along
 * pointers.
 *
 * A node is a value. It begins as a slice of the text. It is split only when
 * one of its children is looked up, and only up to that child. So an edit reads
 * the text up to its place; the rest is skipped at the scanner's speed and
 * copied in one piece. The end of a container is not searched before its next
 * sibling is needed, so nothing is read twice on the way down.
 *
 * Invariants:
 *  - a node with split > 0 is a container. Its children are those found in
 *    text[0, split), without the removed ones, and those that were added;
 *  - children are added only when is_split_whole, and then none is open;
 *  - head and text of a child that was split off adjoin; so do its neighbours
 *    but for white space and a comma. So the writer joins adjacent runs and
 *    copies each at once;
 *  - an open child is the last of its parent. Writing its text to the end
 *    writes the rest of the parent, too. */
#include "object/edit.h"

#include <string.h>

#include <kin/error.h>

#include "base/alloc.h"
#include "base/str.h"
#include "object/text.h"

enum {
  CHUNK_BYTES = 4096,
  ALIGNMENT = _Alignof(kin__edit_node),
};

typedef struct kin__edit_chunk {
  struct kin__edit_chunk *next;
  size_t size; /* of bytes */
  size_t used;
  _Alignas(kin__edit_node) char bytes[];
} chunk;

typedef kin__edit_node node;

/* Memory. */

void kin__edit_init(kin__edit *edit, const kin_allocator *allocator) {
  *edit = (kin__edit){.allocator = allocator, .scanner = kin__scanner_best()};
}

/* Frees all chunks but the last, which is the oldest and of the usual size. */
static void free_newer_chunks(kin__edit *edit) {
  while (edit->chunks != NULL && edit->chunks->next != NULL) {
    chunk *c = edit->chunks;
    edit->chunks = c->next;
    kin__free(edit->allocator, c);
  }
}

void kin__edit_reset(kin__edit *edit) {
  free_newer_chunks(edit);
  if (edit->chunks != NULL) {
    edit->chunks->used = 0;
  }
  edit->root = NULL;
  edit->is_changed = false;
}

void kin__edit_finish(kin__edit *edit) {
  free_newer_chunks(edit);
  kin__free(edit->allocator, edit->chunks);
  edit->chunks = NULL;
  edit->root = NULL;
}

static chunk *add_chunk(kin__edit *edit, size_t size) {
  chunk *c = kin__malloc(edit->allocator, sizeof *c + size);
  if (c != NULL) {
    *c = (chunk){.next = edit->chunks, .size = size};
    edit->chunks = c;
  }
  return c;
}

void *kin__edit_alloc(kin__edit *edit, size_t size) {
  if (size > SIZE_MAX / 2) {
    return NULL;
  }
  size = (size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
  chunk *c = edit->chunks;
  if (c == NULL) {
    c = add_chunk(edit, CHUNK_BYTES);
  }
  if (c != NULL && c->size - c->used < size) {
    c = add_chunk(edit, size > CHUNK_BYTES ? size : CHUNK_BYTES);
  }
  if (c == NULL) {
    return NULL;
  }
  void *taken = c->bytes + c->used;
  c->used += size;
  return taken;
}

kin_str kin__edit_quote(kin__edit *edit, kin_str plain) {
  char *text = kin__edit_alloc(edit, kin__text_quoted_bound(plain.length));
  return text != NULL ? kin__str(text, kin__text_quote(text, plain))
                      : kin__str(NULL, 0);
}

static node *new_node(kin__edit *edit, node *parent, kin_str text) {
  node *n = kin__edit_alloc(edit, sizeof *n);
  if (n != NULL) {
    *n = (node){.parent = parent, .text = text};
  }
  return n;
}

int kin__edit_begin(kin__edit *edit, kin_str text) {
  kin__edit_reset(edit);
  edit->root = new_node(edit, NULL, text);
  return edit->root != NULL ? 0 : KIN_ENOMEM;
}

/* Reading. Offsets are into a container's text. 0 means none: a child never
 * begins there. */

static size_t skip_string(const kin__edit *edit, kin_str text, size_t at) {
  at++;
  while (at < text.length) {
    at += edit->scanner->find_special(text.data + at, text.length - at);
    char c = kin__str_byte(text, at);
    if (c == '"') {
      return at + 1;
    }
    if (c != '\\') {
      return 0;
    }
    at += 2;
  }
  return 0;
}

/* Steps from anywhere in a container to behind its closing bracket. */
static size_t skip_out(const kin__edit *edit, kin_str text, size_t at) {
  kin__skip skip = {.depth = 1, .max_depth = UINT32_MAX};
  size_t used = 0;
  return kin__scanner_skip(edit->scanner, &skip, text.data + at,
                           text.length - at, &used) == KIN__SKIP_DONE
             ? at + used
             : 0;
}

static size_t skip_primitive(kin_str text, size_t at) {
  size_t begin = at;
  while (at < text.length && strchr(",]} \t\r\n", text.data[at]) == NULL) {
    at++;
  }
  return at > begin ? at : 0;
}

bool kin__edit_is_object(const node *n) {
  return n->text.length > 0 && n->text.data[0] == '{';
}

bool kin__edit_is_array(const node *n) {
  return n->text.length > 0 && n->text.data[0] == '[';
}

/* Sets head and name of the member that begins at `at`. Returns the offset of
 * its value. Errors: KIN_EJSON, KIN_ENOMEM. */
static int read_head(kin__edit *edit, kin_str text, size_t at, node *member,
                     size_t *value) {
  size_t end = kin__str_byte(text, at) == '"' ? skip_string(edit, text, at) : 0;
  size_t colon = end > 0 ? kin__text_skip_space(text, end) : 0;
  if (end == 0 || kin__str_byte(text, colon) != ':') {
    return KIN_EJSON;
  }
  *value = kin__text_skip_space(text, colon + 1);
  member->head = kin__str(text.data + at, *value - at);
  member->name = kin__str(text.data + at + 1, end - at - 2);
  if (!kin__text_is_escaped(member->name)) {
    return 0;
  }
  kin_str raw = member->name;
  char *name = kin__edit_alloc(edit, raw.length);
  if (name == NULL) {
    return KIN_ENOMEM;
  }
  member->name.data = name;
  return kin__text_unescape(name, &member->name.length, raw);
}

int kin__edit_close(kin__edit *edit, node *n) {
  node *parent = n->parent;
  if (parent == NULL || parent->open != n) {
    return 0;
  }
  int err = n->open != NULL ? kin__edit_close(edit, n->open) : 0;
  if (err != 0) {
    return err;
  }
  size_t end = n->is_split_whole
                   ? n->split + 1
                   : skip_out(edit, n->text, n->split > 0 ? n->split : 1);
  if (end == 0) {
    return KIN_EJSON;
  }
  n->text.length = end;
  parent->split = (size_t)(n->text.data - parent->text.data) + end;
  parent->open = NULL;
  return 0;
}

/* Sets *at to the offset of the next child, or to 0 and is_split_whole at the
 * closing bracket. */
static int find_next(kin__edit *edit, node *n, size_t *at) {
  kin_str text = n->text;
  int err = n->open != NULL ? kin__edit_close(edit, n->open) : 0;
  if (err != 0) {
    return err;
  }
  bool is_first = n->split == 0;
  *at = kin__text_skip_space(text, is_first ? 1 : n->split);
  if (kin__str_byte(text, *at) == (text.data[0] == '{' ? '}' : ']')) {
    n->tail = is_first ? &n->children : n->tail;
    n->split = *at;
    n->is_split_whole = true;
    *at = 0;
    return kin__edit_close(edit, n);
  }
  if (!is_first && kin__str_byte(text, *at) != ',') {
    return KIN_EJSON;
  }
  *at = is_first ? *at : kin__text_skip_space(text, *at + 1);
  return 0;
}

/* Makes the value at `at` the child's text. A container is left open. */
static int take_value(kin__edit *edit, node *n, size_t at, node *child) {
  kin_str text = n->text;
  size_t end;
  switch (kin__str_byte(text, at)) {
  case '{':
  case '[':
    n->open = child;
    n->split = at;
    child->text = kin__str_from(text, at);
    return 0;
  case '"':
    end = skip_string(edit, text, at);
    break;
  default:
    end = skip_primitive(text, at);
    break;
  }
  n->split = end;
  child->text = kin__str(text.data + at, end - at);
  return end > 0 ? 0 : KIN_EJSON;
}

int kin__edit_split(kin__edit *edit, node *n, node **child) {
  size_t at;
  *child = NULL;
  if (n->is_split_whole ||
      (!kin__edit_is_object(n) && !kin__edit_is_array(n))) {
    return 0;
  }
  node **tail = n->split == 0 ? &n->children : n->tail;
  int err = find_next(edit, n, &at);
  if (err != 0 || n->is_split_whole) {
    return err;
  }
  node *made = new_node(edit, n, kin__str(NULL, 0));
  if (made == NULL) {
    return KIN_ENOMEM;
  }
  if (kin__edit_is_object(n)) {
    err = read_head(edit, n->text, at, made, &at);
  }
  if (err == 0) {
    err = take_value(edit, n, at, made);
  }
  if (err == 0) {
    *tail = made;
    n->tail = &made->next;
    *child = made;
  }
  return err;
}

int kin__edit_child(kin__edit *edit, node *n, kin_str name, node **child) {
  *child = NULL;
  if (!kin__edit_is_object(n)) {
    return 0;
  }
  for (node *c = n->children; c != NULL; c = c->next) {
    if (kin__str_equal(c->name, name)) {
      *child = c;
      return 0;
    }
  }
  int err;
  do {
    err = kin__edit_split(edit, n, child);
  } while (err == 0 && *child != NULL && !kin__str_equal((*child)->name, name));
  return err;
}

/* Changing. */

int kin__edit_replace(kin__edit *edit, node *n, kin_str text) {
  int err = kin__edit_close(edit, n);
  if (err != 0) {
    return err;
  }
  n->text = text;
  n->open = NULL;
  n->children = NULL;
  n->split = 0;
  n->is_split_whole = false;
  edit->is_changed = true;
  return 0;
}

node *kin__edit_append(kin__edit *edit, node *n, kin_str name, kin_str text) {
  node *made = new_node(edit, n, text);
  if (made == NULL) {
    return NULL;
  }
  if (kin__edit_is_object(n)) {
    size_t room = kin__text_quoted_bound(name.length);
    char *head = kin__edit_alloc(edit, room + 1);
    char *plain = kin__edit_alloc(edit, name.length);
    if (head == NULL || plain == NULL) {
      return NULL;
    }
    size_t length = kin__text_quote(head, name);
    head[length++] = ':';
    made->head = kin__str(head, length);
    memcpy(plain, name.data, name.length);
    made->name = kin__str(plain, name.length);
  }
  *n->tail = made;
  n->tail = &made->next;
  edit->is_changed = true;
  return made;
}

/* Writing. */

/* A run of bytes that lie next to each other and wait to be copied. */
typedef struct writer {
  kin__buf *out;
  kin__edit_places *places;
  kin_str run;
  int err;
} writer;

static void flush(writer *w) {
  if (w->err == 0) {
    w->err = kin__buf_append_str(w->out, w->run);
  }
}

static void put(writer *w, const char *data, size_t length) {
  if (length > 0 && data == w->run.data + w->run.length) {
    w->run.length += length;
  } else if (length > 0) {
    flush(w);
    w->run = kin__str(data, length);
  }
}

static size_t position(const writer *w) {
  return w->out->length + w->run.length;
}

static const char *begin_of(const node *n) {
  return n->head.length > 0 ? n->head.data : n->text.data;
}

/* The comma before `c`. If the text's own comma lies between the run and `c`,
 * and nothing else does, that comma is used: the run goes on. */
static void put_comma(writer *w, const node *parent, const node *c) {
  uintptr_t text = (uintptr_t)parent->text.data;
  uintptr_t end = (uintptr_t)w->run.data + w->run.length;
  bool is_next = end >= text && end - text < parent->text.length &&
                 (uintptr_t)begin_of(c) == end + 1 &&
                 parent->text.data[end - text] == ',';
  put(w, is_next ? w->run.data + w->run.length : ",", 1);
}

static void write_node(writer *w, const node *n);

/* Writes the part that was not split, with the closing bracket. This part
 * begins with a comma, which is skipped if no child is before it. */
static void write_rest(writer *w, const node *n, bool is_first) {
  size_t at = n->split;
  if (!n->is_split_whole && is_first) {
    at = kin__text_skip_space(n->text, at);
    at += kin__str_byte(n->text, at) == ',' ? 1 : 0;
  }
  put(w, n->text.data + at, n->text.length - at);
}

static void write_container(writer *w, const node *n) {
  put(w, n->text.data, 1);
  for (const node *c = n->children; c != NULL; c = c->next) {
    if (c != n->children) {
      put_comma(w, n, c);
    }
    put(w, c->head.data, c->head.length);
    write_node(w, c);
  }
  if (n->open == NULL) {
    write_rest(w, n, n->children == NULL);
  }
}

/* Recursion is as deep as the longest pointer. */
static void write_node(writer *w, const node *n) {
  size_t begin = position(w);
  if (n->split > 0) {
    write_container(w, n);
  } else {
    put(w, n->text.data, n->text.length);
  }
  if (n->mark != KIN__EDIT_NO_MARK) {
    w->places->begin[n->mark] = begin;
    w->places->length[n->mark] = position(w) - begin;
  }
}

int kin__edit_write(const kin__edit *edit, kin__buf *out,
                    kin__edit_places *places) {
  writer w = {.out = out, .places = places, .run = KIN__LIT("")};
  *places = (kin__edit_places){{0}, {0}};
  write_node(&w, edit->root);
  flush(&w);
  return w.err;
}
