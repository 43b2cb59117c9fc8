/* SPDX-License-Identifier: MIT */
#ifndef KIN_FEED_FEED_H
#define KIN_FEED_FEED_H

#include <stdbool.h>
#include <stdint.h>

#include <kin/informer.h>
#include <kin/lister_watcher.h>
#include <kin/metrics.h>

#include "decode/sink.h"
#include "base/histogram.h"
#include "client/env.h"
#include "feed/notice.h"
#include "feed/object_notice.h"
#include "listwatch/listwatch.h"
#include "listwatch/target.h"
#include "listwatch/stage.h"

/* One position in one resource: a state machine (kin__listwatch) and the code
 * that carries its actions out. A feed asks a lister-watcher (HTTP or the
 * program's own), gathers lists in a stage, and gives its owner whole lists and
 * single events. The feed does not know how its owner uses them. */

/* The counters of kin_status. */
typedef struct kin__feed_counters {
  uint32_t lists;
  uint32_t relists;
  uint32_t slow_lists;
  uint32_t overdue_lists;
  uint32_t checked_lists;
  uint32_t inconsistent_lists;
  uint32_t watches;
  uint32_t over_max_bytes;
  uint32_t shard_count;
  kin_shard_filter shard_filter;
  uint64_t bookmarks;
  uint64_t unchanged;
  uint64_t received_bytes;
  uint64_t transform_failures;
  uint64_t oversized;
  uint64_t bad_objects;
  uint64_t other_shards;
} kin__feed_counters;

/* The histograms of kin_informer_metrics. */
typedef enum kin__feed_histogram {
  KIN__FEED_LIST_US,
  KIN__FEED_LIST_ITEMS,
  KIN__FEED_LIST_WAIT_US, /* of lists that waited for their turn */
  KIN__FEED_WATCH_US,
  KIN__FEED_WATCH_ITEMS,
  KIN__FEED_HISTOGRAMS
} kin__feed_histogram;

/* The numbers of kin_informer_metrics. */
typedef struct kin__feed_metrics {
  uint64_t events[3]; /* added, modified, deleted */
  uint64_t short_watches;
  uint32_t failures[KIN_CLASS_MEMORY + 1];
  kin__small_histogram histograms[KIN__FEED_HISTOGRAMS];
  uint64_t request_began_ns; /* of a list: at its first page */
  uint64_t request_items;    /* of a watch; of a list: of the page */
} kin__feed_metrics;

/* The parts of a list's duration (OQ-07). */
typedef struct kin__list_times {
  uint64_t wanted_ms;
  uint64_t asked_ms; /* its turn came */
  uint64_t complete_ms;
  uint32_t pages;
  uint32_t empty_pages; /* the last ones, in a row */
  size_t objects;
  bool is_stream;
} kin__list_times;

/* A list from the time when it is wanted until it is applied, or the machine
 * asks for something else. */
typedef struct kin__feed_listing {
  kin_feed *feed;
  kin__gate_visitor turn;       /* place at env->lists while the feed lists */
  kin__listwatch_request first; /* the request that waits for that place */
  kin__list_times times;
} kin__feed_listing;

/* Watches for a silent watch. */
typedef struct kin__silence {
  kin_feed *feed;
  kin__timer timer;        /* in WATCHING */
  uint32_t stale_after_ms; /* a watch without a byte for so long is silent */
  bool is_due;             /* the timer runs its grace period */
  uint64_t began_ms;       /* when WATCHING began */
} kin__silence;

/* Callbacks to the owner. Required are event where the feed watches, apply where
 * it lists, and ended where it only watches or only lists. The others may be
 * NULL. */
