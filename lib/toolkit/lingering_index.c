/* SPDX-License-Identifier: MIT */
#include <kin/lingering_index.h>

#include <inttypes.h>

#include <kin/error.h>

#include "base/alloc.h"
#include "base/first_size.h"
#include "base/options.h"
#include "base/str.h"
#include "informer/informer.h"
#include "store/index.h"

/* An index of its own over what is gone. Its values come from the store's
 * index, but for those that the object still has. Objects are dropped in the
 * order in which they came, by one timer and one task.
 *
 * Invariants: a slot is taken iff its object is not NULL, and is in `order`;
 * then it has at least one value. */

#define DROPS_PER_STEP 256u
#define MAX_LINGER_MS 86400000u
#define DEFAULT_OBJECTS 4096u
#define MAX_OBJECTS 1048576u
#define MAX_VALUES 64u

/* Parts of a scan. */
#define PART_LIVE 0u
#define PART_GONE 1u

typedef struct left {
  kin__slot_head head;
  kin_object *object; /* one reference */
  uint64_t gone_ms;   /* when */
  kin__link node;     /* in order */
  uint32_t id;
} left;

/* The slot, a posting, and the value's entry with its share of the maps. */
static_assert(sizeof(left) + sizeof(kin__posting) + sizeof(kin__index_value) +
                      3 * sizeof(uint32_t) <=
                  152,
              "an object that lingers must not cost more than the header says");

struct kin_lingering_index {
  kin__member member;
  kin_informer *informer; /* NULL once it is gone */
  const kin__index *live; /* the store's index */
  kin__index *gone;       /* NULL at the end of the close */
  kin__slots slots;
  /* After many have lingered: the tables of those, to be freed. */
  kin__index *old_gone; /* NULL: none */
  kin__slots old_slots;
  kin__link order; /* the one that left first is first */
  kin__gone_watch gone_watch;
  kin__change_watch change_watch;
  kin__timer timer;
  kin__task task;
  uint32_t linger_ms;
  uint32_t max_objects;

  /* The values that an object has after an update. */
  kin__hash_seed seeds[2];
  uint64_t kept[MAX_VALUES];
  uint32_t kept_count;
  bool has_too_many;   /* more than fit */
  uint32_t lost_count; /* values of the object in hand that are not kept */
};

static uint64_t now_ms(const kin_lingering_index *index) {
  return kin__env_now_ms(index->member.env);
}

static left *first_left(const kin_lingering_index *index) {
  return kin__link_is_empty(&index->order)
             ? NULL
             : KIN__CONTAINER_OF(index->order.next, left, node);
}

static bool is_over(const kin_lingering_index *index, const left *l) {
  return now_ms(index) - l->gone_ms >= index->linger_ms;
}

/* --- Dropping ------------------------------------------------------------- */

static void drop(kin_lingering_index *index, left *l) {
  kin_object *object = l->object;
  kin__index_remove(index->gone, l->id);
  kin__link_remove(&l->node);
  kin__slots_give(&index->slots, l->id);
  kin__object_unref(object);
}

/* Large tables are freed in steps, so new ones take their places. Without memory
 * they stay until nothing lingers the next time. */
static void retire_tables(kin_lingering_index *index) {
  kin__index *fresh;
  if (index->slots.live == 0 && index->old_slots.segments.count == 0 &&
      kin__segments_room(&index->slots.segments) > KIN__SEGMENT_MAX &&
      kin__index_new_like(&fresh, index->gone) == 0) {
    index->old_gone = index->gone;
    index->old_slots = index->slots;
    index->gone = fresh;
    kin__slots_init(&index->slots, index->old_slots.allocator, sizeof(left));
  }
}

/* Frees tables for a slice. Returns whether there is more. */
static bool free_tables(kin__index **gone, kin__slots *slots,
                        kin__slice *slice) {
  while (*gone != NULL || slots->segments.count > 0) {
    if (!kin__slice_next(slice)) {
      return true;
    }
    uint32_t budget = 1;
    if (*gone == NULL) {
      kin__slots_drop_segment(slots);
    } else if (!kin__index_free_step(*gone, &budget)) {
      *gone = NULL;
    }
  }
  kin__slots_finish(slots);
  return false;
}

