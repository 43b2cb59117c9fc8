/* SPDX-License-Identifier: MIT */

/* Sweeps over a story in which everything happens to two namespaces while they
 * come and go: every allocation fails once, the input is split everywhere, and
 * a namespace is removed or added between any two steps of the scheduler and in
 * every callback. Whatever happens, the cache is what the server has for the
 * namespaces that are left, every listener knows just that, and nothing is told
 * of a namespace that was removed but its deletes. SI-11, SI-16, SI-18. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"
#include "informer/scope.h"
#include "support/informer_world.h"

typedef enum action {
  REMOVE,
  REMOVE_AND_ADD,
  REMOVE_ADD_REMOVE,
  REMOVE_ALL,
  REMOVE_AND_CLOSE,
  ADD,
  ACTIONS
} action;

typedef struct story {
  iw_world w;
  bool has_odd;
  bool has_even;
  action action;
  int act_at; /* which step or callback; -1: none */
  bool by_steps;
  int moments;        /* so far */
  recorder others[3]; /* coalescing, paused, late */
} story;

static int add(story *s, const char *name) {
  return kin_informer_add_namespace(s->w.informer, name);
}

static int drop(story *s, const char *name) {
  return kin_informer_remove_namespace(s->w.informer, name);
}

static void act(story *s) {
  int expected = s->has_odd ? 0 : KIN_ENOENT;
  switch (s->action) {
  case REMOVE:
    assert_int_equal(drop(s, "odd"), expected);
    s->has_odd = false;
    break;
  case REMOVE_AND_ADD:
    assert_int_equal(drop(s, "odd"), expected);
    assert_int_equal(add(s, "odd"), 0);
    s->has_odd = true;
    break;
  case REMOVE_ADD_REMOVE:
    assert_int_equal(drop(s, "odd"), expected);
    assert_int_equal(add(s, "odd"), 0);
    assert_int_equal(drop(s, "odd"), 0);
    s->has_odd = false;
    break;
  case REMOVE_ALL:
    assert_int_equal(drop(s, "odd"), expected);
    assert_int_equal(drop(s, "even"), s->has_even ? 0 : KIN_ENOENT);
    s->has_odd = s->has_even = false;
    break;
  case REMOVE_AND_CLOSE:
    assert_int_equal(drop(s, "odd"), expected);
    assert_int_equal(kin_informer_close(s->w.informer, iw_on_closed, &s->w), 0);
    break;
  default:
    assert_int_equal(add(s, "odd"), s->has_odd ? KIN_EEXIST : 0);
    s->has_odd = true;
    break;
  }
}

static void on_moment(story *s) {
  if (s->moments++ == s->act_at && !s->w.informer->member.is_closing) {
    act(s);
  }
}

/* Asked by the scheduler after each step, and by steps themselves. */
static uint64_t between_steps(void *ctx) {
  story *s = ctx;
  bool is_between = !s->w.script.sched.is_stepping;
  if (is_between && s->by_steps && s->w.informer != NULL && s->w.closed == 0) {
    on_moment(s);
  }
  return s->w.script.now_ns;
}

static void on_call(recorder *rec, kin_informer *informer) {
  story *s = rec->data;
  (void)informer;
  if (!s->by_steps) {
    on_moment(s);
  }
}

static void check_namespace(const story *s, const char *name) {
  bool is_there = strcmp(name, "odd") == 0 ? s->has_odd : s->has_even;
  assert_true(is_there);
}

static void on_error(kin_informer *informer, kin_error_event *event,
                     void *data) {
  story *s = KIN__CONTAINER_OF(data, story, w);
  check_namespace(s, event->namespace_);
  iw_on_error(informer, event, data);
  on_call(&s->w.rec, informer);
}

static void on_state(kin_informer *informer, const char *namespace_,
                     kin_state from, kin_state to, void *data) {
  story *s = KIN__CONTAINER_OF(data, story, w);
  check_namespace(s, namespace_);
  iw_on_state(informer, namespace_, from, to, data);
  on_call(&s->w.rec, informer);
}

static int listen_with(story *s, recorder *rec, uint32_t exact_limit) {
  recorder_init(rec);
  kin_listener_options options = recorder_options(rec);
  options.exact_limit = exact_limit;
  return kin_informer_listen(s->w.informer, &options, &rec->listener);
}

static bool is_over(const story *s) {
  return s->w.closed > 0 || s->w.informer->member.is_closing;
}

static void pass(story *s, uint64_t ms) {
  if (!is_over(s)) {
    mini_pass(&s->w.server, ms);
  }
}

