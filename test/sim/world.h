/* SPDX-License-Identifier: MIT */
#ifndef KIN_SIM_WORLD_H
#define KIN_SIM_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#include <kin/expiring_store.h>
#include <kin/informer.h>

#include "base/gate.h"
#include "base/limiter.h"
#include "sim/api.h"
#include "sim/fold.h"
#include "sim/net.h"
#include "sim/trace.h"
#include "support/fail_alloc.h"
#include "support/script_env.h"

/* One simulated world, made of one seed: a server, a network, a memory that may
 * run out, a monotonic and a wall clock, and a few informers with the handlers
 * of a busy program on top of them. */

#define SIM_ACTORS 3
#define SIM_SCOPES API_NAMESPACES
#define SIM_HANDLERS 48
#define SIM_HELD 16
#define SIM_INDICES 4
#define SIM_WAITS 64
#define SIM_POOL 16

/* What the self-test spoils, to see that an oracle notices. */
typedef enum sim_mutation {
  SIM_MUTATE_NOTHING,
  SIM_MUTATE_DROP_EVENT,     /* a handler does not get an event */
  SIM_MUTATE_REPEAT_EVENT,   /* a handler gets an event twice */
  SIM_MUTATE_SECOND_SYNCED,  /* a handler is told synced twice */
  SIM_MUTATE_LATE_CALL,      /* a handler is called after its end */
  SIM_MUTATE_STORE_DELETE,   /* the cache loses an object */
  SIM_MUTATE_STORE_PUT,      /* the cache gets an old state of an object */
  SIM_MUTATE_LOSE_FRAME,     /* the network loses an event */
  SIM_MUTATE_INDEX,          /* an index function changes its mind */
  SIM_MUTATE_STATUS,         /* a counter goes back */
  SIM_MUTATE_HOLD_OBJECT,    /* a reference is never dropped */
  SIM_MUTATE_LEAVE_TIMER,    /* a timer is never stopped */
  SIM_MUTATE_EARLY_VERSION,  /* a version is told before it is cached */
  SIM_MUTATE_STREAM,         /* a list that comes as a watch lacks an object */
  SIM_MUTATE_KEY_ONLY,       /* of an object only the key is kept */
  SIM_MUTATE_DEAF,           /* nobody looks after a watch that went deaf */
  SIM_MUTATE_NO_TURNS,       /* a list keeps its place until it is complete */
  SIM_MUTATE_EARLY_RELISTED, /* relisted is told before a delete of its list */
  SIM_MUTATIONS
} sim_mutation;

typedef struct sim_options {
  bool is_traced;
  bool is_hashed;
  sim_mutation mutation;
} sim_options;

typedef struct sim_world sim_world;
typedef struct sim_actor sim_actor;

typedef struct sim_handler {
  sim_actor *actor;
  char name[16]; /* "2.h13" */
  kin_listener *listener;
  bool is_open; /* the handle may be used, and callbacks may come */
  bool is_paused;
  bool is_rowdy;      /* does things in its callbacks */
  uint32_t slow_us;   /* a callback takes up to this long */
  uint32_t resync_ms; /* 0: none */
  sim_fold fold;
} sim_handler;

/* What was last seen of a scope. */
typedef struct sim_scope {
  bool is_removed;       /* the rest but `removals` is void */
  unsigned removals;     /* of this namespace so far */
  kin_state state;       /* as told by on_state */
  bool is_stopped;       /* by the answer to an error */
  bool is_start_checked; /* that its list has seen start_version */
  kin_status last;
} sim_scope;

/* A place for an informer; one after the other lives in it. */
struct sim_actor {
  sim_world *world;
  unsigned number;
  kin_informer *informer; /* NULL: none */
  bool is_started;
  bool is_closing;
  unsigned closed;    /* close callbacks */
  unsigned on_closed; /* of the option */
  unsigned to_close;  /* how many of either there must be */
  unsigned to_on_closed;
  api_selection selection; /* namespace_ is each scope's own */
  size_t scope_count;      /* 1 with namespace "" if all_namespaces */
  bool all_namespaces;
  int namespaces[SIM_SCOPES];
  bool is_metadata;
  bool is_node_only; /* keeps /spec/nodeName only */
  bool keeps_managed;
  bool transforms;              /* drops /spec/text */
  bool refuses;                 /* its transform fails on some states */
  bool clears;                  /* clear_when_absent */
  uint32_t max_object_bytes;    /* 0: of all objects everything is kept */
  uint32_t stale_ms;            /* stale_after_ms */
  kin_memory_decision decision; /* on_max_bytes */
  uint64_t max_bytes;           /* 0: none */
  bool is_over;                 /* more was cached when the bound was lowered */
  bool is_memory_stopped;       /* by KIN_MEMORY_STOP */
  bool is_most_recent;
  uint64_t start_version; /* what its lists have to have seen; 0: nothing */
  bool has_synced;        /* it was seen so */
  bool has_index[SIM_INDICES];
  unsigned restores; /* the server's, when it was opened */
  sim_scope scopes[SIM_SCOPES];
};

