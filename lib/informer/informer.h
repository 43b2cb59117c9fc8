/* SPDX-License-Identifier: MIT */
#ifndef KIN_INFORMER_INFORMER_H
#define KIN_INFORMER_INFORMER_H

#include <stdbool.h>
#include <stdint.h>

#include <kin/informer.h>

#include "base/histogram.h"
#include "base/link.h"
#include "base/sched.h"
#include "base/timers.h"
#include "decode/sink.h"
#include "dispatch/dispatcher.h"
#include "client/host.h"
#include "check/mutation_check.h"
#include "informer/defragment.h"
#include "informer/max_bytes.h"
#include "informer/scopes.h"
#include "feed/settings.h"
#include "informer/version_wait.h"
#include "queue/delta_fifo.h"
#include "store/store.h"

struct kin__informer_transform;
struct kin__compact;

/* Calls `gone` once when an informer is gone, before its close callbacks. The
 * informer's pointer is dead then, and the watch is in no list. May note and
 * schedule only. */
typedef struct kin__gone_watch {
  kin__link node; /* in the informer's gone_watches */
  void (*gone)(struct kin__gone_watch *watch);
} kin__gone_watch;

/* Scheduler tasks do the work of an informer. Calls of the program and
 * callbacks of the transport only note work and schedule it:
 *
 *   reading (transport)         cuts objects off the stream: a list's go to the
 *                               feed's stage, a watch's to the queue
 *   a scope's apply task        moves a complete stage to the queue; sweeps
 *                               objects that the list does not have; sweeps a
 *                               removed scope's objects
 *   the scopes' task            frees removed scopes
 *   the process task            queue -> store -> listeners' queues
 *   each listener's task        listener's queue -> handlers
 *   a feed's notice task        on_error and on_state
 *   the index task              builds indices added to a filled store
 *   the defragmenter's task     moves objects that hold memory alone
 *   compact storage's tasks     take a new dictionary, and packed objects of a
 *                               list; free inflated texts
 *   the bound's task            asks the program when max_bytes is reached;
 *                               drops bodies
 *   the mutation check's task   looks for objects that were written to
 *   the waits' tasks            end waits for a version (version_wait.h)
 *   the close task              frees everything in steps
 */
struct kin_informer {
  const kin__env *env;
  kin__task process_task;
  struct kin__informer_transform *transform; /* NULL: none */
  struct kin__compact *compact;              /* NULL: objects are plain */
  kin__mutation_check *mutation_check;       /* NULL: off */
  kin__version_waits *version_waits;         /* NULL: none so far */
  uint64_t processed_keys;                   /* popped from fifo so far */
  uint32_t applied;   /* deltas of the oldest key that are applied already, when
                       * the rest has to wait */
  uint8_t close_part; /* index of the part being freed, see informer.c */
  bool is_started;
  kin__link applying; /* scopes whose apply task has work, or waits for room */
  kin__link paused;   /* feeds that do not read because the queue is full */

  kin__member member;
  kin__settings settings;
  kin__scopes scopes;
  kin__max_bytes max_bytes;
  kin__delta_fifo fifo;
  kin_store store;
  kin__dispatcher dispatcher;
  kin__defragmenter defragmenter;

  kin__task index_task;
  kin__task close_task;
  kin__timer retry_timer; /* see kin__informer_try_later */
  kin__small_histogram process_us;
  kin__link gone_watches;
};

/* Opens an informer on any env. `env` and its members must outlive the
 * informer. Errors: see kin_informer_open. */
int kin__informer_open(kin_informer **out, const kin__env *env,
                       const kin_informer_options *options);
/* As kin__informer_open; the host closes the informer when it closes. */
int kin__informer_open_on(kin_informer **out, kin__host *host,
                          const kin_informer_options *options);
/* kin_informer_follow on a host. */
int kin__informer_follow(kin_informer **out, kin__host *host,
                         const kin_informer_options *options,
                         const kin_listener_options *listener);

/* The feed of a scope, or NULL. `namespace_` NULL is "". */
const kin_feed *kin__informer_feed(const kin_informer *informer,
                                   const char *namespace_);

/* Memory was out. After KIN__MEMORY_RETRY_MS at most, all tasks that may wait
 * for it go on: one timer is enough, because a lack of memory concerns all. */
void kin__informer_try_later(kin_informer *informer);

#endif /* KIN_INFORMER_INFORMER_H */
