/* SPDX-License-Identifier: MIT */
#ifndef KIN_CONFIG_CONFIG_ENV_H
#define KIN_CONFIG_CONFIG_ENV_H

#include <kin/str.h>

#include "base/log.h"
#include "config/vault.h"

/* The parts of the identity that a user's entry gives a client, together with
 * the program's options; bits. Each of them may be lost: a client without a part
 * of its impersonation may have more rights than before. */
#define KIN__IDENTITY_USER 1u /* the entry exists */
#define KIN__IDENTITY_CREDENTIALS 2u
#define KIN__IDENTITY_IMPERSONATION 4u
#define KIN__IDENTITY_GROUPS 8u
#define KIN__IDENTITY_UID 16u
#define KIN__IDENTITY_EXTRA 32u

/* The surroundings of a configuration while it is loaded. So the code has no
 * loop, and reads no file itself. */
typedef struct kin__config_env {
  /* A variable of the environment; NULL: it is not set. Borrowed until the next
   * call. */
  const char *(*getenv)(void *ctx, const char *name);

  /* Where relative names of kubeconfigs begin. NULL: in the working directory of
   * the moment. */
  const char *folder;

  /* Reads a whole file into the vault; see kin__file_read. Errors: KIN_ENOENT
   * (there is no such file), KIN_ENOMEM, and others, which `explain` knows. */
  int (*read)(void *ctx, kin__vault *vault, const char *path, size_t max_bytes,
              kin_str *text);

  /* Whether the content of a file can be read. NULL: is not checked. */
  int (*probe)(void *ctx, const char *path);

  /* Static. */
  const char *(*explain)(int code);

  /* The pod is in use: no kubeconfig is read. */
  bool is_pod_only;

  /* The settings in use have a cluster's entry, and these parts of an identity.
   * Files that lack one of them cannot be used: they may be half written. For a
   * first load they mean the pod, or no credentials. */
  bool needs_cluster;
  unsigned needs_identity;

  void *ctx;
  const kin__log *log; /* NULL: none */
} kin__config_env;

#endif /* KIN_CONFIG_CONFIG_ENV_H */
