/* SPDX-License-Identifier: MIT */
#include "transport/socket.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include <netinet/tcp.h>
#include <poll.h>
#include <unistd.h>

#include <uv.h>

/* A peer that is silent for IDLE_S is probed every PROBE_S. Linux gives up
 * after USER_TIMEOUT_MS without an acknowledgement of any bytes. Elsewhere one
 * unanswered probe is the end. Both come to about 40 s. */
#define IDLE_S 30
#define PROBE_S 10
#define PROBES 1
#define USER_TIMEOUT_MS 30000

#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0 /* SO_NOSIGPIPE is set instead */
#endif

static void set_option(int fd, int level, int name, int value) {
  (void)setsockopt(fd, level, name, &value, sizeof value);
}

void kin__address_format(const kin__address *address, char *text, size_t size) {
  char host[INET6_ADDRSTRLEN] = "?";
  if (address->any.sa_family == AF_UNIX) {
    snprintf(text, size, "unix:%s", address->local.sun_path);
    return;
  }
  bool is_ip6 = address->any.sa_family == AF_INET6;
  if (is_ip6) {
    (void)uv_ip6_name(&address->ip6, host, sizeof host);
  } else {
    (void)uv_ip4_name(&address->ip4, host, sizeof host);
  }
  unsigned port =
      ntohs(is_ip6 ? address->ip6.sin6_port : address->ip4.sin_port);
  snprintf(text, size, is_ip6 ? "[%s]:%u" : "%s:%u", host, port);
}

#if defined(SOCK_NONBLOCK) && defined(SOCK_CLOEXEC)
static int open_flagged(int family) {
  int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  return fd >= 0 ? fd : uv_translate_sys_error(errno);
}
#else
static int open_flagged(int family) {
  int fd = socket(family, SOCK_STREAM, 0);
  if (fd < 0) {
    return uv_translate_sys_error(errno);
  }
  int flags = fcntl(fd, F_GETFL);
  if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 ||
      fcntl(fd, F_SETFD, FD_CLOEXEC) < 0) {
    int err = uv_translate_sys_error(errno);
    kin__socket_close(fd);
    return err;
  }
  return fd;
}
#endif

int kin__socket_open(int family) {
  int fd = open_flagged(family);
  if (fd >= 0) {
#ifdef SO_NOSIGPIPE
    set_option(fd, SOL_SOCKET, SO_NOSIGPIPE, 1);
#endif
    set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  }
  return fd;
}

void kin__socket_close(int fd) {
  /* On EINTR the descriptor is closed all the same. A second close could hit
   * another file's descriptor. */
  (void)close(fd);
}

int kin__socket_connect(int fd, const kin__address *address) {
  socklen_t size = address->any.sa_family == AF_INET6  ? sizeof address->ip6
                   : address->any.sa_family == AF_INET ? sizeof address->ip4
                                                       : sizeof address->local;
  /* An interrupted connect continues. */
  if (connect(fd, &address->any, size) == 0 || errno == EINPROGRESS ||
      errno == EINTR) {
    return 0;
  }
  return uv_translate_sys_error(errno);
}

/* A connect to a free port of the ephemeral range on this host can meet itself:
 * the kernel may pick the destination's port as the source. */
static bool is_self_connected(int fd) {
  kin__address here = {.any.sa_family = AF_UNSPEC};
  kin__address there = {.any.sa_family = AF_UNSPEC};
  socklen_t here_size = sizeof here;
  socklen_t there_size = sizeof there;
  if (getsockname(fd, &here.any, &here_size) != 0 ||
      getpeername(fd, &there.any, &there_size) != 0 ||
      here.any.sa_family != there.any.sa_family) {
    return false;
  }
  if (here.any.sa_family == AF_INET6) {
    return here.ip6.sin6_port == there.ip6.sin6_port &&
           memcmp(&here.ip6.sin6_addr, &there.ip6.sin6_addr,
                  sizeof here.ip6.sin6_addr) == 0;
  }
  return here.any.sa_family == AF_INET &&
         here.ip4.sin_port == there.ip4.sin_port &&
         here.ip4.sin_addr.s_addr == there.ip4.sin_addr.s_addr;
}

int kin__socket_connected(int fd) {
  int error = 0;
  socklen_t size = sizeof error;
  if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0) {
    error = errno;
  }
  if (error != 0) {
    return uv_translate_sys_error(error);
  }
  return is_self_connected(fd) ? UV_ECONNREFUSED : 0;
}

static bool is_ready(int fd, short events) {
  struct pollfd entry = {.fd = fd, .events = events};
  return poll(&entry, 1, 0) == 1;
}

bool kin__socket_is_readable(int fd) {
  return is_ready(fd, POLLIN);
}

bool kin__socket_is_writable(int fd) {
  return is_ready(fd, POLLOUT);
}

void kin__socket_watch_peer(int fd) {
  set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
#if defined(TCP_KEEPIDLE)
  set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, IDLE_S);
#elif defined(TCP_KEEPALIVE)
  set_option(fd, IPPROTO_TCP, TCP_KEEPALIVE, IDLE_S);
#endif
#ifdef TCP_KEEPINTVL
  set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, PROBE_S);
#endif
#ifdef TCP_KEEPCNT
  set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, PROBES);
#endif
#ifdef TCP_USER_TIMEOUT
  set_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, USER_TIMEOUT_MS);
#endif
}

static int result_of(ssize_t count) {
  if (count >= 0) {
    return (int)count;
  }
#ifdef __APPLE__
  /* macOS says so while the peer is closing; a moment later it is EPIPE. */
  if (errno == EPROTOTYPE) {
    return UV_EPIPE;
  }
#endif
  return errno == EWOULDBLOCK ? UV_EAGAIN : uv_translate_sys_error(errno);
}

int kin__socket_receive(int fd, char *bytes, size_t size) {
  ssize_t count;
  do {
    count = recv(fd, bytes, size < INT_MAX ? size : INT_MAX, 0);
  } while (count < 0 && errno == EINTR);
  return result_of(count);
}

int kin__socket_send(int fd, const char *bytes, size_t length) {
  ssize_t count;
  do {
    count = send(fd, bytes, length < INT_MAX ? length : INT_MAX, MSG_NOSIGNAL);
  } while (count < 0 && errno == EINTR);
  return result_of(count);
}
