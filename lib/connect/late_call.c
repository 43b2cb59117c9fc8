/* SPDX-License-Identifier: MIT */
#include "connect/late_core.h"

#include <string.h>

#include "base/alloc.h"

void kin__late_free_call(kin__late_call *call) {
  kin__late *late = call->late;
  kin__retired *old = call->old;
  kin__link_remove(&call->node);
  kin__free(late->place.allocator, call);
  if (old != NULL) {
    kin__sched_add(&late->place.loop->sched, &old->task);
  }
}

void kin__late_end_call(kin__late_call *call,
                        const kin__exchange_error *error) {
  void (*on_end)(void *ctx, const kin__exchange_error *error) =
      call->callbacks.on_end;
  void *ctx = call->ctx;
  kin__late_free_call(call);
  on_end(ctx, error);
}

/* Each server's transport counts its connections from 1. With the generation,
 * no connection of one server has the number of another's. */
static void on_call_head(void *ctx, const kin__response_head *head) {
  kin__late_call *call = ctx;
  if (head->status == 401 && call->old == NULL) {
    call->late->is_doubted = true;
  }
  kin__response_head known = *head;
  known.server_address = call->server_address;
  known.connection |= (uint64_t)call->generation << 40;
  call->callbacks.on_head(call->ctx, &known);
}

static void on_call_body(void *ctx, const char *bytes, size_t length) {
  kin__late_call *call = ctx;
  call->callbacks.on_body(call->ctx, bytes, length);
}

/* A connection that was cut in a body counts, too: the server may have ended to
 * come back with another certificate. */
static bool is_curable(const kin__exchange_error *error) {
  switch (error->error_class) {
  case KIN_CLASS_DNS:
  case KIN_CLASS_CONNECT:
  case KIN_CLASS_TLS:
  case KIN_CLASS_AUTH:
    return true;
  default:
    return false;
  }
}

static void on_call_end(void *ctx, const kin__exchange_error *error) {
  kin__late_call *call = ctx;
  bool is_replaced = call->old != NULL; /* the failure has been cured */
  if (error != NULL && !is_replaced && is_curable(error)) {
    call->late->is_doubted = true;
  }
  kin__late_end_call(call, error);
}

int kin__late_start_call(kin__late_call *call) {
  static const kin__exchange_callbacks callbacks = {
      .on_head = on_call_head, .on_body = on_call_body, .on_end = on_call_end};
  kin__late *late = call->late;
  int err =
      kin__exchange_start(kin__server_transport(late->server), &call->request,
                          &callbacks, call, &call->exchange);
  if (err != 0) {
    return err;
  }
  call->server_address = late->address;
  call->generation = late->generation;
  kin__link_remove(&call->node);
  kin__link_push(&late->running, &call->node);
  if (call->is_paused) {
    kin__exchange_pause(call->exchange);
  }
  return 0;
}

static size_t text_size(const char *text) {
  return text != NULL ? strlen(text) + 1 : 0;
}

static const char *keep_text(char **at, const char *text) {
  if (text == NULL) {
    return NULL;
  }
  char *copy = *at;
  size_t size = strlen(text) + 1;
  memcpy(copy, text, size);
  *at += size;
  return copy;
}

/* The body stays the caller's until the end, as in an exchange. */
kin__late_call *kin__late_make_call(kin__late *late,
                                    const kin__request *request) {
  size_t size = text_size(request->method) + text_size(request->target) +
                text_size(request->accept) + text_size(request->content_type) +
                text_size(request->if_none_match);
  kin__late_call *call =
      kin__malloc(late->place.allocator, sizeof *call + size);
  if (call == NULL) {
    return NULL;
  }
  *call = (kin__late_call){.late = late, .request = *request};
  char *at = (char *)(call + 1);
  call->request.method = keep_text(&at, request->method);
  call->request.target = keep_text(&at, request->target);
  call->request.accept = keep_text(&at, request->accept);
  call->request.content_type = keep_text(&at, request->content_type);
  call->request.if_none_match = keep_text(&at, request->if_none_match);
  kin__link_init(&call->node);
  return call;
}

void kin__late_cancel(void *exchange) {
  kin__late_call *call = exchange;
  if (call->exchange != NULL) {
    kin__exchange_cancel(call->exchange);
  }
  kin__late_free_call(call);
}

void kin__late_pause(void *exchange) {
  kin__late_call *call = exchange;
  call->is_paused = true;
  if (call->exchange != NULL) {
    kin__exchange_pause(call->exchange);
  }
}

void kin__late_resume(void *exchange) {
  kin__late_call *call = exchange;
  call->is_paused = false;
  if (call->exchange != NULL) {
    kin__exchange_resume(call->exchange);
  }
}
