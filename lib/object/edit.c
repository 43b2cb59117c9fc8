/* SPDX-License-Identifier: MIT */

/* The tree: how it grows. edit_path.c walks the tree along pointers, and
 * edit_write.c writes it.
 *
 * A node is a value. It begins as a slice of the text. It is split only when
 * one of its children is looked up, and only up to that child. So an edit reads
 * the text up to its place; the rest is skipped at the scanner's speed and
 * copied in one piece. The end of a container is not searched before its next
 * sibling is needed, so nothing is read twice on the way down.
 *
 * A node takes more memory than many a value. So a walk joins the small
 * children that it passes unchanged to runs. Nodes are left for children that
 * are longer than a node, and for those that have changed. A later walk reads a
 * run's children in place, and cuts out only those that it needs as nodes. For a
 * member of a known name it searches the run's text for that name, and for an
 * element of a known index it leaves out the runs before it, since a look at
 * each child would take several times as long as a list of nodes.
 *
 * Invariants:
 *  - a node with split > 0 is a container. Its children are those found in
 *    text[0, split), without the removed ones, and those that were added. A run
 *    stands for at least one of those found;
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
#include "base/scan.h"
#include "base/str.h"
#include "object/text.h"

enum {
  CHUNK_BYTES = 4096,
  ALIGNMENT = _Alignof(kin__edit_node),
  RUN_ELEMENTS = 1024, /* of an array; a look-up reads no more of them */
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
  *edit = (kin__edit){.allocator = allocator};
  kin__buf_init(&edit->name, allocator, SIZE_MAX);
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
  edit->spare = NULL;
  edit->is_changed = false;
  kin__buf_reset(&edit->name, 0);
}

void kin__edit_finish(kin__edit *edit) {
  free_newer_chunks(edit);
  kin__free(edit->allocator, edit->chunks);
  edit->chunks = NULL;
  edit->root = NULL;
  kin__buf_finish(&edit->name);
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
  char *text = kin__edit_alloc(edit, kin__text_quoted_length(plain));
  return text != NULL ? kin__str(text, kin__text_quote(text, plain))
                      : kin__str(NULL, 0);
}

static node *new_node(kin__edit *edit, node *parent, kin_str text) {
  node *n = edit->spare;
  if (n != NULL) {
    edit->spare = n->next;
  } else {
    n = kin__edit_alloc(edit, sizeof *n);
  }
  if (n != NULL) {
    *n = (node){.parent = parent, .text = text};
  }
  return n;
}

static void recycle_children(kin__edit *edit, node *n);

static void recycle(kin__edit *edit, node *n) {
  recycle_children(edit, n);
  n->next = edit->spare;
  edit->spare = n;
}

/* Recursion is as deep as the longest pointer. */
static void recycle_children(kin__edit *edit, node *n) {
  while (n->children != NULL) {
    node *child = n->children;
    n->children = child->next;
    recycle(edit, child);
  }
}

int kin__edit_begin(kin__edit *edit, kin_str text) {
  kin__edit_reset(edit);
  edit->root = new_node(edit, NULL, text);
  return edit->root != NULL ? 0 : KIN_ENOMEM;
}

/* Reading. Offsets are into a container's text. 0 means none: a child never
 * begins there. */

bool kin__edit_is_object(const node *n) {
  return n->text.length > 0 && n->text.data[0] == '{';
}

bool kin__edit_is_array(const node *n) {
  return n->text.length > 0 && n->text.data[0] == '[';
}

/* Sets head and name of the member that begins at `at`. Returns the offset of
 * its value, or 0. */
static size_t read_head(kin_str text, size_t at, node *member) {
  size_t end = kin__str_byte(text, at) == '"' ? kin__text_skip(text, at) : 0;
  size_t colon = end > 0 ? kin__text_skip_space(text, end) : 0;
  if (end == 0 || kin__str_byte(text, colon) != ':') {
    return 0;
  }
  size_t value = kin__text_skip_space(text, colon + 1);
  member->head = kin__str(text.data + at, value - at);
  member->name = kin__str(text.data + at + 1, end - at - 2);
  return value;
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
                   : kin__text_leave(n->text, n->split > 0 ? n->split : 1);
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
static int take_value(node *n, size_t at, node *child) {
  kin_str text = n->text;
  child->text = kin__str_from(text, at);
  if (kin__edit_is_object(child) || kin__edit_is_array(child)) {
    n->open = child;
    n->split = at;
    return 0;
  }
  n->split = kin__text_skip(text, at);
  child->text.length = n->split - at;
  return n->split > 0 ? 0 : KIN_EJSON;
}

/* Splits off one more child. *child gets NULL if there is none or the value is
 * no container. */
static int split(kin__edit *edit, node *n, node **child) {
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
    at = read_head(n->text, at, made);
  }
  err = at > 0 ? take_value(n, at, made) : KIN_EJSON;
  if (err == 0) {
    *tail = made;
    n->tail = &made->next;
    *child = made;
  }
  return err;
}

