/* SPDX-License-Identifier: MIT */
#include "sim/net.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the API server answers. Lists show one revision on all their pages,
 * which need not be the newest; watches send what came after a version,
 * translated by the selector. The rules are those of the real one's watch cache
 * and etcd. */

#define SECOND UINT64_C(1000000000)
#define BOOKMARK_NS (60 * SECOND)

static uint64_t below(sim_net *net, uint64_t bound) {
  return kin__random_below(net->random, bound);
}

static bool chance(sim_net *net, unsigned percent) {
  return below(net, 100) < percent;
}

/* --- Requests ------------------------------------------------------------- */

static const char *parameter(const char *target, const char *name) {
  const char *at = strstr(target, name);
  return at != NULL ? at + strlen(name) : NULL;
}

static uint64_t number(const char *target, const char *name) {
  const char *at = parameter(target, name);
  return at != NULL ? strtoull(at, NULL, 10) : 0;
}

/* Whether the path ends with this. */
static bool is_rest(const char *target, const char *rest) {
  size_t length = strlen(rest);
  return strncmp(target, rest, length) == 0 &&
         (target[length] == '?' || target[length] == '\0');
}

static bool parse_path(sim_query *query, const char *target) {
  static const char namespaced[] = "/api/v1/namespaces/";
  query->selection = (api_selection){.namespace_ = API_NONE, .app = API_NONE};
  if (is_rest(target, "/api/v1/pods")) {
    return true;
  }
  if (is_rest(target, "/api/v1/nodes")) {
    query->selection.is_nodes = true;
    return true;
  }
  if (strncmp(target, namespaced, sizeof namespaced - 1) != 0) {
    return false;
  }
  const char *rest = target + sizeof namespaced - 1;
  query->selection.namespace_ = rest[0] - 'a';
  return rest[0] >= 'a' && rest[0] < 'a' + API_NAMESPACES &&
         is_rest(rest + 1, "/pods");
}

/* The shard whose selector this is, in its own words. */
static kin__shard parse_shard(const char *target) {
  const char *at = strstr(target, "shardSelector=");
  for (uint32_t i = 0; at != NULL && i < API_SHARDS * (API_SHARDS + 1); i++) {
    const kin__shard shard = {i % API_SHARDS, 2 + i / API_SHARDS};
    char text[KIN__SHARD_SELECTOR_SIZE];
    char begin[24];
    char end[24];
    if (shard.index >= shard.count) {
      continue;
    }
    kin__shard_selector(&shard, text);
    if (sscanf(text, "shardRange(object.metadata.uid, '%23[^']', '%23[^']')",
               begin, end) == 2 &&
        strstr(at, begin) != NULL && strstr(at, end) != NULL) {
      return shard;
    }
  }
  return (kin__shard){0, 0};
}

bool sim_query_parse(sim_query *query, const script_request *request) {
  const char *target = request->target;
  *query = (sim_query){.is_watch = request->is_watch};
  if (!parse_path(query, target)) {
    return false;
  }
  const char *app = parameter(target, "labelSelector=app%3Da");
  if (app != NULL) {
    query->selection.app = atoi(app);
  }
  query->selection.shard = parse_shard(target);
  const char *version = parameter(target, "resourceVersion=");
  query->is_any = version != NULL && version[0] == '0';
  query->version = version != NULL ? strtoull(version, NULL, 10) : 0;
  query->is_at_least = strstr(target, "Match=NotOlderThan") != NULL;
  query->is_exact = strstr(target, "Match=Exact") != NULL;
  query->is_stream = strstr(target, "sendInitialEvents=true") != NULL;
  query->limit = number(target, "limit=");
  query->timeout_s = number(target, "timeoutSeconds=");
  query->is_metadata = strstr(request->accept, "PartialObject") != NULL;
  const char *token = parameter(target, "continue=r");
  if (token != NULL) {
    char *end;
    query->has_token = true;
    query->token_version = strtoull(token, &end, 10);
    query->token_object = atoi(end + 1);
  }
  return (strstr(target, "watch=true") != NULL) == request->is_watch;
}

/* --- Errors --------------------------------------------------------------- */

static void answer_status(sim_net *net, sim_conn *conn, int code,
                          const char *reason, const char *message,
                          const char *more) {
  conn->status = code;
  conn->is_complete = true;
  sim_text_status(&conn->out, code, reason, message, more);
  (void)net;
}

