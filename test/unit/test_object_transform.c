/* SPDX-License-Identifier: MIT */

/* Transforms by themselves: what they may do to an object, and what comes of
 * their results (NR-01). Stores, queues and informers have tests of their
 * own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <kin/error.h>
#include <kin/object_builder.h>

#include "base/str.h"
#include "object/object.h"
#include "support/edits.h"
#include "support/fail_alloc.h"
#include "support/objects.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

typedef struct script {
  const edit *edits;
  int result;
  kin_object *seen;
} script;

static int run_script(const kin_object *in, kin_object_builder *out,
                      void *data) {
  script *s = data;
  kin_object_unref(s->seen);
  s->seen = kin_object_ref(in);
  for (size_t i = 0; i < MAX_EDITS && s->edits[i].what != '\0'; i++) {
    (void)edit_apply(out, &s->edits[i]);
  }
  /* The builder is not the callback's. */
  kin_object *made;
  assert_int_equal(kin_object_builder_finish(out, &made), KIN_EINVAL);
  assert_null(made);
  kin_object_builder_free(out);
  return s->result;
}

#define ID "'namespace':'n','name':'p','uid':'u','resourceVersion':'9'"

/* The key, uid and version of a transformed object are those of the original,
 * whatever is tried. */
static void test_transform_keeps_identity(void **state) {
  (void)state;
  static const struct {
    edit edits[MAX_EDITS];
    const char *made;
    int err; /* KIN_EINVAL if this is 0 and nothing is made */
  } rows[] = {
      {{{'-', "/metadata/name", 0}}, NULL},
      {{{'-', "/metadata/namespace", 0}}, NULL},
      {{{'-', "/metadata/uid", 0}}, NULL},
      {{{'-', "/metadata/resourceVersion", 0}}, NULL},
      {{{'-', "/metadata", 0}}, NULL},
      {{{'-', "/*", 0}}, NULL},
      {{{'-', "/metadata/*", 0}}, NULL},
      {{{'-', "/*/uid", 0}}, NULL},
      {{{'-', "", 0}}, NULL},
      {{{'"', "/metadata/name", "p"}}, NULL},
      {{{'"', "/metadata/uid/x", "p"}}, NULL},
      {{{'"', "/*/resourceVersion", "9"}}, NULL},
      {{{'"', "/metadata/*", "9"}}, NULL},
      {{{'#', "/metadata", "9"}}, NULL, KIN_ETYPE},
      {{{'=', "/metadata", "{'name':'q'}"}}, NULL},
      {{{'=', "/metadata", "{'name':1}"}}, NULL},
      {{{'=', "", "{'metadata':[]}"}}, NULL, KIN_ETYPE},
      {{{'=', "/metadata", "{'resourceVersion':'10'}"}}, NULL},
      /* What the new text lacks is put in. */
      {{{'=', "/metadata", "{'labels':{},'uid':'u'}"}},
       "{'metadata':{'labels':{},'uid':'u','namespace':'n','name':'p',"
       "'resourceVersion':'9'},'spec':{'a':1}}"},
      {{{'=', "", "{}"}},
       "{'metadata':{'namespace':'n','name':'p','uid':'u',"
       "'resourceVersion':'9'}}"},
      {{{'=', "", "{'metadata':null,'x':1}"}},
       "{'metadata':{'namespace':'n','name':'p','uid':'u',"
       "'resourceVersion':'9'},'x':1}"},
      {{{'=', "/metadata", "{" ID "}"}},
       "{'metadata':{" ID "},'spec':{'a':1}}"},
      {{{'k', "", 0}}, "{'metadata':{" ID ",'labels':{'l':'v'}}}"},
      {{{'k', "", 0}, {'-', "/metadata/labels", 0}}, "{'metadata':{" ID "}}"},
      {{{'"', "/metadata/labels/x", "y"}},
       "{'metadata':{" ID ",'labels':{'l':'v','x':'y'}},'spec':{'a':1}}"},
      {{{'-', "/metadata/labels/*", 0}, {'-', "/spec/name", 0}},
       "{'metadata':{" ID ",'labels':{}},'spec':{'a':1}}"},
  };
  kin_object *in = object_of(NULL, "{'metadata':{" ID
                                   ",'labels':{'l':'v'}},'spec':{'a':1}}");
  for (size_t i = 0; i < COUNT_OF(rows); i++) {
    script s = {.edits = rows[i].edits};
    kin_object *made;
    int err = kin_object_transform(in, run_script, &s, &made);
    assert_ptr_equal(s.seen, in);
    kin_object_unref(s.seen);
    int expected =
        rows[i].made == NULL && rows[i].err == 0 ? KIN_EINVAL : rows[i].err;
    if (err != expected) {
      fail_msg("row %zu: %s", i, kin_err_name(err));
    }
    if (made != NULL) {
      assert_body(made, rows[i].made);
      assert_string_equal(kin_object_key(made).data, "n/p");
      assert_true(kin__str_equal(kin_object_uid(made), KIN__LIT("u")));
      assert_true(
          kin__str_equal(kin_object_resource_version(made), KIN__LIT("9")));
      kin_object_unref(made);
    }
  }
  kin_object_unref(in);
}

