/* SPDX-License-Identifier: MIT */
#ifndef APISIM_REQUEST_H
#define APISIM_REQUEST_H

/* One HTTP request as it was received: method, target, headers, body, all
 * bounded. The connection fills it from parser callbacks; handlers only read.
 */

#include <stdbool.h>
#include <stddef.h>

#include "buf.h"

enum {
  REQUEST_HEAD_MAX = 64 * 1024,       // request line and headers
  REQUEST_BODY_MAX = 3 * 1024 * 1024, // as the real server's limit
  REQUEST_HEADERS_MAX = 100,
  REQUEST_QUERY_MAX = 64,
  REQUEST_PATH_MAX = 16, // segments
};

typedef struct request {
  int method; // llhttp_method_t
  buf url;
  buf head; // header names and values, back to back
  struct {
    size_t name, name_len, value, value_len;
  } headers[REQUEST_HEADERS_MAX];
  size_t header_count;
  buf body;

  /* Filled by request_parse_target(). Pointers into text. */
  buf text;
  size_t path[REQUEST_PATH_MAX];
  size_t path_count;
  struct {
    size_t key, value;
  } query[REQUEST_QUERY_MAX];
  size_t query_count;
  bool trailing_slash;
} request;

void request_clear(request *r);
void request_free(request *r);

/* Takes url apart, which may begin with a scheme and a host. False if it does
 * not have a path of at most REQUEST_PATH_MAX segments with valid percent
 * escapes; a malformed query parameter is dropped, as Go's server does. */
bool request_parse_target(request *r);
/* The i-th path segment, decoded; NULL past the end. */
const char *request_segment(const request *r, size_t i);
/* The first value of a query parameter, decoded; NULL if it is not there. */
const char *request_query(const request *r, const char *key);
/* Parses a boolean parameter as the API server does: present means true unless
 * it says 0 or false. */
bool request_query_bool(const request *r, const char *key);
/* The first value of a header; an empty slice with ptr NULL if absent. */
slice request_header(const request *r, const char *name);

#endif
