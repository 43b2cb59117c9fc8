/* SPDX-License-Identifier: MIT */
#include "transport/read_delay.h"

#include "transport/conn.h"

static void on_timer(kin__timer *timer) {
  kin__read_delay *delay = KIN__CONTAINER_OF(timer, kin__read_delay, timer);
  while (!kin__link_is_empty(&delay->conns)) {
    kin__conn *conn =
        KIN__CONTAINER_OF(delay->conns.next, kin__conn, waiting_node);
    kin__read_delay_end(conn);
    kin__sched_add(conn->net->sched, &conn->task);
  }
}

void kin__read_delay_init(kin__read_delay *delay, uint32_t ms) {
  delay->ms = ms;
  kin__timer_init(&delay->timer, on_timer);
  kin__link_init(&delay->conns);
}

void kin__read_delay_after(kin__conn *conn) {
  kin__net *net = conn->net;
  kin__read_delay *delay = &net->read_delay;
  if (delay->ms == 0 || !conn->has_watch ||
      !kin__link_is_empty(&conn->waiting_node)) { /* delayed already, or idle */
    return;
  }
  uint64_t now_ms = kin__net_now_ms(net);
  bool is_busy = now_ms - conn->since_ms <= 2 * delay->ms;
  conn->since_ms = now_ms;
  if (!is_busy) {
    return;
  }
  conn->is_delayed = true;
  kin__link_push(&delay->conns, &conn->waiting_node);
  if (!delay->timer.is_active) {
    kin__timer_start(net->timers, &delay->timer,
                     kin__deadline_ms(now_ms, delay->ms));
  }
}

void kin__read_delay_end(kin__conn *conn) {
  if (!conn->is_delayed) {
    return;
  }
  kin__read_delay *delay = &conn->net->read_delay;
  conn->is_delayed = false;
  kin__link_remove(&conn->waiting_node);
  if (kin__link_is_empty(&delay->conns)) {
    kin__timer_stop(conn->net->timers, &delay->timer);
  }
}
