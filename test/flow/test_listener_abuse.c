/* SPDX-License-Identifier: MIT */

/* A handler cannot harm the others, whatever it does in a callback: it closes
 * itself, another, all, or the informer, adds one, pauses one. Each action in
 * each callback of a story, then random ones from every callback at once. What
 * must hold: who is closed hears nothing, who is open ends with the truth, and
 * every event is legal (the recorder looks). Closing the client is swept in
 * test_client.c. Proves SI-20, SI-23. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "base/str.h"
#include "support/informer_world.h"

#define PLACES 24

/* A place for a listener. `rec.data` is the stage. */
typedef struct member {
  recorder rec;
  bool is_open;
  bool is_paused;
} member;

typedef struct stage {
  iw_world w;
  member members[PLACES];
  kin__random random;
  int calls; /* of all members */
  bool is_closing;
  void (*act)(struct stage *stage, member *self);
  int act_at;
} stage;

/* One, because it is large. */
static stage s;

static void on_call(recorder *rec, kin_informer *informer) {
  member *self = KIN__CONTAINER_OF(rec, member, rec);
  (void)informer;
  assert_true(self->is_open && !self->is_paused);
  assert_int_equal(s.w.closed, 0);
  s.calls++;
  if (s.act != NULL && (s.act_at == 0 || s.calls == s.act_at)) {
    s.act(&s, self);
  }
}

static void add_member(size_t place) {
  member *m = &s.members[place];
  assert_false(m->is_open);
  recorder_init(&m->rec);
  m->rec.on_call = on_call;
  int err = recorder_listen(&m->rec, s.w.informer);
  assert_int_equal(m->rec.calls, 0); /* never inside the call */
  m->is_open = err == 0;
  m->is_paused = false;
  assert_int_equal(err, 0);
}

static void close_member(member *m) {
  assert_true(m->is_open);
  m->is_open = false;
  kin_listener_close(m->rec.listener);
}

static void pause_member(member *m, bool is_paused) {
  m->is_paused = is_paused;
  if (is_paused) {
    kin_listener_pause(m->rec.listener);
  } else {
    kin_listener_resume(m->rec.listener);
  }
}

/* Opens with so many listeners, besides the world's own, whom nobody
 * touches. */
static void begin(size_t listeners) {
  memset(&s, 0, sizeof s);
  iw_init(&s.w, 0);
  kin_informer_options options = iw_options(&s.w);
  iw_open_only(&s.w, &options);
  assert_int_equal(recorder_listen(&s.w.rec, s.w.informer), 0);
  for (size_t i = 0; i < listeners; i++) {
    add_member(i);
  }
}

static void assert_all_end_with_the_truth(void) {
  const kin_store *store = kin_informer_store(s.w.informer);
  for (int i = 0; i < PLACES; i++) {
    member *m = &s.members[i];
    if (m->is_open) {
      assert_int_equal(kin_listener_pending(m->rec.listener), 0);
      assert_true(kin_listener_has_synced(m->rec.listener));
      recorder_assert_folds_to(&m->rec, store);
    }
  }
}

/* --- One action in one callback ------------------------------------------- */

static size_t place_of(const member *self) {
  return (size_t)(self - s.members);
}

static void close_self(stage *st, member *self) {
  (void)st;
  close_member(self);
}

static void close_next(stage *st, member *self) {
  close_member(&st->members[(place_of(self) + 1) % 3]);
}

static void close_all(stage *st, member *self) {
  (void)self;
  for (size_t i = 0; i < 3; i++) {
    close_member(&st->members[i]);
  }
}

static void add_one(stage *st, member *self) {
  (void)st;
  (void)self;
  add_member(3);
}

static void replace_self(stage *st, member *self) {
  (void)st;
  close_member(self);
  add_member(3);
}

static void restart_next(stage *st, member *self) {
  member *next = &st->members[(place_of(self) + 1) % 3];
  pause_member(next, true);
  pause_member(next, false);
}

static void close_informer(stage *st, member *self) {
  (void)self;
  st->is_closing = true;
  assert_int_equal(kin_informer_close(st->w.informer, iw_on_closed, &st->w), 0);
  for (int i = 0; i < PLACES; i++) {
    st->members[i].is_open = false;
  }
}

