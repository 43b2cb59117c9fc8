/* SPDX-License-Identifier: MIT */

/* Writing the tree. Bytes that lie next to each other are copied at once. */
#include "object/edit.h"

#include "base/str.h"
#include "object/text.h"

typedef kin__edit_node node;

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

/* The comma before `c`. If the text's own comma lies between the run and `c`,
 * and nothing else does, that comma is used: the run goes on. */
static void put_comma(writer *w, const node *parent, const node *c) {
  uintptr_t text = (uintptr_t)parent->text.data;
  uintptr_t end = (uintptr_t)w->run.data + w->run.length;
  bool is_next = end >= text && end - text < parent->text.length &&
                 (uintptr_t)kin__edit_first(c) == end + 1 &&
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
