/* SPDX-License-Identifier: MIT */
#include "support/mini_server.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define BODY_SIZE 131072

void mini_server_init(mini_server *server, script_env *script) {
  *server = (mini_server){.script = script, .version = 100, .compacted = 1};
}

static const char *namespace_of(int object) {
  return object % 2 == 0 ? "even" : "odd";
}

static void record(mini_server *server, char type, int object) {
  assert_true(server->event_count < MINI_EVENTS);
  server->version++;
  server->events[server->event_count++] =
      (mini_event){.type = type,
                   .object = object,
                   .incarnation = server->incarnations[object],
                   .padding = server->padding[object],
                   .version = server->version};
  server->versions[object] = type == 'D' ? 0 : server->version;
}

void mini_put(mini_server *server, int object) {
  bool is_new = server->versions[object] == 0;
  if (is_new) {
    server->incarnations[object]++;
  }
  record(server, is_new ? 'A' : 'M', object);
}

void mini_put_first(mini_server *server, int count) {
  for (int i = 0; i < count; i++) {
    mini_put(server, i);
  }
}

void mini_delete(mini_server *server, int object) {
  assert_true(server->versions[object] != 0);
  record(server, 'D', object);
}

void mini_recreate(mini_server *server, int object) {
  mini_delete(server, object);
  mini_put(server, object);
}

void mini_compact(mini_server *server) {
  server->compacted = server->version;
}

static int write_object(char *to, size_t size, int object, int incarnation,
                        uint64_t version, int padding) {
  /* Large ones have a status, the last thing that changes in them. */
  char status[64] = "";
  if (padding >= 512) {
    snprintf(status, sizeof status, ",\"status\":{\"at\":%" PRIu64 "}",
             version);
  }
  return snprintf(
      to, size,
      "{\"metadata\":{\"name\":\"p%d\",\"namespace\":\"%s\","
      "\"uid\":\"uid-%d-%d\",\"resourceVersion\":\"%" PRIu64 "\","
      "\"labels\":{\"app\":\"a%d\"},\"managedFields\":[{\"x\":[1]}]},"
      "\"spec\":{\"nodeName\":\"n%d\",\"text\":\"a\\\"b{[%*s\"}%s}",
      object, namespace_of(object), object, incarnation, version, object % 3,
      object % 4, padding, "", status);
}

static bool is_in_scope(const script_request *request, int object) {
  char part[64];
  snprintf(part, sizeof part, "/namespaces/%s/", namespace_of(object));
  return strstr(request->target, "/namespaces/") == NULL ||
         strstr(request->target, part) != NULL;
}

/* Written from the API server's own text, k8s.io/apimachinery/pkg/sharding:
 * the hash as "0x" and 16 digits, compared as text. */
static bool is_less(const char *a, const char *b) {
  size_t length = strlen(a);
  return length != strlen(b) ? length < strlen(b) : strcmp(a, b) < 0;
}

static bool is_in_range(const char *selector, const char *uid) {
  char begin[24] = "";
  char end[24] = "";
  assert_int_equal(sscanf(selector,
                          "shardSelector=shardRange%%28object.metadata.uid%%2C"
                          "%%20%%27%23[0-9a-fx]%%27%%2C%%20%%27%23[0-9a-fx]"
                          "%%27%%29",
                          begin, end),
                   2);
  uint64_t hash = UINT64_C(14695981039346656037);
  for (; *uid != '\0'; uid++) {
    hash ^= (unsigned char)*uid;
    hash *= UINT64_C(1099511628211);
  }
  char place[24];
  snprintf(place, sizeof place, "0x%016" PRIx64, hash);
  return !is_less(place, begin) && is_less(place, end);
}

static const char *selector_of(const mini_server *server,
                               const script_request *request) {
  return server->knows_shards ? strstr(request->target, "shardSelector=")
                              : NULL;
}

static bool is_wanted(const mini_server *server, const script_request *request,
                      int object, int incarnation) {
  const char *selector = selector_of(server, request);
  char uid[32];
  snprintf(uid, sizeof uid, "uid-%d-%d", object, incarnation);
  return is_in_scope(request, object) &&
         (selector == NULL || is_in_range(selector, uid));
}

static uint64_t parameter(const script_request *request, const char *name) {
  const char *at = strstr(request->target, name);
  return at != NULL ? strtoull(at + strlen(name), NULL, 10) : 0;
}

static bool put(script_request *request, const char *text) {
  return script_request_body(request, text, strlen(text));
}

/* What there was at that version: 'D' or what came last. */
static mini_event state_at(const mini_server *server, int object,
                           uint64_t version) {
  mini_event last = {.type = 'D'};
  for (int i = 0; i < server->event_count; i++) {
    const mini_event *event = &server->events[i];
    if (event->object == object && event->version <= version) {
      last = *event;
    }
  }
  return last;
}

