/* SPDX-License-Identifier: MIT */

/* kin_object_builder: edits and their order, what becomes resident, errors and
 * bounds. Random runs are in model/test_object_builder_model.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
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

typedef struct edit_row {
  const char *from;
  edit edits[MAX_EDITS];
  const char *made; /* NULL: an error */
  int err;
} edit_row;

#define M "'metadata':{'name':'p'}"

static void run_rows(const edit_row *rows, size_t count) {
  for (size_t i = 0; i < count; i++) {
    kin_object *from = object_of(NULL, rows[i].from);
    kin_object *made;
    int err = edit_build(&made, NULL, from, rows[i].edits, MAX_EDITS);
    if (err != rows[i].err) {
      fail_msg("row %zu: %s", i, kin_err_name(err));
    }
    if (made != NULL) {
      assert_body(made, rows[i].made);
      assert_string_equal(kin_object_key(made).data, kin_object_key(from).data);
    }
    kin_object_unref(made);
    kin_object_unref(from);
  }
}

static void test_builder_remove(void **state) {
  (void)state;
  static const edit_row rows[] = {
      {"{" M ",'a':1,'b':2}", {{'-', "/a", 0}}, "{" M ",'b':2}", 0},
      {"{" M ",'a':1,'b':2}", {{'-', "/b", 0}}, "{" M ",'a':1}", 0},
      {"{'a':1," M "}", {{'-', "/a", 0}}, "{" M "}", 0},
      {"{" M ",'a':1}", {{'-', "/x", 0}}, "{" M ",'a':1}", 0},
      {"{" M ",'a':1}", {{'-', "/a/x", 0}}, "{" M ",'a':1}", 0},
      {"{" M ",'a':{'b':{'c':1},'d':2}}",
       {{'-', "/a/b/c", 0}},
       "{" M ",'a':{'b':{},'d':2}}",
       0},
      /* Every one of that name. */
      {"{'a':0," M ",'a':{'a':1},'b':2,'a':3}",
       {{'-', "/a", 0}},
       "{" M ",'b':2}",
       0},
      {"{" M ",'a':{'x':1,'y':1},'a':{'x':1}}",
       {{'-', "/a/x", 0}},
       "{" M ",'a':{'y':1},'a':{}}",
       0},
      /* Elements. */
      {"{" M ",'a':[1,2,3]}", {{'-', "/a/1", 0}}, "{" M ",'a':[1,3]}", 0},
      {"{" M ",'a':[1,2,3]}", {{'-', "/a/3", 0}}, "{" M ",'a':[1,2,3]}", 0},
      {"{" M ",'a':[1,2,3]}", {{'-', "/a/01", 0}}, "{" M ",'a':[1,2,3]}", 0},
      {"{" M ",'a':[1,2,3]}",
       {{'-', "/a/0", 0}, {'-', "/a/0", 0}, {'-', "/a/0", 0}},
       "{" M ",'a':[]}",
       0},
      {"{" M ",'a':[{'e':1,'i':2},{'i':3},4]}",
       {{'-', "/a/*/i", 0}},
       "{" M ",'a':[{'e':1},{},4]}",
       0},
      {"{" M ",'a':{'x':{'i':1},'y':[5]}}",
       {{'-', "/a/*/*", 0}},
       "{" M ",'a':{'x':{},'y':[]}}",
       0},
      {"{" M ",'a':[1,[2]]}", {{'-', "/a/*", 0}}, "{" M ",'a':[]}", 0},
      /* Escapes in the text and in the pointer. */
      {"{" M ",'a/b':1,'a~b':2,'':3,'\\u0061':4}",
       {{'-', "/a~1b", 0}, {'-', "/a~0b", 0}, {'-', "/", 0}, {'-', "/a", 0}},
       "{" M "}",
       0},
      {"{" M ",'x':'a\\'b{','y':1}",
       {{'-', "/y", 0}},
       "{" M ",'x':'a\\'b{'}",
       0},
      /* White space goes where children are told apart for a change. */
      {"{ " M " , 'a' : [ 1 , 2 ] , 'b' : { } }",
       {{'-', "/a/0", 0}, {'-', "/b/x", 0}},
       "{" M ",'a' : [ 2 ],'b' : { }}",
       0},
  };
  run_rows(rows, COUNT_OF(rows));
}

