/* SPDX-License-Identifier: MIT */

/* The watches that a real API server sent agree with yyjson's reading of them
 * however they are cut: WS-02, WS-03, WS-05 (ends), WL-03 (the end of initial
 * events). */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <yyjson.h>

#include <kin/error.h>

#include "base/alloc.h"
#include "base/str.h"
#include "decode/watch.h"
#include "object/object.h"
#include "support/fail_alloc.h"
#include "support/json_gen.h"
#include "support/watch_run.h"
#include "support/wire.h"

/* The log that yyjson's reading of a body gives; the objects are compared by
 * value, see assert_objects. */
static void expect_frames(kin__buf *lines, kin_str body, watch_run *whole) {
  size_t at = 0;
  size_t object_index = 0;
  while (at < body.length) {
    yyjson_doc *doc = yyjson_read(body.data + at, body.length - at,
                                  YYJSON_READ_STOP_WHEN_DONE);
    assert_non_null(doc);
    yyjson_val *root = yyjson_doc_get_root(doc);
    const char *type = yyjson_get_str(yyjson_obj_get(root, "type"));
    yyjson_val *object = yyjson_obj_get(root, "object");
    yyjson_val *metadata = yyjson_obj_get(object, "metadata");
    const char *version =
        yyjson_get_str(yyjson_obj_get(metadata, "resourceVersion"));
    if (strcmp(type, "BOOKMARK") == 0) {
      yyjson_val *end =
          yyjson_ptr_get(metadata, "/annotations/k8s.io~1initial-events-end");
      kin__buf_printf(lines, "BOOKMARK %s %d\n", version,
                      yyjson_equals_str(end, "true"));
    } else if (strcmp(type, "ERROR") == 0) {
      kin__buf_printf(lines, "ERROR %d\n",
                      (int)yyjson_get_sint(yyjson_obj_get(object, "code")));
    } else {
      kin__buf_printf(lines, "%s %s %s %s\n", type,
                      yyjson_get_str(yyjson_obj_get(metadata, "name")),
                      yyjson_get_str(yyjson_obj_get(metadata, "uid")), version);
      yyjson_mut_doc *copy = yyjson_mut_doc_new(NULL);
      yyjson_mut_val *kept = yyjson_val_mut_copy(copy, object);
      yyjson_mut_obj_remove_key(yyjson_mut_obj_get(kept, "metadata"),
                                "managedFields");
      kin_str json = kin__object_body(whole->got.objects[object_index++]);
      yyjson_doc *stored = yyjson_read(json.data, json.length, 0);
      assert_true(yyjson_mut_equals(
          kept, yyjson_val_mut_copy(copy, yyjson_doc_get_root(stored))));
      yyjson_doc_free(stored);
      yyjson_mut_doc_free(copy);
    }
    at += yyjson_doc_get_read_size(doc);
    while (at < body.length && body.data[at] == '\n') {
      at++;
    }
    yyjson_doc_free(doc);
  }
  assert_int_equal(object_index, whole->got.count);
  assert_int_equal(kin__buf_append(lines, "", 1), 0);
}

/* The decoder's log in the same words. */
static void summarize(kin__buf *lines, watch_run *whole) {
  size_t object_index = 0;
  const char *line = decoded_log(&whole->got);
  while (*line != '\0') {
    size_t length = strcspn(line, "\n");
    if (strncmp(line, "bookmark ", 9) == 0) {
      size_t version = strcspn(line + 9, " \n");
      kin__buf_printf(lines, "BOOKMARK %.*s %d\n", (int)version, line + 9,
                      line[9 + version] == ' ');
    } else if (strncmp(line, "error ", 6) == 0) {
      kin__buf_printf(lines, "ERROR %d\n", atoi(line + 6));
    } else if (strncmp(line, "known?", 6) != 0) {
      const kin_object *object = whole->got.objects[object_index++];
      const char *type = *line == 'a'   ? "ADDED"
                         : *line == 'm' ? "MODIFIED"
                                        : "DELETED";
      kin__buf_printf(lines, "%s %s " KIN_STR_FORMAT " " KIN_STR_FORMAT "\n",
                      type, kin_object_name(object).data,
                      KIN_STR_ARG(kin_object_uid(object)),
                      KIN_STR_ARG(kin_object_resource_version(object)));
    }
    line += length + 1;
  }
  assert_int_equal(kin__buf_append(lines, "", 1), 0);
}

static const char *const recorded_watches[] = {
    "watch-bookmarks.http",    "watch-changes.http",
    "watch-gone.http",         "watch-metadata-only.http",
    "watch-rv-too-large.http", "watch-selector-transition.http",
    "watchlist-empty.http",    "watchlist.http",
};