static void run_story(void) {
  mini_server *server = &s.w.server;
  mini_put_first(server, 4);
  assert_int_equal(kin_informer_start(s.w.informer), 0);
  mini_serve(server);
  mini_put(server, 1);
  mini_recreate(server, 2);
  mini_delete(server, 3);
  mini_serve(server);
  mini_put(server, 5);
  mini_compact(server);
  mini_break_watches(server);
  mini_pass(server, 5000);
  mini_put(server, 5);
  mini_serve(server);
}

static void test_any_action_in_any_callback(void **state) {
  (void)state;
  static void (*const actions[])(stage *, member *) = {
      close_self,   close_next,   close_all,     add_one,
      replace_self, restart_next, close_informer};
  for (size_t i = 0; i < sizeof actions / sizeof actions[0]; i++) {
    bool was_done = true;
    for (int at = 1; was_done; at++) {
      begin(3);
      s.act = actions[i];
      s.act_at = at;
      run_story();
      was_done = s.calls >= at;
      assert_true(was_done || at > 30); /* the story is long enough */
      if (s.w.closed == 0) {
        iw_assert_truth(&s.w);
        assert_all_end_with_the_truth();
      } else {
        assert_int_equal(s.calls, at);
      }
      iw_finish(&s.w);
    }
  }
}

/* --- Everybody does something all the time -------------------------------- */

#define STEPS 120

static size_t below(size_t bound) {
  return (size_t)kin__random_below(&s.random, bound);
}

static void do_anything(stage *st, member *self) {
  member *other = &st->members[below(PLACES)];
  (void)self;
  switch (below(8)) {
  case 0:
  case 1:
    if (!other->is_open) {
      add_member(place_of(other));
    }
    break;
  case 2:
    if (other->is_open) {
      close_member(other);
    }
    break;
  case 3:
    if (other->is_open) {
      pause_member(other, !other->is_paused);
    }
    break;
  default:
    break;
  }
}

static void change_anything(void) {
  mini_server *server = &s.w.server;
  int object = (int)below(MINI_OBJECTS);
  if (server->versions[object] == 0 || below(2) == 0) {
    mini_put(server, object);
  } else if (below(3) == 0) {
    mini_recreate(server, object);
  } else {
    mini_delete(server, object);
  }
}

static void run_chaos(void) {
  assert_int_equal(kin_informer_start(s.w.informer), 0);
  for (int step = 0; step < STEPS && !s.is_closing; step++) {
    change_anything();
    if (below(3) == 0) {
      mini_serve(&s.w.server);
    }
    if (below(40) == 0) {
      mini_compact(&s.w.server);
      mini_break_watches(&s.w.server);
    }
    if (below(10) == 0 && !s.is_closing) {
      do_anything(&s, NULL);
      mini_pass(&s.w.server, 500);
    }
  }
}

/* client-go TestSharedInformerHandlerAbuse; SI-20, SI-23: handlers come and go
 * from inside all callbacks and from outside, while events flow. */
static void test_handlers_come_and_go(void **state) {
  (void)state;
  size_t most_open = 0;
  for (uint64_t seed = 1; seed <= 60; seed++) {
    begin(4);
    s.random.state = seed;
    s.act = do_anything;
    run_chaos();
    s.act = NULL;
    size_t open = 0;
    for (int i = 0; i < PLACES; i++) {
      if (s.members[i].is_open) {
        pause_member(&s.members[i], false);
        open++;
      }
    }
    most_open = open > most_open ? open : most_open;
    mini_pass(&s.w.server, 60000);
    iw_assert_truth(&s.w);
    assert_all_end_with_the_truth();
    iw_finish(&s.w);
  }
  assert_true(most_open > 8);
}

static int close_informer_at;

static void do_anything_then_close(stage *st, member *self) {
  do_anything(st, self);
  if (st->calls == close_informer_at) {
    close_informer(st, self);
  }
}

/* The same, and one of them closes the informer in the end. */
static void test_informer_is_closed_among_them(void **state) {
  (void)state;
  int was_closed = 0;
  for (uint64_t seed = 1; seed <= 60; seed++) {
    close_informer_at = (int)(seed * 7);
    begin(4);
    s.random.state = seed;
    s.act = do_anything_then_close;
    run_chaos();
    assert_true(s.calls <= close_informer_at);
    was_closed += s.is_closing;
    iw_finish(&s.w);
    assert_int_equal(s.w.closed, 1);
  }
  assert_true(was_closed > 40);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_any_action_in_any_callback),
      cmocka_unit_test(test_handlers_come_and_go),
      cmocka_unit_test(test_informer_is_closed_among_them),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
