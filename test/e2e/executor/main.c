/* SPDX-License-Identifier: MIT */
/* Carries out the scripts of `./dev e2e against-client-go` on the library:
 * reads them from the standard input, and writes to the standard output what
 * came of each operation, a line each. ../clientgo does the same on client-go.
 *
 * usage: kin-executor */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "subjects.h"

static const subject *const subjects[] = {
    &delta_subject,    &expiring_subject, &fifo_subject, &heap_subject,
    &in_order_subject, &informer_subject, &keys_subject, &lazy_subject,
    &mutation_subject, &object_subject,   &push_subject, &selector_subject,
    &store_subject,    &track_subject};

enum { MAX_WORDS = 256 };

static const subject *find(const char *name) {
  for (size_t i = 0; i < sizeof subjects / sizeof subjects[0]; i++) {
    if (strcmp(subjects[i]->name, name) == 0) {
      return subjects[i];
    }
  }
  fprintf(stderr, "no kind of script: %s\n", name);
  exit(2);
}

static words split(char *line, char *at[MAX_WORDS]) {
  words w = {0, at};
  for (char *word = strtok(line, " "); word != NULL && w.count < MAX_WORDS;
       word = strtok(NULL, " ")) {
    at[w.count++] = word;
  }
  return w;
}

static void operate(const subject *s, void *ctx, const words *line) {
  words rest = words_after(line, 1);
  text result = {0};
  text_add(&result, "");
  if (!s->run(ctx, word_raw(line, 0), &rest, &result)) {
    fprintf(stderr, "no operation of %s: %s\n", s->name, line->at[0]);
    exit(2);
  }
  puts(result.data);
  text_free(&result);
}

int main(void) {
  setvbuf(stdout, NULL, _IOLBF, 0); /* should an operation end the program */
  const subject *current = NULL;
  void *ctx = NULL;
  char *line = NULL;
  size_t capacity = 0;
  ssize_t length;
  while ((length = getline(&line, &capacity, stdin)) > 0) {
    line[length - 1] = '\0';
    if (strncmp(line, "script ", 7) == 0) {
      puts(line);
    }
    char *at[MAX_WORDS];
    words w = split(line, at);
    if (strcmp(word_raw(&w, 0), "script") == 0) {
      words options = words_after(&w, 2);
      current = find(word_raw(&w, 1));
      ctx = current->open(&options);
    } else if (strcmp(w.at[0], "end") == 0) {
      current->close(ctx);
      puts("end");
    } else {
      operate(current, ctx, &w);
    }
  }
  free(line);
  return 0;
}
