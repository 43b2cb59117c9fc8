/* SPDX-License-Identifier: MIT */
#include "discovery/lookup.h"

#include <string.h>

#include <kin/error.h>

#include "base/alloc.h"
#include "base/str.h"

/* kubectl's order (cli-runtime's Builder.mappingFor, client-go's
 * shortcutExpander, apimachinery's PriorityRESTMapper): the table is asked in
 * steps, and the first step that matches anything decides. Within a step the
 * order of the table decides. Different on purpose: a plural in its version
 * beats a singular of the same text, a kind is found in any group and any
 * case, and the exact name of a group beats the beginning of another. */

/* How well a resource matches in one step. */
typedef enum rank { RANK_NONE = 0, RANK_OTHER, RANK_PLURAL } rank;

typedef enum names { BY_NAME, BY_SHORT_NAME, BY_KIND } names;

typedef enum group_match { GROUP_EXACT, GROUP_BEGINS } group_match;

/* A word taken apart: "resource.version.group". */
typedef struct qualified {
  kin_str resource;
  kin_str version; /* empty: any */
  kin_str group;   /* empty: any */
} qualified;

typedef struct lookup_step {
  names by;
  group_match group;
} lookup_step;

static const lookup_step resource_steps[] = {
    {BY_NAME, GROUP_EXACT},
    {BY_SHORT_NAME, GROUP_EXACT},
    {BY_SHORT_NAME, GROUP_BEGINS},
    {BY_NAME, GROUP_BEGINS},
};
static const lookup_step kind_steps[] = {
    {BY_KIND, GROUP_EXACT},
    {BY_KIND, GROUP_BEGINS},
};

/* --- Words ---------------------------------------------------------------- */

const char *kin__word_split(kin__word *out, kin_str text) {
  *out = (kin__word){.resource = text};
  if (text.length == 0) {
    return "is empty";
  }
  if (text.length > KIN__WORD_MAX) {
    return "is over 1,024 bytes";
  }
  for (size_t i = 0; i < text.length; i++) {
    unsigned char c = (unsigned char)text.data[i];
    if (c < 0x20 || c == 0x7f) {
      return "has a control character";
    }
  }
  const char *slash = memchr(text.data, '/', text.length);
  if (slash == NULL) {
    return NULL;
  }
  out->resource = kin__str(text.data, (size_t)(slash - text.data));
  out->name = kin__str(slash + 1, text.length - out->resource.length - 1);
  if (out->resource.length == 0 || out->name.length == 0) {
    return "must have a resource and a name on the two sides of '/'";
  }
  return memchr(out->name.data, '/', out->name.length) == NULL
             ? NULL
             : "has more than one '/'";
}

/* Cuts `text` at its first dot. Returns false if there is none. */
static bool cut_at_dot(kin_str text, kin_str *before, kin_str *after) {
  const char *dot =
      text.length > 0 ? memchr(text.data, '.', text.length) : NULL;
  *before = text;
  *after = kin__str(NULL, 0);
  if (dot == NULL) {
    return false;
  }
  *before = kin__str(text.data, (size_t)(dot - text.data));
  *after = kin__str(dot + 1, text.length - before->length - 1);
  return true;
}

/* The readings of a word, as schema.ParseResourceArg has them. Returns their
 * number: with a version, if there are two dots, then with a group only. */
static int read_word(kin_str word, qualified readings[2]) {
  qualified *group_only = &readings[0];
  qualified with_version;
  int count = 1;
  *group_only = (qualified){.resource = word};
  cut_at_dot(word, &group_only->resource, &group_only->group);
  with_version = *group_only;
  if (cut_at_dot(group_only->group, &with_version.version,
                 &with_version.group)) {
    readings[1] = *group_only;
    readings[0] = with_version;
    count = 2;
  }
  return count;
}

/* --- One resource --------------------------------------------------------- */

static bool is_same(const char *name, kin_str word) {
  return kin__str_equal_nocase(kin__cstr(name), word);
}

static bool is_among(const char *const *list, kin_str word) {
  while (*list != NULL && !is_same(*list, word)) {
    list++;
  }
  return *list != NULL;
}

static rank rank_of(const kin_api_resource *resource, names by, kin_str word) {
  bool matches = false;
  switch (by) {
  case BY_NAME:
    if (is_same(resource->plural, word)) {
      return RANK_PLURAL;
    }
    matches = is_same(resource->singular, word);
    break;
  case BY_SHORT_NAME:
    matches = is_among(resource->short_names, word);
    break;
  case BY_KIND:
    matches = is_same(resource->kind, word);
    break;
  }
  return matches ? RANK_OTHER : RANK_NONE;
}

static bool version_matches(const kin__api_version *version,
                            const qualified *word, group_match how) {
  kin_str group = kin__cstr(version->group);
  if (word->version.length > 0 && !is_same(version->version, word->version)) {
    return false;
  }
  if (word->group.length == 0) {
    return how == GROUP_EXACT; /* any; once is enough */
  }
  if (how == GROUP_BEGINS && group.length > word->group.length) {
    group.length = word->group.length;
  }
  return kin__str_equal_nocase(group, word->group);
}

/* --- Results -------------------------------------------------------------- */

/* For at most `max` resources. Errors: KIN_ENOMEM. */
static int begin_found(kin__found *out, const kin__api_table *table,
                       uint32_t max) {
  uint32_t count = table->resource_count < max ? table->resource_count : max;
  *out = (kin__found){.allocator = table->allocator,
                      .seed = kin__hash_make_seed(table),
                      .place_count = 2 * count + 1};
  out->places =
      kin__calloc(out->allocator, out->place_count, sizeof *out->places);
  return out->places != NULL ? 0 : KIN_ENOMEM;
}

