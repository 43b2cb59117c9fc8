/* SPDX-License-Identifier: MIT */

/* test_handler_sweep.c's question put to clients on a real loop: two of them,
 * each with its server, an informer and two listeners. In each callback of the
 * first one, in turn, something is closed, added or opened; it may be the
 * client itself, or the other one. Who is still open in the end has been told
 * everything, close callbacks come once and children before their client
 * (SI-08, SI-18), nothing is called after its close (SI-09), and when the loop
 * has run dry nothing is left on it or in memory. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <kin/cache.h>
#include <kin/toolkit.h>

#include "support/answers.h"
#include "support/fail_alloc.h"
#include "support/loop_server.h"

/* The first server ends the connection in the middle of the watch. */
static const loop_reply first_replies[] = {
    {.bytes = ANSWER_LISTED, .then = LOOP_CLOSE},
    {.bytes = ANSWER_WATCHED, .then = LOOP_CLOSE}};
static const loop_reply second_replies[] = {
    {.bytes = ANSWER_LISTED, .then = LOOP_CLOSE}, {.bytes = ANSWER_WATCHED}};

enum { LISTENERS = 2, ADDED = 2, MAX_LISTENERS = 3 };

typedef enum action {
  NOTHING,
  CLOSE_CLIENT,
  CLOSE_INFORMER,
  CLOSE_INFORMER_AND_CLIENT,
  CLOSE_OTHER_CLIENT,
  CLOSE_BOTH_CLIENTS,
  CLOSE_SELF,
  CLOSE_NEIGHBOUR,
  ADD_LISTENER,
  OPEN_INFORMER,
  OPEN_INFORMER_AND_CLOSE_CLIENT,
  UNREF_AND_REF,
  ACTIONS
} action;

typedef struct side side;

typedef struct ear {
  side *side;
  kin_listener *listener;
  bool is_open;
  int adds;
  int synced;
  int deletes;
} ear;

/* A client and all that belongs to it. */
struct side {
  loop_server server;
  kin_client *client;
  kin_informer *informer;
  ear ears[MAX_LISTENERS];
  kin_informer *extra; /* opened by an action */
  int errors;
  bool is_client_closing;
  bool is_informer_closing;
  int clients_closed;
  int informers_closed;
  int extras_closed;
};

static struct {
  fail_alloc memory;
  uv_loop_t loop;
  side sides[2];
  action action;
  int act_at;
  int calls; /* of the first side */
  bool has_acted;
} s;

/* --- Closing -------------------------------------------------------------- */

static void on_client_closed(void *data) {
  side *x = data;
  assert_int_equal(x->informers_closed, 1); /* children first */
  assert_int_equal(x->extras_closed, x->extra != NULL);
  x->clients_closed++;
}

static void on_informer_closed(void *data) {
  side *x = data;
  assert_int_equal(x->clients_closed, 0);
  x->informers_closed++;
}

static void on_extra_closed(void *data) {
  ((side *)data)->extras_closed++;
}

static void close_client(side *x) {
  int expected = x->is_client_closing ? KIN_EALREADY : 0;
  if (x->clients_closed == 0) {
    assert_int_equal(kin_client_close(x->client, on_client_closed, x),
                     expected);
    x->is_client_closing = true;
  }
}

static void close_informer(side *x) {
  bool is_closing = x->is_informer_closing || x->is_client_closing;
  if (x->informers_closed == 0) {
    assert_int_equal(kin_informer_close(x->informer, NULL, NULL),
                     is_closing ? KIN_EALREADY : 0);
    x->is_informer_closing = true;
  }
}

static bool is_open(const side *x) {
  return !x->is_client_closing && !x->is_informer_closing;
}

/* --- Actions -------------------------------------------------------------- */

static void on_event(kin_informer *informer, const kin_event *event,
                     void *data);

static void add_listener(side *x, int i) {
  ear *e = &x->ears[i];
  kin_listener_options options = KIN_LISTENER_OPTIONS_INIT;
  options.on_add = options.on_update = options.on_delete = on_event;
  options.on_synced = options.on_relisted = on_event;
  options.data = e;
  *e = (ear){.side = x, .is_open = true};
  assert_int_equal(kin_informer_listen(x->informer, &options, &e->listener), 0);
}

static void close_listener(ear *e) {
  e->is_open = false;
  kin_listener_close(e->listener);
}

static void open_extra(side *x) {
  kin_informer_options options = KIN_INFORMER_OPTIONS_INIT;
  options.plural = "nodes";
  options.on_closed = on_extra_closed;
  options.data = x;
  assert_int_equal(kin_informer_open(&x->extra, x->client, &options), 0);
  assert_int_equal(kin_informer_start(x->extra), 0);
}

/* `self` is the listener that is called, the first one for on_error and
 * on_state. */
