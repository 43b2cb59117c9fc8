/* SPDX-License-Identifier: MIT */
#include "support/server_socket.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "support/sockets.h"

#define CHECK(condition)                                                       \
  do {                                                                         \
    if (!(condition)) {                                                        \
      fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #condition,       \
              strerror(errno));                                                \
      abort();                                                                 \
    }                                                                          \
  } while (0)

int server_listen(int *port, int backlog) {
  int fd = test_socket_open();
  struct sockaddr_in address = {.sin_family = AF_INET,
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof address;
  CHECK(fd >= 0);
  CHECK(bind(fd, (struct sockaddr *)&address, size) == 0);
  CHECK(backlog < 0 || listen(fd, backlog) == 0);
  CHECK(getsockname(fd, (struct sockaddr *)&address, &size) == 0);
  *port = ntohs(address.sin_port);
  return fd;
}

int server_accept(int listener) {
  int fd = test_socket_accept(listener);
  if (fd >= 0) {
    int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  return fd;
}

void server_will_reset(int fd) {
  struct linger linger = {.l_onoff = 1, .l_linger = 0};
  CHECK(setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger) == 0);
}

bool request_reader_take(request_reader *reader, char byte, char *text,
                         size_t size) {
  if (reader->seen < size - 1) {
    text[reader->seen] = byte;
    text[reader->seen + 1] = '\0';
  }
  reader->seen++;
  reader->tail = reader->tail << 8 | (unsigned char)byte;
  if (reader->tail != 0x0d0a0d0a) { /* an empty line */
    return false;
  }
  *reader = (request_reader){.seen = 0};
  return true;
}
