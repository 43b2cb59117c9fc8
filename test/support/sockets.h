/* SPDX-License-Identifier: MIT */
#ifndef KIN_TEST_SUPPORT_SOCKETS_H
#define KIN_TEST_SUPPORT_SOCKETS_H

#include <fcntl.h>
#include <stdbool.h>

#include <sys/socket.h>
#include <unistd.h>

/* Sockets of test servers: they do not block, and no child inherits them. macOS
 * has no accept4, no flags for socket, and an option in place of
 * MSG_NOSIGNAL. */

#ifdef MSG_NOSIGNAL
#define TEST_NO_SIGNAL MSG_NOSIGNAL
#else
#define TEST_NO_SIGNAL 0
#endif

/* Returns fd; closes it and returns -1 if that fails. */
static inline int test_socket_prepare(int fd) {
  bool is_ready = fd >= 0 &&
                  fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) == 0 &&
                  fcntl(fd, F_SETFD, FD_CLOEXEC) == 0;
#ifdef SO_NOSIGPIPE
  int on = 1;
  is_ready =
      is_ready && setsockopt(fd, SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof on) == 0;
#endif
  if (fd >= 0 && !is_ready) {
    close(fd);
  }
  return is_ready ? fd : -1;
}

static inline int test_socket_open(void) {
  return test_socket_prepare(socket(AF_INET, SOCK_STREAM, 0));
}

static inline int test_socket_accept(int listener) {
  return test_socket_prepare(accept(listener, NULL, NULL));
}

#endif /* KIN_TEST_SUPPORT_SOCKETS_H */
