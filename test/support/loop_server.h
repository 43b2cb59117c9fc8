/* SPDX-License-Identifier: MIT */
#ifndef KIN_TEST_LOOP_SERVER_H
#define KIN_TEST_LOOP_SERVER_H

#include <stdbool.h>
#include <stddef.h>

#include <uv.h>

/* A server for tests on the same loop as what is tested. It knows no HTTP but
 * the blank line that ends a request's head, and the length of its body: the
 * n-th request it sees, on whichever connection, is answered with the bytes of
 * the n-th reply. */
typedef enum loop_then {
  LOOP_KEEP,  /* leaves the connection open: keep-alive, or a stall */
  LOOP_CLOSE, /* closes it in order */
  LOOP_RESET  /* closes it with a RST */
} loop_then;

typedef struct loop_reply {
  const char *bytes; /* NULL: none */
  size_t length;     /* 0: strlen(bytes) */
  size_t slice;      /* bytes sent per loop iteration; 0: all at once */
  loop_then then;    /* after the last byte */
  bool is_rude;      /* answers as soon as the connection is accepted, reads
                      * nothing */
} loop_reply;

struct loop_peer;

typedef struct loop_server {
  uv_loop_t *loop;
  uv_poll_t poll;
  int fd;
  int port;
  char url[64]; /* "http://127.0.0.1:port" */

  const loop_reply *replies; /* the last one is repeated */
  size_t reply_count;
  struct loop_peer *peers;

  size_t accepted;         /* connections so far */
  size_t requests;         /* complete ones so far */
  size_t replied;          /* replies sent to the last byte */
  size_t open;             /* connections now */
  size_t read_at_once;     /* bytes of a recv; 0: 4 KiB */
  size_t received;         /* bytes of requests so far */
  char last_request[1024]; /* its first bytes, NUL-terminated */
} loop_server;

/* Listens on a free port of 127.0.0.1. Borrows the replies. Aborts the test on
 * failure. */
void loop_server_open(loop_server *server, uv_loop_t *loop,
                      const loop_reply *replies, size_t reply_count);

/* The same on a unix socket, whose file must not exist, and stays. */
void loop_server_open_unix(loop_server *server, uv_loop_t *loop,
                           const char *path, const loop_reply *replies,
                           size_t reply_count);

/* Closes everything; the loop must run until the handles are closed. */
void loop_server_close(loop_server *server);

/* Other replies from now on. The requests before count: the third request gets the
 * third of these. Borrows them. */
void loop_server_answer(loop_server *server, const loop_reply *replies,
                        size_t reply_count);

/* Ends all connections, but goes on listening. */
void loop_server_drop(loop_server *server, loop_then then);

/* Sends bytes on all connections, asked for or not. */
void loop_server_push(loop_server *server, const char *bytes);
void loop_server_push_bytes(loop_server *server, const char *bytes,
                            size_t length);

/* A port of 127.0.0.1 on which nobody listens. */
int loop_unused_port(void);

/* A listening socket whose queue is full, so that connecting to it hangs: the
 * kernel drops the SYNs. */
typedef struct loop_black_hole {
  int listener;
  int fillers[8];
  int port;
} loop_black_hole;

void loop_black_hole_open(loop_black_hole *hole);
/* Empties the queue: who is still connecting gets through with its next SYN, a
 * second after the first. */
void loop_black_hole_drain(loop_black_hole *hole);
void loop_black_hole_close(loop_black_hole *hole);

#endif /* KIN_TEST_LOOP_SERVER_H */
