/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <kin/error.h>
#include <kin/store.h>

#include "base/str.h"
#include "store/index.h"
#include "store/store.h"
#include "support/indices.h"
#include "support/objects.h"
#include "support/store_rig.h"

/* client-go TestGetIndexFuncValues; TS-06. */
static void test_index_values(void **state) {
  (void)state;
  store_rig f;
  store_rig_setup(&f);
  assert_int_equal(add_pointer(f.store, "testmodes", "/metadata/labels/foo"),
                   0);
  put_json(f.store, "{'metadata':{'name':'one','labels':{'foo':'bar'}}}");
  put_json(f.store, "{'metadata':{'name':'two','labels':{'foo':'bar'}}}");
  put_json(f.store, "{'metadata':{'name':'tre','labels':{'foo':'biz'}}}");
  assert_values(f.store, "testmodes", "bar biz");
  assert_values(f.store, "unknown", "");
  store_rig_teardown(&f);
}

/* client-go TestMultiIndexKeys; TS-02, TS-03, TS-06. */
static void test_index_multi_index_keys(void **state) {
  (void)state;
  store_rig f;
  store_rig_setup(&f);
  assert_int_equal(add_callback(f.store, "byUser", emit_users, NULL), 0);
  put_users(f.store, "one", "ernie,bert");
  put_users(f.store, "two", "bert,oscar");
  put_users(f.store, "tre", "ernie,elmo");
  assert_names(f.store, "byUser", "ernie", "one tre");
  assert_names(f.store, "byUser", "bert", "one two");
  assert_names(f.store, "byUser", "elmo", "tre");
  assert_names(f.store, "byUser", "oscar", "two");
  assert_names(f.store, "byUser", "somebody", "");

  assert_int_equal(kin_store_delete(f.store, KIN__LIT("tre")), 0);
  assert_names(f.store, "byUser", "ernie", "one");
  assert_names(f.store, "byUser", "bert", "one two");
  assert_names(f.store, "byUser", "elmo", "");
  assert_names(f.store, "byUser", "oscar", "two");

  put_users(f.store, "two", "bert");
  assert_names(f.store, "byUser", "bert", "one two");
  assert_names(f.store, "byUser", "oscar", "");
  put_users(f.store, "two", "elmo,ernie,bert");
  assert_names(f.store, "byUser", "elmo", "two");
  assert_names(f.store, "byUser", "ernie", "one two");
  put_users(f.store, "two", "");
  assert_names(f.store, "byUser", "bert", "one");
  assert_values(f.store, "byUser", "bert ernie");
  store_rig_teardown(&f);
}

/* client-go TestIndex; TS-06, ST-01: objects that share a value with a given
 * one are those of all its values. */
static void test_index_of_an_objects_own_values(void **state) {
  (void)state;
  store_rig f;
  store_rig_setup(&f);
  assert_int_equal(add_callback(f.store, "by_val", emit_users, NULL), 0);
  put_users(f.store, "a", "b");
  put_users(f.store, "c", "b");
  put_users(f.store, "e", "f");
  put_users(f.store, "g", "f");
  kin_str value;
  assert_true(
      kin_object_label(kin_store_get_key(f.store, "a"), "users", &value));
  char names[1024];
  names_by(names, f.store, "by_val", value);
  assert_string_equal(names, "a c");
  assert_names(f.store, "by_val", "f", "e g");
  store_rig_teardown(&f);
}

static void test_index_unknown_name(void **state) {
  (void)state;
  store_rig f;
  store_rig_setup(&f);
  assert_int_equal(add_callback(f.store, "byUser", emit_users, NULL), 0);
  put_users(f.store, "one", "ernie");
  kin_index_cursor cursor;
  assert_int_equal(
      kin_store_by_index(f.store, "byuser", KIN__LIT("ernie"), &cursor),
      KIN_ENOENT);
  assert_null(kin_store_by_index_next(f.store, &cursor));
  assert_int_equal(kin_store_by_index(f.store, NULL, KIN__LIT(""), &cursor),
                   KIN_EINVAL);
  assert_int_equal(kin_store_index_count(f.store, "byuser", KIN__LIT("ernie")),
                   0);
  assert_false(kin_store_index_ready(f.store, "byuser"));
  assert_true(kin_store_index_ready(f.store, "byUser"));
  store_rig_teardown(&f);
}

