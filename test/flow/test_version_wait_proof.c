/* SPDX-License-Identifier: MIT */

/* kin_informer_verify and kin_informer_wait_version where nothing happens, over
 * requests whose connections are known: a short watch that ends in good order
 * on the connection of a list at the version proves that nothing was left.
 * Besides, what is asked, and how a lost position is told. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/informer_world.h"

#define OBJECT(name, version)                                                  \
  "{\"metadata\":{\"name\":\"" name                                            \
  "\",\"namespace\":\"n\",\"uid\":\"u\",\"resourceVersion\":\"" version "\"}}"
#define LIST(version, items)                                                   \
  "{\"items\":[" items "],\"metadata\":{\"resourceVersion\":\"" version "\"}}"
#define EVENT(object) "{\"type\":\"MODIFIED\",\"object\":" object "}\n"

typedef struct told {
  int calls;
  int code;
  char version[64];
} told;

static void on_told(kin_informer *informer, int code, const char *version,
                    void *data) {
  told *t = data;
  (void)informer;
  t->calls++;
  t->code = code;
  snprintf(t->version, sizeof t->version, "%s", version);
}

static void expect_told(told *t, int code, const char *version) {
  assert_int_equal(t->calls, 1);
  assert_int_equal(t->code, code);
  assert_string_equal(t->version, version);
  *t = (told){0};
}

/* Listed at 5, and watching; then asked. */
static void begin_with(iw_world *w, told *t, const char *field_selector) {
  *t = (told){0};
  iw_init(w, 0);
  kin_informer_options options = iw_options(w);
  options.no_watch_list = true;
  options.field_selector = field_selector;
  w->script.connection = 1;
  assert_int_equal(iw_open(w, &options), 0);
  script_respond(&w->script, "pods?", 200, LIST("5", OBJECT("a", "1")));
  assert_true(script_head(&w->script, "watch=true", 200));
  assert_int_equal(kin_informer_verify(w->informer, "", 0, on_told, t), 0);
  script_run(&w->script);
}

static void begin(iw_world *w, told *t) {
  begin_with(w, t, NULL);
}

/* The newest version is 9. */
static void find(iw_world *w, uint64_t connection) {
  w->script.connection = connection;
  script_expect(&w->script, "pods?limit=1");
  script_respond(&w->script, "pods?limit=1", 200, LIST("9", OBJECT("b", "9")));
}

static void prove(iw_world *w, uint64_t connection) {
  w->script.connection = connection;
  script_request *request = script_expect(&w->script, "metadata.name%3D-");
  assert_string_equal(request->target,
                      "/api/v1/pods?fieldSelector=metadata.name%3D-&"
                      "resourceVersion=9&resourceVersionMatch=NotOlderThan");
  script_respond(&w->script, "metadata.name%3D-", 200, LIST("9", ""));
}

static void open_short(iw_world *w, uint64_t connection) {
  w->script.connection = connection;
  script_expect(&w->script, "resourceVersion=5&timeoutSeconds=3&watch=true");
  assert_true(script_head(&w->script, "watch=true", 200));
}

static void end_short(iw_world *w) {
  script_advance(&w->script, 3000);
  assert_true(script_end(&w->script, "watch=true"));
}

static void assert_kept(iw_world *w) {
  kin_status status = iw_status(w, "");
  assert_string_equal(status.resource_version, "5");
  assert_int_equal(status.relists, 0);
  assert_int_equal(w->errors, 0);
  assert_int_equal(status.state, KIN_STATE_LIVE);
  script_expect(&w->script, "resourceVersion=5&timeoutSeconds=");
}

static void test_same_connection(void **state) {
  (void)state;
  iw_world w;
  told t;
  begin(&w, &t);
  find(&w, 2);
  prove(&w, 3);
  open_short(&w, 3);
  assert_int_equal(t.calls, 0);
  end_short(&w);
  expect_told(&t, 0, "9");
  assert_kept(&w);
  iw_finish(&w);
}

static void test_second_on_same_connection(void **state) {
  (void)state;
  iw_world w;
  told t;
  begin(&w, &t);
  find(&w, 2);
  prove(&w, 2);
  open_short(&w, 3);
  end_short(&w);
  assert_int_equal(t.calls, 0);
  prove(&w, 3);
  open_short(&w, 3);
  end_short(&w);
  expect_told(&t, 0, "9");
  assert_kept(&w);
  iw_finish(&w);
}

/* The verdict covers what is waited for up to its version, though the position
 * is before it, and nothing beyond it; until there is another list. */
