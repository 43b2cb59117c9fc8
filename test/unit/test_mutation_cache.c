/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <kin/error.h>
#include <kin/mutation_cache.h>

#include "base/str.h"
#include "support/fail_alloc.h"
#include "support/indices.h"
#include "support/objects.h"
#include "support/store_rig.h"

enum { TTL_MS = 1000 };

typedef struct fixture {
  fail_alloc memory; /* the cache's */
  uint64_t now;
  kin_store *store;
  kin_mutation_cache *cache;
} fixture;

static uint64_t clock_of(void *ctx) {
  return ((fixture *)ctx)->now;
}

static int make(fixture *f, bool include_adds, uint32_t max_entries) {
  kin_mutation_cache_options options = KIN_MUTATION_CACHE_OPTIONS_INIT;
  options.allocator = &f->memory.allocator;
  options.store = f->store;
  options.now_ms = clock_of;
  options.now_ctx = f;
  options.ttl_ms = TTL_MS;
  options.max_entries = max_entries;
  options.include_adds = include_adds;
  return kin_mutation_cache_new(&f->cache, &options);
}

static void setup(fixture *f, bool include_adds) {
  *f = (fixture){.now = 1};
  fail_alloc_init(&f->memory, 0);
  assert_int_equal(kin_store_new(&f->store, NULL), 0);
  assert_int_equal(add_callback(f->store, "user", emit_users, NULL), 0);
  assert_int_equal(make(f, include_adds, 0), 0);
}

static void teardown(fixture *f) {
  kin_mutation_cache_free(f->cache);
  kin_store_free(f->store);
  assert_int_equal(f->memory.live_blocks, 0);
}

/* "name uid version users" as one word, which is what is asserted too; "-" is
 * no uid, or no version. */
static kin_object *object_of_words(const char *words) {
  char name[32];
  char uid[32];
  char version[32];
  char users[32] = "";
  assert_true(sscanf(words, "%31s %31s %31s %31s", name, uid, version, users) >=
              3);
  return object_format(NULL,
                       "{'metadata':{'name':'%s','uid':'%s',"
                       "'resourceVersion':'%s','labels':{'users':'%s'}}}",
                       name, strcmp(uid, "-") != 0 ? uid : "",
                       strcmp(version, "-") != 0 ? version : "", users);
}

typedef enum action { STORE = 1, WRITE, SEEN, GONE, FORGET, WAIT } action;

static int act(fixture *f, action what, const char *words) {
  if (what == FORGET) {
    return kin_store_delete(f->store, kin__cstr(words));
  }
  if (what == WAIT) {
    f->now += TTL_MS;
    return 0;
  }
  kin_object *object = object_of_words(words);
  int err = 0;
  switch (what) {
  case STORE:
    err = kin_store_put(f->store, object);
    break;
  case WRITE:
    err = kin_mutation_cache_mutation(f->cache, object);
    break;
  case SEEN:
    kin_mutation_cache_on_put(f->cache, object);
    break;
  default:
    err = kin_mutation_cache_on_delete(f->cache, object);
    break;
  }
  kin_object_unref(object);
  return err;
}

/* "uid version" of what is found for "pod", or "". */
static void assert_pod(fixture *f, const char *expected) {
  char text[64] = "";
  const kin_object *object = kin_mutation_cache_get(f->cache, KIN__LIT("pod"));
  if (object != NULL) {
    kin_str uid = kin_object_uid(object);
    kin_str version = kin_object_resource_version(object);
    snprintf(text, sizeof text, KIN_STR_FORMAT " " KIN_STR_FORMAT,
             KIN_STR_ARG(uid), KIN_STR_ARG(version));
  }
  assert_string_equal(text, expected);
}

/* "name@version" of what an index finds. */
static void assert_by_user(fixture *f, const char *user, const char *expected) {
  kin_object_list *list;
  char text[256] = "";
  assert_int_equal(
      kin_mutation_cache_by_index(f->cache, "user", kin__cstr(user), &list), 0);
  for (size_t i = 0; i < list->count; i++) {
    kin_str version = kin_object_resource_version(list->objects[i]);
    size_t at = strlen(text);
    snprintf(text + at, sizeof text - at, "%s%s@" KIN_STR_FORMAT,
             i > 0 ? " " : "", kin_object_name(list->objects[i]).data,
             KIN_STR_ARG(version));
  }
  kin_object_list_free(list);
  assert_string_equal(text, expected);
}

