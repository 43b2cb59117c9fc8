/* SPDX-License-Identifier: MIT */
#ifndef KIN_TEST_TRANSPORT_WORLD_H
#define KIN_TEST_TRANSPORT_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <uv.h>

#include "base/sched.h"
#include "base/timers.h"
#include "support/fail_alloc.h"
#include "support/loop_server.h"
#include "transport/transport.h"

#define WORLD_CONNECT_MS 10000u
#define WORLD_RESPONSE_MS 30000u
#define WORLD_IDLE_MS 60000u

/* A real loop with a scripted server and a transport; time is a number that
 * only world_advance changes. */
typedef struct world {
  uv_loop_t loop;
  uv_timer_t guard; /* real time: aborts a test that hangs */
  kin__sched sched;
  kin__timers timers;
  uint64_t now_ms;
  fail_alloc memory;
  loop_server server;
  kin__transport *transport; /* NULL if it could not be opened, or is closed */
  uint32_t max_idle;         /* these for world_open_at */
  const char *fields;
  struct kin__warnings *warnings;
  uint32_t probe_silence_ms;
  uint32_t read_delay_ms;
  bool accept_gzip;      /* the same */
  const char *proxy_url; /* the same; NULL: no proxy */
  const char *proxy_authority_file;
  bool is_closed; /* the transport's close callback has been called */
  int fd_count;   /* before */
} world;

/* One exchange as its owner sees it. */
typedef struct fetch {
  world *world;
  kin__exchange *exchange; /* NULL before it starts and after it ended */
  int status;
  char content_type[300];
  int64_t retry_after_s;
  uint64_t connection;
  bool is_identity;
  char *body; /* NUL-terminated */
  size_t body_length;
  size_t heads;
  size_t bodies; /* on_body calls */
  size_t ends;
  kin__exchange_error error; /* code 0: complete */

  /* Called after each callback, if set; may cancel. */
  void (*hook)(struct fetch *fetch);
  size_t callbacks; /* of this exchange so far */
  size_t act_at;    /* for hooks */
} fetch;

/* Replies are answered in order, see loop_server. world_init with fail_at, then
 * world_open or world_open_at; world_close checks that nothing is left: memory,
 * descriptors, handles. */
void world_init(world *w, const loop_reply *replies, size_t reply_count,
                size_t fail_at);
/* Opens the transport to the server, with a prefix. Returns its error. */
int world_open(world *w);
int world_open_at(world *w, const char *url);
void world_close(world *w);
/* Sets the server and the proxy of a transport's options. After a failure of
 * kin__transport_open both are the caller's. */
int world_set_server(const world *w, kin__transport_options *options,
                     const char *url);

/* All at once. */
void world_setup(world *w, const loop_reply *replies, size_t reply_count);

/* Waits for an event if there is no task, and runs all tasks. */
void world_turn(world *w);
/* Runs tasks only. */
void world_run_tasks(world *w);
/* Lets time pass: timers, then tasks. */
void world_advance(world *w, uint64_t ms);

#define WORLD_UNTIL(w, condition)                                              \
  while (!(condition)) {                                                       \
    world_turn(w);                                                             \
  }

int fetch_start(fetch *f, world *w, const char *target, bool is_watch);
/* The same with any request. */
int fetch_start_request(fetch *f, world *w, const kin__request *request);
/* Starts, runs until its end. */
void fetch_run(fetch *f, world *w, const char *target);
void fetch_until_end(fetch *f);
/* Starts it, runs until its first bytes. Returns its connection. */
struct kin__conn *fetch_first_byte(fetch *f, world *w, bool is_watch);
/* A hook: cancels the exchange in its callback `act_at`. */
void fetch_cancel_at(fetch *f);
void fetch_finish(fetch *f); /* frees the body */

/* A body of "hello": with its length, on a connection that closes, in
 * chunks. */
#define HELLO "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
#define HELLO_CLOSE                                                            \
  "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello"
#define HELLO_CHUNKED                                                          \
  "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"                      \
  "Transfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n"

/* A body of one byte that goes on. */
#define FIRST_BYTE                                                             \
  "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n"

void fetch_assert_hello(const fetch *f);
/* Fetches it; returns the number of its connection. */
uint64_t fetch_hello(world *w);

/* A response whose body is `size` bytes of all kinds; for free(). */
char *large_response(size_t size, size_t *length);
/* Fetches it and compares each byte. */
void fetch_large(world *w, const char *response, size_t length, size_t size);
/* The start of a request for a target of LARGE_TARGET bytes, more than a socket
 * holds. */
#define LARGE_TARGET 1000000
void fetch_start_large(fetch *f, world *w);

int count_fds(void);

#endif /* KIN_TEST_TRANSPORT_WORLD_H */
