/* SPDX-License-Identifier: MIT */
#ifndef APISIM_CALL_H
#define APISIM_CALL_H

/* One request to a resource, taken apart: which resource, which object, which
 * verb, and the options lists and watches share. */

#include <stdbool.h>
#include <stdint.h>

#include "media.h"
#include "registry.h"
#include "shards.h"
#include "selector.h"

struct conn;

typedef struct api_call {
  struct conn *c;
  resource *res;
  const char *ns;   // NULL = all namespaces, or a cluster-scoped resource
  const char *name; // NULL = the collection
  const char *sub;  // subresource or NULL
  const char *verb; // get, list, watch, create, update, patch, delete, ...
  media media;
} api_call;

/* The key of an object: "namespace/name", or "name" when cluster-scoped. Free
 * with free(). */
char *object_key(const char *ns, const char *name);

typedef struct filter {
  selector labels;
  selector fields;
  bool has_shard; // shardSelector, if the server knows shards
  shard_ranges shards;
  char *prefix; // of the keys in the namespace asked for; "" = all
} filter;

void filter_free(filter *f);
bool filter_match(const filter *f, const rev *r);
/* Whether the object is in the namespace at all. */
bool filter_in_scope(const filter *f, const rev *r);
bool filter_is_empty(const filter *f);

typedef struct list_options {
  const char *version_text; // resourceVersion as given; "" = unset
  uint64_t version;
  const char *match; // resourceVersionMatch; "" = unset
  const char *continue_token;
  uint64_t limit;
  uint64_t timeout_s; // 0 = unset
  bool watch;
  bool bookmarks;
  bool has_send_initial;
  bool send_initial;
  filter filter;
} list_options;

/* Reads and validates the query. On failure the request is answered and
 * nothing needs freeing; on success free with list_options_free(). */
bool list_options_read(const api_call *call, list_options *out);
void list_options_free(list_options *lo);

#endif
