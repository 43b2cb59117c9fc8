/* SPDX-License-Identifier: MIT */

/* Usage: LD_PRELOAD=libfail_malloc.so oom_probe URL CA_FILE [STEP]
 *
 * Opens a client over TLS, syncs an informer and closes everything, again and
 * again; in round n the n-th allocation of the whole process fails. Each round
 * must either refuse to open, or sync all the same after its retries; none may
 * crash, hang, or leave a handle on the loop. Ends when a round needs fewer
 * allocations. STEP leaves rounds out: 1, 1 + STEP, ... */

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kin/kin.h>

#define MAX_ROUND_MS 10000u

typedef struct round_state {
  kin_client *client;
  uv_timer_t watchdog;
  bool is_synced;
  bool is_late;
  int errors;
} round_state;

static void (*arm)(long calls);
static long (*left)(void);

static void on_timer_closed(uv_handle_t *handle) {
  (void)handle;
}

static bool was_reached;

static void disarm(void) {
  was_reached = left() <= 0;
  arm(0);
}

static void finish(round_state *r) {
  disarm();
  uv_close((uv_handle_t *)&r->watchdog, on_timer_closed);
  (void)kin_client_close(r->client, NULL, NULL);
}

static void on_synced(kin_informer *informer, const kin_event *event,
                      void *data) {
  round_state *r = data;
  (void)informer;
  (void)event;
  r->is_synced = true;
  finish(r);
}

static void on_error(kin_informer *informer, kin_error_event *event,
                     void *data) {
  (void)informer;
  ((round_state *)data)->errors++;
  event->answer = KIN_RETRY_AFTER;
  event->retry_after_ms = 1;
}

static void on_watchdog(uv_timer_t *timer) {
  round_state *r = timer->data;
  r->is_late = true;
  finish(r);
}

static int open_all(round_state *r, uv_loop_t *loop, char **argv) {
  kin_client_options co = KIN_CLIENT_OPTIONS_INIT;
  co.server = argv[1];
  co.certificate_authority_file = argv[2];
  co.seed = 1;
  kin_informer_options io = KIN_INFORMER_OPTIONS_INIT;
  io.plural = "pods";
  io.on_error = on_error;
  io.data = r;
  kin_listener_options lo = KIN_LISTENER_OPTIONS_INIT;
  lo.on_synced = on_synced;
  lo.data = r;
  kin_informer *informer;
  int err = kin_client_open(&r->client, loop, &co);
  if (err != 0) {
    return err;
  }
  err = kin_informer_open(&informer, r->client, &io);
  if (err == 0) {
    err = kin_informer_listen(informer, &lo, NULL);
  }
  return err == 0 ? kin_informer_start(informer) : err;
}

static const char *run_round(long n, char **argv) {
  uv_loop_t loop;
  round_state r = {0};
  if (uv_loop_init(&loop) != 0) {
    return "no loop";
  }
  uv_timer_init(&loop, &r.watchdog);
  r.watchdog.data = &r;
  uv_timer_start(&r.watchdog, on_watchdog, MAX_ROUND_MS, 0);
  arm(n);
  int err = open_all(&r, &loop, argv);
  if (err != 0) {
    disarm();
    uv_close((uv_handle_t *)&r.watchdog, on_timer_closed);
    if (r.client != NULL) {
      (void)kin_client_close(r.client, NULL, NULL);
    }
  }
  uv_run(&loop, UV_RUN_DEFAULT);
  if (uv_loop_close(&loop) != 0) {
    return "something is left on the loop";
  }
  if (r.is_late) {
    return "not synced in time";
  }
  return err != 0 || r.is_synced ? NULL : "neither refused nor synced";
}

int main(int argc, char **argv) {
  *(void **)&arm = dlsym(RTLD_DEFAULT, "fail_malloc_arm");
  *(void **)&left = dlsym(RTLD_DEFAULT, "fail_malloc_left");
  if (argc < 3 || arm == NULL || left == NULL) {
    fprintf(stderr, "usage: LD_PRELOAD=libfail_malloc.so oom_probe URL CA\n");
    return 2;
  }
  long step = argc > 3 && atol(argv[3]) > 0 ? atol(argv[3]) : 1;
  const char *problem = run_round(0, argv); /* what is made only once */
  long n = 1;
  for (; problem == NULL; n += step) {
    problem = run_round(n, argv);
    if (problem == NULL && !was_reached) {
      break;
    }
  }
  if (problem != NULL) {
    printf("round %ld: %s\n", n, problem);
    return 1;
  }
  printf("%ld allocations, each %ld\n", n - 1, step);
  return 0;
}
