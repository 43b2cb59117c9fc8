/* SPDX-License-Identifier: MIT */
#include "dispatch/listener_queue.h"

#include <assert.h>
#include <string.h>

#include <kin/error.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/str.h"
#include "object/object.h"

/* An element of the overflow. Zeroed when free. */
typedef struct entry {
  kin__slot_head head; /* of a marker: see join_runs */
  uint32_t prev;
  uint32_t next;
  kin__notification notification;
} entry;

/* Pushes that one reserve covers. */
#define RESERVED 2u

/* Chains of relists by namespace, see join_runs. */
#define RUN_CHAINS 64u

/* Segments (of 40 KiB) freed in one trim step. */
#define TRIM_SEGMENTS 16u

#define WANTS_OBJECTS                                                          \
  (KIN__WANTS(KIN_EVENT_ADD) | KIN__WANTS(KIN_EVENT_UPDATE) |                  \
   KIN__WANTS(KIN_EVENT_DELETE))

static entry *entry_at(const kin__listener_queue *queue, uint32_t id) {
  return kin__slots_at(&queue->overflow->entries, id);
}

void kin__listener_queue_init(kin__listener_queue *queue,
                              const kin_allocator *allocator, uint8_t wanted,
                              size_t exact_limit) {
  *queue = (kin__listener_queue){
      .first = KIN__NO_SLOT,
      .last = KIN__NO_SLOT,
      .exact_limit = exact_limit,
      .wanted = wanted | KIN__WANTS(KIN_EVENT_SYNCED),
  };
  kin__chunkq_init(&queue->exact, allocator, sizeof(kin__notification));
}

/* Errors: KIN_ENOMEM. */
static int have_overflow(kin__listener_queue *queue) {
  if (queue->overflow != NULL) {
    return 0;
  }
  const kin_allocator *allocator = queue->exact.allocator;
  kin__listener_overflow *overflow = kin__malloc(allocator, sizeof *overflow);
  if (overflow == NULL) {
    return KIN_ENOMEM;
  }
  kin__slots_init(&overflow->entries, allocator, sizeof(entry));
  kin__slots_init(&overflow->retired, allocator, sizeof(entry));
  kin__map_init(&overflow->map, allocator, &overflow->entries);
  queue->overflow = overflow;
  return 0;
}

void kin__listener_queue_finish(kin__listener_queue *queue) {
  kin__listener_queue_clear_step(queue, SIZE_MAX);
  kin__chunkq_finish(&queue->exact);
  kin__listener_overflow *overflow = queue->overflow;
  if (overflow != NULL) {
    kin__map_finish(&overflow->map);
    kin__slots_finish(&overflow->entries);
    kin__slots_finish(&overflow->retired);
    kin__free(queue->exact.allocator, overflow);
    queue->overflow = NULL;
  }
}

void kin__listener_queue_set_paused(kin__listener_queue *queue,
                                    bool is_paused) {
  queue->is_paused = is_paused;
}

/* The first of two pushes may fill the exact part, or empty the overflow by
 * cancelling its last entry. Then the second push goes to the other part. */
int kin__listener_queue_reserve(kin__listener_queue *queue) {
  int err = 0;
  if (!queue->is_paused || queue->exact_limit == SIZE_MAX) {
    err = kin__chunkq_reserve(&queue->exact, RESERVED);
  }
  if (err == 0 && (kin__listener_queue_is_coalescing(queue) ||
                   queue->exact_limit - queue->exact.count < RESERVED)) {
    err = have_overflow(queue);
    if (err == 0) {
      err = kin__slots_reserve(&queue->overflow->entries, RESERVED);
    }
    if (err == 0) {
      err = kin__map_reserve(&queue->overflow->map);
    }
  }
  return err;
}

/* A large array can be freed in steps only while nothing is taken from it. So
 * it is set aside, and the next overflow begins with a new one. A single
 * segment is kept, for queues that often overflow a little. */
bool kin__listener_queue_trim_step(kin__listener_queue *queue) {
  if (!kin__listener_queue_wants_trim(queue)) {
    return false;
  }
  kin__listener_overflow *overflow = queue->overflow;
  kin__slots *retired = &overflow->retired;
  if (retired->segments.places == NULL) {
    *retired = overflow->entries;
    kin__slots_init(&overflow->entries, queue->exact.allocator, sizeof(entry));
  }
  for (uint32_t i = 0; i < TRIM_SEGMENTS && retired->segments.count > 0; i++) {
    kin__slots_drop_segment(retired);
  }
  if (retired->segments.count == 0) {
    kin__slots_finish(retired);
  }
  return kin__listener_queue_wants_trim(queue);
}

static bool is_hidden(const kin__listener_queue *queue, const entry *e) {
  return !kin__listener_queue_wants(queue, e->notification.type);
}