/* A story: up to 6 actions on "pod", and what is found afterwards with and
 * without include_adds. */
typedef struct story {
  struct {
    action what;
    const char *words;
  } acts[6];
  const char *found;
  const char *found_with_adds;
  size_t count; /* entries left */
} story;

static void run_stories(const story *stories, size_t count) {
  for (size_t i = 0; i < count; i++) {
    for (int include_adds = 0; include_adds < 2; include_adds++) {
      fixture f;
      setup(&f, include_adds == 1);
      for (size_t a = 0; a < 6 && stories[i].acts[a].what != 0; a++) {
        assert_int_equal(
            act(&f, stories[i].acts[a].what, stories[i].acts[a].words), 0);
      }
      const char *found =
          include_adds == 1 ? stories[i].found_with_adds : stories[i].found;
      assert_pod(&f, found);
      assert_int_equal(kin_mutation_cache_count(f.cache), stories[i].count);
      assert_pod(&f, found);
      teardown(&f);
    }
  }
}

#define RUN(stories) run_stories(stories, sizeof(stories) / sizeof(stories)[0])

/* client-go TestMutationCacheOnAddOrUpdate; MC-01, MC-02, MC-05, NR-13. */
static void test_mutation_cache_on_put(void **state) {
  (void)state;
  static const story stories[] = {
      {{{STORE, "pod u 5"}}, "u 5", "u 5", 0},
      {{{STORE, "pod u 5"}, {WRITE, "pod u 7"}}, "u 7", "u 7", 1},
      {{{STORE, "pod u 9"}, {WRITE, "pod u 10"}}, "u 10", "u 10", 1},
      {{{STORE, "pod u 5"}, {WRITE, "pod u 5"}}, "u 5", "u 5", 0},
      {{{STORE, "pod u 7"}, {WRITE, "pod u 5"}}, "u 7", "u 7", 0},
      {{{STORE, "pod u 5"}, {WRITE, "pod u 9"}, {WRITE, "pod u 7"}},
       "u 9",
       "u 9",
       1},
      {{{STORE, "pod u 5"}, {WRITE, "pod u -"}}, "u 5", "u 5", 0}, /* 0 */
      {{{STORE, "pod u -"}, {WRITE, "pod u 1"}}, "u 1", "u 1", 1},
      {{{STORE, "pod u 5"}, {WRITE, "pod u 7"}, {SEEN, "pod u 6"}},
       "u 7",
       "u 7",
       1},
      {{{STORE, "pod u 5"}, {WRITE, "pod u 7"}, {SEEN, "pod u 7"}},
       "u 5",
       "u 5",
       0},
      {{{STORE, "pod u 5"}, {WRITE, "pod u 7"}, {SEEN, "pod u x"}},
       "u 7",
       "u 7",
       1},
      {{{WRITE, "pod u 7"}}, "", "u 7", 1},
      {{{STORE, "pod u opaque"}, {WRITE, "pod u 7"}},
       "u opaque",
       "u opaque",
       1},
      {{{STORE, "pod u 99999999999999999999"},
        {WRITE, "pod u 100000000000000000000"}},
       "u 100000000000000000000",
       "u 100000000000000000000",
       1},
      {{{STORE, "pod u 5"}, {WRITE, "pod u 7"}, {WAIT, ""}}, "u 7", "u 7", 1},
      /* the same version once more is remembered for as long again */
      {{{WRITE, "pod u 7"}, {WAIT, ""}, {WRITE, "pod u 7"}, {WAIT, ""}},
       "",
       "u 7",
       1},
      {{{WRITE, "pod u 7"}, {WAIT, ""}, {WRITE, "pod u 8"}, {WAIT, ""}},
       "",
       "u 8",
       1},
  };
  RUN(stories);
}

