/* SPDX-License-Identifier: MIT */

/* A server that was away for long, and how soon and how gently everybody is
 * back. Proves OQ-06, RF-05, RF-06. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <uv.h>

#include "informer/informer.h"
#include "support/virtual_host.h"

#define MANY 200
#define OUTAGE_S 600u
#define STEP_MS 20u

/* How the server is away, and what comes of what. */
typedef struct away {
  int status; /* 0: there is no answer */
  int code;
  kin_error_class error_class;
  bool before_the_list; /* away from the beginning */
  uint32_t back_in_s;   /* everybody is LIVE, so long after it is back */
} away;

/* A server that answers everything at once, or nothing. */
typedef struct client {
  kin_informer *informer;
  kin_feed *feed;
  bool is_asked; /* an answer is due */
  bool is_watch;
  bool is_open; /* a watch */
  uint64_t attempts;
} client;

typedef struct world {
  virtual_host vh;
  const away *why;
  bool is_away;
  size_t count;
  client *clients;
} world;

static int on_open(void *ctx, const kin_feed_request *request, kin_feed *feed,
                   void **out) {
  client *c = ctx;
  c->feed = feed;
  c->is_asked = true;
  c->is_watch = request->is_watch;
  c->attempts++;
  *out = c;
  return 0;
}

static void on_cancel(void *ctx, void *answer) {
  client *c = ctx;
  (void)answer;
  c->is_asked = false;
  c->is_open = false;
}

static void refuse(world *w, client *c) {
  kin_feed_error error = KIN_FEED_ERROR_INIT;
  error.status = w->why->status;
  error.code = w->why->code;
  error.error_class = w->why->error_class;
  c->is_open = false;
  (void)kin_feed_fail(c->feed, &error, false);
}

static void answer(world *w, client *c) {
  c->is_asked = false;
  if (w->is_away) {
    refuse(w, c);
  } else if (c->is_watch) {
    c->is_open = true;
    (void)kin_feed_open(c->feed);
  } else {
    (void)kin_feed_list_end(c->feed, "5", "");
  }
}

static void pass(world *w, uint64_t ms) {
  for (uint64_t i = 0; i < ms / STEP_MS; i++) {
    for (size_t n = 0; n < w->count; n++) {
      while (w->clients[n].is_asked) {
        answer(w, &w->clients[n]);
        script_run(&w->vh.script);
      }
    }
    script_advance(&w->vh.script, STEP_MS);
  }
}

static void open_world(world *w, size_t count, const away *why) {
  memset(w, 0, sizeof *w);
  vh_init(&w->vh, 0);
  w->vh.log.level = KIN_LOG_ERROR;
  w->why = why;
  w->count = count;
  w->clients = calloc(count, sizeof *w->clients);
  assert_non_null(w->clients);
  for (size_t n = 0; n < count; n++) {
    kin_lister_watcher source = KIN_LISTER_WATCHER_INIT;
    source.open = on_open;
    source.cancel = on_cancel;
    source.ctx = &w->clients[n];
    kin_informer_options options = KIN_INFORMER_OPTIONS_INIT;
    options.plural = "pods";
    options.source = &source;
    assert_int_equal(
        kin__informer_open_on(&w->clients[n].informer, &w->vh.host, &options),
        0);
    assert_int_equal(kin_informer_start(w->clients[n].informer), 0);
  }
  script_run(&w->vh.script);
}

static size_t count_live(const world *w) {
  size_t live = 0;
  for (size_t n = 0; n < w->count; n++) {
    kin_status status = KIN_STATUS_INIT;
    assert_int_equal(
        kin_informer_get_status(w->clients[n].informer, "", &status), 0);
    live += status.state == KIN_STATE_LIVE;
  }
  return live;
}

static uint64_t count_attempts(const world *w) {
  uint64_t attempts = 0;
  for (size_t n = 0; n < w->count; n++) {
    attempts += w->clients[n].attempts;
  }
  return attempts;
}

static void go_away(world *w) {
  w->is_away = true;
  for (size_t n = 0; n < w->count; n++) {
    if (w->clients[n].is_open) {
      refuse(w, &w->clients[n]);
    }
  }
}

/* In no second more requests than there would be if each of `count` waited half
 * of the longest wait, but for the first few. */
static void stay_away(world *w) {
  for (unsigned second = 0; second < OUTAGE_S; second++) {
    uint64_t before = count_attempts(w);
    pass(w, 1000);
    uint64_t attempts = count_attempts(w) - before;
    assert_true(second % 120 < 6 || attempts <= w->count * 3 / 4 + 1);
  }
}

static void check(size_t count, const away *why) {
  world w;
  open_world(&w, count, why);
  if (!why->before_the_list) {
    pass(&w, 2000);
    assert_int_equal(count_live(&w), count);
  }
  go_away(&w);
  stay_away(&w);
  assert_int_equal(count_live(&w), 0);
  w.is_away = false;
  pass(&w, why->back_in_s * 1000u);
  assert_int_equal(count_live(&w), count);
  vh_finish(&w.vh);
  free(w.clients);
}

static const away ways[] = {
    {0, UV_ECONNREFUSED, KIN_CLASS_CONNECT, false, 5},
    {0, UV_ECONNREFUSED, KIN_CLASS_CONNECT, true, 5},
    {0, KIN_ERESOLVE, KIN_CLASS_DNS, false, 5},
    {0, KIN_ERESOLVE, KIN_CLASS_DNS, true, 5},
    {0, KIN_ETLS, KIN_CLASS_TLS, false, 5},
    {0, KIN_ETIMEDOUT, KIN_CLASS_PROTOCOL, false, 5},
    {500, 0, KIN_CLASS_NONE, false, 5},
    {503, 0, KIN_CLASS_NONE, false, 5},
    {404, 0, KIN_CLASS_NONE, false, 10},
    {404, 0, KIN_CLASS_NONE, true, 10},
    {403, 0, KIN_CLASS_NONE, false, 10},
    {401, 0, KIN_CLASS_NONE, false, 10},
    {403, 0, KIN_CLASS_NONE, true, 60}, /* it may never be let in */
    {503, 0, KIN_CLASS_NONE, true, 60}, /* a list that is refused is dear */
    {429, 0, KIN_CLASS_NONE, false, 60},
};

/* Ten minutes, with as many seeds. */
static void test_one(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
    check(1, &ways[i]);
  }
}

static void test_many(void **state) {
  (void)state;
  check(MANY, &ways[0]);
  check(MANY, &ways[1]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_one),
      cmocka_unit_test(test_many),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
