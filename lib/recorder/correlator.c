/* SPDX-License-Identifier: MIT */
#include "recorder/correlator.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/ascii.h"
#include "base/str.h"
#include "listwatch/backoff.h"

#define MAX_KEY_BYTES (64u << 10)
#define MAX_NAME_BYTES 253u /* of an object */
#define MAX_COUNT INT32_MAX /* the field has 32 bits */

/* Where the parts of a reference are. */
enum { REF_VERSION = 5, REF_TEXTS = 7 };

typedef kin__event_entry entry;

/* The allowance of Events about one object, as a time: when the last Event
 * would have been due if one came in each interval. */
typedef struct source {
  kin__lru_node node;
  uint64_t due_ms;
  char bytes[];
} source;

static entry *entry_of(kin__lru_node *node) {
  return KIN__CONTAINER_OF(node, entry, node);
}

/* --- Life ----------------------------------------------------------------- */

int kin__correlator_init(kin__correlator *correlator,
                         const kin_allocator *allocator, kin__random *random,
                         const kin__correlator_limits *limits) {
  *correlator = (kin__correlator){
      .allocator = allocator, .random = random, .limits = *limits};
  kin__link_init(&correlator->queue);
  kin__timers_init(&correlator->timers);
  kin__buf_init(&correlator->key, allocator, MAX_KEY_BYTES);
  kin__hash_seed seed = kin__random_hash_seed(random);
  int err = kin__keyed_lru_init(&correlator->entries, allocator, seed,
                                limits->max_series);
  return err == 0 ? kin__keyed_lru_init(&correlator->sources, allocator, seed,
                                        KIN__EVENT_MAX_SOURCES)
                  : err;
}

static void free_entry(kin__correlator *correlator, entry *e) {
  kin__timer_stop(&correlator->timers, &e->timer);
  kin__link_remove(&e->queue);
  kin__keyed_lru_remove(&correlator->entries, &e->node);
  correlator->busy -= e->state != KIN__EVENT_RESTS;
  correlator->queued -= e->state == KIN__EVENT_QUEUED;
  correlator->sending -= e->state == KIN__EVENT_SENDING;
  kin__free(correlator->allocator, e);
}

static void free_source(kin__correlator *correlator, kin__lru_node *node) {
  kin__keyed_lru_remove(&correlator->sources, node);
  kin__free(correlator->allocator, KIN__CONTAINER_OF(node, source, node));
}

/* Entries that do not rest are found by their queue and their timer. */
static entry *any_idle_entry(kin__correlator *correlator) {
  kin__lru_node *oldest = kin__keyed_lru_oldest(&correlator->entries);
  if (oldest != NULL) {
    return entry_of(oldest);
  }
  if (!kin__link_is_empty(&correlator->queue)) {
    return KIN__CONTAINER_OF(correlator->queue.next, entry, queue);
  }
  kin__timer *timer = correlator->timers.root;
  return timer != NULL ? KIN__CONTAINER_OF(timer, entry, timer) : NULL;
}

bool kin__correlator_drop(kin__correlator *correlator, unsigned limit) {
  for (; limit > 0; limit--) {
    entry *e = any_idle_entry(correlator);
    kin__lru_node *node = kin__keyed_lru_oldest(&correlator->sources);
    if (e != NULL) {
      free_entry(correlator, e);
    } else if (node != NULL) {
      free_source(correlator, node);
    } else {
      return false;
    }
  }
  return true;
}

void kin__correlator_finish(kin__correlator *correlator) {
  if (correlator->sources.buckets != NULL) {
    while (kin__correlator_drop(correlator, 1024)) {
    }
  }
  kin__keyed_lru_finish(&correlator->entries);
  kin__keyed_lru_finish(&correlator->sources);
  kin__buf_finish(&correlator->key);
}

/* --- States --------------------------------------------------------------- */