/* client-go TestMutationCacheOnDelete; MC-02, MC-06. */
static void test_mutation_cache_on_delete(void **state) {
  (void)state;
  static const story stories[] = {
      {{{WRITE, "pod u 7"}, {GONE, "pod u 8"}}, "", "", 1},
      {{{WRITE, "pod u 7"}, {GONE, "pod u 7"}}, "", "", 1},
      {{{WRITE, "pod u 7"}, {GONE, "pod u 5"}}, "", "", 1}, /* same uid */
      {{{WRITE, "pod v 7"}, {GONE, "pod u 5"}}, "", "v 7", 1},
      {{{WRITE, "pod v 7"}, {GONE, "pod u 9"}}, "", "", 1},
      {{{WRITE, "pod - 9"}, {GONE, "pod - 5"}}, "", " 9", 1}, /* no uid */
      {{{WRITE, "pod - 7"}, {GONE, "pod - 7"}}, "", "", 1},   /* this write */
      {{{WRITE, "pod v 7"}, {GONE, "pod u 7"}}, "", "", 1},
      {{{GONE, "pod u 9"}}, "", "", 1},
      {{{STORE, "pod u 5"}, {GONE, "pod u 9"}}, "", "", 1},
      {{{STORE, "pod v 10"}, {GONE, "pod u 9"}}, "v 10", "v 10", 0},
      /* the store has not seen the deletion of what it has */
      {{{STORE, "pod u 5"}, {GONE, "pod u 5"}}, "", "", 1},
      {{{STORE, "pod u 6"}, {GONE, "pod u 5"}}, "", "", 1},
      {{{STORE, "pod - 5"}, {GONE, "pod - 5"}}, "", "", 1},
      {{{STORE, "pod - 6"}, {GONE, "pod - 5"}}, " 6", " 6", 0},
      {{{GONE, "pod u 5"}, {STORE, "pod u 6"}, {SEEN, "pod u 6"}}, "", "", 1},
      {{{GONE, "pod u 5"}, {STORE, "pod v 6"}, {SEEN, "pod v 6"}},
       "v 6",
       "v 6",
       0},
      /* a tombstone after the deletion itself */
      {{{STORE, "pod u 6"}, {GONE, "pod u 8"}, {GONE, "pod u 5"}}, "", "", 1},
      {{{GONE, "pod u 8"},
        {WAIT, ""},
        {GONE, "pod u 5"},
        {WAIT, ""},
        {WRITE, "pod u 9"}},
       "",
       "",
       1},
      {{{STORE, "pod u 5"},
        {WRITE, "pod u 7"},
        {FORGET, "pod"},
        {GONE, "pod u 8"}},
       "",
       "",
       1},
  };
  RUN(stories);
}

/* client-go TestMutationCacheUpdateConcurrentDelete; MC-04: the answer to an
 * update that comes after the deletion was seen does not bring the object
 * back. */
static void test_mutation_cache_update_and_delete(void **state) {
  (void)state;
  static const story stories[] = {
      {{{GONE, "pod u 8"}, {WRITE, "pod u 7"}}, "", "", 1},
      {{{GONE, "pod u 8"}, {WRITE, "pod u 8"}}, "", "", 1},
      {{{GONE, "pod u 8"}, {WRITE, "pod u 9"}}, "", "", 1},
      {{{GONE, "pod u 8"}, {WRITE, "pod v 8"}}, "", "", 1},
  };
  RUN(stories);
}

/* client-go TestMutationCacheUpdateConcurrentRecreate; MC-04. */
static void test_mutation_cache_update_and_recreate(void **state) {
  (void)state;
  static const story stories[] = {
      {{{GONE, "pod u 8"}, {WRITE, "pod v 9"}}, "", "v 9", 1},
      {{{GONE, "pod u 8"}, {WRITE, "pod v 7"}}, "", "", 1},
      {{{GONE, "pod - 8"}, {WRITE, "pod - 9"}}, "", " 9", 1}, /* no uid */
      {{{GONE, "pod u 8"}, {STORE, "pod v 9"}, {WRITE, "pod v 10"}},
       "v 10",
       "v 10",
       1},
      {{{GONE, "pod u 8"}, {STORE, "pod v 9"}, {WRITE, "pod u 7"}},
       "v 9",
       "v 9",
       0},
      {{{WRITE, "pod v 9"}, {GONE, "pod u 8"}, {WRITE, "pod v 10"}},
       "",
       "v 10",
       1},
  };
  RUN(stories);
}

