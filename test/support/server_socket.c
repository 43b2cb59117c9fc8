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
#include <sys/un.h>
#include <unistd.h>

#include "support/check.h"
#include "support/sockets.h"

/* Below what Linux and macOS give for port 0. */
enum { UNUSED_FIRST = 20000, UNUSED_COUNT = 32768 - UNUSED_FIRST };

static struct sockaddr_in address_of(int port) {
  return (struct sockaddr_in){.sin_family = AF_INET,
                              .sin_port = htons((uint16_t)port),
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

int server_listen(int *port, int backlog) {
  int fd = test_socket_open();
  struct sockaddr_in address = address_of(0);
  socklen_t size = sizeof address;
  CHECK(fd >= 0);
  CHECK(bind(fd, (struct sockaddr *)&address, size) == 0);
  CHECK(listen(fd, backlog) == 0);
  CHECK(getsockname(fd, (struct sockaddr *)&address, &size) == 0);
  *port = ntohs(address.sin_port);
  return fd;
}

/* Tests beside this one listen on ports that the system gives to whoever asks
 * for any, so one of those might be used in a moment. */
int server_unused_port(void) {
  static unsigned count;
  for (int i = 0; i < UNUSED_COUNT; i++) {
    unsigned number = (unsigned)getpid() * 31 + count++;
    int port = UNUSED_FIRST + (int)(number % UNUSED_COUNT);
    struct sockaddr_in address = address_of(port);
    int fd = test_socket_open();
    CHECK(fd >= 0);
    int err = bind(fd, (struct sockaddr *)&address, sizeof address);
    close(fd);
    if (err == 0) {
      return port;
    }
  }
  CHECK(!"a port is free");
  return -1;
}

int server_listen_unix(const char *path) {
  int fd = test_socket_prepare(socket(AF_UNIX, SOCK_STREAM, 0));
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  CHECK(fd >= 0 && strlen(path) < sizeof address.sun_path);
  memcpy(address.sun_path, path, strlen(path));
  CHECK(bind(fd, (struct sockaddr *)&address, sizeof address) == 0);
  CHECK(listen(fd, 64) == 0);
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

/* Finds "Content-Length: " at the beginning of a line, as kinformer writes
 * it. */
static void read_length(request_reader *reader, char byte) {
  static const char name[] = "Content-Length: ";
  size_t length = sizeof name - 1;
  if (byte == '\n') {
    reader->line = 0;
  } else if (reader->line < length) {
    reader->line = byte == name[reader->line] ? reader->line + 1 : SIZE_MAX;
  } else if (reader->line == length && byte >= '0' && byte <= '9') {
    reader->body = reader->body * 10 + (size_t)(byte - '0');
  }
}

bool request_reader_take(request_reader *reader, char byte, char *text,
                         size_t size) {
  if (reader->seen < size - 1) {
    text[reader->seen] = byte;
    text[reader->seen + 1] = '\0';
  }
  reader->seen++;
  bool is_in_body = reader->tail == 0x0d0a0d0a; /* after an empty line */
  if (is_in_body) {
    reader->body--;
  } else {
    read_length(reader, byte);
    reader->tail = reader->tail << 8 | (unsigned char)byte;
  }
  if (reader->tail != 0x0d0a0d0a || reader->body > 0) {
    return false;
  }
  *reader = (request_reader){.seen = 0};
  return true;
}
