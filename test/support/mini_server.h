/* SPDX-License-Identifier: MIT */
#ifndef KIN_TEST_MINI_SERVER_H
#define KIN_TEST_MINI_SERVER_H

#include <stdbool.h>
#include <stdint.h>

#include "support/script_env.h"

/* A tiny API server behind a script_env: objects with versions, a history,
 * lists with pages, watches that resume, 410 after compaction. It answers
 * whatever is asked, so a flow may take any turn (a failed allocation, a cut)
 * and must still end with the truth. */

#define MINI_OBJECTS 24
#define MINI_EVENTS 256

typedef struct mini_event {
  char type; /* 'A', 'M' or 'D' */
  int object;
  int incarnation;
  int padding;
  uint64_t version;
} mini_event;

typedef struct mini_server {
  script_env *script;
  uint64_t version;                /* of the last change */
  uint64_t compacted;              /* a watch from before this gets 410 */
  uint64_t versions[MINI_OBJECTS]; /* 0: absent */
  int incarnations[MINI_OBJECTS];  /* part of the uid */
  int padding[MINI_OBJECTS]; /* bytes that an object has besides, up to 3,000,
                              * set before it is put */
  mini_event events[MINI_EVENTS];
  int event_count;
  bool honours_limit;     /* pages; off as with the watch cache and version 0 */
  bool refuses_streams;   /* a watch with sendInitialEvents: 422 */
  bool sends_together;    /* the events that wait for a watch, in one piece */
  bool holds_bookmark;    /* the initial events do not end yet */
  bool knows_shards;      /* shardSelector (KEP-5866); else it is ignored */
  bool is_absent;         /* it does not know the resource: 404 */
  const char *withholds;  /* requests whose target has this wait: the test
                           * answers them itself, see mini_await; NULL: none */
  bool withholds_watches; /* only watches of them; else only lists */
  const char *serves; /* a part of the targets that are its own; NULL: all */
  int lists;
  int watches; /* streams included */
  int streams;
} mini_server;

/* Object i is "even/p<i>" or "odd/p<i>". */
void mini_server_init(mini_server *server, script_env *script);

void mini_put(mini_server *server, int object); /* create or change */
/* Objects 0 to `count` - 1, in this order. */
void mini_put_first(mini_server *server, int count);
void mini_delete(mini_server *server, int object); /* must be there */
void mini_recreate(mini_server *server, int object);
void mini_compact(mini_server *server);
/* Sends 410 on all open watches: their position is lost. */
void mini_expire_watches(mini_server *server);
/* Ends or breaks all open watches. */
void mini_end_watches(mini_server *server);
void mini_break_watches(mini_server *server);
/* Sends a bookmark on all open watches that have seen everything. */
void mini_bookmark(mini_server *server);

/* Answers everything that is open and can be answered now. */
void mini_serve(mini_server *server);

/* Serves until a request that it withholds is open, and returns it; fails the
 * test if none comes. */
script_request *mini_await(mini_server *server);

/* Lets time pass in steps, serving in between. */
void mini_pass(mini_server *server, uint64_t ms);

/* Number of objects in a namespace, "" for all. */
int mini_count(const mini_server *server, const char *namespace_);

#endif /* KIN_TEST_MINI_SERVER_H */