static void set_state(kin__correlator *correlator, entry *e,
                      kin__event_state state) {
  correlator->busy += state != KIN__EVENT_RESTS;
  correlator->busy -= e->state != KIN__EVENT_RESTS;
  correlator->queued += state == KIN__EVENT_QUEUED;
  correlator->queued -= e->state == KIN__EVENT_QUEUED;
  correlator->sending += state == KIN__EVENT_SENDING;
  correlator->sending -= e->state == KIN__EVENT_SENDING;
  e->state = state;
  kin__timer_stop(&correlator->timers, &e->timer);
  kin__link_remove(&e->queue);
  if (state == KIN__EVENT_RESTS) {
    kin__keyed_lru_touch(&correlator->entries, &e->node);
  } else {
    kin__keyed_lru_hold(&e->node);
  }
}

static void enqueue(kin__correlator *correlator, entry *e) {
  set_state(correlator, e, KIN__EVENT_QUEUED);
  kin__link_push(&correlator->queue, &e->queue);
}

static bool is_full(const kin__correlator *correlator) {
  return !correlator->is_ending &&
         correlator->busy >= correlator->limits.max_queued;
}

static void rest(kin__correlator *correlator, entry *e) {
  set_state(correlator, e, KIN__EVENT_RESTS);
  e->tries = 0;
  uint64_t due_ms = e->observed_ms + KIN__EVENT_FINISH_MS;
  uint64_t refresh_ms = e->tried_ms + KIN__EVENT_REFRESH_MS;
  if (e->count > 1 && refresh_ms < due_ms) {
    due_ms = refresh_ms;
  }
  kin__timer_start(&correlator->timers, &e->timer, due_ms);
}

/* A resting entry's time: its end, or a refresh, or neither because it has been
 * observed since. */
static void look_at(kin__correlator *correlator, entry *e) {
  uint64_t now_ms = correlator->now_ms;
  bool is_over = now_ms >= e->observed_ms + KIN__EVENT_FINISH_MS;
  bool is_old = e->count > 1 && now_ms >= e->tried_ms + KIN__EVENT_REFRESH_MS;
  if (is_over && (e->count == 1 || e->count == e->done_count)) {
    free_entry(correlator, e);
  } else if ((is_over || is_old) && !is_full(correlator)) {
    e->is_last = is_over;
    enqueue(correlator, e);
  } else if (is_over || is_old) {
    kin__timer_start(&correlator->timers, &e->timer,
                     now_ms + KIN__EVENT_RETRY_MS);
  } else {
    rest(correlator, e);
  }
}

static void on_timer(kin__timer *timer) {
  entry *e = KIN__CONTAINER_OF(timer, entry, timer);
  if (e->state == KIN__EVENT_WAITING) {
    enqueue(e->correlator, e);
  } else {
    look_at(e->correlator, e);
  }
}

bool kin__correlator_run(kin__correlator *correlator, uint64_t now_ms,
                         unsigned limit) {
  correlator->now_ms = now_ms;
  return kin__timers_run(&correlator->timers, now_ms, limit);
}

bool kin__correlator_hurry(kin__correlator *correlator, unsigned limit) {
  correlator->is_ending = true;
  return kin__correlator_run(correlator, UINT64_MAX / 2, limit);
}

uint64_t kin__correlator_due_ms(const kin__correlator *correlator) {
  return kin__timers_next_ms(&correlator->timers);
}

/* --- Keys ----------------------------------------------------------------- */

static int append_key_text(kin__buf *key, kin_str text) {
  uint32_t length = (uint32_t)text.length;
  int err = kin__buf_append(key, (const char *)&length, sizeof length);
  return err == 0 ? kin__buf_append_str(key, text) : err;
}

static void texts_of(const kin_object_reference *reference, kin_str *to) {
  const kin_str texts[REF_TEXTS] = {
      reference->api_version, reference->kind, reference->namespace_,
      reference->name,        reference->uid,  reference->resource_version,
      reference->field_path};
  memcpy(to, texts, sizeof texts);
}

