/* SPDX-License-Identifier: MIT */
#include "config/kube_load.h"

#include <string.h>

#include <kin/error.h>

#include "base/str.h"
#include "config/exec_terms.h"
#include "config/path.h"
#include "config/yaml.h"

/* --- Paths ---------------------------------------------------------------- */

static bool has_path(const char *const *paths, size_t count, const char *path) {
  for (size_t i = 0; i < count; i++) {
    if (strcmp(paths[i], path) == 0) {
      return true;
    }
  }
  return false;
}

/* A program may leave its folder; its kubeconfigs are read again and again. */
static char *whole_path(kin__vault *vault, const char *folder, kin_str path) {
  return folder != NULL && path.length > 0 && path.data[0] != '/'
             ? kin__path_join(vault, kin__cstr(folder), path)
             : kin__vault_copy(vault, path);
}

static int split_list(kin__kube_paths *out, kin__vault *vault, const char *list,
                      const char *folder) {
  const char **paths =
      kin__vault_alloc(vault, KIN__KUBE_MAX_FILES, sizeof *paths);
  if (paths == NULL) {
    return KIN_ENOMEM;
  }
  out->paths = paths;
  while (*list != '\0') {
    size_t length = strcspn(list, ":");
    char *path = whole_path(vault, folder, kin__str(list, length));
    if (path == NULL) {
      return KIN_ENOMEM;
    }
    list += length + (list[length] == ':');
    if (path[0] == '\0' || has_path(paths, out->count, path)) {
      continue;
    }
    if (out->count == KIN__KUBE_MAX_FILES) {
      return KIN_ETOOBIG;
    }
    paths[out->count++] = path;
  }
  return 0;
}

static int one_path(kin__kube_paths *out, kin__vault *vault, const char *path,
                    const char *folder) {
  const char **paths = kin__vault_alloc(vault, 1, sizeof *paths);
  if (paths == NULL || path == NULL) {
    return KIN_ENOMEM;
  }
  out->paths = paths;
  out->count = 1;
  paths[0] = whole_path(vault, folder, kin__cstr(path));
  return paths[0] != NULL ? 0 : KIN_ENOMEM;
}

int kin__kube_find_paths(kin__kube_paths *out, kin__vault *vault,
                         const char *path, const kin__config_env *env) {
  *out = (kin__kube_paths){.count = 0};
  if (kin__has_text(path)) {
    out->is_explicit = true;
    return one_path(out, vault, path, env->folder);
  }
  const char *list = env->getenv(env->ctx, "KUBECONFIG");
  if (kin__has_text(list)) {
    out->is_env = true;
    return split_list(out, vault, list, env->folder);
  }
  const char *home = env->getenv(env->ctx, "HOME");
  if (!kin__has_text(home)) {
    return 0;
  }
  return one_path(
      out, vault,
      kin__path_join(vault, kin__cstr(home), KIN__LIT(".kube/config")),
      env->folder);
}

/* --- Files ---------------------------------------------------------------- */

typedef struct kube_loading {
  const kin__config_env *env;
  kin__problems *problems;
  kin__kube_paths paths;
  kin__kube_set set;
  const char *files[KIN__KUBE_MAX_FILES]; /* that were read */
  size_t file_count;
  bool is_broken; /* a file is unknown, so nothing can be resolved */
} kube_loading;

static const char *explain(const kin__config_env *env, int err) {
  return err == KIN_ENOENT ? "there is no such file" : env->explain(err);
}