static void test_transform_results(void **state) {
  (void)state;
  static const edit nothing[MAX_EDITS] = {{0, NULL, NULL}};
  static const edit wrong[MAX_EDITS] = {{'-', "x", NULL}};
  static const struct {
    const edit *edits;
    int result;
    int err;
  } rows[] = {{nothing, 0, 0},
              {nothing, KIN_EJSON, KIN_EJSON},
              {nothing, 1, KIN_EINVAL},
              {wrong, 0, KIN_EINVAL},
              {wrong, KIN_ETYPE, KIN_ETYPE}};
  kin_object *in = object_of(NULL, "{'metadata':{'name':'p'}}");
  for (size_t i = 0; i < COUNT_OF(rows); i++) {
    script s = {.edits = rows[i].edits, .result = rows[i].result};
    kin_object *made;
    assert_int_equal(kin_object_transform(in, run_script, &s, &made),
                     rows[i].err);
    assert_ptr_equal(made, rows[i].err == 0 ? in : NULL);
    kin_object_unref(made);
    kin_object_unref(s.seen);
  }
  kin_object *made;
  assert_int_equal(kin_object_transform(NULL, run_script, NULL, &made),
                   KIN_EINVAL);
  assert_int_equal(kin_object_transform(in, NULL, NULL, &made), KIN_EINVAL);
  kin_object_unref(in);
}

/* A copy in another memory, whichever way its labels are kept. */
static void test_object_copies(void **state) {
  (void)state;
  static const char *const metadata[] = {
      "{'name':'p','namespace':'n','uid':'u','resourceVersion':'9',"
      "'labels':{'a':'b'}}",
      "{'name':'\\u0070','namespace':'n','uid':'\\u0075',"
      "'resourceVersion':'9','labels':{'\\u0061':'b'}}"};
  for (size_t i = 0; i < COUNT_OF(metadata); i++) {
    fail_alloc memory;
    fail_alloc_init(&memory, 0);
    kin__memory *other = kin__memory_new(&memory.allocator);
    kin_object *from = object_format(NULL, "{'metadata':%s}", metadata[i]);
    kin_object *made;
    memory.fail_at = 2;
    assert_int_equal(kin__object_copy(&made, other, from, 64), KIN_ENOMEM);
    assert_null(made);
    assert_int_equal(kin__object_copy(&made, other, from, 64), 0);
    assert_int_equal(kin_object_memory(made), kin_object_memory(from));
    kin_str body = kin__object_body(from);
    assert_true(kin__str_equal(kin__object_body(made), body));
    kin_object_unref(from);
    assert_string_equal(kin_object_key(made).data, "n/p");
    assert_true(kin__str_equal(kin_object_uid(made), KIN__LIT("u")));
    assert_true(
        kin__str_equal(kin_object_resource_version(made), KIN__LIT("9")));
    kin_str value;
    assert_true(kin_object_label(made, "a", &value));
    assert_true(kin__str_equal(value, KIN__LIT("b")));
    assert_ptr_equal(kin__object_allocator(made), &other->allocator);
    kin_object_unref(made);
    kin__memory_unref(other);
    assert_int_equal(memory.live_blocks, 0);
  }
}

/* Every allocation fails once. */
static bool run_transform_without_memory(size_t n) {
  static const edit edits[MAX_EDITS] = {
      {'=', "", "{'metadata':{'labels':{'a':'b'}}}"},
      {'"', "/metadata/labels/x", "\xc3\xa9\n"},
      {'#', "/spec/z", "1"},
  };
  fail_alloc memory;
  fail_alloc_init(&memory, 0);
  kin_object *from =
      object_of(&memory.allocator, "{'metadata':{'name':'p','uid':'\\u0031'}}");
  memory.fail_at = atomic_load(&memory.calls) + n;
  script s = {.edits = edits};
  kin_object *made;
  int err = kin_object_transform(from, run_script, &s, &made);
  bool has_failed = fail_alloc_has_failed(&memory);
  assert_int_equal(err, has_failed ? KIN_ENOMEM : 0);
  assert_int_equal(made != NULL, !has_failed);
  kin_object_unref(made);
  kin_object_unref(s.seen);
  kin_object_unref(from);
  assert_int_equal(memory.live_blocks, 0);
  return has_failed;
}

static void test_transform_sweep(void **state) {
  (void)state;
  fail_alloc_sweep(run_transform_without_memory, 5);
}

static int add_label(const kin_object *in, kin_object_builder *out,
                     void *data) {
  (void)in;
  ++*(int *)data;
  return kin_object_builder_set_string(out, "/metadata/labels/seen", "yes");
}

/* WS-04: of one whose key only is kept there is nothing to transform; and it is
 * not made whole by building on it. */
static void test_key_only(void **state) {
  (void)state;
  static const char text[] = "{\"metadata\":{\"name\":\"p\"}}";
  kin__memory *memory = kin__memory_new(NULL);
  assert_non_null(memory);
  kin__object_parts parts = {.name = KIN__LIT("p"),
                             .body = kin__str(text, sizeof text - 1),
                             .is_key_only = true};
  kin_object *object;
  assert_int_equal(kin__object_new(&object, memory, &parts), 0);
  int calls = 0;
  kin_object *made;
  assert_int_equal(kin_object_transform(object, add_label, &calls, &made), 0);
  assert_ptr_equal(made, object);
  assert_int_equal(calls, 0);
  kin_object_unref(made);
  kin_object_builder *builder;
  assert_int_equal(kin_object_builder_new(&builder, NULL, object), 0);
  assert_int_equal(add_label(object, builder, &calls), 0);
  assert_int_equal(kin_object_builder_finish(builder, &made), 0);
  assert_ptr_not_equal(made, object);
  assert_true(kin_object_is_key_only(made));
  kin_object_unref(made);
  kin_object_unref(object);
  kin__memory_unref(memory);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_transform_keeps_identity),
      cmocka_unit_test(test_transform_results),
      cmocka_unit_test(test_object_copies),
      cmocka_unit_test(test_transform_sweep),
      cmocka_unit_test(test_key_only),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
