/* SPDX-License-Identifier: MIT */
#ifndef KINFORMER_RESOURCE_H
#define KINFORMER_RESOURCE_H

#include <stdbool.h>

/* A resource as it is named on the command line. Built-in resources are known
 * from a table, as they have been since Kubernetes 1.25, and need no request.
 * The server is asked for every other word. Where discovery is refused (403) or
 * absent (404), `plural.version.group` is believed. */
typedef struct resource_name {
  const char *word;   /* for the server; NULL: all is known */
  const char *plural; /* with a word and no version: the word */
  const char *version;
  const char *group;      /* "" is the core group */
  bool is_cluster_scoped; /* known to have no namespace */
  char *storage;          /* of the word, and of the names behind it */
} resource_name;

typedef enum resource_error {
  RESOURCE_OK = 0,
  RESOURCE_MALFORMED, /* not names with dots between them */
  RESOURCE_NO_MEMORY
} resource_error;

/* Takes a name apart. A second component such as "v1" or "v2beta1" is a
 * version. On success, resource_finish frees what it holds. */
resource_error resource_parse(resource_name *out, const char *name);

void resource_finish(resource_name *name);

#endif /* KINFORMER_RESOURCE_H */
