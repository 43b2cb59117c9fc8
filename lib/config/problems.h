/* SPDX-License-Identifier: MIT */
#ifndef KIN_CONFIG_PROBLEMS_H
#define KIN_CONFIG_PROBLEMS_H

#include <stddef.h>
#include <stdint.h>

/* The text of all problems, with its NUL. */
#define KIN__PROBLEMS_SIZE 4096u

/* Everything that is wrong with a configuration, a line each:
 *
 *     FILE:LINE: FIELD: what is wrong
 *
 * without the last newline. The text holds names and paths, never values that
 * may be secret. Lines that do not fit are only counted. */
typedef struct kin__problems {
  char text[KIN__PROBLEMS_SIZE];
  size_t length; /* of the lines, without that which counts the rest */
  size_t told;   /* problems that have a line */
  size_t count;
} kin__problems;

void kin__problems_init(kin__problems *problems);

/* Where a value comes from. */
typedef struct kin__config_place {
  const char *file; /* NULL: an option of the program */
  uint32_t line;    /* 0: the file as a whole */
} kin__config_place;

/* Adds a line. `field` may be "". Long files and names are cut. */
void kin__problems_add(kin__problems *problems, kin__config_place place,
                       const char *field, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

#endif /* KIN_CONFIG_PROBLEMS_H */
