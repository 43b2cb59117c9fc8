/* SPDX-License-Identifier: MIT */
/* Proves no row of its own, but that a compressed body (TR-07) can be cancelled
 * and its transport closed in every callback and after every step, paused and
 * resumed at every slice, and that each allocation may fail. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/packed.h"
#include "support/transport_world.h"

#define OK "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n"
#define TEXT_BYTES 100000u /* some slices, in one read */

typedef enum action {
  ACTION_NONE,
  ACTION_CANCEL,
  ACTION_CLOSE,
  ACTION_PAUSE,        /* and resumed when nothing else happens */
  ACTION_PAUSE_BRIEFLY /* and resumed at once */
} action;

typedef struct story {
  world w;
  fetch f;
  action action;
  size_t act_at; /* callback, from 1; 0: none */
  bool has_acted;
  bool is_over; /* cancelled or closed */
  bool is_paused;
  bool is_closed;
} story;

static char text[TEXT_BYTES + 1];
static packed framings[3];

static int set_up(void **state) {
  (void)state;
  for (size_t i = 0; i < TEXT_BYTES; i++) {
    text[i] = (char)('a' + i % 7 + i / 1000 % 9);
  }
  packed body = {NULL, 0};
  packed_add(&body, text, TEXT_BYTES, 30000);
  framings[0] = packed_response(OK, &body);
  framings[1] = packed_response(OK "Connection: close\r\n", &body);
  packed chunk = packed_chunk(body.bytes, body.length);
  packed_add_bytes(&chunk, "0\r\n\r\n", 5);
  framings[2] = packed_response(OK "Transfer-Encoding: chunked\r\n", &chunk);
  packed_finish(&chunk);
  packed_finish(&body);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  for (size_t i = 0; i < 3; i++) {
    packed_finish(&framings[i]);
  }
  return 0;
}

static void on_closed(void *ctx) {
  ((story *)ctx)->is_closed = true;
}

static void act(story *s) {
  s->has_acted = true;
  kin__exchange *exchange = s->f.exchange;
  switch (s->action) {
  case ACTION_CANCEL:
    if (exchange != NULL) {
      kin__exchange_cancel(exchange);
      s->is_over = true;
    }
    break;
  case ACTION_CLOSE:
    kin__transport_close(s->w.transport, on_closed, s);
    s->w.transport = NULL;
    s->is_over = true;
    break;
  case ACTION_PAUSE:
    if (exchange != NULL) {
      kin__exchange_pause(exchange);
      s->is_paused = true;
    }
    break;
  case ACTION_PAUSE_BRIEFLY:
    if (exchange != NULL) {
      kin__exchange_pause(exchange);
      kin__exchange_resume(exchange);
    }
    break;
  case ACTION_NONE:
    break;
  }
}

static void hook(fetch *f) {
  story *s = KIN__CONTAINER_OF(f, story, f);
  assert_false(s->is_over);
  if (f->callbacks == s->act_at) {
    act(s);
  }
}

/* While paused nothing may come, unless the end does. */
static void rest(story *s) {
  size_t bodies = s->f.bodies;
  for (int i = 0; i < 20; i++) {
    world_run_tasks(&s->w);
    uv_run(&s->w.loop, UV_RUN_NOWAIT);
  }
  world_advance(&s->w, 2 * WORLD_RESPONSE_MS);
  assert_int_equal(s->f.bodies, bodies);
  s->is_paused = false;
  if (s->f.exchange != NULL) {
    kin__exchange_resume(s->f.exchange);
  }
}

static void step(story *s) {
  if (s->is_paused) {
    rest(s);
  } else if (kin__sched_has_work(&s->w.sched)) {
    kin__sched_run(&s->w.sched, 0);
  } else {
    uv_run(&s->w.loop, UV_RUN_ONCE);
  }
}

/* Returns whether it came to the action. */
static bool run_story(const packed *response, action what, size_t act_at,
                      size_t steps, size_t fail_at) {
  bool ends = response == &framings[1];
  loop_reply reply = {.bytes = response->bytes,
                      .length = response->length,
                      .then = ends ? LOOP_CLOSE : LOOP_KEEP};
  story s = {.action = what, .act_at = act_at};
  world_init(&s.w, &reply, 1, fail_at);
  int err = world_open(&s.w);
  if (err == 0) {
    s.f.hook = hook;
    err = fetch_start(&s.f, &s.w, "/x", false);
  }
  assert_true(err == 0 || (err == KIN_ENOMEM && fail_at != 0));
  for (size_t i = 0; err == 0 && !s.is_over && s.f.ends == 0; i++) {
    if (i == steps) {
      act(&s);
    } else {
      step(&s);
    }
  }
  if (s.f.ends > 0 && s.f.error.code == 0) {
    assert_int_equal(s.f.body_length, TEXT_BYTES);
    assert_memory_equal(s.f.body, text, TEXT_BYTES);
  } else if (s.f.ends > 0) {
    assert_true(fail_alloc_has_failed(&s.w.memory));
    assert_int_equal(s.f.error.code, KIN_ENOMEM);
    assert_int_equal(s.f.error.error_class, KIN_CLASS_MEMORY);
  }
  while (s.w.transport == NULL && s.is_over && !s.is_closed) {
    step(&s);
  }
  bool result = fail_at != 0 ? fail_alloc_has_failed(&s.w.memory) : s.has_acted;
  fetch_finish(&s.f);
  world_close(&s.w);
  return result;
}

static void test_gzip_ends_in_every_callback(void **state) {
  (void)state;
  for (size_t i = 0; i < 3; i++) {
    for (action what = ACTION_CANCEL; what <= ACTION_PAUSE_BRIEFLY; what++) {
      size_t k = 1;
      while (run_story(&framings[i], what, k, SIZE_MAX, 0)) {
        k++;
        assert_true(k < 100);
      }
      assert_true(k > 2 + TEXT_BYTES / (16u << 10));
    }
  }
}

static void test_gzip_ends_after_every_step(void **state) {
  (void)state;
  for (size_t i = 0; i < 3; i++) {
    for (action what = ACTION_CANCEL; what <= ACTION_PAUSE_BRIEFLY; what++) {
      size_t steps = 0;
      while (run_story(&framings[i], what, 0, steps, 0)) {
        steps++;
        assert_true(steps < 1000);
      }
      assert_true(steps > 10);
    }
  }
}

static void test_gzip_ends_out_of_memory(void **state) {
  (void)state;
  for (size_t i = 0; i < 3; i++) {
    size_t n = 1;
    while (run_story(&framings[i], ACTION_NONE, 0, SIZE_MAX, n)) {
      n++;
      assert_true(n < 1000);
    }
    assert_true(n > 10);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_gzip_ends_in_every_callback),
      cmocka_unit_test(test_gzip_ends_after_every_step),
      cmocka_unit_test(test_gzip_ends_out_of_memory),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
