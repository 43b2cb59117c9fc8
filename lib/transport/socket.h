/* SPDX-License-Identifier: MIT */
#ifndef KIN_TRANSPORT_SOCKET_H
#define KIN_TRANSPORT_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

/* Thin wrappers of the socket calls. EINTR is handled, errors are negative
 * libuv codes, and no call raises SIGPIPE. */

typedef union kin__address {
  struct sockaddr any;
  struct sockaddr_in ip4;
  struct sockaddr_in6 ip6;
  struct sockaddr_un local;
} kin__address;

/* Of the path of a unix socket, with its NUL: 108 on Linux, 104 elsewhere. */
#define KIN__UNIX_PATH_SIZE                                                    \
  (sizeof(struct sockaddr_un) - offsetof(struct sockaddr_un, sun_path))

/* Room for "[address]:port" or "unix:path", and a NUL. */
#define KIN__ADDRESS_TEXT_SIZE (KIN__UNIX_PATH_SIZE + 5)

/* "10.0.0.1:443", "[::1]:443" or "unix:/run/x". */
void kin__address_format(const kin__address *address, char *text, size_t size);

/* Opens a stream socket: non-blocking, close-on-exec, without Nagle's delay.
 * Returns the descriptor. */
int kin__socket_open(int family);
void kin__socket_close(int fd);

/* Begins to connect. Returns 0 whether or not the connection is up already.
 * Call kin__socket_connected when the socket is writable. */
int kin__socket_connect(int fd, const kin__address *address);
int kin__socket_connected(int fd);

/* poll(2) without waiting. Readable: input, the end or an error. Writable:
 * room, or the result of a connect. */
bool kin__socket_is_readable(int fd);
bool kin__socket_is_writable(int fd);

/* Makes the kernel notice a dead peer within about 40 s, both on an idle
 * connection and while sent bytes are not acknowledged. Best effort. */
void kin__socket_watch_peer(int fd);

/* Returns the number of bytes, 0 at the end of the stream, or UV_EAGAIN if
 * there is no input yet. */
int kin__socket_receive(int fd, char *bytes, size_t size);

/* Returns the number of bytes taken, which may be less than `length`, or
 * UV_EAGAIN if there is no room. */
int kin__socket_send(int fd, const char *bytes, size_t length);

#endif /* KIN_TRANSPORT_SOCKET_H */