static void deny(sim_net *net, sim_conn *conn) {
  static const struct {
    int code;
    const char *reason;
  } answers[] = {{401, "Unauthorized"},     {403, "Forbidden"},
                 {404, "NotFound"},         {429, "TooManyRequests"},
                 {500, "InternalError"},    {503, "ServiceUnavailable"},
                 {504, "Timeout"},          {410, "Expired"},
                 {500, "StorageReadError"}, {400, "BadRequest"},
                 {502, "a proxy's"},        {422, "Invalid"}};
  uint64_t i = below(net, sizeof answers / sizeof answers[0]);
  int code = answers[i].code;
  const char *more =
      chance(net, 50) ? "" : "\"details\":{\"retryAfterSeconds\":3},";
  if ((code == 429 || code >= 500) && chance(net, 60)) {
    conn->retry_after_s = (int64_t)below(net, 40);
  }
  if (code == 502 || chance(net, 10)) {
    conn->status = code;
    conn->is_complete = true;
    conn->content_type = "text/html";
    sim_text_add(&conn->out, "<html>%d</html>", code);
    return;
  }
  answer_status(net, conn, code, answers[i].reason, "by chance", more);
}

static void garble(sim_net *net, sim_conn *conn) {
  static const char *const bodies[] = {
      "",
      "nonsense",
      "{",
      "[]",
      "null",
      "{\"items\":[1]}",
      "{\"items\":[{\"metadata\":{\"name\":\"p1\",",
      "{\"kind\":\"Status\",\"status\":\"Failure\",\"code\":500}",
      "{\"type\":\"ADDED\",\"object\":{\"metadata\":",
      "{\"type\":\"ADDED\",\"object\":{}}",
      "{\"type\":\"NEW\",\"object\":{\"metadata\":{\"name\":\"p1\"}}}",
      "{\"type\":\"MODIFIED\",\"object\":[[[[[[[[[[",
      "{\"type\":\"ERROR\",\"object\":{}}"};
  conn->status = 200;
  conn->is_complete = true;
  switch (below(net, 6)) {
  case 0:
    conn->content_type = "application/vnd.kubernetes.protobuf";
    break;
  case 1:
    conn->is_compressed = true;
    break;
  default:
    break;
  }
  sim_text_add(&conn->out, "%s",
               bodies[below(net, sizeof bodies / sizeof bodies[0])]);
}

static void answer_too_large(sim_net *net, sim_conn *conn) {
  conn->retry_after_s = 1;
  answer_status(net, conn, 504, "Timeout",
                "Timeout: Too large resource version: 9, current: 1",
                "\"details\":{\"causes\":[{\"reason\":"
                "\"ResourceVersionTooLarge\",\"message\":"
                "\"Too large resource version\"}],\"retryAfterSeconds\":1},");
}

static void answer_gone(sim_net *net, sim_conn *conn) {
  answer_status(net, conn, 410, "Expired",
                "The provided continue parameter is too old", "");
}

static void answer_absent(sim_net *net, sim_conn *conn) {
  answer_status(net, conn, 404, "NotFound",
                "the server could not find the requested resource", "");
}

/* What has no name, or is no object, stops nothing (RW-08). */
static void add_odd_object(sim_net *net, sim_conn *conn, bool is_event) {
  static const char *const objects[] = {
      "{\"metadata\":{}}",
      "{\"metadata\":{\"name\":\"\",\"uid\":\"u\",\"resourceVersion\":\"7\"}}",
      "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"spec\":{\"nodeName\":\"n1\"}}",
      "{\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/v1\",\"rows\":[]}"};
  static const char *const types[] = {"ADDED", "MODIFIED", "DELETED"};
  uint64_t i = below(net, sizeof objects / sizeof objects[0]);
  if (is_event) {
    sim_text_add(&conn->out, "{\"type\":\"%s\",\"object\":%s}\n",
                 types[below(net, 3)], objects[i]);
  } else {
    sim_text_add(&conn->out, "%s", objects[i]);
  }
}

static bool is_odd(sim_net *net) {
  return net->has_odd_objects && chance(net, 10);
}

/* --- Lists ---------------------------------------------------------------- */

