/* SPDX-License-Identifier: MIT */
#ifndef KIN_TRANSPORT_READ_DELAY_H
#define KIN_TRANSPORT_READ_DELAY_H

#include <stdint.h>

#include "base/link.h"
#include "base/timers.h"

struct kin__conn;

/* Delays the reads of busy watches, so that one wake-up of the loop serves the
 * events of a while. To wake a thread costs as much as several events.
 *
 * A watch is busy if its socket was read empty twice within 2 * ms. Then the
 * socket is not polled until the timer fires, at most `ms` later. All
 * connections have one timer, so they share wake-ups. An event after a pause is
 * read at once. */
typedef struct kin__read_delay {
  uint32_t ms; /* 0: none */
  kin__timer timer;
  kin__link conns; /* kin__conn.waiting_node of those that are delayed */
} kin__read_delay;

void kin__read_delay_init(kin__read_delay *delay, uint32_t ms);

/* A read has left the socket empty, and its bytes are handed on next. May set
 * is_delayed: then the connection must not be polled for input. */
void kin__read_delay_after(struct kin__conn *conn);
/* The connection gets another owner, or closes. */
void kin__read_delay_end(struct kin__conn *conn);

#endif /* KIN_TRANSPORT_READ_DELAY_H */