static void test_waits_trust_the_verdict(void **state) {
  (void)state;
  iw_world w;
  told t;
  told waits[3] = {{0}};
  static const char *const versions[] = {"7", "9", "10"};
  begin(&w, &t);
  find(&w, 2);
  for (int i = 0; i < 3; i++) {
    assert_int_equal(kin_informer_wait_version(w.informer, "", versions[i], 0,
                                               on_told, &waits[i]),
                     0);
  }
  prove(&w, 2);
  open_short(&w, 2);
  end_short(&w);
  expect_told(&t, 0, "9");
  expect_told(&waits[0], 0, "7");
  expect_told(&waits[1], 0, "9");
  assert_int_equal(waits[2].calls, 0);
  assert_int_equal(
      kin_informer_wait_version(w.informer, "", "8", 0, on_told, &t), 0);
  script_run(&w.script);
  expect_told(&t, 0, "8");
  /* A list from a cache that is behind. */
  assert_true(script_head(&w.script, "watch=true", 200));
  script_expire(&w.script, "watch=true");
  script_advance(&w.script, 7000);
  script_respond(&w.script, "pods?", 200, LIST("6", OBJECT("a", "1")));
  assert_int_equal(
      kin_informer_wait_version(w.informer, "", "8", 0, on_told, &t), 0);
  script_run(&w.script);
  assert_int_equal(t.calls, 0);
  iw_finish(&w);
}

/* Another connection, or one that is not known, proves nothing: the position is
 * lost, told, and a consistent list made. */
static void check_lost(uint64_t list, uint64_t watch) {
  iw_world w;
  told t;
  begin(&w, &t);
  find(&w, list);
  for (int i = 0; i < 2; i++) {
    if (list != 0) {
      prove(&w, list);
    }
    open_short(&w, watch);
    assert_int_equal(w.errors, 0);
    end_short(&w);
  }
  assert_int_equal(w.errors, 1);
  assert_int_equal(w.last_class, KIN_CLASS_SERVER);
  assert_int_equal(w.state, KIN_STATE_STALE);
  assert_string_equal(w.script.last_target, "/api/v1/pods?limit=500");
  assert_int_equal(t.calls, 0);
  script_respond(&w.script, "pods?", 200, LIST("9", OBJECT("a", "8")));
  expect_told(&t, 0, "9");
  iw_finish(&w);
}

static void test_other_connection(void **state) {
  (void)state;
  check_lost(2, 3);
  check_lost(2, 0);
}

static void test_unknown_connection(void **state) {
  (void)state;
  check_lost(0, 0);
  check_lost(0, 3);
}

/* Bytes until the end: the server may not have been done. */
static void test_no_quiet(void **state) {
  (void)state;
  iw_world w;
  told t;
  begin(&w, &t);
  find(&w, 2);
  prove(&w, 2);
  open_short(&w, 2);
  script_advance(&w.script, 2500);
  static const char event[] = EVENT(OBJECT("a", "6"));
  assert_true(script_body(&w.script, "watch=true", event, sizeof event - 1));
  script_advance(&w.script, 500);
  assert_true(script_end(&w.script, "watch=true"));
  assert_int_equal(t.calls, 0);
  script_expect(&w.script, "metadata.name%3D-");
  iw_finish(&w);
}

/* The program's own selector stays, in front. */
static void test_own_selector(void **state) {
  (void)state;
  iw_world w;
  told t;
  begin_with(&w, &t, "metadata.name=a");
  w.script.connection = 2;
  script_respond(&w.script, "limit=1", 200, LIST("9", ""));
  script_expect(&w.script,
                "fieldSelector=metadata.name%3Da%2Cmetadata.name%3D-&");
  iw_finish(&w);
}

/* Each allocation of it fails once: it comes to the same end. */
static void test_without_memory(void **state) {
  (void)state;
  unsigned failed = 0;
  for (size_t n = 1;; n++) {
    iw_world w;
    told t;
    begin(&w, &t);
    w.memory.fail_at = atomic_load(&w.memory.calls) + n;
    for (int i = 0; i < 100 && t.calls == 0; i++) {
      w.script.connection = 2;
      script_request *request = script_find(&w.script, "pods?");
      if (request == NULL) {
        script_advance(&w.script, 1000);
      } else if (request->is_watch) {
        if (script_request_head(request, 200)) {
          end_short(&w);
        }
      } else {
        script_respond(&w.script, "pods?", 200, LIST("9", ""));
      }
    }
    expect_told(&t, 0, "9");
    bool has_failed = fail_alloc_has_failed(&w.memory);
    failed += has_failed;
    iw_finish(&w);
    if (!has_failed) {
      break;
    }
  }
  assert_true(failed > 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_same_connection),
      cmocka_unit_test(test_second_on_same_connection),
      cmocka_unit_test(test_waits_trust_the_verdict),
      cmocka_unit_test(test_other_connection),
      cmocka_unit_test(test_unknown_connection),
      cmocka_unit_test(test_no_quiet),
      cmocka_unit_test(test_own_selector),
      cmocka_unit_test(test_without_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