/* Which revision a list shows; false if it has been answered with an error.
 *
 * | resourceVersion | match        | limit | shown                          |
 * |-----------------|--------------|-------|--------------------------------|
 * | none            | none         | any   | the newest                     |
 * | 0               | none         | any   | any; the limit may be ignored  |
 * | N               | none         | none  | N or later                     |
 * | N               | none         | yes   | exactly N, as long as it is    |
 * |                 |              |       | not compacted                  |
 * | N               | NotOlderThan | any   | N or later                     |
 * | N               | Exact        | any   | exactly N, the same            |
 *
 * A continue token is for the revision of the first page. A stream has
 * NotOlderThan and no limit. */
static bool choose_revision(sim_net *net, sim_conn *conn, uint64_t *revision) {
  const api *server = net->api;
  const sim_query *query = &conn->query;
  bool is_exact = query->is_exact ||
                  (query->limit > 0 && !query->is_any && !query->is_at_least);
  *revision = server->revision;
  if (query->has_token) {
    *revision = query->token_version;
  } else if (query->version > server->revision) {
    answer_too_large(net, conn);
    return false;
  } else if (is_exact && query->version > 0) {
    *revision = query->version;
  } else if (query->is_any || query->version > 0) {
    uint64_t oldest = server->revision - below(net, net->weather.lag);
    oldest = oldest > server->floor ? oldest : server->floor;
    *revision = oldest > query->version ? oldest : query->version;
    return true;
  }
  if (*revision < server->compacted || *revision > server->revision) {
    answer_gone(net, conn);
    return false;
  }
  return true;
}

static void add_items(sim_net *net, sim_conn *conn, const int *state,
                      uint64_t limit, int *next) {
  const api *server = net->api;
  const sim_query *query = &conn->query;
  uint64_t count = 0;
  int i = query->token_object;
  if (is_odd(net)) {
    add_odd_object(net, conn, false);
    count++;
    limit += limit > 0;
  }
  for (; i < server->objects && (limit == 0 || count < limit); i++) {
    if (!api_selects(server, &query->selection, state[i])) {
      continue;
    }
    const api_write *write = &server->writes[state[i]];
    sim_text_add(&conn->out, "%s", count++ > 0 ? "," : "");
    sim_text_object(&conn->out, write, state[i], write->revision,
                    query->is_metadata ? SIM_FORM_METADATA : SIM_FORM_FULL,
                    query->is_metadata || net->items_have_kind);
  }
  while (i < server->objects &&
         !api_selects(server, &query->selection, state[i])) {
    i++;
  }
  *next = i;
}

static void add_list_metadata(sim_conn *conn, uint64_t revision, bool has_more,
                              int next) {
  sim_text_add(&conn->out, "\"metadata\":{\"resourceVersion\":\"%" PRIu64 "\"",
               revision);
  if (has_more) {
    sim_text_add(&conn->out,
                 ",\"continue\":\"r%" PRIu64 "-%d\",\"remainingItemCount\":1",
                 revision, next);
  }
  sim_text_add(&conn->out, "}");
}

static void answer_list(sim_net *net, sim_conn *conn) {
  const api *server = net->api;
  const sim_query *query = &conn->query;
  uint64_t revision;
  if (!choose_revision(net, conn, &revision)) {
    return;
  }
  int state[API_OBJECTS];
  api_state_at(server, revision, state);
  uint64_t limit = query->is_any && !net->honours_limit ? 0 : query->limit;
  bool is_endless = conn->sickness == SIM_SICK_PAGES;
  limit = is_endless ? 1 : limit;
  conn->status = 200;
  conn->is_complete = true;
  /* A custom resource's list has its items first, a built-in type's last. The
   * token is known when the items are written: they are written aside. */
  sim_text head = conn->out;
  conn->out = (sim_text){0};
  int next;
  add_items(net, conn, state, limit, &next);
  bool has_more = next < server->objects || is_endless;
  sim_text items = conn->out;
  conn->out = head;
  const char *body = items.data != NULL ? items.data : "";
  if (chance(net, 50)) {
    sim_text_add(&conn->out, "{\"apiVersion\":\"v1\",\"items\":[%s],", body);
    add_list_metadata(conn, revision, has_more, next);
    sim_text_add(&conn->out, ",\"kind\":\"PodList\"}");
  } else {
    sim_text_add(&conn->out, "{\"kind\":\"PodList\",\"apiVersion\":\"v1\",");
    add_list_metadata(conn, revision, has_more, next);
    sim_text_add(&conn->out, ",\"items\":[%s]}\n", body);
  }
  sim_text_free(&items);
}