static void serve_list(mini_server *server, script_request *request) {
  static char body[BODY_SIZE];
  bool is_exact = strstr(request->target, "resourceVersionMatch=Exact") != NULL;
  uint64_t version =
      is_exact ? parameter(request, "resourceVersion=") : server->version;
  uint64_t limit = server->honours_limit ? parameter(request, "limit=") : 0;
  int first = (int)parameter(request, "continue=t");
  size_t used = 0;
  uint64_t items = 0;
  int i = first;
  used += (size_t)snprintf(body + used, sizeof body - used,
                           "{\"kind\":\"PodList\",\"items\":[");
  for (; i < MINI_OBJECTS && (limit == 0 || items < limit); i++) {
    mini_event last = state_at(server, i, version);
    if (last.type == 'D' || !is_wanted(server, request, i, last.incarnation)) {
      continue;
    }
    used += (size_t)snprintf(body + used, sizeof body - used, "%s",
                             items++ > 0 ? "," : "");
    used += (size_t)write_object(body + used, sizeof body - used, i,
                                 last.incarnation, last.version, last.padding);
  }
  char token[16] = "";
  if (i < MINI_OBJECTS) {
    snprintf(token, sizeof token, "t%d", i);
  }
  snprintf(body + used, sizeof body - used,
           "],\"metadata\":{\"resourceVersion\":\"%" PRIu64
           "\",\"continue\":\"%s\"%s}}",
           version, token,
           selector_of(server, request) != NULL
               ? ",\"shardInfo\":{\"selector\":\"the same\"}"
               : "");
  server->lists++;
  if (script_request_head(request, 200) && put(request, body)) {
    script_request_end(request);
  }
}

static size_t write_frame(char *frame, size_t size, const mini_event *event) {
  static const char *const types[] = {
      ['A'] = "ADDED", ['M'] = "MODIFIED", ['D'] = "DELETED"};
  char object[4096];
  write_object(object, sizeof object, event->object, event->incarnation,
               event->version, event->padding);
  return (size_t)snprintf(frame, size, "{\"type\":\"%s\",\"object\":%s}\n",
                          types[(unsigned char)event->type], object);
}

static bool send_event(script_request *request, const mini_event *event) {
  char frame[4200];
  write_frame(frame, sizeof frame, event);
  return put(request, frame);
}

static void send_gone(script_request *request) {
  if (put(request, "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\","
                   "\"status\":\"Failure\",\"reason\":\"Expired\","
                   "\"message\":\"too old\",\"code\":410}}\n")) {
    script_request_end(request);
  }
}

static void refuse_stream(script_request *request) {
  if (script_request_head(request, 422) &&
      put(request, "{\"kind\":\"Status\",\"status\":\"Failure\","
                   "\"reason\":\"Invalid\",\"code\":422,"
                   "\"message\":\"sendInitialEvents is forbidden\"}")) {
    script_request_end(request);
  }
}

static void refuse_unknown(script_request *request) {
  if (script_request_head(request, 404) &&
      put(request, "404 page not found\n")) {
    script_request_end(request);
  }
}

/* All there is now, as ADDED. */
static void begin_stream(mini_server *server, script_request *request) {
  request->position = server->version;
  request->is_streaming = true;
  server->streams++;
  server->watches++;
  bool is_open = script_request_head(request, 200);
  for (int i = 0; i < MINI_OBJECTS && is_open; i++) {
    mini_event event = {'A', i, server->incarnations[i], server->padding[i],
                        server->versions[i]};
    if (server->versions[i] != 0 &&
        is_wanted(server, request, i, server->incarnations[i])) {
      is_open = send_event(request, &event);
    }
  }
}

static bool end_stream(mini_server *server, script_request *request) {
  if (!request->is_streaming || server->holds_bookmark) {
    return false;
  }
  char frame[256];
  snprintf(frame, sizeof frame,
           "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"Pod\",\"metadata\":{"
           "\"resourceVersion\":\"%" PRIu64 "\",\"annotations\":{"
           "\"k8s.io/initial-events-end\":\"true\"}}}}\n",
           request->position);
  request->is_streaming = false;
  put(request, frame);
  return true;
}

/* The next event, or all that wait. Returns whether there was any. */
static bool send_events(mini_server *server, script_request *request) {
  static char body[BODY_SIZE];
  size_t used = 0;
  for (int i = 0; i < server->event_count; i++) {
    const mini_event *event = &server->events[i];
    if (event->version <= request->position) {
      continue;
    }
    request->position = event->version;
    if (is_wanted(server, request, event->object, event->incarnation)) {
      used += write_frame(body + used, sizeof body - used, event);
      assert_true(used < sizeof body);
      if (!server->sends_together) {
        break;
      }
    }
  }
  if (used > 0) {
    script_request_body(request, body, used);
  }
  return used > 0;
}