static void collect(const kin__occurrence *occurrence, kin_str *texts) {
  texts[KIN__EVENT_TYPE] = occurrence->type;
  texts[KIN__EVENT_ACTION] = occurrence->action;
  texts[KIN__EVENT_REASON] = occurrence->reason;
  texts_of(occurrence->regarding, &texts[KIN__EVENT_REGARDING]);
  if (occurrence->related != NULL) {
    texts_of(occurrence->related, &texts[KIN__EVENT_RELATED]);
  }
  texts[KIN__EVENT_NOTE] = occurrence->note;
  kin_str namespace_ = occurrence->regarding->namespace_;
  texts[KIN__EVENT_NAMESPACE] =
      namespace_.length > 0 ? namespace_ : KIN__LIT("default");
}

/* The key of an event, or of the spam filter's source: the type and the object
 * regarded. Versions of objects are left out. */
static int make_key(kin__buf *key, const kin_str *texts, bool is_source) {
  int err = 0;
  kin__buf_reset(key, SIZE_MAX);
  for (unsigned i = 0; i < KIN__EVENT_NOTE && err == 0; i++) {
    bool is_version = i == KIN__EVENT_REGARDING + REF_VERSION ||
                      i == KIN__EVENT_RELATED + REF_VERSION;
    bool is_finer = i == KIN__EVENT_ACTION || i == KIN__EVENT_REASON ||
                    i >= KIN__EVENT_RELATED - 1;
    if (!is_version && !(is_source && is_finer)) {
      err = append_key_text(key, texts[i]);
    }
  }
  return err;
}

/* --- Names ---------------------------------------------------------------- */

/* Whether an object's name can begin the name of an Event: labels of DNS with
 * points between them. */
static bool is_subdomain(kin_str name) {
  bool was_inside = false;
  for (size_t i = 0; i < name.length; i++) {
    char c = name.data[i];
    bool is_inside = kin__is_lower(c) || kin__is_digit(c);
    bool is_last = i + 1 == name.length || name.data[i + 1] == '.';
    bool is_allowed = is_inside || (c == '-' && was_inside && !is_last) ||
                      (c == '.' && was_inside && i + 1 < name.length);
    if (!is_allowed) {
      return false;
    }
    was_inside = is_inside || c == '-';
  }
  return name.length > 0;
}

/* client-go's GenerateEventName, but no time is used twice. A clock may show the
 * same time again: its ticks may be long, and it may be set back. */
static size_t make_name(kin__correlator *correlator, char *to, size_t size,
                        kin_str name, kin__timestamp wall) {
  char end[24];
  uint64_t ns = (uint64_t)wall.s * 1000000000u + wall.ns;
  ns = ns > correlator->named_ns ? ns : correlator->named_ns + 1;
  correlator->named_ns = ns;
  int end_length = snprintf(end, sizeof end, ".%" PRIx64, ns);
  bool fits = name.length + (size_t)end_length <= MAX_NAME_BYTES;
  if (fits && is_subdomain(name)) {
    return (size_t)snprintf(to, size, KIN_STR_FORMAT "%s", KIN_STR_ARG(name),
                            end);
  }
  return (size_t)snprintf(to, size, "event-%016" PRIx64 "%s",
                          kin__random_next(correlator->random), end);
}

/* --- The spam filter ------------------------------------------------------ */

static source *add_source(kin__correlator *correlator, kin_str key) {
  source *s = kin__malloc(correlator->allocator, sizeof *s + key.length);
  if (s == NULL) {
    return NULL;
  }
  if (correlator->sources.count >= correlator->sources.max_count) {
    free_source(correlator, kin__keyed_lru_oldest(&correlator->sources));
  }
  memcpy(s->bytes, key.data, key.length);
  s->node.key = kin__str(s->bytes, key.length);
  s->due_ms = 0;
  kin__keyed_lru_insert(&correlator->sources, &s->node);
  return s;
}

/* A bucket of `burst` tokens, one more each interval (tools/record). The caller
 * takes the token of *out, once the event is there. */
