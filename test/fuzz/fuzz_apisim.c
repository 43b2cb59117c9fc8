/* SPDX-License-Identifier: MIT */

/* What kin-apisim reads of a request: its target, its headers, media types and
 * JSON patches. Oracles:
 *  - a target that was read, written again, is read the same
 *  - a patch that was applied is what the operations say: "add" then "test" of
 *    the same value holds, and the document is JSON within the bounds of a
 *    request
 *  - an object's text that is scanned gives what yyjson reads */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <yyjson.h>

#include "../../tools/apisim/jsonpatch.h"
#include "../../tools/apisim/jsonscan.h"
#include "../../tools/apisim/media.h"
#include "../../tools/apisim/request.h"
#include "base/str.h"
#include "fuzz/fuzz.h"

/* Targets */

static void put_escaped(buf *out, const char *text) {
  for (; *text != '\0'; text++) {
    buf_printf(out, "%%%02X", (unsigned char)*text);
  }
}

static void write_target(buf *out, const request *r) {
  for (size_t i = 0; i < r->path_count; i++) {
    buf_puts(out, "/");
    put_escaped(out, request_segment(r, i));
  }
  buf_puts(out, r->trailing_slash || r->path_count == 0 ? "/?" : "?");
  for (size_t i = 0; i < r->query_count; i++) {
    buf_puts(out, i > 0 ? "&" : "");
    put_escaped(out, r->text.data + r->query[i].key);
    buf_puts(out, "=");
    put_escaped(out, r->text.data + r->query[i].value);
  }
}

static void check_query(const request *r, const request *again) {
  FUZZ_CHECK(r->query_count == again->query_count);
  for (size_t i = 0; i < r->query_count; i++) {
    const char *key = r->text.data + r->query[i].key;
    const char *value = request_query(r, key);
    FUZZ_CHECK(value != NULL);
    FUZZ_CHECK(strcmp(value, request_query(again, key)) == 0);
    FUZZ_CHECK(request_query_bool(r, key) == request_query_bool(again, key));
  }
}

static void check_target(kin_str text) {
  request r = {0};
  request again = {0};
  buf_append(&r.url, text.data, text.length);
  if (request_parse_target(&r)) {
    write_target(&again.url, &r);
    FUZZ_CHECK(request_parse_target(&again));
    FUZZ_CHECK(r.path_count == again.path_count);
    FUZZ_CHECK(r.trailing_slash == again.trailing_slash || r.path_count == 0);
    for (size_t i = 0; i < r.path_count; i++) {
      FUZZ_CHECK(strcmp(request_segment(&r, i), request_segment(&again, i)) ==
                 0);
    }
    check_query(&r, &again);
  }
  FUZZ_CHECK(request_segment(&r, r.path_count) == NULL);
  request_free(&r);
  request_free(&again);
}

static void check_media(kin_str text) {
  slice accept = {text.data, text.length};
  media form = media_negotiate(accept);
  FUZZ_CHECK(form >= MEDIA_NONE && form <= MEDIA_DISCOVERY);
  (void)media_takes_plain(accept);
  slice type = media_type(accept);
  FUZZ_CHECK(type.len <= text.length);
}

/* Documents */

static yyjson_mut_doc *read_mutable(kin_str text) {
  yyjson_doc *doc = text.length > 0 ? yyjson_read(text.data, text.length,
                                                  YYJSON_READ_NUMBER_AS_RAW)
                                    : NULL;
  if (doc == NULL) {
    return NULL;
  }
  yyjson_mut_doc *copy = yyjson_doc_mut_copy(doc, NULL);
  yyjson_doc_free(doc);
  return copy;
}

