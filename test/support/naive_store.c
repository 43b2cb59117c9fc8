/* SPDX-License-Identifier: MIT */
#include "support/naive_store.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <kin/error.h>

#include "base/str.h"
#include "support/objects.h"

const char *const naive_index_names[] = {"tag", "node", "space", "name"};

naive_store naive;
naive_store_totals naive_totals;

unsigned naive_below(unsigned bound) {
  return (unsigned)kin__random_below(&naive.random, bound);
}

bool naive_chance(unsigned percent) {
  return naive_below(100) < percent;
}

const char *naive_name_of(unsigned key) {
  static char name[16];
  snprintf(name, sizeof name, "k%u", key);
  return name;
}

const char *naive_key_of(unsigned key) {
  static char text[24];
  snprintf(text, sizeof text, "s%u/k%u", key % SPACES, key);
  return text;
}

unsigned naive_number_of(const kin_object *object) {
  unsigned key = NAIVE_KEYS;
  assert_int_equal(sscanf(kin_object_name(object).data, "k%u", &key), 1);
  assert_true(key < naive.keys);
  assert_string_equal(kin_object_key(object).data, naive_key_of(key));
  return key;
}

/* Emits each letter of the label "tags". */
static int emit_tags(const kin_object *object, kin_index_values *values,
                     void *data) {
  (void)data;
  kin_str tags = {NULL, 0};
  int err = 0;
  kin_object_label(object, "tags", &tags);
  for (size_t i = 0; i < tags.length && err == 0; i++) {
    err = kin_index_emit(values, kin__str(tags.data + i, 1));
  }
  return err == 0 && naive.callback_fails ? -1 : err;
}

void naive_change_tags(naive_row *r) {
  size_t length = naive_below(2 * TAGS + 1);
  for (size_t i = 0; i < length; i++) {
    r->tags[i] = (char)('a' + naive_below(TAGS));
  }
  r->tags[length] = '\0';
}

kin_object *naive_make_object(unsigned key, const naive_row *r) {
  char node[32] = "";
  if (r->node > 0) {
    snprintf(node, sizeof node, "'nodeName':'n%u'", r->node);
  }
  return object_format(
      &naive.objects.allocator,
      "{'metadata':{'name':'%s','namespace':'s%u','labels':{'tags':'%s'},"
      "'resourceVersion':'%u'},'spec':{%s}}",
      naive_name_of(key), key % SPACES, r->tags, naive_below(1000), node);
}

static void forget_in_scans(unsigned key) {
  for (unsigned i = 0; i < SCANS; i++) {
    naive.scans[i].stays[key] = false;
  }
}

/* Lets a near allocation of store or parser fail, or the callback; in an
 * informer's store a callback that fails is no failure. */
static void arm(void) {
  if (naive_chance(20)) {
    naive.memory.fail_at = naive.memory.calls + 1 + naive_below(4);
  }
  if (naive_chance(10)) {
    naive.objects.fail_at = naive.objects.calls + 1 + naive_below(3);
  }
  naive.callback_fails = !naive.store.is_managed && naive_chance(5);
}

static void disarm(void) {
  naive.memory.fail_at = naive.objects.fail_at = 0;
  naive.callback_fails = false;
}

static void check_error(int err) {
  assert_true(err == KIN_ENOMEM || err == KIN_EINDEX);
  naive_totals.failures++;
}

static void set_version(const kin_object *object) {
  if (!naive.store.is_managed) {
    kin_str version = kin_object_resource_version(object);
    snprintf(naive.version, sizeof naive.version, KIN_STR_FORMAT,
             KIN_STR_ARG(version));
  }
}

/* A row that is to take the place of another, with an object of its own. */
static naive_row next_row(unsigned key) {
  naive_row next = naive.rows[key];
  if (naive_chance(50)) {
    naive_change_tags(&next);
  }
  if (naive_chance(50)) {
    next.node = naive_below(NODES);
  }
  if (naive.rows[key].object != NULL && naive_chance(10)) {
    next = naive.rows[key];
    kin_object_ref(next.object);
  } else {
    next.object = naive_make_object(key, &next);
  }
  return next;
}

static void accept_row(unsigned key, const naive_row *next) {
  naive_row *r = &naive.rows[key];
  naive.count += r->object == NULL ? 1 : 0;
  kin_object_unref(r->object);
  *r = *next;
}

static void accept_removal(unsigned key) {
  naive_row *r = &naive.rows[key];
  if (r->object != NULL) {
    kin_object_unref(r->object);
    r->object = NULL;
    naive.count--;
    forget_in_scans(key);
  }
}

void naive_put(unsigned key) {
  naive_row next = next_row(key);
  arm();
  int err = kin_store_put(&naive.store, next.object);
  disarm();
  if (err != 0) {
    check_error(err);
    kin_object_unref(next.object);
    return;
  }
  set_version(next.object);
  accept_row(key, &next);
}

void naive_delete(unsigned key) {
  int err = kin_store_delete(&naive.store, kin__cstr(naive_key_of(key)));
  assert_int_equal(err, naive.rows[key].object != NULL ? 0 : KIN_ENOENT);
  accept_removal(key);
}

void naive_delete_object(unsigned key) {
  naive_row next = next_row(key);
  arm();
  int err = kin_store_delete_object(&naive.store, next.object);
  disarm();
  if (err == 0) {
    set_version(next.object);
    accept_removal(key);
  } else {
    check_error(err);
  }
  kin_object_unref(next.object);
}

