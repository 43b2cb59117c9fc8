/* SPDX-License-Identifier: MIT */
#ifndef KIN_TEST_CLIENT_WORLD_H
#define KIN_TEST_CLIENT_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <uv.h>

#include <kin/kin.h>

#include "support/answers.h"
#include "support/fail_alloc.h"
#include "support/loop_server.h"

/* A client with an informer and a listener on a real loop, and a count of
 * everything that they tell. A server on the same loop answers them. Each part
 * may be left out: a test with another server, another way to open the client,
 * or without an informer calls the functions of the other parts.
 *
 * A test of one client and one server is
 *
 *   client_world w;
 *   client_world_serve(&w, client_list_and_watch, 2);
 *   w.options.user_agent = "x";
 *   client_world_open(&w);
 *   CLIENT_UNTIL(&w, w.deletes == 1);
 *   client_world_finish(&w);
 */
typedef struct client_world {
  uv_loop_t loop;
  fail_alloc memory;
  uv_timer_t guard; /* real time: aborts a test that hangs */
  bool has_guard;
  loop_server server;
  bool has_server;

  /* These may be set before client_world_open. */
  kin_client_options options;
  int (*open)(struct client_world *w); /* opens w->client; NULL:
                                        * kin_client_open with the options */
  uint32_t retry_after_ms; /* the answer to each error; 0: the default */
  /* The callback of the informer that closes the client, from 1; 0: none. No
   * other one of the informer comes after it. */
  int close_at;
  /* Called in each callback after it was counted, close callbacks included; may
   * be NULL. */
  void (*hook)(struct client_world *w);
  void *data;                   /* the test's, for `open` and `hook` */
  struct client_output *output; /* see client_world_keep_output */

  kin_client *client;     /* NULL once it is closed */
  kin_informer *informer; /* the same; of several the last one */
  bool is_opening;        /* no callback comes while this is set */

  int adds;
  int deletes;
  int synced;
  int errors;
  int code; /* these of the last error */
  kin_error_class error_class;
  int status;
  char message[700];
  int clients_opened;
  int clients_closed;
  int informers_closed;
  int calls;        /* callbacks so far, of any kind */
  bool was_reached; /* close_at was */
} client_world;

/* --- Loop and server ------------------------------------------------------ */

/* The loop and the memory; nothing is on the loop. */
void client_world_init(client_world *w);
/* Aborts the test after a minute. */
void client_world_guard(client_world *w);
/* Both, and a server whose URL is that of the options. */
void client_world_serve(client_world *w, const loop_reply *replies,
                        size_t count);
/* Closes the server, unless it is closed. */
void client_world_end_server(client_world *w);

/* ANSWER_LISTED on a connection that ends, then ANSWER_WATCHED. */
extern const loop_reply client_list_and_watch[2];

/* All log lines and messages of errors, for searching. */
typedef struct client_output {
  char text[65536];
} client_output;

/* Keeps them from now on: sets the log and the hook. */
void client_world_keep_output(client_world *w, client_output *output);

/* --- Client and informer -------------------------------------------------- */

/* Opens the client, and an informer of pods. Returns 0 or KIN_ENOMEM if an
 * allocation was to fail; other errors fail the test. */
int client_world_open(client_world *w);
/* One of the two; returns the first error. */
int client_world_open_client(client_world *w);
int client_world_open_informer(client_world *w, const char *plural);
/* Options of an informer whose callbacks are counted. */
kin_informer_options client_world_informer(client_world *w, const char *plural);
/* For a callback of the client that the world does not set: counts the call,
 * and closes at close_at. */
void client_world_called(client_world *w);

/* One world from its beginning to its end: the answers to a list and a watch
 * bring ANSWER_LIST and ANSWER_EVENT. */
void client_world_expect_event(const loop_reply replies[2], bool accept_gzip);

#define CLIENT_UNTIL(w, condition)                                             \
  while (!(condition)) {                                                       \
    uv_run(&(w)->loop, UV_RUN_ONCE);                                           \
  }

/* --- The end -------------------------------------------------------------- */

/* kin_client_close; 0 if there is no client. Returns KIN_EALREADY if the client
 * is closing. */
int client_world_close(client_world *w);
/* Closes what is open and runs the loop to its end. Fails the test if a close
 * callback is missing or came twice, or if anything is left. */
void client_world_finish(client_world *w);

/* Runs the story with close_at 1, then 2, and so on, until it has fewer
 * callbacks: the story returns was_reached of its world. Returns how many
 * callbacks there are. */
int client_world_sweep_closes(bool (*story)(int close_at));

#endif /* KIN_TEST_CLIENT_WORLD_H */