/* Members that an earlier edit has passed are found by their names alone. */
static void test_builder_finds_what_was_passed(void **state) {
  (void)state;
  static const edit_row rows[] = {
      /* Other places where the name is written. */
      {"{" M ",'v':'b','w':['b'],'x':{'b':1},'ab':2,'b':3,'bc':4}",
       {{'-', "/none", 0}, {'-', "/b", 0}},
       "{" M ",'v':'b','w':['b'],'x':{'b':1},'ab':2,'bc':4}",
       0},
      {"{" M ",'v':'\\\\','u':'\\'b','w':'{','b':3}",
       {{'-', "/none", 0}, {'-', "/b", 0}},
       "{" M ",'v':'\\\\','u':'\\'b','w':'{'}",
       0},
      {"{'b':1," M ",'b':2,'a':3,'b':4}",
       {{'-', "/none", 0}, {'-', "/b", 0}},
       "{" M ",'a':3}",
       0},
      /* Names that need escapes, in the text or in the pointer. */
      {"{" M ",'b':1,'c/b':2,'a/b':3,'~b':4,'~':5}",
       {{'-', "/none", 0},
        {'-', "/c~1b", 0},
        {'-', "/~0b", 0},
        {'-', "/~0", 0}},
       "{" M ",'b':1,'a/b':3}",
       0},
      {"{" M ",'\\u0062':1,'a\\'b':2,'a\\\\b':3,'c':4}",
       {{'-', "/none", 0},
        {'-', "/b", 0},
        {'-', "/a\"b", 0},
        {'-', "/a\\b", 0}},
       "{" M ",'c':4}",
       0},
      /* Pointers that look like the text between names. */
      {"{" M ",'v':'x','b':2,'w':'ab\\':1'}",
       {{'-', "/none", 0},
        {'-', "/x\",\"b", 0},
        {'-', "/ab\\", 0},
        {'-', "/:", 0}},
       "{" M ",'v':'x','b':2,'w':'ab\\':1'}",
       0},
      {"{ 'a' : 1 , 'b' : 2 , 'c' : 3 , " M " }",
       {{'-', "/none", 0}, {'#', "/b", "5"}, {'-', "/a", 0}, {'#', "/n", "6"}},
       "{'b' : 5,'c' : 3 ," M ",'n':6}",
       0},
      {"{" M ",'a':1,'b':{'x':1},'c':3,'d':4}",
       {{'-', "/none", 0},
        {'#', "/b/y", "5"},
        {'-', "/d", 0},
        {'#', "/c", "6"},
        {'-', "/a", 0},
        {'#', "/e", "7"}},
       "{" M ",'b':{'x':1,'y':5},'c':6,'e':7}",
       0},
  };
  run_rows(rows, COUNT_OF(rows));
}

static void test_builder_keep(void **state) {
  (void)state;
  static const edit_row rows[] = {
      {"{'kind':'Pod','apiVersion':'v1','metadata':{'name':'p','uid':'u',"
       "'annotations':{'a':'1'},'resourceVersion':'9','labels':{'l':'1'}},"
       "'spec':{'nodeName':'n','x':1},'status':{'phase':'R'}}",
       {{'k', "/spec/nodeName /spec/y", 0}},
       "{'kind':'Pod','apiVersion':'v1','metadata':{'name':'p','uid':'u',"
       "'resourceVersion':'9','labels':{'l':'1'}},'spec':{'nodeName':'n'}}",
       0},
      {"{" M ",'a':1}", {{'k', "", 0}}, "{" M "}", 0},
      {"{" M ",'a':{'b':1,'c':{'d':2,'e':3}},'f':4}",
       {{'k', "/a/c/e /a/c", 0}},
       "{" M ",'a':{'c':{'d':2,'e':3}}}",
       0},
      {"{" M ",'a':[{'x':1,'y':2},{'y':3},4]}",
       {{'k', "/a/*/x", 0}},
       "{" M ",'a':[{'x':1},{}]}",
       0},
      {"{" M ",'a':[1,2,3]}", {{'k', "/a/2 /a/0", 0}}, "{" M ",'a':[1,3]}", 0},
      /* Named and starred together; names around the slash in the order of
       * bytes; a member that is named by a star. */
      {"{" M ",'a':{'b':{'x':1,'y':2,'z':3},'c':{'x':4,'y':5},'*':{'z':6}}}",
       {{'k', "/a/b/x /a/*/y /a/b/w", 0}},
       "{" M ",'a':{'b':{'x':1,'y':2},'c':{'y':5},'*':{}}}",
       0},
      {"{" M ",'a':{'b':1,'c':2},'a!':{'b':1,'c':2},'a/':3,'a~':4,'a0':5,"
       "'a\\u0000':6,'a/b':7}",
       {{'k', "/a/b /a~1b /a!/c /a~0 /a!", 0}},
       "{" M ",'a':{'b':1},'a!':{'b':1,'c':2},'a~':4,'a/b':7}",
       0},
      {"{" M ",'a':[0,1,2,3,4,5,6,7,8,9,10,11,{'x':1,'y':2}]}",
       {{'k', "/a/12/x /a/1 /a/10 /a/02 /a/-", 0}},
       "{" M ",'a':[1,10,{'x':1}]}",
       0},
      {"{" M ",'a':'s','b':{'x':1}}",
       {{'k', "/a/x /b/y", 0}},
       "{" M ",'b':{}}",
       0},
      /* What was set before is judged like the rest; what comes after stays. */
      {"{" M ",'a':1}",
       {{'"', "/b/c", "v"}, {'"', "/d", "v"}, {'k', "/b", 0}, {'#', "/e", "7"}},
       "{" M ",'b':{'c':'v'},'e':7}",
       0},
      {"{" M ",'a':{'x':1,'x':2},'a':{'y':1,'x':3}}",
       {{'k', "/a/x", 0}},
       "{" M ",'a':{'x':1,'x':2},'a':{'x':3}}",
       0},
  };
  run_rows(rows, COUNT_OF(rows));
}

