/* SPDX-License-Identifier: MIT */
#ifndef KIN_CONFIG_KUBE_LOAD_H
#define KIN_CONFIG_KUBE_LOAD_H

#include "config/kube_resolve.h"

/* Files in $KUBECONFIG. */
#define KIN__KUBE_MAX_FILES 128u

/* The files to read, in order. */
typedef struct kin__kube_paths {
  const char *const *paths; /* in the vault that was given */
  size_t count;
  bool is_explicit; /* the one file must exist */
  bool is_env;      /* from $KUBECONFIG */
} kin__kube_paths;

/* `path` NULL or "": $KUBECONFIG, without repeated and empty names; if that is
 * not set, ~/.kube/config, if $HOME is set. *out may have no path.
 * Errors: KIN_ENOMEM, KIN_ETOOBIG (over KIN__KUBE_MAX_FILES). */
int kin__kube_find_paths(kin__kube_paths *out, kin__vault *vault,
                         const char *path, const kin__config_env *env);

/* Loads a configuration in kubectl's order: options->path, else $KUBECONFIG,
 * else ~/.kube/config; and if these configure nothing, or env->is_pod_only is
 * true, the environment of a pod. Blocks as long as env->read and env->probe
 * do. `out` has been initialised; after an error it must still be finished.
 * problems->text says what is wrong for every error but KIN_ENOMEM.
 *
 * Errors: KIN_ENOENT (options->path does not exist; nothing is configured, and
 * this is no pod), KIN_EINVAL, KIN_ENOMEM. */
int kin__kube_load(kin__resolved_config *out,
                   const kin_kubeconfig_options *options,
                   const kin__config_env *env, kin__problems *problems);

#endif /* KIN_CONFIG_KUBE_LOAD_H */
