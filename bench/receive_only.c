/* SPDX-License-Identifier: MIT */

/* The limit that an informer is measured against: gets the same bytes from the
 * same server, in a blocking loop of recv (or SSL_read) and memchr for
 * newlines, and does nothing else with them. First the list, until its body
 * ends; then a watch, until `--events` frames have come. Prints one JSON
 * object.
 *
 * The little it must know of HTTP: a body ends after Content-Length bytes, with
 * the last chunk, or with the connection. Compact JSON holds no CR, so a
 * newline after one belongs to the chunked encoding and any other ends a frame.
 */

#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "connection.h"
#include "measure.h"

/* One system call empties the socket, whose own buffer is about as large. Of
 * 64 KiB to 8 MiB it needs the least CPU. */
enum { BUFFER_BYTES = 4096 * 1024 };

static char buffer[BUFFER_BYTES];
static size_t buffered;

typedef struct body {
  const char *cipher;
  bool is_chunked;
  uint64_t left;  /* of Content-Length; UINT64_MAX: not known */
  uint64_t bytes; /* received, the encoding included */
  uint64_t newlines;
  char last; /* the last byte received */
} body;

static void send_request(connection *to, const char *accept, const char *host,
                         const char *target) {
  char request[2048];
  int length = snprintf(request, sizeof(request),
                        "GET %s HTTP/1.1\r\nHost: %s\r\n"
                        "Accept: %s\r\n"
                        "User-Agent: receive_only\r\n\r\n",
                        target, host, accept);
  if (length < 0 || (size_t)length >= sizeof(request)) {
    die("the request is too long");
  }
  connection_send(to, request, (size_t)length);
}

static size_t receive(connection *from, size_t at) {
  return connection_receive(from, buffer + at, sizeof(buffer) - at);
}

/* Reads up to the end of the head. What follows of the body is moved to the
 * front of the buffer and is `buffered` long. */
static body receive_head(connection *from) {
  body b = {.cipher = connection_cipher(from), .left = UINT64_MAX};
  size_t length = 0;
  char *end = NULL;
  while (!end) {
    size_t n = length < sizeof(buffer) ? receive(from, length) : 0;
    if (n == 0) {
      die("no response head");
    }
    length += n;
    end = memmem(buffer, length, "\r\n\r\n", 4);
  }
  *end = '\0';
  if (strncmp(buffer, "HTTP/1.1 200", 12) != 0) {
    buffer[strcspn(buffer, "\r")] = '\0';
    fprintf(stderr, "receive_only: %s\n", buffer);
    exit(1);
  }
  const char *field = strcasestr(buffer, "\r\nContent-Length:");
  if (field) {
    b.left = strtoull(field + strlen("\r\nContent-Length:"), NULL, 10);
  }
  field = strcasestr(buffer, "\r\nTransfer-Encoding:");
  b.is_chunked = field && strncasecmp(field + 21, "chunked", 7) == 0;
  end += 4;
  buffered = length - (size_t)(end - buffer);
  memmove(buffer, end, buffered);
  return b;
}

/* Counts the frames that end in the first n bytes of the buffer. */
static void find_newlines(body *b, size_t n) {
  const char *at = buffer;
  const char *end = buffer + n;
  while ((at = memchr(at, '\n', (size_t)(end - at)))) {
    char before = at > buffer ? at[-1] : b->last;
    b->newlines += before != '\r';
    at++;
  }
  b->last = n > 0 ? buffer[n - 1] : b->last;
}

/* Whether the bytes end with the last chunk. They are compared with what ended
 * the part before, too. */
static bool ends_chunked(char tail[7], size_t n) {
  size_t take = n < 7 ? n : 7;
  memmove(tail, tail + take, 7 - take);
  memcpy(tail + 7 - take, buffer + n - take, take);
  return memcmp(tail, "\r\n0\r\n\r\n", 7) == 0;
}

/* Takes the next part of the body. Returns false at its end. */
static bool receive_part(connection *from, body *b, char tail[7]) {
  size_t n = buffered > 0 ? buffered : b->left > 0 ? receive(from, 0) : 0;
  buffered = 0;
  if (n == 0) {
    return false;
  }
  find_newlines(b, n);
  b->bytes += n;
  if (b->left != UINT64_MAX) {
    b->left -= n < b->left ? n : b->left;
    return b->left > 0;
  }
  return !b->is_chunked || !ends_chunked(tail, n);
}

/* The list's version is in its first bytes for built-in types; a replayed watch
 * does not depend on it. */
static void find_version(char *version, size_t size) {
  static const char name[] = "\"resourceVersion\":\"";
  snprintf(version, size, "0");
  char *at = memmem(buffer, buffered, name, strlen(name));
  if (!at) {
    return;
  }
  at += strlen(name);
  char *quote = memchr(at, '"', buffered - (size_t)(at - buffer));
  if (quote && (size_t)(quote - at) < size) {
    memcpy(version, at, (size_t)(quote - at));
    version[quote - at] = '\0';
  }
}

