/* SPDX-License-Identifier: MIT */
/* Proves TR-07 over TLS: close_notify may come in the same read as the last
 * compressed bytes, and a body that only the connection's end ends is whole
 * then, though most of it is still to be inflated; without close_notify it is
 * cut. Cancelled, closed and paused in every callback and after every step. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/packed.h"
#include "support/tls_world.h"

#define OK "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n"
#define TEXT_BYTES 70000u /* some slices, in one read */

typedef enum action {
  ACTION_NONE,
  ACTION_CANCEL,
  ACTION_CLOSE,
  ACTION_PAUSE,        /* and resumed when nothing else happens */
  ACTION_PAUSE_BRIEFLY /* and resumed at once */
} action;

enum { WITH_LENGTH, UNTIL_END, CHUNKED, FRAMINGS };

typedef struct story {
  tls_world t;
  fetch f;
  action action;
  size_t act_at; /* callback, from 1; 0: none */
  bool has_acted;
  bool is_over; /* cancelled or closed */
  bool is_paused;
  bool is_closed;
} story;

static char text[TEXT_BYTES + 1];
static packed framings[FRAMINGS];

static int set_up(void **state) {
  (void)state;
  for (size_t i = 0; i < TEXT_BYTES; i++) {
    text[i] = (char)('a' + i % 7 + i / 1000 % 9);
  }
  packed body = packed_make(text, TEXT_BYTES);
  framings[WITH_LENGTH] = packed_response(OK, &body);
  framings[UNTIL_END] = packed_response(OK "Connection: close\r\n", &body);
  packed chunk = packed_chunk(body.bytes, body.length);
  packed_add_bytes(&chunk, "0\r\n\r\n", 5);
  framings[CHUNKED] =
      packed_response(OK "Transfer-Encoding: chunked\r\n", &chunk);
  packed_finish(&chunk);
  packed_finish(&body);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  for (size_t i = 0; i < FRAMINGS; i++) {
    packed_finish(&framings[i]);
  }
  return 0;
}

static void on_closed(void *ctx) {
  ((story *)ctx)->is_closed = true;
}

static void act(story *s) {
  kin__exchange *exchange = s->f.exchange;
  s->has_acted = true;
  if (s->action == ACTION_CLOSE) {
    kin__transport_close(s->t.w.transport, on_closed, s);
    s->t.w.transport = NULL;
    s->is_over = true;
  } else if (exchange != NULL && s->action == ACTION_CANCEL) {
    kin__exchange_cancel(exchange);
    s->is_over = true;
  } else if (exchange != NULL && s->action != ACTION_NONE) {
    kin__exchange_pause(exchange);
    s->is_paused = s->action == ACTION_PAUSE;
    if (!s->is_paused) {
      kin__exchange_resume(exchange);
    }
  }
}

static void hook(fetch *f) {
  story *s = KIN__CONTAINER_OF(f, story, f);
  assert_false(s->is_over);
  if (f->callbacks == s->act_at) {
    act(s);
  }
}

/* While paused nothing may come, however long, unless the end does. */
static void rest(story *s) {
  size_t bodies = s->f.bodies;
  for (int i = 0; i < 20; i++) {
    world_run_tasks(&s->t.w);
    uv_run(&s->t.w.loop, UV_RUN_NOWAIT);
  }
  if (s->f.heads > 0) { /* before, it is the handshake's time */
    world_advance(&s->t.w, 2 * WORLD_RESPONSE_MS);
  }
  assert_int_equal(s->f.bodies, bodies);
  s->is_paused = false;
  if (s->f.exchange != NULL) {
    kin__exchange_resume(s->f.exchange);
  }
}

static void step(story *s) {
  if (s->is_paused) {
    rest(s);
  } else if (kin__sched_has_work(&s->t.w.sched)) {
    kin__sched_run(&s->t.w.sched, 0);
  } else {
    uv_run(&s->t.w.loop, UV_RUN_ONCE);
  }
}

typedef struct setting {
  int framing;
  tls_then then;
  int version;
  size_t record;
} setting;