static void test_builder_set(void **state) {
  (void)state;
  static const edit_row rows[] = {
      {"{" M ",'a':1,'b':2}",
       {{'=', "/a", "{'x':[]}"}},
       "{" M ",'a':{'x':[]},'b':2}",
       0},
      {"{" M "}", {{'"', "/a", "s"}}, "{" M ",'a':'s'}", 0},
      {"{" M "}", {{'?', "/a/b/c", "true"}}, "{" M ",'a':{'b':{'c':true}}}", 0},
      {"{" M ",'a':null}",
       {{'?', "/a/b", "false"}},
       "{" M ",'a':{'b':false}}",
       0},
      {"{" M ",'a':{}}",
       {{'#', "/a/b", "-9223372036854775808"}},
       "{" M ",'a':{'b':-9223372036854775808}}",
       0},
      {"{" M ",'a':[1,2]}",
       {{'#', "/a/0", "7"}, {'#', "/a/-", "8"}, {'#', "/a/3", "9"}},
       "{" M ",'a':[7,2,8,9]}",
       0},
      {"{" M ",'a':[]}", {{'#', "/a/-/x", "8"}}, "{" M ",'a':[{'x':8}]}", 0},
      {"{" M ",'a':[{'x':1},{}]}",
       {{'"', "/a/*/x", "s"}},
       "{" M ",'a':[{'x':'s'},{'x':'s'}]}",
       0},
      {"{" M ",'a':{'x':1,'y':2}}",
       {{'#', "/a/*", "3"}},
       "{" M ",'a':{'x':3,'y':3}}",
       0},
      /* What a wildcard does not find is not made. */
      {"{" M ",'n':null}",
       {{'#', "/a/*", "3"}, {'#', "/b/*/c", "3"}, {'#', "/n/*", "3"}},
       "{" M ",'n':null}",
       0},
      /* In order. */
      {"{" M ",'a':{'x':1}}",
       {{'=', "/a", "{'y':1, 'z':2}"}, {'-', "/a/y", 0}, {'#', "/a/w", "5"}},
       "{" M ",'a':{'z':2,'w':5}}",
       0},
      {"{" M ",'a':{'x':1}}",
       {{'-', "/a", 0}, {'#', "/a/y", "2"}},
       "{" M ",'a':{'y':2}}",
       0},
      {"{" M "}", {{'#', "/a/x", "1"}, {'-', "/a/x", 0}}, "{" M ",'a':{}}", 0},
      /* The first of a name counts. */
      {"{" M ",'a':1,'a':2}", {{'#', "/a", "3"}}, "{" M ",'a':3,'a':2}", 0},
      /* Names and strings are escaped. */
      {"{" M "}",
       {{'"', "/a~1b~0c/\"\\\n", "\"\\\x01\x1f/\xc3\xa9\n"}},
       "{" M ",'a/b~c':{'\\'\\\\\\u000a':"
       "'\\'\\\\\\u0001\\u001f/\xc3\xa9\\u000a'}}",
       0},
      {"{ 'a' : 1 , " M " } ",
       {{'#', "/a", "2"}, {'=', "/b", " [ 1 ] "}},
       "{'a' : 2," M ",'b':[ 1 ]}",
       0},
      {"{" M ",'a':1}",
       {{'=', "", " {'metadata':{'name':'p'},'z':1}\n"}},
       "{'metadata':{'name':'p'},'z':1}",
       0},
      {"{" M ",'a':1}",
       {{'=', "", "{}"}, {'"', "/metadata/name", "p"}, {'#', "/x", "1"}},
       "{'metadata':{'name':'p'},'x':1}",
       0},
  };
  run_rows(rows, COUNT_OF(rows));
}

