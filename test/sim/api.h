/* SPDX-License-Identifier: MIT */
#ifndef KIN_SIM_API_H
#define KIN_SIM_API_H

#include <stdbool.h>
#include <stdint.h>

#include <kin/str.h>

#include "base/random.h"
#include "listwatch/shard.h"
#include "sim/trace.h"

/* What a simulated API server stores: two resources (pods in three namespaces,
 * nodes without one) behind one revision, as in etcd. Every write is kept for
 * ever, so that an oracle can ask whether an object that a handler was shown
 * has ever been one; `timeline` is the history that holds now, which a restore
 * from a backup cuts back. Nothing here knows of requests. */

#define API_NAMESPACES 3
#define API_NODES 5 /* objects 0 to 4; the others are pods */
#define API_PODS 27
#define API_CROWD 2600 /* pods of a large world */
#define API_OBJECTS (API_NODES + API_CROWD)
#define API_WRITES 12000
#define API_APPS 3
#define API_NODE_NAMES 4
#define API_IMAGES 5
#define API_SHARDS 4 /* into so many, at most */
#define API_NONE (-1)

/* One change of one object, and the object's state after it. */
typedef struct api_write {
  uint64_t revision; /* its resourceVersion */
  int object;
  int incarnation; /* part of the uid */
  int previous; /* the write before it, API_NONE if the object was not there */
  bool is_delete;
  uint8_t app;    /* label */
  uint8_t node;   /* spec.nodeName */
  uint8_t images; /* of spec.containers: a set of bits */
  uint8_t style;  /* how its JSON is written */
  uint16_t padding;
} api_write;

typedef struct api {
  kin__random *random;
  sim_trace *trace;
  api_write writes[API_WRITES];
  int write_count;
  int timeline[API_WRITES]; /* writes, by revision */
  int length;
  int objects;                   /* of this world, at most API_OBJECTS */
  int current[API_OBJECTS];      /* the write an object is at, or API_NONE */
  int incarnations[API_OBJECTS]; /* ever */
  uint64_t revision;
  uint64_t compacted; /* a list exactly at what was before this gets 410 */
  uint64_t watchable; /* the same for a watch: the watch cache begins here */
  uint64_t floor;     /* what was before it no cache shows any more */
  unsigned restores;
} api;

/* What a list or a watch covers. */
typedef struct api_selection {
  bool is_nodes;
  int namespace_;   /* API_NONE: all */
  int app;          /* label selector; API_NONE: none */
  kin__shard shard; /* count 0: all */
} api_selection;

void api_init(api *server, kin__random *random, sim_trace *trace, int pods);

/* Whether there is room for so many writes. */
bool api_may_write(const api *server, int count);

/* Creates, changes, deletes or re-creates some object. */
void api_change(api *server);
/* Creates or changes it. */
void api_put(api *server, int object);
/* Deletes it, if it is there. */
void api_delete(api *server, int object);

/* Forgets the history up to now, or up to a while ago; watches may still begin
 * in it, from the cache. */
void api_compact(api *server);
/* A new process: its watch cache begins now, maybe at a version that no watch
 * has seen, though nothing was missed. Older versions may still be listed. */
void api_restart(api *server);
/* The same, at the version that the server has. */
void api_restart_in_place(api *server);
/* Everything is as it was at `revision`; what was written since is lost. If
 * `is_marked`, the operator took care that no version is ever given twice: the
 * revision is raised far above and the history compacted. */
void api_restore(api *server, uint64_t revision, bool is_marked);

/* The first place of the timeline after a revision. */
int api_after(const api *server, uint64_t revision);
/* The write each object was at. */
void api_state_at(const api *server, uint64_t revision, int state[API_OBJECTS]);

/* Whether an object at that write (API_NONE: not there) is selected. */
bool api_selects(const api *server, const api_selection *selection, int write);
/* Whether an object can be selected at all, whatever its labels are. */
bool api_covers(const api_selection *selection, int object);

const char *api_namespace(int namespace_);
int api_namespace_of(int object);
/* "b/p4" or "n2". */
void api_key(int object, char key[16]);
/* API_NONE if it is no key of ours. */
int api_object_of(kin_str key);
void api_uid(const api_write *write, char uid[24]);

#endif /* KIN_SIM_API_H */