static void check_result(const story *s, const setting *set) {
  if (set->framing == UNTIL_END && set->then == TLS_CUT) {
    assert_int_equal(s->f.error.code, KIN_EEOF);
    assert_non_null(strstr(s->f.error.message, "no close_notify"));
    return;
  }
  assert_int_equal(s->f.error.code, 0);
  assert_int_equal(s->f.body_length, TEXT_BYTES);
  assert_memory_equal(s->f.body, text, TEXT_BYTES);
}

/* Returns whether it came to the action. */
static bool run_story(const setting *set, action what, size_t act_at,
                      size_t steps) {
  const packed *response = &framings[set->framing];
  tls_reply reply = {response->bytes, response->length, set->then};
  story s = {.action = what, .act_at = act_at};
  tls_world_init(&s.t, &reply, 1, 0);
  s.t.serve.max_version = set->version;
  s.t.serve.record = set->record;
  assert_int_equal(tls_world_open(&s.t, "127.0.0.1"), 0);
  s.f.hook = hook;
  assert_int_equal(fetch_start(&s.f, &s.t.w, "/x", false), 0);
  for (size_t i = 0; !s.is_over && s.f.ends == 0; i++) {
    if (i == steps) {
      act(&s);
    } else {
      step(&s);
    }
  }
  if (s.f.ends > 0) {
    check_result(&s, set);
  }
  while (s.t.w.transport == NULL && !s.is_closed) {
    step(&s);
  }
  if (s.t.w.transport != NULL && set->then == TLS_NOTIFY && s.f.ends > 0) {
    WORLD_UNTIL(&s.t.w,
                kin__transport_get_stats(s.t.w.transport)->open_connections ==
                    0);
  }
  bool result = s.has_acted;
  fetch_finish(&s.f);
  tls_world_close(&s.t);
  return result;
}

/* In records of all kinds, whatever ends the response. */
static void test_gzip_tls_framings(void **state) {
  (void)state;
  static const size_t records[] = {0, 1, 17, 1000};
  for (int framing = 0; framing < FRAMINGS; framing++) {
    for (tls_then then = TLS_KEEP; then <= TLS_NOTIFY; then++) {
      bool never_ends = framing == UNTIL_END && then == TLS_KEEP;
      if (then == TLS_RESET || never_ends) {
        continue; /* what is lost by a reset is the kernel's to say */
      }
      for (size_t i = 0; i < sizeof records / sizeof *records; i++) {
        setting set = {framing, then, TLS1_3_VERSION, records[i]};
        run_story(&set, ACTION_NONE, 0, SIZE_MAX);
        set.version = TLS1_2_VERSION;
        run_story(&set, ACTION_NONE, 0, SIZE_MAX);
      }
    }
  }
}

/* The first has given its connection back by then, the second's has ended. */
static const setting sweeps[] = {{WITH_LENGTH, TLS_NOTIFY, 0, 0},
                                 {UNTIL_END, TLS_NOTIFY, 0, 0},
                                 {UNTIL_END, TLS_CUT, 0, 0}};

static void test_gzip_tls_ends_in_every_callback(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof sweeps / sizeof *sweeps; i++) {
    for (action what = ACTION_CANCEL; what <= ACTION_PAUSE_BRIEFLY; what++) {
      size_t k = 1;
      while (run_story(&sweeps[i], what, k, SIZE_MAX)) {
        k++;
        assert_true(k < 100);
      }
      assert_true(k > 2 + TEXT_BYTES / (16u << 10));
    }
  }
}

static void test_gzip_tls_ends_after_every_step(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof sweeps / sizeof *sweeps; i++) {
    for (action what = ACTION_CANCEL; what <= ACTION_PAUSE_BRIEFLY; what++) {
      size_t steps = 0;
      while (run_story(&sweeps[i], what, 0, steps)) {
        steps++;
        assert_true(steps < 1000);
      }
      assert_true(steps > 10);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_gzip_tls_framings),
      cmocka_unit_test(test_gzip_tls_ends_in_every_callback),
      cmocka_unit_test(test_gzip_tls_ends_after_every_step),
  };
  int failed = cmocka_run_group_tests(tests, set_up, tear_down);
  tls_pki_finish();
  return failed;
}
