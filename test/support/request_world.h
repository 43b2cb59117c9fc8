/* SPDX-License-Identifier: MIT */
#ifndef KIN_TEST_REQUEST_WORLD_H
#define KIN_TEST_REQUEST_WORLD_H

#include <kin/request.h>

#include "support/virtual_host.h"

/* One request on a virtual host, which the test answers by hand, and its
 * result. */
typedef struct request_world {
  virtual_host vh;
  kin_request_spec spec; /* by default: merge-patches config map n/c */
  kin_request *request;
  uint64_t began_ms;

  int failures;    /* calls of on_error */
  char told[1024]; /* "429+5000 " and so on: status and wait */
  kin_retry answer;
  uint64_t retry_after_ms;
  int calls;                             /* of both callbacks */
  void (*then)(struct request_world *w); /* called in each; may do anything */
  int how;                               /* for `then` */
  int at_call;

  int results;
  int code;
  kin_error_class error_class;
  int status;
  kin_reason reason;
  char message[1024];
  char reason_text[64];
  char details[256]; /* "kind/name" */
  char causes[1024]; /* "field reason message; " and so on */
  size_t cause_count;
  int64_t retry_after_s;
  char *body; /* NUL-terminated */
  size_t body_length;
  char content_type[256];
  uint32_t retries;
  uint64_t at_ms;  /* after the beginning */
  char object[64]; /* the key of the answer's object, or "" */
  int object_code;
} request_world;

#define QW_PATH "/api/v1/namespaces/n/configmaps/c"

void qw_init(request_world *w, size_t fail_at);
int qw_try_start(request_world *w);
/* Fails the test on an error. */
void qw_start(request_world *w);
/* Both of the above, for a verb. */
void qw_begin(request_world *w, kin_verb verb);

/* Answers what is open: a status with a JSON body; with a Retry-After; a
 * connection that breaks before the head. */
void qw_answer(request_world *w, int status, const char *body);
void qw_put_off(request_world *w, int status, int64_t retry_after_s,
                const char *body);
void qw_cut(request_world *w, int code);
void qw_pass(request_world *w, uint64_t ms);
/* The open request; fails the test if there is none. */
script_request *qw_open_try(request_world *w);

/* The request has ended once, like this. */
void qw_expect(const request_world *w, int code, int status, kin_reason reason);
/* Closes all; fails the test if anything is left, or if there was not one
 * result. */
void qw_finish(request_world *w);

#define QW_STATUS(code, reason, rest)                                          \
  "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},"                \
  "\"status\":\"Failure\",\"message\":\"it failed\",\"reason\":\"" reason      \
  "\"," rest "\"code\":" #code "}"

#endif /* KIN_TEST_REQUEST_WORLD_H */
