/* SPDX-License-Identifier: MIT */
#include "config/exec_environment.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#ifdef __APPLE__
#include <crt_externs.h>
#endif

#include "base/alloc.h"

/* A shared library cannot link against `environ` on macOS. */
static char **process_environment(void) {
#ifdef __APPLE__
  return *_NSGetEnviron();
#else
  /* FreeBSD's `environ` is in the program's start-up code, not in libc: weak, so
   * that a shared library links with -Wl,--no-undefined. The library in two
   * files hides what it declares, but not this. */
  extern __attribute__((weak, visibility("default"))) char **environ;
  return &environ != NULL ? environ : NULL;
#endif
}

static size_t count_strings(char *const *strings) {
  size_t count = 0;
  while (strings != NULL && strings[count] != NULL) {
    count++;
  }
  return count;
}

static bool has_same_name(const char *a, const char *b) {
  size_t length = strcspn(a, "=");
  return strcspn(b, "=") == length && memcmp(a, b, length) == 0;
}

/* Whether one of strings[0, count) has the name of `text`. */
static bool is_among(char *const *strings, size_t count, const char *text) {
  for (size_t i = 0; i < count; i++) {
    if (has_same_name(strings[i], text)) {
      return true;
    }
  }
  return false;
}

char **kin__exec_environment_new(const kin_allocator *allocator,
                                 char *const *variables, char *info) {
  char **inherited = process_environment();
  size_t inherited_count = count_strings(inherited);
  size_t count = count_strings(variables);
  char **all = kin__calloc(allocator, inherited_count + count + 2, sizeof *all);
  if (all == NULL) {
    return NULL;
  }
  size_t length = 0;
  for (size_t i = 0; i < inherited_count; i++) {
    if (!is_among(variables, count, inherited[i]) &&
        !has_same_name(info, inherited[i])) {
      all[length++] = inherited[i];
    }
  }
  for (size_t i = 0; i < count; i++) {
    if (!is_among(variables + i + 1, count - i - 1, variables[i]) &&
        !has_same_name(info, variables[i])) {
      all[length++] = variables[i];
    }
  }
  all[length] = info;
  return all;
}