/* --- Watches -------------------------------------------------------------- */

static void send_error(sim_conn *conn, int code, const char *reason,
                       const char *message, const char *more) {
  sim_text_add(&conn->out, "{\"type\":\"ERROR\",\"object\":");
  sim_text_status(&conn->out, code, reason, message, more);
  sim_text_add(&conn->out, "}\n");
  conn->is_complete = true;
}

static void begin_watch(sim_net *net, sim_conn *conn, uint64_t revision) {
  conn->status = 200;
  conn->position = revision;
  conn->ends_ns = net->script->now_ns + conn->query.timeout_s * SECOND;
  conn->bookmark_ns = net->script->now_ns + 1 + below(net, BOOKMARK_NS);
  conn->stream_ns = UINT64_MAX;
  if (chance(net, net->weather.garbled)) {
    conn->error_after = 1 + (unsigned)below(net, 6);
  } else if (chance(net, net->weather.garbled / 2)) {
    conn->ends_ns = net->script->now_ns + below(net, SECOND); /* a short one */
  }
}

/* A list that comes as a watch: what there was at one revision, then what came
 * after it, and somewhere in between a bookmark. */
static void open_stream(sim_net *net, sim_conn *conn) {
  const api *server = net->api;
  uint64_t revision;
  if (!net->knows_streams) {
    answer_status(
        net, conn, 422, "Invalid",
        "sendInitialEvents: Forbidden: sendInitialEvents is forbidden "
        "for watch unless the WatchList feature gate is enabled",
        "");
    return;
  }
  if (!choose_revision(net, conn, &revision)) {
    return;
  }
  int state[API_OBJECTS];
  api_state_at(server, revision, state);
  begin_watch(net, conn, revision);
  for (int i = 0; i < server->objects; i++) {
    if (api_selects(server, &conn->query.selection, state[i])) {
      const api_write *write = &server->writes[state[i]];
      if (net->spoils_stream) {
        net->spoils_stream = false;
        net->has_spoiled = true;
        continue;
      }
      if (is_odd(net)) {
        add_odd_object(net, conn, true);
      }
      sim_text_event(&conn->out, "ADDED", write, state[i], write->revision,
                     conn->query.is_metadata);
    }
  }
  bool is_late = !net->is_prompt && chance(net, 20) && !net->has_spoiled;
  conn->stream_ns =
      net->script->now_ns + (is_late ? below(net, 20 * SECOND) : 0);
  if (chance(net, net->weather.garbled / 2)) {
    conn->stream_ns = UINT64_MAX; /* the bookmark never comes */
  }
}

static void open_watch(sim_net *net, sim_conn *conn) {
  const sim_query *query = &conn->query;
  bool is_gone = query->version < net->api->watchable;
  if (is_gone && net->gone_is_a_status) {
    answer_gone(net, conn);
    return;
  }
  begin_watch(net, conn, query->version);
  if (is_gone) {
    send_error(conn, 410, "Expired", "too old resource version: 1 (2)", "");
  }
}

/* The event that a selector makes of a write; false if it makes none. */
static bool send_write(sim_net *net, sim_conn *conn, int i) {
  const api *server = net->api;
  const api_selection *selection = &conn->query.selection;
  const api_write *write = &server->writes[i];
  bool was_in = api_selects(server, selection, write->previous);
  bool is_in = api_selects(server, selection, i);
  if (!was_in && !is_in) {
    return false;
  }
  if (net->swallows_next) {
    net->swallows_next = false;
    net->has_swallowed = true;
    return false;
  }
  const char *type = !was_in ? "ADDED" : is_in ? "MODIFIED" : "DELETED";
  int shown = is_in ? i : write->previous;
  int times = net->repeats_events && chance(net, 20) ? 2 : 1;
  for (; times > 0; times--) {
    sim_text_event(&conn->out, type, &server->writes[shown], shown,
                   write->revision, conn->query.is_metadata);
  }
  if (is_odd(net)) {
    add_odd_object(net, conn, true);
  }
  return true;
}