static void test_builder_errors(void **state) {
  (void)state;
  static const edit_row rows[] = {
      {"{" M "}", {{'-', "a", 0}}, NULL, KIN_EINVAL},
      {"{" M "}", {{'-', "/a~", 0}}, NULL, KIN_EINVAL},
      {"{" M "}", {{'-', "", 0}}, NULL, KIN_EINVAL},
      {"{" M "}", {{'k', "/a /b~2", 0}}, NULL, KIN_EINVAL},
      {"{" M "}", {{'#', "b", "1"}}, NULL, KIN_EINVAL},
      {"{" M "}", {{'"', "/a", "\xff"}}, NULL, KIN_EINVAL},
      {"{" M "}", {{'"', "/\xc3", "a"}}, NULL, KIN_EINVAL},
      {"{" M "}", {{'=', "/a", "{"}}, NULL, KIN_ETRUNCATED},
      {"{" M "}", {{'=', "/a", ""}}, NULL, KIN_ETRUNCATED},
      {"{" M "}", {{'=', "/a", "1 2"}}, NULL, KIN_EJSON},
      {"{" M "}", {{'=', "", "[]"}}, NULL, KIN_ETYPE},
      {"{" M "}", {{'#', "", "1"}}, NULL, KIN_ETYPE},
      {"{" M "}", {{'"', "", "1"}}, NULL, KIN_ETYPE},
      {"{" M ",'a':1}", {{'#', "/a/b", "1"}}, NULL, KIN_ETYPE},
      {"{" M ",'a':'s'}", {{'#', "/a/0", "1"}}, NULL, KIN_ETYPE},
      {"{" M ",'a':[1]}", {{'#', "/a/x", "1"}}, NULL, KIN_ETYPE},
      {"{" M ",'a':[1]}", {{'#', "/a/2", "1"}}, NULL, KIN_ENOENT},
      {"{" M ",'a':[1]}", {{'#', "/a/99999999999", "1"}}, NULL, KIN_ETYPE},
      {"{" M "}", {{'-', "/metadata/name", 0}}, NULL, KIN_EKEY},
      {"{" M "}", {{'-', "/metadata", 0}}, NULL, KIN_EKEY},
      {"{" M "}", {{'#', "/metadata/name", "1"}}, NULL, KIN_EKEY},
      {"{" M "}", {{'#', "/metadata", "1"}}, NULL, KIN_EKEY},
      /* The first one stays. */
      {"{" M "}",
       {{'#', "/a/x", "1"}, {'#', "/a/x/y", "1"}, {'-', "b", 0}},
       NULL,
       KIN_ETYPE},
  };
  run_rows(rows, COUNT_OF(rows));

  kin_object *object = NULL;
  kin_object_builder *builder;
  assert_int_equal(kin_object_builder_finish(NULL, &object), KIN_EINVAL);
  assert_int_equal(kin_object_builder_new(&builder, NULL, NULL), 0);
  assert_int_equal(kin_object_builder_set_string(builder, "/a", NULL),
                   KIN_EINVAL);
  assert_int_equal(kin_object_builder_keep(builder, NULL, 0), KIN_EINVAL);
  kin_object_builder_free(builder);
  kin_object_builder_free(NULL);
  assert_int_equal(kin_object_builder_new(&builder, NULL, NULL), 0);
  assert_int_equal(kin_object_builder_keep(builder, NULL, 1), KIN_EINVAL);
  assert_int_equal(kin_object_builder_finish(builder, &object), KIN_EINVAL);
  assert_int_equal(kin_object_builder_new(&builder, NULL, NULL), 0);
  assert_int_equal(kin_object_builder_set_json(builder, "/a", NULL, 0),
                   KIN_EINVAL);
  assert_int_equal(kin_object_builder_finish(builder, &object), KIN_EINVAL);
}