static void set_timer(kin_lingering_index *index) {
  const left *l = first_left(index);
  if (l != NULL && !index->timer.is_active) {
    kin__timer_start(index->member.env->timers, &index->timer,
                     kin__deadline_ms(l->gone_ms, index->linger_ms));
  }
}

static void on_due(kin__timer *timer) {
  kin_lingering_index *index =
      KIN__CONTAINER_OF(timer, kin_lingering_index, timer);
  kin__sched_add(index->member.env->sched, &index->task);
}

static bool step(kin__task *task) {
  kin_lingering_index *index =
      KIN__CONTAINER_OF(task, kin_lingering_index, task);
  bool is_closing = index->member.is_closing;
  kin__slice slice = kin__slice_begin(index->member.env->sched, DROPS_PER_STEP);
  left *l = first_left(index);
  for (; l != NULL && (is_closing || is_over(index, l));
       l = first_left(index)) {
    if (!kin__slice_next(&slice)) {
      return true;
    }
    drop(index, l);
  }
  if (is_closing) {
    if (free_tables(&index->old_gone, &index->old_slots, &slice) ||
        free_tables(&index->gone, &index->slots, &slice)) {
      return true;
    }
    kin__member_end(&index->member);
    return false;
  }
  set_timer(index);
  retire_tables(index);
  return free_tables(&index->old_gone, &index->old_slots, &slice);
}

/* --- Keeping -------------------------------------------------------------- */

static uint64_t print_of(const kin_lingering_index *index, kin_str value) {
  return (uint64_t)kin__hash(&index->seeds[0], value) << 32 |
         kin__hash(&index->seeds[1], value);
}

static bool is_kept(const kin_lingering_index *index, kin_str value) {
  if (index->kept_count == 0) {
    return false;
  }
  uint64_t print = print_of(index, value);
  for (uint32_t i = 0; i < index->kept_count; i++) {
    if (index->kept[i] == print) {
      return true;
    }
  }
  return false;
}

static int note_kept(void *ctx, kin_str value) {
  kin_lingering_index *index = ctx;
  if (index->kept_count == MAX_VALUES) {
    index->has_too_many = true;
    return KIN_ECLOSED; /* ends the visit */
  }
  index->kept[index->kept_count++] = print_of(index, value);
  return 0;
}

static int count_lost(void *ctx, kin_str value) {
  kin_lingering_index *index = ctx;
  index->lost_count += is_kept(index, value) ? 0 : 1;
  return 0;
}

typedef struct emission {
  kin_lingering_index *index;
  kin_index_values *values;
} emission;

static int emit_lost(void *ctx, kin_str value) {
  const emission *e = ctx;
  return is_kept(e->index, value) ? 0 : kin_index_emit(e->values, value);
}

static int visit(const kin_lingering_index *index, const kin_object *object,
                 int (*cb)(void *ctx, kin_str value), void *ctx) {
  return kin__store_visit(&index->informer->store, index->live, object, cb,
                          ctx);
}

/* The function of `gone`. */
static int index_lost(const kin_object *object, kin_index_values *values,
                      void *data) {
  emission e = {data, values};
  return visit(e.index, object, emit_lost, &e);
}

static int put(kin_lingering_index *index, const kin_object *object) {
  uint32_t id;
  int err = kin__slots_take(&index->slots, &id);
  if (err != 0) {
    return err;
  }
  kin__index_reader reader;
  kin__index_reader_init(&reader, object, NULL);
  err = kin__index_prepare(index->gone, id, &reader);
  kin__index_reader_finish(&reader);
  if (err != 0) {
    kin__slots_give(&index->slots, id);
    return err;
  }
  kin__index_commit(index->gone, id);
  left *l = kin__slots_at(&index->slots, id);
  l->id = id;
  l->object = kin__object_ref(object);
  l->gone_ms = now_ms(index);
  kin__link_push(&index->order, &l->node);
  return 0;
}