/* client-go TestMutationCacheOnDeleteClearsStaleMutation; MC-03, MC-06. */
static void test_mutation_cache_by_index(void **state) {
  (void)state;
  fixture f;
  setup(&f, true);
  act(&f, STORE, "a u 1 x");
  act(&f, STORE, "b u 1 x");
  act(&f, STORE, "c u 1 y");
  act(&f, WRITE,
      "b u 3 y"); /* no longer x, but what the store's x has become */
  act(&f, WRITE, "c u 3 x,y");
  act(&f, WRITE, "d u 3 x");
  act(&f, WRITE, "e u 3 z");
  assert_by_user(&f, "x", "a@1 b@3 c@3 d@3");
  assert_by_user(&f, "y", "b@3 c@3");
  assert_by_user(&f, "nobody", "");
  act(&f, GONE, "d u 3");
  assert_by_user(&f, "x", "a@1 b@3 c@3");
  act(&f, GONE, "a u 2");
  assert_by_user(&f, "x", "b@3 c@3");
  /* The store has overtaken what was written: it is not shown, nor kept. */
  act(&f, STORE, "c u 4 y");
  assert_by_user(&f, "x", "b@3");
  f.now += TTL_MS + 1;
  assert_by_user(&f, "x", "a@1 b@1");
  assert_by_user(&f, "z", "");
  assert_int_equal(kin_mutation_cache_count(f.cache), 0);
  teardown(&f);

  setup(&f, false);
  act(&f, STORE, "a u 1 x");
  act(&f, WRITE, "a u 2 x");
  act(&f, WRITE, "d u 3 x");
  assert_by_user(&f, "x", "a@2");
  teardown(&f);
}

static int refuse(const kin_object *object, kin_index_values *values,
                  void *data) {
  return *(const bool *)data ? -1 : emit_users(object, values, NULL);
}

/* MC-03: no index, and one whose function fails on what was written. */
static void test_mutation_cache_index_errors(void **state) {
  (void)state;
  fixture f;
  setup(&f, true);
  bool refuses = false;
  assert_int_equal(add_callback(f.store, "moody", refuse, &refuses), 0);
  act(&f, STORE, "a u 1 x");
  act(&f, WRITE, "b u 1 x");
  kin_object_list *list;
  assert_int_equal(
      kin_mutation_cache_by_index(f.cache, "none", KIN__LIT("x"), &list),
      KIN_ENOENT);
  assert_null(list);
  refuses = true;
  assert_int_equal(
      kin_mutation_cache_by_index(f.cache, "moody", KIN__LIT("x"), &list), 0);
  assert_list_keys(list, "a");
  refuses = false;
  assert_int_equal(
      kin_mutation_cache_by_index(f.cache, "moody", KIN__LIT("x"), &list), 0);
  assert_list_keys(list, "a b");
  teardown(&f);
}

/* Takes what is written away from the store that calls it. */
static int meddle(const kin_object *object, kin_index_values *values,
                  void *data) {
  const fixture *f = data;
  assert_int_equal(kin_store_delete(f->store, kin_object_key(object)),
                   KIN_EALREADY);
  return emit_users(object, values, NULL);
}

/* MC-03: the index function changes nothing, also when a written object is
 * looked at. */
static void test_mutation_cache_index_callback_changes_nothing(void **state) {
  (void)state;
  fixture f;
  setup(&f, true);
  assert_int_equal(add_callback(f.store, "meddled", meddle, &f), 0);
  act(&f, STORE, "a u 1 y");
  act(&f, WRITE, "a u 2 x");
  kin_object_list *list;
  assert_int_equal(
      kin_mutation_cache_by_index(f.cache, "meddled", KIN__LIT("x"), &list), 0);
  assert_list_keys(list, "a");
  teardown(&f);
}

/* MC-01, CN-07: a hundred entries by default, and the least recently used goes
 * first; a scan by index is no use of what the store does not have. */
static void test_mutation_cache_is_bounded(void **state) {
  (void)state;
  fixture f;
  setup(&f, true);
  for (unsigned i = 0; i < 250; i++) {
    char words[32];
    snprintf(words, sizeof words, "n%u u 1 x", i);
    act(&f, WRITE, words);
    assert_int_equal(kin_mutation_cache_count(f.cache), i < 100 ? i + 1 : 100);
  }
  assert_null(kin_mutation_cache_get(f.cache, KIN__LIT("n149")));
  assert_non_null(kin_mutation_cache_get(f.cache, KIN__LIT("n150")));
  kin_mutation_cache_free(f.cache);
  assert_int_equal(make(&f, true, 2), 0);
  act(&f, WRITE, "a u 1 x");
  act(&f, WRITE, "b u 1 x");
  assert_non_null(kin_mutation_cache_get(f.cache, KIN__LIT("a")));
  assert_by_user(&f, "x", "a@1 b@1");
  act(&f, WRITE, "c u 1 x");
  assert_by_user(&f, "x", "a@1 c@1");
  teardown(&f);
}