/* Text that came as a stream was only checked for brackets and strings. */
static void test_builder_broken_text(void **state) {
  (void)state;
  static const char *const bodies[] = {
      "{\"a\"}",    "{\"a\":}", "{\"a\":1 2}",    "{a:1}",
      "{\"a\":1,}", "{,}",      "{\"\\u12\":1}",  "{\"a\":\"b}",
      "{\"a\":",    "{",        "{\"a\":[1,,2]}", "{\"a\":{1}}",
      "{\"a\" 1}",
  };
  for (size_t i = 0; i < COUNT_OF(bodies); i++) {
    char *exact = malloc(strlen(bodies[i]));
    memcpy(exact, bodies[i], strlen(bodies[i]));
    kin__memory *memory = kin__memory_new(NULL);
    kin__object_parts parts = {.name = KIN__LIT("p"),
                               .body = {exact, strlen(bodies[i])}};
    kin_object *from;
    kin_object *made;
    assert_int_equal(kin__object_new(&from, memory, &parts), 0);
    free(exact);
    static const edit edits[] = {{'-', "/a/1", 0}, {'-', "/z", 0}};
    assert_int_equal(edit_build(&made, NULL, from, edits, 2), KIN_EJSON);
    kin_object_unref(from);
    kin__memory_unref(memory);
  }
}

/* Without an effective edit the object is the one it began with. */
static void test_builder_unchanged(void **state) {
  (void)state;
  static const edit edits[] = {{'-', "/x", 0},
                               {'-', "/spec/*/y", 0},
                               {'k', "/spec", 0},
                               {'#', "/spec/*/z", "1"}};
  kin_object *from = object_of(NULL, "{" M ",'spec':{'a':[1]}}");
  for (size_t count = 0; count <= COUNT_OF(edits) - 1; count++) {
    kin_object *made;
    assert_int_equal(edit_build(&made, NULL, from, edits, count), 0);
    assert_ptr_equal(made, from);
    kin_object_unref(made);
  }
  kin_object_unref(from);
}

/* From nothing, without JSON by hand; what is resident is found in the new
 * text, not beside it. */
static void test_builder_from_nothing(void **state) {
  (void)state;
  kin_object_builder *builder;
  kin_object *object;
  fail_alloc memory;
  fail_alloc_init(&memory, 0);
  assert_int_equal(kin_object_builder_new(&builder, &memory.allocator, NULL),
                   0);
  assert_int_equal(kin_object_builder_set_string(builder, "/kind", "Pod"), 0);
  kin_object_builder_set_string(builder, "/metadata/name", "web-0");
  kin_object_builder_set_string(builder, "/metadata/namespace", "shop");
  kin_object_builder_set_string(builder, "/metadata/uid", "u-1");
  kin_object_builder_set_int(builder, "/metadata/generation", 3);
  kin_object_builder_set_string(builder, "/metadata/resourceVersion", "77");
  kin_object_builder_set_str(builder, "/metadata/labels/app~1tier",
                             kin__str("webX", 3));
  assert_int_equal(kin_object_builder_finish(builder, &object), 0);
  assert_body(object,
              "{'kind':'Pod','metadata':{'name':'web-0','namespace':'shop',"
              "'uid':'u-1','generation':3,'resourceVersion':'77',"
              "'labels':{'app/tier':'web'}}}");
  assert_string_equal(kin_object_key(object).data, "shop/web-0");
  assert_true(kin__str_equal(kin_object_uid(object), KIN__LIT("u-1")));
  assert_true(
      kin__str_equal(kin_object_resource_version(object), KIN__LIT("77")));
  kin_str value;
  assert_true(kin_object_label(object, "app/tier", &value));
  assert_true(kin__str_equal(value, KIN__LIT("web")));
  kin_str body = kin__object_body(object);
  assert_true(kin_object_uid(object).data > body.data &&
              kin_object_resource_version(object).data > body.data &&
              value.data > body.data);
  kin_object_unref(object);
  assert_int_equal(memory.live_blocks, 0);
}

/* The same resident values as if the text had been parsed: escapes, and labels
 * that are none. */
