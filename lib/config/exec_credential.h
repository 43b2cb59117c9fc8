/* SPDX-License-Identifier: MIT */
#ifndef KIN_CONFIG_EXEC_CREDENTIAL_H
#define KIN_CONFIG_EXEC_CREDENTIAL_H

#include <stdbool.h>
#include <stddef.h>

#include <kin/allocator.h>
#include <kin/str.h>

#include "base/buf.h"
#include "base/timestamp.h"

/* The ExecCredential of client.authentication.k8s.io: what an exec plugin is
 * told, and what it answers. Nothing here runs a process. */

/* The cluster as a plugin is told about it (XP-02). Any string may be NULL, and
 * is left out then. */
typedef struct kin__exec_cluster {
  const char *server;
  const char *tls_server_name;
  const char *proxy_url;
  const char *config; /* JSON text */
  kin_str authority;  /* PEM */
  bool is_insecure;
  bool disable_compression;
} kin__exec_cluster;

/* Appends the value of KUBERNETES_EXEC_INFO. `cluster` may be NULL.
 * Errors: KIN_ETOOBIG, KIN_ENOMEM. */
int kin__exec_info_render(kin__buf *out, const char *api_version,
                          bool is_interactive,
                          const kin__exec_cluster *cluster);

/* The answer of a plugin. The strings are the owner's, and secret. */
typedef struct kin__exec_credential {
  char *authorization; /* "Bearer ...", or NULL */
  char *certificate;   /* PEM, or NULL */
  char *key;           /* PEM; set iff certificate is */
  bool can_expire;
  kin__timestamp expires;
} kin__exec_credential;

#define KIN__EXEC_REASON_SIZE 256

/* Reads a plugin's output (XP-04). A repeated member counts once, the first
 * time. Errors: KIN_ENOMEM; KIN_ETOKEN, with a reason that holds nothing of the
 * output. *out is empty then. `reason` has KIN__EXEC_REASON_SIZE bytes. */
int kin__exec_credential_read(kin__exec_credential *out,
                              const kin_allocator *allocator, kin_str output,
                              const char *api_version, char *reason);

/* Wipes and frees the strings. */
void kin__exec_credential_finish(kin__exec_credential *credential,
                                 const kin_allocator *allocator);

#endif /* KIN_CONFIG_EXEC_CREDENTIAL_H */
