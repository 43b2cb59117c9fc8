/* SPDX-License-Identifier: MIT */
#ifndef KIN_TEST_ANSWER_WORLD_H
#define KIN_TEST_ANSWER_WORLD_H

#include <stdbool.h>

#include <uv.h>

#include <kin/kin.h>

#include "support/fail_alloc.h"
#include "support/loop_server.h"

/* A list of two pods, and the event that takes one of them away. */
#define ANSWER_LIST                                                            \
  "{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"7\"},\"items\":[" \
  "{\"metadata\":{\"name\":\"a\",\"namespace\":\"n\",\"uid\":\"1\","           \
  "\"resourceVersion\":\"5\"}},{\"metadata\":{\"name\":\"b\",\"namespace\":"   \
  "\"n\",\"uid\":\"2\",\"resourceVersion\":\"6\"}}]}"
#define ANSWER_EVENT                                                           \
  "{\"type\":\"DELETED\",\"object\":{\"metadata\":{\"name\":\"a\","            \
  "\"namespace\":\"n\",\"uid\":\"1\",\"resourceVersion\":\"8\"}}}\n"

/* A client with an informer, a listener, and a server on one real loop, whose
 * answers are written byte by byte: to a list, to a watch, and then the last
 * one again and again. */
typedef struct answer_world {
  fail_alloc memory;
  uv_loop_t loop;
  uv_timer_t guard; /* real time: aborts a test that hangs */
  loop_server server;
  kin_client *client;     /* NULL once closed */
  kin_informer *informer; /* the same */
  int adds;
  int deletes;
  int synced;
  int errors;
  int code; /* these of the last error */
  kin_error_class error_class;
  int status;
  char message[700];
  int calls;
  int close_at; /* the call that closes the client; 0: none */
} answer_world;

/* Opens and starts everything; fails the test if that fails, unless an
 * allocation was to. Returns the first error. */
int answer_world_open(answer_world *w, const loop_reply *replies, size_t count,
                      bool accept_gzip, size_t fail_at, int close_at);
/* Closes what is open, and checks that nothing is left. */
void answer_world_close(answer_world *w);

/* Opens a world with answers to a list and a watch, which bring ANSWER_LIST and
 * ANSWER_EVENT, and closes it. */
void answer_world_expect_event(const loop_reply replies[2], bool accept_gzip);

#define ANSWER_UNTIL(w, condition)                                             \
  while (!(condition)) {                                                       \
    uv_run(&(w)->loop, UV_RUN_ONCE);                                           \
  }

#endif /* KIN_TEST_ANSWER_WORLD_H */
