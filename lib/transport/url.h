/* SPDX-License-Identifier: MIT */
#ifndef KIN_TRANSPORT_URL_H
#define KIN_TRANSPORT_URL_H

#include <stdbool.h>
#include <stdint.h>

#include <kin/allocator.h>

/* The address of a server. */
typedef struct kin__url {
  char *host;        /* without brackets; a name or an address; the path of a
                      * unix socket, which begins with '/' */
  char *host_header; /* value of the Host field: host[:port]; "localhost" for a
                      * unix socket */
  char *prefix;  /* path put before every target: "" or "/a/b", no slash last */
  uint16_t port; /* 0: a unix socket */
  bool is_tls;
} kin__url;

/* Parses "http[s]://host[:port][/prefix]" or "unix:///path". Host names are
 * letters, digits, '-', '.' and '_'. User info, query and fragment are refused.
 * (RQ-01 drops the last two; a refusal tells the user.) Errors: KIN_EURL,
 * KIN_ENOMEM. */
int kin__url_parse(kin__url *url, const kin_allocator *allocator,
                   const char *text);
static inline bool kin__url_is_unix(const kin__url *url) {
  return url->host[0] == '/';
}

void kin__url_finish(kin__url *url, const kin_allocator *allocator);

#endif /* KIN_TRANSPORT_URL_H */
