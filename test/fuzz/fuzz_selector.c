/* SPDX-License-Identifier: MIT */

/* Label selectors: the first line is a selector, the others are labels,
 * "name=value". Oracles:
 *  - the library and kin-apisim, which share nothing, accept the same texts
 *    and match the same labels
 *  - a selector that was read, written again, is read the same */

#include <stdlib.h>
#include <string.h>

#include <kin/error.h>
#include <kin/selector.h>

#include "../../tools/apisim/selector.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "base/str.h"
#include "fuzz/fuzz.h"

enum { MAX_LABELS = 8 };

static void put(kin__buf *out, const char *text) {
  FUZZ_CHECK(kin__buf_append_cstr(out, text) == 0);
}

/* A text that may be the name or the value of a label: kin-apisim reads what
 * it wrote itself, so there are no escapes. */
static void put_label(kin__buf *out, kin_str text) {
  static const char inner[] =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./";
  put(out, "\"");
  for (size_t i = 0; i < text.length; i++) {
    char c = text.data[i];
    bool is_plain = c != '\0' && strchr(inner, c) != NULL;
    bool is_edge = i == 0 || i + 1 == text.length;
    bool is_good = is_plain && (!is_edge || strchr("-_./", c) == NULL);
    FUZZ_CHECK(kin__buf_append(out, is_good ? &c : "a", 1) == 0);
  }
  put(out, "\"");
}

static void write_labels(fuzz_input *in, kin__buf *out) {
  put(out, "{");
  for (int i = 0; i < MAX_LABELS && in->left > 0; i++) {
    kin_str line = fuzz_line(in);
    const char *equal =
        line.length > 0 ? memchr(line.data, '=', line.length) : NULL;
    size_t length = equal != NULL ? (size_t)(equal - line.data) : line.length;
    put(out, i > 0 ? "," : "");
    put_label(out, kin__str(line.data, length));
    put(out, ":");
    put_label(out, equal != NULL ? kin__str(equal + 1, line.length - length - 1)
                                 : KIN__LIT(""));
  }
  put(out, "}");
}

static kin_object *make_object(const kin__buf *labels) {
  kin__buf text;
  kin__buf_init(&text, kin__default_allocator(), 1 << 20);
  put(&text, "{\"metadata\":{\"name\":\"a\",\"labels\":");
  FUZZ_CHECK(kin__buf_append(&text, labels->data, labels->length) == 0);
  put(&text, "}}");
  kin_object *object;
  FUZZ_CHECK(kin_object_parse(&object, NULL, text.data, text.length) == 0);
  kin__buf_finish(&text);
  return object;
}

static bool apisim_matches(const selector *parsed, const kin__buf *labels) {
  blob *json = blob_copy(labels->data, labels->length);
  rev version = {.json = json, .labels = {0, (uint32_t)labels->length}};
  bool matches = selector_match_labels(parsed, &version);
  blob_unref(json);
  return matches;
}

static void print_values(kin__buf *out, const requirement *r,
                         const char *word) {
  put(out, word);
  for (size_t i = 0; i < r->value_count; i++) {
    put(out, i > 0 ? "," : "(");
    put(out, r->values[i]);
  }
  put(out, ")");
}

static void print(kin__buf *out, const selector *parsed) {
  for (size_t i = 0; i < parsed->count; i++) {
    const requirement *r = &parsed->items[i];
    put(out, i > 0 ? "," : "");
    put(out, r->op == OP_NOT_EXISTS ? "!" : "");
    put(out, r->key);
    if (r->op == OP_IN || r->op == OP_NOT_IN) {
      print_values(out, r, r->op == OP_IN ? " in " : " notin ");
    } else if (r->op == OP_GREATER || r->op == OP_LESS) {
      put(out, r->op == OP_GREATER ? ">" : "<");
      put(out, r->values[0]);
    }
  }
  FUZZ_CHECK(kin__buf_append(out, "", 1) == 0);
}

static void check_matches(const kin_selector *ours, const selector *theirs,
                          const kin__buf *labels) {
  kin_object *object = make_object(labels);
  FUZZ_CHECK(kin_selector_matches(ours, object) ==
             apisim_matches(theirs, labels));
  kin_object_unref(object);
}

/* What was printed is read by both, means the same, and is printed the same. */
static void check_again(const selector *parsed, const kin__buf *labels) {
  kin__buf once;
  kin__buf twice;
  kin__buf_init(&once, kin__default_allocator(), 1 << 24);
  kin__buf_init(&twice, kin__default_allocator(), 1 << 24);
  print(&once, parsed);
  kin_selector *ours;
  selector theirs;
  buf error = {0};
  int err = kin_selector_parse(&ours, NULL, once.data);
  FUZZ_CHECK(err == 0 || err == KIN_ETOOBIG);
  FUZZ_CHECK(selector_parse_labels(once.data, &theirs, &error));
  if (err == 0) {
    FUZZ_CHECK(apisim_matches(parsed, labels) ==
               apisim_matches(&theirs, labels));
    check_matches(ours, &theirs, labels);
    kin_selector_free(ours);
  }
  print(&twice, &theirs);
  FUZZ_CHECK(strcmp(once.data, twice.data) == 0);
  selector_free(&theirs);
  kin__buf_finish(&once);
  kin__buf_finish(&twice);
}

static void check_fields(const char *text) {
  for (int is_pod = 0; is_pod < 2; is_pod++) {
    selector fields;
    buf error = {0};
    if (selector_parse_fields(text, is_pod != 0, &fields, &error)) {
      FUZZ_CHECK(error.len == 0);
      selector_free(&fields);
    } else {
      FUZZ_CHECK(error.len > 0);
    }
    buf_free(&error);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_input in = {data, size};
  char *text = fuzz_string(fuzz_line(&in));
  kin__buf labels;
  kin__buf_init(&labels, kin__default_allocator(), 1 << 20);
  write_labels(&in, &labels);
  kin_selector *ours;
  selector theirs;
  buf error = {0};
  int err = kin_selector_parse(&ours, NULL, text);
  bool is_good = selector_parse_labels(text, &theirs, &error);
  FUZZ_CHECK(is_good == (err == 0) || err == KIN_ETOOBIG);
  FUZZ_CHECK(is_good == (error.len == 0));
  if (err == 0) {
    check_matches(ours, &theirs, &labels);
    check_again(&theirs, &labels);
    kin_selector_free(ours);
  }
  if (is_good) {
    selector_free(&theirs);
  }
  check_fields(text);
  buf_free(&error);
  kin__buf_finish(&labels);
  free(text);
  return 0;
}
