/* SPDX-License-Identifier: MIT */
#include "sim/net.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MS UINT64_C(1000000)
#define SECOND (1000 * MS)
/* Until a silent watch has been probed in vain. */
#define PROBE_TIMEOUT (40 * SECOND)
/* Requests, next pages apart, that the world's informers may begin in one
 * second: each has at most three scopes, and a scope may fall back twice. */
#define STORM 60u
/* A server gives a watch up whose client does not read. */
#define MAX_BACKLOG 3000000u

static uint64_t now_ns(const sim_net *net) {
  return net->script->now_ns;
}

static uint64_t below(sim_net *net, uint64_t bound) {
  return kin__random_below(net->random, bound);
}

static bool chance(sim_net *net, unsigned percent) {
  return below(net, 100) < percent;
}

static uint64_t later(sim_net *net) {
  return now_ns(net) + 1000 * (1 + below(net, net->weather.latency_us));
}

void sim_net_init(sim_net *net, script_env *script, api *server,
                  kin__random *random, sim_trace *trace) {
  *net = (sim_net){.script = script,
                   .api = server,
                   .random = random,
                   .trace = trace,
                   .response_timeout_ns = 30 * SECOND,
                   .weather = {.latency_us = 5000}};
}

static void forget(sim_conn *conn) {
  sim_text_free(&conn->out);
  *conn = (sim_conn){0};
}

void sim_net_finish(sim_net *net) {
  for (int i = 0; i < SCRIPT_MAX_REQUESTS; i++) {
    forget(&net->conns[i]);
  }
}

/* --- Requests come and go ------------------------------------------------- */

/* A cancelled request is gone, and its memory may be another one's by now. */
static bool is_open(const sim_net *net, const sim_conn *conn) {
  for (int i = 0; i < SCRIPT_MAX_REQUESTS; i++) {
    const script_request *request = net->script->requests[i];
    if (request != NULL && request == conn->request &&
        request->position == conn->id) {
      return true;
    }
  }
  return false;
}

static bool is_stalled(const sim_conn *conn) {
  return conn->given >= conn->stall_at;
}

static bool is_open_watch(const sim_conn *conn) {
  return conn->query.is_watch && conn->is_head_given && conn->status == 200;
}

static void set_silence(sim_net *net, sim_conn *conn) {
  if (!is_open_watch(conn)) {
    conn->silence_ns = now_ns(net) + net->response_timeout_ns;
  } else {
    conn->silence_ns =
        net->weather.has_probe ? now_ns(net) + PROBE_TIMEOUT : UINT64_MAX;
  }
}

/* When a response is given up, unless a byte comes before. A watch that has
 * only nothing to say is not: a probe of it is answered. */
static uint64_t given_up_ns(const sim_conn *conn) {
  bool is_idle = is_open_watch(conn) && !is_stalled(conn);
  return is_idle ? UINT64_MAX : conn->silence_ns;
}

/* Nobody may ask again and again without a pause (RF-05). */
static void count_request(sim_net *net, const sim_conn *conn) {
  net->requests++;
  if (conn->query.has_token) {
    return;
  }
  uint64_t second = now_ns(net) / SECOND;
  net->in_second = second == net->second ? net->in_second + 1 : 1;
  net->second = second;
  SIM_CHECK(net->trace, net->in_second <= STORM,
            "a storm: %u requests in a second", net->in_second);
}

void sim_net_expect(sim_net *net, unsigned requests) {
  net->in_second -= net->in_second < requests ? net->in_second : requests;
}

static void choose_fate(sim_net *net, sim_conn *conn) {
  const sim_weather *weather = &net->weather;
  conn->cut_at = conn->stall_at = SIZE_MAX;
  if (chance(net, weather->cut)) {
    conn->cut_at = (size_t)below(net, 1u << below(net, 14));
  }
  if (chance(net, weather->stalled)) {
    conn->stall_at = (size_t)below(net, 1u << below(net, 14));
  }
}

