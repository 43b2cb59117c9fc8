/* SPDX-License-Identifier: MIT */
#ifndef KIN_CONFIG_CONFIG_ENV_H
#define KIN_CONFIG_CONFIG_ENV_H

#include <kin/str.h>

#include "base/log.h"
#include "config/vault.h"

/* The identity that a user's entry gives a client. An entry with a smaller
 * identity than before has lost something. */
typedef enum kin__identity {
  KIN__IDENTITY_NONE,
  KIN__IDENTITY_IMPERSONATED, /* without credentials */
  KIN__IDENTITY_CREDENTIALS
} kin__identity;

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

  /* The settings in use have a cluster's entry, and this identity. Files without
   * such an entry, or with a smaller identity, cannot be used: they may be half
   * written. For a first load they mean the pod, or no credentials. */
  bool needs_cluster;
  kin__identity needs_identity;

  void *ctx;
  const kin__log *log; /* NULL: none */
} kin__config_env;

#endif /* KIN_CONFIG_CONFIG_ENV_H */
