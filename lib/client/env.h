/* SPDX-License-Identifier: MIT */
#ifndef KIN_CLIENT_ENV_H
#define KIN_CLIENT_ENV_H

#include <stdatomic.h>
#include <stdbool.h>

#include <kin/allocator.h>

#include "base/byte_bound.h"
#include "base/clock.h"
#include "base/gate.h"
#include "base/limiter.h"
#include "base/link.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/sched.h"
#include "base/thread.h"
#include "base/timers.h"
#include "decode/watch.h"
#include "transport/exchange.h"

/* A callback for the beginning of a later loop iteration, when no frame of the
 * library is on the stack. */
typedef struct kin__deferred {
  kin__link node;
  void (*cb)(struct kin__deferred *deferred);
} kin__deferred;

/* Starts and cancels requests: the transport's functions, or a test's. Each has
 * the meaning of the function of the same name in transport/exchange.h. */
typedef struct kin__transport_ops {
  int (*start)(void *ctx, const kin__request *request,
               const kin__exchange_callbacks *callbacks, void *callbacks_ctx,
               void **out);
  void (*cancel)(void *exchange);
  void (*pause)(void *exchange);
  void (*resume)(void *exchange);
  void *ctx;
} kin__transport_ops;

/* Work for another thread. `run` is called there; then, or if the work is not
 * run at all, `done` is called on the loop's thread. It may note and schedule
 * only. The work must live until then. */
typedef struct kin__pool_work {
  void (*run)(struct kin__pool_work *work);
  void (*done)(struct kin__pool_work *work);
  void *request; /* of start_work; NULL: none waits or runs */
} kin__pool_work;

/* The environment of an informer. A client provides a libuv loop and sockets; a
 * simulation provides a virtual clock and a script. */
typedef struct kin__env {
  const kin_allocator *allocator; /* memory's */
  /* Of what other threads allocate, too. */
  const kin_allocator *shared_allocator;
  kin__memory *memory;
  kin__sched *sched;
  kin__timers *timers;
  kin__clock clock;
  kin__random *random;
  const kin__log *log;
  uint32_t mutation_check_ms; /* time between two passes; 0: 1 s */
  /* Of compact storage: objects for a first dictionary. Other numbers of
   * objects (informer/compact.c) are in proportion. 0: 64. */
  uint32_t compact_samples;
  kin__transport_ops transport;
  /* Changes when other settings of the server are in use: what was learned of
   * the server may be wrong then. NULL: never. */
  const uint32_t *server_generation;
  /* For watches in the middle of a frame. */
  kin__watch_decoders *watch_decoders;
  uint64_t *handler_ns;    /* time in the program's callbacks is added here */
  kin__link *deferred;     /* run before the scheduler's tasks */
  void (*wake)(void *ctx); /* asks for a run soon */
  void *wake_ctx;
  /* kin__thread_self of the thread that ran the last turn. */
  _Atomic(const void *) *thread;
  /* Any thread may call this while a member is open. Soon afterwards the loop's
   * thread tells all members KIN__NEWS_CALLED. */
  void (*call)(void *ctx);
  void *call_ctx;
  /* Runs work on another thread; NULL: there is no other thread. */
  int (*start_work)(void *ctx, kin__pool_work *work);
  /* Work that no thread has begun is not run, and `done` comes soon. Does nothing
   * to other work. NULL: there is no such. */
  void (*cancel_work)(kin__pool_work *work);
  void *work_ctx;
  bool has_no_helper;     /* objects are packed by the loop's thread alone */
  kin__gate *lists;       /* admits lists; NULL: no limit */
  bool *stream_refused;   /* see kin__list_and_watch; NULL: no streams */
  bool check_watch_lists; /* see check/list_check.h */

  /* Bytes of the objects of all informers; NULL: not counted. */
  kin__byte_bound *object_bytes;

  /* The client's rate limit of requests; NULL: none. */
  kin__limiter *limiter;
} kin__env;

static inline uint32_t kin__env_server_generation(const kin__env *env) {
  return env->server_generation != NULL ? *env->server_generation : 0;
}

/* Any thread may ask. Wrong from the time when the loop moves until the first
 * turn on the new thread. */
static inline bool kin__env_is_on_loop(const kin__env *env) {
  return atomic_load_explicit(env->thread, memory_order_relaxed) ==
         kin__thread_self();
}

static inline uint64_t kin__env_now_ms(const kin__env *env) {
  return kin__clock_ms(&env->clock);
}

/* Adds the time since `start_ns`, spent in a callback of the program. */
static inline void kin__env_add_handler_time(const kin__env *env,
                                             uint64_t start_ns) {
  *env->handler_ns += kin__clock_ns(&env->clock) - start_ns;
}

/* Tells the program that a handle is gone; `cb` may be NULL. */
static inline void kin__env_tell_closed(const kin__env *env,
                                        void (*cb)(void *data), void *data) {
  if (cb != NULL) {
    uint64_t start_ns = kin__clock_ns(&env->clock);
    cb(data);
    kin__env_add_handler_time(env, start_ns);
  }
}

static inline void kin__env_cancel_work(const kin__env *env,
                                        kin__pool_work *work) {
  if (env->cancel_work != NULL) {
    env->cancel_work(work);
  }
}

static inline void kin__env_defer(const kin__env *env,
                                  kin__deferred *deferred) {
  kin__link_push(env->deferred, &deferred->node);
  env->wake(env->wake_ctx);
}

#endif /* KIN_CLIENT_ENV_H */