static void test_builder_resident(void **state) {
  (void)state;
  static const struct {
    const char *metadata;
    const char *uid;
    const char *label; /* of "a"; NULL: none */
  } rows[] = {
      {"{'name':'p','uid':'u1','labels':{'a':'b'}}", "u1", "b"},
      {"{'name':'\\u0070','uid':'u\\u0031','labels':{'\\u0061':'\\n'}}", "u1",
       "\n"},
      {"{'labels':{'a':1},'uid':[],'name':'p'}", "", NULL},
      {"{'labels':null,'name':'p','uid':''}", "", NULL},
      {"{'name':'p','uid':'u1','uid':'u2','labels':{},'labels':{'a':'b'}}",
       "u1", NULL},
  };
  for (size_t i = 0; i < COUNT_OF(rows); i++) {
    static const edit edits[] = {{'-', "/x", 0}, {'#', "/y", "2"}};
    kin_object *from =
        object_format(NULL, "{'x':1,'metadata':%s}", rows[i].metadata);
    kin_object *made;
    assert_int_equal(edit_build(&made, NULL, from, edits, 2), 0);
    assert_string_equal(kin_object_key(made).data, "p");
    assert_true(kin__str_equal(kin_object_uid(made), kin__cstr(rows[i].uid)));
    kin_str value = {NULL, 0};
    assert_int_equal(kin_object_label(made, "a", &value),
                     rows[i].label != NULL);
    assert_true(kin__str_equal(value, kin__cstr(rows[i].label)));
    kin_object_unref(made);
    kin_object_unref(from);
  }
}

/* An object that has nothing but a key, as a queue makes them. */
static void test_builder_of_a_key(void **state) {
  (void)state;
  kin__memory *memory = kin__memory_new(NULL);
  kin__object_parts parts = {.namespace_ = KIN__LIT("n"),
                             .name = KIN__LIT("p")};
  kin_object *from;
  kin_object *made;
  assert_int_equal(kin__object_new(&from, memory, &parts), 0);
  assert_int_equal(edit_build(&made, NULL, from, NULL, 0), 0);
  assert_ptr_equal(made, from);
  kin_object_unref(made);
  static const edit edits[] = {{'#', "/a", "1"}};
  assert_int_equal(edit_build(&made, NULL, from, edits, 1), 0);
  assert_body(made, "{'metadata':{'namespace':'n','name':'p'},'a':1}");
  kin_object_unref(made);
  kin_object_unref(from);
  kin__memory_unref(memory);
}

/* Bounds. */

static char *repeated(const char *part, size_t count) {
  size_t length = strlen(part);
  char *text = malloc(length * count + 1);
  assert_non_null(text);
  for (size_t i = 0; i < count; i++) {
    memcpy(text + i * length, part, length);
  }
  text[length * count] = '\0';
  return text;
}

static int try_json(const char *pointer, size_t depth) {
  char *json = repeated("[]", depth);
  memset(json, '[', depth);
  memset(json + depth, ']', depth);
  kin_object_builder *builder;
  kin_object *made;
  assert_int_equal(kin_object_builder_new(&builder, NULL, NULL), 0);
  kin_object_builder_set_string(builder, "/metadata/name", "p");
  kin_object_builder_set_json(builder, pointer, json, strlen(json));
  int err = kin_object_builder_finish(builder, &made);
  kin_object_unref(made);
  free(json);
  return err;
}

static void test_builder_bounds(void **state) {
  (void)state;
  assert_int_equal(try_json("/a", 9999), 0);
  assert_int_equal(try_json("/a", 10000), KIN_EDEPTH);
  assert_int_equal(try_json("/a/b/c", 9998), KIN_EDEPTH);
  char *pointer = repeated("/a", 64);
  assert_int_equal(try_json(pointer, 9936), 0);
  free(pointer);
  pointer = repeated("/a", 65);
  assert_int_equal(try_json(pointer, 1), KIN_EINVAL);
  free(pointer);

  kin_object_builder *builder;
  kin_object *made;
  assert_int_equal(kin_object_builder_new(&builder, NULL, NULL), 0);
  kin_object_builder_set_string(builder, "/metadata/name", "p");
  for (size_t i = 1; i < 4096; i++) {
    assert_int_equal(kin_object_builder_set_int(builder, "/a", (int64_t)i), 0);
  }
  assert_int_equal(kin_object_builder_remove(builder, "/b"), KIN_ETOOBIG);
  assert_int_equal(kin_object_builder_finish(builder, &made), KIN_ETOOBIG);

  const char *pointers[1025];
  for (size_t i = 0; i < COUNT_OF(pointers); i++) {
    pointers[i] = "/a";
  }
  assert_int_equal(kin_object_builder_new(&builder, NULL, NULL), 0);
  assert_int_equal(kin_object_builder_keep(builder, pointers, 1024), 0);
  assert_int_equal(kin_object_builder_keep(builder, pointers, 1025),
                   KIN_EINVAL);
  kin_object_builder_free(builder);

  /* A string that is longer than a chunk of the tree's memory. */
  char *text = repeated("x", 100000);
  assert_int_equal(kin_object_builder_new(&builder, NULL, NULL), 0);
  kin_object_builder_set_string(builder, "/a", text);
  kin_object_builder_set_string(builder, "/metadata/name", "p");
  assert_int_equal(kin_object_builder_finish(builder, &made), 0);
  assert_true(kin__object_body(made).length > 100000);
  kin_object_unref(made);
  free(text);
}

