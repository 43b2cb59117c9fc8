/* SPDX-License-Identifier: MIT */

/* Objects of a list or watch that are no objects of an API: skipped and told,
 * and the rest is cached. RW-08, RL-08, RL-10, SI-19. And what of these, and of
 * objects over the limit, reaches reflectors and watchers without a cache. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <kin/metrics.h>

#include "base/str.h"
#include "support/informer_world.h"
#include "support/reflector_rig.h"
#include "support/retry_world.h"

#define X10 "0123456789"
#define X100 X10 X10 X10 X10 X10 X10 X10 X10 X10 X10
#define OBJECT(name, version)                                                  \
  "{\"metadata\":{\"name\":\"" name "\",\"uid\":\"u-" name                     \
  "\",\"resourceVersion\":\"" version "\"}}"
#define NAMELESS(uid, version)                                                 \
  "{\"metadata\":{\"namespace\":\"ns\",\"uid\":\"" uid                         \
  "\",\"resourceVersion\":\"" version "\"}}"
#define LIST(items, version)                                                   \
  "{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"" version         \
  "\"},\"items\":[" items "]}"
#define FRAME(type, object) "{\"type\":\"" type "\",\"object\":" object "}\n"
#define TABLE                                                                  \
  "{\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/v1\",\"metadata\":{"       \
  "\"resourceVersion\":\"99\"},\"columnDefinitions\":[],\"rows\":[]}"

static void send_frame(iw_world *w, const char *frame) {
  assert_true(script_body(&w->script, "watch=true", frame, strlen(frame)));
}

/* A list with such items is a list of the others. */
static void test_bad_items(void **state) {
  (void)state;
  iw_world w;
  iw_open_objects(&w, 0);
  script_respond(&w.script, "/pods", 200,
                 LIST("{}," OBJECT("a", "1") "," NAMELESS(
                          "u-x", "2") ","
                                      "{\"metadata\":[]}," OBJECT("b", "3"),
                      "10"));
  assert_true(kin_informer_has_synced(w.informer));
  assert_string_equal(w.rec.log,
                      "add a 1 initial\nadd b 3 initial\nsynced 2\n");
  assert_int_equal(w.errors, 1);
  assert_int_equal(w.last_class, KIN_CLASS_DECODE);
  assert_int_equal(w.last_code, KIN_EKEY);
  assert_non_null(strstr(w.last_message, "list of pods: skipped an object"));
  assert_non_null(strstr(w.last_message, "; and 2 more"));
  assert_int_equal(iw_status(&w, "").bad_objects, 3);
  assert_int_equal(iw_status(&w, "").failures, 0);
  kin_informer_metrics metrics = iw_metrics(&w);
  assert_int_equal(metrics.bad_objects, 3);
  iw_finish(&w);
}

/* Events are skipped one by one: no store call, no version, no list. */
static void test_bad_events(void **state) {
  (void)state;
  static const struct {
    const char *frame;
    int code;
    const char *part;
  } rows[] = {
      {FRAME("ADDED", NAMELESS("u-y", "12")), KIN_EKEY,
       "key \"ns/\", uid \"u-y\""},
      {FRAME("MODIFIED", "{\"metadata\":null}"), KIN_EKEY, "uid \"\""},
      {FRAME("DELETED", "{}"), KIN_EKEY, "watch of pods"},
      {FRAME("ADDED", "{\"metadata\":{\"namespace\":\"a\\nb\"}}"), KIN_EKEY,
       "key \"a b/\""}, /* on one line */
      {FRAME("ADDED", TABLE), KIN_EUNEXPECTED, "not what was asked for"},
  };
  iw_world w;
  iw_open_objects(&w, 0);
  script_respond(&w.script, "/pods", 200, LIST(OBJECT("a", "1"), "10"));
  assert_true(script_head(&w.script, "watch=true", 200));
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    send_frame(&w, rows[i].frame);
    assert_int_equal(w.errors, i + 1);
    assert_int_equal(w.last_code, rows[i].code);
    assert_non_null(strstr(w.last_message, rows[i].part));
    script_advance(&w.script, 1000);
  }
  assert_string_equal(iw_status(&w, "").resource_version, "10");
  assert_int_equal(iw_status(&w, "").events, 0);
  send_frame(&w, FRAME("MODIFIED", OBJECT("a", "13")));
  assert_string_equal(iw_status(&w, "").resource_version, "13");
  assert_string_equal(w.rec.log,
                      "add a 1 initial\nsynced 1\nupdate a 1 -> 13\n");
  assert_int_equal(iw_status(&w, "").bad_objects, 5);
  assert_int_equal(w.script.request_count, 2);
  assert_int_equal(w.state, KIN_STATE_LIVE);
  iw_finish(&w);
}