static void log_lost(const kin_lingering_index *index,
                     const kin_object *object) {
  kin__log_write(index->member.env->log, KIN_LOG_WARN,
                 "%.300s does not linger: out of memory",
                 kin_object_key(object).data);
}

/* Keeps the object under the values that it has lost. */
static void keep(kin_lingering_index *index, const kin_object *object) {
  index->lost_count = 0;
  int err = visit(index, object, count_lost, index);
  if (err == 0 && index->lost_count > 0) {
    while (index->slots.live >= index->max_objects) {
      drop(index, first_left(index));
    }
    err = put(index, object);
    set_timer(index);
  }
  if (err == KIN_ENOMEM) {
    log_lost(index, object);
  }
}

/* If its index function fails, an object has no value in the store's index. */
static void keep_replaced(kin_lingering_index *index,
                          const kin__notification *change) {
  int err = visit(index, change->object, note_kept, index);
  if (err == KIN_EINDEX) {
    index->kept_count = 0;
  }
  if (err == KIN_ENOMEM) {
    log_lost(index, change->old_object);
  } else if (!index->has_too_many) {
    keep(index, change->old_object);
  }
}

static void on_changed(kin__change_watch *watch,
                       const kin__notification *change) {
  kin_lingering_index *index =
      KIN__CONTAINER_OF(watch, kin_lingering_index, change_watch);
  index->kept_count = 0;
  index->has_too_many = false;
  if (change->type == KIN_EVENT_DELETE) {
    keep(index, change->cached != NULL ? change->cached : change->object);
  } else if (change->type == KIN_EVENT_UPDATE &&
             change->object != change->old_object) {
    keep_replaced(index, change);
  }
}

/* --- Life ----------------------------------------------------------------- */

static void on_free(kin__member *member) {
  kin__free(member->env->allocator,
            KIN__CONTAINER_OF(member, kin_lingering_index, member));
}

static void on_close(kin__member *member) {
  kin_lingering_index *index =
      KIN__CONTAINER_OF(member, kin_lingering_index, member);
  kin__link_remove(&index->gone_watch.node);
  kin__link_remove(&index->change_watch.node);
  kin__timer_stop(member->env->timers, &index->timer);
  kin__sched_add(member->env->sched, &index->task);
}

static const kin__member_ops member_ops = {.close = on_close, .free = on_free};

static void on_informer_gone(kin__gone_watch *watch) {
  kin_lingering_index *index =
      KIN__CONTAINER_OF(watch, kin_lingering_index, gone_watch);
  index->member.is_closing = true;
  index->informer = NULL;
  on_close(&index->member);
}

int kin_lingering_index_close(kin_lingering_index *index,
                              kin_lingering_index_close_cb cb, void *data) {
  return index != NULL ? kin__member_close(&index->member, cb, data)
                       : KIN_EINVAL;
}

/* --- Open ----------------------------------------------------------------- */

static int check(const kin_lingering_index_options *options,
                 const kin__log *log) {
  if (options->name == NULL) {
    return kin__log_problem(log, KIN_EINVAL, "name: is required");
  }
  if (options->linger_ms == 0 || options->linger_ms > MAX_LINGER_MS) {
    return kin__log_problem(log, KIN_EINVAL,
                            "linger_ms: %" PRIu32 " is not from 1 to %u",
                            options->linger_ms, (unsigned)MAX_LINGER_MS);
  }
  if (options->max_objects > MAX_OBJECTS) {
    return kin__log_problem(log, KIN_EINVAL,
                            "max_objects: %" PRIu32 " is more than %u",
                            options->max_objects, (unsigned)MAX_OBJECTS);
  }
  return 0;
}

