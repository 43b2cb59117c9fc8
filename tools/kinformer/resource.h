/* SPDX-License-Identifier: MIT */
#ifndef KINFORMER_RESOURCE_H
#define KINFORMER_RESOURCE_H

#include <stdbool.h>

/* A resource as it is named on the command line: `plural`, `plural.group` or
 * `plural.version.group`. Until there is discovery, the built-in resources and
 * groups are known from a table, as they have been since Kubernetes 1.25. */
typedef struct resource_name {
  const char *plural;
  const char *version;
  const char *group;      /* "" is the core group */
  bool is_cluster_scoped; /* known to have no namespace */
  char *storage;          /* what the names may point into */
} resource_name;

typedef enum resource_error {
  RESOURCE_OK = 0,
  RESOURCE_MALFORMED,     /* not names with dots between them */
  RESOURCE_UPPER_CASE,    /* a kind, probably */
  RESOURCE_NEEDS_VERSION, /* a group that is not known */
  RESOURCE_NO_MEMORY
} resource_error;

/* Takes a name apart. A second component such as "v1" or "v2beta1" is a
 * version; without one, the group's preferred version is taken if the group is
 * built in. A plural alone is the built-in resource of that name, else one of
 * the core group. On success, resource_finish frees what it holds. */
resource_error resource_parse(resource_name *out, const char *name);

void resource_finish(resource_name *name);

#endif /* KINFORMER_RESOURCE_H */