void kin__found_finish(kin__found *found) {
  kin__free(found->allocator, (void *)found->resources);
  kin__free(found->allocator, found->places);
  *found = (kin__found){.allocator = found->allocator};
}

static bool is_same_resource(const kin__found *found, const kin_api_resource *a,
                             const kin_api_resource *b) {
  return strcmp(a->plural, b->plural) == 0 && strcmp(a->group, b->group) == 0 &&
         (!found->has_all_versions || strcmp(a->version, b->version) == 0);
}

/* The place of the resource, or a free one if it is not there. */
static uint16_t *place_of(kin__found *found, const kin_api_resource *resource) {
  uint32_t at = kin__hash(&found->seed, kin__cstr(resource->plural)) +
                31 * kin__hash(&found->seed, kin__cstr(resource->group));
  uint32_t count = found->place_count;
  uint16_t *place;
  do {
    place = &found->places[at++ % count];
  } while (*place != 0 &&
           !is_same_resource(found, found->resources[*place - 1], resource));
  return place;
}

static int add_found(kin__found *found, const kin_api_resource *resource) {
  if (found->count >= found->place_count / 2) {
    return 0;
  }
  uint16_t *place = place_of(found, resource);
  if (*place != 0) {
    return 0;
  }
  int err = kin__reserve_one(found->allocator, (void *)&found->resources,
                             found->count, &found->capacity, sizeof(void *));
  if (err == 0) {
    found->resources[found->count++] = resource;
    *place = (uint16_t)found->count;
  }
  return err;
}

/* Puts the resource of the first version that matches best in front. Of two
 * that share a short name the first one counts, as in kubectl. */
static int settle(kin__found *found, names by, kin_str word) {
  const kin_api_resource *first = found->resources[0];
  uint32_t best = 0;
  uint32_t rivals = 0;
  for (uint32_t i = 1; i < found->count; i++) {
    const kin_api_resource *other = found->resources[i];
    if (other->group != first->group || other->version != first->version) {
      break;
    }
    rank mine = rank_of(found->resources[best], by, word);
    rank its = rank_of(other, by, word);
    rivals = its > mine ? 0 : rivals + (its == mine);
    best = its > mine ? i : best;
  }
  if (rivals > 0 && by != BY_SHORT_NAME) {
    found->count = found->count < rivals + 1 ? found->count : rivals + 1;
    return KIN_EAMBIGUOUS;
  }
  const kin_api_resource *chosen = found->resources[best];
  memmove(found->resources + 1, found->resources,
          best * sizeof *found->resources);
  found->resources[0] = chosen;
  return 0;
}

/* --- Steps ---------------------------------------------------------------- */

static int take_step(kin__found *found, const kin__api_table *table,
                     const qualified *word, const lookup_step *step) {
  int err = 0;
  for (uint32_t v = 0; err == 0 && v < table->version_count; v++) {
    const kin__api_version *version = table->versions[v];
    if (!version_matches(version, word, step->group)) {
      continue;
    }
    for (uint32_t r = 0; err == 0 && r < version->count; r++) {
      const kin_api_resource *resource = &version->resources[r];
      if (rank_of(resource, step->by, word->resource) != RANK_NONE) {
        err = add_found(found, resource);
      }
    }
  }
  if (err != 0) {
    return err;
  }
  return found->count > 0 ? settle(found, step->by, word->resource)
                          : KIN_ENOENT;
}

static int take_steps(kin__found *found, const kin__api_table *table,
                      kin_str word, const lookup_step *steps, size_t count) {
  qualified readings[2];
  int reading_count = read_word(word, readings);
  int err = KIN_ENOENT;
  for (int i = 0; err == KIN_ENOENT && i < reading_count; i++) {
    for (size_t s = 0; err == KIN_ENOENT && s < count; s++) {
      err = take_step(found, table, &readings[i], &steps[s]);
    }
  }
  return err;
}

static int find_category(kin__found *found, const kin__api_table *table,
                         kin_str word) {
  int err = 0;
  for (uint32_t v = 0; err == 0 && v < table->version_count; v++) {
    const kin__api_version *version = table->versions[v];
    for (uint32_t r = 0; err == 0 && r < version->count; r++) {
      if (is_among(version->resources[r].categories, word)) {
        err = add_found(found, &version->resources[r]);
      }
    }
  }
  found->is_category = found->count > 0;
  return err != 0 ? err : found->count > 0 ? 0 : KIN_ENOENT;
}

int kin__lookup(kin__found *out, const kin__api_table *table,
                const kin__word *word) {
  int err = begin_found(out, table, KIN__FOUND_MAX);
  if (err == 0) {
    err = word->name.length == 0 ? find_category(out, table, word->resource)
                                 : KIN_ENOENT;
  }
  if (err == KIN_ENOENT) {
    err = take_steps(out, table, word->resource, resource_steps,
                     sizeof resource_steps / sizeof *resource_steps);
  }
  if (err == KIN_ENOENT) {
    err = take_steps(out, table, word->resource, kind_steps,
                     sizeof kind_steps / sizeof *kind_steps);
  }
  return err;
}

int kin__lookup_all(kin__found *out, const kin__api_table *table,
                    bool has_all_versions) {
  int err = begin_found(out, table, KIN__API_RESOURCES_MAX);
  out->has_all_versions = has_all_versions;
  for (uint32_t v = 0; err == 0 && v < table->version_count; v++) {
    const kin__api_version *version = table->versions[v];
    for (uint32_t r = 0; err == 0 && r < version->count; r++) {
      err = add_found(out, &version->resources[r]);
    }
  }
  return err;
}
