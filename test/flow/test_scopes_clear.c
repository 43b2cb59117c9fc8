/* SPDX-License-Identifier: MIT */

/* A resource that vanishes, as one does whose definition is removed: its
 * objects are kept, or deleted if the program wants that
 * (clear_when_absent). */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"
#include "informer/scope.h"
#include "support/informer_world.h"

static const char *const even_and_odd[] = {"even", "odd"};

typedef struct clear_world {
  iw_world w;
} clear_world;

static int open_world(clear_world *c, bool clears, bool uses_streams,
                      size_t namespaces, size_t fail_at) {
  memset(c, 0, sizeof *c);
  iw_init(&c->w, fail_at);
  if (uses_streams) {
    script_use_streams(&c->w.script);
  }
  mini_put_first(&c->w.server, 6);
  kin_informer_options options = iw_options(&c->w);
  options.clear_when_absent = clears;
  options.namespaces = even_and_odd;
  options.namespace_count = namespaces;
  return iw_open(&c->w, &options);
}

static void open_live(clear_world *c, bool clears, bool uses_streams,
                      size_t namespaces) {
  assert_int_equal(open_world(c, clears, uses_streams, namespaces, 0), 0);
  mini_pass(&c->w.server, 1500);
  c->w.rec.log[c->w.rec.used = 0] = '\0';
}

/* The server forgets the resource, and all objects of it with their history. */
static void vanish(clear_world *c) {
  c->w.server.is_absent = true;
  mini_break_watches(&c->w.server);
  for (int i = 0; i < MINI_OBJECTS; i++) {
    if (c->w.server.versions[i] != 0) {
      mini_delete(&c->w.server, i);
    }
  }
}

static void return_with(clear_world *c, int first, int count) {
  c->w.server.is_absent = false;
  for (int i = first; i < first + count; i++) {
    mini_put(&c->w.server, i);
  }
  mini_compact(&c->w.server);
}

static size_t cached(const clear_world *c) {
  return kin_store_count(kin_informer_store(c->w.informer));
}

static void test_kept_by_default(void **state) {
  (void)state;
  clear_world c;
  open_live(&c, false, false, 0);
  vanish(&c);
  mini_pass(&c.w.server, 5000);
  assert_int_equal(c.w.state, KIN_STATE_ABSENT);
  assert_int_equal(cached(&c), 6);
  assert_int_equal(c.w.rec.deletes, 0);
  return_with(&c, 4, 4);
  mini_pass(&c.w.server, 60000);
  assert_int_equal(c.w.state, KIN_STATE_LIVE);
  iw_assert_truth(&c.w);
  iw_finish(&c.w);
}

/* Once, however often the server says so; it stays synced; and what comes back
 * is listed anew. */
static void test_cleared(void **state) {
  (void)state;
  for (int uses_streams = 0; uses_streams < 2; uses_streams++) {
    clear_world c;
    open_live(&c, true, uses_streams, 0);
    vanish(&c);
    mini_pass(&c.w.server, 50);
    assert_int_equal(c.w.state, KIN_STATE_ABSENT);
    assert_int_equal(cached(&c), 0);
    assert_int_equal(c.w.rec.deletes, 6);
    assert_non_null(strstr(c.w.rec.log, "delete even/p0 cleared\n"));
    assert_null(strstr(c.w.rec.log, "watch"));
    assert_true(kin_informer_has_synced(c.w.informer));
    int errors = c.w.errors;
    mini_pass(&c.w.server, 60000);
    assert_true(c.w.errors > errors);
    assert_int_equal(c.w.rec.deletes, 6);
    c.w.rec.log[c.w.rec.used = 0] = '\0';
    return_with(&c, 2, 2);
    mini_pass(&c.w.server, 60000);
    assert_string_equal(c.w.rec.log, "add even/p2 113\n"
                                     "add odd/p3 114\n"
                                     "relisted  114 2\n");
    assert_int_equal(c.w.state, KIN_STATE_LIVE);
    iw_assert_truth(&c.w);
    /* And again. */
    vanish(&c);
    mini_pass(&c.w.server, 60000);
    assert_int_equal(c.w.rec.deletes, 8);
    return_with(&c, 0, 2);
    mini_pass(&c.w.server, 60000);
    iw_assert_truth(&c.w);
    iw_finish(&c.w);
  }
}

