/* SPDX-License-Identifier: MIT */

/* RW-08, RL-08, WS-04: an object that is nested as deeply as a Kubernetes API
 * server accepts, or has a member name or a number of any length, is cached as
 * any other; one that is nested deeper is cached by its key, and told. All
 * others are as current as they would be without. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <kin/metrics.h>

#include "base/str.h"
#include "support/extreme_objects.h"
#include "support/informer_world.h"
#include "support/pager_world.h"
#include "support/reflector_rig.h"
#include "support/retry_world.h"

#define SMALL(name, version)                                                   \
  "{\"metadata\":{\"name\":\"" name                                            \
  "\",\"namespace\":\"ns\",\"uid\":\"u-" name                                  \
  "\",\"resourceVersion\":\"" version "\"}}"

typedef struct ex_world {
  iw_world w;
} ex_world;

/* What a request of its own needs no memory for. */
static char body[1 << 20];

static const char *frame_of(const char *type, const char *object) {
  snprintf(body, sizeof body, "{\"type\":\"%s\",\"object\":%s}\n", type,
           object);
  return body;
}

static const char *list_of(const char *object, const char *version) {
  snprintf(body, sizeof body,
           "{\"items\":[" SMALL("a", "1") ",%s," SMALL(
               "b", "2") "],\"metadata\":{\"resourceVersion\":\"%s\"}}",
           object, version);
  return body;
}

static void assert_version(const ex_world *x, const char *key,
                           const char *version) {
  const kin_object *object =
      kin_store_get_key(kin_informer_store(x->w.informer), key);
  assert_non_null(object);
  kin_str cached = kin_object_resource_version(object);
  if (!kin__str_equal(cached, kin__cstr(version))) {
    fail_msg("%s is cached at " KIN_STR_FORMAT ", not at %s; %s; %s", key,
             KIN_STR_ARG(cached), version, x->w.last_message,
             x->w.script.last_target);
  }
}

static void send_event(ex_world *x, const char *type, const char *object) {
  frame_of(type, object);
  assert_true(script_body(&x->w.script, "watch=true", body, strlen(body)));
}

static void lose_position(ex_world *x) {
  assert_false(script_expire(&x->w.script, "watch=true"));
  script_advance(&x->w.script, 60000);
}

static int remove_below(const kin_object *in, kin_object_builder *out,
                        void *data) {
  (void)in;
  (void)data;
  int err = kin_object_builder_remove(out, "/x/*/*/*/z");
  return err == 0 ? kin_object_builder_set_int(out, "/y/z", 1) : err;
}

static void ex_open(ex_world *x, const char *const *fields, size_t field_count,
                    bool transforms) {
  memset(x, 0, sizeof *x);
  iw_init(&x->w, 0);
  kin_informer_options options = iw_options(&x->w);
  options.on_state = NULL;
  options.fields = fields;
  options.field_count = field_count;
  options.transform = transforms ? remove_below : NULL;
  assert_int_equal(iw_open(&x->w, &options), 0);
  kin_index_options index = KIN_INDEX_OPTIONS_INIT;
  index.name = index.pointer = "/x/*/*/*";
  assert_int_equal(
      kin_store_add_index(kin_informer_store(x->w.informer), &index), 0);
}

static const char *version_of(int round, int number) {
  static char version[16];
  snprintf(version, sizeof version, "%d%02d", round + 1, number);
  return version;
}

static void send_made(ex_world *x, const char *type, char *object) {
  send_event(x, type, object);
  free(object);
}

/* Listed, changed, deleted, added, and listed again; `make` makes it as of a
 * version. */