/* Walking. */

/* Makes the child at `at` of the run that is next the current one. */
static int read_part(kin__edit_walk *w, size_t at) {
  kin_str text = (*w->link)->text;
  if (kin__edit_is_object(w->parent)) {
    at = read_head(text, at, &w->part);
  }
  size_t end = kin__text_skip(text, at);
  if (end == 0) {
    return KIN_EJSON;
  }
  w->part.text = kin__str(text.data + at, end - at);
  w->child = &w->part;
  return 0;
}

/* The offset of the run's first part from `at` on whose name may end with
 * w->ending; text.length if there is none. The ending is followed by a quote. If
 * the quote before is in no string and below no other bracket, both belong to
 * one string; a colon makes that a member's name. */
static size_t seek(const kin__edit_walk *w, kin_str text, size_t at) {
  kin_str name = w->ending;
  if (name.length == 0 || (*w->link)->has_escapes) {
    return at;
  }
  kin__skip skip = {.depth = 1, .max_depth = UINT64_MAX};
  const char *end = text.data + text.length;
  const char *from = text.data + at;
  const char *found = from + 1;
  while ((found = memmem(found, (size_t)(end - found), name.data,
                         name.length)) != NULL) {
    const char *quote = found;
    found += name.length;
    size_t behind = (size_t)(found - text.data);
    if (kin__str_byte(text, behind) != '"' ||
        kin__str_byte(text, kin__text_skip_space(text, behind + 1)) != ':') {
      continue;
    }
    do {
      quote--;
    } while (*quote != '"');
    size_t used;
    (void)kin__scanner_skip(kin__scanner_best(), &skip, from,
                            (size_t)(quote - from), &used);
    if (skip.in_string == 0 && skip.depth == 1) {
      return (size_t)(quote - text.data);
    }
    from = quote;
  }
  return text.length;
}

/* The offset in the run of the child after the part, or 0. */
static size_t next_part(const kin__edit_walk *w) {
  kin_str text = (*w->link)->text;
  size_t end = (size_t)(kin__edit_end(&w->part) - text.data);
  size_t comma = kin__text_skip_space(text, end);
  return comma < text.length ? kin__text_skip_space(text, comma + 1) : 0;
}

static node *add_behind(kin__edit *edit, node *run, kin_str text) {
  node *made = new_node(edit, run->parent, text);
  if (made != NULL) {
    made->next = run->next;
    run->next = made;
    if (made->next == NULL) {
      run->parent->tail = &made->next;
    }
  }
  return made;
}

/* The siblings before and behind the part stay runs. */
int kin__edit_walk_take(kin__edit *edit, kin__edit_walk *w) {
  if (w->child != &w->part) {
    return 0;
  }
  node *run = *w->link;
  size_t next = next_part(w);
  if (next > 0) {
    node *rest = add_behind(edit, run, kin__str_from(run->text, next));
    if (rest == NULL) {
      return KIN_ENOMEM;
    }
    rest->is_run = true;
    rest->has_escapes = run->has_escapes;
    rest->parts = run->parts - (w->index - w->run_index) - 1;
  }
  size_t at = (size_t)(kin__edit_first(&w->part) - run->text.data);
  if (at > 0) {
    if (add_behind(edit, run, w->part.text) == NULL) {
      return KIN_ENOMEM;
    }
    while (run->text.data[--at] != ',') {
    }
    run->text.length = at;
    run->parts = w->index - w->run_index;
    w->before = run;
    w->link = &run->next;
  }
  w->child = *w->link;
  w->part.next = w->child->next;
  *w->child = w->part;
  return 0;
}

/* Whether the closed child is worth no node: nothing in it has changed, so all
 * its children are one run, or none was looked at. */
static bool is_idle(const node *n) {
  const node *c = n->children;
  return !n->is_changed && !n->is_kept &&
         (size_t)(kin__edit_end(n) - kin__edit_first(n)) <= sizeof *n &&
         (c == NULL || (c->is_run && c->next == NULL));
}

/* Whether the child follows the run in the text, with nothing but a comma and
 * white space between them. */
static bool follows(kin_str text, const node *run, const node *child) {
  size_t at =
      kin__text_skip_space(text, (size_t)(kin__edit_end(run) - text.data));
  return kin__str_byte(text, at) == ',' &&
         text.data + kin__text_skip_space(text, at + 1) ==
             kin__edit_first(child);
}

