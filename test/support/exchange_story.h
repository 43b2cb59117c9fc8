/* SPDX-License-Identifier: MIT */
#ifndef KIN_TEST_EXCHANGE_STORY_H
#define KIN_TEST_EXCHANGE_STORY_H

#include <stdbool.h>
#include <stddef.h>

#include "support/transport_world.h"

/* The sweeps over two exchanges at a time: one action in every callback, one
 * after every step, and every allocation failing. The same story runs on any
 * kind of world. */

/* What the server sends on each connection. It claims that it may send more,
 * and closes; so whoever comes second finds a stale connection. */
#define STORY_REPLY                                                            \
  "HTTP/1.1 100 Continue\r\n\r\n"                                              \
  "HTTP/1.1 200 OK\r\nContent-Type: a/b\r\nTransfer-Encoding: chunked\r\n\r\n" \
  "4\r\none,\r\n4\r\ntwo,\r\n5\r\nthree\r\n0\r\n\r\n"

/* How a world is opened and closed; its memory may fail as in world_init. */
typedef struct story_world {
  /* Makes a world and opens its transport. Returns the world, which is closed
   * even if *err is not 0. */
  world *(*open)(size_t fail_at, bool keeps_failing, int *err);
  /* Looks at an exchange at the end; may be NULL. */
  void (*check)(const fetch *f);
  void (*close)(void);
} story_world;

/* `least`: the test fails if fewer moments were found. */
void story_sweep_callbacks(const story_world *on, size_t least);
void story_sweep_steps(const story_world *on, size_t least);
void story_sweep_allocations(const story_world *on, size_t least);

#endif /* KIN_TEST_EXCHANGE_STORY_H */