typedef struct arguments {
  const char *host;
  const char *port;
  const char *path;
  uint64_t events;
  bool metadata_only;
  security security;
} arguments;

static arguments parse_arguments(int argc, char **argv) {
  static const struct option options[] = {
      {"host", required_argument, NULL, 'h'},
      {"port", required_argument, NULL, 'p'},
      {"path", required_argument, NULL, 'r'},
      {"events", required_argument, NULL, 'e'},
      {"metadata-only", no_argument, NULL, 'm'},
      {"tls", no_argument, NULL, 't'},
      {"ca", required_argument, NULL, 'c'},
      {NULL, 0, NULL, 0}};
  arguments a = {.host = "127.0.0.1", .path = "/api/v1/pods"};
  int c;
  while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
    switch (c) {
    case 'h':
      a.host = optarg;
      break;
    case 'p':
      a.port = optarg;
      break;
    case 'r':
      a.path = optarg;
      break;
    case 'e':
      a.events = number_argument("receive_only", "--events", optarg);
      break;
    case 'm':
      a.metadata_only = true;
      break;
    case 't':
      a.security.is_tls = true;
      break;
    case 'c':
      a.security.authority_file = optarg;
      break;
    default:
      exit(2);
    }
  }
  if (!a.port || (a.security.authority_file && !a.security.is_tls)) {
    fputs("usage: receive_only --port PORT [--host HOST] [--path /api/v1/pods] "
          "[--events N]\n"
          "         [--metadata-only] [--tls [--ca FILE]]\n"
          "Without --ca no certificate is verified.\n",
          stderr);
    exit(2);
  }
  return a;
}

#define METADATA_ONLY                                                          \
  "application/json;as=%s;g=meta.k8s.io;v=v1,application/json"

static body get_list(arguments *a, char *version, size_t version_size) {
  char target[1024];
  char accept[128];
  snprintf(accept, sizeof(accept),
           a->metadata_only ? METADATA_ONLY : "application/json",
           "PartialObjectMetadataList");
  snprintf(target, sizeof(target), "%s?limit=500&resourceVersion=0", a->path);
  connection c = connection_open(&a->security, a->host, a->port);
  send_request(&c, accept, a->host, target);
  body list = receive_head(&c);
  if (buffered == 0) {
    buffered = receive(&c, 0);
  }
  find_version(version, version_size);
  char tail[7] = {0};
  while (receive_part(&c, &list, tail)) {
  }
  connection_close(&c);
  return list;
}

static body get_events(arguments *a, const char *version) {
  char target[1024];
  char accept[128];
  snprintf(accept, sizeof(accept),
           a->metadata_only ? METADATA_ONLY : "application/json",
           "PartialObjectMetadata");
  snprintf(target, sizeof(target),
           "%s?watch=true&allowWatchBookmarks=true&resourceVersion=%s"
           "&timeoutSeconds=600",
           a->path, version);
  connection c = connection_open(&a->security, a->host, a->port);
  send_request(&c, accept, a->host, target);
  body watch = receive_head(&c);
  char tail[7] = {0};
  while (watch.newlines < a->events && receive_part(&c, &watch, tail)) {
  }
  connection_close(&c);
  if (watch.newlines < a->events) {
    errno = 0;
    die("the watch ended too early");
  }
  return watch;
}

/* A moment, on both clocks. */
typedef struct instant {
  uint64_t wall_ns;
  uint64_t cpu_ns;
} instant;

static instant now(void) {
  return (instant){wall_ns(), process_cpu_ns()};
}

static double seconds(uint64_t from_ns, uint64_t to_ns) {
  return (double)(to_ns - from_ns) / 1e9;
}

int main(int argc, char **argv) {
  arguments a = parse_arguments(argc, argv);
  char version[64];
  instant started = now();
  body list = get_list(&a, version, sizeof(version));
  instant synced = now();
  body watch = {0};
  if (a.events > 0) {
    watch = get_events(&a, version);
  }
  instant ended = now();
  security_finish(&a.security);

  double events_s = seconds(synced.wall_ns, ended.wall_ns);
  double events = watch.newlines > 0 ? (double)watch.newlines : 1;
  printf("{\"cipher\":\"%s\",\"list_bytes\":%llu", list.cipher,
         (unsigned long long)list.bytes);
  printf(",\"sync_s\":%.6f,\"sync_cpu_s\":%.6f",
         seconds(started.wall_ns, synced.wall_ns),
         seconds(started.cpu_ns, synced.cpu_ns));
  printf(",\"watch_bytes\":%llu,\"events\":%llu,\"events_s\":%.6f,"
         "\"events_per_s\":%.0f,\"cpu_us_per_event\":%.4f}\n",
         (unsigned long long)watch.bytes, (unsigned long long)watch.newlines,
         events_s, (double)watch.newlines / events_s,
         seconds(synced.cpu_ns, ended.cpu_ns) * 1e6 / events);
  return 0;
}
