/* SPDX-License-Identifier: MIT */
/* Proves no row of its own, but what all others rest on, with TLS and a token
 * from a file: an exchange can be cancelled and the transport closed at any
 * moment, in every callback and between any two steps, while files are read and
 * in the middle of a handshake; each allocation can fail; and nothing is left
 * behind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/tls_world.h"

/* Each connection carries one response, claims that it may carry more, and is
 * closed; so whoever comes second finds a stale connection. */
#define REPLY                                                                  \
  "HTTP/1.1 100 Continue\r\n\r\n"                                              \
  "HTTP/1.1 200 OK\r\nContent-Type: a/b\r\nTransfer-Encoding: chunked\r\n\r\n" \
  "4\r\none,\r\n4\r\ntwo,\r\n5\r\nthree\r\n0\r\n\r\n"

static const tls_reply reply = {REPLY, 0, TLS_CLOSE};

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
  tls_world t;
  char token_path[128];
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
  int err = fetch_start(f, &s->t.w, "/x", is_watch);
  if (err != 0) {
    assert_int_equal(err, KIN_ENOMEM);
    assert_true(fail_alloc_has_failed(&s->t.w.memory));
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

static void close_transport(story *s) {
  kin__transport_close(s->t.w.transport, on_closed, s);
  s->t.w.transport = NULL;
  assert_false(s->is_closed);
  for (size_t i = 0; i < FETCHES; i++) {
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
    close_transport(s);
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
  tls_world *t = KIN__CONTAINER_OF(f->world, tls_world, w);
  story *s = KIN__CONTAINER_OF(t, story, t);
  size_t i = (size_t)(f - s->fetches);
  assert_false(s->is_cancelled[i]);
  if (++s->callbacks == s->act_at) {
    act(s, i);
  }
  if (i == FIRST && f->ends > 0 && s->t.w.transport != NULL) {
    begin(s, NEXT, false);
  }
}

static bool is_over(const story *s, size_t i) {
  return s->is_cancelled[i] || s->fetches[i].ends > 0;
}

static bool are_all_over(const story *s) {
  bool has_next = s->fetches[FIRST].ends > 0 && s->t.w.transport != NULL;
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
    assert_true(fail_alloc_has_failed(&s->t.w.memory));
    assert_int_equal(f->error.code, KIN_ENOMEM);
    assert_int_equal(f->error.error_class, KIN_CLASS_MEMORY);
  }
  assert_false(tls_world_leaks(&s->t, f, "s3cret"));
  fetch_finish(f);
}

static int open_story(story *s, size_t fail_at, bool keeps_failing) {
  memset(s, 0, sizeof *s);
  tls_world_init(&s->t, &reply, 1, fail_at);
  s->t.w.memory.keeps_failing = keeps_failing;
  tls_world_path(&s->t, "token", s->token_path, sizeof s->token_path);
  tls_write_file(s->token_path, "s3cret\n");
  s->t.token_file = s->token_path;
  s->t.tls.certificate_data = tls_pki_get()->client_pem;
  s->t.tls.key_data = tls_pki_get()->client_key_pem;
  s->t.serve.client_authority = &tls_pki_get()->authority;
  s->t.serve.slice = 700;
  return tls_world_open(&s->t, "localhost");
}

/* The smallest piece of progress: one task, or one turn of the loop. */
static void step(story *s) {
  if (kin__sched_has_work(&s->t.w.sched)) {
    kin__sched_run(&s->t.w.sched, 0);
  } else {
    uv_run(&s->t.w.loop, UV_RUN_ONCE);
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
  tls_world_close(&s->t);
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
    if (i == steps && s.t.w.transport != NULL) {
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

static void test_tls_ends_in_every_callback(void **state) {
  (void)state;
  for (action what = ACTION_NONE; what <= ACTION_START; what++) {
    size_t k = 1;
    while (run_story(what, k, NO_STEPS)) {
      k++;
      assert_true(k < 1000);
    }
    assert_true(k > 5); /* head, body, end */
  }
}

static void test_tls_ends_after_every_step(void **state) {
  (void)state;
  for (action what = ACTION_CANCEL_SELF; what <= ACTION_START; what++) {
    size_t steps = 0;
    while (run_story(what, 0, steps)) {
      steps++;
      assert_true(steps < 1000);
    }
    assert_true(steps > 20);
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
    assert_null(s.t.w.transport);
  }
  bool has_failed = fail_alloc_has_failed(&s.t.w.memory);
  close_story(&s);
  return has_failed;
}

static void test_tls_ends_out_of_memory(void **state) {
  (void)state;
  for (int keeps_failing = 0; keeps_failing < 2; keeps_failing++) {
    size_t n = 1;
    while (fail_story(n, keeps_failing)) {
      n++;
      assert_true(n < 1000);
    }
    assert_true(n > 20);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_tls_ends_in_every_callback),
      cmocka_unit_test(test_tls_ends_after_every_step),
      cmocka_unit_test(test_tls_ends_out_of_memory),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  tls_pki_finish();
  return failed;
}
