/* SPDX-License-Identifier: MIT */
#ifndef KIN_BASE_TIMERS_H
#define KIN_BASE_TIMERS_H

#include <stdbool.h>
#include <stdint.h>

/* Timers on an injected clock: a leftist heap of caller-owned nodes. So
 * starting a timer cannot fail, and no operation takes longer than O(log n). A
 * client drives one set with one uv_timer_t; a test drives a set with
 * numbers. */
typedef struct kin__timer {
  struct kin__timer *left;
  struct kin__timer *right;
  struct kin__timer *parent;
  uint64_t due_ms;
  void (*cb)(struct kin__timer *timer);
  unsigned rank; /* 0 iff the timer is not active, see timers.c */
  bool is_active;
  bool is_delayed; /* see kin__timer_delay; since the last start */
} kin__timer;

typedef struct kin__timers {
  kin__timer *root;
  uint64_t now_ms; /* of the last kin__timers_run */
  /* Called when the earliest due time may have changed; may be NULL. */
  void (*changed)(struct kin__timers *timers);
} kin__timers;

/* The wait before a retry after a lack of memory. */
#define KIN__MEMORY_RETRY_MS 100u

void kin__timers_init(kin__timers *timers);

/* The callback may start, stop and free any timer, including its own. */
void kin__timer_init(kin__timer *timer, void (*cb)(kin__timer *timer));
/* The due time of a timeout that starts now, capped at the latest due time that
 * a timer can have. */
static inline uint64_t kin__deadline_ms(uint64_t now_ms, uint64_t timeout_ms) {
  uint64_t longest_ms = UINT64_MAX - 1 - now_ms;
  return now_ms + (timeout_ms < longest_ms ? timeout_ms : longest_ms);
}

/* (Re)starts the timer: due at an absolute time. O(log n). */
void kin__timer_start(kin__timers *timers, kin__timer *timer, uint64_t due_ms);
/* For a callback that would give something up. If the loop was blocked, the
 * timer is called late, and the awaited bytes may be in the socket. Such a
 * timer begins again for a short time, once. Returns whether it does. */
bool kin__timer_delay(kin__timers *timers, kin__timer *timer);
/* Does nothing if the timer is not active. */
void kin__timer_stop(kin__timers *timers, kin__timer *timer);

/* When the next timer is due; UINT64_MAX if there is none. */
uint64_t kin__timers_next_ms(const kin__timers *timers);

/* Calls the timers that are due, in order of time, but at most `limit` of them.
 * Returns whether more are due. */
bool kin__timers_run(kin__timers *timers, uint64_t now_ms, unsigned limit);

#endif /* KIN_BASE_TIMERS_H */
