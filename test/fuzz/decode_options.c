/* SPDX-License-Identifier: MIT */
#include "fuzz/decode_options.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/str.h"
#include "object/object.h"

static const char *const fields[] = {"/spec/nodeName", "/status",
                                     "/metadata/annotations/a~1b"};

/* What is left with these fields: members, by the place of their parent. */
enum place { NOWHERE, ROOT, METADATA, ANNOTATIONS, SPEC };
static const struct {
  enum place parent;
  const char *name;
  enum place place; /* NOWHERE: it is kept with all that is in it */
} left[] = {
    {ROOT, "apiVersion", NOWHERE},
    {ROOT, "kind", NOWHERE},
    {ROOT, "status", NOWHERE},
    {ROOT, "metadata", METADATA},
    {ROOT, "spec", SPEC},
    {METADATA, "name", NOWHERE},
    {METADATA, "namespace", NOWHERE},
    {METADATA, "uid", NOWHERE},
    {METADATA, "resourceVersion", NOWHERE},
    {METADATA, "labels", NOWHERE},
    {METADATA, "annotations", ANNOTATIONS},
    {ANNOTATIONS, "a/b", NOWHERE},
    {SPEC, "nodeName", NOWHERE},
};

static const char *const known[] = {"a", "b", "pod-1"};

decode_options decode_options_read(fuzz_input *in) {
  decode_options options = {0};
  uint8_t bits = fuzz_byte(in);
  options.projection = bits % 4 == 3 ? KEEPS_DEFAULT : bits % 4;
  options.skips_bad = (bits & 4) != 0;
  options.knows_some = (bits & 8) != 0;
  options.is_limited = (bits & 16) != 0;
  options.how = fuzz_byte(in);
  uint8_t object = fuzz_byte(in);
  uint8_t other = fuzz_byte(in);
  options.limits =
      (kin__decode_limits){.max_object_bytes = 1 << 20, .max_depth = 512};
  if (options.is_limited) {
    options.limits.max_object_bytes = 16u + 8u * object;
    options.limits.max_depth = 1u + other % 16;
    options.limits.max_passed_bytes =
        other >= 128 ? options.limits.max_object_bytes + other * 16u : 0;
  }
  return options;
}

kin__projection *decode_options_projection(const decode_options *options) {
  kin__projection *projection = NULL;
  int err = 0;
  if (options->projection == KEEPS_DEFAULT) {
    err = kin__projection_new(&projection, kin__default_allocator(), false);
  } else if (options->projection == KEEPS_FIELDS) {
    err = kin__projection_new_fields(&projection, kin__default_allocator(),
                                     fields, sizeof fields / sizeof *fields);
  }
  FUZZ_CHECK(err == 0);
  return projection;
}

void decode_options_apply(const decode_options *options, decoded *got) {
  got->skips_bad = options->skips_bad;
  if (options->knows_some) {
    got->known = known;
    got->known_count = sizeof known / sizeof *known;
  }
}

void decode_check_same(const decode_options *options, decoded *got, int got_err,
                       decoded *whole, int whole_err) {
  FUZZ_CHECK((got_err == 0) == (whole_err == 0));
  if (whole_err == 0 || !options->is_limited) {
    FUZZ_CHECK(got_err == whole_err);
    decoded_assert_same(got, whole, "in pieces");
    return;
  }
  size_t common =
      got->log.length < whole->log.length ? got->log.length : whole->log.length;
  FUZZ_CHECK(common == 0 ||
             memcmp(got->log.data, whole->log.data, common) == 0);
}

yyjson_doc *decode_read(kin_str text, bool is_first_of_many) {
  yyjson_read_flag flags = YYJSON_READ_NUMBER_AS_RAW;
  if (is_first_of_many) {
    flags |= YYJSON_READ_STOP_WHEN_DONE;
  }
  /* Not written to without YYJSON_READ_INSITU. */
  return text.length > 0 ? yyjson_read_opts((char *)text.data, text.length,
                                            flags, NULL, NULL)
                         : NULL;
}

/* What is left of the text */

static bool is_name(yyjson_mut_val *name, const char *expected) {
  return yyjson_mut_equals_strn(name, expected, strlen(expected));
}