/* CN-07: a write is remembered for five minutes if nothing else is said, and up
 * to their end. */
static void test_mutation_cache_default_time(void **state) {
  (void)state;
  fixture f;
  setup(&f, true);
  kin_mutation_cache_free(f.cache);
  kin_allocator allocator = f.memory.allocator;
  kin_mutation_cache_options options = KIN_MUTATION_CACHE_OPTIONS_INIT;
  options.allocator = &allocator;
  options.store = f.store;
  options.now_ms = clock_of;
  options.now_ctx = &f;
  options.include_adds = true;
  assert_int_equal(kin_mutation_cache_new(&f.cache, &options), 0);
  memset(&options, 0xff, sizeof options); /* there are copies */
  memset(&allocator, 0, sizeof allocator);
  act(&f, WRITE, "pod u 7");
  f.now += 5 * 60 * 1000;
  assert_pod(&f, "u 7");
  f.now++;
  assert_int_equal(kin_mutation_cache_count(f.cache), 1); /* out of date */
  assert_pod(&f, "");
  assert_int_equal(kin_mutation_cache_count(f.cache), 0);
  teardown(&f);
}

/* NR-13. */
static void test_mutation_cache_compares_versions(void **state) {
  (void)state;
  static const struct {
    const char *a;
    const char *b;
    int order;
  } rows[] = {{"", "", 0},
              {"", "0", 0},
              {"000", "", 0},
              {"1", "", 1},
              {"9", "10", -1},
              {"10", "9", 1},
              {"007", "7", 0},
              {"123", "124", -1},
              {"18446744073709551616", "18446744073709551615", 1}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    int order = 99;
    assert_int_equal(kin_resource_version_compare(kin__cstr(rows[i].a),
                                                  kin__cstr(rows[i].b), &order),
                     0);
    assert_int_equal(order, rows[i].order);
  }
  int order = 99;
  static const char *const bad[] = {"x", "-1", " 1", "1 ", "1.0", "0x1"};
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    assert_int_equal(
        kin_resource_version_compare(kin__cstr(bad[i]), KIN__LIT("1"), &order),
        KIN_EINVAL);
    assert_int_equal(
        kin_resource_version_compare(KIN__LIT("1"), kin__cstr(bad[i]), &order),
        KIN_EINVAL);
  }
  assert_int_equal(order, 99);
}

static void test_mutation_cache_bad_input(void **state) {
  (void)state;
  fixture f;
  setup(&f, true);
  act(&f, WRITE, "pod u 7");
  assert_int_equal(act(&f, WRITE, "pod u opaque"), KIN_EINVAL);
  assert_int_equal(act(&f, GONE, "pod u opaque"), KIN_EINVAL);
  assert_int_equal(kin_mutation_cache_mutation(f.cache, NULL), KIN_EINVAL);
  assert_int_equal(kin_mutation_cache_on_delete(f.cache, NULL), KIN_EINVAL);
  kin_mutation_cache_on_put(f.cache, NULL);
  assert_null(kin_mutation_cache_get(f.cache, KIN__LIT("")));
  assert_pod(&f, "u 7");
  kin_mutation_cache *cache;
  kin_mutation_cache_options options = KIN_MUTATION_CACHE_OPTIONS_INIT;
  assert_int_equal(kin_mutation_cache_new(&cache, &options), KIN_EINVAL);
  options.store = f.store;
  assert_int_equal(kin_mutation_cache_new(&cache, &options), KIN_EINVAL);
  assert_null(cache);
  assert_int_equal(kin_mutation_cache_new(&cache, NULL), KIN_EINVAL);
  kin_mutation_cache_free(NULL);
  teardown(&f);
}