static void live(ex_world *x, char *(*make)(const char *version),
                 const char *key, bool is_key_only) {
  const kin_store *store = kin_informer_store(x->w.informer);
  for (int i = 0; i < 2; i++) {
    char *object = make(version_of(i, 11));
    script_respond(&x->w.script, "/pods", 200,
                   list_of(object, version_of(i, 50)));
    free(object);
    assert_true(kin_informer_has_synced(x->w.informer));
    assert_version(x, key, version_of(i, 11));
    assert_version(x, "ns/b", "2");
    assert_true(script_head(&x->w.script, "watch=true", 200));
    send_made(x, "MODIFIED", make(version_of(i, 51)));
    send_event(x, "MODIFIED", i == 0 ? SMALL("a", "152") : SMALL("a", "252"));
    script_advance(&x->w.script, 2000);
    assert_version(x, key, version_of(i, 51));
    assert_version(x, "ns/a", version_of(i, 52));
    const kin_object *cached = kin_store_get_key(store, key);
    assert_int_equal(kin_object_is_key_only(cached), is_key_only);
    kin_str label;
    assert_true(kin_object_label(cached, "app", &label));
    send_made(x, "DELETED", make(version_of(i, 53)));
    assert_null(kin_store_get_key(store, key));
    send_made(x, "ADDED", make(version_of(i, 54)));
    assert_version(x, key, version_of(i, 54));
    lose_position(x);
  }
  script_advance(&x->w.script, 2000);
  assert_int_equal(iw_status(&x->w, "").relists, 1);
  assert_int_equal(iw_status(&x->w, "").bad_objects, 0);
}

static char *make_deepest(const char *version) {
  return extreme_deep(EXTREME_LEVELS, version, 0);
}

static char *make_too_deep(const char *version) {
  return extreme_deep(EXTREME_LEVELS + 1, version, version[2] % 2 == 0);
}

static char *make_bottomless(const char *version) {
  return extreme_deep(100000, version, version[2] % 2 == 0);
}

static char *make_long_name(const char *version) {
  return extreme_name(70000, version);
}

static char *make_long_number(const char *version) {
  return extreme_number(70000, version);
}

