/* SPDX-License-Identifier: MIT */
#ifndef KIN_CONFIG_EXEC_COMMAND_H
#define KIN_CONFIG_EXEC_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

#include <kin/exec_plugin.h>

/* Finds the file of an exec plugin's command, and decides whether the program's
 * policy allows it. */

/* The longest path, with its NUL. */
#define KIN__EXEC_PATH_SIZE 4096u

/* In: borrowed. Must not change while it is resolved. */
typedef struct kin__exec_command {
  const char *command; /* clean */
  const char *path;    /* the value of PATH, or NULL */
  kin_exec_policy policy;
  char *const *allowlist;
  size_t allowlist_count;

  /* Out. */
  int code;       /* 0; UV_ENOENT, UV_EACCES, ... if there is no such file */
  bool is_denied; /* by the policy; `code` says whether the file is there */
  char file[KIN__EXEC_PATH_SIZE]; /* "" if code is not 0 */
} kin__exec_command;

/* Blocks: for a thread of libuv's pool. Allocates nothing. */
void kin__exec_command_resolve(kin__exec_command *command);

#endif /* KIN_CONFIG_EXEC_COMMAND_H */
