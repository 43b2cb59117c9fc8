/* SPDX-License-Identifier: MIT */

/* How kin-apisim merges: server-side apply, strategic merge patches, sets of
 * fields. The input is an object with the members live, config, patch and set.
 * Oracles:
 *  - applied again, nothing changes; nothing leaves that nobody takes away
 *  - without owners all that was applied goes again
 *  - a set is its part within another and its part without */

#include <stdlib.h>
#include <string.h>

#include <yyjson.h>

#include "../../tools/apisim/apply_merge.h"
#include "../../tools/apisim/fields.h"
#include "../../tools/apisim/object.h"
#include "../../tools/apisim/schema.h"
#include "../../tools/apisim/strategic.h"
#include "base/str.h"
#include "fuzz/fuzz.h"

static schema_set types;

static void free_types(void) {
  schema_set_free(&types);
}

static schema schema_for(uint8_t choice) {
  static const char *const NAMES[] = {
      "io.k8s.api.core.v1.Pod", "io.k8s.api.apps.v1.Deployment",
      "io.k8s.api.core.v1.ConfigMap", "io.k8s.api.core.v1.Service"};
  size_t count = sizeof NAMES / sizeof NAMES[0];
  if (choice % (count + 1) == count) {
    return (schema){.set = &types};
  }
  yyjson_val *type = schema_set_get(&types, NAMES[choice % (count + 1)]);
  FUZZ_CHECK(type != NULL);
  return (schema){.set = &types, .field = type, .type = type};
}

/* An object without parts that cannot be told apart. A value in which a member
 * occurs twice is unequal to itself. */
static bool is_sound(yyjson_mut_doc *doc, schema s, yyjson_mut_val *object) {
  buf problem = {0};
  (void)fields_of(doc, s, object, &problem);
  bool sound = yyjson_mut_is_obj(object) && problem.len == 0 &&
               yyjson_mut_equals(object, object);
  buf_free(&problem);
  return sound;
}

static bool has_null(yyjson_mut_val *value) {
  size_t length = 0;
  char *text = yyjson_mut_val_write(value, YYJSON_WRITE_NOFLAG, &length);
  bool found = text == NULL || strstr(text, "null") != NULL;
  free(text);
  return found;
}

static bool is_same(fields_change change) {
  return fields_is_empty(change.added) && fields_is_empty(change.modified) &&
         fields_is_empty(change.removed);
}

static void check_sets(yyjson_mut_doc *doc, fields *a, fields *b) {
  fields *without = fields_combine(doc, FIELDS_DIFFERENCE, a, b);
  fields *within = fields_combine(doc, FIELDS_INTERSECTION, a, b);
  FUZZ_CHECK(fields_is_empty(
      fields_combine(doc, FIELDS_INTERSECTION, without, within)));
  fields *both = fields_combine(doc, FIELDS_UNION, without, within);
  FUZZ_CHECK(fields_is_empty(fields_combine(doc, FIELDS_DIFFERENCE, a, both)));
  FUZZ_CHECK(fields_is_empty(fields_combine(doc, FIELDS_DIFFERENCE, both, a)));
}

static void visit(const char *path, void *data) {
  FUZZ_CHECK(*path != '\0');
  *(size_t *)data += 1;
}

static void check_apply(yyjson_mut_doc *doc, schema s, yyjson_mut_val *live,
                        yyjson_mut_val *config) {
  yyjson_mut_val *merged =
      apply_merge(doc, s, yyjson_mut_val_mut_copy(doc, live), config);
  if (has_null(config)) {
    return;
  }
  fields *applied = fields_of(doc, s, config, NULL);
  fields *there = fields_of(doc, s, merged, NULL);
  fields_change change = fields_compare(doc, s, live, merged);
  FUZZ_CHECK(fields_is_empty(change.removed));
  yyjson_mut_val *again =
      apply_merge(doc, s, yyjson_mut_val_mut_copy(doc, merged), config);
  FUZZ_CHECK(is_same(fields_compare(doc, s, merged, again)));
  apply_prune(s, again, there, fields_empty(doc));
  FUZZ_CHECK(yyjson_mut_obj_size(again) == 0);
  check_sets(doc, applied, there);
}

static void check_patch(yyjson_mut_doc *doc, schema s, yyjson_mut_val *live,
                        yyjson_mut_val *patch) {
  buf error = {0};
  yyjson_mut_val *object = yyjson_mut_val_mut_copy(doc, live);
  bool is_applied = strategic_apply(doc, s, object, patch, &error);
  FUZZ_CHECK(is_applied == (error.len == 0));
  size_t length = 0;
  char *text = yyjson_mut_val_write(object, YYJSON_WRITE_NOFLAG, &length);
  FUZZ_CHECK(text != NULL);
  free(text);
  buf_free(&error);
}

static void check(yyjson_mut_doc *doc, schema s) {
  yyjson_mut_val *root = yyjson_mut_doc_get_root(doc);
  yyjson_mut_val *live = yyjson_mut_obj_get(root, "live");
  yyjson_mut_val *config = yyjson_mut_obj_get(root, "config");
  fields *set = yyjson_mut_obj_get(root, "set");
  if (is_sound(doc, s, live) && is_sound(doc, s, config)) {
    check_apply(doc, s, live, config);
  }
  if (yyjson_mut_is_obj(live)) {
    check_patch(doc, s, live, yyjson_mut_obj_get(root, "patch"));
    fields *own = fields_of(doc, s, live, NULL);
    if (fields_normalize(set)) {
      fields *all = fields_combine(doc, FIELDS_UNION, own, set);
      apply_prune(s, yyjson_mut_val_mut_copy(doc, live), all, set);
      size_t members = 0;
      fields_visit(all, visit, &members);
    }
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (types.doc == NULL) {
    schema_set_init(&types);
    atexit(free_types);
  }
  fuzz_input in = {data, size};
  uint8_t choice = fuzz_byte(&in);
  (void)fuzz_take(&in, FUZZ_JSON_HEADER - 1);
  kin_str text = fuzz_rest(&in);
  yyjson_doc *read =
      text.length > 0 && object_depth_ok(text.data, text.length)
          ? yyjson_read(text.data, text.length, YYJSON_READ_NUMBER_AS_RAW)
          : NULL;
  if (read != NULL) {
    yyjson_mut_doc *doc = yyjson_doc_mut_copy(read, NULL);
    check(doc, schema_for(choice));
    yyjson_mut_doc_free(doc);
    yyjson_doc_free(read);
  }
  return 0;
}
