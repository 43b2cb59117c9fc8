/* SPDX-License-Identifier: MIT */
#include "config/kube_reader.h"

#include <stddef.h>
#include <string.h>

#include <openssl/crypto.h>

#include <kin/error.h>

#include "base/buf.h"
#include "base/str.h"

#define EXEC_EXTENSION "client.authentication.k8s.io/exec"

/* --- Clusters and contexts ------------------------------------------------ */

typedef struct named_extension {
  const char *name;
  const kin__yaml_node *value;
} named_extension;

static int read_node(kin__kube_reader *reader, const kin__yaml_node *node,
                     void *to) {
  const kin__yaml_node **place = to;
  (void)reader;
  *place = node;
  return 0;
}

static const kin__kube_field extension_fields[] = {
    {"name", kin__kube_read_name, offsetof(named_extension, name)},
    {"extension", read_node, offsetof(named_extension, value)},
    {NULL, NULL, 0},
};

/* Errors: KIN_ENOMEM. */
static int set_exec_config(kin__kube_reader *reader, const kin__yaml_node *node,
                           kin__kube_text *config) {
  kin__buf json;
  kin__buf_init(&json, reader->set->vault.allocator, KIN__KUBE_MAX_EXEC_CONFIG);
  /* The buffer does not move while it has this room, so no copy is left. */
  int err = kin__buf_reserve(&json, KIN__KUBE_MAX_EXEC_CONFIG);
  err = err == 0 ? kin__yaml_to_json(&json, node) : err;
  config->place = kin__kube_place(reader, node);
  if (err == 0) {
    config->value =
        kin__vault_copy(&reader->set->vault, kin__str(json.data, json.length));
    err = config->value != NULL ? 0 : KIN_ENOMEM;
  }
  if (json.data != NULL) {
    OPENSSL_cleanse(json.data, json.length);
  }
  kin__buf_finish(&json);
  if (err == KIN_EINVAL) {
    kin__problems_add(reader->problems, config->place, reader->path,
                      "has a number that JSON does not have, or a key that is "
                      "a number (put it in quotes)");
    return 0;
  }
  if (err == KIN_ETOOBIG) {
    kin__problems_add(reader->problems, config->place, reader->path,
                      "is over %u bytes of JSON", KIN__KUBE_MAX_EXEC_CONFIG);
    return 0;
  }
  return err;
}

static int read_extension(kin__kube_reader *reader, const kin__yaml_node *node,
                          uint32_t index, void *to) {
  kin__kube_cluster *cluster = to;
  named_extension extension = {.name = ""};
  (void)index;
  if (node->type == KIN__YAML_NULL) {
    return 0;
  }
  int err = kin__kube_read_fields(reader, node, extension_fields, &extension);
  if (err != 0 || extension.value == NULL || extension.name == NULL ||
      strcmp(extension.name, EXEC_EXTENSION) != 0) {
    return err;
  }
  if (cluster->exec_config.value != NULL) {
    kin__problems_add(reader->problems, kin__kube_place(reader, node),
                      reader->path,
                      "the name " EXEC_EXTENSION " is there twice");
    return 0;
  }
  return set_exec_config(reader, extension.value, &cluster->exec_config);
}

static int read_extensions(kin__kube_reader *reader, const kin__yaml_node *node,
                           void *to) {
  return kin__kube_read_elements(reader, node, read_extension, to);
}

static int read_insecure(kin__kube_reader *reader, const kin__yaml_node *node,
                         void *to) {
  kin__kube_cluster *cluster = to;
  cluster->insecure_place = kin__kube_place(reader, node);
  return kin__kube_read_truth(reader, node, &cluster->insecure_skip_tls_verify);
}

#define CLUSTER(member) offsetof(kin__kube_cluster, member)
static const kin__kube_field cluster_fields[] = {
    {"server", kin__kube_read_text, CLUSTER(server)},
    {"tls-server-name", kin__kube_read_text, CLUSTER(tls_server_name)},
    {"insecure-skip-tls-verify", read_insecure, 0},
    {"certificate-authority", kin__kube_read_path,
     CLUSTER(certificate_authority)},
    {"certificate-authority-data", kin__kube_read_data,
     CLUSTER(certificate_authority_data)},
    {"proxy-url", kin__kube_read_text, CLUSTER(proxy_url)},
    {"disable-compression", kin__kube_read_truth, CLUSTER(disable_compression)},
    {"extensions", read_extensions, 0},
    {NULL, NULL, 0},
};
#undef CLUSTER

#define CONTEXT(member) offsetof(kin__kube_context, member)
static const kin__kube_field context_fields[] = {
    {"cluster", kin__kube_read_text, CONTEXT(cluster)},
    {"user", kin__kube_read_text, CONTEXT(user)},
    {"namespace", kin__kube_read_text, CONTEXT(namespace_)},
    {NULL, NULL, 0},
};
#undef CONTEXT

/* --- The lists of entries ------------------------------------------------- */

static int read_cluster(kin__kube_reader *reader, const kin__yaml_node *node,
                        void *to) {
  return kin__kube_read_fields(reader, node, cluster_fields, to);
}

static int read_user(kin__kube_reader *reader, const kin__yaml_node *node,
                     void *to) {
  return kin__kube_read_fields(reader, node, kin__kube_user_fields, to);
}

static int read_context(kin__kube_reader *reader, const kin__yaml_node *node,
                        void *to) {
  return kin__kube_read_fields(reader, node, context_fields, to);
}

#define NAME_FIELD                                                             \
  { "name", kin__kube_read_name, offsetof(kin__kube_entry, name) }
