/* SPDX-License-Identifier: MIT */
#include "support/list_run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/str.h"
#include "object/object.h"

void list_run_init(list_run *r) {
  *r = (list_run){.limits = {.max_object_bytes = 1 << 20}};
  decoded_init(&r->got, NULL);
}

void list_run_finish(list_run *r) {
  kin__list_decoder_free(r->decoder);
  decoded_finish(&r->got);
  kin__projection_free(r->projection);
}

void list_run_again(list_run *r) {
  decoded_finish(&r->got);
  decoded before = r->got;
  decoded_init(&r->got, NULL);
  r->got.known = before.known;
  r->got.known_count = before.known_count;
  r->got.fail_at = before.fail_at;
  r->got.fail_with = before.fail_with;
  r->got.skips_bad = before.skips_bad;
  kin__list_decoder_free(r->decoder);
  list_run_open(r);
}

void list_run_open(list_run *r) {
  assert_int_equal(kin__list_decoder_new(&r->decoder, kin__default_allocator(),
                                         &r->limits, r->projection,
                                         &r->got.sink),
                   0);
}

int list_run_feed(list_run *r, const char *bytes, size_t length) {
  char *exact = decoded_exact(bytes, length);
  int err = kin__list_decoder_parse(r->decoder, exact, length);
  free(exact);
  return err;
}

int list_run_decode(list_run *r, kin_str text, int cut) {
  if (r->decoder == NULL) {
    list_run_open(r);
  }
  int err = 0;
  if (cut == BYTEWISE) {
    for (size_t i = 0; i < text.length && err == 0; i++) {
      err = list_run_feed(r, text.data + i, 1);
    }
  } else {
    err = list_run_feed(r, text.data, (size_t)cut);
    if (err == 0) {
      err = list_run_feed(r, text.data + cut, text.length - (size_t)cut);
    }
  }
  return err != 0 ? err : kin__list_decoder_end(r->decoder, &r->result);
}

kin__projection *list_run_default_projection(void) {
  kin__projection *projection;
  assert_int_equal(
      kin__projection_new(&projection, kin__default_allocator(), false), 0);
  return projection;
}

kin_str json_str(yyjson_val *value) {
  return yyjson_is_str(value)
             ? kin__str(yyjson_get_str(value), yyjson_get_len(value))
             : KIN__LIT("");
}

void assert_str(kin_str s, kin_str expected) {
  if (!kin__str_equal(s, expected)) {
    fail_msg("got " KIN_STR_FORMAT ", expected " KIN_STR_FORMAT, KIN_STR_ARG(s),
             KIN_STR_ARG(expected));
  }
}

static void assert_labels(const kin_object *object, yyjson_val *labels) {
  yyjson_obj_iter members = yyjson_obj_iter_with(labels);
  yyjson_val *name;
  while ((name = yyjson_obj_iter_next(&members)) != NULL) {
    yyjson_val *value = yyjson_obj_get(labels, yyjson_get_str(name));
    kin_str got;
    bool is_there = kin_object_label(object, yyjson_get_str(name), &got);
    assert_int_equal(is_there, yyjson_is_str(value));
    if (is_there) {
      assert_str(got, json_str(value));
    }
  }
  kin_str got;
  assert_false(kin_object_label(object, "no such label", &got));
}

void assert_object(const kin_object *object, yyjson_val *item,
                   const char *expected) {
  yyjson_val *metadata = yyjson_obj_get(item, "metadata");
  kin_str name = json_str(yyjson_obj_get(metadata, "name"));
  kin_str namespace_ = json_str(yyjson_obj_get(metadata, "namespace"));
  assert_str(kin_object_name(object), name);
  assert_str(kin_object_namespace(object), namespace_);
  assert_str(kin_object_uid(object), json_str(yyjson_obj_get(metadata, "uid")));
  assert_str(kin_object_resource_version(object),
             json_str(yyjson_obj_get(metadata, "resourceVersion")));
  assert_labels(object, yyjson_obj_get(metadata, "labels"));
  kin_str json = kin__object_body(object);
  yyjson_doc *doc = yyjson_read(json.data, json.length, 0);
  if (doc == NULL) {
    fail_msg("stored text is no JSON: " KIN_STR_FORMAT, KIN_STR_ARG(json));
  }
  char *text = yyjson_write(doc, 0, NULL);
  assert_string_equal(text, expected);
  free(text);
  yyjson_doc_free(doc);
}
