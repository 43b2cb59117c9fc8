/* SPDX-License-Identifier: MIT */
#include "config/path.h"

#include <stdbool.h>
#include <string.h>

#include "base/str.h"

static bool is_part(kin_str part, const char *text) {
  return kin__str_equal(part, kin__cstr(text));
}

/* Removes the last part of a path that has one. Returns the new length. */
static size_t drop_part(const char *path, size_t root, size_t length) {
  while (length > root && path[length - 1] != '/') {
    length--;
  }
  return length > root ? length - 1 : length;
}

static size_t put_part(char *path, size_t root, size_t length, kin_str part) {
  if (length > root) {
    path[length++] = '/';
  }
  memmove(path + length, part.data, part.length);
  return length + part.length;
}

/* In place: the result is never longer, but that "" becomes ".". */
static void clean(char *path) {
  size_t root = path[0] == '/';
  size_t length = root;
  size_t kept = root; /* up to here are ".." that nothing can take out */
  const char *next = path;
  while (*next != '\0') {
    size_t size = strcspn(next, "/");
    kin_str part = kin__str(next, size);
    next += size + (next[size] == '/');
    if (size == 0 || is_part(part, ".")) {
      continue;
    }
    if (!is_part(part, "..")) {
      length = put_part(path, root, length, part);
    } else if (length > kept) {
      length = drop_part(path, root, length);
    } else if (root == 0) {
      length = put_part(path, root, length, part);
      kept = length;
    }
  }
  if (length == 0) {
    path[length++] = '.';
  }
  path[length] = '\0';
}

char *kin__path_join(kin__vault *vault, kin_str folder, kin_str name) {
  char *path = kin__vault_alloc(vault, folder.length + name.length + 3, 1);
  if (path == NULL) {
    return NULL;
  }
  size_t used = 0;
  if (folder.length > 0) {
    memcpy(path, folder.data, folder.length);
    used = folder.length;
    path[used++] = '/';
  }
  memcpy(path + used, name.data, name.length);
  clean(path);
  return path;
}

char *kin__path_beside(kin__vault *vault, const char *file, const char *path) {
  const char *slash = strrchr(file, '/');
  if (path[0] == '/') {
    return kin__vault_copy(vault, kin__cstr(path));
  }
  /* With its slash, so that the root is no empty text. */
  kin_str folder = slash != NULL ? kin__str(file, (size_t)(slash + 1 - file))
                                 : KIN__LIT(".");
  return kin__path_join(vault, folder, kin__cstr(path));
}