/* The other namespace keeps its objects. */
static void test_one_of_two(void **state) {
  (void)state;
  clear_world c;
  open_live(&c, true, false, 2);
  script_break(&c.w.script, "/odd/", KIN_EEOF, KIN_CLASS_CONNECT);
  script_run(&c.w.script);
  script_respond(&c.w.script, "/odd/", 404, "");
  script_run(&c.w.script);
  assert_int_equal(c.w.rec.deletes, 3);
  assert_int_equal(cached(&c), 3);
  assert_null(strstr(c.w.rec.log, "even"));
  mini_pass(&c.w.server, 60000);
  iw_assert_truth(&c.w);
  assert_int_equal(c.w.rec.adds, 9);
  iw_finish(&c.w);
}

/* Nothing has been listed yet, or the program gives up: there is nothing to do,
 * and nothing is done. */
static void test_nothing_to_clear(void **state) {
  (void)state;
  clear_world c;
  assert_int_equal(open_world(&c, true, false, 0, 0), 0);
  c.w.server.is_absent = true;
  mini_pass(&c.w.server, 3000);
  assert_int_equal(c.w.state, KIN_STATE_ABSENT);
  assert_false(kin_informer_has_synced(c.w.informer));
  return_with(&c, 0, 3);
  mini_pass(&c.w.server, 60000);
  assert_int_equal(c.w.rec.synced, 1);
  assert_int_equal(c.w.rec.initial_adds, 6);
  iw_assert_truth(&c.w);
  iw_finish(&c.w);

  open_live(&c, true, false, 0);
  c.w.answer = KIN_STOP;
  c.w.server.is_absent = true;
  mini_break_watches(&c.w.server);
  mini_pass(&c.w.server, 60000);
  assert_int_equal(c.w.state, KIN_STATE_IDLE);
  assert_int_equal(cached(&c), 6);
  iw_finish(&c.w);
}

/* Hands an answer over without running any task. */
static void give(script_request *request, int status, const char *body) {
  script_env *script = request->env;
  kin__response_head head = {.status = status,
                             .content_type = {"application/json", 16},
                             .retry_after_s = -1,
                             .is_identity = true};
  const kin__exchange_callbacks *callbacks = request->callbacks;
  void *ctx = request->ctx;
  callbacks->on_head(ctx, &head);
  callbacks->on_body(ctx, body, strlen(body));
  for (int i = 0; i < SCRIPT_MAX_REQUESTS; i++) {
    if (script->requests[i] == request) {
      script->requests[i] = NULL;
    }
  }
  free(request);
  callbacks->on_end(ctx, NULL);
}

static const char two_objects[] =
    "{\"items\":[{\"metadata\":{\"name\":\"p1\",\"namespace\":\"odd\","
    "\"uid\":\"uid-1-1\",\"resourceVersion\":\"102\"}},"
    "{\"metadata\":{\"name\":\"p8\",\"namespace\":\"even\","
    "\"uid\":\"uid-8-1\",\"resourceVersion\":\"120\"}}],"
    "\"metadata\":{\"resourceVersion\":\"120\"}}";

static void step(clear_world *c) {
  (void)kin__sched_run(&c->w.script.sched, 0);
}

/* Runs until the next request is open, the clock standing still. */
static bool reach_request(clear_world *c) {
  for (int i = 0; i < 100; i++) {
    uint64_t now_ms = c->w.script.now_ns / 1000000;
    (void)kin__timers_run(&c->w.script.timers, now_ms, 1);
    if (script_open_requests(&c->w.script) > 0) {
      return true;
    }
    step(c);
  }
  return false;
}

/* It is back before the objects are gone, with one of them as it was: that one
 * is deleted and added, and nothing is lost. */
