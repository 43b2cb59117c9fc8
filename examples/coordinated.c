/* SPDX-License-Identifier: MIT */

/* Of several copies of this program the server chooses the one that acts: of
 * those that are alive, the one with the lowest version. The API server needs
 * --feature-gates=CoordinatedLeaderElection=true and
 * --runtime-config=coordination.k8s.io/v1beta1=true.
 *
 *     kubectl proxy --port=8001 &
 *     coordinated http://127.0.0.1:8001 default/my-lease 1.30.0
 *
 * Start it twice, and kill the one that leads: the server notices that its lease
 * has expired, asks the candidates, and gives the lease to the other one.
 *
 * Two things matter. The name of the lease candidate is the identity of the
 * elector. On a signal the candidate is closed before the elector, so that the
 * copy does not answer for itself while it gives the lease back. */

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include <kin/leader_election.h>
#include <kin/lease_candidate.h>

typedef struct worker {
  kin_client *client;
  kin_leader_elector *elector;
  kin_lease_candidate *candidate;
  uv_signal_t signals[2];
  int status; /* of the process */
} worker;

static void on_elector_closed(void *data) {
  worker *w = data;
  printf("closed\n");
  uv_close((uv_handle_t *)&w->signals[0], NULL);
  uv_close((uv_handle_t *)&w->signals[1], NULL);
  kin_client_close(w->client, NULL, NULL);
}

static void on_candidate_closed(void *data) {
  worker *w = data;
  w->candidate = NULL; /* a second signal closes nothing */
  kin_leader_elector_close(w->elector, on_elector_closed, w);
}

static void on_started(kin_leader_elector *elector, void *data) {
  (void)data;
  printf("leading as %s\n", kin_leader_elector_identity(elector));
}

/* A copy that has lost the lease ends: nothing of its term is left then. */
static void on_stopped(kin_leader_elector *elector, const kin_leader_stop *stop,
                       void *data) {
  (void)elector;
  worker *w = data;
  printf("stopped: %s\n", stop->message);
  if (stop->code != 0) {
    w->status = 1;
    kin_lease_candidate_close(w->candidate, on_candidate_closed, w);
  }
}

static void on_error(kin_error_event *event, void *data) {
  (void)data;
  fprintf(stderr, "%s\n", event->message);
}

static void on_signal(uv_signal_t *handle, int number) {
  (void)number;
  worker *w = handle->data;
  kin_lease_candidate_close(w->candidate, on_candidate_closed, w);
}

static void watch_signals(uv_loop_t *loop, worker *w) {
  static const int numbers[] = {SIGINT, SIGTERM};
  for (int i = 0; i < 2; i++) {
    uv_signal_init(loop, &w->signals[i]);
    w->signals[i].data = w;
    uv_signal_start(&w->signals[i], on_signal, numbers[i]);
  }
}

static int open_elector(worker *w, const char *namespace_, const char *name) {
  kin_leader_elector_options options = KIN_LEADER_ELECTOR_OPTIONS_INIT;
  options.namespace_ = namespace_;
  options.name = name;
  options.coordinated = true;
  options.release_on_stop = true;
  options.on_started = on_started;
  options.on_stopped = on_stopped;
  options.on_error = on_error;
  options.data = w;
  int err = kin_leader_elector_open(&w->elector, w->client, &options);
  return err == 0 ? kin_leader_elector_start(w->elector) : err;
}

static int open_candidate(worker *w, const char *namespace_, const char *name,
                          const char *version) {
  kin_lease_candidate_options options = KIN_LEASE_CANDIDATE_OPTIONS_INIT;
  options.namespace_ = namespace_;
  options.name = kin_leader_elector_identity(w->elector);
  options.lease_name = name;
  options.binary_version = version;
  options.emulation_version = version;
  options.on_error = on_error;
  options.data = w;
  return kin_lease_candidate_open(&w->candidate, w->client, &options);
}

int main(int argc, char **argv) {
  char namespace_[254];
  const char *slash = argc > 3 ? strchr(argv[2], '/') : NULL;
  if (slash == NULL || (size_t)(slash - argv[2]) >= sizeof namespace_) {
    fprintf(stderr, "usage: coordinated SERVER NAMESPACE/LEASE VERSION\n");
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
    err = open_elector(&w, namespace_, slash + 1);
  }
  if (err == 0) {
    err = open_candidate(&w, namespace_, slash + 1, argv[3]);
  }
  if (err != 0) {
    fprintf(stderr, "coordinated: %s\n", kin_strerror(err));
    return 2;
  }
  watch_signals(loop, &w);
  uv_run(loop, UV_RUN_DEFAULT);
  uv_loop_close(loop);
  return w.status;
}
