/* SPDX-License-Identifier: MIT */
#ifndef KIN_DISCOVERY_LOOKUP_H
#define KIN_DISCOVERY_LOOKUP_H

#include "base/hash.h"
#include "discovery/table.h"

/* Finds the resources of a table that a word names. */

#define KIN__WORD_MAX 1024u
#define KIN__FOUND_MAX 1024u

/* A word without and with its parts; borrowed. */
typedef struct kin__word {
  kin_str resource;
  kin_str name; /* "deployments/web": "web"; else empty */
} kin__word;

/* Splits at the '/'. Returns NULL, or the reason why it is no word. */
const char *kin__word_split(kin__word *out, kin_str text);

typedef struct kin__found {
  const kin_allocator *allocator;
  const kin_api_resource *
      *resources; /* the table's; see kin_discovery_result */
  uint32_t count;
  uint32_t capacity;
  bool is_category;
  bool has_all_versions; /* else a resource is there once */
  /* Where the resources are, by the hash of plural and group: index + 1 in
   * `resources`, as they were added; 0: free. Half of them stay free. */
  kin__hash_seed seed;
  uint16_t *places;
  uint32_t place_count;
} kin__found;

/* Looks a word up. `out` is to be finished in each case.
 * Errors: KIN_ENOENT, KIN_EAMBIGUOUS, KIN_ENOMEM. Cost: O(resources). */
int kin__lookup(kin__found *out, const kin__api_table *table,
                const kin__word *word);
/* Takes all resources: of each the first version that has it, which is the
 * preferred one of its group, or all versions. `out` is to be finished in each
 * case. Errors: KIN_ENOMEM. Cost: O(resources). */
int kin__lookup_all(kin__found *out, const kin__api_table *table,
                    bool has_all_versions);
void kin__found_finish(kin__found *found);

#endif /* KIN_DISCOVERY_LOOKUP_H */