/* Errors: KIN_ENOENT (an explicit file), KIN_ENOMEM. */
static int read_file(kube_loading *loading, const char *path) {
  const kin__config_env *env = loading->env;
  kin_str text;
  int err = env->read(env->ctx, &loading->set.vault, path, KIN__YAML_MAX_BYTES,
                      &text);
  if (err == 0) {
    loading->files[loading->file_count++] = path;
    err = kin__kube_set_add(&loading->set, path, text, loading->problems);
    loading->is_broken = loading->is_broken || err == KIN_EINVAL;
    return err == KIN_EINVAL ? 0 : err;
  }
  if (err == KIN_ENOENT && !loading->paths.is_explicit) {
    return 0;
  }
  if (err != KIN_ENOMEM) {
    kin__problems_add(loading->problems, (kin__config_place){path, 0}, "", "%s",
                      explain(env, err));
  }
  loading->is_broken = true;
  return err == KIN_ENOENT || err == KIN_ENOMEM ? err : 0;
}

/* Errors: KIN_ENOENT, KIN_EINVAL (is told), KIN_ENOMEM. */
static int read_files(kube_loading *loading, const char *path) {
  int err = kin__kube_find_paths(&loading->paths, &loading->set.vault, path,
                                 loading->env);
  if (err == KIN_ETOOBIG) {
    kin__problems_add(loading->problems, (kin__config_place){NULL, 0},
                      "KUBECONFIG", "names over %u files", KIN__KUBE_MAX_FILES);
    return KIN_EINVAL;
  }
  for (size_t i = 0; i < loading->paths.count && err == 0; i++) {
    err = read_file(loading, loading->paths.paths[i]);
  }
  if (err == 0 && loading->is_broken) {
    return KIN_EINVAL;
  }
  if (err == 0 && loading->paths.is_env && loading->file_count == 0) {
    kin__log_write(loading->env->log, KIN_LOG_WARN,
                   "kubeconfig: no file of KUBECONFIG exists");
  }
  return err;
}

/* --- Nothing is configured ------------------------------------------------ */

/* The context that names a missing cluster explains more than the files. */
static void tell_missing_cluster(kube_loading *loading,
                                 const kin__kube_context *context) {
  kin__problems_add(loading->problems, context->cluster.place,
                    "context.cluster", "there is no cluster \"%.120s\"",
                    context->cluster.value);
}

static const kin__kube_context *
chosen_context(const kube_loading *loading,
               const kin_kubeconfig_options *options) {
  const char *name = options->context;
  bool is_override = kin__has_text(name);
  return kin__kube_context_find(
      &loading->set, is_override ? name : loading->set.current_context.value);
}

static void tell_files(kube_loading *loading, const char *reason) {
  const kin__kube_paths *paths = &loading->paths;
  if (loading->file_count > 0) {
    kin__problems_add(loading->problems,
                      (kin__config_place){loading->files[0], 0}, "",
                      "configures no cluster; not in a cluster: %s", reason);
  } else if (paths->count == 0) {
    kin__problems_add(loading->problems, (kin__config_place){NULL, 0},
                      "no kubeconfig", "%s; not in a cluster: %s",
                      paths->is_env ? "KUBECONFIG names no file"
                                    : "neither KUBECONFIG nor HOME is set",
                      reason);
  } else {
    kin__problems_add(
        loading->problems, (kin__config_place){NULL, 0}, "no kubeconfig",
        "%.300s%s does not exist; not in a cluster: %s", paths->paths[0],
        paths->count > 1 ? ", like all of KUBECONFIG," : "", reason);
  }
}

static void tell_nothing(kube_loading *loading,
                         const kin_kubeconfig_options *options,
                         const char *reason) {
  const kin__kube_context *context = chosen_context(loading, options);
  if (loading->env->is_pod_only) {
    kin__problems_add(loading->problems, (kin__config_place){NULL, 0},
                      "in-cluster configuration", "%s", reason);
  } else if (context != NULL && context->cluster.value != NULL) {
    tell_missing_cluster(loading, context);
  } else {
    tell_files(loading, reason);
  }
}

/* --- All ------------------------------------------------------------------ */