typedef struct kin__feed_owner {
  /* The cached object with this key, uid and version, borrowed, or NULL. */
  const kin_object *(*cached)(kin_feed *feed, kin_str key, kin_str uid,
                              kin_str version);
  /* Before an uncached object is staged or given to event: may replace *object
   * by another reference with the same key, uid and version. A negative result
   * gives the answer up. */
  int (*keep)(kin_feed *feed, kin__decoded_type type, kin_object **object);
  /* An uncached object was staged; borrowed. Its place is kin__stage_last. */
  void (*staged)(kin_feed *feed, kin_object *object);
  /* A staged object left the stage, because its list has changed; borrowed. */
  void (*unstaged)(kin_feed *feed, const kin_object *object);
  /* A list begins while versions repeat: known versions may now name other
   * states. */
  void (*repeats)(kin_feed *feed);
  /* Whether a request may be made now. A negative result is its failure. */
  int (*admit)(kin_feed *feed);
  /* A change. A negative result gives the watch up. */
  int (*event)(kin_feed *feed, kin__decoded_type type, kin_object *object);
  /* No change up to this version. A negative result gives the watch up. */
  int (*bookmark)(kin_feed *feed, kin_str version);
  /* The position is now this version; called after the event or bookmark. */
  void (*advanced)(kin_feed *feed, kin_str version);
  /* The stage holds a complete list. Nothing is requested before
   * kin__feed_applied. */
  void (*apply)(kin_feed *feed);
  /* The stage has been discarded: kin__stage_free_step is due. */
  void (*discarded)(kin_feed *feed);
  /* A feed that only watches or only lists has stopped by itself, inside a call
   * of its source or of its own; `failure` as for kin__listwatch_actions.ended.
   * May note and schedule only. */
  void (*ended)(kin_feed *feed, const kin__failure *failure);
  /* A failure, and a new state, for the program. Called from a task. Both may
   * close the feed. */
  void (*failed)(kin_feed *feed, kin_error_event *event);
  void (*state_changed)(kin_feed *feed, kin_state from, kin_state to);
  /* A watch was granted, and nothing of it has come. May note and schedule, pause
   * the feed and close it. */
  void (*opened)(kin_feed *feed);
  /* Once for each kin__feed_verify that returned 0. May note and schedule only.
   * `code`:
   *
   * 0: all changes up to `version` have come; the position may be older.
   * KIN_EGONE: the position is lost, and a list follows.
   * KIN_ENOTSUP: lists have no version, so no answer is possible.
   * KIN_ECLOSED: the feed has stopped.
   * Else: the failure that ended the verify. */
  void (*verified)(kin_feed *feed, int code, const char *version);
} kin__feed_owner;

/* The begin of a line in the log: "pods: ", or "pods ns-1: ". */
#define KIN__FEED_PLACE "%s%s%s: "
#define KIN__FEED_PLACE_ARGS(feed)                                             \
  (feed)->resource->plural, (feed)->namespace_[0] != '\0' ? " " : "",          \
      (feed)->namespace_

struct kin_feed {
  const kin__env *env;
  const kin__feed_owner *owner;
  const kin_lister_watcher *source;
  void *source_ctx; /* in place of source->ctx */
  const kin__resource *resource;
  const char *namespace_;
  void *answer; /* the source's handle of the open request */

  kin__request_kind request; /* the open one */
  uint32_t server_address;   /* of the last list, see kin__feed_take_address; 0:
                            * unknown */
  bool is_retry : 1;         /* see kin__listwatch_request */
  bool is_opening : 1;       /* inside source.open */
  bool is_granted : 1;       /* kin__feed_opened was called for the request */
  bool is_held : 1;      /* the stream is paused while its list is applied */
  bool has_synced : 1;   /* the first list was applied; set by the owner */
  bool is_relisting : 1; /* until the list of kin__feed_relist is applied */
  bool is_relist_put_off : 1; /* kin__feed_relist came inside source.open */
  bool is_closed;             /* no more notices to the owner */
  bool is_verify_asked; /* kin__feed_verify was called; the owner waits for the
                         * verdict */
  bool is_silent : 1; /* the watch was silent; not yet shown to be up to date */
  bool is_told_late : 1; /* see kin__feed_mind_time */
  bool stream_refused;   /* by the program's own source */
  kin_state state : 8;
  kin_error_class last_error_class : 8;
  int last_error_status;
  uint32_t rest_ms;      /* of a wait after the timer is due, see start_timer */
  uint64_t last_byte_ms; /* UINT64_MAX: never */
  kin__feed_listing *listing; /* NULL: no list is wanted */
  kin__link paused_node;      /* in the owner's list iff reading is paused */

  uint64_t connection;       /* of the granted answer; 0: unknown */
  uint64_t delayed_since_ms; /* the request waits for the client's rate limit;
                              * UINT64_MAX: no wait */
  uint64_t last_event_ms;
  uint64_t last_bookmark_ms;
  kin__silence *silence;             /* NULL: no silence matters */
  kin__object_notice *object_notice; /* NULL: none was needed so far */
  kin__timer timer;                  /* the state machine's */
  kin__stage stage;
  kin__stage held; /* events that a stream brought after its list; bounded by
                    * what was read before the pause */
  kin__notice notice;
  kin__listwatch listwatch;
  kin__feed_counters counters;
  kin__feed_metrics metrics;
};