static void test_back_while_clearing(void **state) {
  (void)state;
  bool was_dropping = false;
  for (unsigned k = 0; k < 30; k++) {
    clear_world c;
    open_live(&c, true, false, 0);
    c.w.answer = KIN_RETRY_AFTER; /* at once */
    script_break(&c.w.script, "watch=true", KIN_EEOF, KIN_CLASS_CONNECT);
    give(script_expect(&c.w.script, "/pods"), 404, "");
    assert_true(reach_request(&c));
    for (unsigned i = 0; i < k; i++) {
      step(&c);
    }
    /* Of what it asks, a list alone brings it out of this. */
    assert_null(strstr(c.w.script.last_target, "watch"));
    give(script_expect(&c.w.script, "/pods"), 200, two_objects);
    const kin__scope *scope = kin__scopes_find(&c.w.informer->scopes, "");
    was_dropping = was_dropping || scope->apply.has_list;
    script_run(&c.w.script);
    assert_int_equal(c.w.rec.deletes, 6);
    assert_int_equal(cached(&c), 2);
    const kin_store *store = kin_informer_store(c.w.informer);
    assert_true(kin__str_equal(
        kin_object_resource_version(kin_store_get_key(store, "odd/p1")),
        KIN__LIT("102")));
    assert_int_equal(c.w.rec.relisted, 1);
    recorder_assert_folds_to(&c.w.rec, store);
    assert_int_equal(c.w.state, KIN_STATE_RECONNECTING);
    assert_non_null(script_find(&c.w.script, "resourceVersion=120"));
    iw_finish(&c.w);
  }
  assert_true(was_dropping);
}

typedef enum interruption { STOP, REMOVE, CLOSE, INTERRUPTIONS } interruption;

static void interrupt(clear_world *c, interruption what) {
  kin_informer *informer = c->w.informer;
  switch (what) {
  case STOP:
    c->w.answer = KIN_STOP;
    break;
  case REMOVE:
    assert_int_equal(kin_informer_remove_namespace(informer, "even"), 0);
    assert_int_equal(kin_informer_add_namespace(informer, "even"), 0);
    break;
  default:
    assert_int_equal(kin_informer_close(informer, iw_on_closed, &c->w), 0);
    break;
  }
}

/* While objects are cleared, and a list of what is back waits for that, the
 * program stops it, removes the namespace, or closes. */
static void test_interrupted(void **state) {
  (void)state;
  for (interruption what = STOP; what < INTERRUPTIONS; what++) {
    for (unsigned k = 0; k < 40; k++) {
      clear_world c;
      open_live(&c, true, false, 1);
      c.w.answer = KIN_RETRY_AFTER;
      script_break(&c.w.script, "watch=true", KIN_EEOF, KIN_CLASS_CONNECT);
      give(script_expect(&c.w.script, "/pods"), 404, "");
      unsigned at = k % 20;
      if (k >= 20 && reach_request(&c)) {
        give(script_expect(&c.w.script, "/pods"), 200, two_objects);
      }
      for (unsigned i = 0; i < at; i++) {
        step(&c);
      }
      interrupt(&c, what);
      script_run(&c.w.script);
      if (what == STOP) {
        script_break(&c.w.script, "/pods", KIN_EEOF, KIN_CLASS_CONNECT);
        mini_pass(&c.w.server, 1000);
        recorder_assert_folds_to(&c.w.rec, kin_informer_store(c.w.informer));
      } else if (what == REMOVE) {
        mini_pass(&c.w.server, 1000);
        assert_int_equal(cached(&c), 3);
        recorder_assert_folds_to(&c.w.rec, kin_informer_store(c.w.informer));
      }
      iw_finish(&c.w);
    }
  }
}

static int refuse_p8(const kin_object *in, kin_object_builder *out,
                     void *data) {
  (void)out;
  (void)data;
  return kin__str_equal(kin_object_name(in), KIN__LIT("p8")) ? KIN_EINDEX : 0;
}

static void stop_when_absent(kin_informer *informer, kin_error_event *event,
                             void *data) {
  iw_on_error(informer, event, data);
  event->answer = event->error_class == KIN_CLASS_ABSENT ? KIN_STOP : KIN_RETRY;
}

/* Another error is told after the resource has vanished, and before that is
 * told: the answer to the latter decides. */
