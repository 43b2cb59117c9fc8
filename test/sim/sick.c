/* SPDX-License-Identifier: MIT */
#include "sim/sick.h"

#include "sim/net.h"

#define MS UINT64_C(1000000)
#define SECOND (1000 * MS)
/* Below the time after which a response without a byte is given up. */
#define LONGEST_PACE (10 * SECOND)

const char *sim_sickness_name(sim_sickness sickness) {
  static const char *const names[SIM_SICKNESSES] = {
      [SIM_HEALTHY] = "healthy",
      [SIM_SICK_NO_HEAD] = "no head",
      [SIM_SICK_TRICKLE] = "trickle",
      [SIM_SICK_PAGES] = "endless pages",
      [SIM_SICK_EVENTS] = "endless events",
      [SIM_SICK_BOOKMARKS] = "endless bookmarks",
      [SIM_SICK_ERROR_BODY] = "endless error bodies",
      [SIM_SICK_THROTTLED] = "429",
      [SIM_SICK_FAILING] = "500",
  };
  return names[sickness];
}

/* Slow enough that no list ends before its sickness does. */
static uint64_t some_pace(sim_net *net) {
  return SECOND + kin__random_below(net->random, LONGEST_PACE);
}

static uint64_t some_time(sim_net *net, uint64_t longest_ns) {
  return MS + kin__random_below(net->random, longest_ns);
}

static void begin_error(sim_net *net, sim_conn *conn, int code,
                        const char *reason) {
  conn->status = code;
  conn->is_complete = true;
  if (kin__random_below(net->random, 2) == 0) {
    conn->retry_after_s = (int64_t)kin__random_below(net->random, 3);
  }
  sim_text_status(&conn->out, code, reason, "for ever", "");
}

bool sim_sick_answer(sim_net *net, sim_conn *conn) {
  switch (conn->sickness) {
  case SIM_SICK_NO_HEAD:
    conn->stall_at = 0;
    return true;
  case SIM_SICK_ERROR_BODY:
    begin_error(net, conn, 500, "InternalError");
    conn->is_complete = false;
    conn->tick_ns = net->script->now_ns + some_time(net, SECOND);
    return true;
  case SIM_SICK_THROTTLED:
    begin_error(net, conn, 429, "TooManyRequests");
    return true;
  case SIM_SICK_FAILING:
    begin_error(net, conn, 500, "InternalError");
    return true;
  default:
    return false;
  }
}

/* The list's end is never told; a list that is asked for instead trickles. */
static void spoil_stream(sim_net *net, sim_conn *conn) {
  if (!conn->query.is_watch) {
    conn->pace_ns = some_pace(net);
  } else if (conn->query.is_stream) {
    conn->stream_ns = conn->ends_ns = UINT64_MAX;
    conn->tick_ns = net->script->now_ns + some_time(net, SECOND);
  }
}

void sim_sick_spoil(sim_net *net, sim_conn *conn) {
  switch (conn->sickness) {
  case SIM_SICK_TRICKLE:
    conn->pace_ns = some_pace(net);
    break;
  case SIM_SICK_PAGES:
    conn->delay_ns = some_time(net, SECOND);
    break;
  case SIM_SICK_EVENTS:
  case SIM_SICK_BOOKMARKS:
    spoil_stream(net, conn);
    break;
  default:
    break;
  }
}

/* Some object that is there, as it was when the stream began. */
static void send_object(sim_net *net, sim_conn *conn) {
  const api *server = net->api;
  for (int tries = 0; tries < server->objects; tries++) {
    int object = conn->next_object++ % server->objects;
    int write = server->current[object];
    if (api_selects(server, &conn->query.selection, write) &&
        server->writes[write].revision <= conn->position) {
      sim_text_event(&conn->out, "ADDED", &server->writes[write], write,
                     server->writes[write].revision, conn->query.is_metadata);
      return;
    }
  }
}

bool sim_sick_go_on(sim_net *net, sim_conn *conn) {
  if (net->script->now_ns < conn->tick_ns) {
    return false;
  }
  size_t length = conn->out.length;
  conn->tick_ns = net->script->now_ns + some_time(net, SECOND);
  if (conn->sickness == SIM_SICK_EVENTS) {
    send_object(net, conn);
  } else if (conn->sickness == SIM_SICK_BOOKMARKS) {
    sim_text_bookmark(&conn->out, conn->position, false);
  } else {
    sim_text_add(&conn->out, "%*s", 100, "");
  }
  return conn->out.length > length;
}
