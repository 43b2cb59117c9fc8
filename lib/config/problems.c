/* SPDX-License-Identifier: MIT */
#include "config/problems.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"

#define FILE_BYTES 300
#define LINE_BYTES 1024
#define LAST_LINE "%zu more problems"
/* Room for the last line. */
#define RESERVE (sizeof LAST_LINE + 24)

void kin__problems_init(kin__problems *problems) {
  problems->text[0] = '\0';
  problems->length = 0;
  problems->told = 0;
  problems->count = 0;
}

/* The end of a long path says more than its beginning. */
static void put_place(char *line, size_t size, kin__config_place place) {
  line[0] = '\0';
  if (place.file == NULL) {
    return;
  }
  size_t length = strlen(place.file);
  bool is_long = length > FILE_BYTES;
  const char *file = is_long ? place.file + (length - FILE_BYTES) : place.file;
  const char *dots = is_long ? "..." : "";
  if (place.line == 0) {
    snprintf(line, size, "%s%s: ", dots, file);
  } else {
    snprintf(line, size, "%s%s:%u: ", dots, file, (unsigned)place.line);
  }
}

static void append(kin__problems *problems, const char *line) {
  size_t length = strlen(line);
  size_t newline = problems->length > 0;
  size_t room = sizeof problems->text - problems->length;
  if (newline + length + RESERVE >= room) {
    return;
  }
  if (newline) {
    problems->text[problems->length++] = '\n';
  }
  memcpy(problems->text + problems->length, line, length + 1);
  problems->length += length;
  problems->told++;
}

/* The last line is not a part of `length`: the next problem overwrites it. */
static void count_rest(kin__problems *problems) {
  if (problems->count > problems->told) {
    size_t room = sizeof problems->text - problems->length;
    snprintf(problems->text + problems->length, room, "\n" LAST_LINE,
             problems->count - problems->told);
  }
}

void kin__problems_add(kin__problems *problems, kin__config_place place,
                       const char *field, const char *format, ...) {
  char line[LINE_BYTES];
  put_place(line, sizeof line, place);
  size_t used = strlen(line);
  if (field[0] != '\0') {
    snprintf(line + used, sizeof line - used, "%.200s: ", field);
    used = strlen(line);
  }
  va_list args;
  va_start(args, format);
  vsnprintf(line + used, sizeof line - used, format, args);
  va_end(args);
  kin__put_on_one_line(line);
  /* Once a problem has no line, later ones have none, too. */
  if (problems->told == problems->count) {
    append(problems, line);
  }
  problems->count++;
  count_rest(problems);
}
