/* SPDX-License-Identifier: MIT */
#ifndef KIN_FEED_FEED_H
#define KIN_FEED_FEED_H

#include <stdbool.h>
#include <stdint.h>

#include <kin/informer.h>
#include <kin/lister_watcher.h>
#include <kin/metrics.h>

#include "decode/sink.h"
#include "client/env.h"
#include "feed/notice.h"
#include "feed/object_notice.h"
#include "listwatch/listwatch.h"
#include "listwatch/request.h"
#include "listwatch/stage.h"

/* One position in one resource: a reflector, and the hands that carry its
 * actions out. A feed asks a lister-watcher, over HTTP or the program's own,
 * gathers lists in a stage, and gives its owner whole lists and single events.
 * It does not know what becomes of them. */

/* Numbers for kin_informer_metrics; see there. */
typedef struct kin__feed_metrics {
  uint64_t events[3]; /* added, modified, deleted */
  uint64_t short_watches;
  uint64_t failures[KIN_ERROR_CLASSES];
  kin_histogram list_us;
  kin_histogram list_items;
  kin_histogram list_wait_us; /* of lists that had to wait for their turn */
  kin_histogram watch_us;
  kin_histogram watch_items;
  uint64_t request_began_ns; /* of a list: its first page's */
  uint64_t request_items;    /* of a watch */
} kin__feed_metrics;

/* Where the time of a list went (OQ-07). */
typedef struct kin__list_times {
  uint64_t wanted_ms;
  uint64_t asked_ms; /* after it had waited for its turn */
  uint64_t complete_ms;
  uint32_t pages;
  size_t objects;
  bool is_stream;
} kin__list_times;

/* What the owner does; all but event and apply may be NULL. */
typedef struct kin__feed_owner {
  /* The object that is cached exactly so, borrowed, or NULL. */
  const kin_object *(*cached)(kin_feed *feed, kin_str key, kin_str uid,
                              kin_str version);
  /* What is kept of an object that is not cached, before it is staged or given
   * to event: may put another reference into the place of *object, with the
   * same key, uid and version. A negative result gives the answer up. */
  int (*keep)(kin_feed *feed, kin__decoded_type type, kin_object **object);
  /* A change. A negative result gives the watch up. */
  int (*event)(kin_feed *feed, kin__decoded_type type, kin_object *object);
  /* Nothing has changed up to this version. The same. */
  int (*bookmark)(kin_feed *feed, kin_str version);
  /* The watch has come to this version, after the change or bookmark. */
  void (*advanced)(kin_feed *feed, kin_str version);
  /* The stage is a complete list. Until kin__feed_applied nothing is
   * requested. */
  void (*apply)(kin_feed *feed);
  /* The stage has been discarded: kin__stage_free_step is due. */
  void (*discarded)(kin_feed *feed);
  /* A feed that only watches has stopped by itself, inside a call of its source
   * or of its own; `failure` as for kin__listwatch_actions.ended. May note and
   * schedule only. */
  void (*ended)(kin_feed *feed, const kin__failure *failure);
  /* To be told to the program, from a task. Both may close the feed. */
  void (*failed)(kin_feed *feed, kin_error_event *event);
  /* A watch was granted. May note and schedule only. */
  void (*opened)(kin_feed *feed);
  /* Once for each kin__feed_verify that returned 0. `code` 0: everything up to
   * `version` has come, though the position may still be before it; KIN_EGONE:
   * it has not, or not any more, the position is lost, a list follows;
   * KIN_ENOTSUP: lists have no version, so nobody can say; KIN_ECLOSED: the
   * feed has stopped; else the code of the failure that ended it. May note and
   * schedule only. */
  void (*verified)(kin_feed *feed, int code, const char *version);
  void (*state_changed)(kin_feed *feed, kin_state from, kin_state to);
} kin__feed_owner;

struct kin_feed {
  const kin__env *env;
  const kin__feed_owner *owner;
  kin_lister_watcher source;
  const kin__resource *resource;
  const char *namespace_;