/* client-go TestThreadSafeStoreDeleteRemovesEmptySetsFromIndex; TS-04. */
static void test_index_drops_values_nobody_has(void **state) {
  (void)state;
  store_rig f;
  store_rig_setup(&f);
  assert_int_equal(add_callback(f.store, "byUser", emit_users, NULL), 0);
  put_users(f.store, "one", "ernie");
  assert_values(f.store, "byUser", "ernie");
  kin_store_delete(f.store, KIN__LIT("one"));
  assert_values(f.store, "byUser", "");
  assert_int_equal(f.store->indices->values.live, 0);
  assert_int_equal(f.store->indices->postings.live, 0);
  store_rig_teardown(&f);
}

/* client-go TestThreadSafeStoreAddKeepsNonEmptySetPostDeleteFromIndex;
 * TS-04. */
static void test_index_keeps_values_somebody_has(void **state) {
  (void)state;
  store_rig f;
  store_rig_setup(&f);
  assert_int_equal(add_callback(f.store, "byUser", emit_users, NULL), 0);
  put_users(f.store, "keep", "ernie");
  put_users(f.store, "gone", "ernie");
  kin_store_delete(f.store, KIN__LIT("gone"));
  assert_values(f.store, "byUser", "ernie");
  assert_names(f.store, "byUser", "ernie", "keep");
  put_users(f.store, "keep", "bert");
  assert_values(f.store, "byUser", "bert");
  store_rig_teardown(&f);
}

/* client-go TestThreadSafeStoreIndexingFunctionsWithMultipleValues; TS-03. */
static void test_index_values_grow_and_shrink(void **state) {
  (void)state;
  static const struct {
    const char *users;
    const char *values;
  } steps[] = {
      {"foo", "foo"},
      {"foo,bar", "bar foo"},
      {"bar,baz", "bar baz"},
      {"foo,foo,bar,foo", "bar foo"}, /* duplicates collapse */
      {"foo,bar,foo", "bar foo"},
      {"", ""},
      {"a,b,c,d", "a b c d"},
      {"d,c,b,a", "a b c d"},
      {"d,c", "c d"},
      {"x,d,c", "c d x"},
      {"x", "x"},
  };
  store_rig f;
  store_rig_setup(&f);
  assert_int_equal(add_callback(f.store, "byUser", emit_users, NULL), 0);
  for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
    assert_int_equal(put_users(f.store, "it", steps[i].users), 0);
    assert_values(f.store, "byUser", steps[i].values);
    char *values = strdup(steps[i].values);
    for (char *v = strtok(values, " "); v != NULL; v = strtok(NULL, " ")) {
      assert_names(f.store, "byUser", v, "it");
    }
    free(values);
  }
  kin_store_delete(f.store, KIN__LIT("it"));
  assert_values(f.store, "byUser", "");
  store_rig_teardown(&f);
}

/* TS-02: an update that keeps the values touches nothing: a scan that began
 * before it would still be right, and no memory is asked for. */
static void test_index_update_without_a_change(void **state) {
  (void)state;
  store_rig f;
  store_rig_setup(&f);
  assert_int_equal(add_callback(f.store, "byUser", emit_users, NULL), 0);
  put_users(f.store, "one", "ernie,bert");
  put_users(f.store, "two", "ernie");
  put_users(f.store, "tre", "ernie");
  const kin__index *index = f.store->indices;
  uint32_t slot = 0;
  kin__posting before[2];
  uint32_t first = kin__index_first(index, slot);
  before[0] = *kin__index_posting(index, first);
  before[1] = *kin__index_posting(index, before[0].next_of_slot);
  f.memory.fail_at = f.memory.calls + 1;
  f.memory.keeps_failing = true;
  assert_int_equal(put_users(f.store, "one", "ernie,bert"), 0);
  assert_false(fail_alloc_has_failed(&f.memory));
  assert_int_equal(kin__index_first(index, slot), first);
  assert_memory_equal(kin__index_posting(index, first), &before[0],
                      sizeof before[0]);
  assert_memory_equal(kin__index_posting(index, before[0].next_of_slot),
                      &before[1], sizeof before[1]);
  store_rig_teardown(&f);
}

/* client-go TestIndexer (its late index); TS-07. */
static void test_index_of_a_store_with_objects(void **state) {
  (void)state;
  store_rig f;
  store_rig_setup(&f);
  put_users(f.store, "one", "ernie");
  put_users(f.store, "two", "ernie,bert");
  assert_int_equal(add_callback(f.store, "byUser", emit_users, NULL), 0);
  assert_true(kin_store_index_ready(f.store, "byUser"));
  assert_names(f.store, "byUser", "ernie", "one two");
  assert_int_equal(add_pointer(f.store, "byUser", "/metadata/name"),
                   KIN_EEXIST);
  assert_names(f.store, "byUser", "ernie", "one two");
  assert_int_equal(add_pointer(f.store, "byName", "/metadata/name"), 0);
  assert_names(f.store, "byName", "two", "two");
  store_rig_teardown(&f);
}