static void test_watch_recorded(void **state) {
  (void)state;
  size_t calls = 0;
  for (size_t i = 0; i < sizeof recorded_watches / sizeof *recorded_watches;
       i++) {
    kin_str body = wire_body(recorded_watches[i]);
    watch_run whole;
    watch_run_init(&whole);
    assert_int_equal(watch_run_feed(&whole, body.data, body.length), 0);
    assert_true(kin__watch_decoder_is_between(whole.decoder));
    kin__buf expected;
    kin__buf got;
    kin__buf_init(&expected, kin__default_allocator(), 1 << 20);
    kin__buf_init(&got, kin__default_allocator(), 1 << 20);
    expect_frames(&expected, body, &whole);
    summarize(&got, &whole);
    assert_string_equal(got.data, expected.data);
    kin__buf_finish(&got);
    kin__buf_finish(&expected);
    calls += whole.got.calls;

    watch_run cut;
    watch_run_init(&cut);
    for (int at = BYTEWISE; at <= (int)body.length; at++) {
      assert_int_equal(watch_run_decode(&cut, body, at), 0);
      assert_true(kin__watch_decoder_is_between(cut.decoder));
      decoded_assert_same(&cut.got, &whole.got, recorded_watches[i]);
      watch_run_again(&cut);
    }
    watch_run_finish(&cut);
    watch_run_finish(&whole);
    free((char *)body.data);
  }
  assert_true(calls > 25);
}

/* WS-05: nothing is given of a frame that did not end, and the end of the
 * stream can be told from it. */
static void test_watch_truncated_everywhere(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof recorded_watches / sizeof *recorded_watches;
       i++) {
    kin_str body = wire_body(recorded_watches[i]);
    watch_run r;
    watch_run_init(&r);
    size_t calls = 0;
    bool was_between = true;
    for (size_t at = 0; at < body.length; at++) {
      size_t before = r.got.calls;
      assert_int_equal(watch_run_feed(&r, body.data + at, 1), 0);
      bool is_between = kin__watch_decoder_is_between(r.decoder);
      assert_int_equal(r.got.calls, before + (is_between && !was_between));
      calls += is_between && !was_between;
      was_between = is_between;
    }
    assert_int_equal(r.got.calls, calls);
    assert_true(was_between);
    watch_run_finish(&r);
    free((char *)body.data);
  }
}

static void test_watch_out_of_memory(void **state) {
  (void)state;
  kin_str body = wire_body("watch-bookmarks.http");
  for (size_t n = 1;; n++) {
    fail_alloc memory;
    fail_alloc_init(&memory, n);
    decoded got;
    decoded_init(&got, NULL);
    kin__watch_decoder *decoder = NULL;
    kin__decode_limits limits = {0};
    int err = kin__watch_decoder_new(&decoder, &memory.allocator, &limits, NULL,
                                     &got.sink);
    for (size_t at = 0; at < body.length && err == 0; at += 1000) {
      size_t span = body.length - at < 1000 ? body.length - at : 1000;
      err = kin__watch_decoder_parse(decoder, body.data + at, span);
    }
    assert_int_equal(err, fail_alloc_has_failed(&memory) ? KIN_ENOMEM : 0);
    if (decoder != NULL) {
      assert_non_null(kin__watch_decoder_key_in_hand(decoder));
    }
    kin__watch_decoder_free(decoder);
    decoded_finish(&got);
    assert_int_equal(memory.live_blocks, 0);
    if (err == 0) {
      assert_true(n > 3);
      break;
    }
  }
  kin__watch_decoder_free(NULL);
  free((char *)body.data);
}

/* A few bytes of a body are changed. Whatever comes of it is the same for every
 * cut. */
static void test_watch_mutated(void **state) {
  (void)state;
  static const char bytes[] = "\"\"\\{}[]:, \n0a\x01\xff";
  size_t outcomes[2] = {0};
  for (uint64_t seed = 0; seed < 3000; seed++) {
    json_gen random = {.state = seed};
    kin_str body = wire_body(recorded_watches[seed % 8]);
    char *data = (char *)body.data;
    if (body.length == 0) {
      free(data);
      continue;
    }
    for (uint32_t i = 0; i <= json_gen_below(&random, 3); i++) {
      data[json_gen_below(&random, (uint32_t)body.length)] =
          bytes[json_gen_below(&random, sizeof bytes - 1)];
    }
    watch_run whole;
    watch_run cut;
    watch_run_init(&whole);
    watch_run_init(&cut);
    int expected = watch_run_decode(&whole, body, 0);
    outcomes[expected == 0]++;
    for (int i = 0; i < 4; i++) {
      int at = (int)json_gen_below(&random, (uint32_t)body.length);
      assert_int_equal(watch_run_decode(&cut, body, i == 0 ? BYTEWISE : at),
                       expected);
      decoded_assert_same(&cut.got, &whole.got, body.data);
      assert_int_equal(kin__watch_decoder_is_between(cut.decoder),
                       kin__watch_decoder_is_between(whole.decoder));
      watch_run_again(&cut);
    }
    watch_run_finish(&whole);
    watch_run_finish(&cut);
    free(data);
  }
  assert_true(outcomes[0] > 300 && outcomes[1] > 300);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_watch_recorded),
      cmocka_unit_test(test_watch_mutated),
      cmocka_unit_test(test_watch_truncated_everywhere),
      cmocka_unit_test(test_watch_out_of_memory),
  };
  return cmocka_run_group_tests_name("watch_recorded", tests, NULL, NULL);
}
