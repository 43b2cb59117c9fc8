/* SPDX-License-Identifier: MIT */
#ifndef KIN_CONFIG_KUBE_CHECK_H
#define KIN_CONFIG_KUBE_CHECK_H

#include "config/config_env.h"
#include "config/kube_set.h"

/* The checks of clientcmd (KC-06). Each adds all that is wrong to the
 * problems. */

void kin__kube_check_cluster(const kin__kube_cluster *cluster,
                             const kin__config_env *env,
                             kin__problems *problems);
void kin__kube_check_user(const kin__kube_user *user,
                          const kin__config_env *env, kin__problems *problems);

/* Everything in a set. */
void kin__kube_check_all(const kin__kube_set *set, const kin__config_env *env,
                         kin__problems *problems);

/* One context with its user and its cluster; `name` NULL or "": the current
 * one. A missing user or cluster is checked as an empty one. */
void kin__kube_check_usable(const kin__kube_set *set, const char *name,
                            const kin__config_env *env,
                            kin__problems *problems);

/* Whether the scheme is one of a proxy. */
bool kin__kube_is_proxy_url(const char *url);

/* Whether a text is a DNS label: a namespace's name. */
bool kin__kube_is_label(const char *text);

/* A field of an entry, such as clusters[1].cluster.server; and the option that
 * overrides it. */
typedef struct kin__kube_spot {
  const char *list;  /* "clusters" */
  const char *field; /* "cluster.server" */
  const char *option;
} kin__kube_spot;
#define KIN__CLUSTER_SPOT(field, option)                                       \
  ((kin__kube_spot){"clusters", "cluster." field, option})
#define KIN__USER_SPOT(field, option)                                          \
  ((kin__kube_spot){"users", "user." field, option})
#define KIN__CONTEXT_SPOT(field, option)                                       \
  ((kin__kube_spot){"contexts", "context." field, option})

/* Adds a problem with a field. A value that an option gave, and a value of an
 * entry that no file has, are told by the name of the option. */
void kin__kube_problem(kin__problems *problems, const kin__kube_entry *entry,
                       const kin__kube_text *text, kin__kube_spot spot,
                       const char *format, ...)
    __attribute__((format(printf, 5, 6)));

#endif /* KIN_CONFIG_KUBE_CHECK_H */
