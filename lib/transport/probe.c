/* SPDX-License-Identifier: MIT */
#include "transport/probe.h"

#include <stddef.h>
#include <stdio.h>

#include "transport/core.h"
#include "transport/exchange_core.h"

/* A longer answer is cut off: its head was enough. */
#define MAX_BODY_BYTES (64u << 10)

static uint64_t now_ms(const kin__probe *probe) {
  return kin__net_now_ms(&probe->transport->net);
}

static void start_timer(kin__probe *probe, uint64_t due_ms) {
  kin__timer_start(probe->transport->net.timers, &probe->timer, due_ms);
}

/* The question has ended: there was an answer, or no result. */
static void begin_silence(kin__probe *probe) {
  probe->is_waiting = false;
  start_timer(probe, now_ms(probe) + probe->silence_ms);
}

/* Idle connections are taken for dead, too: a request on one would wait for the
 * response timeout (TR-09). */
static void give_up(kin__probe *probe) {
  kin__net *net = &probe->transport->net;
  probe->is_waiting = false;
  kin__timer_stop(net->timers, &probe->timer);
  kin__pool_finish(&probe->transport->pool);
  probe->round++;
  kin__sched_add(net->sched, &probe->task);
}

static bool step(kin__task *task) {
  kin__probe *probe = KIN__CONTAINER_OF(task, kin__probe, task);
  uint64_t since_ms = probe->asked_ms - probe->silence_ms;
  bool has_more;
  kin__exchange *watch = kin__exchange_find_silent(
      probe->transport, probe->round, since_ms, &has_more);
  if (!has_more) {
    begin_silence(probe);
    return false;
  }
  if (watch == NULL) {
    return true;
  }
  char message[96];
  snprintf(message, sizeof message,
           "no byte for %lu s, and the server does not answer",
           (unsigned long)((now_ms(probe) - probe->heard_ms) / 1000));
  kin__exchange_break(watch, KIN_ETIMEDOUT, KIN_CLASS_CONNECT, message);
  return true;
}

static void on_head(void *ctx, const kin__response_head *head) {
  (void)head;
  begin_silence(ctx);
}

static void on_body(void *ctx, const char *bytes, size_t length) {
  kin__probe *probe = ctx;
  (void)bytes;
  probe->body_bytes += length;
  if (probe->body_bytes > MAX_BODY_BYTES) {
    kin__exchange_cancel(probe->exchange);
    probe->exchange = NULL;
  }
}

/* Silence is a failure to connect, or that the time of a request or of a look-up
 * is shorter than answer_ms and over. Other errors come from this host, as a
 * lack of descriptors, of local ports or of buffers does, or show that a server
 * answered. UV_EAGAIN says that the backlog of a unix socket is full: the server
 * is busy. For TCP connect waits then. */
static bool is_silence(const kin__exchange_error *error) {
  int code = error->code;
  switch (error->error_class) {
  case KIN_CLASS_CONNECT:
    return code != UV_EMFILE && code != UV_ENFILE && code != UV_ENOBUFS &&
           code != UV_ENOMEM && code != UV_EADDRNOTAVAIL && code != UV_EAGAIN;
  case KIN_CLASS_DNS:
  case KIN_CLASS_PROTOCOL:
    return code == KIN_ETIMEDOUT;
  default:
    return false;
  }
}

static void stop_asking(kin__probe *probe) {
  if (probe->exchange != NULL) {
    kin__exchange_cancel(probe->exchange);
    probe->exchange = NULL;
  }
}

static void on_end(void *ctx, const kin__exchange_error *error);

static void ask(kin__probe *probe) {
  static const kin__exchange_callbacks callbacks = {on_head, on_body, on_end};
  static const kin__request request = {.target = "/version",
                                       .accept = "application/json"};
  stop_asking(probe); /* the last answer never ended */
  int err = kin__exchange_start(probe->transport, &request, &callbacks, probe,
                                &probe->exchange);
  if (err != 0) {
    begin_silence(probe);
    return;
  }
  probe->asked_ms = now_ms(probe);
  probe->is_waiting = true;
  probe->is_late = false;
  probe->body_bytes = 0;
  start_timer(probe, probe->asked_ms + probe->answer_ms);
}