static bool run_mutation_cache_without_memory(size_t n) {
  fixture f;
  setup(&f, true);
  kin_mutation_cache_free(f.cache);
  act(&f, STORE, "a u 1 x");
  f.memory.fail_at = f.memory.calls + n;
  int err;
  while ((err = make(&f, true, 0)) != 0) {
    assert_int_equal(err, KIN_ENOMEM);
    assert_null(f.cache);
  }
  while ((err = act(&f, WRITE, "pod u 7 x")) != 0) {
    assert_int_equal(err, KIN_ENOMEM);
    assert_pod(&f, "");
  }
  while ((err = act(&f, GONE, "b u 7 x")) != 0) {
    assert_int_equal(err, KIN_ENOMEM);
    assert_pod(&f, "u 7");
  }
  kin_object_list *list;
  while ((err = kin_mutation_cache_by_index(f.cache, "user", KIN__LIT("x"),
                                            &list)) != 0) {
    assert_int_equal(err, KIN_ENOMEM);
    assert_null(list);
  }
  assert_list_keys(list, "a pod");
  bool has_failed = fail_alloc_has_failed(&f.memory);
  teardown(&f);
  return has_failed;
}

static void test_mutation_cache_fails_cleanly(void **state) {
  (void)state;
  fail_alloc_sweep(run_mutation_cache_without_memory, 0);
}

/* MC-02: a write that the store does not have is there as often as it is asked
 * for. In client-go the first look forgets it. */
static void test_mutation_cache_add_is_read_twice(void **state) {
  (void)state;
  fixture f;
  setup(&f, true);
  assert_int_equal(act(&f, WRITE, "pod u1 5 a"), 0);
  for (int i = 0; i < 3; i++) {
    assert_pod(&f, "u1 5");
  }
  assert_int_equal(act(&f, STORE, "pod u1 6 a"), 0);
  assert_pod(&f, "u1 6");
  assert_int_equal(act(&f, FORGET, "pod"), 0);
  assert_pod(&f, "");
  teardown(&f);
}

/* What only looks whether a write is out of date is no use of it: on_put of an
 * older state, and a write that is ignored, keep nothing when another has to
 * go. Reading is a use. */
static void test_mutation_cache_what_is_a_use(void **state) {
  (void)state;
  static const struct {
    action what;
    const char *words; /* NULL: it is read */
    bool is_use;
  } rows[] = {{SEEN, "pod u1 4 a", false},
              {WRITE, "pod u1 4 a", false},
              {WRITE, NULL, true}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    fixture f;
    setup(&f, true);
    kin_mutation_cache_free(f.cache);
    assert_int_equal(make(&f, true, 2), 0);
    assert_int_equal(act(&f, WRITE, "pod u1 5 a"), 0);
    assert_int_equal(act(&f, WRITE, "other u2 6 a"), 0);
    if (rows[i].words != NULL) {
      assert_int_equal(act(&f, rows[i].what, rows[i].words), 0);
    } else {
      assert_pod(&f, "u1 5");
    }
    assert_int_equal(act(&f, WRITE, "third u3 7 a"), 0);
    assert_int_equal(kin_mutation_cache_count(f.cache), 2);
    assert_pod(&f, rows[i].is_use ? "u1 5" : "");
    teardown(&f);
  }
}

/* A look that cannot show a write is no use of it: without adds, one at an
 * object that the store does not have. */
static void test_mutation_cache_vain_look(void **state) {
  (void)state;
  for (int include_adds = 0; include_adds < 2; include_adds++) {
    fixture f;
    setup(&f, false);
    kin_mutation_cache_free(f.cache);
    assert_int_equal(make(&f, include_adds != 0, 2), 0);
    assert_int_equal(act(&f, WRITE, "pod u1 5 a"), 0);
    assert_int_equal(act(&f, WRITE, "other u2 6 a"), 0);
    assert_pod(&f, include_adds != 0 ? "u1 5" : "");
    assert_int_equal(act(&f, WRITE, "third u3 7 a"), 0);
    assert_int_equal(act(&f, STORE, "pod u1 4 a"), 0);
    assert_pod(&f, include_adds != 0 ? "u1 5" : "u1 4");
    teardown(&f);
  }
}

/* The writes that one look at an index uses are used in the order of their
 * keys, in which it tells them, whatever the order in the store. */
static void test_mutation_cache_uses_by_key(void **state) {
  (void)state;
  static const char *const stored[][2] = {{"pod u1 1 a", "other u2 2 a"},
                                          {"other u2 2 a", "pod u1 1 a"}};
  for (size_t i = 0; i < 2; i++) {
    fixture f;
    setup(&f, false);
    kin_mutation_cache_free(f.cache);
    assert_int_equal(make(&f, false, 2), 0);
    assert_int_equal(act(&f, STORE, stored[i][0]), 0);
    assert_int_equal(act(&f, STORE, stored[i][1]), 0);
    assert_int_equal(act(&f, WRITE, "pod u1 5 a"), 0);
    assert_int_equal(act(&f, WRITE, "other u2 6 a"), 0);
    kin_object_list *list;
    assert_int_equal(
        kin_mutation_cache_by_index(f.cache, "user", KIN__LIT("a"), &list), 0);
    assert_int_equal(list->count, 2);
    kin_object_list_free(list);
    assert_int_equal(act(&f, WRITE, "third u3 7 a"), 0);
    assert_pod(&f, "u1 5"); /* "other" was used before it */
    teardown(&f);
  }
}

