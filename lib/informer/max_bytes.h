/* SPDX-License-Identifier: MIT */
#ifndef KIN_INFORMER_MAX_BYTES_H
#define KIN_INFORMER_MAX_BYTES_H

#include <stdbool.h>
#include <stdint.h>

#include <kin/delta.h>
#include <kin/informer.h>

#include "base/byte_bound.h"
#include "base/sched.h"
#include "decode/sink.h"

/* The bound of an informer's objects (max_bytes), and its part of the client's.
 *
 * An object is counted before it is staged or queued: own.used is what the
 * store will have when the queue is empty, and what incomplete lists have
 * staged. An object that does not fit ends its answer (KIN_EMAXBYTES), as any
 * failure does: a watch keeps its position and brings the event again, a list
 * drops its stage. From then on no request of the informer is made (`admit`),
 * and no scope takes an object that is not cached. A task then asks the program.
 *
 * A key with several queued changes is counted once for each, until the queue
 * is empty (kin__max_bytes_settle).
 *
 * Far from the bound an event is counted without what it frees, because the
 * look-up of the cached object costs as much as a fifth of the event. What is
 * over-counted is counted again before an object is refused. */
typedef enum kin__max_bytes_phase {
  KIN__BOUND_OPEN = 0, /* there was room for the last object */
  KIN__BOUND_ASKING,   /* the program will be asked */
  KIN__BOUND_DROPPING, /* bodies are being dropped */
  KIN__BOUND_PAUSED,   /* until there is room for `needed` */
  KIN__BOUND_STOPPED   /* for good */
} kin__max_bytes_phase;

typedef struct kin__max_bytes {
  kin__byte_bound own;
  uint64_t listed; /* part of own.used: staged */
  uint64_t needed; /* by the object that did not fit, and by lists that were
                    * discarded since; 0: the scope has gone that had these.
                    * A staged list is in own.used instead */
  kin__max_bytes_phase phase;
  /* In one byte: there may be thousands of idle informers. */
  bool is_rough : 1;     /* own.used includes what queued events free */
  bool is_clients : 1;   /* the client's bound was reached, not the own one */
  bool is_keys_only : 1; /* objects are kept by key from here on */
  bool has_dropped : 1;  /* the store has had objects without their bodies */
  bool goes_on : 1;      /* DROPPING: when done; else no body was there. In a
                          * second pass the program's own puts have bodies */
  bool has_told : 1;     /* ASKING: on_error has been called */
  uint32_t cursor;       /* DROPPING: slots left */
  uint32_t reached;      /* times */
  kin__task task;
  uint64_t dropped; /* bodies */
} kin__max_bytes;

struct kin__scope;

void kin__max_bytes_init(kin_informer *informer, uint64_t max);
/* Nothing is asked or dropped any more. */
void kin__max_bytes_stop(kin_informer *informer);
/* The informer's bytes leave the client's sum. */
void kin__max_bytes_finish(kin_informer *informer);

/* Counts an object that is not cached, before it is staged or queued; or
 * replaces it by one with its key only. Errors: KIN_EMAXBYTES, KIN_ENOMEM. */
int kin__max_bytes_keep(struct kin__scope *scope, kin__decoded_type type,
                        kin_object **object);
/* Whether the scope may make a request. Errors: KIN_EMAXBYTES. */
int kin__max_bytes_admit(struct kin__scope *scope);

/* Other objects will come than those that did not fit: a pause is over, and
 * scopes that were refused try again at once. */
void kin__max_bytes_reopen(kin_informer *informer);
/* The scope makes no request any more. Nobody waits for the room that it
 * needed. */
void kin__max_bytes_left(struct kin__scope *scope);

/* For an object that was kept before bodies were dropped. *out is a new
 * reference to an object with the key only, or NULL: the object may stay.
 * Errors: KIN_ENOMEM. */
int kin__max_bytes_reduce(kin_informer *informer, const kin_object *object,
                          kin_object **out);
/* An object has gone into the queue, behind other changes of its key or not. */
void kin__max_bytes_pushed(struct kin__scope *scope, kin_delta_type type,
                           const kin_object *object, bool is_behind);
/* A staged object has left the stage. */
void kin__max_bytes_replaced(struct kin__scope *scope,
                             const kin_object *object);
/* The stage is empty. */
void kin__max_bytes_unstaged(struct kin__scope *scope);
/* The stage was discarded. During a pause its bytes are needed from here on,
 * because the list will come again. */
void kin__max_bytes_discarded(struct kin__scope *scope);
/* The queue is empty. */
void kin__max_bytes_settle(kin_informer *informer);

/* Whether there is a bound at all. */
bool kin__max_bytes_is_bounded(const kin_informer *informer);
/* The queue should be empty before more is read: the states that its objects
 * replace exist, too. */
bool kin__max_bytes_is_near(const kin_informer *informer);

/* The cached object had a body, and shall have it again. */
bool kin__max_bytes_lacks_body(const kin_informer *informer,
                               const kin_object *cached);

kin_memory_state kin__max_bytes_state(const kin_informer *informer);

#endif /* KIN_INFORMER_MAX_BYTES_H */