/* Cached whole, with any projection and any transform. */
static void test_whole(void **state) {
  (void)state;
  static const char *const fields[] = {"/x/]", "/spec/z", "/metadata/x"};
  static const struct {
    char *(*make)(const char *version);
    const char *key;
  } rows[] = {{make_deepest, "ns/deep"},
              {make_long_name, "ns/long"},
              {make_long_number, "ns/number"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    for (int how = 0; how < 4; how++) {
      ex_world x;
      ex_open(&x, fields, how == 1 || how == 3 ? 3 : 0, how >= 2);
      x.w.script.split = how == 0 ? 0 : 1000;
      live(&x, rows[i].make, rows[i].key, false);
      assert_int_equal(x.w.errors, 2); /* the two lost positions */
      assert_int_equal(iw_status(&x.w, "").oversized, 0);
      assert_int_equal(iw_status(&x.w, "").transform_failures, 0);
      iw_finish(&x.w);
    }
  }
}

/* Deeper than that: cached by its key, told, and counted, once a state. */
static void test_by_key(void **state) {
  (void)state;
  char *(*const makes[])(const char *) = {make_too_deep, make_bottomless};
  for (size_t i = 0; i < 2; i++) {
    for (int how = 0; how < 4; how++) {
      static const char *const fields[] = {"/x/]"};
      ex_world x;
      ex_open(&x, fields, how % 2, how >= 2);
      x.w.script.split = how == 0 ? 0 : 1000;
      live(&x, makes[i], "ns/deep", true);
      assert_int_equal(iw_status(&x.w, "").oversized, 8);
      kin_informer_metrics metrics = iw_metrics(&x.w);
      assert_int_equal(metrics.oversized, 8);
      assert_int_equal(metrics.failures[KIN_CLASS_DECODE], 0);
      iw_finish(&x.w);
    }
  }
}

/* What is told, once. */
static void test_told(void **state) {
  (void)state;
  ex_world x;
  ex_open(&x, NULL, 0, false);
  char *object = extreme_deep(EXTREME_LEVELS + 1, "5", 0);
  script_respond(&x.w.script, "/pods", 200, list_of(object, "20"));
  assert_int_equal(x.w.errors, 1);
  assert_int_equal(x.w.last_code, KIN_EDEPTH);
  assert_int_equal(x.w.last_class, KIN_CLASS_DECODE);
  assert_non_null(strstr(x.w.last_message, "only the key is kept of ns/deep"));
  assert_non_null(strstr(x.w.last_message, "more than 10000 levels"));
  assert_true(script_head(&x.w.script, "watch=true", 200));
  script_advance(&x.w.script, 2000);
  send_event(&x, "MODIFIED", object);
  script_advance(&x.w.script, 2000);
  assert_int_equal(x.w.errors, 1);
  free(object);
  iw_finish(&x.w);
}

/* The levels of an object count from itself, whether it comes in a list or in
 * an event, and wherever it is cut. */
static void test_levels_are_the_objects_own(void **state) {
  (void)state;
  for (unsigned over = 0; over <= 1; over++) {
    char *object = extreme_deep(EXTREME_LEVELS + over, "5", 0);
    for (size_t split = 0; split <= 70; split += 7) {
      for (int is_event = 0; is_event <= 1; is_event++) {
        ex_world x;
        ex_open(&x, NULL, 0, false);
        x.w.script.split = split;
        script_respond(&x.w.script, "/pods", 200,
                       list_of(is_event ? SMALL("c", "3") : object, "20"));
        assert_true(script_head(&x.w.script, "watch=true", 200));
        if (is_event) {
          send_event(&x, "ADDED", object);
        }
        const kin_object *cached =
            kin_store_get_key(kin_informer_store(x.w.informer), "ns/deep");
        assert_non_null(cached);
        assert_int_equal(kin_object_is_key_only(cached), over);
        iw_finish(&x.w);
      }
    }
    free(object);
  }
}

/* --- Without a cache ------------------------------------------------------ */

static void test_stream(void **state) {
  (void)state;
  for (int i = 0; i < 2; i++) {
    ex_world x;
    memset(&x, 0, sizeof x);
    iw_init(&x.w, 0);
    script_use_streams(&x.w.script);
    kin_informer_options options = iw_options(&x.w);
    assert_int_equal(iw_open(&x.w, &options), 0);
    assert_true(script_head(&x.w.script, "sendInitialEvents", 200));
    char *deep = extreme_deep(EXTREME_LEVELS + 1, "5", i);
    char *name = extreme_name(66000, "6");
    send_event(&x, "ADDED", deep);
    send_event(&x, "ADDED", name);
    send_event(&x, "ADDED", SMALL("a", "7"));
    send_event(&x, "BOOKMARK",
               "{\"metadata\":{\"resourceVersion\":\"9\",\"annotations\":{"
               "\"k8s.io/initial-events-end\":\"true\"}}}");
    assert_true(kin_informer_has_synced(x.w.informer));
    assert_int_equal(kin_store_count(kin_informer_store(x.w.informer)), 3);
    assert_version(&x, "ns/deep", "5");
    free(deep);
    free(name);
    iw_finish(&x.w);
  }
}

static void test_pager(void **state) {
  (void)state;
  pager_world w;
  pw_open(&w);
  char *deep = extreme_deep(EXTREME_LEVELS + 1, "5", 1);
  pw_respond(&w, "/pods", 200, list_of(deep, "7"));
  script_advance(&w.vh.script, 2000);
  pw_expect(&w, "ns/a@1 ns/deep@5 ns/b@2 ! end:0/7/3 ");
  free(deep);
  pw_finish(&w);
}

static void test_reflector(void **state) {
  (void)state;
  reflector_rig rig;
  reflector_rig_init(&rig, 0);
  rig.resource.source = NULL;
  assert_int_equal(reflector_rig_open(&rig), 0);
  char *deep = extreme_deep(EXTREME_LEVELS + 1, "5", 1);
  script_respond(&rig.vh.script, "/pods", 200, list_of(deep, "7"));
  reflector_rig_expect(&rig, "R(ns/a@1,ns/deep@5,ns/b@2)#7");
  assert_int_equal(rig.last_code, KIN_EDEPTH);
  free(deep);
  reflector_rig_finish(&rig);
}

static void test_retry_watcher(void **state) {
  (void)state;
  retry_world w;
  rw_open(&w, "1");
  rw_head(&w);
  char *deep = extreme_deep(EXTREME_LEVELS + 1, "5", 1);
  assert_true(rw_send(&w, frame_of("ADDED", deep)));
  assert_true(rw_send(&w, frame_of("MODIFIED", SMALL("a", "6"))));
  watch_log_expect(&w.log, "! A:ns/deep@5 M:ns/a@6 ");
  free(deep);
  rw_finish(&w);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_whole),
      cmocka_unit_test(test_by_key),
      cmocka_unit_test(test_told),
      cmocka_unit_test(test_levels_are_the_objects_own),
      cmocka_unit_test(test_stream),
      cmocka_unit_test(test_pager),
      cmocka_unit_test(test_reflector),
      cmocka_unit_test(test_retry_watcher),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
