/* SPDX-License-Identifier: MIT */
#ifndef KIN_INFORMER_SCOPE_H
#define KIN_INFORMER_SCOPE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "decode/list.h"
#include "decode/watch.h"
#include "informer/apply.h"
#include "informer/informer.h"
#include "informer/notice.h"
#include "reflector/reflector.h"
#include "reflector/stage.h"

/* One namespace (or all) of an informer: a reflector and the hands that carry
 * its actions out. */
typedef struct kin__scope {
  kin_informer *informer;
  uint32_t index; /* in informer->scopes; slots of the store remember it */
  const char *namespace_;

  kin__reflector reflector;
  kin__timer timer; /* the reflector's */
  kin__stage stage;
  kin__apply apply;
  uint32_t generation; /* of the last list; slots remember it */
  bool has_synced;

  /* The open request; NULL iff request is KIN__REQUEST_NONE. */
  void *exchange;
  kin__reflector_request request;
  int http_status; /* 0 before the head */
  int64_t retry_after_s;
  kin__list paused_node; /* in informer->paused iff reading is paused */
  bool is_ended; /* in a decoder callback: ERROR came, read no further */
  kin__buf error_body;
  kin__buf target;
  kin__list_decoder *list_decoder; /* made when first needed */
  kin__watch_decoder *watch_decoder;
  kin_object *known; /* what the sink answered to known(): one reference */
  kin__status error_event;

  kin__notice notice;
  kin_state state;
  kin_error_class last_error_class;
  int last_error_status;
  uint64_t last_byte_ms; /* UINT64_MAX: never */
  uint64_t last_event_ms;
  uint64_t last_bookmark_ms;
  kin_status counters; /* only the counters are used */
} kin__scope;

void kin__scope_init(kin__scope *scope, kin_informer *informer, uint32_t index,
                     const char *namespace_);
/* All its work must have ended: stopped, and kin__scope_free_step false. */
void kin__scope_finish(kin__scope *scope);

void kin__scope_start(kin__scope *scope);
/* Ends the request and the timer; nothing happens in it any more. */
void kin__scope_stop(kin__scope *scope);
/* Frees up to `count` staged objects; returns whether any is left. */
bool kin__scope_free_step(kin__scope *scope, size_t count);

/* The stage has been applied. */
void kin__scope_applied(kin__scope *scope);
/* The program answered an error event. */
void kin__scope_answer(kin__scope *scope, kin_retry answer,
                       uint64_t retry_after_ms);
/* The queue has room again. */
void kin__scope_resume(kin__scope *scope);

/* Puts a change into the queue; pauses reading when it is full.
 * Errors: KIN_ENOMEM. */
int kin__scope_push(kin__scope *scope, kin__delta_type type,
                    const kin_object *object, bool is_tombstone);

/* Recomputes the state and notes a change for on_state. */
void kin__scope_update_state(kin__scope *scope);

void kin__scope_get_status(const kin__scope *scope, kin_status *status);

#endif /* KIN_INFORMER_SCOPE_H */
