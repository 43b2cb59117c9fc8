/* SPDX-License-Identifier: MIT */
#ifndef KIN_SIM_NET_H
#define KIN_SIM_NET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/api.h"
#include "sim/sick.h"
#include "sim/text.h"
#include "support/script_env.h"

/* The network between the informers of a world and its API server. Each request
 * is a connection of its own with delays of its own, so independent ones
 * overtake each other; within one, bytes keep their order, arrive in pieces of
 * any size, and may stop coming at any byte: cut, reset, or for ever silent.
 *
 * It stands where the transport stands: a response without a byte for 30 s is
 * given up, a silent watch only if the world has a probe. */

/* How likely what goes wrong is, in percent of the requests. */
typedef struct sim_weather {
  unsigned refused;    /* no connection, no name, no TLS */
  unsigned denied;     /* an error status */
  unsigned garbled;    /* a body that no server should send */
  unsigned cut;        /* at any byte, sooner or later */
  unsigned stalled;    /* at any byte, for ever */
  uint32_t latency_us; /* of anything, at most */
  uint32_t piece; /* bytes that arrive at once, at most; 0: all there are */
  uint32_t lag;   /* revisions that a server's cache is behind, at most */
  bool has_probe; /* a silent watch is noticed after 40 s */
} sim_weather;

typedef struct sim_query {
  api_selection selection;
  bool is_watch;
  bool is_metadata;
  bool is_any;      /* resourceVersion=0 */
  bool is_at_least; /* resourceVersionMatch=NotOlderThan */
  bool is_exact;    /* resourceVersionMatch=Exact */
  bool is_stream;   /* sendInitialEvents=true */
  uint64_t version; /* 0: none, the newest is asked for */
  uint64_t limit;
  bool has_token;
  uint64_t token_version; /* of the list's first page */
  int token_object;       /* first one not given yet */
  uint64_t timeout_s;
} sim_query;

/* What a sickness belongs to. */
#define SIM_PATHS (API_NAMESPACES + 2)
static inline int sim_path(const api_selection *selection) {
  if (selection->is_nodes) {
    return API_NAMESPACES + 1;
  }
  return selection->namespace_ == API_NONE ? API_NAMESPACES
                                           : selection->namespace_;
}

typedef struct sim_conn {
  uint64_t id; /* 0: free; else the request's position */
  script_request *request;
  sim_query query;
  bool has_arrived; /* at the server, which has answered */
  bool is_head_given;
  int status;
  const char *content_type;
  int64_t retry_after_s;
  bool is_compressed;
  sim_text out;     /* what the server has sent */
  size_t given;     /* of it, what has arrived */
  bool is_complete; /* the server will send no more */
  int break_code;   /* the connection breaks then; 0: a proper end */
  kin_error_class break_class;
  size_t cut_at;   /* bytes; SIZE_MAX: never */
  size_t stall_at; /* bytes; SIZE_MAX: never */
  uint64_t next_ns;
  uint64_t silence_ns; /* given up then unless a byte comes */
  /* Of a watch. */
  uint64_t position; /* revision up to which events have been sent */
  uint64_t ends_ns;
  uint64_t bookmark_ns;
  uint64_t stream_ns; /* the bookmark that ends the initial events; UINT64_MAX:
                       * sent, or there are none */
  bool is_deaf;       /* it stays open and brings nothing more */
  unsigned error_after; /* events until an ERROR event; 0: none */
  /* Of a sick path. */
  sim_sickness sickness;
  uint64_t pace_ns;  /* between two bytes; 0: no limit */
  uint64_t delay_ns; /* of the head */
  uint64_t tick_ns;  /* more is sent then; UINT64_MAX: nothing */
  int next_object;
} sim_conn;

typedef struct sim_net {
  script_env *script;
  api *api;
  kin__random *random;
  sim_trace *trace;
  sim_weather weather;
  bool honours_limit;    /* as without a watch cache; RL-01 */
  bool gone_is_a_status; /* a watch from too long ago gets 410, not an event */
  bool items_have_kind;  /* a custom resource's do, a built-in type's do not */
  bool knows_streams;    /* lists come as watches, too */
  bool knows_shards;     /* else it sends the objects of all */
  bool has_odd_objects;  /* now and then one without a name, or a Table */
  bool repeats_events;   /* now and then */
  bool loses_bookmarks;  /* but those that end initial events */
  bool is_absent[2];     /* pods; nodes: the server does not know them */
  bool is_prompt;        /* a stream's list ends as soon as it is sent */
  bool is_down;          /* nobody listens: every connection is refused */
  uint64_t response_timeout_ns; /* the transport's: between two reads */
  sim_sickness sickness[SIM_PATHS];
  sim_conn conns[SCRIPT_MAX_REQUESTS];
  uint64_t last_id;
  uint64_t given_bytes; /* of bodies */
  uint64_t requests;
  uint64_t second;    /* in which .. */
  unsigned in_second; /* .. so many requests began that are no next pages */
  bool swallows_next; /* a mutation: the next watch event gets lost */
  bool has_swallowed;
  bool spoils_stream; /* a mutation: the next one lacks an object */
  bool has_spoiled;
} sim_net;

void sim_net_init(sim_net *net, script_env *script, api *server,
                  kin__random *random, sim_trace *trace);
void sim_net_finish(sim_net *net);

/* Takes notice of requests that were sent or cancelled; after anything of the
 * library has run. */
void sim_net_look(sim_net *net);
/* That many requests more than usual may come now. */
void sim_net_expect(sim_net *net, unsigned requests);
/* When something happens next, UINT64_MAX if nothing will. */
uint64_t sim_net_next_ns(const sim_net *net);
/* Lets one thing happen that is due; false if nothing is. */
bool sim_net_step(sim_net *net);

/* The server has written: watches learn of it. */
void sim_net_wake(sim_net *net);
/* Breaks some open connection, or all of them at once. */
void sim_net_break_one(sim_net *net);
void sim_net_break_all(sim_net *net);
/* The same, but for what sick paths were asked. */
void sim_net_break_healthy(sim_net *net);
/* The server ends some watch in good order. */
void sim_net_end_one(sim_net *net);
/* Some watch, or each, brings nothing more, and does not end. */
void sim_net_deafen_one(sim_net *net);
void sim_net_deafen_all(sim_net *net);
/* The server does not know a resource any more, or knows it again. */
void sim_net_set_absent(sim_net *net, bool is_nodes, bool is_absent);
/* All paths are healthy from now on; what sick ones were asked breaks. */
void sim_net_heal(sim_net *net);
/* A bookmark is due on all watches. */
void sim_net_bookmark(sim_net *net);

/* serve.c: the server's answer to a request that has arrived, and what a watch
 * has to send now; false if that is nothing. */
void sim_serve(sim_net *net, sim_conn *conn);
bool sim_serve_watch(sim_net *net, sim_conn *conn);
bool sim_query_parse(sim_query *query, const script_request *request);

#endif /* KIN_SIM_NET_H */