/* The same one again is not told again; those that nothing tells apart are, but
 * not more than once a second. */
static void test_bad_events_again(void **state) {
  (void)state;
  iw_world w;
  iw_open_objects(&w, 0);
  script_respond(&w.script, "/pods", 200, LIST("", "10"));
  assert_true(script_head(&w.script, "watch=true", 200));
  for (int i = 0; i < 5; i++) {
    send_frame(&w, FRAME("ADDED", NAMELESS("u-y", "12")));
    script_advance(&w.script, 2000);
  }
  assert_int_equal(w.errors, 1);
  assert_int_equal(iw_status(&w, "").bad_objects, 1);
  send_frame(&w, FRAME("ADDED", NAMELESS("u-y", "13")));
  assert_int_equal(w.errors, 2);
  script_advance(&w.script, 2000);
  for (int i = 0; i < 3000; i++) {
    send_frame(&w, FRAME("ADDED", "{}"));
    script_advance(&w.script, 1);
  }
  assert_in_range(w.errors, 2 + 3, 2 + 4);
  script_advance(&w.script, 60000);
  assert_in_range(w.errors, 2 + 4, 2 + 4);
  assert_int_equal(iw_status(&w, "").bad_objects, 3002);
  assert_int_equal(w.script.request_count, 2);
  iw_finish(&w);
}

#define BAD_STREAM_END                                                         \
  FRAME("BOOKMARK", "{\"metadata\":{\"resourceVersion\":\"30\","               \
                    "\"annotations\":{\"k8s.io/initial-events-end\":"          \
                    "\"true\"}}}")

static void break_watch(iw_world *w) {
  static const char expired[] =
      FRAME("ERROR", "{\"kind\":\"Status\",\"status\":\"Failure\","
                     "\"reason\":\"Expired\",\"code\":410}");
  assert_false(script_body(&w->script, "watch=true", expired,
                           sizeof expired - 1)); /* it ended with it */
  script_advance(&w->script, 60000);
}

static int refuse_x(const kin_object *in, kin_object_builder *out, void *data) {
  (void)out;
  (void)data;
  return kin_object_name(in).data[0] == 'x' ? KIN_ETYPE : 0;
}

/* The list's version is newer than that of the one before. */
static void list_bad_ones(iw_world *w) {
  char list[512];
  snprintf(list, sizeof list,
           LIST(NAMELESS("u-y", "12") "," OBJECT("x", "13"), "%d"),
           20 + w->script.request_count);
  script_respond(&w->script, "/pods", 200, list);
  assert_true(script_head(&w->script, "watch=true", 200));
  script_advance(&w->script, 2000);
}

/* Ends the watch so that a list follows. */
static void list_again(iw_world *w, bool versions_repeat) {
  static const char too_large[] =
      FRAME("ERROR",
            "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":"
            "\"Timeout\",\"message\":\"Too large resource version\",\"code\":"
            "504,\"details\":{\"causes\":[{\"reason\":"
            "\"ResourceVersionTooLarge\"}]}}");
  if (versions_repeat) {
    (void)script_body(&w->script, "watch=true", too_large,
                      sizeof too_large - 1);
    script_advance(&w->script, 60000);
  } else {
    break_watch(w);
  }
  list_bad_ones(w);
}

/* A list after the server's versions have gone back reports each state anew,
 * and the next list reports none of them again: a skipped object, and one that
 * the transform refuses. Twice. */
static void test_bad_objects_of_repeated_versions(void **state) {
  (void)state;
  iw_world w;
  iw_init(&w, 0);
  kin_informer_options options = iw_options(&w);
  options.transform = refuse_x;
  assert_int_equal(iw_open(&w, &options), 0);
  list_bad_ones(&w);
  for (unsigned round = 1; round <= 3; round++) {
    assert_int_equal(iw_status(&w, "").bad_objects, round);
    assert_int_equal(iw_status(&w, "").transform_failures, round);
    list_again(&w, false);
    assert_int_equal(iw_status(&w, "").bad_objects, round);
    assert_int_equal(iw_status(&w, "").transform_failures, round);
    list_again(&w, true);
  }
  iw_finish(&w);
}

