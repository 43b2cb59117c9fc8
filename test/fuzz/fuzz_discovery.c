/* SPDX-License-Identifier: MIT */

/* Discovery documents of all forms, and words looked up in what they say.
 * Oracles:
 *  - a table has only names that a request and a message may have
 *  - each resource is found by its full name, and by its plural in some group
 *  - a look-up finds, or else what is like the word is in the table
 *  - a document that is refused adds nothing */

#include <stdlib.h>
#include <string.h>

#include <kin/error.h>

#include "base/alloc.h"
#include "base/str.h"
#include "discovery/document.h"
#include "support/documents.h"
#include "discovery/lookup.h"
#include "discovery/near.h"
#include "fuzz/fuzz.h"
#include "listwatch/target.h"

static void check_name(const char *name) {
  size_t length = strlen(name);
  FUZZ_CHECK(length > 0 && length <= KIN__API_NAME_MAX);
  for (size_t i = 0; i < length; i++) {
    unsigned char c = (unsigned char)name[i];
    FUZZ_CHECK(c >= 0x20 && c != 0x7f);
  }
}

static void check_list(const char *const *list) {
  size_t count = 0;
  for (; list[count] != NULL; count++) {
    check_name(list[count]);
  }
  FUZZ_CHECK(count <= KIN__API_LIST_MAX);
}

static void check_resource(const kin_api_resource *resource) {
  FUZZ_CHECK(kin__segment_is_valid(resource->plural));
  check_name(resource->singular);
  check_name(resource->kind);
  check_list(resource->short_names);
  check_list(resource->categories);
  check_list(resource->verbs);
  check_list(resource->subresources);
}

static int look(kin__found *found, const kin__api_table *table, kin_str text) {
  kin__word word;
  found->allocator = table->allocator;
  found->resources = NULL;
  if (kin__word_split(&word, text) != NULL) {
    return KIN_EINVAL;
  }
  int err = kin__lookup(found, table, &word);
  FUZZ_CHECK(err == 0 || err == KIN_ENOENT || err == KIN_EAMBIGUOUS);
  FUZZ_CHECK((err == KIN_ENOENT) == (found->count == 0));
  FUZZ_CHECK(err != KIN_EAMBIGUOUS || found->count > 1);
  return err;
}

/* "plural.version.group/x": a name keeps categories out. The group may be the
 * beginning of another, but its own name wins. */
static void check_full_name(const kin__api_table *table,
                            const kin_api_resource *resource) {
  char text[4 * KIN__API_NAME_MAX];
  kin__found found;
  if (resource->group[0] == '\0' || strchr(resource->plural, '.') != NULL ||
      strchr(resource->version, '.') != NULL) {
    return;
  }
  snprintf(text, sizeof text, "%s.%s.%s/x", resource->plural, resource->version,
           resource->group);
  FUZZ_CHECK(look(&found, table, kin__cstr(text)) == 0);
  FUZZ_CHECK(strcmp(found.resources[0]->plural, resource->plural) == 0);
  FUZZ_CHECK(strcmp(found.resources[0]->version, resource->version) == 0);
  FUZZ_CHECK(strcmp(found.resources[0]->group, resource->group) == 0);
  kin__found_finish(&found);
}

static void check_table(const kin__api_table *table) {
  uint32_t count = 0;
  for (uint32_t v = 0; v < table->version_count; v++) {
    const kin__api_version *version = table->versions[v];
    FUZZ_CHECK((version->group[0] == '\0') == (v < table->core_count));
    FUZZ_CHECK(version->group[0] == '\0' ||
               kin__segment_is_valid(version->group));
    FUZZ_CHECK(kin__segment_is_valid(version->version));
    for (uint32_t r = 0; r < version->count; r++) {
      check_resource(&version->resources[r]);
      check_full_name(table, &version->resources[r]);
    }
    count += version->count;
  }
  FUZZ_CHECK(count == table->resource_count);
}

static void check_near(const kin__api_table *table, kin_str word) {
  kin__near near;
  kin__near_find(&near, table, word);
  FUZZ_CHECK(near.count <= KIN__NEAR_MAX);
  for (size_t i = 0; i < near.count; i++) {
    kin__found found;
    char text[sizeof near.words[0] + 2];
    snprintf(text, sizeof text, "%s/x", near.words[i]);
    if (strchr(near.words[i], '.') == NULL) {
      FUZZ_CHECK(look(&found, table, kin__cstr(text)) == 0);
      kin__found_finish(&found);
    }
  }
}

static void check_word(const kin__api_table *table, kin_str text) {
  kin__found found;
  int err = look(&found, table, text);
  kin__found_finish(&found);
  if (err == KIN_ENOENT) {
    check_near(table, text);
  }
}

static int read_document(kin__api_table *table, unsigned form, kin_str text) {
  kin__api_version *version;
  if (form < 2) {
    return read_root_document(table, text, form == 0);
  }
  FUZZ_CHECK(kin__api_table_add_version(table, KIN__LIT("a.b"), KIN__LIT("v1"),
                                        KIN__API_PENDING, &version) == 0);
  int err = read_version_document(table, version, text);
  FUZZ_CHECK((err == 0) == (version->state == KIN__API_KNOWN));
  return err;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_input in = {data, size};
  unsigned form = fuzz_byte(&in) % 3u;
  size_t word_at = fuzz_byte(&in);
  size_t word_length = fuzz_byte(&in);
  (void)fuzz_byte(&in);
  kin_str text = fuzz_rest(&in);
  kin__api_table table;
  kin__api_table_init(&table, kin__default_allocator());
  int err = read_document(&table, form, text);
  FUZZ_CHECK(err == 0 || err == KIN_EJSON || err == KIN_EUNEXPECTED);
  FUZZ_CHECK(err == 0 || table.resource_count == 0);
  check_table(&table);
  if (word_at < text.length) {
    size_t left = text.length - word_at;
    check_word(&table, kin__str(text.data + word_at,
                                word_length < left ? word_length : left));
  }
  check_word(&table, KIN__LIT("podz"));
  kin__api_table_finish(&table);
  return 0;
}
