/* SPDX-License-Identifier: MIT */
#ifndef KIN_TEST_SERVER_SOCKET_H
#define KIN_TEST_SERVER_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The sockets of loop_server and tls_server, and the end of a request. Each
 * function aborts the test on failure. */

/* A socket on a free port of 127.0.0.1. */
int server_listen(int *port, int backlog);
/* A port of 127.0.0.1 on which nobody listens, nor will. */
int server_unused_port(void);
/* The same on a unix socket, whose file must not exist. */
int server_listen_unix(const char *path);
/* The next connection, or -1 if it has gone again. */
int server_accept(int listener);
/* close(fd) will send a RST. */
void server_will_reset(int fd);

/* One connection's requests, with bodies of a given Content-Length. Zeroed:
 * none yet. */
typedef struct request_reader {
  uint32_t tail; /* the last four bytes of the request in hand */
  size_t seen;   /* bytes of it */
  size_t line;   /* bytes of its line in hand that were equal to the name
                  * below; SIZE_MAX: no such line */
  size_t body;   /* bytes of its body that are to come */
} request_reader;

/* Takes a byte, which also goes to `text` while there is room for it and a NUL.
 * Returns whether it is the last one of a request. */
bool request_reader_take(request_reader *reader, char byte, char *text,
                         size_t size);

#endif /* KIN_TEST_SERVER_SOCKET_H */