static void test_stopped_after_another_error(void **state) {
  (void)state;
  clear_world c;
  memset(&c, 0, sizeof c);
  iw_init(&c.w, 0);
  mini_put_first(&c.w.server, 6);
  kin_informer_options options = iw_options(&c.w);
  options.clear_when_absent = true;
  options.transform = refuse_p8;
  options.on_error = stop_when_absent;
  assert_int_equal(iw_open(&c.w, &options), 0);
  mini_pass(&c.w.server, 1500);
  static const char frames[] =
      "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"p8\","
      "\"namespace\":\"even\",\"uid\":\"u8\",\"resourceVersion\":\"900\"}}}\n"
      "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"status\":"
      "\"Failure\",\"reason\":\"NotFound\",\"code\":404}}\n";
  script_body(&c.w.script, "watch=true", frames, sizeof frames - 1);
  script_run(&c.w.script);
  assert_int_equal(c.w.errors, 2);
  assert_int_equal(c.w.last_class, KIN_CLASS_ABSENT);
  assert_int_equal(c.w.state, KIN_STATE_IDLE);
  assert_int_equal(cached(&c), 6);
  assert_int_equal(c.w.rec.deletes, 0);
  iw_finish(&c.w);
}

/* A later error is answered with KIN_STOP before the objects are gone: they go
 * all the same, and what was to come after them does not. */
static void test_stopped_while_clearing(void **state) {
  (void)state;
  for (int has_list = 0; has_list < 2; has_list++) {
    clear_world c;
    memset(&c, 0, sizeof c);
    iw_init(&c.w, 0);
    mini_put_first(&c.w.server, 6);
    kin_informer_options options = iw_options(&c.w);
    options.clear_when_absent = true;
    options.transform = refuse_p8;
    assert_int_equal(iw_open(&c.w, &options), 0);
    mini_pass(&c.w.server, 1500);
    c.w.answer = KIN_RETRY_AFTER;
    script_break(&c.w.script, "watch=true", KIN_EEOF, KIN_CLASS_CONNECT);
    give(script_expect(&c.w.script, "/pods"), 404, "");
    assert_true(reach_request(&c));
    const kin__scope *scope = kin__scopes_find(&c.w.informer->scopes, "");
    assert_int_equal(scope->apply.reason, KIN_DELETE_CLEARED);
    c.w.answer = KIN_STOP;
    give(script_expect(&c.w.script, "/pods"), has_list ? 200 : 503,
         has_list ? two_objects : "");
    assert_int_equal(scope->apply.has_list, has_list);
    assert_int_equal(cached(&c), 6);
    script_run(&c.w.script);
    assert_int_equal(c.w.state, KIN_STATE_IDLE);
    assert_int_equal(c.w.rec.deletes, 6);
    assert_int_equal(cached(&c), 0);
    assert_int_equal(c.w.rec.relisted, 0);
    assert_int_equal(scope->apply.phase, KIN__APPLY_IDLE);
    iw_finish(&c.w);
  }
}

static void test_sweep_allocations(void **state) {
  (void)state;
  for (size_t n = 1;; n++) {
    clear_world c;
    int err = open_world(&c, true, n % 2 == 0, 2, n);
    if (err == 0) {
      mini_pass(&c.w.server, 1500);
      vanish(&c);
      mini_pass(&c.w.server, 5000);
      return_with(&c, 3, 5);
      mini_pass(&c.w.server, 120000);
      iw_assert_truth(&c.w);
    } else {
      assert_int_equal(err, KIN_ENOMEM);
    }
    bool has_failed = fail_alloc_has_failed(&c.w.memory);
    iw_finish(&c.w);
    if (!has_failed && n % 2 == 0) {
      print_message("%zu allocations\n", n - 1);
      assert_true(n > 50);
      break;
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_kept_by_default),
      cmocka_unit_test(test_cleared),
      cmocka_unit_test(test_one_of_two),
      cmocka_unit_test(test_nothing_to_clear),
      cmocka_unit_test(test_back_while_clearing),
      cmocka_unit_test(test_interrupted),
      cmocka_unit_test(test_stopped_after_another_error),
      cmocka_unit_test(test_stopped_while_clearing),
      cmocka_unit_test(test_sweep_allocations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
