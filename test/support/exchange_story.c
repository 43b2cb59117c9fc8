/* SPDX-License-Identifier: MIT */
#include "support/exchange_story.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <kin/error.h>

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
  const story_world *on;
  world *w;
  fetch fetches[FETCHES];
  bool is_cancelled[FETCHES];
  size_t callbacks;
  size_t act_at; /* callback, from 1 */
  action action;
  bool has_acted;
  bool is_closed;
} story;

/* A hook is given its exchange only. */
static story *current;

static void on_closed(void *ctx) {
  story *s = ctx;
  assert_false(s->is_closed);
  s->is_closed = true;
}

static void hook(fetch *f);

static void begin(story *s, size_t i, bool is_watch) {
  fetch *f = &s->fetches[i];
  f->hook = hook;
  int err = fetch_start(f, s->w, "/x", is_watch);
  if (err != 0) {
    assert_int_equal(err, KIN_ENOMEM);
    assert_true(fail_alloc_has_failed(&s->w->memory));
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
    kin__transport_close(s->w->transport, on_closed, s);
    s->w->transport = NULL;
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
  story *s = current;
  size_t i = (size_t)(f - s->fetches);
  assert_false(s->is_cancelled[i]);
  if (++s->callbacks == s->act_at) {
    act(s, i);
  }
  if (i == FIRST && f->ends > 0 && s->w->transport != NULL) {
    begin(s, NEXT, false);
  }
}

static bool is_over(const story *s, size_t i) {
  const fetch *f = &s->fetches[i];
  return s->is_cancelled[i] || f->ends > 0;
}

static bool are_all_over(const story *s) {
  bool has_next = s->fetches[FIRST].ends > 0 && s->w->transport != NULL;
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
    assert_true(fail_alloc_has_failed(&s->w->memory));
    assert_int_equal(f->error.code, KIN_ENOMEM);
    assert_int_equal(f->error.error_class, KIN_CLASS_MEMORY);
  }
  if (s->on->check != NULL) {
    s->on->check(f);
  }
  fetch_finish(f);
}

static int open_story(story *s, const story_world *on, size_t fail_at,
                      bool keeps_failing) {
  int err;
  *s = (story){.on = on, .w = on->open(fail_at, keeps_failing, &err)};
  current = s;
  return err;
}

/* The smallest piece of progress: one task, or one turn of the loop. */
static void step(story *s) {
  if (kin__sched_has_work(&s->w->sched)) {
    kin__sched_run(&s->w->sched, 0);
  } else {
    uv_run(&s->w->loop, UV_RUN_ONCE);
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
  s->on->close();
}

/* Acts in callback `act_at`, if there is one, and after `steps` steps. Returns
 * whether it came to that. */
static bool run_story(const story_world *on, action what, size_t act_at,
                      size_t steps) {
  story s;
  assert_int_equal(open_story(&s, on, 0, false), 0);
  s.action = what;
  s.act_at = act_at;
  begin(&s, FIRST, false);
  begin(&s, WATCH, true);
  for (size_t i = 0; !are_all_over(&s); i++) {
    if (i == steps && s.w->transport != NULL) {
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

void story_sweep_callbacks(const story_world *on, size_t least) {
  for (action what = ACTION_NONE; what <= ACTION_START; what++) {
    size_t k = 1;
    while (run_story(on, what, k, NO_STEPS)) {
      k++;
      assert_true(k < 1000);
    }
    assert_true(k > least);
  }
}

void story_sweep_steps(const story_world *on, size_t least) {
  for (action what = ACTION_CANCEL_SELF; what <= ACTION_START; what++) {
    size_t steps = 0;
    while (run_story(on, what, 0, steps)) {
      steps++;
      assert_true(steps < 1000);
    }
    assert_true(steps > least);
  }
}

static bool fail_story(const story_world *on, size_t fail_at,
                       bool keeps_failing) {
  story s;
  int err = open_story(&s, on, fail_at, keeps_failing);
  if (err == 0) {
    begin(&s, FIRST, false);
    begin(&s, WATCH, true);
    while (!are_all_over(&s)) {
      step(&s);
    }
  } else {
    assert_int_equal(err, KIN_ENOMEM);
    assert_null(s.w->transport);
  }
  bool has_failed = fail_alloc_has_failed(&s.w->memory);
  close_story(&s);
  return has_failed;
}

void story_sweep_allocations(const story_world *on, size_t least) {
  for (int keeps_failing = 0; keeps_failing < 2; keeps_failing++) {
    size_t n = 1;
    while (fail_story(on, n, keeps_failing)) {
      n++;
      assert_true(n < 1000);
    }
    assert_true(n > least);
  }
}