/* One of whose objects not one can be used, on any page, is no list of this
 * type, whatever has sent it: nothing is deleted for it, and it is made
 * again. */
static void test_list_of_bad_items(void **state) {
  (void)state;
  static const char page[] =
      "{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"20\","
      "\"continue\":\"more\"},\"items\":[{}]}";
  iw_world w;
  iw_open_objects(&w, 0);
  script_respond(&w.script, "/pods", 200, LIST(OBJECT("a", "1"), "10"));
  assert_true(script_head(&w.script, "watch=true", 200));
  break_watch(&w);
  script_respond(&w.script, "/pods", 200, page);
  script_respond(&w.script, "continue=more", 200,
                 LIST(NAMELESS("u-x", "2") ",{}", "20"));
  assert_int_equal(w.last_code, KIN_EKEY);
  assert_int_equal(w.last_class, KIN_CLASS_DECODE);
  assert_int_equal(iw_status(&w, "").failures, 2);
  assert_string_equal(w.rec.log, "add a 1 initial\nsynced 1\n");
  script_advance(&w.script, 60000);
  script_respond(&w.script, "/pods", 200, page);
  script_respond(&w.script, "continue=more", 200, LIST(OBJECT("b", "2"), "20"));
  assert_string_equal(w.rec.log, "add a 1 initial\nsynced 1\nadd b 2\n"
                                 "delete a relist\nrelisted  20 1\n");
  assert_true(script_head(&w.script, "watch=true", 200));
  break_watch(&w);
  script_respond(&w.script, "/pods", 200, LIST("", "40"));
  assert_int_equal(kin_store_count(kin_informer_store(w.informer)), 0);
  iw_finish(&w);
}

/* The same of one that comes as a watch. */
static void test_stream_of_bad_objects(void **state) {
  (void)state;
  for (int good = 0; good < 2; good++) {
    iw_world w;
    iw_init(&w, 0);
    script_use_streams(&w.script);
    kin_informer_options options = iw_options(&w);
    assert_int_equal(iw_open(&w, &options), 0);
    assert_true(script_head(&w.script, "sendInitialEvents", 200));
    send_frame(&w, FRAME("ADDED", "{}"));
    if (good == 1) {
      send_frame(&w, FRAME("ADDED", OBJECT("a", "1")));
      send_frame(&w, FRAME("DELETED", OBJECT("a", "2")));
    }
    (void)script_body(&w.script, "watch=true", BAD_STREAM_END,
                      sizeof BAD_STREAM_END - 1);
    assert_int_equal(kin_informer_has_synced(w.informer), good == 1);
    if (good == 0) {
      script_respond(&w.script, "/pods", 200, LIST("{}", "30"));
      assert_false(kin_informer_has_synced(w.informer));
      assert_int_equal(iw_status(&w, "").failures, 2);
    }
    iw_finish(&w);
  }
}

static void test_bad_object_stops(void **state) {
  (void)state;
  iw_world w;
  iw_open_objects(&w, 0);
  w.answer = KIN_STOP;
  script_respond(&w.script, "/pods", 200, LIST("{}", "10"));
  assert_int_equal(w.state, KIN_STATE_IDLE);
  assert_int_equal(script_open_requests(&w.script), 0);
  iw_finish(&w);
}

/* Without memory to remember it, it is told again; nothing else. */
static void test_bad_object_without_memory(void **state) {
  (void)state;
  for (size_t n = 1; n < 40; n++) {
    iw_world w;
    iw_open_objects(&w, 0);
    script_respond(&w.script, "/pods", 200, LIST(OBJECT("a", "1"), "10"));
    assert_true(script_head(&w.script, "watch=true", 200));
    atomic_store(&w.memory.calls, 0);
    w.memory.fail_at = n;
    w.memory.keeps_failing = true;
    bool is_open = script_body(
        &w.script, "watch=true", FRAME("ADDED", NAMELESS("u-y", "12")),
        sizeof FRAME("ADDED", NAMELESS("u-y", "12")) - 1);
    w.memory.fail_at = 0;
    w.memory.keeps_failing = false;
    assert_int_equal(w.last_code, is_open ? KIN_EKEY : KIN_ENOMEM);
    iw_finish(&w);
  }
}