static void act(side *x, ear *self) {
  ear *neighbour = &x->ears[self == &x->ears[0] ? 1 : 0];
  switch (s.action) {
  case CLOSE_CLIENT:
    close_client(x);
    close_client(x);
    close_informer(x);
    break;
  case CLOSE_INFORMER:
    close_informer(x);
    break;
  case CLOSE_INFORMER_AND_CLIENT:
    close_informer(x);
    close_client(x);
    break;
  case CLOSE_OTHER_CLIENT:
    close_client(&s.sides[1]);
    break;
  case CLOSE_BOTH_CLIENTS:
    close_client(&s.sides[1]);
    close_client(x);
    break;
  case CLOSE_SELF:
    close_listener(self);
    break;
  case CLOSE_NEIGHBOUR:
    close_listener(neighbour);
    break;
  case ADD_LISTENER:
    add_listener(x, ADDED);
    break;
  case OPEN_INFORMER:
    open_extra(x);
    break;
  case OPEN_INFORMER_AND_CLOSE_CLIENT:
    open_extra(x);
    close_client(x);
    break;
  case UNREF_AND_REF:
    kin_client_unref(x->client);
    kin_client_ref(x->client);
    break;
  default:
    break;
  }
}

/* --- Callbacks ------------------------------------------------------------ */

static void count(side *x, ear *self) {
  assert_true(is_open(x));
  if (x == &s.sides[0] && ++s.calls == s.act_at) {
    s.has_acted = true;
    act(x, self);
  }
}

static void on_event(kin_informer *informer, const kin_event *event,
                     void *data) {
  ear *e = data;
  assert_ptr_equal(informer, e->side->informer);
  assert_true(e->is_open);
  e->adds += event->type == KIN_EVENT_ADD;
  e->synced += event->type == KIN_EVENT_SYNCED;
  e->deletes += event->type == KIN_EVENT_DELETE;
  count(e->side, e);
}

static void on_error(kin_informer *informer, kin_error_event *event,
                     void *data) {
  side *x = data;
  (void)informer;
  assert_true(event->code < 0);
  x->errors++;
  count(x, &x->ears[0]);
}

static void on_state(kin_informer *informer, const char *namespace_,
                     kin_state from, kin_state to, void *data) {
  side *x = data;
  (void)informer;
  (void)namespace_;
  assert_int_not_equal(from, to);
  count(x, &x->ears[0]);
}

/* --- The story ------------------------------------------------------------ */

static void open_side(side *x, const loop_reply *replies) {
  loop_server_open(&x->server, &s.loop, replies, 2);
  kin_client_options client = KIN_CLIENT_OPTIONS_INIT;
  client.server = x->server.url;
  client.allocator = &s.memory.allocator;
  client.seed = 1;
  assert_int_equal(kin_client_open(&x->client, &s.loop, &client), 0);
  kin_informer_options informer = KIN_INFORMER_OPTIONS_INIT;
  informer.plural = "pods";
  informer.no_watch_list = true; /* the servers know lists only */
  informer.on_error = on_error;
  informer.on_state = on_state;
  informer.on_closed = on_informer_closed;
  informer.data = x;
  assert_int_equal(kin_informer_open(&x->informer, x->client, &informer), 0);
  for (int i = 0; i < LISTENERS; i++) {
    add_listener(x, i);
  }
  assert_int_equal(kin_informer_start(x->informer), 0);
}

/* Whether an open listener has heard it all; one that was added late may have
 * joined after the delete. */
static bool is_told(const side *x, int i) {
  const ear *e = &x->ears[i];
  bool is_complete = e->synced == 1 && e->adds - e->deletes == 1;
  return e->side == NULL || !e->is_open ||
         (is_complete && (i == ADDED || e->deletes == 1));
}

static bool is_over(const side *x, bool has_error) {
  if (!is_open(x)) {
    return (!x->is_client_closing || x->clients_closed == 1) &&
           x->informers_closed == 1;
  }
  bool is_over = !has_error || x->errors > 0;
  for (int i = 0; i < MAX_LISTENERS; i++) {
    is_over = is_over && is_told(x, i);
  }
  return is_over;
}

static void tell(action what, int at) {
  memset(&s, 0, sizeof s);
  s.action = what;
  s.act_at = at;
  fail_alloc_init(&s.memory, 0);
  assert_int_equal(uv_loop_init(&s.loop), 0);
  open_side(&s.sides[0], first_replies);
  open_side(&s.sides[1], second_replies);
  while (!is_over(&s.sides[0], true) || !is_over(&s.sides[1], false)) {
    uv_run(&s.loop, UV_RUN_ONCE);
  }
}

static void finish(void) {
  for (int i = 0; i < 2; i++) {
    side *x = &s.sides[i];
    close_client(x);
    loop_server_close(&x->server);
  }
  uv_run(&s.loop, UV_RUN_DEFAULT);
  assert_int_equal(uv_loop_close(&s.loop), 0);
  for (int i = 0; i < 2; i++) {
    assert_int_equal(s.sides[i].clients_closed, 1);
    assert_int_equal(s.sides[i].informers_closed, 1);
  }
  assert_int_equal(atomic_load(&s.memory.live_blocks), 0);
}

static void test_every_action_in_every_callback(void **state) {
  (void)state;
  tell(NOTHING, 0);
  int calls = s.calls;
  finish();
  assert_true(calls >= 11); /* 8 events, 3 states or more, and an error */
  for (int what = NOTHING + 1; what < ACTIONS; what++) {
    for (int at = 1; at <= calls; at++) {
      tell((action)what, at);
      assert_true(s.has_acted);
      finish();
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_action_in_every_callback),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
