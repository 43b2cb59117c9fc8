/* SPDX-License-Identifier: MIT */
#include "config/kube_set.h"

#include <string.h>

#include <kin/error.h>

#include "base/hash.h"
#include "base/str.h"

void kin__kube_set_init(kin__kube_set *set, const kin_allocator *allocator) {
  *set = (kin__kube_set){.clusters = {.count = 0}};
  kin__vault_init(&set->vault, allocator);
}

void kin__kube_set_finish(kin__kube_set *set) {
  kin__vault_finish(&set->vault);
  kin__kube_set_init(set, set->vault.allocator);
}

/* The seed may be known: there is a bound on the number of entries. */
static uint32_t hash_name(const char *name) {
  static const kin__hash_seed seed = {1, 2};
  return kin__hash(&seed, kin__cstr(name));
}

static kin__kube_entry *find_entry(const kin__kube_entries *entries,
                                   const char *name, uint32_t hash) {
  kin__kube_entry *entry = entries->buckets != NULL
                               ? entries->buckets[hash % KIN__KUBE_BUCKETS]
                               : NULL;
  while (entry != NULL &&
         (entry->hash != hash || strcmp(entry->name, name) != 0)) {
    entry = entry->next_of_bucket;
  }
  return entry;
}

static void append_entry(kin__kube_entries *entries, kin__kube_entry *entry) {
  kin__kube_entry **bucket = &entries->buckets[entry->hash % KIN__KUBE_BUCKETS];
  entry->next_of_bucket = *bucket;
  *bucket = entry;
  if (entries->last != NULL) {
    entries->last->next = entry;
  } else {
    entries->first = entry;
  }
  entries->last = entry;
  entries->count++;
}

int kin__kube_entries_add(kin__kube_entries *entries, kin__vault *vault,
                          kin__kube_entry *entry) {
  if (entries->buckets == NULL) {
    entries->buckets =
        kin__vault_alloc(vault, KIN__KUBE_BUCKETS, sizeof *entries->buckets);
    if (entries->buckets == NULL) {
      return KIN_ENOMEM;
    }
  }
  entry->hash = hash_name(entry->name);
  entries->read_count++;
  kin__kube_entry *known = find_entry(entries, entry->name, entry->hash);
  if (known == NULL) {
    append_entry(entries, entry);
    return 0;
  }
  kin__kube_entry *latest = known->of_later_file;
  const char *file = (latest != NULL ? latest : known)->place.file;
  known->of_later_file = entry;
  return file == entry->place.file ? KIN_EEXIST : 0;
}

static const kin__kube_entry *find_name(const kin__kube_entries *entries,
                                        const char *name) {
  const char *given = kin__or_default(name, "");
  return find_entry(entries, given, hash_name(given));
}

/* The entry is the first member of all three. */

const kin__kube_cluster *kin__kube_cluster_find(const kin__kube_set *set,
                                                const char *name) {
  return (const kin__kube_cluster *)find_name(&set->clusters, name);
}

const kin__kube_user *kin__kube_user_find(const kin__kube_set *set,
                                          const char *name) {
  return (const kin__kube_user *)find_name(&set->users, name);
}

const kin__kube_context *kin__kube_context_find(const kin__kube_set *set,
                                                const char *name) {
  return (const kin__kube_context *)find_name(&set->contexts, name);
}
