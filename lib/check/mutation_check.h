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

/* Finds out whether somebody has written to an informer's objects, if the
 * client asked for that (MD rows). A timer starts a pass over the slots of the
 * store; a task compares in steps bounded in slots and in bytes, so that
 * neither a million objects nor a large one keeps the loop; the end of a pass
 * starts the timer.
 *
 * Objects that were not made by the client (somebody put them into the store,
 * or a source of the program's own delivered them) have no seal. They are given
 * to a detector when a pass first meets them, which then compares them as well.
 *
 * What is found is told by the task, once per object, never from where it was
 * found: the callback may close the owner. */
typedef enum kin__mutation_phase {
  KIN__MUTATION_WAITING = 0, /* for the timer */
  KIN__MUTATION_SEALED,      /* comparing what is in the store */
  KIN__MUTATION_FOREIGN      /* comparing what the detector has */
} kin__mutation_phase;

/* Called once for each object that was written to. It may close the owner. */
typedef void (*kin__mutation_cb)(void *owner, const kin_mutation *mutation);

typedef struct kin__mutation_check {
  const kin__env *env;
  const kin_store *store;
  const char *plural; /* for the log */
  kin__mutation_cb found_one;
  void *owner;
  bool is_on;
  bool is_stopped; /* nothing is told any more */
  kin__task task;
  kin__timer timer;
  kin__mutation_phase phase;
  uint32_t slot;            /* SEALED: the next to compare */
  size_t block;             /* its first block that has not been compared, */
  const kin_object *object; /* if it still has this object, not referenced */
  /* To be told, linked through their seals; each is one reference. */
  kin_object *found;
  kin_object **found_end;
  kin_mutation_detector *detector; /* of foreign objects; NULL: none so far */
  kin_mutation foreign; /* to be told, with a reference; or no object */
} kin__mutation_check;

void kin__mutation_check_init(kin__mutation_check *check, const kin__env *env,
                              const kin_store *store, const char *plural,
                              kin__mutation_cb found_one, void *owner);
/* Does nothing if the check is off; as does everything below. */
void kin__mutation_check_start(kin__mutation_check *check);
/* Nothing is told from now on. Legal inside the callback. */
void kin__mutation_check_stop(kin__mutation_check *check);
/* After a stop, from another task: frees what it has in bounded steps, `count`
 * objects each. Returns whether some are left. */
bool kin__mutation_check_free_step(kin__mutation_check *check, size_t count);

void kin__mutation_check_look(kin__mutation_check *check,
                              const kin_object *object);

/* An object has left the store: compares it, or its first 64 KiB, once more.
 * NULL is allowed. */
static inline void kin__mutation_check_leaving(kin__mutation_check *check,
                                               const kin_object *object) {
  if (check->is_on && object != NULL) {
    kin__mutation_check_look(check, object);
  }
}

#endif /* KIN_CHECK_MUTATION_CHECK_H */