static void test_index_options_are_checked(void **state) {
  (void)state;
  store_rig f;
  store_rig_setup(&f);
  assert_int_equal(kin_store_add_index(f.store, NULL), KIN_EINVAL);
  kin_index_options options = KIN_INDEX_OPTIONS_INIT;
  options.pointer = "/spec/nodeName";
  assert_int_equal(kin_store_add_index(f.store, &options), KIN_EINVAL);
  options.name = "";
  assert_int_equal(kin_store_add_index(f.store, &options), KIN_EINVAL);
  options.name = "byNode";
  options.cb = emit_users;
  assert_int_equal(kin_store_add_index(f.store, &options), KIN_EINVAL);
  options.cb = NULL;
  options.size = 0;
  assert_int_equal(kin_store_add_index(f.store, &options), KIN_EINVAL);
  struct {
    kin_index_options options;
    const char *newer;
  } future = {.newer = "set"};
  future.options = options;
  future.options.size = sizeof future;
  assert_int_equal(kin_store_add_index(f.store, &future.options), KIN_ENOTSUP);
  assert_int_equal(add_pointer(f.store, "byNode", NULL), KIN_EINVAL);
  static const char *const malformed[] = {"spec/nodeName", "/spec/~", "/a~2b"};
  for (size_t i = 0; i < sizeof malformed / sizeof malformed[0]; i++) {
    assert_int_equal(add_pointer(f.store, "byNode", malformed[i]), KIN_EINVAL);
  }
  char long_pointer[2 * 65 + 1] = "";
  for (int i = 0; i < 65; i++) {
    strcat(long_pointer, "/*");
  }
  assert_int_equal(add_pointer(f.store, "byNode", long_pointer), KIN_EINVAL);
  assert_null(f.store->indices);
  store_rig_teardown(&f);
}

/* The strings of the options are copied. */
static void test_index_copies_its_options(void **state) {
  (void)state;
  store_rig f;
  store_rig_setup(&f);
  char name[] = "byNode";
  char pointer[] = "/spec/nodeName";
  assert_int_equal(add_pointer(f.store, name, pointer), 0);
  memset(name, 'x', sizeof name - 1);
  memset(pointer, 'x', sizeof pointer - 1);
  put_json(f.store, "{'metadata':{'name':'p'},'spec':{'nodeName':'n1'}}");
  assert_names(f.store, "byNode", "n1", "p");
  store_rig_teardown(&f);
}

static int emit_namespace(const kin_object *object, kin_index_values *values,
                          void *data) {
  (void)data;
  return kin_index_emit(values, kin_object_namespace(object));
}

/* KY-07: client-go's namespace index gives cluster-scoped objects the value "".
 * A pointer finds nothing there, a callback may emit it. */
static void test_index_by_namespace(void **state) {
  (void)state;
  store_rig f;
  store_rig_setup(&f);
  assert_int_equal(add_pointer(f.store, "pointer", "/metadata/namespace"), 0);
  assert_int_equal(add_callback(f.store, "callback", emit_namespace, NULL), 0);
  put_json(f.store, "{'metadata':{'name':'p','namespace':'default'}}");
  put_json(f.store, "{'metadata':{'name':'q','namespace':'default'}}");
  put_json(f.store, "{'metadata':{'name':'r','namespace':'kube-system'}}");
  put_json(f.store, "{'metadata':{'name':'node'}}");
  assert_names(f.store, "pointer", "default", "p q");
  assert_names(f.store, "callback", "default", "p q");
  assert_names(f.store, "pointer", "", "");
  assert_names(f.store, "callback", "", "node");
  store_rig_teardown(&f);
}