/* What members of an object the scanner finds in text that yyjson wrote. */
static void check_scan(yyjson_mut_val *root) {
  size_t length;
  char *text = yyjson_mut_val_write(root, YYJSON_WRITE_NOFLAG, &length);
  if (text == NULL || !yyjson_mut_is_obj(root)) {
    free(text);
    return;
  }
  scan s = scan_object(text, 0);
  slice key;
  span value;
  yyjson_mut_obj_iter members = yyjson_mut_obj_iter_with(root);
  while (scan_next(&s, &key, &value)) {
    yyjson_mut_val *name = yyjson_mut_obj_iter_next(&members);
    FUZZ_CHECK(name != NULL && value.off + value.len <= length);
    size_t expected_length;
    char *expected =
        yyjson_mut_val_write(yyjson_mut_obj_iter_get_val(name),
                             YYJSON_WRITE_NOFLAG, &expected_length);
    FUZZ_CHECK(expected != NULL && expected_length == value.len);
    FUZZ_CHECK(memcmp(text + value.off, expected, value.len) == 0);
    free(expected);
  }
  FUZZ_CHECK(yyjson_mut_obj_iter_next(&members) == NULL);
  free(text);
}

static bool applies(yyjson_mut_doc *doc, yyjson_mut_val *patch) {
  buf error = {0};
  bool is_applied = jsonpatch_apply(doc, patch, &error);
  FUZZ_CHECK(is_applied == (error.len == 0));
  buf_free(&error);
  return is_applied;
}

static bool has_twice(yyjson_mut_val *object, const char *name) {
  size_t found = 0;
  yyjson_mut_obj_iter members = yyjson_mut_obj_iter_with(object);
  yyjson_mut_val *member;
  while ((member = yyjson_mut_obj_iter_next(&members)) != NULL) {
    found += yyjson_mut_equals_str(member, name);
  }
  return found > 1;
}

/* After all of it: the last operation, if it was an "add" of a member, holds
 * as a "test". A value in which a member occurs twice is unequal to itself; of
 * an operation's own members that occur twice either may count. */
static void check_last(yyjson_mut_doc *doc, yyjson_mut_val *patch) {
  yyjson_mut_val *last = yyjson_mut_arr_get_last(patch);
  const char *path = yyjson_mut_get_str(yyjson_mut_obj_get(last, "path"));
  if (path == NULL || strlen(path) == 0 || path[strlen(path) - 1] == '-' ||
      !yyjson_mut_equals_str(yyjson_mut_obj_get(last, "op"), "add") ||
      has_twice(last, "op") || has_twice(last, "path") ||
      has_twice(last, "value")) {
    return;
  }
  yyjson_mut_val *value = yyjson_mut_obj_get(last, "value");
  FUZZ_CHECK(!yyjson_mut_equals(value, value) ||
             yyjson_mut_equals(yyjson_mut_doc_ptr_get(doc, path), value));
}

static void check_patch(kin_str document, kin_str operations) {
  yyjson_mut_doc *doc = read_mutable(document);
  yyjson_mut_doc *patch = read_mutable(operations);
  if (doc != NULL) {
    check_scan(yyjson_mut_doc_get_root(doc));
  }
  if (doc != NULL && patch != NULL) {
    yyjson_mut_val *root = yyjson_mut_doc_get_root(patch);
    if (applies(doc, root)) {
      check_last(doc, root);
      size_t length = 0;
      char *text = yyjson_mut_write(doc, YYJSON_WRITE_NOFLAG, &length);
      FUZZ_CHECK(text != NULL);
      FUZZ_CHECK(length <= 2 * REQUEST_BODY_MAX);
      free(text);
    }
  }
  yyjson_mut_doc_free(doc);
  yyjson_mut_doc_free(patch);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_input in = {data, size};
  (void)fuzz_take(&in, FUZZ_JSON_HEADER);
  kin_str target = fuzz_line(&in);
  kin_str accept = fuzz_line(&in);
  kin_str document = fuzz_line(&in);
  check_target(target);
  check_media(accept);
  check_patch(document, fuzz_rest(&in));
  return 0;
}
