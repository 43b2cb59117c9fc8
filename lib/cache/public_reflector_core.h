/* SPDX-License-Identifier: MIT */
#ifndef KIN_CACHE_PUBLIC_REFLECTOR_CORE_H
#define KIN_CACHE_PUBLIC_REFLECTOR_CORE_H

#include "feed/feed.h"
#include "feed/http_source.h"
#include "feed/settings.h"
#include "cache/public_reflector.h"

/* Shared by the two files of the public reflector: changes, life and the public
 * functions are in public_reflector.c, lists and resyncs in
 * public_reflector_list.c. */

#define KIN__LIST_STEP 64u /* objects */

/* The progress of the list that is being applied. */
typedef enum kin__list_phase {
  KIN__LIST_IDLE = 0,
  KIN__LIST_GATHERING, /* stage -> objects */
  KIN__LIST_REPLACING, /* objects -> the program's store; repeated if memory is
                        * out */
  KIN__LIST_DROPPING,  /* objects are freed; then the feed gets `result` */
} kin__list_phase;

struct kin_reflector {
  kin__member member;
  const kin__env *env;
  kin_reflector_options options; /* only numbers and callbacks are used */
  kin_reflector_store store;
  kin__settings settings;
  kin__http_source http;
  kin__silence silence;
  kin_feed feed;
  char *description;
  char *name; /* may be the same pointer */

  kin__task task;
  kin__timer apply_timer;
  kin__timer resync_timer;
  kin__link paused; /* holds the feed iff the feed must not read */

  kin__list_phase phase;
  kin_object **objects; /* the current list's, with one reference each */
  size_t count;
  const kin__list_taker *taker; /* NULL: the list is gathered and replaced */
  bool has_begun;               /* the taker's begin has succeeded */
  bool is_waiting;              /* the list waits for room */
  bool has_bad;                 /* an object of this list was skipped */
  bool has_usable;              /* one was given to the taker */
  int result;                   /* of replace */

  bool is_started;
};

static inline void kin__public_reflector_wake(kin_reflector *reflector) {
  kin__sched_add(reflector->env->sched, &reflector->task);
}

/* Applies the next part of the current list. Returns whether there is more to
 * do at once. */
bool kin__public_reflector_list_step(kin_reflector *reflector);

/* Frees part of the current list. Returns whether there is more. */
bool kin__public_reflector_drop_some(kin_reflector *reflector);

/* Timer callbacks. */
void kin__public_reflector_on_retry(kin__timer *timer);
void kin__public_reflector_on_resync(kin__timer *timer);

#endif /* KIN_CACHE_PUBLIC_REFLECTOR_CORE_H */
