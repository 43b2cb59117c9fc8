/* SPDX-License-Identifier: MIT */
#ifndef KIN_SIM_FOLD_H
#define KIN_SIM_FOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kin/handler.h>

#include "sim/api.h"

/* What one handler has been told, added up, and the rules that every single
 * event must obey (SI-11 to SI-13, SI-20, SY-01, EH-03): no add of what is
 * there, no update or delete of what is not, the old object of an update is the
 * one that was delivered last, initial adds come before synced and synced comes
 * once, a resync changes nothing, an object is one that the server once had,
 * and time does not go backwards for a key as long as it does not for the
 * server. */

typedef enum sim_filter {
  SIM_FILTER_NONE,
  SIM_FILTER_APP, /* app=a1: changes of an object lead in and out */
  SIM_FILTER_ODD  /* objects of odd number */
} sim_filter;

typedef enum sim_interest {
  SIM_INTEREST_ALL,
  SIM_INTEREST_NO_UPDATES, /* adds and deletes */
  SIM_INTEREST_UPDATES     /* nothing can be folded */
} sim_interest;

typedef struct sim_fold {
  const api *api;
  sim_trace *trace;
  const char *name; /* of the handler, for messages */
  sim_filter filter;
  sim_interest interest;
  bool relist_updates;
  bool loses_scopes;     /* namespaces may be removed from its informer */
  bool is_cleared;       /* its informer clears its cache when there is a 404 */
  int seen[API_OBJECTS]; /* write, or API_NONE */
  uint32_t resyncs[API_OBJECTS];
  size_t count;
  unsigned synced;
  uint64_t events;
} sim_fold;

/* `fold` is zero-initialized. */
void sim_fold_init(sim_fold *fold, const api *server, sim_trace *trace,
                   const char *name);

/* Checks an event and adds it. */
void sim_fold_take(sim_fold *fold, const kin_event *event);

/* Whether the filter lets an object through. Reads resident members only, so it
 * needs no memory and always answers the same. */
bool sim_filter_accepts(sim_filter filter, const kin_object *object);

/* The write an object shows; API_NONE, and a failure, unless the server has
 * ever had it just so. `is_last_state`: a deleted one, whose version may be
 * that of its deletion. */
int sim_write_of(const api *server, sim_trace *trace, const kin_object *object,
                 bool is_last_state);

#endif /* KIN_SIM_FOLD_H */