/* A wait for a version, or a verification. */
typedef struct sim_wait {
  sim_actor *actor;
  size_t scope;
  bool is_open; /* to be told */
  bool is_verify;
  uint64_t version;  /* waited for, or the newest when it began */
  unsigned removals; /* its scope's, by then */
  unsigned restores; /* by then */
  uint64_t began_ms;
  uint64_t timeout_ms; /* 0: none */
} sim_wait;

/* Objects that were deleted not long ago, by the wall clock. */
typedef struct sim_graves {
  kin_expiring_store *store;
  bool is_there[API_OBJECTS];
  uint64_t put_ms[API_OBJECTS];
} sim_graves;

struct sim_world {
  uint64_t seed;
  sim_options options;
  kin__random random;
  sim_trace trace;
  fail_alloc memory;
  script_env script;
  bool stream_refused; /* what informers of one client know of the server */
  kin__byte_bound object_bytes;   /* of all informers */
  kin__pool_work *pool[SIM_POOL]; /* begun on other threads, and not done */
  unsigned pool_count;
  kin__gate lists; /* through which they make their lists, in some worlds */
  uint64_t list_turn_ms; /* of a list, while others wait for it */
  kin__limiter limiter;  /* of their requests, in some worlds */
  api api;
  sim_net net;
  sim_actor actors[SIM_ACTORS];
  sim_handler handlers[SIM_HANDLERS];
  unsigned handler_count; /* ever */
  sim_wait waits[SIM_WAITS];
  kin_object *held[SIM_HELD];
  int64_t wall_offset_ms; /* wall clock - monotonic clock */
  sim_graves graves;
  bool is_large; /* thousands of objects */
  bool is_rowdy;
  bool is_calm;    /* no more mischief */
  uint64_t work;   /* pieces of work done */
  uint64_t events; /* delivered */
  uint64_t quiet;  /* checks made while nothing was going on */
  /* The mutation: when it happens, and whether it has. */
  uint64_t mutate_at;
  bool has_mutated;
  bool is_relisting; /* the mutation waits for a delete of a relist */
  kin__timer left_timer;
  kin_object *left_object;
};

/* --- Chance --------------------------------------------------------------- */

uint64_t sim_below(sim_world *w, uint64_t bound);
bool sim_chance(sim_world *w, unsigned percent);

/* --- time.c: what happens by itself --------------------------------------- */

/* Lets everything happen that happens in the next `ms`. */
void sim_pass(sim_world *w, uint64_t ms);
/* Until no work is left for now. */
void sim_settle(sim_world *w);
/* Begins work of another thread, as env.start_work. */
int sim_pool_start(void *ctx, kin__pool_work *work);
bool sim_is_quiet(const sim_world *w);
uint64_t sim_now_ms(const sim_world *w);
uint64_t sim_wall_ms(const sim_world *w);

/* --- actor.c: informers --------------------------------------------------- */

void sim_actor_open(sim_actor *actor);
void sim_actor_start(sim_actor *actor);
void sim_actor_close(sim_actor *actor);
/* Legal use of it in any order. */
void sim_actor_meddle(sim_actor *actor);
static inline bool sim_actor_is_open(const sim_actor *actor) {
  return actor->informer != NULL && !actor->is_closing;
}
/* Whether its transform fails on that write. */
bool sim_is_refused(const sim_actor *actor, int write);
/* Whether that write is over its limit, so that only the key is kept. */
bool sim_is_oversized(const sim_actor *actor, int write);
/* "" or the namespace of a scope. */
const char *sim_scope_name(const sim_actor *actor, size_t scope);
api_selection sim_scope_selection(const sim_actor *actor, size_t scope);
/* The highest resource version that any scope goes on from, above `revision`;
 * UINT64_MAX if there is none. */
uint64_t sim_lowest_version_above(const sim_world *w, uint64_t revision);