static void send_any_error(sim_net *net, sim_conn *conn) {
  static const char retry[] = "\"details\":{\"retryAfterSeconds\":2},";
  static const struct {
    int code;
    const char *reason;
    const char *more;
  } errors[] = {{500, "InternalError", ""},
                {500, "InternalError", retry},
                {500, "StorageReadError", ""},
                {410, "Gone", ""},
                {410, "Expired", ""},
                {429, "TooManyRequests", ""},
                {429, "TooManyRequests", retry},
                {504, "Timeout", retry},
                {503, "ServiceUnavailable", ""},
                {403, "Forbidden", ""}};
  static const char *const odd[] = {
      /* clang takes a split string without brackets for a lost comma. */
      ("{\"type\":\"ERROR\",\"object\":{\"kind\":\"Pod\",\"apiVersion\":\"v1\","
       "\"metadata\":{\"name\":\"p1\",\"namespace\":\"a\"}}}\n"),
      "{\"type\":\"ERROR\",\"object\":{}}\n",
      "{\"type\":\"ERROR\",\"object\":null}\n", "{\"type\":\"ERROR\"}\n",
      "{\"type\":\"ADDED\",\"object\":{\"metadata\":{]"};
  if (chance(net, 30)) {
    sim_text_add(&conn->out, "%s", odd[below(net, sizeof odd / sizeof odd[0])]);
    conn->is_complete = true;
    return;
  }
  uint64_t i = below(net, sizeof errors / sizeof errors[0]);
  send_error(conn, errors[i].code, errors[i].reason, "by chance",
             errors[i].more);
}

/* What the watch has not been sent yet, up to a few events at a time. */
static bool send_events(sim_net *net, sim_conn *conn) {
  const api *server = net->api;
  bool has_sent = false;
  bool is_large = server->objects > API_NODES + API_PODS;
  for (int i = api_after(server, conn->position);
       i < server->length && !conn->is_complete; i++) {
    const api_write *write = &server->writes[server->timeline[i]];
    if (has_sent && !is_large && chance(net, 20)) {
      break;
    }
    conn->position = write->revision;
    if (!send_write(net, conn, server->timeline[i])) {
      continue;
    }
    has_sent = true;
    if (conn->error_after > 0 && --conn->error_after == 0) {
      send_any_error(net, conn);
    }
  }
  return has_sent;
}

/* A bookmark never overtakes an event, and is not sent below the watch's own
 * version. */
static bool send_bookmark(sim_net *net, sim_conn *conn) {
  const api *server = net->api;
  conn->bookmark_ns = net->script->now_ns + BOOKMARK_NS;
  if (server->revision < conn->position) {
    return false;
  }
  conn->position = server->revision;
  if (net->loses_bookmarks && chance(net, 70)) {
    return true;
  }
  for (uint64_t n = 1 + (chance(net, 10) ? 1 : 0); n > 0; n--) {
    sim_text_bookmark(&conn->out, server->revision, false);
  }
  return true;
}

static bool end_stream(sim_conn *conn) {
  conn->stream_ns = UINT64_MAX;
  sim_text_bookmark(&conn->out, conn->position, true);
  return true;
}

bool sim_serve_watch(sim_net *net, sim_conn *conn) {
  if (!conn->is_complete && sim_sick_go_on(net, conn)) {
    return true;
  }
  if (conn->is_complete || conn->status != 200) {
    return false;
  }
  if (!conn->is_deaf && send_events(net, conn)) {
    return true;
  }
  if (net->script->now_ns >= conn->ends_ns) {
    conn->is_complete = true;
    return true;
  }
  if (net->script->now_ns >= conn->stream_ns) {
    return end_stream(conn);
  }
  return net->script->now_ns >= conn->bookmark_ns && send_bookmark(net, conn);
}

static void serve_as_healthy(sim_net *net, sim_conn *conn) {
  if (chance(net, net->weather.denied)) {
    deny(net, conn);
  } else if (net->is_absent[conn->query.selection.is_nodes]) {
    answer_absent(net, conn);
  } else if (chance(net, net->weather.garbled / 2)) {
    garble(net, conn);
  } else if (conn->query.is_stream) {
    open_stream(net, conn);
  } else if (conn->query.is_watch) {
    open_watch(net, conn);
  } else {
    answer_list(net, conn);
  }
}

void sim_serve(sim_net *net, sim_conn *conn) {
  if (sim_sick_answer(net, conn)) {
    return;
  }
  serve_as_healthy(net, conn);
  sim_sick_spoil(net, conn);
}
