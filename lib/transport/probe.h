/* SPDX-License-Identifier: MIT */
#ifndef KIN_TRANSPORT_PROBE_H
#define KIN_TRANSPORT_PROBE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/sched.h"
#include "base/timers.h"
#include "transport/exchange.h"

/* Is a server that says nothing still there? A watch may be silent for minutes,
 * and TCP notices only a peer whose kernel is gone.
 *
 * When no exchange of the transport has got a byte for silence_ms and a watch
 * is open, the server is asked for its version, on an idle connection if there
 * is one. Any HTTP answer will do. If there is none within answer_ms, or no
 * connection, every watch that has been silent since is broken with
 * KIN_ETIMEDOUT. One question at a time, one timer, and nothing of it runs
 * while no watch is open. A proxy that answers for a server behind it that is
 * dead is not seen through. */
typedef struct kin__probe {
  struct kin__transport *transport;
  uint32_t silence_ms; /* 0: never asks */
  uint32_t answer_ms;
  kin__timer timer; /* the next look; while asking, the end of the wait */
  kin__task task;   /* breaks one watch a step */
  kin__exchange *exchange; /* the question, or NULL */
  uint64_t asked_ms;       /* when it was last asked */
  uint64_t heard_ms;       /* the last byte on any exchange */
  uint64_t body_bytes;     /* of the answer */
  bool is_waiting;         /* for the head of the answer */
  bool is_late;            /* the wait was prolonged once */
} kin__probe;

void kin__probe_init(kin__probe *probe, struct kin__transport *transport,
                     uint32_t silence_ms, uint32_t answer_ms);

/* For good. */
void kin__probe_stop(kin__probe *probe);

/* A watch has been opened, or is read again. */
void kin__probe_watch(kin__probe *probe);

/* A byte has come, on whichever exchange. */
void kin__probe_hear(kin__probe *probe, uint64_t now_ms);

#endif /* KIN_TRANSPORT_PROBE_H */