static void accept_request(sim_net *net, script_request *request) {
  sim_conn *conn = net->conns;
  while (conn->id != 0) {
    conn++;
  }
  *conn = (sim_conn){.id = ++net->last_id, .request = request};
  request->position = conn->id;
  sim_say(net->trace, "conn %" PRIu64 " GET %s", conn->id, request->target);
  if (!sim_query_parse(&conn->query, request)) {
    sim_fail(net->trace, "a request nobody understands: %s", request->target);
  }
  if (!net->knows_shards) {
    conn->query.selection.shard = (kin__shard){0, 0};
  }
  conn->sickness = net->sickness[sim_path(&conn->query.selection)];
  choose_fate(net, conn);
  conn->content_type = "application/json";
  conn->retry_after_s = -1;
  conn->tick_ns = UINT64_MAX;
  conn->next_ns = later(net);
  set_silence(net, conn);
  count_request(net, conn);
}

void sim_net_look(sim_net *net) {
  for (int i = 0; i < SCRIPT_MAX_REQUESTS; i++) {
    sim_conn *conn = &net->conns[i];
    if (conn->id != 0 && !is_open(net, conn)) {
      sim_say(net->trace, "conn %" PRIu64 " cancelled", conn->id);
      forget(conn);
    }
  }
  for (int i = 0; i < SCRIPT_MAX_REQUESTS; i++) {
    script_request *request = net->script->requests[i];
    if (request != NULL && request->position == 0) {
      accept_request(net, request);
    }
  }
}

/* --- What arrives --------------------------------------------------------- */

/* Ends the exchange, error NULL for a proper end. */
static void end(sim_net *net, sim_conn *conn,
                const kin__exchange_error *error) {
  script_env *script = net->script;
  script_request *request = conn->request;
  const kin__exchange_callbacks *callbacks = request->callbacks;
  void *ctx = request->ctx;
  sim_say(net->trace, "conn %" PRIu64 " %s%s", conn->id,
          error != NULL ? "breaks: " : "ends",
          error != NULL ? kin_err_name(error->code) : "");
  for (int i = 0; i < SCRIPT_MAX_REQUESTS; i++) {
    if (script->requests[i] == request) {
      script->requests[i] = NULL;
    }
  }
  free(request);
  forget(conn);
  callbacks->on_end(ctx, error);
}

static void break_conn(sim_net *net, sim_conn *conn, int code,
                       kin_error_class error_class) {
  kin__exchange_error error = {.code = code,
                               .error_class = error_class,
                               .status = code == KIN_ESTATUS ? 302 : 0,
                               .had_head = conn->is_head_given};
  snprintf(error.message, sizeof error.message, "the simulated network: %s",
           kin_err_name(code));
  end(net, conn, &error);
}

static void refuse(sim_net *net, sim_conn *conn) {
  static const struct {
    int code;
    kin_error_class error_class;
  } reasons[] = {
      {KIN_ERESOLVE, KIN_CLASS_DNS},      {KIN_EEOF, KIN_CLASS_CONNECT},
      {KIN_ETIMEDOUT, KIN_CLASS_CONNECT}, {KIN_ETLS, KIN_CLASS_TLS},
      {KIN_ETOKEN, KIN_CLASS_AUTH},       {KIN_ENOMEM, KIN_CLASS_MEMORY},
      {KIN_ESTATUS, KIN_CLASS_SERVER}, /* a redirect */
      {KIN_EHTTP, KIN_CLASS_PROTOCOL}};
  uint64_t i = below(net, sizeof reasons / sizeof reasons[0]);
  break_conn(net, conn, reasons[i].code, reasons[i].error_class);
}

static void give_head(sim_net *net, sim_conn *conn) {
  kin__response_head head = {
      .status = conn->status,
      .content_type = {conn->content_type, strlen(conn->content_type)},
      .retry_after_s = conn->retry_after_s,
      .is_identity = !conn->is_compressed,
      /* All come from one server, but for what a proxy has lost. */
      .connection = conn->is_deaf ? 1 + conn->id : 1};
  conn->is_head_given = true;
  conn->next_ns = later(net);
  set_silence(net, conn);
  sim_say(net->trace, "conn %" PRIu64 " %d %s", conn->id, conn->status,
          conn->content_type);
  conn->request->callbacks->on_head(conn->request->ctx, &head);
}

