/* SPDX-License-Identifier: MIT */
#include "discovery/near.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"

/* One more than the letters, and a column behind the band. */
#define ROW (KIN__NEAR_WORD_MAX + 2)
/* A beginning of a name counts from this length on: "deployme". */
#define BEGINNING_MIN 3u

static unsigned char lower(char c) {
  return (unsigned char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

static unsigned least(unsigned a, unsigned b) {
  return a < b ? a : b;
}

static size_t length_difference(kin_str a, kin_str b) {
  return a.length > b.length ? a.length - b.length : b.length - a.length;
}

/* Optimal string alignment: three rows of the table of distances. Cells that are
 * more than `limit` away from the diagonal are over the limit, so a row has at
 * most 2 * limit + 1 cells. Adds the rows to *work. */
static unsigned align(kin_str a, kin_str b, unsigned limit, unsigned *work) {
  unsigned rows[3][ROW];
  unsigned length = (unsigned)b.length;
  for (unsigned j = 0; j <= least(length, limit + 1); j++) {
    rows[0][j] = j;
  }
  for (unsigned i = 1; i <= a.length; i++) {
    unsigned *row = rows[i % 3];
    const unsigned *above = rows[(i + 2) % 3];
    const unsigned *two_above = rows[(i + 1) % 3];
    unsigned first = i > limit ? i - limit : 1;
    unsigned last = least(length, i + limit);
    unsigned best = row[first - 1] = i > limit ? limit + 1 : i;
    for (unsigned j = first; j <= last; j++) {
      bool differs = lower(a.data[i - 1]) != lower(b.data[j - 1]);
      row[j] = least(above[j - 1] + differs, least(above[j], row[j - 1]) + 1);
      if (i > 1 && j > 1 && lower(a.data[i - 1]) == lower(b.data[j - 2]) &&
          lower(a.data[i - 2]) == lower(b.data[j - 1])) {
        row[j] = least(row[j], two_above[j - 2] + 1);
      }
      best = least(best, row[j]);
    }
    row[last + 1] = limit + 1;
    ++*work;
    if (best > limit) {
      return limit + 1;
    }
  }
  return least(rows[a.length % 3][length], limit + 1);
}

unsigned kin__near_distance(kin_str a, kin_str b, unsigned limit,
                            unsigned *work) {
  if (a.length > KIN__NEAR_WORD_MAX || b.length > KIN__NEAR_WORD_MAX ||
      length_difference(a, b) > limit) {
    return limit + 1;
  }
  return align(a, b, limit, work);
}

/* Short words are like too many others. */
static unsigned limit_for(size_t length) {
  return length <= 2 ? 0 : length <= 3 ? 1 : length <= 6 ? 2 : 3;
}

/* Adds the letters of `text` that were read to *work. */
static bool begins_with(const char *text, kin_str beginning, unsigned *work) {
  size_t i = 0;
  while (i < beginning.length && text[i] != '\0' &&
         lower(text[i]) == lower(beginning.data[i])) {
    i++;
  }
  *work += (unsigned)i;
  return i == beginning.length;
}

static unsigned distance_to_name(const char *name, kin_str word, unsigned limit,
                                 unsigned *work) {
  ++*work;
  /* The rest of a longer name is not looked at. */
  kin_str text = kin__str(name, strnlen(name, KIN__NEAR_WORD_MAX + 1));
  unsigned strict = least(limit, limit_for(text.length));
  unsigned found = kin__near_distance(text, word, strict, work);
  found = found > strict ? limit + 1 : found;
  if (found > limit && word.length >= BEGINNING_MIN &&
      begins_with(name, word, work)) {
    return limit;
  }
  return found;
}

static unsigned distance_to(const kin_api_resource *resource, kin_str word,
                            unsigned limit, unsigned *work) {
  unsigned best =
      least(distance_to_name(resource->plural, word, limit, work),
            least(distance_to_name(resource->singular, word, limit, work),
                  distance_to_name(resource->kind, word, limit, work)));
  for (const char *const *name = resource->short_names; *name != NULL; name++) {
    best = least(best, distance_to_name(*name, word, limit, work));
  }
  return best;
}

/* --- The best ones -------------------------------------------------------- */

typedef struct near_best {
  const kin_api_resource *resources[KIN__NEAR_MAX];
  unsigned distances[KIN__NEAR_MAX];
  size_t count;
} near_best;

static bool is_listed(const near_best *best, const kin_api_resource *resource) {
  for (size_t i = 0; i < best->count; i++) {
    if (strcmp(best->resources[i]->plural, resource->plural) == 0 &&
        strcmp(best->resources[i]->group, resource->group) == 0) {
      return true;
    }
  }
  return false;
}

static void insert_near(near_best *best, const kin_api_resource *resource,
                        unsigned distance) {
  size_t at = best->count;
  while (at > 0 && best->distances[at - 1] > distance) {
    at--;
  }
  if (at == KIN__NEAR_MAX || is_listed(best, resource)) {
    return;
  }
  size_t kept = best->count < KIN__NEAR_MAX ? best->count++ : KIN__NEAR_MAX - 1;
  memmove(best->resources + at + 1, best->resources + at,
          (kept - at) * sizeof *best->resources);
  memmove(best->distances + at + 1, best->distances + at,
          (kept - at) * sizeof *best->distances);
  best->resources[at] = resource;
  best->distances[at] = distance;
}

static void find_best(near_best *best, const kin__api_table *table,
                      kin_str word) {
  unsigned limit = limit_for(word.length);
  unsigned work = 0;
  for (uint32_t v = 0; v < table->version_count; v++) {
    const kin__api_version *version = table->versions[v];
    for (uint32_t r = 0; r < version->count && work < KIN__NEAR_WORK_MAX; r++) {
      unsigned distance =
          distance_to(&version->resources[r], word, limit, &work);
      if (distance <= limit) {
        insert_near(best, &version->resources[r], distance);
      }
    }
  }
}

/* Whether the plural alone is sure to be found in this group. Adds the names and
 * letters that were read to *work. */
static bool is_first_of_plural(const kin__api_table *table,
                               const kin_api_resource *resource,
                               unsigned *work) {
  kin_str plural = kin__cstr(resource->plural);
  for (uint32_t v = 0; v < table->version_count; v++) {
    const kin__api_version *version = table->versions[v];
    for (uint32_t r = 0; r < version->count && *work < KIN__NEAR_WORK_MAX;
         r++, ++*work) {
      const char *other = version->resources[r].plural;
      if (begins_with(other, plural, work) && other[plural.length] == '\0') {
        return strcmp(version->group, resource->group) == 0;
      }
    }
  }
  return false;
}

void kin__near_find(kin__near *out, const kin__api_table *table, kin_str word) {
  const char *dot =
      word.length > 0 ? memchr(word.data, '.', word.length) : NULL;
  if (dot != NULL) {
    word.length = (size_t)(dot - word.data);
  }
  near_best best = {.count = 0};
  /* After the bound every word is written with its group, which is never
   * wrong. */
  unsigned work = 0;
  out->count = 0;
  if (word.length == 0 || word.length > KIN__NEAR_WORD_MAX) {
    return;
  }
  find_best(&best, table, word);
  for (size_t i = 0; i < best.count; i++) {
    const kin_api_resource *resource = best.resources[i];
    bool has_group =
        resource->group[0] != '\0' &&
        (dot != NULL || !is_first_of_plural(table, resource, &work));
    snprintf(out->words[out->count++], sizeof out->words[0], "%s%s%s",
             resource->plural, has_group ? "." : "",
             has_group ? resource->group : "");
  }
}
