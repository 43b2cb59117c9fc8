/* SPDX-License-Identifier: MIT */
/* kin-apisim: a simulated Kubernetes API server.
 *
 * It serves the list and watch protocol of a real API server, as recorded from
 * one, over HTTP/1.1 on the loopback interface, plain or with TLS: for tests,
 * the demo and benchmarks, and for anybody who tests an informer. It keeps
 * everything in memory, on one loop, and can be told to misbehave.
 * doc/kin-apisim.md is its manual.
 *
 * The server has no admission, no validation beyond names, no protobuf and no
 * HTTP/2, on purpose. */

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "options.h"
#include "sim.h"
#include "watch.h"
#include "write.h"

typedef struct program {
  struct sim sim;
  options opts;
  uv_loop_t loop;
  uv_signal_t on_int, on_term;
  uv_timer_t run_for;
  bool ending;
} program;

static void end(program *p) {
  if (p->ending) {
    return;
  }
  p->ending = true;
  server_close(&p->sim.server);
  churn_close(&p->sim.churn);
  replay_close(p->sim.replay);
  uv_close((uv_handle_t *)&p->on_int, NULL);
  uv_close((uv_handle_t *)&p->on_term, NULL);
  uv_close((uv_handle_t *)&p->run_for, NULL);
}

static void on_signal(uv_signal_t *handle, int number) {
  (void)number;
  end(handle->data);
}

static void on_run_for(uv_timer_t *timer) {
  end(timer->data);
}

static void seed_streams(struct sim *s, uint64_t seed) {
  s->uid_rng.state = rng_mix(seed ^ 0x1);
  s->churn_rng.state = rng_mix(seed ^ 0x2);
  s->jitter_rng.state = rng_mix(seed ^ 0x3);
  s->fault_rng.state = rng_mix(seed ^ 0x4);
  s->audit_rng.state = rng_mix(seed ^ 0x5);
  rng_uuid(&s->audit_rng, s->flow_schema_uid);
  rng_uuid(&s->audit_rng, s->priority_level_uid);
}

static bool add_resources(program *p) {
  buf error = {0};
  for (size_t i = 0; i < p->opts.resources.count; i++) {
    const char *text = p->opts.resources.items[i];
    if (!registry_add_text(&p->sim.registry, text, &error)) {
      fprintf(stderr, "kin-apisim: --resource %s: %s\n", text, error.data);
      buf_free(&error);
      return false;
    }
  }
  for (size_t i = 0; i < p->opts.forbid.count; i++) {
    const char *plural = p->opts.forbid.items[i];
    if (registry_next_of_plural(&p->sim.registry, NULL, plural) == NULL) {
      fprintf(stderr, "kin-apisim: --forbid %s: no such resource\n", plural);
      return false;
    }
  }
  const char *replayed = p->opts.replay_resource;
  if (!replay_can(registry_next_of_plural(&p->sim.registry, NULL, replayed))) {
    fprintf(stderr,
            "kin-apisim: --replay-resource %s: neither pods nor a custom "
            "resource\n",
            replayed);
    return false;
  }
  return true;
}

static bool add_faults(program *p) {
  buf error = {0};
  for (size_t i = 0; i < p->opts.faults.count; i++) {
    const char *text = p->opts.faults.items[i];
    if (faults_add_text(&p->sim, text, &error) == 0) {
      fprintf(stderr, "kin-apisim: --fault %s: %s\n", text, error.data);
      buf_free(&error);
      return false;
    }
  }
  return true;
}

static bool load_tls(program *p) {
  if (p->opts.tls_cert == NULL) {
    return true;
  }
  buf error = {0};
  p->sim.tls = tls_config_new(&p->opts, &error);
  if (p->sim.tls == NULL) {
    fprintf(stderr, "kin-apisim: %s\n", error.data);
    buf_free(&error);
    return false;
  }
  return true;
}

static void add_namespaces(struct sim *s) {
  static const char *const NAMES[] = {"default", "kube-node-lease",
                                      "kube-public", "kube-system"};
  for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++) {
    write_ensure_namespace(s, NAMES[i]);
  }
}

static void open_handles(program *p) {
  uv_signal_init(&p->loop, &p->on_int);
  uv_signal_init(&p->loop, &p->on_term);
  uv_timer_init(&p->loop, &p->run_for);
  p->on_int.data = p;
  p->on_term.data = p;
  p->run_for.data = p;
  uv_signal_start(&p->on_int, on_signal, SIGINT);
  uv_signal_start(&p->on_term, on_signal, SIGTERM);
  if (p->opts.run_for_s > 0) {
    uv_timer_start(&p->run_for, on_run_for,
                   (uint64_t)(p->opts.run_for_s * 1000), 0);
  }
}

/* Returns the exit status. */
static int run(program *p) {
  struct sim *s = &p->sim;
  open_handles(p);
  uint64_t pods = p->opts.replay ? 0 : p->opts.pods;
  churn_open(&s->churn, s, pods, p->opts.replay ? 0 : p->opts.churn);
  s->replay = p->opts.replay ? replay_open(s) : NULL;
  int status = 0;
  int rc = server_open(&s->server, s, p->opts.port);
  if (rc != 0) {
    fprintf(stderr, "kin-apisim: cannot listen on port %d: %s\n", p->opts.port,
            uv_strerror(rc));
    status = 1;
  } else if (!add_faults(p)) {
    status = 2;
  }
  if (status == 0) {
    printf("listening on %s://127.0.0.1:%d\n",
           s->tls != NULL ? "https" : "http", s->server.port);
    status = options_end_output();
  }
  if (status != 0) {
    end(p);
  }
  uv_run(&p->loop, UV_RUN_DEFAULT);
  return status;
}

/* A standard descriptor that is closed would be given to the loop or to a
 * socket, which libuv does not allow, and messages would go there. */
static bool open_standard_descriptors(void) {
  int fd = open("/dev/null", O_RDWR);
  while (fd >= 0 && fd <= STDERR_FILENO) {
    fd = dup(fd);
  }
  return fd >= 0 && close(fd) == 0;
}

int main(int argc, char **argv) {
  static program p;
  if (!open_standard_descriptors()) {
    return 1;
  }
  int status = options_parse(&p.opts, argc, argv);
  if (status >= 0) {
    options_free(&p.opts);
    return status;
  }
  signal(SIGPIPE, SIG_IGN);
  uv_loop_init(&p.loop);
  struct sim *s = &p.sim;
  s->loop = &p.loop;
  s->opts = &p.opts;
  seed_streams(s, p.opts.seed);
  s->faults = faults_new();
  s->store = store_new(p.opts.history,
                       (store_hooks){watch_on_committed, watch_on_trimming, s});
  registry_init(&s->registry, s->store);
  schema_set_init(&s->schemas);
  status = 2;
  if (add_resources(&p) && load_tls(&p)) {
    add_namespaces(s);
    status = run(&p);
  }
  int rc = uv_loop_close(&p.loop);
  if (rc != 0) {
    fprintf(stderr, "kin-apisim: loop did not close: %s\n", uv_strerror(rc));
    status = 1;
  }
  tls_config_free(s->tls);
  faults_free(s->faults);
  stats_reset(&s->stats);
  store_free(s->store);
  registry_finish(&s->registry);
  schema_set_free(&s->schemas);
  options_free(&p.opts);
  return status;
}
