/* SPDX-License-Identifier: MIT */
#include "iteration_server.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "measure.h"

#define REQUEST_BYTES 8192
#define FIRST_VERSION 10u
#define EVENT_VERSION 2000u

static const char head[] =
    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
    "Connection: close\r\n\r\n";

typedef struct connection {
  iteration_server *server;
  int fd;
} connection;

/* What a request asks for. */
typedef struct request {
  size_t scope; /* the namespace's number, or SIZE_MAX: all */
  bool is_watch;
  bool begins_with_list; /* a watch: sendInitialEvents */
  bool is_tick;
} request;

size_t iteration_event_count(const iteration_shape *shape) {
  return shape->count < ITERATION_MAX_EVENTS ? shape->count
                                             : ITERATION_MAX_EVENTS;
}

static void send_all(int fd, const char *bytes, size_t length) {
  while (length > 0) {
    ssize_t count = send(fd, bytes, length, MSG_NOSIGNAL);
    if (count <= 0) {
      return;
    }
    bytes += count;
    length -= (size_t)count;
  }
}

static void send_text(int fd, const char *text) {
  send_all(fd, text, strlen(text));
}

/* Object `number`, filled up to its size with fields that a parser has to look
 * at. Returns its length. */
static size_t render(const iteration_shape *s, char *to, size_t number,
                     uint64_t version) {
  char *at = to;
  at += sprintf(at,
                "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{"
                "\"name\":\"pod-%07zu\",\"namespace\":\"ns-%zu\",\"uid\":"
                "\"8f3c1f6e-0000-4000-8000-%012zu\",\"resourceVersion\":"
                "\"%" PRIu64 "\"},\"spec\":{\"nodeName\":\"node-%zu\"",
                number, number % s->scopes, number, version, number);
  for (size_t i = 0; i < s->indices; i++) {
    at += sprintf(at, ",\"i%zu\":\"value-%zu-%zu\"", i, i, number % 1000);
  }
  at += sprintf(at, ",\"env\":[0");
  for (size_t i = 0; (size_t)(at - to) + 64 < s->bytes; i++) {
    at += sprintf(at, ",{\"name\":\"VARIABLE_%zu\",\"value\":\"%zu\"}", i,
                  number + i);
  }
  at += sprintf(at, "]}}");
  return (size_t)(at - to);
}

static bool is_in_scope(const iteration_shape *s, size_t number, size_t scope) {
  return scope == SIZE_MAX || number % s->scopes == scope;
}

static uint64_t version_of(const iteration_shape *s, size_t number,
                           iteration_stage stage) {
  bool has_changed =
      stage != ITERATION_SILENT && number < iteration_event_count(s);
  return has_changed ? EVENT_VERSION + number : FIRST_VERSION;
}

/* What is around each object. */
typedef struct frame {
  const char *separator; /* before each but the first */
  const char *before;
  const char *after;
} frame;

static const frame list_item = {",", "", ""};
static const frame added = {"", "{\"type\":\"ADDED\",\"object\":", "}\n"};
static const frame modified = {"", "{\"type\":\"MODIFIED\",\"object\":", "}\n"};

/* Sends those of the first `count` objects that are in the scope. */
static void send_objects(const connection *c, size_t scope, size_t count,
                         iteration_stage stage, const frame *f) {
  const iteration_shape *s = &c->server->shape;
  char *text = malloc(s->bytes + 4096 + 64 * s->indices);
  if (text == NULL) {
    exit(1);
  }
  bool is_first = true;
  for (size_t i = 0; i < count; i++) {
    if (is_in_scope(s, i, scope)) {
      int at = sprintf(text, "%s%s", is_first ? "" : f->separator, f->before);
      at += (int)render(s, text + at, i, version_of(s, i, stage));
      at += sprintf(text + at, "%s", f->after);
      send_all(c->fd, text, (size_t)at);
      is_first = false;
    }
  }
  free(text);
}

static iteration_stage stage_of(iteration_server *server) {
  pthread_mutex_lock(&server->lock);
  iteration_stage stage = server->stage;
  pthread_mutex_unlock(&server->lock);
  return stage;
}

static void wait_for(iteration_server *server, iteration_stage stage) {
  pthread_mutex_lock(&server->lock);
  while (server->stage < stage) {
    pthread_cond_wait(&server->changed, &server->lock);
  }
  pthread_mutex_unlock(&server->lock);
}

static unsigned list_version(iteration_stage stage) {
  return stage == ITERATION_SILENT ? EVENT_VERSION - 1 : 2 * EVENT_VERSION;
}

static void serve_list(const connection *c, size_t scope) {
  iteration_stage stage = stage_of(c->server);
  char opening[160];
  snprintf(opening, sizeof opening,
           "{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"metadata\":{"
           "\"resourceVersion\":\"%u\"},\"items\":[",
           list_version(stage));
  send_text(c->fd, head);
  send_text(c->fd, opening);
  send_objects(c, scope, c->server->shape.count, stage, &list_item);
  send_text(c->fd, "]}");
}

