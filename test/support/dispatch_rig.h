/* SPDX-License-Identifier: MIT */
#ifndef KIN_TEST_DISPATCH_RIG_H
#define KIN_TEST_DISPATCH_RIG_H

#include <stdbool.h>
#include <stdint.h>

#include <kin/handler.h>
#include <kin/object.h>

#include "base/memory.h"
#include "base/sched.h"
#include "base/timers.h"
#include "dispatch/dispatcher.h"
#include "store/store.h"
#include "support/event_log.h"

/* A store and a dispatcher on a scheduler, timers and a clock that are moved by
 * hand: an informer as its listeners see it, without a loop. */
typedef struct dispatch_rig {
  kin_allocator allocator;
  kin__memory *memory;
  kin_store store;
  kin__sched sched;
  kin__timers timers;
  kin__clock clock;
  uint64_t now_ns;
  uint64_t tick_ns; /* added whenever the clock is read; 0 at first */
  uint64_t handler_ns;
  uint64_t version; /* of the newest object, also synced's */
  char version_text[24];
  kin__task driver;  /* goes on with a change in hand, until memory is out */
  bool runs_between; /* other tasks run while room is made for a change */
  kin__dispatcher dispatcher;
} dispatch_rig;

/* The value of kin_event callbacks' first argument. */
#define RIG_INFORMER ((struct kin_informer *)(uintptr_t)0x1000)

/* `allocator` may be NULL. Errors: KIN_ENOMEM. */
int rig_init(dispatch_rig *rig, const kin_allocator *allocator);
/* Closes the dispatcher, which must not be running, and frees everything. */
void rig_finish(dispatch_rig *rig);

/* Makes an object {"metadata":{"name":...,"resourceVersion":...}}; NULL if out
 * of memory. */
kin_object *rig_object(dispatch_rig *rig, const char *name, uint64_t version);

/* Changes the store as an informer does, with the next version, and sends what
 * follows from it. Errors: KIN_ENOMEM, nothing changed. */
int rig_put(dispatch_rig *rig, const char *name);
int rig_delete(dispatch_rig *rig, const char *name);
int rig_recreate(dispatch_rig *rig, const char *name);
/* A relist has found the object unchanged. */
int rig_unchanged(dispatch_rig *rig, const char *name);

/* The markers, as soon as there is room; no other task runs before. */
int rig_synced(dispatch_rig *rig);
int rig_relisted(dispatch_rig *rig, const char *namespace_, const char *version,
                 size_t objects);

/* Options that log everything. */
kin_listener_options rig_logging(event_log *log);
/* Adds a listener; fails the test if that fails. */
kin_listener *rig_listen(dispatch_rig *rig,
                         const kin_listener_options *options);

/* The most undelivered notifications of any listener. */
size_t rig_pending(const dispatch_rig *rig);

/* Runs one step; returns whether work is left. */
bool rig_step(dispatch_rig *rig);
/* Runs steps until none is scheduled. */
void rig_run(dispatch_rig *rig);
/* Lets time pass, calls the timers that are due and runs. */
void rig_advance(dispatch_rig *rig, uint64_t ms);

#endif /* KIN_TEST_DISPATCH_RIG_H */