static int make(kin_lingering_index **out, kin_informer *informer,
                const kin__index *live,
                const kin_lingering_index_options *options) {
  const kin__env *env = informer->env;
  kin_lingering_index *index = kin__calloc(env->allocator, 1, sizeof *index);
  if (index == NULL) {
    return KIN_ENOMEM;
  }
  kin__member_init(&index->member, &member_ops, env);
  kin__slots_init(&index->slots, &env->memory->cells, sizeof(left));
  kin__slots_init(&index->old_slots, &env->memory->cells, sizeof(left));
  for (size_t i = 0; i < 2; i++) {
    index->seeds[i] = kin__random_hash_seed(env->random);
  }
  kin_index_options own = KIN_INDEX_OPTIONS_INIT;
  own.name = options->name;
  own.cb = index_lost;
  own.data = index;
  int err =
      kin__index_new(&index->gone, env->memory, index->seeds[0], &own, true);
  if (err != 0) {
    kin__free(env->allocator, index);
    return err;
  }
  *out = index;
  index->live = live;
  index->informer = informer;
  index->linger_ms = options->linger_ms;
  index->max_objects =
      options->max_objects > 0 ? options->max_objects : DEFAULT_OBJECTS;
  index->member.on_closed = options->on_closed;
  index->member.data = options->data;
  kin__link_init(&index->order);
  kin__timer_init(&index->timer, on_due);
  kin__task_init(&index->task, step);
  return 0;
}

static void begin(kin_lingering_index *index, kin_informer *informer) {
  index->gone_watch.gone = on_informer_gone;
  index->change_watch.changed = on_changed;
  kin__link_push(&informer->gone_watches, &index->gone_watch.node);
  kin__link_push(&informer->dispatcher.change_watches,
                 &index->change_watch.node);
  if (informer->member.host != NULL) {
    kin__member_join(&index->member, informer->member.host);
  }
}

static int open_on(kin_lingering_index **out, kin_informer *informer,
                   const kin_lingering_index_options *options) {
  const kin__log *log = informer->env->log;
  kin__log_no_problem(log);
  if (informer->member.is_closing) {
    return KIN_ECLOSED;
  }
  kin_lingering_index_options copy;
  int err = kin__options_take(&copy, sizeof copy, options,
                              KIN__FIRST_SIZE(kin_lingering_index_options),
                              "kin_lingering_index_options", log);
  if (err == 0) {
    err = check(&copy, log);
  }
  if (err != 0) {
    return err;
  }
  const kin__index *live = kin__store_index(&informer->store, copy.name);
  if (live == NULL) {
    return kin__log_problem(log, KIN_ENOENT, "name: no index \"%.80s\"",
                            copy.name);
  }
  err = make(out, informer, live, &copy);
  if (err == 0) {
    begin(*out, informer);
  }
  return err;
}

int kin_lingering_index_open(kin_lingering_index **out, kin_informer *informer,
                             const kin_lingering_index_options *options) {
  if (out == NULL) {
    return KIN_EINVAL;
  }
  *out = NULL;
  return informer != NULL ? open_on(out, informer, options) : KIN_EINVAL;
}

/* --- Looking up ----------------------------------------------------------- */

/* `index` may be NULL: after its informer's close, `gone` may be freed before
 * the program hears of the end. */
static uint32_t first_posting(const kin__index *index, kin_str value) {
  const kin__index_value *found =
      index != NULL ? kin__index_find(index, value) : NULL;
  return found != NULL ? found->first : KIN__NO_SLOT;
}

/* The store of a closing informer is empty, and its indices may be gone. */
static bool is_live_part_readable(const kin_lingering_index *index) {
  return index->informer != NULL && !index->informer->member.is_closing;
}

static const kin_object *next_live(const kin_lingering_index *index,
                                   uint32_t *posting) {
  const kin__posting *p = kin__index_posting(index->live, *posting);
  if (p == NULL) {
    return NULL;
  }
  *posting = p->head.next;
  return kin__store_at(&index->informer->store, p->slot)->object;
}

/* The object that left last comes first: after one whose time is over, all are
 * over. */