static int open_story(story *s, bool uses_streams, size_t fail_at) {
  static const char *const namespaces[] = {"odd", "even"};
  memset(s, 0, sizeof *s);
  s->act_at = -1;
  iw_init(&s->w, fail_at);
  s->w.script.sched.now_ns = between_steps;
  s->w.script.sched.ctx = s;
  if (uses_streams) {
    script_use_streams(&s->w.script);
  }
  mini_put_first(&s->w.server, 8);
  s->w.server.honours_limit = true;
  s->has_odd = s->has_even = true;
  kin_informer_options options = iw_options(&s->w);
  options.on_error = on_error;
  options.on_state = on_state;
  options.page_size = 3;
  options.namespaces = namespaces;
  options.namespace_count = 2;
  int err = kin__informer_open(&s->w.informer, &s->w.script.env, &options);
  s->w.rec.on_call = on_call;
  s->w.rec.data = s;
  if (err == 0) {
    err = recorder_listen(&s->w.rec, s->w.informer);
  }
  if (err == 0) {
    err = listen_with(s, &s->others[0], 1);
  }
  if (err == 0) {
    err = listen_with(s, &s->others[1], 0);
  }
  return err;
}

static int tell_story(story *s) {
  mini_server *server = &s->w.server;
  int err = kin_informer_start(s->w.informer);
  if (err != 0) {
    return err;
  }
  kin_listener_pause(s->others[1].listener);
  pass(s, 100);
  mini_put(server, 9);
  mini_put(server, 1);
  pass(s, 50);
  if (!is_over(s)) {
    mini_break_watches(server);
  }
  mini_delete(server, 3);
  mini_recreate(server, 5);
  pass(s, 3000);
  if (!is_over(s)) {
    err = listen_with(s, &s->others[2], 0);
  }
  pass(s, 50);
  mini_compact(server);
  if (!is_over(s)) {
    mini_break_watches(server);
  }
  mini_put(server, 3);
  mini_compact(server);
  pass(s, 3000);
  if (!is_over(s)) {
    script_break(&s->w.script, "/odd/", KIN_EEOF, KIN_CLASS_CONNECT);
  }
  pass(s, 3000);
  return err;
}

/* What is there when everything has come to rest. */
static void check_truth(story *s) {
  const kin_store *store = kin_informer_store(s->w.informer);
  size_t count = 0;
  for (int i = 0; i < MINI_OBJECTS; i++) {
    bool has = i % 2 == 0 ? s->has_even : s->has_odd;
    char key[32];
    snprintf(key, sizeof key, "%s/p%d", i % 2 == 0 ? "even" : "odd", i);
    const kin_object *object = kin_store_get_key(store, key);
    char version[32];
    snprintf(version, sizeof version, "%llu",
             (unsigned long long)s->w.server.versions[i]);
    if (!has || s->w.server.versions[i] == 0) {
      assert_null(object);
    } else {
      assert_non_null(object);
      assert_true(kin__str_equal(kin_object_resource_version(object),
                                 kin__cstr(version)));
      count++;
    }
  }
  assert_int_equal(kin_store_count(store), count);
  assert_true(kin_informer_has_synced(s->w.informer));
  assert_int_equal(s->w.informer->scopes.count, s->has_even + s->has_odd);
  assert_int_equal(s->w.informer->scopes.synced, s->has_even + s->has_odd);
}

static void check_listeners(story *s) {
  const kin_store *store = kin_informer_store(s->w.informer);
  recorder_assert_folds_to(&s->w.rec, store);
  assert_int_equal(s->w.rec.synced, 1);
  kin_listener_resume(s->others[1].listener);
  script_run(&s->w.script);
  for (int i = 0; i < 3; i++) {
    if (s->others[i].listener != NULL) {
      recorder_assert_folds_to(&s->others[i], store);
      assert_int_equal(s->others[i].synced, 1);
    }
  }
}

static void finish_story(story *s) {
  s->act_at = -1;
  if (s->w.informer != NULL && !is_over(s)) {
    check_truth(s);
    check_listeners(s);
  }
  script_run(&s->w.script);
  iw_finish(&s->w);
}

static void test_story(void **state) {
  (void)state;
  for (int uses_streams = 0; uses_streams < 2; uses_streams++) {
    story s;
    assert_int_equal(open_story(&s, uses_streams, 0), 0);
    assert_int_equal(tell_story(&s), 0);
    assert_true(s.w.rec.relisted > 0);
    assert_true(s.w.rec.deletes > 0);
    assert_int_equal(s.w.server.streams > 0, uses_streams);
    finish_story(&s);
  }
}

static int sweep(action what, bool uses_streams, bool by_steps) {
  for (int at = 0;; at++) {
    story s;
    assert_int_equal(open_story(&s, uses_streams, 0), 0);
    s.action = what;
    s.act_at = at;
    s.by_steps = by_steps;
    (void)tell_story(&s);
    bool was_reached = s.moments > at;
    assert_int_equal(is_over(&s), was_reached && what == REMOVE_AND_CLOSE);
    finish_story(&s);
    if (!was_reached) {
      return at;
    }
  }
}

/* SI-18: in the middle of listing, streaming, applying, watching, waiting; the
 * removed one may be half listed, half applied or half swept. */
static void test_between_all_steps(void **state) {
  (void)state;
  for (action what = REMOVE; what < ADD; what++) {
    for (int uses_streams = 0; uses_streams < 2; uses_streams++) {
      assert_true(sweep(what, uses_streams, true) > 150);
    }
  }
}