void naive_replace(void) {
  static const kin_object *objects[NAIVE_KEYS + 8];
  static unsigned keys[NAIVE_KEYS + 8];
  static naive_row next[NAIVE_KEYS + 8];
  unsigned percent = naive_below(101);
  unsigned count = 0;
  for (unsigned key = 0; key < naive.keys; key++) {
    for (unsigned i = 0; i < 2 && count < NAIVE_KEYS + 8; i++) {
      if (naive_chance(i == 0 ? percent : 3)) {
        keys[count] = key;
        next[count] = next_row(key);
        objects[count] = next[count].object;
        count++;
      }
    }
  }
  char version[16];
  snprintf(version, sizeof version, "%u", naive_below(100000));
  arm();
  int err = kin_store_replace(&naive.store, objects, count, kin__cstr(version));
  disarm();
  if (err != 0) {
    if (!naive.store.is_managed) {
      check_error(err);
    } else {
      assert_int_equal(err, KIN_EINVAL);
    }
    while (count > 0) {
      kin_object_unref(objects[--count]);
    }
    return;
  }
  strcpy(naive.version, version);
  static bool is_listed[NAIVE_KEYS];
  memset(is_listed, 0, sizeof is_listed);
  for (unsigned i = 0; i < count; i++) {
    accept_row(keys[i], &next[i]);
    is_listed[keys[i]] = true;
  }
  for (unsigned key = 0; key < naive.keys; key++) {
    if (!is_listed[key]) {
      accept_removal(key);
    }
  }
  naive_totals.replacements++;
}

void naive_transact(void) {
  enum { MOST = 6 };
  kin_store_op ops[MOST];
  unsigned keys[MOST];
  char texts[MOST][24];
  naive_row next[MOST];
  unsigned count = naive_below(MOST + 1);
  for (unsigned i = 0; i < count; i++) {
    keys[i] = naive_below(naive.keys);
    strcpy(texts[i], naive_key_of(keys[i]));
    next[i] = next_row(keys[i]);
    bool is_put = naive_chance(60);
    ops[i] = (kin_store_op){is_put ? KIN_STORE_PUT : KIN_STORE_DELETE,
                            is_put || naive_chance(50) ? next[i].object : NULL,
                            kin__cstr(texts[i]), 1};
  }
  size_t failed;
  arm();
  int err = kin_store_transact(&naive.store, ops, count, &failed);
  disarm();
  assert_int_equal(err != 0, failed > 0);
  const kin_object *last = NULL;
  for (unsigned i = 0; i < count; i++) {
    bool is_put = ops[i].type == KIN_STORE_PUT;
    if (ops[i].error != 0) {
      check_error(ops[i].error);
      failed--;
    } else {
      last = ops[i].object;
      if (is_put) {
        accept_row(keys[i], &next[i]);
        kin_object_ref(next[i].object);
      } else {
        accept_removal(keys[i]);
      }
    }
  }
  assert_int_equal(failed, 0);
  if (last != NULL) {
    set_version(last);
  }
  for (unsigned i = 0; i < count; i++) {
    kin_object_unref(next[i].object);
  }
}

void naive_add_index(unsigned which) {
  static const char *const pointers[] = {
      [BY_NODE] = "/spec/nodeName",
      [BY_SPACE] = "/metadata/namespace",
      [BY_NAME] = "/metadata/name",
  };
  kin_index_options options = KIN_INDEX_OPTIONS_INIT;
  options.name = naive_index_names[which];
  if (which == BY_TAG) {
    options.cb = emit_tags;
  } else {
    options.pointer = pointers[which];
  }
  unsigned added = naive.added;
  arm();
  int err = kin_store_add_index(&naive.store, &options);
  disarm();
  if (naive.has_index[which]) {
    assert_int_equal(err, KIN_EEXIST);
  } else if (err != 0) {
    check_error(err);
  } else {
    naive.has_index[which] = true;
    bool is_ready =
        kin_store_index_ready(&naive.store, naive_index_names[which]);
    assert_true(is_ready || naive.store.is_managed);
    assert_int_equal(naive.added - added, is_ready ? 0 : 1);
  }
}

void naive_build(void) {
  int err;
  arm();
  bool has_more =
      kin__store_index_step(&naive.store, naive_below(naive.keys) + 1, &err);
  disarm();
  if (err != 0) {
    check_error(err);
    assert_true(has_more);
  }
  bool is_ready = true;
  for (unsigned i = 0; i < INDICES; i++) {
    is_ready =
        is_ready && (!naive.has_index[i] ||
                     kin_store_index_ready(&naive.store, naive_index_names[i]));
  }
  assert_int_equal(has_more, !is_ready);
}

void naive_scan(naive_scan_state *s) {
  if (!s->is_open) {
    *s = (naive_scan_state){.is_open = true};
    for (unsigned key = 0; key < naive.keys; key++) {
      s->stays[key] = naive.rows[key].object != NULL;
    }
  }
  for (unsigned left = 1 + naive_below(naive.keys / 4 + 2); left > 0; left--) {
    const kin_object *object = kin_store_next(&naive.store, &s->cursor);
    if (object == NULL) {
      for (unsigned key = 0; key < naive.keys; key++) {
        assert_true(!s->stays[key] || s->met[key] == 1);
      }
      s->is_open = false;
      naive_totals.scans++;
      return;
    }
    unsigned key = naive_number_of(object);
    assert_ptr_equal(object, naive.rows[key].object);
    s->met[key]++;
    assert_true(!s->stays[key] || s->met[key] == 1);
  }
}