/* A look-up has begun, and has no answer. Nothing tells when a thread had time
 * to begin it, perhaps just now. So this decides nothing the first time: a
 * second question has all its time after the beginning. */
static void ask_again(kin__probe *probe) {
  ask(probe);
  probe->is_late = true;
}

static void on_end(void *ctx, const kin__exchange_error *error) {
  kin__probe *probe = ctx;
  probe->exchange = NULL;
  if (!probe->is_waiting) {
    return;
  }
  if (error == NULL || !is_silence(error)) {
    begin_silence(probe);
  } else if (error->error_class == KIN_CLASS_DNS && !probe->is_late) {
    ask_again(probe);
  } else {
    give_up(probe);
  }
}

static void check_silence(kin__probe *probe) {
  uint64_t due_ms = probe->heard_ms + probe->silence_ms;
  if (!kin__exchange_has_watch(probe->transport)) {
    return; /* kin__probe_watch starts again */
  }
  if (now_ms(probe) < due_ms) {
    start_timer(probe, due_ms);
  } else {
    ask(probe);
  }
}

/* For a credential, a file, or a thread that looks the name up: the server has
 * not been asked. The exchange must then be cancelled. */
static bool waits_for_host(const kin__exchange *exchange) {
  return exchange->state == KIN__EXCHANGE_QUEUED ||
         exchange->state == KIN__EXCHANGE_WAITING ||
         (exchange->state == KIN__EXCHANGE_DIALLING &&
          kin__dial_withdraw(exchange->dial));
}

static bool is_looking_up(const kin__exchange *exchange) {
  return exchange->state == KIN__EXCHANGE_DIALLING &&
         kin__dial_is_looking_up(exchange->dial);
}

/* Perhaps the loop was blocked, not the server: there is an answer in the
 * socket, or the loop has yet to see what became of the connection. */
static bool may_be_unheard(const kin__exchange *exchange) {
  return exchange->state != KIN__EXCHANGE_HEAD ||
         kin__exchange_has_input(exchange);
}

/* The question's time is over, and there is no answer. */
static void check_answer(kin__probe *probe) {
  uint64_t due_ms = probe->exchange->last_progress_ms + probe->answer_ms;
  if (waits_for_host(probe->exchange)) {
    stop_asking(probe);
    begin_silence(probe);
  } else if (now_ms(probe) < due_ms) {
    start_timer(probe, due_ms); /* the host had the time before */
  } else if (!probe->is_late && is_looking_up(probe->exchange)) {
    ask_again(probe);
  } else if (!probe->is_late && may_be_unheard(probe->exchange)) {
    probe->is_late = true;
    start_timer(probe, now_ms(probe) + probe->answer_ms);
  } else {
    stop_asking(probe);
    give_up(probe);
  }
}

static void on_timer(kin__timer *timer) {
  kin__probe *probe = KIN__CONTAINER_OF(timer, kin__probe, timer);
  if (probe->is_waiting) {
    check_answer(probe);
  } else {
    check_silence(probe);
  }
}

void kin__probe_init(kin__probe *probe, struct kin__transport *transport,
                     uint32_t silence_ms, uint32_t answer_ms) {
  *probe = (kin__probe){
      .transport = transport, .silence_ms = silence_ms, .answer_ms = answer_ms};
  kin__timer_init(&probe->timer, on_timer);
  kin__task_init(&probe->task, step);
}

void kin__probe_stop(kin__probe *probe) {
  kin__net *net = &probe->transport->net;
  probe->silence_ms = 0;
  stop_asking(probe);
  kin__timer_stop(net->timers, &probe->timer);
  kin__sched_cancel(net->sched, &probe->task);
}

void kin__probe_watch(kin__probe *probe) {
  if (probe->silence_ms != 0 && !probe->is_waiting && !probe->timer.is_active &&
      kin__link_is_empty(&probe->task.node)) {
    start_timer(probe, now_ms(probe) + probe->silence_ms);
  }
}

void kin__probe_hear(kin__probe *probe, uint64_t now_ms) {
  probe->heard_ms = now_ms;
}
