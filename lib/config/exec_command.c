/* SPDX-License-Identifier: MIT */
#include "config/exec_command.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <sys/stat.h>
#include <unistd.h>

#include <uv.h>

#include "config/path_clean.h"

/* --- Looking up ----------------------------------------------------------- */

static const char *base_of(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash != NULL ? slash + 1 : path;
}

static int check_executable(const char *file) {
  struct stat info;
  if (stat(file, &info) != 0) {
    return uv_translate_sys_error(errno);
  }
  if (!S_ISREG(info.st_mode)) {
    return UV_EACCES;
  }
  return access(file, X_OK) == 0 ? 0 : uv_translate_sys_error(errno);
}

static int look_in_path(const char *path, const char *name, char *file) {
  int code = UV_ENOENT;
  while (path != NULL && *path != '\0') {
    size_t size = strcspn(path, ":");
    int length = path[0] == '/' ? snprintf(file, KIN__EXEC_PATH_SIZE, "%.*s/%s",
                                           (int)size, path, name)
                                : -1;
    if (length > 0 && length < (int)KIN__EXEC_PATH_SIZE) {
      kin__path_clean(file);
      int err = check_executable(file);
      if (err == 0) {
        return 0;
      }
      code = err == UV_EACCES ? err : code;
    }
    path += size;
    path += *path == ':';
  }
  return code;
}

/* A name with a slash is its own path. `file` is "" unless this succeeds. */
static int look_up(const char *name, const char *path, char *file) {
  int err;
  if (strchr(name, '/') == NULL) {
    err = look_in_path(path, name, file);
  } else if (strlen(name) >= KIN__EXEC_PATH_SIZE) {
    err = UV_ENAMETOOLONG;
  } else {
    snprintf(file, KIN__EXEC_PATH_SIZE, "%s", name);
    err = check_executable(file);
  }
  if (err != 0) {
    file[0] = '\0';
  }
  return err;
}

/* XP-09. An entry allows the command as it is configured, or the file that both
 * are resolved to. */
static bool is_listed(const kin__exec_command *command) {
  for (size_t i = 0; i < command->allowlist_count; i++) {
    const char *entry = command->allowlist[i];
    if (strcmp(entry, command->command) == 0 ||
        (command->file[0] != '\0' && strcmp(entry, command->file) == 0)) {
      return true;
    }
  }
  for (size_t i = 0; command->file[0] != '\0' && i < command->allowlist_count;
       i++) {
    const char *entry = command->allowlist[i];
    char file[KIN__EXEC_PATH_SIZE];
    if (strcmp(base_of(entry), base_of(command->file)) == 0 &&
        look_up(entry, command->path, file) == 0 &&
        strcmp(file, command->file) == 0) {
      return true;
    }
  }
  return false;
}

void kin__exec_command_resolve(kin__exec_command *command) {
  command->code = look_up(command->command, command->path, command->file);
  command->is_denied =
      command->policy == KIN_EXEC_POLICY_DENY_ALL ||
      (command->policy == KIN_EXEC_POLICY_ALLOWLIST && !is_listed(command));
}
