/* SPDX-License-Identifier: MIT */
#ifndef KIN_CONFIG_EXEC_CONFIG_H
#define KIN_CONFIG_EXEC_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <kin/allocator.h>
#include <kin/exec_plugin.h>

#include "base/log.h"

/* The versions of a plugin's interface that the library speaks. */
#define KIN__EXEC_V1 "client.authentication.k8s.io/v1"
#define KIN__EXEC_V1BETA1 "client.authentication.k8s.io/v1beta1"
/* Here because kubeconfigs are checked in a build without plugins, too. */
static inline bool kin__exec_knows_version(const char *api_version) {
  return strcmp(api_version, KIN__EXEC_V1) == 0 ||
         strcmp(api_version, KIN__EXEC_V1BETA1) == 0;
}
/* The words of a message about any other version. */
#define KIN__EXEC_NO_VERSION                                                   \
  "\"%.80s\" is neither " KIN__EXEC_V1 " nor " KIN__EXEC_V1BETA1
/* Of a plugin's arguments, and of its variables. */
#define KIN__EXEC_MAX_STRINGS 1024u

/* The part of KUBERNETES_EXEC_INFO about the cluster, beside what is in
 * kin_exec_plugin. Borrowed; any may be NULL. */
typedef struct kin__exec_server {
  const char *url;
  const char *tls_server_name;
  const char *authority_data; /* PEM; wins over the file */
  const char *authority_file;
  bool is_insecure;
} kin__exec_server;

/* The library's copy of a kin_exec_plugin. */
typedef struct kin__exec_config {
  char *api_version;
  char *command;      /* clean; without a slash only if it is to be looked up */
  char **args;        /* the command first, NULL last */
  char **variables;   /* "NAME=value"; NULL last; may be secret */
  char *install_hint; /* on one line; or NULL */
  char *stdin_message; /* or NULL */
  char *url;           /* this and the next may be NULL */
  char *tls_server_name;
  char *authority_data;
  char *authority_file;
  char *proxy_url;
  char *cluster_config;
  char **allowlist; /* NULL last */
  size_t allowlist_count;
  kin_exec_interactive interactive; /* never UNSET */
  kin_exec_stderr stderr_to;
  kin_exec_policy policy;
  uint32_t timeout_ms; /* 0: the default */
  bool stdin_unavailable;
  bool provides_cluster;
  bool is_insecure;
  bool disable_compression;
} kin__exec_config;

/* Checks and copies. Errors: KIN_EINVAL, with a problem text (XP-01, XP-03,
 * XP-09); KIN_ENOMEM. *out is empty then. */
int kin__exec_config_init(kin__exec_config *out, const kin_allocator *allocator,
                          const kin_exec_plugin *plugin,
                          const kin__exec_server *server, const kin__log *log);

/* Checks what the program says of a plugin that a kubeconfig describes: members
 * that a kubeconfig has must be unset. Errors: KIN_EINVAL, with a problem text
 * (XP-09); KIN_ENOMEM. Without exec plugins nothing is checked. */
int kin__exec_terms_check(const kin_exec_plugin *terms,
                          const kin_allocator *allocator, const kin__log *log);

/* Wipes and frees everything. Legal for an empty one, too. */
void kin__exec_config_finish(kin__exec_config *config,
                             const kin_allocator *allocator);

#endif /* KIN_CONFIG_EXEC_CONFIG_H */