static void send_initial_events(const connection *c, size_t scope,
                                iteration_stage stage) {
  char bookmark[256];
  snprintf(bookmark, sizeof bookmark,
           "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"Pod\",\"apiVersion\":"
           "\"v1\",\"metadata\":{\"resourceVersion\":\"%u\",\"annotations\":{"
           "\"k8s.io/initial-events-end\":\"true\"}}}}\n",
           list_version(stage));
  send_objects(c, scope, c->server->shape.count, stage, &added);
  send_text(c->fd, bookmark);
}

static void serve_watch(const connection *c, const request *r) {
  static const char expired[] =
      "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"apiVersion\":"
      "\"v1\",\"status\":\"Failure\",\"reason\":\"Expired\",\"message\":"
      "\"too old resource version\",\"code\":410}}\n";
  iteration_stage stage = stage_of(c->server);
  send_text(c->fd, head);
  if (r->begins_with_list) {
    send_initial_events(c, r->scope, stage);
  }
  if (stage != ITERATION_EXPIRED) {
    wait_for(c->server, ITERATION_EVENTS);
    send_objects(c, r->scope, iteration_event_count(&c->server->shape),
                 ITERATION_EVENTS, &modified);
    wait_for(c->server, ITERATION_EXPIRED);
    send_text(c->fd, expired);
    return;
  }
  char byte;
  while (recv(c->fd, &byte, 1, 0) > 0) {
  }
}

/* Until the client closes. */
static void serve_ticks(const connection *c) {
  const struct timespec pause = {0, (long)c->server->shape.tick_us * 1000};
  static const char item[] =
      "{\"type\":\"%s\",\"object\":{\"kind\":\"Tick\",\"apiVersion\":\"v1\","
      "\"metadata\":{\"name\":\"t\",\"uid\":\"1\",\"resourceVersion\":"
      "\"%" PRIu64 "\"%s}}}\n";
  static const char end[] =
      ",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}";
  char text[512];
  send_text(c->fd, head);
  snprintf(text, sizeof text, item, "ADDED", wall_ns(), "");
  send_text(c->fd, text);
  snprintf(text, sizeof text, item, "BOOKMARK", wall_ns(), end);
  send_text(c->fd, text);
  int length = 0;
  do {
    nanosleep(&pause, NULL);
    length = snprintf(text, sizeof text, item, "MODIFIED", wall_ns(), "");
  } while (send(c->fd, text, (size_t)length, MSG_NOSIGNAL) == length);
}

static request parse(const char *text) {
  const char *scope = strstr(text, "/namespaces/ns-");
  return (request){
      .scope = scope != NULL ? strtoul(scope + 15, NULL, 10) : SIZE_MAX,
      .is_watch = strstr(text, "watch=") != NULL,
      .begins_with_list = strstr(text, "sendInitialEvents=true") != NULL,
      .is_tick = strstr(text, "/ticks") != NULL,
  };
}

static void *serve(void *data) {
  connection c = *(connection *)data;
  free(data);
  char text[REQUEST_BYTES + 1];
  size_t length = 0;
  text[0] = '\0';
  while (strstr(text, "\r\n\r\n") == NULL && length < REQUEST_BYTES) {
    ssize_t count = recv(c.fd, text + length, REQUEST_BYTES - length, 0);
    if (count <= 0) {
      break;
    }
    length += (size_t)count;
    text[length] = '\0';
  }
  request r = parse(text);
  if (r.is_tick) {
    serve_ticks(&c);
  } else if (r.is_watch) {
    serve_watch(&c, &r);
  } else if (length > 0) {
    serve_list(&c, r.scope);
  }
  close(c.fd);
  return NULL;
}

/* Ends when the socket is shut down. */
static void *accept_all(void *data) {
  iteration_server *server = data;
  for (int fd; (fd = accept(server->listening, NULL, NULL)) >= 0;) {
    connection *c = malloc(sizeof *c);
    pthread_t thread;
    if (c == NULL) {
      exit(1);
    }
    *c = (connection){server, fd};
    if (pthread_create(&thread, NULL, serve, c) != 0) {
      exit(1);
    }
    pthread_detach(thread);
  }
  return NULL;
}

void iteration_server_open(iteration_server *server,
                           const iteration_shape *shape) {
  struct sockaddr_in address = {.sin_family = AF_INET,
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof address;
  *server = (iteration_server){.shape = *shape};
  pthread_mutex_init(&server->lock, NULL);
  pthread_cond_init(&server->changed, NULL);
  server->listening = socket(AF_INET, SOCK_STREAM, 0);
  if (bind(server->listening, (struct sockaddr *)&address, size) != 0 ||
      listen(server->listening, 1024) != 0 ||
      getsockname(server->listening, (struct sockaddr *)&address, &size) != 0 ||
      pthread_create(&server->acceptor, NULL, accept_all, server) != 0) {
    perror("bench_iteration");
    exit(1);
  }
  server->port = ntohs(address.sin_port);
}

void iteration_server_enter(iteration_server *server, iteration_stage stage) {
  pthread_mutex_lock(&server->lock);
  server->stage = stage;
  pthread_cond_broadcast(&server->changed);
  pthread_mutex_unlock(&server->lock);
}

void iteration_server_close(iteration_server *server) {
  shutdown(server->listening, SHUT_RDWR);
  pthread_join(server->acceptor, NULL);
  close(server->listening);
}