enum { MANY_POINTERS = 1000, MANY_ELEMENTS = 2000 };

/* However many pointers lead into however many elements, an element costs no
 * more than it does for one. */
static void test_builder_keep_takes_little_memory(void **state) {
  (void)state;
  static char names[MANY_POINTERS][16];
  const char *pointers[MANY_POINTERS];
  for (size_t i = 0; i < MANY_POINTERS; i++) {
    snprintf(names[i], sizeof names[i], "/a/*/x%zu", i);
    pointers[i] = names[i];
  }
  char *elements = repeated(",{'x999':1,'b':2}", MANY_ELEMENTS);
  size_t size = strlen(elements) + 64;
  char *text = malloc(size);
  assert_non_null(text);
  snprintf(text, size, "{" M ",'a':[%s]}", elements + 1);
  kin_object *from = object_of(NULL, text);
  fail_alloc memory;
  fail_alloc_init(&memory, 0);
  kin_object_builder *builder;
  kin_object *made;
  assert_int_equal(kin_object_builder_new(&builder, &memory.allocator, from),
                   0);
  assert_int_equal(kin_object_builder_keep(builder, pointers, MANY_POINTERS),
                   0);
  assert_int_equal(kin_object_builder_finish(builder, &made), 0);
  assert_in_range(kin__object_body(made).length,
                  MANY_ELEMENTS * strlen("{'x999':1}"), size);
  assert_in_range(memory.peak_bytes, 0, 2 << 20);
  kin_object_unref(made);
  kin_object_unref(from);
  assert_int_equal(memory.live_blocks, 0);
  free(text);
  free(elements);
}

/* Children that edits pass cost no memory of note, however small they are, and
 * are found by later edits. */
static void test_builder_passes_take_little_memory(void **state) {
  (void)state;
  enum { MANY = 100000 };
  char *elements = repeated(",0", MANY);
  char *members = repeated(",'\\u0061b':{}", MANY / 10);
  size_t size = strlen(elements) + strlen(members) + 64;
  char *text = malloc(size);
  assert_non_null(text);
  snprintf(text, size, "{" M ",'l':[%s]%s,'z':1}", elements + 1, members);
  kin_object *from = object_of(NULL, text);
  fail_alloc memory;
  fail_alloc_init(&memory, 0);
  kin_object_builder *builder;
  kin_object *made;
  assert_int_equal(kin_object_builder_new(&builder, &memory.allocator, from),
                   0);
  static const char *const removed[] = {"/l/*/x", "/l/7",     "/y",
                                        "/ab/x",  "/l/99998", "/z"};
  for (size_t i = 0; i < COUNT_OF(removed); i++) {
    assert_int_equal(kin_object_builder_remove(builder, removed[i]), 0);
  }
  assert_in_range(memory.peak_bytes, 0, 16 << 10);
  assert_int_equal(kin_object_builder_remove(builder, "/l/*"), 0);
  assert_int_equal(kin_object_builder_remove(builder, "/ab"), 0);
  assert_in_range(memory.peak_bytes, 0, 16 << 10);
  assert_int_equal(kin_object_builder_finish(builder, &made), 0);
  kin_str body = kin__object_body(made);
  assert_true(body.length < 200);
  assert_memory_equal(body.data + body.length - 7, "\"l\":[]}", 7);
  kin_object_unref(made);
  kin_object_unref(from);
  assert_int_equal(memory.live_blocks, 0);
  free(text);
  free(elements);
  free(members);
}

/* Elements are found by their index, wherever earlier edits have cut the array:
 * in its order, against it, and by leaps; behind the last there is only `-`. */
