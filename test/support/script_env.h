/* SPDX-License-Identifier: MIT */
#ifndef KIN_TEST_SCRIPT_ENV_H
#define KIN_TEST_SCRIPT_ENV_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kin/informer.h>

#include "base/random.h"
#include "base/sched.h"
#include "base/timers.h"
#include "client/env.h"

/* An informer's surroundings without a loop or a socket: a clock that the test
 * moves, and a source that records what is asked for and answers what the test
 * says. Everything is deterministic. */

#define SCRIPT_MAX_REQUESTS 32

typedef struct script_request {
  struct script_env *env;
  unsigned id; /* never that of another: its address may be, once it ended */
  char target[2048];
  char accept[128];
  char if_none_match[KIN__ETAG_MAX + 1];
  char method[16];
  char content_type[64];
  const char *body; /* borrowed, as an exchange does */
  size_t body_length;
  bool is_watch;
  uint8_t read_shift;
  bool is_open;
  bool has_head;
  bool is_paused;
  uint64_t position; /* for whoever serves it; 0 at first */
  bool is_streaming; /* the same: the end of initial events is to come */
  const kin__exchange_callbacks *callbacks;
  void *ctx;
} script_request;

typedef struct script_env {
  kin__env env;
  kin__memory *memory;
  kin__sched sched;
  kin__timers timers;
  kin__random random;
  kin__watch_decoders watch_decoders;
  kin__link deferred;
  uint64_t now_ns;
  uint64_t handler_ns;
  script_request *requests[SCRIPT_MAX_REQUESTS]; /* open ones */
  unsigned request_count;                        /* sent so far */
  char last_target[2048];                        /* of the newest request */
  int fail_start;          /* start() fails this many times with KIN_ENOMEM */
  uint64_t connection;     /* that heads say they came on */
  uint32_t server_address; /* that heads say the server has */
  bool stream_refused;     /* after script_use_streams: a stream was refused */
  size_t split; /* > 0: bodies are given in pieces of this many bytes */
  /* Called before a run of tasks and deferred calls, and after each of them;
   * see step_meter.h. NULL: nobody. */
  void (*on_step)(void *ctx, bool is_before);
  void *on_step_ctx;
  _Atomic(const void *) thread; /* of the last script_run */
  atomic_bool is_called;        /* env.call, by any thread */
  /* The loop's part of env.call, before tasks run. NULL: nothing. */
  void (*on_call)(struct script_env *script);
} script_env;

/* `allocator` may be NULL. Fails the test if there is no memory for itself. */
void script_env_init(script_env *script, const kin_allocator *allocator);
/* Fails the test if a request is open or work is left. */
void script_env_finish(script_env *script);

/* From now on lists come as watches, until a server refuses one. */
void script_use_streams(script_env *script);

/* Makes the calls that have been deferred so far. */
void script_run_deferred(script_env *script);
/* Runs tasks and deferred calls until nothing is left to do now. */
void script_run(script_env *script);
/* Moves the clock from timer to timer, running everything that becomes due. */
void script_advance(script_env *script, uint64_t ms);
/* Does the same, and returns how often timers woke the loop. */
size_t script_wakes(script_env *script, uint64_t ms);

/* The only open request whose target contains `part`, or NULL. */
script_request *script_find(script_env *script, const char *part);
/* The same; fails the test if there is none. */
script_request *script_expect(script_env *script, const char *part);

/* Answers: head, body, end. After a cancel they do nothing and return false. A
 * request that has ended is gone. All of them run the scheduler afterwards. */
bool script_head(script_env *script, const char *part, int status);
bool script_body(script_env *script, const char *part, const char *body,
                 size_t length);
bool script_end(script_env *script, const char *part);
/* A watch's ERROR event of code 410: its version has expired. It is not ended.
 */
bool script_expire(script_env *script, const char *part);
/* Head 200 (or `status`), body, end. */
void script_respond(script_env *script, const char *part, int status,
                    const char *body);
/* Breaks a request off. */
void script_break(script_env *script, const char *part, int code,
                  kin_error_class error_class);

/* The same for a request in hand. */
bool script_request_head(script_request *request, int status);
bool script_request_body(script_request *request, const char *body,
                         size_t length);
void script_request_end(script_request *request);
/* The same with any head; its connection, too, is what it says. */
bool script_request_give_head(script_request *request,
                              const kin__response_head *head);
void script_break_request(script_request *request, int code,
                          kin_error_class error_class);
void script_break_with(script_request *request,
                       const kin__exchange_error *error);

/* Whether the request is open that was at this address with this id. */
bool script_is_open(const script_env *script, const script_request *request,
                    unsigned id);

/* Number of open requests. */
unsigned script_open_requests(const script_env *script);

#endif /* KIN_TEST_SCRIPT_ENV_H */
