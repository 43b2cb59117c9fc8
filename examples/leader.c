/* SPDX-License-Identifier: MIT */

/* Of several copies of this program one acts, here by printing a line each
 * second; the others wait.
 *
 *     kubectl proxy --port=8001 &
 *     leader http://127.0.0.1:8001 default/my-lease
 *
 * Start it twice, and stop the one that leads with Ctrl-C: the other one takes
 * over within seconds, because the lease is released. After kill -9 it takes
 * over when the lease has expired.
 *
 * What to look at: each deed asks kin_leader_elector_is_leader() again, because
 * the machine may have been suspended since the last one. On a signal the
 * elector is closed first, and the client in its close callback: a client that
 * closes sends nothing. */

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include <kin/leader_election.h>

typedef struct worker {
  kin_client *client;
  kin_leader_elector *elector;
  uv_timer_t work;
  uv_signal_t signals[2];
  int status; /* of the process */
} worker;

static void on_work(uv_timer_t *timer) {
  worker *w = timer->data;
  if (kin_leader_elector_is_leader(w->elector)) {
    printf("working\n");
  }
}

static void on_started(kin_leader_elector *elector, void *data) {
  worker *w = data;
  printf("leading as %s\n", kin_leader_elector_identity(elector));
  uv_timer_start(&w->work, on_work, 0, 1000);
}

static void on_elector_closed(void *data) {
  worker *w = data;
  printf("closed\n");
  uv_close((uv_handle_t *)&w->work, NULL);
  uv_close((uv_handle_t *)&w->signals[0], NULL);
  uv_close((uv_handle_t *)&w->signals[1], NULL);
  kin_client_close(w->client, NULL, NULL);
}

/* All work is over when this returns, so the lease may be released. A copy that
 * has lost the lease ends: nothing of its term is left then. */
static void on_stopped(kin_leader_elector *elector, const kin_leader_stop *stop,
                       void *data) {
  worker *w = data;
  uv_timer_stop(&w->work);
  printf("stopped: %s\n", stop->message);
  if (stop->code != 0) {
    w->status = 1;
    kin_leader_elector_close(elector, on_elector_closed, w);
  }
}

static void on_new_leader(kin_leader_elector *elector, kin_str identity,
                          void *data) {
  (void)elector;
  (void)data;
  if (identity.length > 0) {
    printf("the leader is " KIN_STR_FORMAT "\n", KIN_STR_ARG(identity));
  }
}

static void on_error(kin_error_event *event, void *data) {
  (void)data;
  fprintf(stderr, "%s\n", event->message);
}

static void on_signal(uv_signal_t *handle, int number) {
  (void)number;
  worker *w = handle->data;
  kin_leader_elector_close(w->elector, on_elector_closed, w);
}

static void watch_signals(uv_loop_t *loop, worker *w) {
  static const int numbers[] = {SIGINT, SIGTERM};
  for (int i = 0; i < 2; i++) {
    uv_signal_init(loop, &w->signals[i]);
    w->signals[i].data = w;
    uv_signal_start(&w->signals[i], on_signal, numbers[i]);
  }
}

static int compete(worker *w, const char *namespace_, const char *name) {
  kin_leader_elector_options options = KIN_LEADER_ELECTOR_OPTIONS_INIT;
  options.namespace_ = namespace_;
  options.name = name;
  options.release_on_stop = true;
  options.on_started = on_started;
  options.on_stopped = on_stopped;
  options.on_new_leader = on_new_leader;
  options.on_error = on_error;
  options.data = w;
  int err = kin_leader_elector_open(&w->elector, w->client, &options);
  return err == 0 ? kin_leader_elector_start(w->elector) : err;
}

int main(int argc, char **argv) {
  char namespace_[254];
  const char *slash = argc > 2 ? strchr(argv[2], '/') : NULL;
  if (slash == NULL || (size_t)(slash - argv[2]) >= sizeof namespace_) {
    fprintf(stderr, "usage: leader SERVER NAMESPACE/NAME\n");
    return 2;
  }
  snprintf(namespace_, sizeof namespace_, "%.*s", (int)(slash - argv[2]),
           argv[2]);
  setvbuf(stdout, NULL, _IOLBF, 0);
  uv_loop_t *loop = uv_default_loop();
  worker w = {.status = 0};

  kin_client_options co = KIN_CLIENT_OPTIONS_INIT;
  co.server = argv[1];
  int err = kin_client_open(&w.client, loop, &co);
  if (err == 0) {
    err = compete(&w, namespace_, slash + 1);
  }
  if (err != 0) {
    fprintf(stderr, "leader: %s\n", kin_strerror(err));
    return 2;
  }
  uv_timer_init(loop, &w.work);
  w.work.data = &w;
  watch_signals(loop, &w);
  uv_run(loop, UV_RUN_DEFAULT);
  uv_loop_close(loop);
  return w.status;
}