  kin__listwatch listwatch;
  kin__timer timer; /* the reflector's */
  kin__stage stage;
  kin__stage held; /* what a stream brought after its list: at most what was
                    * read before reading could be stopped */
  bool is_held;    /* the stream is not read, for its list is being applied */
  bool has_synced; /* its first list has been applied; set by the owner */
  bool is_closed;  /* nothing is told any more */

  kin__listwatch_request request; /* the open one */
  void *answer;                   /* what the source calls it */
  bool is_opening;                /* inside source.open */
  bool is_granted;                /* kin__feed_opened was called for it */
  uint64_t connection;            /* of its answer, set by the source before it
                                   * is granted; 0: not known */
  uint64_t delayed_since_ms; /* the request waits for the client's own limit;
                              * UINT64_MAX: it does not */
  kin__gate_visitor lists;   /* at env->lists, while it lists */
  kin__listwatch_actions
      list_wait;         /* while it waits there: what is to be done */
  kin__link paused_node; /* in a list of the owner's iff it is not to read */

  bool is_verify_asked; /* kin__feed_verify was called, and is to be answered */
  bool is_silent; /* its watch was, and nothing has shown yet that it is up
                         * to date */
  uint32_t stale_after_ms;   /* without a byte, a watch is silent; 0: never */
  kin__timer silence;        /* in WATCHING, if there is such a limit */
  uint64_t silence_began_ms; /* of the timer: WATCHING did */
  bool is_silence_due;       /* the timer is in its second part */
  kin__list_times list;      /* the last one that was wanted */

  kin__notice notice;
  kin__object_notice object_notice;
  kin_state state;
  kin_error_class last_error_class;
  int last_error_status;
  uint64_t last_byte_ms; /* UINT64_MAX: never */
  uint64_t last_event_ms;
  uint64_t last_bookmark_ms;
  kin_status counters; /* only the counters are used */
  kin__feed_metrics metrics;
};

/* All pointers are kept and must outlive the feed; `source` is copied. */
typedef struct kin__feed_options {
  const kin__env *env;
  const kin__feed_owner *owner;
  const kin_lister_watcher *source;
  const kin__resource *resource;
  const char *namespace_;
  uint32_t page_size;
  /* Only to watch, after this version: see kin__listwatch_watch_only for these
   * three. NULL: to list and watch. */
  const char *watch_after;
  uint32_t watch_timeout_s;
  bool is_single_watch;
  /* Lists may come as watches, until it is set: see kin__listwatch_use_streams.
   * Needs an owner that takes a stage with changes in it. NULL: they may
   * not. */
  bool *stream_refused;
  /* See kin_informer_options. */
  kin_consistency consistency;
  const char *start_version; /* kept; "" or NULL for none */
  uint32_t stale_after_ms;
  uint32_t internal_error_retry_ms;
} kin__feed_options;

/* Copies and checks a program's own; what is wrong goes to the log. Errors:
 * KIN_EINVAL, KIN_ENOTSUP. */
int kin__lister_watcher_copy(kin_lister_watcher *to,
                             const kin_lister_watcher *from,
                             const kin__log *log);

/* Allocates nothing. */
void kin__feed_init(kin_feed *feed, const kin__feed_options *options);
/* It must have been closed, and its stage be empty. */
void kin__feed_finish(kin_feed *feed);

void kin__feed_start(kin_feed *feed);
/* Ends the request and the timer for good; the program is still told so. */
void kin__feed_stop(kin_feed *feed);
/* The same, and nothing is told any more. */
void kin__feed_close(kin_feed *feed);

/* Finds out whether the feed is up to date, and tells the owner so through
 * `verified`. `target` "": up to the newest version there is, by a consistent
 * list of one item; else up to that version. The watch, which ends with this
 * call, is then opened again for a short time: it comes to the version, or the
 * server ends it in good order and was at the version when it began, which
 * needs a source that says on which connections its answers came. If neither
 * happens in two such watches, the position is lost (KIN__LOST_VERIFY), which
 * is reported, and a consistent list follows. So with a source of the program's
 * own that gives no bookmarks each verify of a quiet resource costs a list.
 *
 * From a task or a timer, never inside a call of the source. Errors: KIN_EAGAIN
 * (no watch is open, or a verify is under way), KIN_ECLOSED (stopped),
 * KIN_ENOTSUP (it only watches), KIN_ETOOBIG (`target`, of KIN__VERSION_SIZE
 * bytes or more). */
