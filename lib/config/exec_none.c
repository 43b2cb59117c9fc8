/* SPDX-License-Identifier: MIT */
/* Replaces exec_plugin.c and its parts if the library is built without exec
 * plugins. */
#include "config/exec_config.h"
#include "config/exec_plugin.h"

#include <stddef.h>

#include <kin/error.h>

int kin__exec_plugin_new(kin__exec_plugin **out,
                         const kin__exec_plugin_options *options) {
  *out = NULL;
  return kin__log_problem(
      options->log, KIN_ENOTSUP,
      "exec: needs a library that was built with exec plugins");
}

int kin__exec_terms_check(const kin_exec_plugin *terms,
                          const kin_allocator *allocator, const kin__log *log) {
  (void)terms;
  (void)allocator;
  (void)log;
  return 0;
}

/* No plugin exists, so the functions below are never called. */

void kin__exec_plugin_free(kin__exec_plugin *plugin) {
  (void)plugin;
}

void kin__exec_plugin_close(kin__exec_plugin *plugin, void (*cb)(void *ctx),
                            void *ctx) {
  (void)plugin;
  (void)cb;
  (void)ctx;
}

void kin__exec_plugin_set_ref(kin__exec_plugin *plugin, bool is_ref) {
  (void)plugin;
  (void)is_ref;
}

kin__credentials kin__exec_plugin_credentials(kin__exec_plugin *plugin) {
  (void)plugin;
  return (kin__credentials){.get = NULL};
}

const kin__exec_stats *
kin__exec_plugin_get_stats(const kin__exec_plugin *plugin) {
  (void)plugin;
  return NULL;
}