static int pass_filter(kin__correlator *correlator, const kin_str *texts,
                       uint64_t now_ms, source **out) {
  int err = make_key(&correlator->key, texts, true);
  if (err != 0) {
    return err;
  }
  kin_str key = kin__str(correlator->key.data, correlator->key.length);
  kin__lru_node *node = kin__keyed_lru_find(&correlator->sources, key);
  source *s = node != NULL ? KIN__CONTAINER_OF(node, source, node)
                           : add_source(correlator, key);
  if (s == NULL) {
    return KIN_ENOMEM;
  }
  kin__keyed_lru_touch(&correlator->sources, &s->node);
  const kin__correlator_limits *limits = &correlator->limits;
  uint64_t ahead_ms = (limits->burst - 1) * limits->interval_ms;
  uint64_t due_ms = s->due_ms > now_ms ? s->due_ms : now_ms;
  if (due_ms - now_ms > ahead_ms) {
    correlator->spam++;
    return KIN_EAGAIN;
  }
  s->due_ms = due_ms;
  *out = s;
  return 0;
}

/* --- Recording ------------------------------------------------------------ */

/* The first occurrence was sent: the next one is sent at once, and begins a
 * series. */
static bool begins_series(const entry *e) {
  return e->sent_count == 1;
}

static void repeat(kin__correlator *correlator, entry *e,
                   const kin__occurrence *occurrence) {
  e->count += e->count < MAX_COUNT;
  e->observed_ms = occurrence->now_ms;
  e->last_observed = occurrence->wall;
  correlator->recorded++;
  if (e->state != KIN__EVENT_RESTS) {
    return;
  }
  kin__keyed_lru_touch(&correlator->entries, &e->node);
  if (begins_series(e) && !is_full(correlator)) {
    enqueue(correlator, e);
  }
}

static entry *make_entry(kin__correlator *correlator, const kin_str *texts) {
  size_t size = correlator->key.length;
  for (unsigned i = 0; i < KIN__EVENT_TEXTS; i++) {
    size += texts[i].length;
  }
  entry *e = kin__calloc(correlator->allocator, 1, sizeof *e + size);
  if (e == NULL) {
    return NULL;
  }
  char *at = e->bytes;
  memcpy(at, correlator->key.data, correlator->key.length);
  e->node.key = kin__str(at, correlator->key.length);
  at += correlator->key.length;
  for (unsigned i = 0; i < KIN__EVENT_TEXTS; i++) {
    if (texts[i].length > 0) {
      memcpy(at, texts[i].data, texts[i].length);
    }
    e->texts[i] = kin__str(at, texts[i].length);
    at += texts[i].length;
  }
  e->correlator = correlator;
  kin__link_init(&e->queue);
  kin__timer_init(&e->timer, on_timer);
  return e;
}

/* The key of the event is in correlator->key. */
static int begin_event(kin__correlator *correlator, kin_str *texts,
                       const kin__occurrence *occurrence) {
  char name[MAX_NAME_BYTES + 32];
  texts[KIN__EVENT_NAME] =
      kin__str(name, make_name(correlator, name, sizeof name,
                               occurrence->regarding->name, occurrence->wall));
  entry *e = make_entry(correlator, texts);
  if (e == NULL) {
    return KIN_ENOMEM;
  }
  if (correlator->entries.count >= correlator->limits.max_series) {
    entry *oldest = entry_of(kin__keyed_lru_oldest(&correlator->entries));
    correlator->overflown += oldest->count - oldest->sent_count;
    free_entry(correlator, oldest);
  }
  e->count = 1;
  e->observed_ms = e->tried_ms = occurrence->now_ms;
  e->event_time = e->last_observed = occurrence->wall;
  kin__keyed_lru_insert(&correlator->entries, &e->node);
  enqueue(correlator, e);
  correlator->recorded++;
  return 0;
}

/* Whether one more event can be remembered and can wait. */
static bool has_room(const kin__correlator *correlator) {
  bool can_remember =
      correlator->entries.count < correlator->limits.max_series ||
      kin__keyed_lru_oldest(&correlator->entries) != NULL;
  return can_remember && !is_full(correlator);
}