static void unlink_child(kin__edit *edit, kin__edit_walk *w) {
  node *c = *w->link;
  *w->link = c->next;
  if (*w->link == NULL) {
    w->parent->tail = w->link;
  }
  recycle(edit, c);
}

/* Steps over the current child, or over the run that it was the last part of. */
static int pass(kin__edit *edit, kin__edit_walk *w) {
  node *c = *w->link;
  int err = kin__edit_close(edit, c);
  if (err != 0) {
    return err;
  }
  bool is_part = c->is_run || is_idle(c);
  bool has_escapes = c->has_escapes || kin__text_is_escaped(c->name);
  size_t parts = c->is_run ? c->parts : 1;
  node *run = w->before;
  bool is_joined =
      is_part && run != NULL && run->is_run &&
      (kin__edit_is_object(w->parent) || run->parts + parts <= RUN_ELEMENTS) &&
      follows(w->parent->text, run, c);
  if (is_joined) {
    run->text.length = (size_t)(kin__edit_end(c) - run->text.data);
    run->has_escapes = run->has_escapes || has_escapes;
    run->parts += parts;
    unlink_child(edit, w);
    return 0;
  }
  if (is_part) {
    recycle_children(edit, c);
    kin_str text = kin__str(kin__edit_first(c),
                            (size_t)(kin__edit_end(c) - kin__edit_first(c)));
    *c = (node){.parent = c->parent,
                .next = c->next,
                .text = text,
                .parts = parts,
                .is_run = true,
                .has_escapes = has_escapes};
  }
  w->before = c;
  w->link = &c->next;
  return 0;
}

kin__edit_walk kin__edit_walk_of(node *parent) {
  return (kin__edit_walk){
      .parent = parent, .link = &parent->children, .part = {.parent = parent}};
}

static int read_name(kin__edit *edit, kin__edit_walk *w) {
  w->name = w->child->name;
  if (!kin__text_is_escaped(w->name)) {
    return 0;
  }
  edit->name.length = 0;
  int err = kin__buf_reserve(&edit->name, w->name.length);
  if (err == 0) {
    err = kin__text_unescape(edit->name.data, &w->name.length, w->name);
    w->name.data = edit->name.data;
  }
  return err;
}

int kin__edit_walk_next(kin__edit *edit, kin__edit_walk *w) {
  int err = 0;
  size_t at = w->child == &w->part ? next_part(w) : 0;
  if (w->child != NULL) {
    err = at > 0 ? 0 : pass(edit, w);
    w->index++;
    w->child = NULL;
  }
  while (err == 0 && w->child == NULL && *w->link != NULL) {
    node *next = *w->link;
    if (!next->is_run) {
      w->child = next;
      continue;
    }
    w->run_index = at == 0 ? w->index : w->run_index;
    if (w->target > w->index && w->target - w->index >= next->parts) {
      w->index += next->parts;
      at = next->text.length;
    } else {
      at = seek(w, next->text, at);
    }
    if (at < next->text.length) {
      err = read_part(w, at);
    } else {
      err = pass(edit, w);
      at = 0;
    }
  }
  if (err == 0 && w->child == NULL) {
    err = split(edit, w->parent, &w->child);
  }
  return err == 0 && w->child != NULL ? read_name(edit, w) : err;
}

int kin__edit_walk_remove(kin__edit *edit, kin__edit_walk *w) {
  int err = kin__edit_walk_take(edit, w);
  if (err == 0) {
    err = kin__edit_close(edit, w->child);
  }
  if (err == 0) {
    unlink_child(edit, w);
    w->child = NULL;
    w->index++;
    w->parent->is_changed = true;
    edit->is_changed = true;
  }
  return err;
}

int kin__edit_child(kin__edit *edit, node *n, kin_str name, node **child) {
  *child = NULL;
  if (!kin__edit_is_object(n)) {
    return 0;
  }
  kin__edit_walk w = kin__edit_walk_of(n);
  int err;
  while ((err = kin__edit_walk_next(edit, &w)) == 0 && w.child != NULL) {
    if (kin__str_equal(w.name, name)) {
      err = kin__edit_walk_take(edit, &w);
      if (err == 0) {
        w.child->is_kept = true;
        *child = w.child;
      }
      return err;
    }
  }
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
  n->is_changed = true;
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
    if (head == NULL) {
      return NULL;
    }
    size_t length = kin__text_quote(head, name);
    made->name = kin__str(head + 1, length - 2);
    head[length++] = ':';
    made->head = kin__str(head, length);
  }
  made->is_changed = true;
  n->is_changed = true;
  *n->tail = made;
  n->tail = &made->next;
  edit->is_changed = true;
  return made;
}
