/* SPDX-License-Identifier: MIT */

/* An informer inside a server that already has a loop.
 *
 * The server speaks a line protocol on TCP; each answer comes from the
 * informer's cache, without a request to Kubernetes and without a lock, because
 * both live on the same loop:
 *
 *     GET namespace/name    the pod's phase, node and version
 *     COUNT                 how many pods there are
 *     NODE name             the pods on a node, by an index
 *
 *     kubectl proxy --port=8001 &
 *     embed http://127.0.0.1:8001 7070 &
 *     echo COUNT | nc -q1 127.0.0.1 7070
 *
 * What to look at: open_cache() is all that the server has to do to get the
 * cache, answer() is how it is read, and stop() is how everything ends in order
 * on SIGINT: the listening socket, the connections, and the client, which
 * closes the informer. */

#define _GNU_SOURCE 1 /* vasprintf */

#include <arpa/inet.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uv.h>

#include <kin/kin.h>

enum { LINE_MAX_BYTES = 1024, BACKLOG = 128 };

typedef struct server {
  uv_loop_t *loop;
  uv_tcp_t listener;
  uv_signal_t interrupt;
  struct connection *connections;
  kin_client *client;
  kin_informer *pods;
} server;

/* One request at a time: reading stops until its answer has been sent. */
typedef struct connection {
  server *server;
  struct connection *next;
  struct connection **link; /* what points to this one */
  uv_tcp_t tcp;
  uv_write_t write;
  char line[LINE_MAX_BYTES];
  size_t length;
  char *answer;
  size_t answer_length;
} connection;

static void next_line(connection *c);

/* ---- answering from the cache */

/* Appends to the answer. Returns false if there is no memory for it. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static bool
say(connection *c, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  char *more = NULL;
  int length = vasprintf(&more, format, arguments);
  va_end(arguments);
  if (length < 0) {
    return false;
  }
  char *grown = realloc(c->answer, c->answer_length + (size_t)length);
  if (grown) {
    memcpy(grown + c->answer_length, more, (size_t)length);
    c->answer = grown;
    c->answer_length += (size_t)length;
  }
  free(more);
  return grown != NULL;
}

/* What is in the cache is read in place. Only what is not resident (everything
 * but the metadata) needs a view. */
static bool answer_get(connection *c, const char *key) {
  const kin_object *pod =
      kin_store_get_key(kin_informer_store(c->server->pods), key);
  if (!pod) {
    return say(c, "no such pod\n");
  }
  kin_object_view *view;
  if (kin_object_view_open(&view, pod) != 0) {
    return false;
  }
  kin_str phase = {"Unknown", 7};
  kin_str node = {"-", 1};
  kin_object_view_string(view, "/status/phase", &phase);
  kin_object_view_string(view, "/spec/nodeName", &node);
  kin_str version = kin_object_resource_version(pod);
  bool said = say(c, KIN_STR_FORMAT " " KIN_STR_FORMAT " " KIN_STR_FORMAT "\n",
                  KIN_STR_ARG(phase), KIN_STR_ARG(node), KIN_STR_ARG(version));
  kin_object_view_close(view);
  return said;
}

static bool answer_node(connection *c, const char *node) {
  kin_store *store = kin_informer_store(c->server->pods);
  kin_str value = {node, strlen(node)};
  bool said = say(c, "%zu\n", kin_store_index_count(store, "node", value));
  kin_index_cursor cursor;
  const kin_object *pod;
  kin_store_by_index(store, "node", value, &cursor);
  while (said && (pod = kin_store_by_index_next(store, &cursor))) {
    kin_str key = kin_object_key(pod);
    said = say(c, KIN_STR_FORMAT "\n", KIN_STR_ARG(key));
  }
  return said;
}

static bool answer(connection *c, const char *line) {
  if (!kin_informer_has_synced(c->server->pods)) {
    return say(c, "not in sync yet\n");
  }
  if (strncmp(line, "GET ", 4) == 0) {
    return answer_get(c, line + 4);
  }
  if (strncmp(line, "NODE ", 5) == 0) {
    return answer_node(c, line + 5);
  }
  if (strcmp(line, "COUNT") == 0) {
    return say(c, "%zu\n",
               kin_store_count(kin_informer_store(c->server->pods)));
  }
  return say(c, "what? GET namespace/name, COUNT or NODE name\n");
}

/* ---- connections */

static void on_connection_closed(uv_handle_t *handle) {
  connection *c = handle->data;
  free(c->answer);
  free(c);
}

static void close_connection(connection *c) {
  if (uv_is_closing((uv_handle_t *)&c->tcp)) {
    return;
  }
  *c->link = c->next;
  if (c->next) {
    c->next->link = c->link;
  }
  uv_close((uv_handle_t *)&c->tcp, on_connection_closed);
}

/* The free part of the line buffer: a line that is longer than it ends the
 * connection. */
static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf) {
  (void)suggested;
  connection *c = handle->data;
  *buf =
      uv_buf_init(c->line + c->length, (unsigned)(sizeof(c->line) - c->length));
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf) {
  (void)buf;
  connection *c = stream->data;
  if (n < 0) {
    close_connection(c);
    return;
  }
  c->length += (size_t)n;
  uv_read_stop(stream);
  next_line(c);
}

