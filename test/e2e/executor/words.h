/* SPDX-License-Identifier: MIT */
#ifndef KIN_TEST_E2E_WORDS_H
#define KIN_TEST_E2E_WORDS_H

#include <stdbool.h>
#include <stddef.h>

#include <kin/delta.h>
#include <kin/object.h>
#include <kin/object_builder.h>
#include <kin/str.h>

/* What scripts and traces are written in: words with a blank between them, each
 * with its odd bytes as %XX, the empty one as %. A malformed script ends the
 * program with a message. */

/* The words of a line. */
typedef struct words {
  size_t count;
  char **at;
} words;

/* The word with that number, still encoded. */
const char *word_raw(const words *line, size_t i);
/* The same, decoded in place: once for each word. */
const char *word_text(const words *line, size_t i);
kin_str word_str(const words *line, size_t i);
long word_number(const words *line, size_t i);
/* An option of a script, or one of a join. */
bool words_have(const words *line, const char *option);
/* The number in an option NAME=NUMBER, or 0. */
long words_option(const words *line, const char *name);
/* All but the first ones. */
words words_after(const words *line, size_t count);

/* A line of the trace, or part of one. */
typedef struct text {
  char *data; /* NUL-terminated, or NULL */
  size_t length;
  size_t capacity;
} text;

void text_free(text *to);
void text_add(text *to, const char *plain);
void text_add_encoded(text *to, kin_str bytes);
void text_add_outcome(text *to, int err); /* "ok" or "error" */
void text_add_bool(text *to, bool is_true);
/* KEY@VERSION@UID@VALUES and a ' for each transform; "-" for NULL. */
void text_add_object(text *to, const kin_object *object);
void text_add_delta(text *to, const kin_delta *delta);

/* Words of which the order means nothing: they are sorted when they are added
 * to a line. */
typedef struct bag {
  text *items;
  size_t count;
  size_t capacity;
} bag;

/* A new word, to be written. Borrowed until the next one. */
text *bag_new(bag *to);
/* Writes them with blanks in between, and empties the bag. */
void bag_finish(bag *from, text *to);

/* The object of a word, with one reference. */
kin_object *word_object(const char *raw);

/* An array of objects, from the word `first` on; `count` is line->count less
 * that. */
kin_object **words_objects(const words *line, size_t first, size_t *count);
void objects_free(kin_object **objects, size_t count);

/* The transform of scripts: adds a ', and fails on the value "bad". */
int script_transform(const kin_object *in, kin_object_builder *out, void *data);

/* Calls `each` for each value of the object. */
void object_values(const kin_object *object,
                   void (*each)(void *ctx, kin_str value), void *ctx);
bool object_has_value(const kin_object *object, const char *value);

/* Never NULL. */
void *must_allocate(size_t size);

#endif /* KIN_TEST_E2E_WORDS_H */