static void test_in_all_callbacks(void **state) {
  (void)state;
  for (action what = REMOVE; what < ADD; what++) {
    for (int uses_streams = 0; uses_streams < 2; uses_streams++) {
      assert_true(sweep(what, uses_streams, false) > 25);
    }
  }
}

/* A namespace is taken away early, and added in every later moment. */
static void test_added_at_any_moment(void **state) {
  (void)state;
  for (int by_steps = 0; by_steps < 2; by_steps++) {
    for (int early = 0; early < 3; early++) {
      int at = 0;
      for (bool was_reached = true; was_reached; at++) {
        story s;
        assert_int_equal(open_story(&s, at % 2 == 0, 0), 0);
        s.action = ADD;
        s.act_at = at;
        s.by_steps = by_steps;
        if (early > 0) {
          if (early == 2) {
            assert_int_equal(kin_informer_start(s.w.informer), 0);
            script_run(&s.w.script);
          }
          s.moments = 0;
          assert_int_equal(drop(&s, "odd"), 0);
          s.has_odd = false;
        }
        if (early == 2) {
          pass(&s, 3000);
        } else {
          (void)tell_story(&s);
        }
        was_reached = s.moments > at;
        mini_pass(&s.w.server, 100);
        finish_story(&s);
      }
      assert_true(at > 5);
    }
  }
}

/* A story of its own: there is no memory for one thing of everything that
 * adding and removing does. */
static int run_changes(story *s) {
  int err = kin_informer_start(s->w.informer);
  for (int i = 0; i < 4 && err == 0; i++) {
    pass(s, 300);
    mini_put(&s->w.server, 1);
    err = drop(s, "odd");
    s->has_odd = false;
    if (err == 0 && i % 2 == 0) {
      pass(s, 300);
    }
    if (err == 0) {
      err = add(s, i == 1 ? "other" : "odd");
      s->has_odd = err == 0 && i != 1;
    }
    if (err == 0 && i == 1) {
      err = drop(s, "other");
      for (int k = 0; k < 6 && err == 0; k++) {
        char name[8];
        snprintf(name, sizeof name, "n%d", k);
        err = add(s, name);
        int dropped = err == 0 ? drop(s, name) : 0;
        assert_int_equal(dropped, 0);
      }
      err = err == 0 ? add(s, "odd") : err;
      s->has_odd = err == 0;
    }
  }
  pass(s, 60000);
  return err;
}

static void test_sweep_allocations(void **state) {
  (void)state;
  for (int uses_streams = 0; uses_streams < 2; uses_streams++) {
    for (size_t n = 1;; n++) {
      story s;
      int err = open_story(&s, uses_streams, n);
      if (err != 0) {
        assert_int_equal(err, KIN_ENOMEM);
      } else {
        err = run_changes(&s);
        assert_true(err == 0 || err == KIN_ENOMEM);
      }
      bool has_failed = fail_alloc_has_failed(&s.w.memory);
      if (err == 0) {
        finish_story(&s);
      } else {
        iw_finish(&s.w);
      }
      if (!has_failed) {
        print_message("%zu allocations\n", n - 1);
        assert_true(n > 100);
        break;
      }
    }
  }
}

/* Memory stays out when the informer syncs by a removal. */
static void test_outage_at_synced(void **state) {
  (void)state;
  for (size_t n = 1; n < 12; n++) {
    story s;
    assert_int_equal(open_story(&s, false, 0), 0);
    assert_int_equal(kin_informer_start(s.w.informer), 0);
    assert_int_equal(drop(&s, "odd"), 0);
    assert_int_equal(drop(&s, "even"), 0);
    s.has_odd = s.has_even = false;
    s.w.memory.fail_at = n;
    atomic_store(&s.w.memory.calls, 0);
    s.w.memory.keeps_failing = true;
    script_advance(&s.w.script, 250);
    s.w.memory.fail_at = 0;
    s.w.memory.keeps_failing = false;
    pass(&s, 200);
    finish_story(&s);
  }
}

static void test_sweep_splits(void **state) {
  (void)state;
  for (size_t split = 1; split < 400;
       split = split < 40 ? split + 3 : split + 61) {
    for (action what = REMOVE; what < REMOVE_AND_CLOSE; what++) {
      for (int at = 30; at < 3000; at = at * 3 / 2) {
        story s;
        assert_int_equal(open_story(&s, at % 2, 0), 0);
        s.w.script.split = split;
        s.action = what;
        s.act_at = at;
        s.by_steps = true;
        (void)tell_story(&s);
        finish_story(&s);
      }
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_story),
      cmocka_unit_test(test_between_all_steps),
      cmocka_unit_test(test_in_all_callbacks),
      cmocka_unit_test(test_added_at_any_moment),
      cmocka_unit_test(test_sweep_allocations),
      cmocka_unit_test(test_outage_at_synced),
      cmocka_unit_test(test_sweep_splits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
