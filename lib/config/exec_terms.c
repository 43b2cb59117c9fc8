/* SPDX-License-Identifier: MIT */
#include "config/exec_terms.h"

#include <kin/error.h>

#include "base/first_size.h"
#include "base/options.h"
#include "config/exec_config.h"

static int take(kin_exec_plugin *to, const kin_exec_plugin *given,
                const kin__log *log) {
  return kin__options_take(to, sizeof *to, given,
                           KIN__FIRST_SIZE(kin_exec_plugin), "kin_exec_plugin",
                           log);
}

int kin__exec_terms_check_given(const kin_exec_plugin *given,
                                const kin_allocator *allocator,
                                const kin__log *log) {
  kin_exec_plugin terms;
  int err = take(&terms, given, log);
  return err == 0 ? kin__exec_terms_check(&terms, allocator, log) : err;
}

int kin__exec_terms_take(kin__vault *vault, const kin_exec_plugin **to,
                         const kin_exec_plugin *given) {
  *to = NULL;
  if (given == NULL) {
    return 0;
  }
  kin_exec_plugin *copy = kin__vault_alloc(vault, 1, sizeof *copy);
  int err = copy != NULL ? take(copy, given, NULL) : KIN_ENOMEM;
  if (err != 0) {
    return err;
  }
  size_t count = copy->allowlist_count;
  const char **allowlist = kin__vault_alloc(vault, count, sizeof *allowlist);
  err = allowlist != NULL
            ? kin__vault_take(vault, &copy->stdin_unavailable_message,
                              copy->stdin_unavailable_message)
            : KIN_ENOMEM;
  for (size_t i = 0; i < count && err == 0; i++) {
    err = kin__vault_take(vault, &allowlist[i], copy->allowlist[i]);
  }
  copy->allowlist = allowlist;
  *to = copy;
  return err;
}