/* Takes an entry out; the caller gets its references. */
static void remove_entry(kin__listener_queue *queue, uint32_t id) {
  entry *e = entry_at(queue, id);
  if (e->prev != KIN__NO_SLOT) {
    entry_at(queue, e->prev)->next = e->next;
  } else {
    queue->first = e->next;
  }
  if (e->next != KIN__NO_SLOT) {
    entry_at(queue, e->next)->prev = e->prev;
  } else {
    queue->last = e->prev;
  }
  queue->merged -= !is_hidden(queue, e);
  queue->gone = (uint16_t)(queue->gone - e->notification.is_gone);
  if (!kin__notification_is_marker(&e->notification)) {
    kin__map_remove(&queue->overflow->map, id);
  }
  kin__slots_give(&queue->overflow->entries, id);
}

/* Cannot fail: memory was reserved. */
static void append_entry(kin__listener_queue *queue,
                         const kin__notification *notification, uint32_t hash) {
  uint32_t id = KIN__NO_SLOT;
  int err = kin__slots_take(&queue->overflow->entries, &id);
  assert(err == 0);
  entry *e = entry_at(queue, id);
  e->notification = *notification;
  kin__notification_ref(&e->notification);
  e->prev = queue->last;
  e->next = KIN__NO_SLOT;
  if (queue->last != KIN__NO_SLOT) {
    entry_at(queue, queue->last)->next = id;
  } else {
    queue->first = id;
  }
  queue->last = id;
  queue->merged += !is_hidden(queue, e);
  if (!kin__notification_is_marker(notification)) {
    err = kin__map_insert(&queue->overflow->map, hash, id);
    assert(err == 0);
  }
  (void)err;
}

/* The key's add or update, into which changes are merged; KIN__NO_SLOT if there
 * is none. *has_delete: the key has a delete. */
static uint32_t find_open(const kin__listener_queue *queue, kin_str key,
                          uint32_t hash, bool *has_delete) {
  uint32_t open = KIN__NO_SLOT;
  *has_delete = false;
  for (uint32_t id = kin__map_first(&queue->overflow->map, hash);
       id != KIN__NO_SLOT; id = kin__map_next(&queue->overflow->map, id)) {
    const kin__notification *n = &entry_at(queue, id)->notification;
    if (kin__str_equal(kin_object_key(n->object), key)) {
      if (n->type == KIN_EVENT_DELETE) {
        *has_delete = true;
      } else {
        open = id;
      }
    }
  }
  return open;
}

static void replace_object(kin_object **object, kin_object *with) {
  kin_object *old = *object;
  *object = kin__object_ref(with);
  kin__object_unref(old);
}

/* Whether a delete is told after a pending change. A delete of the key that is
 * still to come tells as much. */
static bool tells_delete(const kin__listener_queue *queue,
                         const kin__notification *pending, bool has_delete) {
  bool is_told = pending->type == KIN_EVENT_UPDATE ||
                 (!has_delete && queue->gone < queue->max_gone);
  return is_told && kin__listener_queue_wants(queue, KIN_EVENT_DELETE);
}

static bool is_marker(const kin__listener_queue *queue, uint32_t id) {
  return id != KIN__NO_SLOT &&
         kin__notification_is_marker(&entry_at(queue, id)->notification);
}

/* The entry of the chain that is of the same namespace, or NULL. */
static entry *find_relist(const kin__listener_queue *queue, uint32_t id,
                          const entry *of) {
  while (id != KIN__NO_SLOT) {
    entry *e = entry_at(queue, id);
    if (e->head.hash == of->head.hash &&
        kin__str_equal(e->notification.marker->namespace_,
                       of->notification.marker->namespace_)) {
      return e;
    }
    id = e->head.next;
  }
  return NULL;
}

/* Puts a relist into its chain, or in the place of the one of its namespace that
 * is there. */
static void chain_relist(kin__listener_queue *queue, uint32_t *chains,
                         uint32_t id) {
  static const kin__hash_seed seed = {0, 0};
  entry *e = entry_at(queue, id);
  e->head.hash = kin__hash(&seed, e->notification.marker->namespace_);
  uint32_t *chain = &chains[e->head.hash % RUN_CHAINS];
  entry *earlier = find_relist(queue, *chain, e);
  if (earlier == NULL) {
    e->head.next = *chain;
    *chain = id;
    return;
  }
  kin__marker *replaced = earlier->notification.marker;
  earlier->notification = e->notification;
  remove_entry(queue, id);
  kin__marker_unref(replaced, queue->exact.allocator);
}

/* The change in front of `behind` is gone. If that change was between two runs
 * of markers, a relist of the second run replaces the one of its namespace in
 * the first. Each run has one relist of a namespace at most, so the cost is
 * O(namespaces). */
