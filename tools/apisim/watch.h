/* SPDX-License-Identifier: MIT */
#ifndef APISIM_WATCH_H
#define APISIM_WATCH_H

/* Watches: each is a cursor into its resource's log, moved on as the client
 * reads. Nothing is buffered per watch beyond the connection's high water mark;
 * a watch the log has left behind is ended, as the real server does with a
 * client that is too slow. */

#include <stdint.h>

#include "call.h"
#include "store.h"

struct sim;

typedef enum watch_end {
  WATCH_END,    // the body ends in good order
  WATCH_FIN,    // the connection is closed
  WATCH_RESET,  // the connection is reset
  WATCH_EXPIRE, // an ERROR event with code 410, then the end
} watch_end;

/* Answers a watch request. */
void watch_answer(const api_call *call);
/* Brings watches of changed resources up to date. Once per loop iteration. */
void watch_pump_dirty(struct sim *s);
/* Store hooks; data is the sim. */
void watch_on_committed(table *t, void *data);
void watch_on_trimming(table *t, uint64_t index, void *data);
/* Ends all watches of res (NULL = of every resource). Returns how many. */
size_t watch_end_all(struct sim *s, const resource *res, watch_end how);
/* Sends a bookmark now to every watch that asked for them. */
size_t watch_bookmark_all(struct sim *s);

#endif
