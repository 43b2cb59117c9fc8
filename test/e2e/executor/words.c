/* SPDX-License-Identifier: MIT */
#include "words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void malformed(const char *what) {
  fprintf(stderr, "malformed script: %s\n", what);
  exit(2);
}

void *must_allocate(size_t size) {
  void *memory = calloc(1, size);
  if (memory == NULL) {
    fprintf(stderr, "no memory\n");
    exit(2);
  }
  return memory;
}

const char *word_raw(const words *line, size_t i) {
  if (i >= line->count) {
    malformed("a word is missing");
  }
  return line->at[i];
}

static unsigned hex_digit(char c) {
  const char *digits = "0123456789ABCDEF";
  const char *at = c != '\0' ? strchr(digits, c) : NULL;
  if (at == NULL) {
    malformed("% without two digits");
  }
  return (unsigned)(at - digits);
}

static void decode(char *word) {
  char *to = word;
  if (strcmp(word, "%") == 0) {
    word++;
  }
  while (*word != '\0') {
    if (*word == '%') {
      unsigned high = hex_digit(word[1]);
      *to++ = (char)(high * 16 + hex_digit(word[2]));
      word += 3;
    } else {
      *to++ = *word++;
    }
  }
  *to = '\0';
}

const char *word_text(const words *line, size_t i) {
  word_raw(line, i);
  decode(line->at[i]);
  return line->at[i];
}

kin_str word_str(const words *line, size_t i) {
  const char *data = word_text(line, i);
  return (kin_str){data, strlen(data)};
}

long word_number(const words *line, size_t i) {
  char *end;
  const char *raw = word_raw(line, i);
  long value = strtol(raw, &end, 10);
  if (*end != '\0' || end == raw) {
    malformed("no number");
  }
  return value;
}

bool words_have(const words *line, const char *option) {
  for (size_t i = 0; i < line->count; i++) {
    if (strcmp(line->at[i], option) == 0) {
      return true;
    }
  }
  return false;
}

long words_option(const words *line, const char *name) {
  size_t length = strlen(name);
  for (size_t i = 0; i < line->count; i++) {
    if (strncmp(line->at[i], name, length) == 0 && line->at[i][length] == '=') {
      return strtol(line->at[i] + length + 1, NULL, 10);
    }
  }
  return 0;
}

words words_after(const words *line, size_t count) {
  count = count < line->count ? count : line->count;
  return (words){line->count - count, line->at + count};
}

void text_free(text *to) {
  free(to->data);
  *to = (text){0};
}

static void add_bytes(text *to, const char *bytes, size_t length) {
  if (to->length + length + 1 > to->capacity) {
    to->capacity = (to->length + length + 1) * 2;
    to->data = realloc(to->data, to->capacity);
    if (to->data == NULL) {
      fprintf(stderr, "no memory\n");
      exit(2);
    }
  }
  if (length > 0) {
    memcpy(to->data + to->length, bytes, length);
  }
  to->length += length;
  to->data[to->length] = '\0';
}

void text_add(text *to, const char *plain) {
  add_bytes(to, plain, strlen(plain));
}

void text_add_encoded(text *to, kin_str bytes) {
  static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
                              "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                              "._/@+-:,'()#*";
  if (bytes.length == 0) {
    text_add(to, "%");
  }
  for (size_t i = 0; i < bytes.length; i++) {
    char c = bytes.data[i];
    if (c != '\0' && strchr(plain, c) != NULL) {
      add_bytes(to, &c, 1);
    } else {
      char escaped[4];
      snprintf(escaped, sizeof escaped, "%%%02X", (unsigned)(unsigned char)c);
      add_bytes(to, escaped, 3);
    }
  }
}

void text_add_outcome(text *to, int err) {
  text_add(to, err == 0 ? "ok" : "error");
}

void text_add_bool(text *to, bool is_true) {
  text_add(to, is_true ? "true" : "false");
}

text *bag_new(bag *to) {
  if (to->count == to->capacity) {
    to->capacity = to->capacity * 2 + 8;
    to->items = realloc(to->items, to->capacity * sizeof *to->items);
    if (to->items == NULL) {
      fprintf(stderr, "no memory\n");
      exit(2);
    }
  }
  to->items[to->count] = (text){0};
  return &to->items[to->count++];
}

static int compare_texts(const void *a, const void *b) {
  return strcmp(((const text *)a)->data, ((const text *)b)->data);
}

void bag_finish(bag *from, text *to) {
  if (from->count > 0) {
    qsort(from->items, from->count, sizeof *from->items, compare_texts);
  }
  for (size_t i = 0; i < from->count; i++) {
    text_add(to, i > 0 ? " " : "");
    text_add(to, from->items[i].data);
    text_free(&from->items[i]);
  }
  free(from->items);
  *from = (bag){0};
}