/* All pointers are kept and must outlive the feed. */
typedef struct kin__feed_options {
  const kin__env *env;
  const kin__feed_owner *owner;
  const kin_lister_watcher *source;
  void *source_ctx;
  const kin__resource *resource;
  const char *namespace_;
  /* With stream_refused, the owner must accept merged stages. The feed makes no
   * use of stream_refused if its source cannot stream. */
  kin__listwatch_options listwatch;
  /* `source` is the program's own: its refusal of streams says nothing about
   * the server, so the feed keeps it to itself. */
  bool is_own_source;
  /* Memory of the caller, with stale_after_ms set (see kin_informer_options);
   * NULL: no silence matters. */
  kin__silence *silence;
} kin__feed_options;

/* Copies and checks a program's lister-watcher. The log says what is wrong.
 * Errors: KIN_EINVAL, KIN_ENOTSUP. */
int kin__lister_watcher_copy(kin_lister_watcher *to,
                             const kin_lister_watcher *from,
                             const kin__log *log);

/* Allocates nothing. */
void kin__feed_init(kin_feed *feed, const kin__feed_options *options);
/* The feed must be closed and its stage empty. */
void kin__feed_finish(kin_feed *feed);

void kin__feed_start(kin_feed *feed);
/* Ends the request and the timer for good. The owner is still notified of
 * that. */
void kin__feed_stop(kin_feed *feed);
/* Stops the feed, and ends all notices. */
void kin__feed_close(kin_feed *feed);

/* Finds out whether the feed is up to date; the answer comes through
 * `verified`. `target` "" means the newest version, found by a consistent list
 * of one item. This call ends the watch and opens it again for a short time.
 * The feed is up to date if the watch comes to the target. It is also up to
 * date if the server ends the watch in good order and had the target when the
 * watch began. The second case needs a source that names the connections of its
 * answers. After two watches with neither, the position is lost
 * (KIN_RELIST_VERIFY): a report and a consistent list follow. So with a
 * program's source without bookmarks, each verify of a quiet resource costs a
 * list.
 *
 * During the wait after a watch that ended at once in good order, the verify
 * begins when the wait is over.
 *
 * Call from a task or a timer, never inside a call of the source. Errors:
 * KIN_EAGAIN (neither a watch is open nor such a wait, or a verify is under
 * way), KIN_ECLOSED (stopped), KIN_ENOTSUP (watch only), KIN_ETOOBIG (`target`
 * has KIN__VERSION_SIZE bytes or more). */
int kin__feed_verify(kin_feed *feed, const char *target);
/* During the wait for the next request: forgets the position, so that the next
 * request is a consistent list. No effect at any other time. */
void kin__feed_forget(kin_feed *feed);

/* The resource's shard has changed: the open request is cancelled, and a list of
 * the new shard follows. The same position is kept. */
void kin__feed_reshard(kin_feed *feed);

/* The open request is cancelled, and a list follows. The position is kept. */
void kin__feed_relist(kin_feed *feed);

/* The owner has applied the stage. */
void kin__feed_applied(kin_feed *feed);
/* The owner cannot apply the stage: it is discarded, and the feed lists again
 * after a wait. */
void kin__feed_apply_failed(kin_feed *feed, const kin__failure *failure);
/* An operation of the owner failed; the owner retries it in `retry_in_ms`. */
void kin__feed_notice_failure(kin_feed *feed, const kin__failure *failure,
                              uint64_t retry_in_ms);
/* From a task: tells the program of a failure after which nothing is retried.
 * The program may close the feed, or stop it by its answer. */
void kin__feed_tell(kin_feed *feed, int code, kin_error_class error_class,
                    const char *message);
/* The program answered an error event. */
void kin__feed_answer(kin_feed *feed, kin_retry answer,
                      uint64_t retry_after_ms);

/* Stops reading and puts the feed into `list`, if a request is open and its
 * source can pause. The feed leaves the list when reading resumes or the
 * request ends. */
void kin__feed_pause(kin_feed *feed, kin__link *list);
void kin__feed_resume(kin_feed *feed);

/* Recomputes the state and notifies the owner of a change. */
void kin__feed_update_state(kin_feed *feed);
/* All but `size`. */
void kin__feed_get_status(const kin_feed *feed, kin_status *status);

/* "list of pods.apps in ns", for messages. */
void kin__feed_describe(const kin_feed *feed, char *buffer, size_t size);

