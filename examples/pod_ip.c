/* SPDX-License-Identifier: MIT */

/* Whose log line or packet is this? The pod of an IP address or container id.
 *
 *     kubectl proxy --port=8001 &
 *     tail -f lines | pod_ip http://127.0.0.1:8001
 *
 * Each line that comes in is an address or a container id, and how many
 * milliseconds ago the line or packet was made; nothing means now:
 *
 *     10.244.1.7             10.244.1.7 default/web-1
 *     10.244.1.7 5000        10.244.1.7 default/web-0 gone
 *     containerd://0a1b2c    containerd://0a1b2c kube-system/proxy-x
 *     10.0.0.1               10.0.0.1 unknown
 *
 * A line of 512 bytes or more is answered with "too long".
 *
 * What to look at: three hard cases. A deleted pod lingers for a minute, for
 * lines and packets that come late. An address that is used again belongs to
 * the newest pod, and to an older one for what was made before that one left. A
 * pod on its node's network has the node's address, as have all others of that
 * kind: the address says nothing, so such pods, and those that have finished,
 * are not in the index; only their containers' ids tell. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kin/toolkit.h>

#define LINGER_MS 60000
#define MAX_LINE 512

typedef struct app {
  kin_client *client;
  kin_informer *informer;
  kin_lingering_index *owners;
  uv_pipe_t input;
  char line[MAX_LINE];
  size_t length;
  bool is_too_long; /* the beginning of the line has been dropped */
} app;

static bool has_own_address(const kin_object *pod) {
  bool has_host_network = false;
  kin_value phase = kin_object_at(pod, "/status/phase");
  kin_value_bool(kin_object_at(pod, "/spec/hostNetwork"), &has_host_network);
  return !has_host_network &&
         !kin_value_string_is(phase, KIN_STR("Succeeded")) &&
         !kin_value_string_is(phase, KIN_STR("Failed"));
}

/* The member `name` of each element of a list. */
static int emit_each(kin_index_values *values, kin_value list, kin_str name) {
  kin_value_iterator elements = kin_value_iterate(list);
  kin_value element;
  while (kin_value_next(&elements, &element)) {
    char buffer[MAX_LINE];
    kin_str text;
    kin_value value = kin_value_member(element, name);
    if (kin_value_string(value, buffer, sizeof buffer, &text) == 0) {
      int status = kin_index_emit(values, text);
      if (status != 0) {
        return status;
      }
    }
  }
  return 0;
}

/* The addresses and containers of a pod. */
static int index_owner(const kin_object *pod, kin_index_values *values,
                       void *data) {
  (void)data;
  int status = 0;
  if (has_own_address(pod)) {
    status =
        emit_each(values, kin_object_at(pod, "/status/podIPs"), KIN_STR("ip"));
  }
  if (status == 0) {
    status = emit_each(values, kin_object_at(pod, "/status/containerStatuses"),
                       KIN_STR("containerID"));
  }
  return status;
}

/* "VALUE [AGE_MS]" */
static void answer(app *a, const char *line) {
  if (a->is_too_long) {
    a->is_too_long = false;
    puts("too long");
    return;
  }
  kin_str value = {line, strcspn(line, " ")};
  uint64_t age_ms = strtoull(line + value.length, NULL, 10);
  uint64_t gone_ms;
  const kin_object *pod =
      kin_lingering_index_owner(a->owners, value, age_ms, &gone_ms);
  if (pod == NULL) {
    printf(KIN_STR_FORMAT " unknown\n", KIN_STR_ARG(value));
    return;
  }
  kin_str key = kin_object_key(pod);
  printf(KIN_STR_FORMAT " " KIN_STR_FORMAT "%s\n", KIN_STR_ARG(value),
         KIN_STR_ARG(key), gone_ms != UINT64_MAX ? " gone" : "");
}

static void alloc_buffer(uv_handle_t *handle, size_t size, uv_buf_t *buffer) {
  (void)size;
  app *a = handle->data;
  *buffer = uv_buf_init(a->line + a->length, (unsigned)(MAX_LINE - a->length));
}

