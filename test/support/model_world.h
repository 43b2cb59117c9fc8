/* SPDX-License-Identifier: MIT */
#ifndef KIN_TEST_MODEL_WORLD_H
#define KIN_TEST_MODEL_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/random.h"
#include "listwatch/shard.h"
#include "support/informer_world.h"

#define MODEL_LISTENERS 4
#define MODEL_NAMES 3

/* Namespaces; the server has objects in the first two. */
extern const char *const model_names[MODEL_NAMES];

/* An informer's world at random: the steps that every model of an informer
 * takes, and what must hold at the end. All choices follow from `random`. */
typedef struct model_world {
  iw_world w;
  kin__random random;
  bool is_calm; /* callbacks change nothing any more */

  recorder listeners[MODEL_LISTENERS];
  bool is_listening[MODEL_LISTENERS];
  bool is_paused[MODEL_LISTENERS];

  bool has[MODEL_NAMES]; /* the model of the namespaces */
  bool is_stopped[MODEL_NAMES];
  bool names_change; /* set by model_open */
  uint64_t changes;  /* of namespaces */
  unsigned act_in;   /* so many steps of the scheduler until namespaces change;
                     * 0: they do not */
  kin__shard shard;  /* of the informer; zeros: it has all */
  bool may_close;    /* a change of namespaces may be the informer's close */
  bool is_closed;
} model_world;

/* iw_init, with random numbers from the seed. */
void model_init(model_world *m, uint64_t seed);
uint64_t model_below(model_world *m, uint64_t bound);

/* The moves that the steps of every model choose from. */
typedef enum model_move {
  MODEL_CHANGE_OBJECT,
  MODEL_BREAK_WATCHES,
  MODEL_END_WATCHES,
  MODEL_BREAK_REQUEST, /* of the first three places, if open */
  MODEL_COMPACT,
  MODEL_BOOKMARK,
  MODEL_SPLIT, /* how responses are cut from now on */
  MODEL_LIMIT, /* whether the server honours it from now on */
  MODEL_CHANGE_LISTENER,
  MODEL_CHANGE_NAMESPACES, /* now */
  MODEL_ACT,               /* the same, some steps of the scheduler later */
  MODEL_LOSE_MEMORY,       /* one time in four */
  MODEL_MOVES              /* from here on, moves of a model's own */
} model_move;

void model_make(model_world *m, model_move move);
/* Half of the times, lets some time pass. */
void model_rest(model_world *m);

void model_change_object(model_world *m);
/* Every call of the listener may change namespaces, after model_open. */
void model_listen(model_world *m, size_t listener);
void model_change_listener(model_world *m);
void model_run_out_of_memory(model_world *m);

void model_add(model_world *m, size_t name);
void model_drop(model_world *m, size_t name);
void model_change_namespaces(model_world *m);
/* Counts act_in down in each step of the scheduler. */
void model_act_between_steps(model_world *m);
/* Opens the informer in a random part of the namespaces, with one listener, and
 * starts it. */
void model_open(model_world *m, kin_informer_options *options);

/* Memory is back, and no listener is paused. */
void model_calm_down(model_world *m);
/* Time enough for every backoff. */
void model_pass(model_world *m);

/* What each listener was told is the store. */
void model_check_listeners(const model_world *m);
/* The informer has the namespaces that the model has; all have synced and are
 * live, or also stale. */
void model_check_namespaces(const model_world *m, bool may_be_stale);
/* The store has what the server has in namespaces and shard. Versions that
 * `refused` (0: none) divides may be missing. */
void model_check_store(const model_world *m, uint64_t refused);

#endif /* KIN_TEST_MODEL_WORLD_H */