static const left *next_gone(const kin_lingering_index *index,
                             uint32_t *posting) {
  const kin__posting *p =
      index->gone != NULL ? kin__index_posting(index->gone, *posting) : NULL;
  if (p == NULL) {
    return NULL;
  }
  *posting = p->head.next;
  const left *l = kin__slots_at(&index->slots, p->slot);
  return is_over(index, l) ? NULL : l;
}

static void set_gone(uint64_t *gone_ms, uint64_t age_ms) {
  if (gone_ms != NULL) {
    *gone_ms = age_ms;
  }
}

static kin_lingering_cursor begin_scan(const kin_lingering_index *index,
                                       kin_str value) {
  kin_lingering_cursor cursor = {KIN__NO_SLOT, PART_LIVE};
  if (is_live_part_readable(index)) {
    cursor.posting = first_posting(index->live, value);
  }
  if (cursor.posting == KIN__NO_SLOT) {
    cursor.part = PART_GONE;
    cursor.posting = first_posting(index->gone, value);
  }
  return cursor;
}

/* When the last live object is given, the value is looked up among those that
 * are gone: it is in the posting. */
static void turn_to_gone(const kin_lingering_index *index,
                         kin_lingering_cursor *cursor, uint32_t last) {
  const kin__posting *p = kin__index_posting(index->live, last);
  const kin__index_value *value =
      kin__slots_at(&index->live->values, p->head.hash);
  cursor->part = PART_GONE;
  cursor->posting =
      first_posting(index->gone, kin__str(value->bytes, value->length));
}

int kin_lingering_index_find(const kin_lingering_index *index, kin_str value,
                             kin_lingering_cursor *cursor) {
  if (index == NULL || cursor == NULL) {
    return KIN_EINVAL;
  }
  *cursor = begin_scan(index, kin__str_given(value));
  return 0;
}

const kin_object *kin_lingering_index_next(const kin_lingering_index *index,
                                           kin_lingering_cursor *cursor,
                                           uint64_t *gone_ms) {
  if (index == NULL || cursor == NULL) {
    return NULL;
  }
  if (cursor->part == PART_LIVE) {
    uint32_t at = cursor->posting;
    const kin_object *object = is_live_part_readable(index)
                                   ? next_live(index, &cursor->posting)
                                   : NULL;
    if (object != NULL && cursor->posting == KIN__NO_SLOT) {
      turn_to_gone(index, cursor, at);
    }
    set_gone(gone_ms, UINT64_MAX);
    return object;
  }
  const left *l = next_gone(index, &cursor->posting);
  if (l == NULL) {
    cursor->posting = KIN__NO_SLOT;
    return NULL;
  }
  set_gone(gone_ms, now_ms(index) - l->gone_ms);
  return l->object;
}

const kin_object *kin_lingering_index_owner(const kin_lingering_index *index,
                                            kin_str value, uint64_t age_ms,
                                            uint64_t *gone_ms) {
  if (index == NULL) {
    return NULL;
  }
  kin_lingering_cursor cursor = begin_scan(index, kin__str_given(value));
  const kin_object *owner = NULL;
  bool is_live = cursor.part == PART_LIVE;
  if (is_live) {
    owner = next_live(index, &cursor.posting);
    set_gone(gone_ms, UINT64_MAX);
    if (age_ms == 0 || first_left(index) == NULL) {
      return owner;
    }
    cursor.posting = first_posting(index->gone, kin__str_given(value));
  }
  uint64_t now = now_ms(index);
  for (const left *l = next_gone(index, &cursor.posting); l != NULL;
       l = next_gone(index, &cursor.posting)) {
    /* The first to leave since then; of the others, the last. */
    if (now - l->gone_ms < age_ms || owner == NULL) {
      owner = l->object;
      set_gone(gone_ms, now - l->gone_ms);
    }
  }
  return owner;
}

size_t kin_lingering_index_count(const kin_lingering_index *index) {
  return index != NULL ? index->slots.live : 0;
}
