/* SPDX-License-Identifier: MIT */
/* Proves no row of its own, but what all others rest on: an exchange can be
 * cancelled and the transport closed at any moment, in every callback and
 * between any two steps; each allocation can fail; on_end comes exactly once
 * or, after a cancel, never; and nothing is left behind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/transport_world.h"

/* Each connection carries one response, claims that it may carry more, and is
 * closed; so whoever comes second finds a stale connection. */
#define REPLY                                                                  \
  "HTTP/1.1 100 Continue\r\n\r\n"                                              \
  "HTTP/1.1 200 OK\r\nContent-Type: a/b\r\nTransfer-Encoding: chunked\r\n\r\n" \
  "4\r\none,\r\n4\r\ntwo,\r\n5\r\nthree\r\n0\r\n\r\n"

typedef enum action {
  ACTION_NONE,
  ACTION_CANCEL_SELF,
  ACTION_CANCEL_ALL,
  ACTION_CLOSE,
  ACTION_PAUSE,
  ACTION_START
} action;

#define FIRST 0
#define WATCH 1
#define NEXT 2 /* started where FIRST ends */
#define MORE 3 /* started by ACTION_START */
#define FETCHES 4

typedef struct story {
  world w;
  fetch fetches[FETCHES];
  bool is_cancelled[FETCHES];
  size_t callbacks;
  size_t act_at; /* callback, from 1 */
  action action;
  bool has_acted;
  bool is_closed;
} story;

static void on_closed(void *ctx) {
  story *s = ctx;
  assert_false(s->is_closed);
  s->is_closed = true;
}

static void hook(fetch *f);

static void begin(story *s, size_t i, bool is_watch) {
  fetch *f = &s->fetches[i];
  f->hook = hook;
  int err = fetch_start(f, &s->w, "/x", is_watch);
  if (err != 0) {
    assert_int_equal(err, KIN_ENOMEM);
    assert_true(fail_alloc_has_failed(&s->w.memory));
    s->is_cancelled[i] = true;
  }
}

static void cancel(story *s, size_t i) {
  if (s->fetches[i].exchange != NULL) {
    kin__exchange_cancel(s->fetches[i].exchange);
    s->fetches[i].exchange = NULL;
    s->is_cancelled[i] = true;
  }
}

static void act(story *s, size_t self) {
  s->has_acted = true;
  switch (s->action) {
  case ACTION_CANCEL_SELF:
    cancel(s, self);
    break;
  case ACTION_CANCEL_ALL:
    for (size_t i = 0; i < FETCHES; i++) {
      cancel(s, i);
    }
    break;
  case ACTION_CLOSE:
    kin__transport_close(s->w.transport, on_closed, s);
    s->w.transport = NULL;
    assert_false(s->is_closed);
    for (size_t i = 0; i < FETCHES; i++) {
      s->is_cancelled[i] = true;
    }
    break;
  case ACTION_PAUSE:
    if (s->fetches[self].exchange != NULL) {
      kin__exchange_pause(s->fetches[self].exchange);
      kin__exchange_resume(s->fetches[self].exchange);
    }
    break;
  case ACTION_START:
    begin(s, MORE, false);
    break;
  case ACTION_NONE:
    break;
  }
}

static void hook(fetch *f) {
  story *s = KIN__CONTAINER_OF(f->world, story, w);
  size_t i = (size_t)(f - s->fetches);
  assert_false(s->is_cancelled[i]);
  if (++s->callbacks == s->act_at) {
    act(s, i);
  }
  if (i == FIRST && f->ends > 0 && s->w.transport != NULL) {
    begin(s, NEXT, false);
  }
}

static bool is_over(const story *s, size_t i) {
  const fetch *f = &s->fetches[i];
  return s->is_cancelled[i] || f->ends > 0;
}

static bool are_all_over(const story *s) {
  bool has_next = s->fetches[FIRST].ends > 0 && s->w.transport != NULL;
  bool has_more = s->action == ACTION_START && s->has_acted;
  return is_over(s, FIRST) && is_over(s, WATCH) &&
         (!has_next || is_over(s, NEXT)) && (!has_more || is_over(s, MORE));
}

static void check_result(story *s, size_t i) {
  fetch *f = &s->fetches[i];
  assert_true(f->ends <= 1);
  if (f->ends == 1 && f->error.code == 0) {
    assert_int_equal(f->status, 200);
    assert_string_equal(f->content_type, "a/b");
    assert_string_equal(f->body, "one,two,three");
  } else if (f->ends == 1) {
    assert_true(fail_alloc_has_failed(&s->w.memory));
    assert_int_equal(f->error.code, KIN_ENOMEM);
    assert_int_equal(f->error.error_class, KIN_CLASS_MEMORY);
  }
  fetch_finish(f);
}

