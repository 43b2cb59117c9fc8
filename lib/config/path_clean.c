/* SPDX-License-Identifier: MIT */
#include "config/path_clean.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Where the last name of path[0, length) begins, its slash included; `root` is
 * the length of what has no parent. */
static size_t parent_of(const char *path, size_t length, size_t root) {
  while (length > root && path[length - 1] != '/') {
    length--;
  }
  return length > root ? length - 1 : root;
}

/* Appends a name and the slash before it. */
static size_t put_name(char *path, size_t length, const char *name,
                       size_t size) {
  if (length > 0 && path[length - 1] != '/') {
    path[length++] = '/';
  }
  memmove(path + length, name, size);
  return length + size;
}

/* Writes never overtake reads, because the result is never longer. */
void kin__path_clean(char *path) {
  bool is_rooted = path[0] == '/';
  size_t root = is_rooted ? 1 : 0; /* what ".." cannot remove */
  size_t length = root;
  for (const char *next = path + root; *next != '\0';) {
    size_t size = strcspn(next, "/");
    const char *name = next;
    next += size;
    next += *next == '/';
    if (size == 0 || (size == 1 && name[0] == '.')) {
      continue;
    }
    if (size != 2 || memcmp(name, "..", 2) != 0) {
      length = put_name(path, length, name, size);
    } else if (length > root) {
      length = parent_of(path, length, root);
    } else if (!is_rooted) {
      length = put_name(path, length, name, size);
      root = length;
    }
  }
  if (length == 0) {
    path[length++] = '.';
  }
  path[length] = '\0';
}