static int take_lists(kin__resolved_config *out, const kube_loading *loading) {
  size_t count = 0;
  const kin__kube_entry *entry;
  for (entry = loading->set.contexts.first; entry != NULL;
       entry = entry->next) {
    count++;
  }
  const char **files =
      kin__vault_alloc(&out->vault, loading->file_count, sizeof *files);
  const char **contexts =
      kin__vault_alloc(&out->vault, count, sizeof *contexts);
  int err = files != NULL && contexts != NULL ? 0 : KIN_ENOMEM;
  for (size_t i = 0; i < loading->file_count && err == 0; i++) {
    err = kin__vault_take(&out->vault, &files[i], loading->files[i]);
  }
  size_t i = 0;
  for (entry = loading->set.contexts.first; entry != NULL && err == 0;
       entry = entry->next) {
    err = kin__vault_take(&out->vault, &contexts[i++], entry->name);
  }
  if (err == 0) {
    out->files = files;
    out->file_count = loading->file_count;
    out->contexts = contexts;
    out->context_count = count;
  }
  return err;
}

/* A pod's namespace counts as well if a kubeconfig is used that has none. */
static int resolve(kube_loading *loading, kin__resolved_config *out,
                   const kin_kubeconfig_options *options) {
  const kin__config_env *env = loading->env;
  const char *reason;
  int err = env->is_pod_only ? KIN_ENOENT
                             : kin__kube_resolve(out, &loading->set, options,
                                                 env, loading->problems);
  if (err == KIN_ENOENT) {
    err =
        kin__in_cluster_resolve(out, options, env, loading->problems, &reason);
    if (err == KIN_ENOENT) {
      tell_nothing(loading, options, reason);
    }
  } else if (err == 0 && !out->has_namespace &&
             kin__in_cluster_is_possible(env, &reason)) {
    err = kin__in_cluster_namespace(out, env, loading->problems);
  }
  return err == 0 ? take_lists(out, loading) : err;
}

static kin_exec_interactive interactive_of(const char *mode) {
  return strcmp(mode, "Never") == 0    ? KIN_EXEC_INTERACTIVE_NEVER
         : strcmp(mode, "Always") == 0 ? KIN_EXEC_INTERACTIVE_ALWAYS
                                       : KIN_EXEC_INTERACTIVE_IF_AVAILABLE;
}

/* Errors: KIN_ENOMEM. */
static int fill_plugin(kin__resolved_config *config,
                       const kin_kubeconfig_options *options) {
  static const kin_exec_plugin usual = KIN_EXEC_PLUGIN_INIT;
  const kin__resolved_exec *exec = config->exec;
  const kin_exec_plugin *terms = NULL;
  if (exec == NULL) {
    return 0;
  }
  int err = kin__exec_terms_take(&config->vault, &terms, options->exec);
  if (err != 0) {
    return err;
  }
  config->plugin = terms != NULL ? *terms : usual;
  kin_exec_plugin *plugin = &config->plugin;
  plugin->api_version = exec->api_version;
  plugin->command = exec->command;
  plugin->args = exec->args;
  plugin->arg_count = exec->arg_count;
  plugin->variables = exec->env;
  plugin->variable_count = exec->env_count;
  plugin->install_hint = exec->install_hint;
  plugin->interactive = interactive_of(exec->interactive_mode);
  plugin->provide_cluster_info = exec->provide_cluster_info;
  plugin->disable_compression = config->disable_compression;
  plugin->proxy_url = config->proxy_url;
  plugin->cluster_config = exec->config;
  return 0;
}

int kin__kube_load(kin__resolved_config *out,
                   const kin_kubeconfig_options *options,
                   const kin__config_env *env, kin__problems *problems) {
  kube_loading loading = {.env = env, .problems = problems};
  kin__kube_set_init(&loading.set, out->vault.allocator);
  loading.set.vault.block_bytes = out->vault.block_bytes;
  int err = env->is_pod_only ? 0 : read_files(&loading, options->path);
  if (err == 0) {
    err = resolve(&loading, out, options);
  }
  if (err == 0) {
    err = fill_plugin(out, options);
  }
  kin__kube_set_finish(&loading.set);
  return err;
}