static const loop_reply reply = {
    .bytes = REPLY, .slice = 40, .then = LOOP_CLOSE};

static int open_story(story *s, size_t fail_at, bool keeps_failing) {
  memset(s, 0, sizeof *s);
  world_init(&s->w, &reply, 1, fail_at);
  s->w.memory.keeps_failing = keeps_failing;
  char url[64];
  snprintf(url, sizeof url, "http://localhost:%d", s->w.server.port);
  return world_open_at(&s->w, url);
}

/* The smallest piece of progress: one task, or one turn of the loop. */
static void step(story *s) {
  if (kin__sched_has_work(&s->w.sched)) {
    kin__sched_run(&s->w.sched, 0);
  } else {
    uv_run(&s->w.loop, UV_RUN_ONCE);
  }
}

static void close_story(story *s) {
  bool was_closed = s->action == ACTION_CLOSE && s->has_acted;
  while (was_closed && !s->is_closed) {
    step(s);
  }
  for (size_t i = 0; i < FETCHES; i++) {
    check_result(s, i);
  }
  world_close(&s->w);
}

/* Acts in callback `act_at`, if there is one, and after `steps` steps. Returns
 * whether it came to that. */
static bool run_story(action what, size_t act_at, size_t steps) {
  story s;
  assert_int_equal(open_story(&s, 0, false), 0);
  s.action = what;
  s.act_at = act_at;
  begin(&s, FIRST, false);
  begin(&s, WATCH, true);
  for (size_t i = 0; !are_all_over(&s); i++) {
    if (i == steps && s.w.transport != NULL) {
      act(&s, s.fetches[FIRST].exchange != NULL ? FIRST : NEXT);
    } else {
      step(&s);
    }
  }
  bool has_acted = s.has_acted;
  close_story(&s);
  return has_acted;
}

#define NO_STEPS SIZE_MAX

static void test_ends_in_every_callback(void **state) {
  (void)state;
  for (action what = ACTION_NONE; what <= ACTION_START; what++) {
    size_t k = 1;
    while (run_story(what, k, NO_STEPS)) {
      k++;
      assert_true(k < 1000);
    }
    assert_true(k > 5); /* head, three pieces of body, end */
  }
}

static void test_ends_after_every_step(void **state) {
  (void)state;
  for (action what = ACTION_CANCEL_SELF; what <= ACTION_START; what++) {
    size_t steps = 0;
    while (run_story(what, 0, steps)) {
      steps++;
      assert_true(steps < 1000);
    }
    assert_true(steps > 10);
  }
}

static bool fail_story(size_t fail_at, bool keeps_failing) {
  story s;
  int err = open_story(&s, fail_at, keeps_failing);
  if (err == 0) {
    begin(&s, FIRST, false);
    begin(&s, WATCH, true);
    while (!are_all_over(&s)) {
      step(&s);
    }
  } else {
    assert_int_equal(err, KIN_ENOMEM);
    assert_null(s.w.transport);
  }
  bool has_failed = fail_alloc_has_failed(&s.w.memory);
  close_story(&s);
  return has_failed;
}

static void test_ends_out_of_memory(void **state) {
  (void)state;
  for (int keeps_failing = 0; keeps_failing < 2; keeps_failing++) {
    size_t n = 1;
    while (fail_story(n, keeps_failing)) {
      n++;
      assert_true(n < 1000);
    }
    assert_true(n > 10);
  }
}

/* Opened and closed, with nothing to wait for. */
static void test_ends_unused(void **state) {
  (void)state;
  world w;
  world_setup(&w, NULL, 0);
  world_close(&w);
}

/* Started and closed before the first step. */
static void test_ends_unstarted(void **state) {
  (void)state;
  world w;
  world_setup(&w, &reply, 1);
  fetch fetches[2] = {{.world = NULL}};
  assert_int_equal(fetch_start(&fetches[0], &w, "/x", false), 0);
  assert_int_equal(fetch_start(&fetches[1], &w, "/x", true), 0);
  kin__exchange_cancel(fetches[1].exchange);
  world_close(&w);
  assert_int_equal(fetches[0].callbacks + fetches[1].callbacks, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_ends_in_every_callback),
      cmocka_unit_test(test_ends_after_every_step),
      cmocka_unit_test(test_ends_out_of_memory),
      cmocka_unit_test(test_ends_unused),
      cmocka_unit_test(test_ends_unstarted),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