static void join_runs(kin__listener_queue *queue, uint32_t behind) {
  if (!is_marker(queue, behind)) {
    return;
  }
  uint32_t id = behind;
  while (is_marker(queue, entry_at(queue, id)->prev)) {
    id = entry_at(queue, id)->prev;
  }
  if (id == behind) {
    return;
  }
  uint32_t chains[RUN_CHAINS];
  memset(chains, 0xff, sizeof chains); /* KIN__NO_SLOT */
  while (is_marker(queue, id)) {
    const entry *e = entry_at(queue, id);
    uint32_t next = e->next;
    if (e->notification.type == KIN_EVENT_RELISTED) {
      chain_relist(queue, chains, id);
    }
    id = next;
  }
}

/* Merges a change into the key's pending add or update. */
static void merge(kin__listener_queue *queue, uint32_t id,
                  const kin__notification *change, bool has_delete) {
  kin__notification *pending = &entry_at(queue, id)->notification;
  if (change->type != KIN_EVENT_DELETE) {
    replace_object(&pending->object, change->object);
    pending->is_resync = pending->is_resync && change->is_resync;
    return;
  }
  if (tells_delete(queue, pending, has_delete)) {
    replace_object(&pending->object, change->object);
    pending->is_gone = pending->type == KIN_EVENT_ADD;
    queue->gone = (uint16_t)(queue->gone + pending->is_gone);
    if (!pending->is_gone) {
      kin__object_unref(pending->old_object);
    }
    pending->old_object = NULL;
    pending->type = KIN_EVENT_DELETE;
    pending->reason = change->reason;
    pending->is_initial = false;
    pending->is_resync = false;
    return;
  }
  kin__notification dropped = *pending;
  uint32_t behind = entry_at(queue, id)->next;
  remove_entry(queue, id);
  join_runs(queue, behind);
  kin__notification_unref(&dropped, queue->exact.allocator);
}

static void push_coalesced(kin__listener_queue *queue,
                           const kin__notification *change, uint32_t hash) {
  bool has_delete;
  uint32_t open =
      find_open(queue, kin_object_key(change->object), hash, &has_delete);
  if (open != KIN__NO_SLOT) {
    merge(queue, open, change, has_delete);
    return;
  }
  kin__notification first = *change;
  if (has_delete) {
    if (change->type == KIN_EVENT_DELETE) {
      return;
    }
    /* After a delete any change is an add. */
    first.type = KIN_EVENT_ADD;
    first.is_initial = change->type == KIN_EVENT_ADD && change->is_initial;
    first.is_resync = false;
    first.old_object = NULL;
  }
  if (first.type == KIN_EVENT_ADD ||
      kin__listener_queue_wants(queue, first.type)) {
    append_entry(queue, &first, hash);
  }
}

/* Replaces the marker of an earlier relist of the namespace, if no change came in
 * between. The server can relist without end while a listener is paused. */
static bool merge_marker(kin__listener_queue *queue,
                         const kin__notification *marker) {
  uint32_t id = marker->type == KIN_EVENT_RELISTED ? queue->last : KIN__NO_SLOT;
  while (is_marker(queue, id)) {
    kin__notification *last = &entry_at(queue, id)->notification;
    if (last->type == KIN_EVENT_RELISTED &&
        kin__str_equal(last->marker->namespace_, marker->marker->namespace_)) {
      kin__notification earlier = *last;
      *last = *marker;
      kin__notification_ref(last);
      kin__notification_unref(&earlier, queue->exact.allocator);
      return true;
    }
    id = entry_at(queue, id)->prev;
  }
  return false;
}

void kin__listener_queue_push(kin__listener_queue *queue,
                              const kin__notification *notification,
                              uint32_t hash) {
  bool is_marker = kin__notification_is_marker(notification);
  if (!kin__listener_queue_is_coalescing(queue)) {
    if (kin__listener_queue_wants(queue, notification->type)) {
      kin__notification *to = kin__chunkq_push(&queue->exact);
      assert(to != NULL);
      *to = *notification;
      kin__notification_ref(to);
    }
  } else if (!is_marker) {
    if ((queue->wanted & WANTS_OBJECTS) != 0) {
      push_coalesced(queue, notification, hash);
    }
  } else if (kin__listener_queue_wants(queue, notification->type) &&
             !merge_marker(queue, notification)) {
    append_entry(queue, notification, 0);
  }
}

bool kin__listener_queue_pop(kin__listener_queue *queue,
                             kin__notification *notification) {
  const kin__notification *oldest = kin__chunkq_peek(&queue->exact);
  if (oldest != NULL) {
    *notification = *oldest;
    kin__chunkq_pop(&queue->exact);
    return true;
  }
  if (queue->first != KIN__NO_SLOT) {
    *notification = entry_at(queue, queue->first)->notification;
    remove_entry(queue, queue->first);
    return true;
  }
  return false;
}

size_t kin__listener_queue_clear_step(kin__listener_queue *queue,
                                      size_t count) {
  size_t dropped = 0;
  kin__notification notification;
  while (dropped < count && kin__listener_queue_pop(queue, &notification)) {
    kin__notification_unref(&notification, queue->exact.allocator);
    dropped++;
  }
  return dropped;
}