/* --- Without a cache ------------------------------------------------------ */

static int key_only_calls;

static int see_object(void *ctx, const kin_object *object) {
  (void)ctx;
  assert_true(kin_object_is_key_only(object));
  assert_string_equal(kin_object_key(object).data, "big");
  key_only_calls++;
  return 0;
}

/* A reflector passes one by its key on, and the rest of the list. */
static void test_reflector(void **state) {
  (void)state;
  reflector_rig f;
  reflector_rig_init(&f, 0);
  f.resource.source = NULL;
  f.resource.max_object_bytes = 200;
  f.store.add = f.store.update = f.store.delete_ = see_object;
  key_only_calls = 0;
  assert_int_equal(reflector_rig_open(&f), 0);
  script_env *script = &f.vh.script;
  script_respond(script, "/pods", 200,
                 LIST(OBJECT("a", "1") ",{},{\"metadata\":{\"name\":\"big\","
                                       "\"uid\":\"u\",\"resourceVersion\":"
                                       "\"2\"},\"x\":\"" X100 X100 "\"}",
                      "10"));
  reflector_rig_expect(&f, "R(a@1,big@2)#10");
  assert_int_equal(f.errors, 1);
  assert_int_equal(f.last_retry_ms, 0);
  assert_true(script_head(script, "watch=true", 200));
  static const char *const types[] = {"ADDED", "MODIFIED", "DELETED"};
  for (int i = 0; i < 3; i++) {
    char frame[512];
    int length = snprintf(frame, sizeof frame,
                          "{\"type\":\"%s\",\"object\":{\"x\":\"" X100 X100
                          "\",\"metadata\":{\"name\":\"big\",\"uid\":\"u\","
                          "\"resourceVersion\":\"1%d\"}}}",
                          types[i], i + 1);
    assert_true(script_body(script, "watch=true", frame, (size_t)length));
  }
  assert_true(script_body(script, "watch=true", FRAME("ADDED", "{}"),
                          sizeof FRAME("ADDED", "{}") - 1));
  assert_int_equal(key_only_calls, 3);
  assert_string_equal(kin_reflector_last_sync_version(f.reflector), "13");
  kin_status status = KIN_STATUS_INIT;
  assert_int_equal(kin_reflector_get_status(f.reflector, &status), 0);
  assert_int_equal(status.oversized, 4);
  assert_int_equal(status.bad_objects, 2);
  assert_int_equal(status.relists, 0);
  f.log[0] = '\0';
  reflector_rig_finish(&f);
}

/* TW-04: a retry watcher shows one by its key, and ends at one that is none:
 * to skip it might skip data. */
static void test_retry_watcher(void **state) {
  (void)state;
  retry_world w;
  rw_init(&w, "5", 0);
  w.resource.max_object_bytes = 200;
  assert_int_equal(rw_try_open(&w), 0);
  rw_head(&w);
  assert_true(rw_send(&w, "{\"type\":\"ADDED\",\"object\":{\"x\":\"" X100 X100
                          "\",\"metadata\":{\"name\":\"big\",\"uid\":\"u\","
                          "\"resourceVersion\":\"7\"}}}"));
  watch_log_expect(&w.log, "! A:big@7 ");
  script_advance(&w.vh.script, 2000);
  assert_false(rw_send(&w, RW_FRAME("ADDED", TABLE)));
  watch_log_expect(&w.log, "E:500/InternalError end:EUNEXPECTED ");
  rw_finish(&w);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_bad_items),
      cmocka_unit_test(test_bad_events),
      cmocka_unit_test(test_bad_events_again),
      cmocka_unit_test(test_bad_objects_of_repeated_versions),
      cmocka_unit_test(test_list_of_bad_items),
      cmocka_unit_test(test_stream_of_bad_objects),
      cmocka_unit_test(test_bad_object_stops),
      cmocka_unit_test(test_bad_object_without_memory),
      cmocka_unit_test(test_reflector),
      cmocka_unit_test(test_retry_watcher),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