/* The object that a look-up has given may be the argument of the next call, also
 * if that call forgets it. */
static void test_mutation_cache_takes_its_own_objects(void **state) {
  (void)state;
  static const struct {
    action what;
    const char *found;
    size_t count;
  } rows[] = {{WRITE, "u 7", 1}, {SEEN, "", 0}, {GONE, "", 1}};
  for (size_t i = 0; i < 2 * sizeof rows / sizeof rows[0]; i++) {
    fixture f;
    setup(&f, true);
    act(&f, WRITE, "pod u 7");
    const kin_object *own = kin_mutation_cache_get(f.cache, KIN__LIT("pod"));
    f.now += i % 2 == 0 ? TTL_MS + 1 : 0;
    if (rows[i / 2].what == WRITE) {
      assert_int_equal(kin_mutation_cache_mutation(f.cache, own), 0);
    } else if (rows[i / 2].what == SEEN) {
      kin_mutation_cache_on_put(f.cache, own);
    } else {
      assert_int_equal(kin_mutation_cache_on_delete(f.cache, own), 0);
    }
    assert_int_equal(kin_mutation_cache_count(f.cache), rows[i / 2].count);
    assert_pod(&f, rows[i / 2].found);
    teardown(&f);
  }
}

/* The same for a value or a key of that object: it is out of date, or the store
 * has overtaken it. */
static void test_mutation_cache_takes_its_own_strings(void **state) {
  (void)state;
  for (int i = 0; i < 4; i++) {
    bool is_overtaken = i % 2 == 1;
    fixture f;
    setup(&f, true);
    act(&f, STORE, "pod u 1 x");
    act(&f, WRITE, "pod u 5 x");
    f.now += TTL_MS;
    act(&f, WRITE, "rod u 6 x");
    const kin_object *own = kin_mutation_cache_get(f.cache, KIN__LIT("pod"));
    kin_str value;
    assert_true(kin_object_label(own, "users", &value));
    kin_str key = kin_object_key(own);
    if (is_overtaken) {
      act(&f, STORE, "pod u 9 x");
    } else {
      f.now++;
    }
    if (i < 2) {
      kin_object_list *list;
      assert_int_equal(
          kin_mutation_cache_by_index(f.cache, "user", value, &list), 0);
      assert_list_keys(list, "pod rod");
    } else {
      assert_non_null(kin_mutation_cache_get(f.cache, key));
    }
    assert_int_equal(kin_mutation_cache_count(f.cache), 1);
    assert_pod(&f, is_overtaken ? "u 9" : "u 1");
    teardown(&f);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_mutation_cache_on_put),
      cmocka_unit_test(test_mutation_cache_on_delete),
      cmocka_unit_test(test_mutation_cache_update_and_delete),
      cmocka_unit_test(test_mutation_cache_update_and_recreate),
      cmocka_unit_test(test_mutation_cache_by_index),
      cmocka_unit_test(test_mutation_cache_index_errors),
      cmocka_unit_test(test_mutation_cache_index_callback_changes_nothing),
      cmocka_unit_test(test_mutation_cache_is_bounded),
      cmocka_unit_test(test_mutation_cache_default_time),
      cmocka_unit_test(test_mutation_cache_compares_versions),
      cmocka_unit_test(test_mutation_cache_bad_input),
      cmocka_unit_test(test_mutation_cache_fails_cleanly),
      cmocka_unit_test(test_mutation_cache_add_is_read_twice),
      cmocka_unit_test(test_mutation_cache_what_is_a_use),
      cmocka_unit_test(test_mutation_cache_vain_look),
      cmocka_unit_test(test_mutation_cache_uses_by_key),
      cmocka_unit_test(test_mutation_cache_takes_its_own_objects),
      cmocka_unit_test(test_mutation_cache_takes_its_own_strings),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
