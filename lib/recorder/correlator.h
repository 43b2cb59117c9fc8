/* SPDX-License-Identifier: MIT */
#ifndef KIN_RECORDER_CORRELATOR_H
#define KIN_RECORDER_CORRELATOR_H

#include <stdbool.h>
#include <stdint.h>

#include <kin/event_recorder.h>

#include "base/buf.h"
#include "base/random.h"
#include "base/timers.h"
#include "base/timestamp.h"
#include "recorder/keyed_lru.h"

/* Which Events are written when, without I/O: time is an argument, and requests
 * are taken and answered by the caller.
 *
 * Occurrences that differ only in their note are one Event. The first one
 * creates it. The second one makes it a series. Further ones are only counted;
 * the count is written every half hour, and once more when the series has been
 * idle for six minutes, which ends it.
 *
 *   REST <--> QUEUED --> SENDING --> REST, or the entry is gone
 *               ^          |
 *               +- WAITING-+
 *
 * An entry has one request at a time. Entries that rest are in the order of the
 * table, so that the oldest one makes room for a new one. */

#define KIN__EVENT_FINISH_MS 360000u    /* tools/events: finishTime */
#define KIN__EVENT_REFRESH_MS 1800000u  /* refreshTime */
#define KIN__EVENT_RETRY_MS 10000u      /* defaultSleepDuration */
#define KIN__EVENT_MAX_TRIES 12u        /* maxTriesPerEvent */
#define KIN__EVENT_MAX_NOTE_BYTES 1024u /* the API's limit */
#define KIN__EVENT_MAX_SOURCES 4096u    /* of the spam filter */

/* Parts of a reference, and of an event, in the order of their texts. */
typedef enum kin__event_text {
  KIN__EVENT_TYPE,
  KIN__EVENT_ACTION,
  KIN__EVENT_REASON,
  KIN__EVENT_REGARDING,                          /* seven texts each */
  KIN__EVENT_RELATED = KIN__EVENT_REGARDING + 7, /* without a kind: none */
  KIN__EVENT_NOTE = KIN__EVENT_RELATED + 7,
  KIN__EVENT_NAMESPACE,
  KIN__EVENT_NAME,
  KIN__EVENT_TEXTS
} kin__event_text;

typedef enum kin__event_state {
  KIN__EVENT_RESTS,
  KIN__EVENT_QUEUED,
  KIN__EVENT_SENDING,
  KIN__EVENT_WAITING
} kin__event_state;

typedef struct kin__event_entry {
  kin__lru_node node;
  kin__link queue;  /* QUEUED */
  kin__timer timer; /* RESTS: refresh or finish; WAITING: the next try */
  struct kin__correlator *correlator;
  kin__event_state state;
  bool is_created; /* as far as is known */
  bool is_patch;   /* SENDING: a patch, else a create */
  bool is_last;    /* the entry ends with this request */
  uint32_t tries;
  uint32_t count;      /* occurrences; 1: no series */
  uint32_t sent_count; /* SENDING: in the request; else in the last one */
  uint32_t done_count; /* on the server */
  uint64_t observed_ms;
  uint64_t tried_ms; /* last written, refused or given up */
  kin__timestamp event_time;
  kin__timestamp last_observed;
  kin_str texts[KIN__EVENT_TEXTS];
  char bytes[]; /* of the texts and the key */
} kin__event_entry;

typedef enum kin__event_outcome {
  KIN__EVENT_WRITTEN,
  KIN__EVENT_MISSING,  /* of a patch: there is no such Event */
  KIN__EVENT_EXISTS,   /* of a create */
  KIN__EVENT_REJECTED, /* no later try can succeed */
  KIN__EVENT_FAILED    /* a later try may succeed */
} kin__event_outcome;

typedef struct kin__correlator_limits {
  uint32_t max_series;
  uint32_t max_queued;
  uint32_t burst;       /* of the spam filter */
  uint64_t interval_ms; /* of the spam filter: time for one more */
} kin__correlator_limits;

typedef struct kin__correlator {
  const kin_allocator *allocator;
  kin__random *random;
  kin__correlator_limits limits;
  kin__keyed_lru entries;
  kin__keyed_lru sources; /* of the spam filter */
  kin__timers timers;     /* in milliseconds of the caller's clock */
  uint64_t now_ms;        /* of the call in hand */
  uint64_t named_ns;      /* of the newest name */
  bool is_ending;         /* nothing is recorded any more */
  kin__link queue;
  uint32_t busy; /* entries that do not rest */
  uint32_t sending;
  uint32_t queued;
  kin__buf key;

  uint64_t recorded;
  uint64_t created;
  uint64_t patched;
  uint64_t spam;
  uint64_t overflown;
  uint64_t rejected;
  uint64_t given_up;
  uint64_t retries;
  uint64_t last_wait_ms; /* after the last failure; 0: it was given up */
} kin__correlator;

/* One occurrence, with texts that the caller has checked. */
typedef struct kin__occurrence {
  const kin_object_reference *regarding;
  const kin_object_reference *related; /* NULL: none */
  kin_str type;
  kin_str reason;
  kin_str action;
  kin_str note;
  uint64_t now_ms;
  kin__timestamp wall;
} kin__occurrence;

/* Errors: KIN_ENOMEM; *correlator needs kin__correlator_finish all the same. */
int kin__correlator_init(kin__correlator *correlator,
                         const kin_allocator *allocator, kin__random *random,
                         const kin__correlator_limits *limits);
/* No entry may be in the state SENDING. */
void kin__correlator_finish(kin__correlator *correlator);

/* Errors: KIN_EAGAIN (dropped: by the spam filter, or too many wait), KIN_ENOMEM;
 * nothing has changed then but the counters. */
int kin__correlator_record(kin__correlator *correlator,
                           const kin__occurrence *occurrence);

/* The next entry to send; NULL: none. It stays until it is answered. */
kin__event_entry *kin__correlator_next(kin__correlator *correlator);
/* A failed request waits for at least `retry_after_s`; less than 1: the server
 * did not say. The entry may be gone afterwards. */
void kin__correlator_answer(kin__correlator *correlator,
                            kin__event_entry *entry, kin__event_outcome outcome,
                            int64_t retry_after_s, uint64_t now_ms);

/* Queues what has become due, at most `limit` entries. Returns whether more are
 * due. */
bool kin__correlator_run(kin__correlator *correlator, uint64_t now_ms,
                         unsigned limit);
/* The same as if all timers were due: queues what waits for its next try and the
 * counts of series, and frees what has nothing to write. For closing. */
bool kin__correlator_hurry(kin__correlator *correlator, unsigned limit);
/* When kin__correlator_run has something to do; UINT64_MAX: never. */
uint64_t kin__correlator_due_ms(const kin__correlator *correlator);
/* Frees up to `limit` entries that are not being sent. Returns whether some are
 * left. For closing step by step. */
bool kin__correlator_drop(kin__correlator *correlator, unsigned limit);

#endif /* KIN_RECORDER_CORRELATOR_H */
