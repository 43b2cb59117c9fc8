/* SPDX-License-Identifier: MIT */
#include "support/gzip_story.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "transport/net.h"

#define OK "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n"

static void on_closed(void *ctx) {
  ((gzip_story *)ctx)->is_closed = true;
}

static void act(gzip_story *s) {
  kin__exchange *exchange = s->f.exchange;
  gzip_action action = s->at.action;
  s->has_acted = true;
  if (action == GZIP_CLOSE) {
    kin__transport_close(s->w->transport, on_closed, s);
    s->w->transport = NULL;
    s->is_over = true;
  } else if (exchange != NULL && action == GZIP_CANCEL) {
    kin__exchange_cancel(exchange);
    s->is_over = true;
  } else if (exchange != NULL && action != GZIP_NONE) {
    kin__exchange_pause(exchange);
    s->is_paused = action == GZIP_PAUSE;
    if (!s->is_paused) {
      kin__exchange_resume(exchange);
    }
  }
}

static void hook(fetch *f) {
  gzip_story *s = KIN__CONTAINER_OF(f, gzip_story, f);
  assert_false(s->is_over);
  if (f->callbacks == s->at.callback) {
    act(s);
  }
}

/* While paused nothing may come, however long, unless the end does. */
static void rest(gzip_story *s) {
  size_t bodies = s->f.bodies;
  for (int i = 0; i < 20; i++) {
    world_run_tasks(s->w);
    uv_run(&s->w->loop, UV_RUN_NOWAIT);
  }
  if (s->f.heads > 0 || !s->has_handshake) {
    world_advance(s->w, 2 * WORLD_RESPONSE_MS);
  }
  assert_int_equal(s->f.bodies, bodies);
  s->is_paused = false;
  if (s->f.exchange != NULL) {
    kin__exchange_resume(s->f.exchange);
  }
}

static void step(gzip_story *s) {
  if (s->is_paused) {
    rest(s);
  } else if (kin__sched_has_work(&s->w->sched)) {
    kin__sched_run(&s->w->sched, 0);
  } else {
    uv_run(&s->w->loop, UV_RUN_ONCE);
  }
}

int gzip_story_run(gzip_story *s) {
  s->f.hook = hook;
  int err = fetch_start(&s->f, s->w, "/x", false);
  for (size_t i = 0; err == 0 && !s->is_over && s->f.ends == 0; i++) {
    if (i == s->at.steps) {
      act(s);
    } else {
      step(s);
    }
  }
  while (s->w->transport == NULL && !s->is_closed) {
    step(s);
  }
  return err;
}

void gzip_sweep_callbacks(bool (*run)(const void *ctx, gzip_moment at),
                          const void *ctx, size_t text_bytes) {
  for (gzip_action what = GZIP_CANCEL; what <= GZIP_PAUSE_BRIEFLY; what++) {
    size_t k = 1;
    while (run(ctx, (gzip_moment){what, k, SIZE_MAX})) {
      k++;
      assert_true(k < 100);
    }
    assert_true(k > 2 + text_bytes / (16u << 10));
  }
}

void gzip_sweep_steps(bool (*run)(const void *ctx, gzip_moment at),
                      const void *ctx) {
  for (gzip_action what = GZIP_CANCEL; what <= GZIP_PAUSE_BRIEFLY; what++) {
    size_t steps = 0;
    while (run(ctx, (gzip_moment){what, 0, steps})) {
      steps++;
      assert_true(steps < 1000);
    }
    assert_true(steps > 10);
  }
}

void gzip_fill(char *text, size_t size) {
  for (size_t i = 0; i < size; i++) {
    text[i] = (char)('a' + i % 7 + i / 1000 % 9);
  }
  text[size] = '\0';
}

void gzip_frame(packed framings[GZIP_FRAMINGS], const packed *body) {
  framings[GZIP_WITH_LENGTH] = packed_response(OK, body);
  framings[GZIP_UNTIL_END] = packed_response(OK "Connection: close\r\n", body);
  packed chunk = packed_chunk(body->bytes, body->length);
  packed_add_bytes(&chunk, "0\r\n\r\n", 5);
  framings[GZIP_CHUNKED] =
      packed_response(OK "Transfer-Encoding: chunked\r\n", &chunk);
  packed_finish(&chunk);
}

void gzip_free(packed framings[GZIP_FRAMINGS]) {
  for (size_t i = 0; i < GZIP_FRAMINGS; i++) {
    packed_finish(&framings[i]);
  }
}
