/* SPDX-License-Identifier: MIT */
#ifndef KIN_CHECK_MUTATION_CHECK_H
#define KIN_CHECK_MUTATION_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kin/mutation_detector.h>

#include "base/sched.h"
#include "base/timers.h"
#include "client/env.h"
#include "store/store.h"

/* Finds writes to an informer's objects, if the client asks for that (MD rows).
 * A timer starts a pass over the store's slots. A task compares in steps
 * bounded in slots and in bytes, so that neither a million objects nor a large
 * one blocks the loop. The end of a pass starts the timer.
 *
 * Objects from outside the client have no seal: the program put them into the
 * store, or its own source delivered them. The first pass that meets such an
 * object gives it to a detector, which compares it from then on.
 *
 * The task reports each changed object once, never from where it was found,
 * because the callback may close the owner. */
typedef enum kin__mutation_phase {
  KIN__MUTATION_WAITING = 0, /* for the timer */
  KIN__MUTATION_SEALED,      /* comparing the objects in the store */
  KIN__MUTATION_FOREIGN      /* comparing the detector's objects */
} kin__mutation_phase;

/* Called once for each changed object. May close the owner. */
typedef void (*kin__mutation_cb)(void *owner, const kin_mutation *mutation);

typedef struct kin__mutation_check {
  const kin__env *env;
  const kin_store *store;
  const char *plural; /* for the log */
  kin__mutation_cb found_one;
  void *owner;
  bool is_stopped; /* no more reports */
  kin__task task;
  kin__timer timer;
  kin__mutation_phase phase;
  uint32_t slot;            /* SEALED: next to compare */
  size_t block;             /* of `object`: the first not compared yet */
  const kin_object *object; /* partly compared, if the slot still holds it; not
                             * referenced */
  /* Objects to report, linked through their seals; one reference each. */
  kin_object *found;
  kin_object **found_end;
  kin_mutation_detector *detector; /* for objects without a seal; NULL: none so
                                    * far */
  kin_mutation foreign; /* to report, with a reference; or its object is NULL */
} kin__mutation_check;

/* *out is NULL if the client asks for no check; NULL is allowed in all functions
 * below. Errors: KIN_ENOMEM. */
int kin__mutation_check_new(kin__mutation_check **out, const kin__env *env,
                            const kin_store *store, const char *plural,
                            kin__mutation_cb found_one, void *owner);
/* After a stop and all steps of kin__mutation_check_free_step. */
void kin__mutation_check_free(kin__mutation_check *check);
void kin__mutation_check_start(kin__mutation_check *check);
/* Ends reports. Allowed inside the callback. */
void kin__mutation_check_stop(kin__mutation_check *check);
/* After a stop, from another task: frees the detector in bounded steps of
 * `count` objects or segments. Returns whether some are left. */
bool kin__mutation_check_free_step(kin__mutation_check *check, size_t count);

void kin__mutation_check_look(kin__mutation_check *check,
                              const kin_object *object);

/* An object has left the store: compares it, or its first 64 KiB, once more.
 * NULL is allowed. Does nothing after a stop, since the program may still delete
 * from the store then. */
static inline void kin__mutation_check_leaving(kin__mutation_check *check,
                                               const kin_object *object) {
  if (check != NULL && object != NULL) {
    kin__mutation_check_look(check, object);
  }
}

#endif /* KIN_CHECK_MUTATION_CHECK_H */
