/* SPDX-License-Identifier: MIT */
#ifndef KIN_INFORMER_INFORMER_H
#define KIN_INFORMER_INFORMER_H

#include <stdbool.h>
#include <stdint.h>

#include <kin/histogram.h>
#include <kin/informer.h>

#include "base/link.h"
#include "base/sched.h"
#include "base/timers.h"
#include "decode/sink.h"
#include "dispatch/dispatcher.h"
#include "client/host.h"
#include "check/mutation_check.h"
#include "informer/scopes.h"
#include "feed/settings.h"
#include "informer/version_wait.h"
#include "queue/delta_fifo.h"
#include "store/store.h"

struct kin__informer_transform;

/* Told when an informer is gone, before its close callbacks: the pointer is
 * dead. It is in no list then. May note and schedule only. */
typedef struct kin__gone_watch {
  kin__link node; /* in the informer's gone_watches */
  void (*gone)(struct kin__gone_watch *watch);
} kin__gone_watch;

/* Work of an informer is done by scheduler tasks, so that no call of the user
 * and no callback of the transport does more than note what is to be done:
 *
 *   a source's reading (transport) cuts objects off the stream: a list's go to
 *                                  the feed's stage, a watch's to the queue
 *   a scope's apply task           moves a complete stage to the queue, then
 *                                  sweeps what the list did not mention; sweeps
 *                                  what a removed scope had
 *   the scopes' task               frees removed scopes
 *   the process task               queue -> store -> listeners' queues
 *   each listener's task           listener's queue -> handlers
 *   a feed's notice task           on_error and on_state
 *   the index task                 builds indices added to a filled store
 *   the mutation check's task      looks for objects that were written to
 *   the waits' tasks               who waits for a version (version_wait.h)
 *   the close task                 takes everything down
 */
struct kin_informer {
  const kin__env *env;
  kin__member member;
  kin__members *members; /* the client's; NULL in a test */
  kin__settings settings;
  kin__decode_limits limits;
  struct kin__informer_transform *transform; /* NULL: none */

  kin_store store;
  kin_store doomed; /* what it held, once that is being freed */
  kin__delta_fifo fifo;
  kin__dispatcher dispatcher;
  kin__mutation_check mutation_check;
  kin__version_waits version_waits;

  kin__scopes scopes;
  kin__link applying; /* scopes whose apply task has work, or waits for room */
  kin__link paused;   /* feeds that do not read because the queue is full */

  kin__task process_task;
  kin__task index_task;
  kin__task close_task;
  kin__timer process_timer; /* memory was out: process again */
  kin__timer index_timer;
  uint64_t processed_keys; /* popped from fifo so far */
  uint32_t applied; /* of the oldest key's deltas: memory ran out after them */
  kin_histogram process_us;

  bool is_started;
  bool is_closing;
  bool is_emptied;     /* the store: see doomed */
  unsigned close_part; /* what is being freed, see informer.c */
  kin__deferred gone;
  bool is_told_gone; /* to the program; what is left is freed in steps */
  kin_informer_close_cb close_cb;
  void *close_data;
  kin__link gone_watches;
};

/* Opens an informer in any surroundings. `env` and everything in it must outlive
 * the informer. Errors: see kin_informer_open. */
int kin__informer_open(kin_informer **out, const kin__env *env,
                       const kin_informer_options *options);
/* The same; the informer ends with the host. */
int kin__informer_open_on(kin_informer **out, kin__host *host,
                          const kin_informer_options *options);
/* kin_informer_follow on a host. */
int kin__informer_follow(kin_informer **out, kin__host *host,
                         const kin_informer_options *options,
                         const kin_listener_options *listener);

/* The feed of a scope; NULL if there is no such scope. `namespace_` NULL is
 * "". */
const kin_feed *kin__informer_feed(const kin_informer *informer,
                                   const char *namespace_);

/* How long to wait before trying again what failed for want of memory. */
#define KIN__MEMORY_RETRY_MS 100u

#endif /* KIN_INFORMER_INFORMER_H */