/* --- options.c ------------------------------------------------------------ */

/* Chooses what the informer keeps and how it asks. `names` gets the scopes'. */
/* A resync period: a second and at most spread_ms more, in a large world
 * longer. */
uint32_t sim_resync_ms(sim_world *w, uint32_t spread_ms);
kin_informer_options sim_make_options(sim_actor *actor,
                                      const char *names[SIM_SCOPES]);

/* A bound for the objects' bytes, or none. */
void sim_set_max_bytes(sim_actor *actor, uint64_t max_bytes);
uint64_t sim_any_max_bytes(sim_actor *actor);

/* --- handler.c ------------------------------------------------------------ */

void sim_handler_join(sim_actor *actor);
/* The callback of all events; `data` is the handler. */
void sim_on_event(kin_informer *informer, const kin_event *event, void *data);
void sim_handler_leave(sim_handler *handler);
void sim_handler_pause(sim_handler *handler, bool is_paused);
/* Any open handler of the world, or NULL. */
sim_handler *sim_any_handler(sim_world *w);
/* The informer is gone, and its handlers' handles with it. */
void sim_handlers_gone(sim_actor *actor);
/* Keeps an object for a while. */
void sim_hold(sim_world *w, const kin_object *object);
void sim_release(sim_world *w, unsigned place);

/* --- index.c -------------------------------------------------------------- */

void sim_index_add(sim_actor *actor, unsigned which);
/* Indices equal what the objects say. */
void sim_check_indices(sim_actor *actor);

/* --- graves.c ------------------------------------------------------------- */

void sim_graves_init(sim_world *w);
void sim_graves_bury(sim_world *w, const kin_object *object);
void sim_graves_check(sim_world *w);
void sim_graves_finish(sim_world *w);

/* --- version.c ------------------------------------------------------------ */

/* Waits for some version, or verifies. */
void sim_wait_for_version(sim_actor *actor);
/* Verifies all scopes. */
void sim_verify(sim_actor *actor);
/* A scope's cache holds everything up to a version. */
void sim_check_version(sim_actor *actor, size_t scope, uint64_t version);
/* What the handler has been told is everything up to the version of a list that
 * it is told of now: nothing is yet to be deleted or added because of it. */
void sim_check_told(sim_handler *handler, const kin_event *event);
/* In the calm, and at the very end. */
void sim_check_waits(sim_world *w);
/* Whether a wait for a version, or a verification, is open. */
bool sim_has_wait(const sim_actor *actor);
void sim_check_no_waits(sim_world *w);

/* --- oracle.c ------------------------------------------------------------- */

/* What must hold whenever nothing is going on. */
void sim_check_quiet(sim_world *w);
/* What must hold when the world has been calm for long. */
void sim_check_truth(sim_world *w);
/* Watches stay open and bring nothing more: who looks after them, or is told
 * to, finds the truth all the same. */
void sim_check_deaf(sim_world *w);
void sim_check_resyncs(sim_world *w);
/* What is cached of a scope is what the server has, `in_ms` after something
 * happened; `when` says what. */
void sim_check_scope(sim_actor *actor, size_t scope, const char *when,
                     uint64_t in_ms);
/* A status counter may only grow; called with every status read. */
void sim_check_status(sim_actor *actor, size_t scope);

/* --- neighbours.c --------------------------------------------------------- */

/* Some paths of the server are sick: the others sync within the stated time,
 * and so does everything when all are healthy again. */
void sim_check_neighbours(sim_world *w);
/* The server restarts, maybe several times within minutes: every cache is right
 * ten seconds after the last time. */
void sim_check_restarts(sim_world *w);

/* --- mutate.c ------------------------------------------------------------- */

const char *sim_mutation_name(sim_mutation mutation);
/* The handler that is watched over: it never leaves, so that what is spoiled
 * for it cannot be forgotten. */
bool sim_is_witness(const sim_handler *handler);
/* Between the library and a handler: spoils an event if it is time to. Returns
 * whether the handler gets it. */
bool sim_mutate_event(sim_handler *handler, const kin_event *event);
/* In the calm, before the oracles look; at the very end. */
void sim_mutate_calm(sim_world *w);
void sim_mutate_end(sim_world *w);

/* --- life.c --------------------------------------------------------------- */

/* Runs the world of a seed from its beginning to its end. */
void sim_live(sim_world *w, uint64_t seed, const sim_options *options);

#endif /* KIN_SIM_WORLD_H */