/* What a pointer names, resident or not. */
static void test_index_by_pointer(void **state) {
  (void)state;
  static const char pod[] =
      "{'metadata':{'name':'p','namespace':'ns','uid':'u-1',"
      "'labels':{'app':'web','example.com/tier':'front','empty':''},"
      "'annotations':{'a/b':'slash','m~n':'tilde'},'generation':7},"
      "'spec':{'nodeName':'n1','hostNetwork':true,'weight':1.5,"
      "'nothing':null,'escaped':'a\\u0062\\n','containers':["
      "{'image':'nginx'},{'image':'envoy'},{'image':'nginx'},{'args':[]}]},"
      "'status':{'podIPs':[{'ip':'10.0.0.1'},{'ip':'fd00::1'}]}}";
  static const struct {
    const char *pointer;
    const char *values;
  } cases[] = {
      {"/metadata/name", "p"},
      {"/metadata/namespace", "ns"},
      {"/metadata/uid", "u-1"},
      {"/metadata/labels/app", "web"},
      {"/metadata/labels/example.com~1tier", "front"},
      {"/metadata/labels/absent", ""},
      {"/metadata/labels/*", " front web"},
      {"/metadata/labels", ""},
      {"/metadata/annotations/a~1b", "slash"},
      {"/metadata/annotations/m~0n", "tilde"},
      {"/metadata/generation", "7"},
      {"/spec/nodeName", "n1"},
      {"/spec/hostNetwork", "true"},
      {"/spec/weight", "1.5"},
      {"/spec/nothing", ""},
      {"/spec/escaped", "ab\n"},
      {"/spec/containers", ""},
      {"/spec/containers/1/image", "envoy"},
      {"/spec/containers/*/image", "envoy nginx"},
      {"/status/podIPs/*/ip", "10.0.0.1 fd00::1"},
      {"/status/phase", ""},
      {"", ""},
  };
  store_rig f;
  store_rig_setup(&f);
  put_json(f.store, pod);
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const char *pointer = cases[i].pointer;
    const char *name = pointer[0] != '\0' ? pointer : "root";
    assert_int_equal(add_pointer(f.store, name, pointer), 0);
    assert_values(f.store, name, cases[i].values);
  }
  /* An empty label is a value, an absent one is not. */
  add_pointer(f.store, "empty label", "/metadata/labels/empty");
  add_pointer(f.store, "absent label", "/metadata/labels/none");
  assert_names(f.store, "empty label", "", "p");
  assert_names(f.store, "absent label", "", "");
  /* The same by upsert with all indices there. */
  kin_store_delete(f.store, KIN__LIT("ns/p"));
  put_json(f.store, pod);
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const char *pointer = cases[i].pointer;
    assert_values(f.store, pointer[0] != '\0' ? pointer : "root",
                  cases[i].values);
  }
  store_rig_teardown(&f);
}

/* What a server writes into a field cannot keep the object out of the store. */
static void test_index_pointer_skips_long_strings(void **state) {
  (void)state;
  store_rig f;
  store_rig_setup(&f);
  assert_int_equal(add_pointer(f.store, "note", "/data/*"), 0);
  char *text = malloc(KIN__INDEX_VALUE_MAX + 2);
  memset(text, 'x', KIN__INDEX_VALUE_MAX + 1);
  text[KIN__INDEX_VALUE_MAX + 1] = '\0';
  kin_object *object = object_format(
      NULL, "{'metadata':{'name':'o'},'data':{'a':'%s','b':'%s','c':'s'}}",
      text, text + 1);
  assert_int_equal(kin_store_put(f.store, object), 0);
  kin_object_unref(object);
  assert_int_equal(f.store->indices->values.live, 2);
  assert_names(f.store, "note", "s", "o");
  assert_names(f.store, "note", text + 1, "o");
  assert_names(f.store, "note", text, "");
  free(text);
  store_rig_teardown(&f);
}

static int emit_fleeting(const kin_object *object, kin_index_values *values,
                         void *data) {
  (void)object;
  char bytes[] = {'a', '\0', 'b'};
  int err = kin_index_emit(values, kin__str(bytes, sizeof bytes));
  memset(bytes, 'x', sizeof bytes);
  return err == 0 ? kin_index_emit(values, kin__str(data, 1)) : err;
}

/* Values are bytes, whichever they are, and copied. */
static void test_index_values_are_bytes(void **state) {
  (void)state;
  store_rig f;
  store_rig_setup(&f);
  char more = '\xff';
  assert_int_equal(add_callback(f.store, "i", emit_fleeting, &more), 0);
  put_json(f.store, "{'metadata':{'name':'o'}}");
  assert_int_equal(kin_store_index_count(f.store, "i", kin__str("a\0b", 3)), 1);
  assert_int_equal(kin_store_index_count(f.store, "i", kin__str("\xff", 1)), 1);
  assert_int_equal(kin_store_index_count(f.store, "i", kin__str("a", 1)), 0);
  assert_int_equal(kin_store_index_count(f.store, "i", kin__str("xxx", 3)), 0);
  store_rig_teardown(&f);
}

