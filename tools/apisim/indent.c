/* SPDX-License-Identifier: MIT */
#include "indent.h"

static void newline(indenter *in, buf *to) {
  buf_putc(to, '\n');
  for (int i = 0; i < in->depth; i++) {
    buf_append(to, "  ", 2);
  }
}

static void indent_structure(indenter *in, buf *to, char c) {
  bool closes = c == '}' || c == ']';
  if (in->opened && !closes) {
    newline(in, to);
  }
  if (closes) {
    in->depth--;
    if (!in->opened) {
      newline(in, to);
    }
  }
  in->opened = c == '{' || c == '[';
  if (in->opened) {
    in->depth++;
  }
  buf_putc(to, c);
  if (c == ',') {
    newline(in, to);
  } else if (c == ':') {
    buf_putc(to, ' ');
  }
}

void indent_json(indenter *in, buf *to, const char *ptr, size_t len) {
  for (size_t i = 0; i < len; i++) {
    char c = ptr[i];
    if (in->in_string) {
      in->in_string = in->escaped || c != '"';
      in->escaped = !in->escaped && c == '\\';
      buf_putc(to, c);
    } else if (c == '"') {
      if (in->opened) {
        newline(in, to);
        in->opened = false;
      }
      in->in_string = true;
      in->escaped = false;
      buf_putc(to, c);
    } else if (c != '\n') {
      indent_structure(in, to, c);
    }
  }
}
