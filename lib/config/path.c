/* SPDX-License-Identifier: MIT */
#include "config/path.h"

#include <string.h>

#include "base/str.h"
#include "config/path_clean.h"

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
  kin__path_clean(path);
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