static void give_bytes(sim_net *net, sim_conn *conn) {
  size_t count = conn->out.length - conn->given;
  if (net->weather.piece > 0) {
    uint64_t piece = 1 + below(net, net->weather.piece);
    /* Large bodies in tiny pieces would take long and show nothing new. */
    piece = count > 200000 ? count / 4 : piece;
    count = piece < count ? (size_t)piece : count;
  }
  if (conn->pace_ns > 0) {
    count = 1;
  }
  if (conn->cut_at - conn->given < count) {
    count = conn->cut_at - conn->given;
  }
  if (conn->stall_at > conn->given && conn->stall_at - conn->given < count) {
    count = conn->stall_at - conn->given;
  }
  const char *bytes = conn->out.data + conn->given;
  conn->given += count;
  conn->next_ns = later(net) + conn->pace_ns;
  set_silence(net, conn);
  net->given_bytes += count;
  sim_say(net->trace, "conn %" PRIu64 " %zu bytes", conn->id, count);
  /* What was given is dropped first, so that a long watch stays small; the
   * bytes in hand are a copy of exactly their length, so that reading beyond
   * them is found. */
  char *copy = malloc(count > 0 ? count : 1);
  if (copy == NULL) {
    abort();
  }
  memcpy(copy, bytes, count);
  conn->request->callbacks->on_body(conn->request->ctx, copy, count);
  free(copy);
}

/* A watch has given all that was sent: more, or a wait. */
static void feed_watch(sim_net *net, sim_conn *conn) {
  if (sim_serve_watch(net, conn)) {
    conn->next_ns = later(net);
    return;
  }
  uint64_t due_ns = conn->tick_ns;
  if (conn->status == 200) {
    due_ns = conn->ends_ns < due_ns ? conn->ends_ns : due_ns;
    due_ns = conn->bookmark_ns < due_ns ? conn->bookmark_ns : due_ns;
    due_ns = conn->stream_ns < due_ns ? conn->stream_ns : due_ns;
  }
  conn->next_ns = due_ns;
}

/* One thing happens on a connection. */
static void advance(sim_net *net, sim_conn *conn) {
  if (now_ns(net) >= given_up_ns(conn)) {
    break_conn(net, conn, KIN_ETIMEDOUT, KIN_CLASS_PROTOCOL);
  } else if (!conn->has_arrived) {
    if (net->is_down) {
      break_conn(net, conn, KIN_EEOF, KIN_CLASS_CONNECT);
      return;
    }
    if (chance(net, net->weather.refused)) {
      refuse(net, conn);
      return;
    }
    conn->has_arrived = true;
    sim_serve(net, conn);
    conn->next_ns = later(net) + conn->delay_ns;
  } else if (!conn->is_head_given) {
    give_head(net, conn);
  } else if (conn->given >= conn->cut_at) {
    break_conn(net, conn, KIN_EEOF, KIN_CLASS_CONNECT);
  } else if (conn->given < conn->out.length) {
    give_bytes(net, conn);
  } else if (!conn->is_complete) {
    feed_watch(net, conn);
  } else if (conn->break_code != 0) {
    break_conn(net, conn, conn->break_code, conn->break_class);
  } else {
    end(net, conn, NULL);
  }
}

/* A paused connection is not read, and nothing times out on it. */
static uint64_t due_ns(const sim_conn *conn) {
  if (conn->id == 0 || conn->request->is_paused) {
    return UINT64_MAX;
  }
  uint64_t end_ns = given_up_ns(conn);
  return is_stalled(conn) || end_ns < conn->next_ns ? end_ns : conn->next_ns;
}

uint64_t sim_net_next_ns(const sim_net *net) {
  uint64_t next_ns = UINT64_MAX;
  for (int i = 0; i < SCRIPT_MAX_REQUESTS; i++) {
    uint64_t due = due_ns(&net->conns[i]);
    next_ns = due < next_ns ? due : next_ns;
  }
  return next_ns;
}

bool sim_net_step(sim_net *net) {
  sim_conn *due[SCRIPT_MAX_REQUESTS];
  unsigned count = 0;
  for (int i = 0; i < SCRIPT_MAX_REQUESTS; i++) {
    if (due_ns(&net->conns[i]) <= now_ns(net)) {
      due[count++] = &net->conns[i];
    }
  }
  if (count == 0) {
    return false;
  }
  advance(net, due[below(net, count)]);
  sim_net_look(net);
  return true;
}

/* --- What the world does to it -------------------------------------------- */

