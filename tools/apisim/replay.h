/* SPDX-License-Identifier: MIT */
#ifndef APISIM_REPLAY_H
#define APISIM_REPLAY_H

/* Benchmark mode: all pods, or a custom resource, from bytes rendered at the start. */

#include <stdbool.h>

#include "call.h"
#include "watch.h"

struct sim;
typedef struct replay replay;

/* Whether a resource can be replayed: pods, and custom resources. */
bool replay_can(const resource *res);
/* Of --replay-resource, which replay_can(). */
replay *replay_open(struct sim *s);
/* NULL is fine. */
void replay_close(replay *rp);
/* Answers a list or watch of all pods. False if it is not one, or there is no
 * replay; the caller then answers. */
bool replay_answer(const api_call *call);
/* Ends all replay watches; an expiry also makes every version known so far too
 * old. NULL is fine. Returns how many. */
size_t replay_end_watches(replay *rp, watch_end how);
/* Back to the state at the start. NULL is fine. */
void replay_reset(replay *rp);

#endif