static void drop_managed_fields(yyjson_mut_val *item) {
  yyjson_mut_obj_iter members = yyjson_mut_obj_iter_with(item);
  yyjson_mut_val *name;
  while ((name = yyjson_mut_obj_iter_next(&members)) != NULL) {
    yyjson_mut_val *value = yyjson_mut_obj_iter_get_val(name);
    if (!is_name(name, "metadata") || !yyjson_mut_is_obj(value)) {
      continue;
    }
    yyjson_mut_obj_iter inner = yyjson_mut_obj_iter_with(value);
    yyjson_mut_val *inner_name;
    while ((inner_name = yyjson_mut_obj_iter_next(&inner)) != NULL) {
      if (is_name(inner_name, "managedFields")) {
        yyjson_mut_obj_iter_remove(&inner);
      }
    }
  }
}

static void keep_fields(yyjson_mut_val *object, enum place place) {
  yyjson_mut_obj_iter members = yyjson_mut_obj_iter_with(object);
  yyjson_mut_val *name;
  while ((name = yyjson_mut_obj_iter_next(&members)) != NULL) {
    yyjson_mut_val *value = yyjson_mut_obj_iter_get_val(name);
    size_t i = 0;
    while (i < sizeof left / sizeof *left &&
           (left[i].parent != place || !is_name(name, left[i].name))) {
      i++;
    }
    bool is_named = i < sizeof left / sizeof *left;
    bool is_on_the_way = is_named && left[i].place != NOWHERE;
    /* No field can be inside a scalar. */
    if (!is_named || (is_on_the_way && !yyjson_mut_is_ctn(value))) {
      yyjson_mut_obj_iter_remove(&members);
    } else if (is_on_the_way && yyjson_mut_is_obj(value)) {
      keep_fields(value, left[i].place);
    } else if (is_on_the_way) {
      (void)yyjson_mut_arr_clear(value); /* no field names an element */
    }
  }
}

/* The same value as text that does not depend on how it was written. */
static char *canonical(yyjson_mut_val *value) {
  char *text = yyjson_mut_val_write(value, YYJSON_WRITE_NOFLAG, NULL);
  FUZZ_CHECK(text != NULL);
  return text;
}

static void check_body(const decode_options *options, const kin_object *kept,
                       yyjson_val *item) {
  yyjson_doc *doc = decode_read(kin__object_body(kept), false);
  FUZZ_CHECK(doc != NULL);
  yyjson_mut_doc *scratch = yyjson_mut_doc_new(NULL);
  yyjson_mut_val *expected = yyjson_val_mut_copy(scratch, item);
  yyjson_mut_val *got = yyjson_val_mut_copy(scratch, yyjson_doc_get_root(doc));
  if (options->projection == KEEPS_DEFAULT) {
    drop_managed_fields(expected);
  } else if (options->projection == KEEPS_FIELDS) {
    keep_fields(expected, ROOT);
  }
  char *expected_text = canonical(expected);
  char *got_text = canonical(got);
  if (strcmp(expected_text, got_text) != 0) {
    fprintf(stderr, "kept %s\nexpected %s\n", got_text, expected_text);
    abort();
  }
  free(expected_text);
  free(got_text);
  yyjson_mut_doc_free(scratch);
  yyjson_doc_free(doc);
}

static void check_string(kin_str got, yyjson_val *expected) {
  FUZZ_CHECK(kin__str_equal(
      got, yyjson_is_str(expected)
               ? kin__str(yyjson_get_str(expected), yyjson_get_len(expected))
               : KIN__LIT("")));
}

static void check_labels(const kin_object *kept, yyjson_val *labels) {
  yyjson_obj_iter members = yyjson_obj_iter_with(labels);
  yyjson_val *name;
  while ((name = yyjson_obj_iter_next(&members)) != NULL) {
    const char *key = yyjson_get_str(name);
    yyjson_val *value = yyjson_obj_getn(labels, key, yyjson_get_len(name));
    kin_str got;
    if (strlen(key) != yyjson_get_len(name)) {
      continue; /* no C string can ask for it */
    }
    bool is_there = kin_object_label(kept, key, &got);
    FUZZ_CHECK(is_there == yyjson_is_str(value));
    if (is_there) {
      check_string(got, value);
    }
  }
}

void decode_check_object(const decode_options *options, const kin_object *kept,
                         yyjson_val *item) {
  yyjson_val *metadata = yyjson_obj_get(item, "metadata");
  check_string(kin_object_name(kept), yyjson_obj_get(metadata, "name"));
  check_string(kin_object_namespace(kept),
               yyjson_obj_get(metadata, "namespace"));
  check_string(kin_object_uid(kept), yyjson_obj_get(metadata, "uid"));
  check_string(kin_object_resource_version(kept),
               yyjson_obj_get(metadata, "resourceVersion"));
  check_labels(kept, yyjson_obj_get(metadata, "labels"));
  check_body(options, kept, item);
}
