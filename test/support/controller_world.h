/* SPDX-License-Identifier: MIT */
#ifndef KIN_TEST_CONTROLLER_WORLD_H
#define KIN_TEST_CONTROLLER_WORLD_H

#include <kin/controller.h>

#include "support/change_log.h"
#include "support/virtual_host.h"

/* A controller in a virtual host, and what it told. */
typedef enum cw_kind {
  CW_IN_ORDER, /* only handlers; its own queue and store */
  CW_DELTA,
  CW_QUEUE_FIFO, /* a queue, and kin_process_deltas into the test's store */
  CW_QUEUE_DELTA,
  CW_QUEUE_IN_ORDER,
  CW_QUEUE_BATCHES,
  CW_KINDS
} cw_kind;

typedef struct cw_world {
  cw_kind kind;
  virtual_host vh;
  kin_controller *controller; /* NULL before and after */
  kin_controller_options options;
  kin_informer_options resource;
  kin_queue_options queue_options; /* of CW_QUEUE_ kinds */
  kin_queue *queue;
  kin_store *store; /* the controller's or the test's */
  change_log log;

  bool is_closing; /* cw_close or cw_close_host has been called */
  unsigned calls;  /* of anything of the program's but pure functions */
  unsigned act_at; /* the call that does `act`; 0: none */
  void (*act)(struct cw_world *w);

  unsigned errors;
  int last_status;
  unsigned process_errors;
  int process_error;
  bool was_retried;
  char error_key[64];
  unsigned synced;
  unsigned closed; /* by the callback of kin_controller_close */
  unsigned on_closed;
  /* Makes the processing of each key that begins so fail, so often. */
  const char *failing_key;
  unsigned failures_left;
} cw_world;

/* Fills in the options, which may be changed before it is opened. `fail_at`:
 * see fail_alloc; 0 for never. */
void cw_init(cw_world *w, cw_kind kind, size_t fail_at);
/* Opens it and starts it. */
int cw_open(cw_world *w);
/* All at once: a controller that has told of the server's one object, even/p0.
 * The server's later changes come in one piece. */
void cw_open_with_one(cw_world *w, cw_kind kind);
/* All at once: a controller that retries on errors and has synced with an empty
 * server. Processing of `key` fails from now on, `failures` times. */
void cw_open_failing(cw_world *w, cw_kind kind, const char *key,
                     unsigned failures);
/* Closes whatever is open, and fails the test if anything is left. */
void cw_finish(cw_world *w);

/* Things to do in a callback. */
void cw_close(cw_world *w);
void cw_close_host(cw_world *w);

/* The store is what the server has, and so is what handlers were told. */
void cw_assert_truth(const cw_world *w);

/* The sweeps of a flow. `story` opens the controller and lets everything happen
 * to it; an error of the open is its result. After the story, and after each
 * lack of memory, `check` holds. */
typedef struct cw_sweep {
  void (*init)(cw_world *w, cw_kind kind, size_t fail_at);
  int (*story)(cw_world *w);
  void (*check)(const cw_world *w);
} cw_sweep;

/* On each kind: any one allocation fails. */
void cw_sweep_allocations(const cw_sweep *sweep);
/* Memory stays out for a while, from the n-th allocation on, n below `most`. */
void cw_sweep_outages(const cw_sweep *sweep, size_t most);
/* The controller, or its host, is closed in each callback. */
void cw_sweep_closes(const cw_sweep *sweep);

/* The number in the name "p<number>" of an object of the server. */
int cw_number(const kin_object *object);

#endif /* KIN_TEST_CONTROLLER_WORLD_H */
