/* SPDX-License-Identifier: MIT */
#ifndef KIN_TRANSPORT_PROBE_H
#define KIN_TRANSPORT_PROBE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/sched.h"
#include "base/timers.h"
#include "transport/exchange.h"

/* Tests whether a silent server is still there. A watch may be silent for
 * minutes, and TCP notices only a peer whose kernel is gone.
 *
 * If no exchange of the transport has got a byte for silence_ms and a watch is
 * open, the probe asks the server for its version, on an idle connection if
 * there is one. Any HTTP answer will do. If no answer comes within answer_ms,
 * or the connection fails, the probe closes all idle connections, and breaks
 * every watch that has been silent since then with KIN_ETIMEDOUT. A question
 * that waits for this host all the time, for a file or for a thread of libuv's
 * pool, shows nothing, and is asked again silence_ms later.
 *
 * The time counts from the exchange's last stage: before, the host may have had
 * it. A question that is not sent when its time is over gets the time once
 * more, since the loop may have been blocked. If its look-up has begun and has
 * no answer, the question is asked a second time at once, and the second time
 * decides.
 *
 * There is one question at a time and one timer. While no watch is open,
 * nothing runs. If a proxy answers for a dead server behind it, the probe does
 * not notice. */
typedef struct kin__probe {
  struct kin__transport *transport;
  uint32_t silence_ms; /* 0: never asks */
  uint32_t answer_ms;
  kin__timer timer; /* the next look; while asking, the answer's deadline */
  kin__task task;   /* breaks at most one watch a step */
  kin__exchange *exchange; /* the question, or NULL */
  uint64_t asked_ms;       /* when it was last asked */
  uint64_t heard_ms;       /* the last byte on any exchange */
  uint64_t body_bytes;     /* of the answer */
  uint32_t round;          /* of breaking watches; the first is 1 */
  bool is_waiting;         /* the head of the answer has not come yet */
  bool is_late;            /* the deadline was prolonged once, or this is the
                            * second question after a look-up */
} kin__probe;

void kin__probe_init(kin__probe *probe, struct kin__transport *transport,
                     uint32_t silence_ms, uint32_t answer_ms);

/* Stops the probe for good. */
void kin__probe_stop(kin__probe *probe);

/* A watch was opened, or is read again. */
void kin__probe_watch(kin__probe *probe);

/* Some exchange has got a byte. */
void kin__probe_hear(kin__probe *probe, uint64_t now_ms);

#endif /* KIN_TRANSPORT_PROBE_H */