static const kin__kube_field named_cluster_fields[] = {
    NAME_FIELD, {"cluster", read_cluster, 0}, {NULL, NULL, 0}};
static const kin__kube_field named_user_fields[] = {
    NAME_FIELD, {"user", read_user, 0}, {NULL, NULL, 0}};
static const kin__kube_field named_context_fields[] = {
    NAME_FIELD, {"context", read_context, 0}, {NULL, NULL, 0}};

/* One of the three lists. */
typedef struct entry_kind {
  const kin__kube_field *fields;
  size_t size;
  size_t offset; /* of the kin__kube_entries, in the set */
} entry_kind;

static const entry_kind cluster_kind = {named_cluster_fields,
                                        sizeof(kin__kube_cluster),
                                        offsetof(kin__kube_set, clusters)};
static const entry_kind user_kind = {named_user_fields, sizeof(kin__kube_user),
                                     offsetof(kin__kube_set, users)};
static const entry_kind context_kind = {named_context_fields,
                                        sizeof(kin__kube_context),
                                        offsetof(kin__kube_set, contexts)};

static int read_entry(kin__kube_reader *reader, const kin__yaml_node *node,
                      uint32_t index, void *to) {
  const entry_kind *kind = to;
  kin__kube_entries *entries = (void *)((char *)reader->set + kind->offset);
  if (node->type == KIN__YAML_NULL) {
    return 0;
  }
  if (entries->read_count == KIN__KUBE_MAX_ENTRIES) {
    kin__problems_add(reader->problems, kin__kube_place(reader, node),
                      reader->path, "is over the limit of %u entries",
                      KIN__KUBE_MAX_ENTRIES);
    return 0;
  }
  kin__kube_entry *entry = kin__vault_alloc(&reader->set->vault, 1, kind->size);
  if (entry == NULL) {
    return KIN_ENOMEM;
  }
  *entry = (kin__kube_entry){
      .name = "", .index = index, .place = kin__kube_place(reader, node)};
  int err = kin__kube_read_fields(reader, node, kind->fields, entry);
  /* An entry with a name of a wrong type has none to be found by. */
  if (err == 0 && entry->name != NULL) {
    err = kin__kube_entries_add(entries, &reader->set->vault, entry);
  }
  if (err == KIN_EEXIST) {
    kin__problems_add(reader->problems, entry->place, reader->path,
                      "the name \"%.120s\" is there twice", entry->name);
    return 0;
  }
  return err;
}

static int read_entries(kin__kube_reader *reader, const kin__yaml_node *node,
                        const entry_kind *kind) {
  return kin__kube_read_elements(reader, node, read_entry, (void *)kind);
}

static int read_clusters(kin__kube_reader *reader, const kin__yaml_node *node,
                         void *to) {
  (void)to;
  return read_entries(reader, node, &cluster_kind);
}

static int read_users(kin__kube_reader *reader, const kin__yaml_node *node,
                      void *to) {
  (void)to;
  return read_entries(reader, node, &user_kind);
}

static int read_contexts(kin__kube_reader *reader, const kin__yaml_node *node,
                         void *to) {
  (void)to;
  return read_entries(reader, node, &context_kind);
}

/* --- The file ------------------------------------------------------------- */

static int read_constant(kin__kube_reader *reader, const kin__yaml_node *node,
                         const char *wanted) {
  if (kin__kube_is_text(reader, node) && node->text.length > 0 &&
      strcmp(node->text.data, wanted) != 0) {
    kin__problems_add(reader->problems, kin__kube_place(reader, node),
                      reader->path, "is not \"%s\"", wanted);
  }
  return 0;
}

static int read_kind(kin__kube_reader *reader, const kin__yaml_node *node,
                     void *to) {
  (void)to;
  return read_constant(reader, node, "Config");
}

static int read_version(kin__kube_reader *reader, const kin__yaml_node *node,
                        void *to) {
  (void)to;
  return read_constant(reader, node, "v1");
}

/* The first file that sets it counts. */
static int read_current(kin__kube_reader *reader, const kin__yaml_node *node,
                        void *to) {
  kin__kube_set *set = to;
  kin__kube_text text = {.value = NULL};
  (void)kin__kube_read_text(reader, node, &text);
  if (set->current_context.value == NULL && text.value != NULL) {
    set->current_context = text;
  }
  return 0;
}

static const kin__kube_field file_fields[] = {
    {"kind", read_kind, 0},
    {"apiVersion", read_version, 0},
    {"clusters", read_clusters, 0},
    {"users", read_users, 0},
    {"contexts", read_contexts, 0},
    {"current-context", read_current, 0},
    {NULL, NULL, 0},
};

int kin__kube_set_add(kin__kube_set *set, const char *file, kin_str text,
                      kin__problems *problems) {
  kin__kube_reader reader = {.set = set, .problems = problems};
  reader.file = kin__vault_copy(&set->vault, kin__cstr(file));
  if (reader.file == NULL) {
    return KIN_ENOMEM;
  }
  const kin__yaml_node *root;
  kin__yaml_problem problem;
  int err = kin__yaml_parse(&set->vault, text, &root, &problem);
  if (err == KIN_EINVAL) {
    kin__problems_add(problems, (kin__config_place){reader.file, problem.line},
                      "", "not valid YAML: %s", problem.what);
  }
  if (err != 0 || root == NULL || root->type == KIN__YAML_NULL) {
    return err;
  }
  if (root->type != KIN__YAML_MAP) {
    kin__kube_wrong_type(&reader, root, "a map");
    return KIN_EINVAL;
  }
  return kin__kube_read_fields(&reader, root, file_fields, set);
}
