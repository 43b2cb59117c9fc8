/* SPDX-License-Identifier: MIT */
#include "config/kube_reader.h"

#include <stddef.h>
#include <string.h>

#include <kin/error.h>

#include "base/str.h"

/* --- Exec ----------------------------------------------------------------- */

static int read_args(kin__kube_reader *reader, const kin__yaml_node *node,
                     void *to) {
  kin__kube_exec *exec = to;
  kin__kube_text_list texts;
  int err = kin__kube_read_texts(reader, node, &texts);
  exec->args = texts.values;
  exec->arg_count = texts.count;
  return err;
}

static const kin__kube_field env_fields[] = {
    {"name", kin__kube_read_name, offsetof(kin__exec_env, name)},
    {"value", kin__kube_read_name, offsetof(kin__exec_env, value)},
    {NULL, NULL, 0},
};

typedef struct env_list {
  kin__exec_env *values;
  size_t count;
} env_list;

static int read_env_entry(kin__kube_reader *reader, const kin__yaml_node *node,
                          uint32_t index, void *to) {
  env_list *list = to;
  (void)index;
  if (node->type == KIN__YAML_NULL) {
    return 0;
  }
  kin__exec_env *env = &list->values[list->count++];
  *env = (kin__exec_env){"", ""};
  return kin__kube_read_fields(reader, node, env_fields, env);
}

static int read_env(kin__kube_reader *reader, const kin__yaml_node *node,
                    void *to) {
  kin__kube_exec *exec = to;
  env_list list = {.count = 0};
  if (node->count > 0) {
    list.values =
        kin__vault_alloc(&reader->set->vault, node->count, sizeof *list.values);
    if (list.values == NULL) {
      return KIN_ENOMEM;
    }
  }
  int err = kin__kube_read_elements(reader, node, read_env_entry, &list);
  exec->env = list.values;
  exec->env_count = list.count;
  return err;
}

static const kin__kube_field exec_fields[] = {
    {"apiVersion", kin__kube_read_text, offsetof(kin__kube_exec, api_version)},
    {"command", kin__kube_read_command, offsetof(kin__kube_exec, command)},
    {"args", read_args, 0},
    {"env", read_env, 0},
    {"installHint", kin__kube_read_text,
     offsetof(kin__kube_exec, install_hint)},
    {"interactiveMode", kin__kube_read_text,
     offsetof(kin__kube_exec, interactive_mode)},
    {"provideClusterInfo", kin__kube_read_truth,
     offsetof(kin__kube_exec, provide_cluster_info)},
    {NULL, NULL, 0},
};

static void place_if_absent(kin__kube_text *text, kin__config_place place) {
  if (text->place.line == 0) {
    text->place = place;
  }
}

static bool has_old_version(const kin__kube_exec *exec) {
  const char *version = kin__or_default(exec->api_version.value, "");
  return strcmp(version, "client.authentication.k8s.io/v1beta1") == 0 ||
         strcmp(version, "client.authentication.k8s.io/v1alpha1") == 0;
}

static int read_exec(kin__kube_reader *reader, const kin__yaml_node *node,
                     void *to) {
  const kin__kube_exec **place = to;
  kin__kube_exec *exec = kin__vault_alloc(&reader->set->vault, 1, sizeof *exec);
  if (exec == NULL) {
    return KIN_ENOMEM;
  }
  exec->place = kin__kube_place(reader, node);
  int err = kin__kube_read_fields(reader, node, exec_fields, exec);
  place_if_absent(&exec->api_version, exec->place);
  place_if_absent(&exec->command, exec->place);
  place_if_absent(&exec->interactive_mode, exec->place);
  /* Versions before v1 had no mode. */
  if (exec->interactive_mode.value == NULL && has_old_version(exec)) {
    exec->interactive_mode.value = "IfAvailable";
  }
  if (node->type == KIN__YAML_MAP) {
    *place = exec;
  }
  return err;
}

/* --- Users ---------------------------------------------------------------- */

static size_t count_extra(const kin__yaml_node *map) {
  size_t count = 0;
  for (const kin__yaml_item *item = map->first; item != NULL;
       item = item->next) {
    count += item->value->count;
  }
  return count;
}

static int read_extra(kin__kube_reader *reader, const kin__yaml_node *node,
                      void *to) {
  kin__kube_user *user = to;
  if (node->type != KIN__YAML_MAP) {
    kin__kube_wrong_type(reader, node, "a map");
    return 0;
  }
  user->as_extra_place = kin__kube_place(reader, node);
  user->has_as_extra = node->count > 0;
  kin_impersonate_extra *extra =
      kin__vault_alloc(&reader->set->vault, count_extra(node), sizeof *extra);
  int err = extra != NULL ? 0 : KIN_ENOMEM;
  size_t count = 0;
  for (const kin__yaml_item *item = node->first; item != NULL && err == 0;
       item = item->next) {
    if (item->value->type == KIN__YAML_NULL) {
      continue;
    }
    if (memchr(item->key.data, '\0', item->key.length) != NULL) {
      kin__problems_add(reader->problems, user->as_extra_place, reader->path,
                        "has a key with a NUL character");
      continue;
    }
    if (item->is_odd_key) {
      kin__problems_add(reader->problems, user->as_extra_place, reader->path,
                        "has a key that is a number (put it in quotes)");
      continue;
    }
    kin__kube_text_list values;
    err = kin__kube_read_texts(reader, item->value, &values);
    for (size_t i = 0; err == 0 && i < values.count; i++) {
      extra[count++] =
          (kin_impersonate_extra){item->key.data, values.values[i]};
    }
  }
  user->as_extra = extra;
  user->as_extra_count = count;
  return err;
}

static const kin__kube_field auth_provider_fields[] = {
    {"name", kin__kube_read_text, 0},
    {NULL, NULL, 0},
};

static int read_auth_provider(kin__kube_reader *reader,
                              const kin__yaml_node *node, void *to) {
  kin__kube_user *user = to;
  user->has_auth_provider = node->type == KIN__YAML_MAP;
  int err = kin__kube_read_fields(reader, node, auth_provider_fields,
                                  &user->auth_provider);
  user->auth_provider.place = kin__kube_place(reader, node);
  return err;
}

#define USER(member) offsetof(kin__kube_user, member)
const kin__kube_field kin__kube_user_fields[] = {
    {"client-certificate", kin__kube_read_path, USER(client_certificate)},
    {"client-certificate-data", kin__kube_read_data,
     USER(client_certificate_data)},
    {"client-key", kin__kube_read_path, USER(client_key)},
    {"client-key-data", kin__kube_read_data, USER(client_key_data)},
    {"token", kin__kube_read_text, USER(token)},
    {"tokenFile", kin__kube_read_path, USER(token_file)},
    {"username", kin__kube_read_text, USER(username)},
    {"password", kin__kube_read_text, USER(password)},
    {"as", kin__kube_read_text, USER(as)},
    {"as-uid", kin__kube_read_text, USER(as_uid)},
    {"as-groups", kin__kube_read_list, USER(as_groups)},
    {"as-user-extra", read_extra, 0},
    {"auth-provider", read_auth_provider, 0},
    {"exec", read_exec, USER(exec)},
    {NULL, NULL, 0},
};
#undef USER
