/* SPDX-License-Identifier: MIT */
#include "informer/notice.h"

#include "informer/scope.h"

void kin__notice_init(kin__notice *notice) {
  *notice = (kin__notice){0};
  kin__list_init(&notice->node);
}

static void enqueue(kin__scope *scope) {
  kin_informer *informer = scope->informer;
  if (kin__list_is_empty(&scope->notice.node)) {
    kin__list_push(&informer->noticing, &scope->notice.node);
    kin__sched_add(informer->env->sched, &informer->notice_task);
  }
}

void kin__notice_failure(kin__scope *scope, const kin__failure *failure,
                         uint64_t retry_in_ms) {
  scope->notice.has_failure = true;
  scope->notice.failure = *failure;
  scope->notice.attempt = scope->reflector.failures;
  scope->notice.retry_in_ms = retry_in_ms;
  enqueue(scope);
}

void kin__notice_state(kin__scope *scope, kin_state from, kin_state to) {
  kin__notice *notice = &scope->notice;
  if (notice->state_count == KIN__NOTICE_STATES) {
    notice->states[KIN__NOTICE_STATES - 1].to = (uint8_t)to;
  } else {
    notice->states[notice->state_count].from = (uint8_t)from;
    notice->states[notice->state_count].to = (uint8_t)to;
    notice->state_count++;
  }
  enqueue(scope);
}

/* Calls on_state for what had happened when it begins. The informer may be
 * closed by any callback. */
static void tell_states(kin__scope *scope) {
  kin_informer *informer = scope->informer;
  kin__notice told = scope->notice;
  scope->notice.state_count = 0;
  kin_state_cb on_state = informer->settings.options.on_state;
  for (uint8_t i = 0; i < told.state_count; i++) {
    if (on_state == NULL || informer->is_closing) {
      return;
    }
    on_state(informer, scope->namespace_, (kin_state)told.states[i].from,
             (kin_state)told.states[i].to, informer->settings.options.data);
  }
}

static void tell_failure(kin__scope *scope) {
  kin_informer *informer = scope->informer;
  kin_error_cb on_error = informer->settings.options.on_error;
  if (!scope->notice.has_failure || on_error == NULL || informer->is_closing) {
    return;
  }
  kin__notice told = scope->notice;
  scope->notice.has_failure = false;
  kin_error_event event = {.code = told.failure.code,
                           .error_class = told.failure.error_class,
                           .status = told.failure.status,
                           .reason = told.failure.reason,
                           .message = told.failure.message,
                           .namespace_ = scope->namespace_,
                           .attempt = told.attempt,
                           .retry_in_ms = told.retry_in_ms,
                           .answer = KIN_RETRY};
  on_error(informer, &event, informer->settings.options.data);
  if (!informer->is_closing && event.answer != KIN_RETRY) {
    kin__scope_answer(scope, event.answer, event.retry_after_ms);
  }
}

bool kin__notice_step(kin__task *task) {
  kin_informer *informer = KIN__CONTAINER_OF(task, kin_informer, notice_task);
  if (kin__list_is_empty(&informer->noticing)) {
    return false;
  }
  kin__scope *scope =
      KIN__CONTAINER_OF(informer->noticing.next, kin__scope, notice.node);
  kin__list_remove(&scope->notice.node);
  /* The failure first: it is the reason of the states. */
  tell_failure(scope);
  tell_states(scope);
  return !informer->is_closing && !kin__list_is_empty(&informer->noticing);
}
