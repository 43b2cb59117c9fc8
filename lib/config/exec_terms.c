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
  err = kin__vault_take(vault, &copy->stdin_unavailable_message,
                        copy->stdin_unavailable_message);
  if (err == 0) {
    err = kin__vault_take_all(vault, &copy->allowlist, copy->allowlist,
                              copy->allowlist_count);
  }
  *to = copy;
  return err;
}