static void test_builder_finds_elements(void **state) {
  (void)state;
  enum { MANY = 5000, EDITS = 1200 };
  char *elements = repeated(",0", MANY);
  char *text = malloc(2 * MANY + 64);
  char *result = malloc(5 * MANY + 64);
  assert_non_null(text);
  assert_non_null(result);
  sprintf(text, "{" M ",'l':[%s]}", elements + 1);
  for (unsigned leap = 0; leap < 3; leap++) {
    static const unsigned leaps[] = {3, MANY - 3, 1777};
    kin_object *from = object_of(NULL, text);
    kin_object_builder *builder;
    kin_object *made;
    int expected[MANY] = {0};
    assert_int_equal(kin_object_builder_new(&builder, NULL, from), 0);
    unsigned index = 0;
    for (int i = 1; i <= EDITS; i++) {
      char pointer[16];
      index = (index + leaps[leap]) % MANY;
      sprintf(pointer, "/l/%u", index);
      expected[index] = i;
      assert_int_equal(kin_object_builder_set_int(builder, pointer, i), 0);
    }
    assert_int_equal(kin_object_builder_set_int(builder, "/l/-", 7), 0);
    assert_int_equal(kin_object_builder_remove(builder, "/l/0"), 0);
    assert_int_equal(kin_object_builder_remove(builder, "/l/5000"), 0);
    assert_int_equal(kin_object_builder_finish(builder, &made), 0);
    size_t length = (size_t)sprintf(result, "\"l\":[");
    for (index = 1; index < MANY; index++) {
      length += (size_t)sprintf(result + length, "%d,", expected[index]);
    }
    length += (size_t)sprintf(result + length, "7]}");
    kin_str body = kin__object_body(made);
    assert_in_range(body.length, length, length + 64);
    assert_memory_equal(body.data + body.length - length, result, length);
    kin_object_unref(made);
    kin_object_unref(from);
  }
  free(result);
  free(text);
  free(elements);
}

/* A string takes its own length, quoted, not that of the worst case. */
static void test_builder_strings_take_little_memory(void **state) {
  (void)state;
  enum { LENGTH = 1 << 20 };
  char *value = malloc(LENGTH);
  assert_non_null(value);
  for (int is_ascii = 0; is_ascii < 2; is_ascii++) {
    memset(value, 'a', LENGTH);
    memcpy(value, is_ascii ? "\"\n" : "\xc3\xa4", 2);
    fail_alloc memory;
    fail_alloc_init(&memory, 0);
    kin_object_builder *builder;
    assert_int_equal(kin_object_builder_new(&builder, &memory.allocator, NULL),
                     0);
    assert_int_equal(
        kin_object_builder_set_str(builder, "/a", kin__str(value, LENGTH)), 0);
    assert_in_range(memory.live_bytes, LENGTH, LENGTH + (16 << 10));
    assert_in_range(memory.peak_bytes, LENGTH, 3 * LENGTH);
    kin_object_builder_free(builder);
    assert_int_equal(memory.live_blocks, 0);
  }
  free(value);
}

/* Every allocation fails once. */
static void test_builder_sweep(void **state) {
  (void)state;
  static const edit edits[] = {
      {'-', "/spec/*/b", 0},
      {'k', "/spec /status/x", 0},
      {'"', "/metadata/labels/x", "\xc3\xa9\n"},
      {'=', "/z/y", "[1,2,{'a':3}]"},
  };
  kin_object *from = object_of(
      NULL,
      "{'metadata':{'\\u006eame':'p','uid':'\\u0031','labels':{'a':'b\\n'}},"
      "'spec':[{'b':1},{'c':2}],'status':{'x':1,'y':2}}");
  for (size_t n = 1;; n++) {
    fail_alloc memory;
    fail_alloc_init(&memory, n);
    kin_object *made;
    int err =
        edit_build(&made, &memory.allocator, from, edits, COUNT_OF(edits));
    bool has_failed = fail_alloc_has_failed(&memory);
    assert_int_equal(err, has_failed ? KIN_ENOMEM : 0);
    kin_object_unref(made);
    assert_int_equal(memory.live_blocks, 0);
    if (!has_failed) {
      assert_true(n > 6);
      break;
    }
  }
  kin_object_unref(from);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_builder_remove),
      cmocka_unit_test(test_builder_finds_what_was_passed),
      cmocka_unit_test(test_builder_keep),
      cmocka_unit_test(test_builder_set),
      cmocka_unit_test(test_builder_errors),
      cmocka_unit_test(test_builder_broken_text),
      cmocka_unit_test(test_builder_unchanged),
      cmocka_unit_test(test_builder_from_nothing),
      cmocka_unit_test(test_builder_resident),
      cmocka_unit_test(test_builder_of_a_key),
      cmocka_unit_test(test_builder_bounds),
      cmocka_unit_test(test_builder_keep_takes_little_memory),
      cmocka_unit_test(test_builder_passes_take_little_memory),
      cmocka_unit_test(test_builder_finds_elements),
      cmocka_unit_test(test_builder_strings_take_little_memory),
      cmocka_unit_test(test_builder_sweep),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