/* Resident values need no parsing: such an index costs only its own memory,
 * however large the object is. */
static void test_index_of_resident_values(void **state) {
  (void)state;
  static const struct {
    const char *pointer;
    bool parses;
  } rows[] = {{"/metadata/namespace", false}, {"/metadata/name", false},
              {"/metadata/uid", false},       {"/metadata/labels/l", false},
              {"/metadata/labels/*", true},   {"/metadata/labels/l/x", true},
              {"/metadata/generation", true}};
  char *text = malloc(100001);
  memset(text, 'x', 100000);
  text[100000] = '\0';
  kin_object *object = object_format(
      NULL,
      "{'metadata':{'name':'n','namespace':'s','uid':'u','labels':{'l':'v'}},"
      "'data':'%s'}",
      text);
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    store_rig f;
    store_rig_setup(&f);
    assert_int_equal(add_pointer(f.store, "i", rows[i].pointer), 0);
    assert_int_equal(f.store->indices->source.kind == KIN__INDEX_POINTER,
                     rows[i].parses);
    assert_int_equal(kin_store_put(f.store, object), 0);
    store_rig_teardown(&f);
  }
  kin_object_unref(object);
  free(text);
}

/* How an index function misbehaves. */
typedef struct misbehaviour {
  int result;
  size_t length; /* of a second value */
  bool ignores_errors;
} misbehaviour;

static int emit_and_fail(const kin_object *object, kin_index_values *values,
                         void *data) {
  const misbehaviour *m = data;
  static const char text[KIN__INDEX_VALUE_MAX + 1];
  int err = kin_index_emit(values, kin_object_resource_version(object));
  if (err == 0 && m->length > 0) {
    err = kin_index_emit(values, kin__str(text, m->length));
  }
  if (err == 0) {
    err = m->result;
  }
  return m->ignores_errors ? 0 : err;
}

/* TS-05: an index function that fails is an error of the put, and no index is
 * left half-updated, neither those before nor those behind it. */
static void test_index_callback_fails(void **state) {
  (void)state;
  static const misbehaviour cases[] = {
      {-1, 0, false},
      {1, 0, false},
      {KIN_EINDEX, 0, false},
      {0, KIN__INDEX_VALUE_MAX + 1, false},
      {0, KIN__INDEX_VALUE_MAX + 1, true},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    store_rig f;
    store_rig_setup(&f);
    misbehaviour m = {0};
    add_callback(f.store, "before", emit_users, NULL);
    add_callback(f.store, "failing", emit_and_fail, &m);
    add_callback(f.store, "behind", emit_users, NULL);
    put_json(f.store, "{'metadata':{'name':'it','resourceVersion':'1',"
                      "'labels':{'users':'ernie,bert'}}}");
    const kin_object *old = kin_store_get_key(f.store, "it");
    m = cases[i];
    assert_int_equal(put_json(f.store,
                              "{'metadata':{'name':'it','resourceVersion':'2',"
                              "'labels':{'users':'bert,elmo'}}}"),
                     KIN_EINDEX);
    assert_int_equal(
        put_json(f.store, "{'metadata':{'name':'other','resourceVersion':'3',"
                          "'labels':{'users':'ernie,elmo'}}}"),
        KIN_EINDEX);
    assert_ptr_equal(kin_store_get_key(f.store, "it"), old);
    assert_int_equal(kin_store_count(f.store), 1);
    assert_values(f.store, "before", "bert ernie");
    assert_values(f.store, "failing", "1");
    assert_values(f.store, "behind", "bert ernie");
    assert_names(f.store, "before", "bert", "it");
    /* An index that cannot be built is not added. */
    assert_int_equal(add_callback(f.store, "new", emit_and_fail, &m),
                     KIN_EINDEX);
    assert_false(kin_store_index_ready(f.store, "new"));
    m = (misbehaviour){0};
    assert_int_equal(
        put_json(f.store, "{'metadata':{'name':'it','resourceVersion':'2'}}"),
        0);
    assert_values(f.store, "before", "");
    assert_values(f.store, "failing", "2");
    store_rig_teardown(&f);
  }
}

