/* SPDX-License-Identifier: MIT */
/* Configurations, of a file with n entries of each kind. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <kin/kubeconfig.h>

#include "costs/cost.h"

/* Where the file is; the caller frees it. */
static char *write_file(size_t n) {
  char *path = cost_text(40);
  snprintf(path, 40, "/tmp/kin-costs-XXXXXX");
  int file = mkstemp(path);
  cost_assert(file >= 0);
  FILE *out = fdopen(file, "w");
  cost_assert(out != NULL);
  fprintf(out, "current-context: x0\nclusters:\n");
  for (size_t i = 0; i < n; i++) {
    fprintf(out, "- {name: c%zu, cluster: {server: 'https://c%zu'}}\n", i, i);
  }
  fprintf(out, "users:\n");
  for (size_t i = 0; i < n; i++) {
    fprintf(out, "- {name: u%zu, user: {token: abcdefghijklmnop}}\n", i);
  }
  fprintf(out, "contexts:\n");
  for (size_t i = 0; i < n; i++) {
    fprintf(out, "- {name: x%zu, context: {cluster: c%zu, user: u%zu}}\n", i, i,
            i);
  }
  cost_must(fclose(out));
  return path;
}

static kin_kubeconfig *load_file(const char *path) {
  kin_kubeconfig *config;
  kin_kubeconfig_options options = KIN_KUBECONFIG_OPTIONS_INIT;
  options.allocator = cost_memory();
  options.path = path;
  cost_must(kin_kubeconfig_load(&config, &options));
  return config;
}

static void kubeconfig_load(size_t n) {
  char *path = write_file(n);
  kin_kubeconfig *config;
  COST(config = load_file(path));
  kin_kubeconfig_free(config);
  unlink(path);
  free(path);
}

static void kubeconfig_free(size_t n) {
  char *path = write_file(n);
  kin_kubeconfig *config = load_file(path);
  COST(kin_kubeconfig_free(config));
  unlink(path);
  free(path);
}

const cost_row cost_rows_kubeconfig[] = {
    {"kin_kubeconfig_load", "O(bytes of the files)", "entries of a file",
     COST_LINEAR, kubeconfig_load},
    {"kin_kubeconfig_free", "O(bytes of the configuration)",
     "entries of a file", COST_LINEAR, kubeconfig_free},
    {0},
};
