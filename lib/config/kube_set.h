/* SPDX-License-Identifier: MIT */
#ifndef KIN_CONFIG_KUBE_SET_H
#define KIN_CONFIG_KUBE_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kin/client.h>

#include "config/problems.h"
#include "config/vault.h"

/* The clusters, users and contexts of one or several kubeconfig files, merged
 * as kubectl does: of each name the entry of the first file that has it counts,
 * as a whole. Everything lies in the set's vault, and is borrowed from it.
 *
 * A text that is absent, null or empty in the file is NULL here. */

/* Clusters of all files; also users; also contexts. */
#define KIN__KUBE_MAX_ENTRIES 10000u
#define KIN__KUBE_MAX_EXEC_CONFIG (64u << 10)

/* A value, and where it stands. */
typedef struct kin__kube_text {
  const char *value;
  kin__config_place place; /* no file and no line: the field is absent */
  bool is_wrong;           /* there is a value, whose problem has been told */
} kin__kube_text;

/* The beginning of the entries of all three kinds. */
typedef struct kin__kube_entry {
  const char *name; /* "" if the file has none */
  uint32_t hash;
  uint32_t index; /* in the list of its file */
  kin__config_place place;
  struct kin__kube_entry *next;
  struct kin__kube_entry *next_of_bucket;
  struct kin__kube_entry
      *of_later_file; /* the latest with this name, which does
                                          * not count; NULL: none */
} kin__kube_entry;

typedef struct kin__kube_cluster {
  kin__kube_entry entry;
  kin__kube_text server;
  kin__kube_text tls_server_name;
  kin__kube_text certificate_authority;
  kin__kube_text certificate_authority_data; /* decoded */
  kin__kube_text proxy_url;
  kin__kube_text exec_config; /* JSON text of the extension
                               * client.authentication.k8s.io/exec */
  kin__config_place insecure_place;
  bool insecure_skip_tls_verify;
  bool disable_compression;
} kin__kube_cluster;

/* Also the form in which a resolved configuration has it. */
typedef kin_exec_variable kin__exec_env; /* the name is "" if the file has none,
                                          * and NULL if it has a wrong one; so
                                          * is the value */

typedef struct kin__kube_exec {
  kin__config_place place;
  kin__kube_text api_version;
  kin__kube_text command; /* a path, if it has a slash; else for PATH */
  kin__kube_text install_hint;
  kin__kube_text interactive_mode;
  const char *const *args;
  size_t arg_count;
  const kin__exec_env *env;
  size_t env_count;
  bool provide_cluster_info;
} kin__kube_exec;

typedef struct kin__kube_list {
  const char *const *values;
  size_t count;
  kin__config_place place;
} kin__kube_list;

typedef struct kin__kube_user {
  kin__kube_entry entry;
  kin__kube_text client_certificate;
  kin__kube_text client_certificate_data; /* decoded */
  kin__kube_text client_key;
  kin__kube_text client_key_data; /* decoded */
  kin__kube_text token;
  kin__kube_text token_file;
  kin__kube_text username;
  kin__kube_text password;
  kin__kube_text as;
  kin__kube_text as_uid;
  kin__kube_list as_groups;
  const kin_impersonate_extra *as_extra; /* one for each value */
  size_t as_extra_count;
  kin__config_place as_extra_place;
  bool has_as_extra;            /* there are keys, perhaps without values */
  kin__kube_text auth_provider; /* its name */
  bool has_auth_provider;
  const kin__kube_exec *exec; /* NULL: none */
} kin__kube_user;

static inline bool kin__kube_has_certificate(const kin__kube_user *user) {
  return user->client_certificate.value != NULL ||
         user->client_certificate_data.value != NULL;
}

/* Whether the entry itself has credentials: an exec plugin's do not count. */
static inline bool kin__kube_has_credentials(const kin__kube_user *user) {
  return user->token.value != NULL || user->token_file.value != NULL ||
         user->username.value != NULL || kin__kube_has_certificate(user);
}

typedef struct kin__kube_context {
  kin__kube_entry entry;
  kin__kube_text cluster;
  kin__kube_text user;
  kin__kube_text namespace_;
} kin__kube_context;

/* A bucket has about ten entries if there are as many as may be. */
#define KIN__KUBE_BUCKETS 1024u

/* Entries of one kind, in the order of the files. */
typedef struct kin__kube_entries {
  kin__kube_entry *first;
  kin__kube_entry *last;
  size_t count;
  size_t read_count;         /* also those whose name another file has */
  kin__kube_entry **buckets; /* KIN__KUBE_BUCKETS, by hash; NULL: no entry */
} kin__kube_entries;

typedef struct kin__kube_set {
  kin__vault vault;
  kin__kube_entries clusters;
  kin__kube_entries users;
  kin__kube_entries contexts;
  kin__kube_text current_context;
} kin__kube_set;

/* Allocates nothing. */
void kin__kube_set_init(kin__kube_set *set, const kin_allocator *allocator);
void kin__kube_set_finish(kin__kube_set *set);

/* Reads the text of a file, and merges it behind the files before it. Relative
 * paths are taken from the folder of `file`. A problem in the text is added to
 * `problems`; the other values are in the set all the same.
 * Errors: KIN_EINVAL (nothing could be read, which is told), KIN_ENOMEM. */
int kin__kube_set_add(kin__kube_set *set, const char *file, kin_str text,
                      kin__problems *problems);

/* The entry of a name; NULL: there is none. `name` NULL means "". */
const kin__kube_cluster *kin__kube_cluster_find(const kin__kube_set *set,
                                                const char *name);
const kin__kube_user *kin__kube_user_find(const kin__kube_set *set,
                                          const char *name);
const kin__kube_context *kin__kube_context_find(const kin__kube_set *set,
                                                const char *name);

/* For the reader of files: puts an entry of the file behind the others, unless
 * another file has the name. Errors: KIN_EEXIST (the same file has it),
 * KIN_ENOMEM. */
int kin__kube_entries_add(kin__kube_entries *entries, kin__vault *vault,
                          kin__kube_entry *entry);

#endif /* KIN_CONFIG_KUBE_SET_H */