/* Returns whether anything was sent. */
static bool serve_watch(mini_server *server, script_request *request) {
  bool is_stream = strstr(request->target, "sendInitialEvents=true") != NULL;
  if (request->position == 0 && is_stream) {
    if (server->refuses_streams) {
      refuse_stream(request);
    } else {
      begin_stream(server, request);
    }
    return true;
  }
  if (request->position == 0) {
    request->position = parameter(request, "resourceVersion=");
    server->watches++;
    if (script_request_head(request, 200) &&
        request->position < server->compacted) {
      send_gone(request);
    }
    return true;
  }
  return send_events(server, request) || end_stream(server, request);
}

static bool is_withheld(const mini_server *server,
                        const script_request *request) {
  return server->withholds != NULL && request->position == 0 &&
         request->is_watch == server->withholds_watches &&
         strstr(request->target, server->withholds) != NULL;
}

static bool is_own(const mini_server *server, const script_request *request) {
  return server->serves == NULL ||
         strstr(request->target, server->serves) != NULL;
}

/* Its own, and not one that the test answers or has begun to answer. */
static bool is_served(const mini_server *server,
                      const script_request *request) {
  return request != NULL && !request->is_paused && is_own(server, request) &&
         !is_withheld(server, request) &&
         (request->position != 0 || !request->has_head);
}

static bool serve_one(mini_server *server) {
  for (int i = 0; i < SCRIPT_MAX_REQUESTS; i++) {
    script_request *request = server->script->requests[i];
    if (!is_served(server, request)) {
      continue;
    }
    if (server->is_absent && request->position == 0) {
      refuse_unknown(request);
      return true;
    }
    if (!request->is_watch) {
      serve_list(server, request);
      return true;
    }
    if (serve_watch(server, request)) {
      return true;
    }
  }
  return false;
}

void mini_serve(mini_server *server) {
  script_run(server->script);
  while (serve_one(server)) {
    script_run(server->script);
  }
}

script_request *mini_await(mini_server *server) {
  for (int i = 0; i < 2000; i++) {
    mini_serve(server);
    for (int j = 0; j < SCRIPT_MAX_REQUESTS; j++) {
      script_request *request = server->script->requests[j];
      if (request != NULL && is_withheld(server, request)) {
        return request;
      }
    }
    script_advance(server->script, 100);
  }
  fail_msg("nothing asks for \"%s\"; the newest request was %s",
           server->withholds, server->script->last_target);
  return NULL;
}

void mini_pass(mini_server *server, uint64_t ms) {
  mini_serve(server);
  for (uint64_t passed = 0; passed < ms; passed += 50) {
    script_advance(server->script, 50);
    mini_serve(server);
  }
}

typedef struct open_watch {
  script_request *request;
  unsigned id;
} open_watch;

/* Copies, because the open requests change while they are served. */
static int open_watches(mini_server *server, open_watch *watches) {
  int count = 0;
  for (int i = 0; i < SCRIPT_MAX_REQUESTS; i++) {
    script_request *request = server->script->requests[i];
    if (request != NULL && request->is_watch && request->position != 0 &&
        is_own(server, request)) {
      watches[count++] = (open_watch){request, request->id};
    }
  }
  return count;
}

/* The end of one may close the others. */
static bool is_open(const mini_server *server, const open_watch *watch) {
  return script_is_open(server->script, watch->request, watch->id);
}

void mini_end_watches(mini_server *server) {
  open_watch watches[SCRIPT_MAX_REQUESTS];
  int count = open_watches(server, watches);
  for (int i = 0; i < count; i++) {
    if (is_open(server, &watches[i])) {
      script_request_end(watches[i].request);
    }
  }
}

void mini_expire_watches(mini_server *server) {
  open_watch watches[SCRIPT_MAX_REQUESTS];
  int count = open_watches(server, watches);
  for (int i = 0; i < count; i++) {
    if (is_open(server, &watches[i])) {
      send_gone(watches[i].request);
    }
  }
}

void mini_break_watches(mini_server *server) {
  open_watch watches[SCRIPT_MAX_REQUESTS];
  int count = open_watches(server, watches);
  for (int i = 0; i < count; i++) {
    if (is_open(server, &watches[i])) {
      script_break_request(watches[i].request, KIN_EEOF, KIN_CLASS_CONNECT);
    }
  }
}

void mini_bookmark(mini_server *server) {
  open_watch watches[SCRIPT_MAX_REQUESTS];
  int count = open_watches(server, watches);
  char frame[256];
  snprintf(frame, sizeof frame,
           "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"Pod\",\"metadata\":{"
           "\"resourceVersion\":\"%" PRIu64 "\"}}}\n",
           server->version);
  for (int i = 0; i < count; i++) {
    script_request *request = watches[i].request;
    /* A bookmark never overtakes an event. */
    if (is_open(server, &watches[i]) && !request->is_paused &&
        request->position == server->version) {
      put(request, frame);
    }
  }
}

int mini_count(const mini_server *server, const char *namespace_) {
  int count = 0;
  for (int i = 0; i < MINI_OBJECTS; i++) {
    bool is_in =
        namespace_[0] == '\0' || strcmp(namespace_, namespace_of(i)) == 0;
    count += server->versions[i] != 0 && is_in;
  }
  return count;
}
