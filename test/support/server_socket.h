/* SPDX-License-Identifier: MIT */
#ifndef KIN_TEST_SERVER_SOCKET_H
#define KIN_TEST_SERVER_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What loop_server and tls_server do with their sockets, and how they find the
 * end of a request. All of it aborts the test on failure. */

/* A socket on a free port of 127.0.0.1. `backlog` -1: it does not listen. */
int server_listen(int *port, int backlog);
/* The next connection, or -1 if it has gone again. */
int server_accept(int listener);
/* close(fd) will send a RST. */
void server_will_reset(int fd);

/* One connection's requests, none of which has a body. Zeroed: none yet. */
typedef struct request_reader {
  uint32_t tail; /* the last four bytes of the request in hand */
  size_t seen;   /* bytes of it */
} request_reader;

/* Takes a byte, which also goes to `text` while there is room for it and a NUL.
 * Returns whether it is the last one of a request. */
bool request_reader_take(request_reader *reader, char byte, char *text,
                         size_t size);

#endif /* KIN_TEST_SERVER_SOCKET_H */
