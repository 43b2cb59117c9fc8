/* SPDX-License-Identifier: MIT */
#ifndef KIN_TEST_GZIP_STORY_H
#define KIN_TEST_GZIP_STORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "support/packed.h"
#include "support/transport_world.h"

/* One exchange with a compressed body of some slices, and one action at one
 * moment of it. The same story runs on any kind of world. Needs zlib. */
typedef enum gzip_action {
  GZIP_NONE,
  GZIP_CANCEL,
  GZIP_CLOSE, /* the transport */
  GZIP_PAUSE, /* and resumed when nothing else happens */
  GZIP_PAUSE_BRIEFLY
} gzip_action;

typedef struct gzip_moment {
  gzip_action action;
  size_t callback; /* from 1; 0: in none */
  size_t steps;    /* after so many; SIZE_MAX: after none */
} gzip_moment;

#define GZIP_NEVER ((gzip_moment){GZIP_NONE, 0, SIZE_MAX})

typedef struct gzip_story {
  world *w; /* open */
  gzip_moment at;
  bool has_handshake; /* a pause before the head is the handshake's time */
  fetch f;
  bool has_acted;
  bool is_over; /* cancelled or closed */
  bool is_paused;
  bool is_closed;
} gzip_story;

/* Fetches until the end or the action's, and until the transport is closed if
 * the action closes it. The caller checks `f` and finishes it. Returns what the
 * start of the exchange returned. */
int gzip_story_run(gzip_story *story);

/* Runs `run` with each action in each callback, and after each step, for as
 * long as it returns that it came to the moment. Fails the test if that is less
 * often than a body of `text_bytes` has slices. */
void gzip_sweep_callbacks(bool (*run)(const void *ctx, gzip_moment at),
                          const void *ctx, size_t text_bytes);
void gzip_sweep_steps(bool (*run)(const void *ctx, gzip_moment at),
                      const void *ctx);

/* A text of `size` bytes that is worth compressing, and a NUL. */
void gzip_fill(char *text, size_t size);

/* How the body's end is found. */
typedef enum gzip_framing {
  GZIP_WITH_LENGTH,
  GZIP_UNTIL_END,
  GZIP_CHUNKED,
  GZIP_FRAMINGS
} gzip_framing;

/* A response with this body in each framing, until gzip_free. */
void gzip_frame(packed framings[GZIP_FRAMINGS], const packed *body);
void gzip_free(packed framings[GZIP_FRAMINGS]);

#endif /* KIN_TEST_GZIP_STORY_H */