int kin__correlator_record(kin__correlator *correlator,
                           const kin__occurrence *occurrence) {
  kin_str texts[KIN__EVENT_TEXTS] = {{NULL, 0}};
  collect(occurrence, texts);
  int err = make_key(&correlator->key, texts, false);
  if (err != 0) {
    return err;
  }
  kin__lru_node *node = kin__keyed_lru_find(
      &correlator->entries,
      kin__str(correlator->key.data, correlator->key.length));
  if (node != NULL) {
    repeat(correlator, entry_of(node), occurrence);
    return 0;
  }
  if (!has_room(correlator)) {
    correlator->overflown++;
    return KIN_EAGAIN;
  }
  source *s = NULL;
  err = pass_filter(correlator, texts, occurrence->now_ms, &s);
  if (err == 0) {
    err = make_key(&correlator->key, texts, false);
  }
  if (err == 0) {
    err = begin_event(correlator, texts, occurrence);
  }
  if (err == 0) {
    s->due_ms += correlator->limits.interval_ms;
  }
  return err;
}

/* --- Writing -------------------------------------------------------------- */

kin__event_entry *kin__correlator_next(kin__correlator *correlator) {
  if (kin__link_is_empty(&correlator->queue)) {
    return NULL;
  }
  entry *e = KIN__CONTAINER_OF(correlator->queue.next, entry, queue);
  set_state(correlator, e, KIN__EVENT_SENDING);
  e->is_patch = e->is_created && e->count > 1;
  e->sent_count = e->count;
  return e;
}

/* Nothing more to write now. */
static void settle(kin__correlator *correlator, entry *e) {
  e->tried_ms = correlator->now_ms;
  if ((begins_series(e) || correlator->is_ending) && e->count > e->sent_count) {
    e->tries = 0;
    enqueue(correlator, e);
  } else if (e->is_last && e->count == e->sent_count) {
    free_entry(correlator, e);
  } else {
    e->is_last = false;
    rest(correlator, e);
  }
}

static void give_up(kin__correlator *correlator, entry *e) {
  correlator->given_up++;
  settle(correlator, e);
}

static uint64_t wait_ms(kin__correlator *correlator, int64_t retry_after_s) {
  uint64_t own_ms =
      KIN__EVENT_RETRY_MS +
      kin__random_below(correlator->random, KIN__EVENT_RETRY_MS / 4);
  return kin__backoff_at_least(own_ms, retry_after_s);
}

static void wait_for_next(kin__correlator *correlator, entry *e,
                          int64_t retry_after_s) {
  correlator->last_wait_ms = 0;
  if (++e->tries >= KIN__EVENT_MAX_TRIES || correlator->is_ending) {
    give_up(correlator, e);
    return;
  }
  correlator->retries++;
  set_state(correlator, e, KIN__EVENT_WAITING);
  correlator->last_wait_ms = wait_ms(correlator, retry_after_s);
  kin__timer_start(&correlator->timers, &e->timer,
                   correlator->now_ms + correlator->last_wait_ms);
}

static void written(kin__correlator *correlator, entry *e) {
  correlator->created += !e->is_patch;
  correlator->patched += e->is_patch;
  e->is_created = true;
  e->done_count = e->sent_count;
  settle(correlator, e);
}

/* An earlier try has arrived, and the name is ours. A series is patched at
 * once. */
static void exists(kin__correlator *correlator, entry *e) {
  e->is_created = true;
  if (e->count == 1) {
    written(correlator, e);
  } else if (++e->tries >= KIN__EVENT_MAX_TRIES) {
    give_up(correlator, e);
  } else {
    correlator->retries++;
    enqueue(correlator, e);
  }
}

void kin__correlator_answer(kin__correlator *correlator, kin__event_entry *e,
                            kin__event_outcome outcome, int64_t retry_after_s,
                            uint64_t now_ms) {
  correlator->now_ms = now_ms;
  switch (outcome) {
  case KIN__EVENT_WRITTEN:
    written(correlator, e);
    break;
  case KIN__EVENT_MISSING: /* it has expired: it is made again */
    e->is_created = false;
    enqueue(correlator, e);
    break;
  case KIN__EVENT_EXISTS:
    exists(correlator, e);
    break;
  case KIN__EVENT_REJECTED:
    correlator->last_wait_ms = 0;
    correlator->rejected++;
    settle(correlator, e);
    break;
  case KIN__EVENT_FAILED:
    wait_for_next(correlator, e, retry_after_s);
    break;
  }
}
