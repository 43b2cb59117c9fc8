/* SPDX-License-Identifier: MIT */
#ifndef KIN_LISTWATCH_TARGET_H
#define KIN_LISTWATCH_TARGET_H

#include <stdbool.h>
#include <stdint.h>

#include <kin/lister_watcher.h>

#include "base/buf.h"
#include "listwatch/shard.h"

/* The resource to list and watch. Strings are NUL-terminated, checked, and live
 * as long as the informer. */
typedef struct kin__resource {
  const char *group; /* "" for the core group */
  const char *version;
  const char *plural;
  const char *label_selector; /* "" for none */
  const char *field_selector;
  bool metadata_only;
  const kin_parameter *parameters; /* the program's own, checked */
  size_t parameter_count;
  kin_modify_request_cb modify; /* may be NULL */
  void *modify_data;
  kin__shard shard; /* may change between two requests */
} kin__resource;

#define KIN__MAX_PARAMETERS 64u

/* Query parameters. Empty strings and zeros are left out, except the program's
 * own parameters (RQ-04). */
typedef struct kin__query {
  const char *label_selector;
  const char *field_selector;
  const kin_parameter *parameters; /* at most KIN__MAX_PARAMETERS */
  size_t parameter_count;
  const char *version; /* resourceVersion */
  const char *version_match;
  const char *token; /* continue */
  uint32_t limit;
  bool is_watch;
  bool sends_initial_events; /* of a watch: WL-02 */
  uint32_t timeout_s;        /* RW-01; 0: the server chooses */
} kin__query;

/* Empties `out`, then writes the request target and a NUL: the path, and the
 * query with sorted keys and percent-encoded values (RQ-02, RQ-04). Parameters
 * of one name keep their order. The resource's shard is one of them.
 * `namespace_` "" means all. Errors: KIN_ENOMEM, KIN_ETOOBIG. */
int kin__target_write(kin__buf *out, const kin__resource *resource,
                      const char *namespace_, const kin__query *query);

/* Appends a path segment or a parameter with all bytes percent-encoded that are
 * not unreserved (RFC 3986). Errors: KIN_ENOMEM, KIN_ETOOBIG. */
int kin__target_append_escaped(kin__buf *out, kin_str s);
/* Inserts a parameter behind those whose names do not sort behind its own. The
 * array must have room. */
void kin__parameters_insert(kin_parameter *sorted, size_t *count,
                            const kin_parameter *parameter);
/* Appends "?name=value&..." to a target; `first` stands before the first one.
 * Errors: KIN_ENOMEM, KIN_ETOOBIG. */
int kin__parameters_append(kin__buf *out, const kin_parameter *sorted,
                           size_t count, char first);

/* Value of the Accept field. Static. */
const char *kin__target_accept(const kin__resource *resource, bool is_watch);

/* Whether `s` can be a path segment: not empty, at most 253 bytes, lower-case
 * letters, digits, '-' and '.', and not "." or ".." (RQ-03). */
bool kin__segment_is_valid(const char *s);

/* Whether a program may use these, as kin_informer_options says. Selectors:
 * NULL or at most 64 KiB. Parameters: few, short, and without the names that
 * the library sets itself. */
bool kin__selector_is_valid(const char *selector);
bool kin__parameters_are_valid(const kin_parameter *parameters, size_t count);
/* Whether the library sets the parameter of this name itself. */
bool kin__target_is_own_parameter(const char *name);

#endif /* KIN_LISTWATCH_TARGET_H */