static void on_input(uv_stream_t *stream, ssize_t bytes, const uv_buf_t *buf) {
  (void)buf;
  app *a = stream->data;
  a->length += bytes > 0 ? (size_t)bytes : 0;
  if (bytes < 0 && (a->length > 0 || a->is_too_long)) {
    a->line[a->length++] = '\n'; /* which the last line lacks */
  }
  char *end;
  while ((end = memchr(a->line, '\n', a->length)) != NULL) {
    *end = '\0';
    answer(a, a->line);
    a->length -= (size_t)(end + 1 - a->line);
    memmove(a->line, end + 1, a->length);
  }
  if (a->length == MAX_LINE) {
    a->length = 0;
    a->is_too_long = true;
  }
  if (bytes < 0) {
    uv_close((uv_handle_t *)stream, NULL);
    kin_client_close(a->client, NULL, NULL);
  }
}

/* Lines that arrive earlier wait in the pipe. */
static void on_synced(kin_informer *informer, const kin_event *event,
                      void *data) {
  (void)informer;
  (void)event;
  app *a = data;
  uv_read_start((uv_stream_t *)&a->input, alloc_buffer, on_input);
}

static void on_error(kin_informer *informer, kin_error_event *event,
                     void *data) {
  (void)informer;
  (void)data;
  fprintf(stderr, "pod_ip: %s\n", event->message);
}

static int follow(app *a) {
  static const char *const fields[] = {"/spec/hostNetwork", "/status/phase",
                                       "/status/podIPs",
                                       "/status/containerStatuses"};
  kin_informer_options io = KIN_INFORMER_OPTIONS_INIT;
  io.plural = "pods";
  io.fields = fields;
  io.field_count = sizeof fields / sizeof *fields;
  io.drop_labels = true;
  io.on_error = on_error;
  int status = kin_informer_open(&a->informer, a->client, &io);
  kin_index_options xo = KIN_INDEX_OPTIONS_INIT;
  xo.name = "owner";
  xo.cb = index_owner;
  if (status == 0) {
    status = kin_store_add_index(kin_informer_store(a->informer), &xo);
  }
  kin_lingering_index_options lo = KIN_LINGERING_INDEX_OPTIONS_INIT;
  lo.name = "owner";
  lo.linger_ms = LINGER_MS;
  if (status == 0) {
    status = kin_lingering_index_open(&a->owners, a->informer, &lo);
  }
  kin_listener_options eo = KIN_LISTENER_OPTIONS_INIT;
  eo.on_synced = on_synced;
  eo.data = a;
  if (status == 0) {
    status = kin_informer_listen(a->informer, &eo, NULL);
  }
  return status == 0 ? kin_informer_start(a->informer) : status;
}

/* A loop cannot wait for a file or /dev/null: uv_run would abort. */
static bool is_stream(uv_handle_type input) {
  return input == UV_NAMED_PIPE || input == UV_TTY || input == UV_TCP;
}

int main(int argc, char **argv) {
  if (!is_stream(uv_guess_handle(0))) {
    fprintf(stderr, "pod_ip: standard input is no pipe: cat FILE | pod_ip\n");
    return 2;
  }
  setvbuf(stdout, NULL, _IOLBF, 0);
  uv_loop_t *loop = uv_default_loop();
  static app a;
  kin_client_options co = KIN_CLIENT_OPTIONS_INIT;
  co.server = argc > 1 ? argv[1] : "http://127.0.0.1:8001";
  int status = kin_client_open(&a.client, loop, &co);
  if (status == 0) {
    uv_pipe_init(loop, &a.input, 0);
    a.input.data = &a;
    status = uv_pipe_open(&a.input, 0);
    status = status == 0 ? follow(&a) : status;
    if (status != 0) {
      uv_close((uv_handle_t *)&a.input, NULL);
      kin_client_close(a.client, NULL, NULL);
    }
  }
  if (status != 0) {
    fprintf(stderr, "pod_ip: %s\n", kin_strerror(status));
  }
  uv_run(loop, UV_RUN_DEFAULT);
  return status == 0 ? 0 : 1;
}