static void on_answered(uv_write_t *write, int status) {
  connection *c = write->data;
  free(c->answer);
  c->answer = NULL;
  c->answer_length = 0;
  if (status != 0) {
    close_connection(c);
    return;
  }
  next_line(c);
}

/* Answers the next whole line, or reads on until there is one. */
static void next_line(connection *c) {
  if (uv_is_closing((uv_handle_t *)&c->tcp)) {
    return;
  }
  char *end = memchr(c->line, '\n', c->length);
  if (!end) {
    if (c->length == sizeof(c->line) ||
        uv_read_start((uv_stream_t *)&c->tcp, on_alloc, on_read) != 0) {
      close_connection(c);
    }
    return;
  }
  size_t used = (size_t)(end - c->line) + 1;
  *end = '\0';
  if (end > c->line && end[-1] == '\r') {
    end[-1] = '\0';
  }
  bool answered = answer(c, c->line);
  c->length -= used;
  memmove(c->line, c->line + used, c->length);
  uv_buf_t buf = uv_buf_init(c->answer, (unsigned)c->answer_length);
  c->write.data = c;
  if (!answered ||
      uv_write(&c->write, (uv_stream_t *)&c->tcp, &buf, 1, on_answered) != 0) {
    close_connection(c);
  }
}

static void on_connection(uv_stream_t *listener, int status) {
  server *s = listener->data;
  connection *c = status == 0 ? calloc(1, sizeof(*c)) : NULL;
  if (!c) {
    return;
  }
  c->server = s;
  uv_tcp_init(s->loop, &c->tcp);
  c->tcp.data = c;
  c->next = s->connections;
  c->link = &s->connections;
  if (c->next) {
    c->next->link = &c->next;
  }
  s->connections = c;
  if (uv_accept(listener, (uv_stream_t *)&c->tcp) != 0) {
    close_connection(c);
    return;
  }
  next_line(c);
}

/* ---- the cache */

static void on_error(kin_informer *informer, kin_error_event *event,
                     void *data) {
  (void)informer;
  (void)data;
  fprintf(stderr, "embed: %s\n", event->message);
}

/* A cache that is only read needs no listener. */
static int open_cache(server *s, const char *url) {
  kin_client_options co = KIN_CLIENT_OPTIONS_INIT;
  co.server = url;
  int status = kin_client_open(&s->client, s->loop, &co);
  if (status != 0) {
    return status;
  }
  kin_informer_options io = KIN_INFORMER_OPTIONS_INIT;
  io.plural = "pods";
  io.on_error = on_error;
  status = kin_informer_open(&s->pods, s->client, &io);
  if (status != 0) {
    return status;
  }
  kin_index_options by_node = KIN_INDEX_OPTIONS_INIT;
  by_node.name = "node";
  by_node.pointer = "/spec/nodeName";
  status = kin_store_add_index(kin_informer_store(s->pods), &by_node);
  return status == 0 ? kin_informer_start(s->pods) : status;
}

/* ---- beginning and end */

/* Everything that is on the loop is closed; uv_run then returns by itself. */
static void stop(server *s) {
  uv_close((uv_handle_t *)&s->interrupt, NULL);
  uv_close((uv_handle_t *)&s->listener, NULL);
  while (s->connections) {
    close_connection(s->connections);
  }
  if (s->client) {
    kin_client_close(s->client, NULL, NULL);
  }
}

static void on_interrupt(uv_signal_t *handle, int number) {
  (void)number;
  stop(handle->data);
}

static int open_listener(server *s, int port) {
  struct sockaddr_in address;
  uv_ip4_addr("127.0.0.1", port, &address);
  int status = uv_tcp_bind(&s->listener, (struct sockaddr *)&address, 0);
  if (status == 0) {
    status = uv_listen((uv_stream_t *)&s->listener, BACKLOG, on_connection);
  }
  int length = sizeof(address);
  if (status == 0) {
    status =
        uv_tcp_getsockname(&s->listener, (struct sockaddr *)&address, &length);
  }
  if (status == 0) {
    printf("listening on 127.0.0.1:%u\n", ntohs(address.sin_port));
    fflush(stdout);
  }
  return status;
}

int main(int argc, char **argv) {
  signal(SIGPIPE, SIG_IGN); // for this server's own connections
  uv_loop_t loop;
  uv_loop_init(&loop);
  server s = {.loop = &loop};
  uv_tcp_init(&loop, &s.listener);
  uv_signal_init(&loop, &s.interrupt);
  s.listener.data = &s;
  s.interrupt.data = &s;

  int status = uv_signal_start(&s.interrupt, on_interrupt, SIGINT);
  if (status == 0) {
    status = open_cache(&s, argc > 1 ? argv[1] : "http://127.0.0.1:8001");
  }
  if (status == 0) {
    status = open_listener(&s, argc > 2 ? atoi(argv[2]) : 0);
  }
  if (status != 0) {
    fprintf(stderr, "embed: %s\n", kin_strerror(status));
    stop(&s);
  }
  uv_run(&loop, UV_RUN_DEFAULT);
  return uv_loop_close(&loop) == 0 && status == 0 ? 0 : 1;
}