/* --- For sources, besides the public functions ---------------------------- */

/* Whether a request is open and may be answered. */
static inline bool kin__feed_is_open(const kin_feed *feed) {
  return feed->request != KIN__REQUEST_NONE && !feed->is_opening;
}

/* The client's rate limit delays the request. */
void kin__feed_delayed(kin_feed *feed);
/* The delayed request is sent now: the server's time begins here. */
void kin__feed_sent_late(kin_feed *feed);

/* The open request. A STREAM turns into a WATCH when its list is applied. */
static inline kin__request_kind kin__feed_request_kind(const kin_feed *feed) {
  return feed->request;
}

/* Whether a list waits for its place among the client's lists. */
static inline bool kin__feed_waits_to_list(const kin_feed *feed) {
  return feed->listing != NULL &&
         feed->listing->turn.state == KIN__GATE_WAITING;
}

/* Gives that place away; the list goes on. */
void kin__feed_leave_turn(kin_feed *feed);

static inline bool kin__feed_is_retry(const kin_feed *feed) {
  return feed->is_retry;
}

/* The server that answers the request has this address (kin__response_head).
 * Returns false if the request goes on from a list of another address, which may
 * be another cluster's: then its answer says nothing, a refusal included. A list
 * that begins and is granted there reuses no cached object. */
bool kin__feed_take_address(kin_feed *feed, uint32_t server_address,
                            bool is_granted);

/* Whether the events of a list that comes as a watch fill the stage. */
static inline bool kin__feed_is_filling(const kin_feed *feed) {
  return feed->request == KIN__REQUEST_STREAM && !feed->is_held;
}

/* The server has answered, without a byte of a body. */
void kin__feed_touch(kin_feed *feed);
/* The request is granted: the response's head was 200. `connection`: where the
 * answer comes, 0 if unknown. */
void kin__feed_opened(kin_feed *feed, uint64_t connection);

/* The cached object with this identity, borrowed, or NULL. */
const kin_object *kin__feed_cached(kin_feed *feed,
                                   const kin__object_parts *identity);

/* Whether an object with this uid belongs to another shard. Such an object is
 * not made: kin__feed_pass moves the position only. Errors: as for
 * kin__feed_take. */
static inline bool kin__feed_is_foreign(const kin_feed *feed, kin_str uid) {
  return !kin__shard_has(&feed->resource->shard, uid);
}
int kin__feed_pass(kin_feed *feed, kin__decoded_type type, kin_str version);
/* A list, or a page of one, says whether the server has selected the shard's
 * objects. */
void kin__feed_note_selection(kin_feed *feed, bool is_by_server);

/* An object of a list or a watch. Takes over the reference, also on failure.
 * `is_cached`: the object is the cached one. After a failure the caller gives
 * the answer up. Errors: KIN_ENOMEM; the owner's; KIN_ECLOSED (the answer is
 * over: the owner closed the feed, or the machine asks for something else). */
int kin__feed_take(kin_feed *feed, kin__decoded_type type,
                   kin_object *take_object, bool is_cached);
int kin__feed_take_bookmark(kin_feed *feed, kin_str version,
                            bool is_initial_end);
/* Takes the held events, oldest first. On an error the failed event and those
 * after it stay held. Errors: as for kin__feed_take. */
int kin__feed_take_held(kin_feed *feed);
/* Bytes came in. */
void kin__feed_received(kin_feed *feed, size_t bytes);
/* The stream's list is complete as of `version`. The stream is then held, or
 * dropped for another request. */
void kin__feed_streamed(kin_feed *feed, const char *version);

/* Cancels the answer and fails it with a code. `key` names the object in hand,
 * "" if unknown. No effect with KIN_ECLOSED. */
void kin__feed_give_up(kin_feed *feed, int code, const char *key);
/* The same; `why` is the text. */
void kin__feed_refuse(kin_feed *feed, int code, const char *why);
/* As kin__feed_give_up, with a complete failure. `type`: FAILED or
 * ERROR_EVENT. */
void kin__feed_break(kin_feed *feed, kin__listwatch_input_type type,
                     const kin__failure *failure);
/* The answer has ended with this failure. */
void kin__feed_end_failed(kin_feed *feed, kin__listwatch_input_type type,
                          const kin__failure *failure);
void kin__feed_end_list(kin_feed *feed, const char *version, const char *token);
void kin__feed_end_watch(kin_feed *feed);

#endif /* KIN_FEED_FEED_H */
