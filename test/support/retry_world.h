/* SPDX-License-Identifier: MIT */
#ifndef KIN_TEST_RETRY_WORLD_H
#define KIN_TEST_RETRY_WORLD_H

#include "support/virtual_host.h"
#include "support/watch_log.h"
#include "toolkit/watch.h"

/* A retry watcher of pods on a virtual host, and the log of what it says. */
typedef struct retry_world {
  virtual_host vh;
  kin_informer_options resource;
  kin_retry_watcher_options options;
  kin_retry_watcher *watcher;
  watch_log log;
} retry_world;

/* Everything but opening; `version` may be NULL. `fail_at`: see fail_alloc. */
void rw_init(retry_world *w, const char *version, size_t fail_at);
/* kin_retry_watcher_open. */
int rw_try_open(retry_world *w);
/* Both; fails the test on an error. */
void rw_open(retry_world *w, const char *version);
/* Closes the host and all, and fails the test if anything is left, or was said
 * except that the watcher is closed. */
void rw_finish(retry_world *w);

/* Frames of a watch, of the object "x". */
#define RW_OBJECT(version)                                                     \
  "{\"metadata\":{\"name\":\"x\",\"resourceVersion\":\"" version "\"}}"
#define RW_FRAME(type, object) "{\"type\":\"" type "\",\"object\":" object "}\n"
#define RW_STATUS(code, reason)                                                \
  "{\"kind\":\"Status\",\"status\":\"Failure\",\"code\":" code                 \
  ",\"reason\":\"" reason "\",\"message\":\"said so\"}"

/* The open request is granted. */
void rw_head(retry_world *w);
/* Sends frames; false if the request is gone after that. */
bool rw_send(retry_world *w, const char *frames);
/* The whole answer. */
void rw_respond(retry_world *w, int status, const char *body);
void rw_end(retry_world *w);
void rw_break(retry_world *w);

/* Fails the test unless a watch from this version is requested; or nothing
 * is. */
void rw_expect_request(retry_world *w, const char *version);
void rw_expect_none(retry_world *w);

#endif /* KIN_TEST_RETRY_WORLD_H */