int kin__feed_verify(kin_feed *feed, const char *target);
/* While it waits for its next request: forgets where it was, so that a
 * consistent list is what it asks for next. Does nothing at any other time. */
void kin__feed_forget(kin_feed *feed);

/* The stage has been applied. */
void kin__feed_applied(kin_feed *feed);
/* It cannot be applied: it is discarded, and listed again after a wait. */
void kin__feed_apply_failed(kin_feed *feed, const kin__failure *failure);
/* Something of the owner's failed, and is tried again then. */
void kin__feed_notice_failure(kin_feed *feed, const kin__failure *failure,
                              uint64_t retry_in_ms);
/* The program answered an error event. */
void kin__feed_answer(kin_feed *feed, kin_retry answer,
                      uint64_t retry_after_ms);

/* Stops reading and puts the feed into `list`, if a request is open and reading
 * can be stopped. It leaves the list when it is resumed and when the request
 * ends. */
void kin__feed_pause(kin_feed *feed, kin__link *list);
void kin__feed_resume(kin_feed *feed);

/* Recomputes the state and notes a change. */
void kin__feed_update_state(kin_feed *feed);
void kin__feed_get_status(const kin_feed *feed, kin_status *status);

/* "list of pods.apps in ns", for messages. */
void kin__feed_describe(const kin_feed *feed, char *buffer, size_t size);

/* --- What a source feeds, besides the public functions -------------------- */

/* Whether a request is open, so that something may be fed. */
static inline bool kin__feed_is_open(const kin_feed *feed) {
  return feed->request != KIN__REQUEST_NONE && !feed->is_opening;
}

/* The request has to wait for the client's own limit before it is sent. */
void kin__feed_delayed(kin_feed *feed);
/* The request has had to wait, and is sent only now: the time until here is not
 * the server's. */
void kin__feed_sent_late(kin_feed *feed);

/* The request is granted: the head of a response was 200. */
void kin__feed_opened(kin_feed *feed);

/* The cached object with this identity, borrowed, or NULL. */
const kin_object *kin__feed_cached(kin_feed *feed,
                                   const kin__object_parts *identity);

/* An object of a list or a watch; takes the reference over, also on failure.
 * `is_cached`: it is the cached object itself. A failure does not end the
 * answer: give it up. Errors: KIN_ENOMEM, the owner's; KIN_ECLOSED (the answer
 * is over: the owner has closed the feed, or asks for something else). */
int kin__feed_take(kin_feed *feed, kin__decoded_type type,
                   kin_object *take_object, bool is_cached);
int kin__feed_take_bookmark(kin_feed *feed, kin_str version,
                            bool is_initial_end);
/* The events that were held, oldest first. On an error the one that failed and
 * those after it stay held. Errors: as for kin__feed_take. */
int kin__feed_take_held(kin_feed *feed);
/* Bytes have come in. */
void kin__feed_received(kin_feed *feed, size_t bytes);
/* The stream has brought what there is, as of `version`: it is held, or dropped
 * for another request. */
void kin__feed_streamed(kin_feed *feed, const char *version);

/* Cancels the answer and has it failed: with a code, `key` names the object in
 * hand, "" if unknown. Does nothing with KIN_ECLOSED. */
void kin__feed_give_up(kin_feed *feed, int code, const char *key);
/* The same with a failure in hand. */
void kin__feed_break(kin_feed *feed, kin__listwatch_input_type type,
                     const kin__failure *failure);
/* The answer has ended by itself, with this failure. */
void kin__feed_end_failed(kin_feed *feed, kin__listwatch_input_type type,
                          const kin__failure *failure);
void kin__feed_end_list(kin_feed *feed, const char *version, const char *token);
void kin__feed_end_watch(kin_feed *feed);

#endif /* KIN_FEED_FEED_H */