void sim_net_wake(sim_net *net) {
  for (int i = 0; i < SCRIPT_MAX_REQUESTS; i++) {
    sim_conn *conn = &net->conns[i];
    if (conn->id == 0 || !conn->query.is_watch || !conn->has_arrived ||
        conn->is_complete) {
      continue;
    }
    if (conn->given == conn->out.length) {
      uint64_t soon = later(net);
      conn->next_ns = soon < conn->next_ns ? soon : conn->next_ns;
    } else if (conn->request->is_paused || chance(net, 50)) {
      /* The server does not wait for what it has sent to arrive. */
      (void)sim_serve_watch(net, conn);
      if (conn->out.length - conn->given > MAX_BACKLOG) {
        conn->is_complete = true;
        conn->break_code = KIN_EEOF;
        conn->break_class = KIN_CLASS_CONNECT;
      }
    }
  }
}

static sim_conn *any_conn(sim_net *net, bool is_watch) {
  sim_conn *found[SCRIPT_MAX_REQUESTS];
  unsigned count = 0;
  for (int i = 0; i < SCRIPT_MAX_REQUESTS; i++) {
    sim_conn *conn = &net->conns[i];
    bool is_open_watch = conn->query.is_watch && conn->has_arrived;
    if (conn->id != 0 && (!is_watch || is_open_watch)) {
      found[count++] = conn;
    }
  }
  return count > 0 ? found[below(net, count)] : NULL;
}

void sim_net_break_one(sim_net *net) {
  sim_conn *conn = any_conn(net, false);
  if (conn != NULL) {
    break_conn(net, conn, KIN_EEOF, KIN_CLASS_CONNECT);
    sim_net_look(net);
  }
}

/* Those that are open now, if they are what is asked for. */
static void break_some(sim_net *net, bool breaks_healthy, bool breaks_sick) {
  uint64_t last = net->last_id;
  for (int i = 0; i < SCRIPT_MAX_REQUESTS; i++) {
    sim_conn *conn = &net->conns[i];
    bool is_sick = conn->sickness != SIM_HEALTHY;
    if (conn->id != 0 && conn->id <= last && is_open(net, conn) &&
        (is_sick ? breaks_sick : breaks_healthy)) {
      break_conn(net, conn, KIN_EEOF, KIN_CLASS_CONNECT);
    }
  }
  sim_net_look(net);
}

void sim_net_break_all(sim_net *net) {
  break_some(net, true, true);
}

void sim_net_break_healthy(sim_net *net) {
  break_some(net, true, false);
}

void sim_net_end_one(sim_net *net) {
  sim_conn *conn = any_conn(net, true);
  if (conn != NULL && !conn->is_deaf) {
    conn->is_complete = true;
    conn->next_ns = later(net);
  }
}

/* It does not end in good order either: who is told by a server that a watch's
 * time is over may take it that nothing was left to send. */
static void deafen(sim_conn *conn) {
  conn->ends_ns = UINT64_MAX;
  conn->is_deaf = true;
  conn->bookmark_ns = conn->stream_ns = UINT64_MAX;
}

void sim_net_deafen_one(sim_net *net) {
  sim_conn *conn = any_conn(net, true);
  if (conn != NULL) {
    sim_say(net->trace, "conn %" PRIu64 " goes deaf", conn->id);
    deafen(conn);
  }
}

void sim_net_deafen_all(sim_net *net) {
  for (int i = 0; i < SCRIPT_MAX_REQUESTS; i++) {
    sim_conn *conn = &net->conns[i];
    if (conn->id != 0 && conn->query.is_watch && conn->has_arrived) {
      deafen(conn);
    }
  }
}

void sim_net_set_absent(sim_net *net, bool is_nodes, bool is_absent) {
  sim_say(net->trace, "api has %s %s", is_absent ? "no" : "the",
          is_nodes ? "nodes" : "pods");
  net->is_absent[is_nodes] = is_absent;
  for (int i = 0; is_absent && i < SCRIPT_MAX_REQUESTS; i++) {
    sim_conn *conn = &net->conns[i];
    if (conn->id != 0 && conn->query.is_watch && conn->has_arrived &&
        conn->query.selection.is_nodes == is_nodes) {
      conn->is_complete = true;
      conn->next_ns = later(net);
    }
  }
}

void sim_net_heal(sim_net *net) {
  memset(net->sickness, 0, sizeof net->sickness);
  break_some(net, false, true);
}

void sim_net_bookmark(sim_net *net) {
  for (int i = 0; i < SCRIPT_MAX_REQUESTS; i++) {
    sim_conn *conn = &net->conns[i];
    if (conn->id != 0 && conn->query.is_watch && conn->has_arrived &&
        !conn->is_deaf) {
      conn->bookmark_ns = now_ns(net);
    }
  }
  sim_net_wake(net);
}
