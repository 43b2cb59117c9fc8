/* SPDX-License-Identifier: MIT */

/* Waits until a pod runs, as a deployment script would.
 *
 *     kubectl proxy --port=8001 &
 *     wait_for_pod http://127.0.0.1:8001 default/web 30
 *
 * The pod may run already, or not even exist yet. It exits with 0 when it runs,
 * 1 when it never will (it has ended, or was deleted), 3 after so many
 * seconds.
 *
 * What to look at: is_running() judges the state, not what has changed, so it
 * does not matter how many changes it is shown; and until() is all that it
 * takes, for lists, retries, lost positions and time are
 * kin_until_open_synced's business. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kin/toolkit.h>

enum { EXIT_NEVER = 1, EXIT_USAGE = 2, EXIT_TIMEOUT = 3 };

typedef struct waiter {
  kin_client *client;
  const char *pod; /* "namespace/name" */
  int status;      /* of the process */
} waiter;

static kin_str phase_of(kin_object_view *view) {
  kin_str phase = {"Unknown", 7};
  kin_object_view_string(view, "/status/phase", &phase);
  return phase;
}

/* The conditions' errors are any negative codes; these say what they mean. */
static int judge(kin_str phase) {
  if (kin_str_equal(phase, KIN_STR("Running"))) {
    return 1;
  }
  bool is_over = kin_str_equal(phase, KIN_STR("Succeeded")) ||
                 kin_str_equal(phase, KIN_STR("Failed"));
  return is_over ? UV_ECANCELED : 0;
}

static int is_running(const kin_watch_event *event, void *data) {
  (void)data;
  if (event->type == KIN_WATCH_DELETED) {
    printf("deleted\n");
    return UV_ENOENT;
  }
  kin_object_view *view;
  int status = kin_object_view_open(&view, event->object);
  if (status != 0) {
    return status;
  }
  kin_str phase = phase_of(view);
  printf(KIN_STR_FORMAT "\n", KIN_STR_ARG(phase));
  int answer = judge(phase);
  kin_object_view_close(view);
  return answer;
}

static void on_result(const kin_until_result *result, void *data) {
  waiter *w = data;
  if (result->code == 0) {
    w->status = 0;
  } else {
    fprintf(stderr, "wait_for_pod: %s: %s\n", w->pod,
            kin_strerror(result->code));
    w->status = result->code == KIN_ETIMEDOUT ? EXIT_TIMEOUT : EXIT_NEVER;
  }
  kin_client_close(w->client, NULL, NULL);
}

/* Failures are retried; whoever waits wants to know about them. */
static void on_error(kin_informer *informer, kin_error_event *event,
                     void *data) {
  (void)informer;
  (void)data;
  fprintf(stderr, "wait_for_pod: %s\n", event->message);
}

/* One pod is watched, not the namespace. */
static int until(waiter *w, const char *namespace_, const char *name,
                 uint64_t timeout_s) {
  char selector[300];
  snprintf(selector, sizeof(selector), "metadata.name=%s", name);
  kin_informer_options pod = KIN_INFORMER_OPTIONS_INIT;
  pod.plural = "pods";
  pod.namespaces = &namespace_;
  pod.namespace_count = 1;
  pod.field_selector = selector;
  pod.on_error = on_error;

  kin_until_condition running = {is_running, NULL};
  kin_until_options uo = KIN_UNTIL_OPTIONS_INIT;
  uo.resource = &pod;
  uo.conditions = &running;
  uo.condition_count = 1;
  uo.timeout_ms = timeout_s * 1000;
  uo.cb = on_result;
  uo.data = w;
  return kin_until_open_synced(NULL, w->client, &uo);
}

/* A number of seconds that fits in milliseconds, and nothing else. */
static bool parse_seconds(const char *text, uint64_t *seconds) {
  char *end;
  *seconds = strtoull(text, &end, 10);
  return *text >= '0' && *text <= '9' && *end == '\0' && *seconds <= UINT32_MAX;
}

int main(int argc, char **argv) {
  char *slash = argc > 2 ? strchr(argv[2], '/') : NULL;
  char namespace_[254];
  uint64_t timeout_s = 0;
  if (!slash || (size_t)(slash - argv[2]) >= sizeof(namespace_) ||
      (argc > 3 && !parse_seconds(argv[3], &timeout_s))) {
    fprintf(stderr, "usage: wait_for_pod URL NAMESPACE/NAME [SECONDS]\n");
    return EXIT_USAGE;
  }
  snprintf(namespace_, sizeof(namespace_), "%.*s", (int)(slash - argv[2]),
           argv[2]);
  setvbuf(stdout, NULL, _IOLBF, 0);

  uv_loop_t *loop = uv_default_loop();
  waiter w = {.pod = argv[2], .status = EXIT_NEVER};
  kin_client_options co = KIN_CLIENT_OPTIONS_INIT;
  co.server = argv[1];
  int status = kin_client_open(&w.client, loop, &co);
  if (status == 0) {
    status = until(&w, namespace_, slash + 1, timeout_s);
    if (status != 0) {
      kin_client_close(w.client, NULL, NULL);
    }
  }
  if (status != 0) {
    fprintf(stderr, "wait_for_pod: %s\n", kin_strerror(status));
  }
  uv_run(loop, UV_RUN_DEFAULT);
  return w.status;
}
