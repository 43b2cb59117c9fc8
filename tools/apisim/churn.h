/* SPDX-License-Identifier: MIT */
#ifndef APISIM_CHURN_H
#define APISIM_CHURN_H

/* Changes to the generated pods: a steady rate, and bursts on request. Of the
 * mixed changes 80 % modify a pod, 10 % create and 10 % delete one. */

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "podgen.h"

struct sim;

typedef enum churn_kind {
  CHURN_MIX,
  CHURN_MODIFY,
  CHURN_CREATE,
  CHURN_DELETE,
} churn_kind;

typedef struct burst {
  struct burst *next;
  uint64_t left;
  uint64_t made; // changes so far; less than asked for if pods ran out
  churn_kind kind;
  void (*done)(void *data); // after the last change
  void *data;
} burst;

typedef struct churn {
  struct sim *sim;
  podgen gen;
  uint64_t next_index; // of the next pod to create
  char **keys;         // of pods we made and believe alive
  size_t count, cap;
  double rate; // events per second
  double owed;
  uint64_t last_ns;
  uv_timer_t timer;
  uv_idle_t idle; // runs while bursts are left
  burst *bursts;
} churn;

/* Makes the first pods and starts at rate. */
void churn_open(churn *ch, struct sim *s, uint64_t pods, double rate);
void churn_close(churn *ch);
void churn_set_rate(churn *ch, double rate);
/* Makes count changes, some per loop iteration, then calls done. Without pods
 * CHURN_MODIFY and CHURN_DELETE change nothing, and CHURN_MIX creates. */
burst *churn_burst(churn *ch, uint64_t count, churn_kind kind,
                   void (*done)(void *data), void *data);
/* Forgets the callback of a burst that is not done. */
void churn_forget(burst *b);

#endif