static int emit_many(const kin_object *object, kin_index_values *values,
                     void *data) {
  (void)object;
  const unsigned *range = data; /* from, to */
  int err = 0;
  for (unsigned i = range[0]; i < range[1] && err == 0; i++) {
    char value[16];
    int length = snprintf(value, sizeof value, "%u", i);
    err = kin_index_emit(values, kin__str(value, (size_t)length));
  }
  return err;
}

/* More values than a segment has room for, in one object. */
static void test_index_many_values_of_one_object(void **state) {
  (void)state;
  store_rig f;
  store_rig_setup(&f);
  unsigned range[2] = {0, 50000};
  assert_int_equal(add_callback(f.store, "many", emit_many, range), 0);
  put_json(f.store, "{'metadata':{'name':'wide'}}");
  assert_names(f.store, "many", "0", "wide");
  assert_names(f.store, "many", "49999", "wide");
  range[0] = 30000;
  range[1] = 60000;
  put_json(f.store, "{'metadata':{'name':'wide'}}");
  assert_names(f.store, "many", "29999", "");
  assert_names(f.store, "many", "30000", "wide");
  assert_names(f.store, "many", "59999", "wide");
  assert_int_equal(f.store->indices->values.live, 30000);
  assert_int_equal(f.store->indices->postings.live, 30000);
  kin_store_delete(f.store, KIN__LIT("wide"));
  assert_int_equal(f.store->indices->values.live, 0);
  store_rig_teardown(&f);
}

/* The memory of values that nobody has is given back, twice, also while another
 * object keeps a value of the last ones. */
static void test_index_gives_memory_back(void **state) {
  (void)state;
  store_rig f;
  store_rig_setup(&f);
  unsigned range[2] = {0, 1};
  assert_int_equal(add_callback(f.store, "many", emit_many, range), 0);
  put_json(f.store, "{'metadata':{'name':'narrow'}}");
  size_t before = f.memory.live_bytes;
  for (int round = 0; round < 2; round++) {
    range[0] = 0;
    range[1] = 50000;
    put_json(f.store, "{'metadata':{'name':'wide'}}");
    range[0] = 25000;
    range[1] = 75000;
    put_json(f.store, "{'metadata':{'name':'wide'}}");
    range[0] = 74999;
    put_json(f.store, "{'metadata':{'name':'narrow'}}");
    assert_true(f.memory.live_bytes - before > 50000 * 60);
    kin_store_delete(f.store, KIN__LIT("wide"));
    assert_true(f.memory.live_bytes - before < 50000 * 8);
    assert_values(f.store, "many", "74999");
    assert_names(f.store, "many", "74999", "narrow");
    assert_names(f.store, "many", "0", "");
  }
  store_rig_teardown(&f);
}

/* After many values have gone, the pieces of a close are those of what is
 * left. */
static void test_index_is_freed_fast_after_many_values(void **state) {
  (void)state;
  store_rig f;
  store_rig_setup(&f);
  unsigned range[2] = {0, 50000};
  assert_int_equal(add_callback(f.store, "many", emit_many, range), 0);
  put_json(f.store, "{'metadata':{'name':'wide'}}");
  range[0] = 49999;
  put_json(f.store, "{'metadata':{'name':'wide'}}");
  assert_values(f.store, "many", "49999");
  kin__index *index = f.store->indices;
  f.store->indices = NULL;
  uint32_t budget = 6000;
  assert_false(kin__index_free_step(index, &budget));
  store_rig_teardown(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_index_values),
      cmocka_unit_test(test_index_multi_index_keys),
      cmocka_unit_test(test_index_of_an_objects_own_values),
      cmocka_unit_test(test_index_unknown_name),
      cmocka_unit_test(test_index_drops_values_nobody_has),
      cmocka_unit_test(test_index_keeps_values_somebody_has),
      cmocka_unit_test(test_index_values_grow_and_shrink),
      cmocka_unit_test(test_index_update_without_a_change),
      cmocka_unit_test(test_index_of_a_store_with_objects),
      cmocka_unit_test(test_index_options_are_checked),
      cmocka_unit_test(test_index_copies_its_options),
      cmocka_unit_test(test_index_by_namespace),
      cmocka_unit_test(test_index_by_pointer),
      cmocka_unit_test(test_index_pointer_skips_long_strings),
      cmocka_unit_test(test_index_values_are_bytes),
      cmocka_unit_test(test_index_of_resident_values),
      cmocka_unit_test(test_index_callback_fails),
      cmocka_unit_test(test_index_many_values_of_one_object),
      cmocka_unit_test(test_index_gives_memory_back),
      cmocka_unit_test(test_index_is_freed_fast_after_many_values),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
