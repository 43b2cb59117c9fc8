/* SPDX-License-Identifier: MIT */
#ifndef KIN_CONNECT_LATE_CORE_H
#define KIN_CONNECT_LATE_CORE_H

#include "base/fork.h"
#include "base/link.h"
#include "connect/late.h"
#include "transport/exchange.h"

/* Shared by the files of a late route: late_call.c has its exchanges, late.c the
 * search for a server and the servers. */

/* An exchange as its owner knows it: it waits for a server, or runs. */
typedef struct kin__late_call {
  kin__link node; /* in a list of late's, or a retired's */
  kin__late *late;
  struct kin__retired *old; /* the replaced server that it runs on; or NULL */
  kin__exchange *exchange;  /* NULL while it waits */
  kin__request request;     /* its texts follow the struct */
  kin__exchange_callbacks callbacks;
  void *ctx;
  uint32_t server_address; /* of the server that it runs on */
  uint32_t generation;     /* of that server, see kin__late */
  bool is_paused;          /* while it waits */
} kin__late_call;

/* A server that was replaced. Its watches are broken, other exchanges go on to
 * their end, and then it is closed. */
typedef struct kin__retired {
  kin__link node; /* in late.retired */
  kin__late *late;
  kin__server *server;
  kin__link calls; /* not looked at yet */
  kin__link rest;  /* exchanges that go on */
  bool is_closing;
  kin__task task;
} kin__retired;

struct kin__late {
  kin__server_place place; /* with the log below */
  kin__log log;            /* the client's, but for the text of a problem */
  char problem[KIN__PROBLEM_SIZE];
  kin_client_options options; /* of the program, without a server */
  char *proxy_authority_file; /* a member of these; owned */
  uint32_t connect_timeout_ms;
  kin__finder finder;
  kin__server *server; /* NULL: none was found yet */
  uint32_t generation; /* servers that were replaced */
  uint32_t address;    /* of the servers so far: 1, 2, ... */
  kin__link waiting;
  kin__link served; /* no longer wait, and have not begun */
  kin__task serving;
  kin__exchange_error failure; /* of the last search */
  kin__link running;
  uint64_t searched_ms; /* when the last search ended */
  bool has_searched;    /* a search has ended */
  bool is_searching;
  bool is_slow;        /* requests no longer wait if there is a server */
  kin__timer due;      /* a search begins */
  kin__timer patience; /* requests no longer wait for a search */
  bool is_doubted;     /* other settings may cure the last failure */
  bool is_unref;
  bool is_finder_closed;
  kin__link retired;
  kin__server_stats past; /* of servers that are gone */
  kin__fork_mark fork_mark;
  void (*close_cb)(void *ctx);
  void *close_ctx;
};

/* A copy of the request that has not begun; NULL without memory. */
kin__late_call *kin__late_make_call(kin__late *late,
                                    const kin__request *request);
/* Starts a call at the server in use. Errors: as kin__exchange_start. */
int kin__late_start_call(kin__late_call *call);
void kin__late_free_call(kin__late_call *call);
/* Frees the call, then tells its owner of the end. */
void kin__late_end_call(kin__late_call *call, const kin__exchange_error *error);

/* Of kin__transport_ops. */
void kin__late_cancel(void *call);
void kin__late_pause(void *call);
void kin__late_resume(void *call);

#endif /* KIN_CONNECT_LATE_CORE_H */
