/* SPDX-License-Identifier: MIT */
#include "costs/world.h"

/* n pods have not been delivered to a paused listener. */
static void start_paused(cost_world *w, size_t n) {
  (void)cost_pod(n);
  cost_world_start(w, 0, 0);
  kin_listener_pause(w->listener);
  cost_world_put(w, 0, n);
  cost_world_run(w);
  cost_assert(kin_listener_pending(w->listener) == n);
}

static void listen_objects(size_t n) {
  cost_world w;
  cost_world_start(&w, 0, n);
  COST(cost_world_listen(&w));
  cost_world_finish(&w);
}

static void listen_listeners(size_t n) {
  cost_world w;
  cost_world_start(&w, 0, 4);
  for (size_t i = 0; i < n; i++) {
    cost_world_listen(&w);
  }
  COST_EACH(i, COST_CALLS, cost_world_listen(&w));
  cost_world_finish(&w);
}

static void close_pending(size_t n) {
  cost_world w;
  start_paused(&w, n);
  COST(kin_listener_close(w.listener));
  cost_world_finish(&w);
}

static void close_listeners(size_t n) {
  cost_world w;
  cost_world_start(&w, 0, 4);
  for (size_t i = 0; i < n; i++) {
    cost_world_listen(&w);
  }
  cost_world_run(&w);
  COST(kin_listener_close(w.listener));
  cost_world_finish(&w);
}

static void pause_and_resume(size_t n) {
  cost_world w;
  start_paused(&w, n);
  COST(kin_listener_resume(w.listener); kin_listener_pause(w.listener));
  cost_world_finish(&w);
}

static void has_synced(size_t n) {
  cost_world w;
  start_paused(&w, n);
  COST(cost_assert(kin_listener_has_synced(w.listener)));
  cost_world_finish(&w);
}

static void name(size_t n) {
  cost_world w;
  start_paused(&w, n);
  COST(cost_assert(kin_listener_name(w.listener)[0] != '\0'));
  cost_world_finish(&w);
}

static void pending(size_t n) {
  cost_world w;
  start_paused(&w, n);
  COST(cost_assert(kin_listener_pending(w.listener) == n));
  cost_world_finish(&w);
}

/* One event, from the source to the handler. */
static void event(size_t n) {
  cost_world w;
  (void)cost_pod(n + 1);
  cost_world_start(&w, 0, n);
  /* The first one may begin a segment of a table. */
  cost_world_put(&w, n, 1);
  cost_world_run(&w);
  size_t before = w.events;
  cost_world_put(&w, n + 1, 1);
  COST(cost_world_run(&w));
  cost_assert(w.events == before + 1);
  cost_world_finish(&w);
}

static void replay_steps(size_t n) {
  cost_world w;
  cost_world_start(&w, 0, n);
  size_t before = w.events;
  cost_world_listen(&w);
  cost_world_each_step(&w);
  cost_assert(w.events == before + n);
  cost_world_finish(&w);
}

static void close_steps(size_t n) {
  cost_world w;
  start_paused(&w, n);
  kin_listener_close(w.listener);
  cost_world_each_step(&w);
  cost_world_finish(&w);
}

#define PENDING "undelivered notifications"
const cost_row cost_rows_listener[] = {
    {"kin_informer_listen", "O(1)", "objects", COST_ONE, listen_objects},
    {"kin_informer_listen", "O(1)", "listeners", COST_ONE, listen_listeners},
    {"kin_informer_listen", NULL, "objects, each step of the replay", COST_ONE,
     replay_steps},
    {"kin_informer_listen", NULL, "objects, one event", COST_ONE, event},
    {"kin_listener_close", "O(1)", PENDING, COST_ONE, close_pending},
    {"kin_listener_close", "O(1)", "listeners", COST_ONE, close_listeners},
    {"kin_listener_close", NULL, PENDING ", each step after it", COST_ONE,
     close_steps},
    {"kin_listener_resume", NULL, PENDING, COST_ONE, pause_and_resume},
    {"kin_listener_has_synced", NULL, PENDING, COST_ONE, has_synced},
    {"kin_listener_name", NULL, PENDING, COST_ONE, name},
    {"kin_listener_pending", NULL, PENDING, COST_ONE, pending},
    {0},
};
