/* SPDX-License-Identifier: MIT */
#include "informer/compact.h"

#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "informer/compact_list.h"
#include "informer/scope.h"
#include "object/packed.h"
#include "store/store.h"

#define FIRST_SAMPLES 64u
#define SAMPLE_MAX_BYTES (64u << 10)
#define SAMPLES_ROOM SAMPLE_MAX_BYTES /* the first allocation; doubled later */
/* The next numbers are for each of the first samples. */
#define SECOND_SAMPLES (KIN__SAMPLES_MAX / FIRST_SAMPLES)
#define SECOND_AFTER (4096u / FIRST_SAMPLES) /* packed objects */
#define SECOND_STRIDE 4u /* one of so many objects is a sample */
/* The size of packed objects is compared over so many objects. */
#define WINDOW (4096u / FIRST_SAMPLES)
/* Objects that are an eighth larger than right after the last dictionary ask
 * for another one. */
#define IS_WORSE(now, then) ((now) > (then) + (then) / 8)
/* While so many dictionaries are in use, there is no other one. */
#define DICTIONARIES_MAX 8u
#define TEXTS_PER_STEP 64u
/* Until texts are looked at that other threads have asked for, or that somebody
 * could still read at the last look. The time doubles from look to look while
 * nobody asks for another text. */
#define TEXTS_WAIT_MS 1000u
#define TEXTS_WAIT_MAX_MS 16000u

/* The use of the next dictionary. */
typedef enum stage {
  STAGE_FIRST = 0, /* there is none */
  STAGE_WAITING,   /* packing; counts the objects to the second one */
  STAGE_SAMPLING,  /* packing; takes samples for another one */
  STAGE_WATCHING   /* packing; compares the windows */
} stage;

typedef struct kin__compact {
  kin_informer *informer;
  kin__packing *packing;
  kin__packer *packer;
  kin__memory *raw; /* of objects before they are packed */

  stage stage;
  kin__samples *samples; /* NULL: none are taken */
  size_t sample_bytes;
  size_t sample_room;
  unsigned first_samples;
  uint64_t offered; /* objects since sampling began */

  kin__pool_work work; /* makes a dictionary of the samples */
  kin__dictionary *made;
  bool is_running; /* the work is on another thread */
  bool is_making;  /* from the work's beginning until work_task */
  bool is_thorough;
  bool is_late; /* the store may have objects from before the dictionary */
  kin__task work_task; /* takes the dictionary */

  uint32_t window_objects;
  uint64_t window_text;
  uint64_t window_kept;
  uint64_t best_permille; /* of the first window with this dictionary; 0: it is
                           * not over */

  kin__compact_list list;
  const kin_object *deferred; /* the list will have it, when it is staged */

  uint64_t packed_objects;
  uint64_t text_bytes;
  uint64_t kept_bytes;
  uint64_t dictionaries;

  kin__inflated *texts; /* taken, to be looked at */
  kin__inflated *held;  /* looked at; the program has references */
  kin__inflated *last;  /* held by the close, to be disowned */
  kin__task texts_task;
  kin__timer texts_timer;
  uint32_t texts_wait_ms;   /* of the timer, this time or next time */
  atomic_bool is_read_here; /* the loop's thread has noted a text */
} kin__compact;

/* --- Dictionaries --------------------------------------------------------- */

static void drop_samples(kin__compact *compact) {
  const kin_allocator *allocator = compact->informer->env->allocator;
  if (compact->samples != NULL) {
    kin__free(allocator, compact->samples->bytes);
    kin__free(allocator, compact->samples);
    compact->samples = NULL;
  }
}

/* Without memory it is tried again at the next object. */
static bool begin_sampling(kin__compact *compact) {
  const kin_allocator *allocator = compact->informer->env->allocator;
  compact->samples = kin__calloc(allocator, 1, sizeof *compact->samples);
  if (compact->samples == NULL) {
    return false;
  }
  compact->sample_bytes = 0;
  compact->sample_room = 0;
  compact->offered = 0;
  return true;
}

static void on_run(kin__pool_work *work) {
  kin__compact *compact = KIN__CONTAINER_OF(work, kin__compact, work);
  bool is_small =
      compact->informer->settings.options.compact == KIN_COMPACT_SMALL;
  (void)kin__dictionary_new(&compact->made, compact->packing, compact->samples,
                            is_small, compact->is_thorough);
}

static void on_done(kin__pool_work *work) {
  kin__compact *compact = KIN__CONTAINER_OF(work, kin__compact, work);
  kin_informer *informer = compact->informer;
  compact->is_running = false;
  kin__sched_add(informer->env->sched, informer->member.is_closing
                                           ? &informer->close_task
                                           : &compact->work_task);
}

/* Without a dictionary, because memory ran out or the samples are of no use,
 * others are taken later. */
static bool work_step(kin__task *task) {
  kin__compact *compact = KIN__CONTAINER_OF(task, kin__compact, work_task);
  compact->is_making = false;
  drop_samples(compact);
  if (compact->made != NULL) {
    kin__packer_use(compact->packer, compact->made);
    kin__dictionary_unref(compact->made);
    compact->made = NULL;
    compact->dictionaries++;
    compact->is_late = compact->is_late || !compact->is_thorough;
    kin__defragment_pass(compact->informer);
    compact->stage = compact->is_thorough ? STAGE_WATCHING : STAGE_WAITING;
  } else {
    compact->stage =
        compact->stage == STAGE_FIRST ? STAGE_FIRST : STAGE_WAITING;
  }
  compact->window_objects = 0;
  compact->window_text = 0;
  compact->window_kept = 0;
  compact->best_permille = 0;
  return false;
}

static void make_dictionary(kin__compact *compact) {
  const kin__env *env = compact->informer->env;
  compact->is_thorough = compact->stage != STAGE_FIRST;
  compact->is_making = true;
  compact->is_running = true;
  if (env->start_work == NULL) {
    on_run(&compact->work);
    on_done(&compact->work);
  } else if (env->start_work(env->work_ctx, &compact->work) != 0) {
    compact->is_making = false;
    compact->is_running = false;
    drop_samples(compact);
  }
}

/* Makes room for another sample of this length. The caller has checked that the
 * sample fits into `most`. */
static bool make_room(kin__compact *compact, size_t length, size_t most) {
  size_t room = compact->sample_room;
  while (room < compact->sample_bytes + length) {
    room = room == 0 ? SAMPLES_ROOM : room * 2;
  }
  room = room < most ? room : most;
  if (room == compact->sample_room) {
    return true;
  }
  const kin_allocator *allocator = compact->informer->env->allocator;
  char *bytes = kin__realloc_array(allocator, compact->samples->bytes,
                                   compact->sample_room, room, 1);
  if (bytes != NULL) {
    compact->samples->bytes = bytes;
    compact->sample_room = room;
  }
  return bytes != NULL;
}

/* A sample takes part of a text that is too long. */
static void take_sample(kin__compact *compact, kin_str text) {
  kin__samples *samples = compact->samples;
  unsigned target = compact->first_samples *
                    (compact->stage == STAGE_FIRST ? 1 : SECOND_SAMPLES);
  size_t length =
      text.length < SAMPLE_MAX_BYTES ? text.length : SAMPLE_MAX_BYTES;
  size_t most = KIN__SAMPLE_BYTES_MAX;
  if (compact->stage == STAGE_FIRST) {
    most = 16 * KIN__DICTIONARY_BYTES;
  }
  if (length <= most - compact->sample_bytes) {
    if (!make_room(compact, length, most)) {
      return;
    }
    memcpy(samples->bytes + compact->sample_bytes, text.data, length);
    compact->sample_bytes += length;
    samples->sizes[samples->count++] = length;
  } else {
    target = samples->count;
  }
  if (samples->count >= target) {
    make_dictionary(compact);
  }
}

static void offer_sample(kin__compact *compact, const kin_object *object) {
  if (compact->is_making || kin__object_is_packed(object) ||
      kin_object_is_key_only(object) ||
      (compact->samples == NULL && !begin_sampling(compact))) {
    return;
  }
  unsigned stride = compact->stage == STAGE_FIRST ? 1 : SECOND_STRIDE;
  kin_str text = kin__object_body(object);
  if (compact->offered++ % stride == 0 && text.length >= KIN__PACK_MIN_BYTES) {
    take_sample(compact, text);
  }
}

/* --- Packing -------------------------------------------------------------- */

static void end_window(kin__compact *compact) {
  uint64_t permille = compact->window_kept * 1000u / compact->window_text;
  if (compact->best_permille == 0) {
    compact->best_permille = permille;
  } else if (IS_WORSE(permille, compact->best_permille) &&
             kin__packing_dictionaries(compact->packing) < DICTIONARIES_MAX) {
    compact->stage = STAGE_SAMPLING;
  }
  compact->window_objects = 0;
  compact->window_text = 0;
  compact->window_kept = 0;
}

/* `kept` is the text's length if the object stayed plain. */
static void count(kin__compact *compact, size_t text, size_t kept) {
  compact->window_objects++;
  compact->window_text += text;
  compact->window_kept += kept;
  if (compact->stage == STAGE_WATCHING &&
      compact->window_objects >= WINDOW * compact->first_samples) {
    end_window(compact);
  } else if (compact->stage == STAGE_WAITING &&
             compact->window_objects >= SECOND_AFTER * compact->first_samples) {
    compact->stage = STAGE_SAMPLING;
  }
}

static void note_packed(kin__compact *compact, const kin_object *object) {
  size_t text = kin__object_text_length(object);
  size_t kept = kin__packed_frame(object).length;
  compact->packed_objects++;
  compact->text_bytes += text;
  compact->kept_bytes += kept;
  count(compact, text, kept);
}

static bool pack(kin__compact *compact, kin_object **object) {
  if (kin__packer_dictionary(compact->packer) == NULL) {
    return false;
  }
  kin_informer *informer = compact->informer;
  const kin_object *before =
      kin_store_get(&informer->store, kin_object_key(*object));
  bool is_packed =
      kin__object_pack(object, before, informer->env->memory, compact->packer);
  if (is_packed) {
    note_packed(compact, *object);
  }
  return is_packed;
}

/* The object counts now, and not when it is tried once more: a pass of the
 * defragmenter tries all plain objects at once, so they alone would fill a
 * window. Without memory for a copy, the object stays where it is. */
static void keep_plain(kin__compact *compact, kin_object **object) {
  size_t text = kin__object_text_length(*object);
  if (kin__packer_dictionary(compact->packer) != NULL &&
      text >= KIN__PACK_MIN_BYTES && text <= KIN__PACK_MAX_BYTES) {
    count(compact, text, text);
  }
  kin_object *copy;
  if (kin__object_allocator(*object) == &compact->raw->allocator &&
      kin__object_copy(&copy, compact->informer->env->memory, *object, 0) ==
          0) {
    kin__object_unref(*object);
    *object = copy;
  }
}

/* A bound counts what the object needs at once. */
static bool may_defer(kin__compact *compact, const kin_object *object) {
  const kin_informer *informer = compact->informer;
  kin__dictionary *dictionary = kin__packer_dictionary(compact->packer);
  size_t length = kin__object_text_length(object);
  return dictionary != NULL && !informer->env->has_no_helper &&
         !kin__max_bytes_is_bounded(informer) &&
         !kin__object_is_packed(object) && length >= KIN__PACK_MIN_BYTES &&
         length <= KIN__BATCH_MAX_BYTES / 4 &&
         kin__compact_list_has_room(&compact->list, dictionary);
}

void kin__compact_pack(kin_informer *informer, kin_object **object,
                       bool is_listed) {
  kin__compact *compact = informer->compact;
  if (compact == NULL) {
    return;
  }
  compact->deferred = NULL; /* the last one may not have been staged */
  /* An object that somebody else holds is cached already. */
  if (kin__object_holders(*object) > 1) {
    return;
  }
  if (compact->stage == STAGE_FIRST || compact->stage == STAGE_SAMPLING) {
    offer_sample(compact, *object);
  }
  if (is_listed && may_defer(compact, *object)) {
    compact->deferred = *object;
  } else if (!pack(compact, object)) {
    keep_plain(compact, object);
  }
}

void kin__compact_staged(kin__scope *scope, kin_object *object) {
  kin__compact *compact = scope->informer->compact;
  if (compact != NULL && compact->deferred == object) {
    kin__compact_list_add(&compact->list, scope, object);
    compact->deferred = NULL;
  }
}

void kin__compact_listed(kin_informer *informer) {
  if (informer->compact != NULL) {
    informer->compact->deferred = NULL;
    kin__compact_list_flush(&informer->compact->list);
  }
}

void kin__compact_forget(kin__scope *scope) {
  if (scope->informer->compact != NULL) {
    kin__compact_list_forget(&scope->informer->compact->list, scope);
  }
}

void kin__compact_take_packed(kin_informer *informer, kin_object **object) {
  kin__compact *compact = informer->compact;
  if (kin__object_is_packed(*object)) {
    note_packed(compact, *object);
  } else if (!pack(compact, object)) {
    keep_plain(compact, object);
  }
}

kin_object *kin__compact_late(kin_informer *informer, kin_object *object) {
  if (informer->compact == NULL || kin__object_is_packed(object) ||
      kin__object_holders(object) > 1) {
    return NULL;
  }
  kin_object *late = kin__object_ref(object);
  if (!pack(informer->compact, &late)) {
    kin__object_unref(late);
    return NULL;
  }
  return late;
}

/* The objects need less memory than when a bound refused them. */
void kin__compact_passed(kin_informer *informer) {
  if (informer->compact != NULL && informer->compact->is_late) {
    informer->compact->is_late = false;
    kin__max_bytes_reopen(informer);
  }
}

kin__memory *kin__compact_raw_memory(const kin_informer *informer) {
  return informer->compact != NULL ? informer->compact->raw
                                   : informer->env->memory;
}

/* --- Texts ---------------------------------------------------------------- */

/* After the held texts come those that other threads have asked for. */
static kin__inflated *first_text(kin__compact *compact) {
  if (compact->texts == NULL) {
    compact->texts = kin__inflated_take(compact->packing);
  }
  return compact->texts;
}

static void look_later(kin__compact *compact) {
  const kin__env *env = compact->informer->env;
  kin__timer_start(env->timers, &compact->texts_timer,
                   kin__env_now_ms(env) + compact->texts_wait_ms);
}

static bool texts_step(kin__task *task) {
  kin__compact *compact = KIN__CONTAINER_OF(task, kin__compact, texts_task);
  kin__slice slice =
      kin__slice_begin(compact->informer->env->sched, TEXTS_PER_STEP);
  kin__inflated *first;
  while ((first = first_text(compact)) != NULL && kin__slice_next(&slice)) {
    compact->texts = first->next;
    if (!kin__packed_drop_text(first)) {
      first->next = compact->held;
      compact->held = first;
    }
  }
  if (compact->texts == NULL && compact->held != NULL &&
      !compact->texts_timer.is_active) {
    look_later(compact);
  }
  return compact->texts != NULL;
}

/* There are new texts. */
static void shorten_wait(kin__compact *compact) {
  bool is_long = compact->texts_wait_ms > TEXTS_WAIT_MS;
  compact->texts_wait_ms = TEXTS_WAIT_MS;
  if (is_long && compact->texts_timer.is_active) {
    look_later(compact);
  }
}

/* Another thread may read for long what it has just asked for. */
void kin__compact_called(kin_informer *informer) {
  kin__compact *compact = informer->compact;
  if (compact == NULL) {
    return;
  }
  if (atomic_exchange(&compact->is_read_here, false)) {
    shorten_wait(compact);
    kin__sched_add(informer->env->sched, &compact->texts_task);
  } else if (kin__inflated_is_noted(compact->packing)) {
    shorten_wait(compact);
    if (!compact->texts_timer.is_active) {
      look_later(compact);
    }
  }
}

/* A loop that has moved may still count the thread that it left as its own. So
 * the thread decides only when the texts are looked at, and calls the loop
 * whichever thread it is. */
static void on_noted(void *ctx, bool is_first) {
  const kin_informer *informer = ctx;
  const kin__env *env = informer->env;
  bool is_news = kin__env_is_on_loop(env) &&
                 !atomic_exchange(&informer->compact->is_read_here, true);
  if (is_first || is_news) {
    env->call(env->call_ctx);
  }
}

static void on_texts_timer(kin__timer *timer) {
  kin__compact *compact = KIN__CONTAINER_OF(timer, kin__compact, texts_timer);
  if (compact->texts_wait_ms < TEXTS_WAIT_MAX_MS) {
    compact->texts_wait_ms *= 2;
  }
  if (compact->texts == NULL) {
    compact->texts = compact->held;
    compact->held = NULL;
  }
  kin__sched_add(compact->informer->env->sched, &compact->texts_task);
}

/* --- Life ----------------------------------------------------------------- */

int kin__compact_open(kin_informer *informer) {
  const kin__env *env = informer->env;
  if (informer->settings.options.compact == KIN_COMPACT_OFF ||
      env->memory->check != KIN_MUTATION_CHECK_OFF) {
    return 0;
  }
  kin__compact *compact = kin__calloc(env->allocator, 1, sizeof *compact);
  if (compact == NULL) {
    return KIN_ENOMEM;
  }
  informer->compact = compact;
  compact->informer = informer;
  compact->first_samples =
      env->compact_samples != 0 ? env->compact_samples : FIRST_SAMPLES;
  compact->work = (kin__pool_work){.run = on_run, .done = on_done};
  kin__task_init(&compact->work_task, work_step);
  kin__task_init(&compact->texts_task, texts_step);
  kin__timer_init(&compact->texts_timer, on_texts_timer);
  compact->texts_wait_ms = TEXTS_WAIT_MS;
  kin__compact_list_init(&compact->list, informer, compact->first_samples);
  compact->packing =
      kin__packing_new(env->shared_allocator, on_noted, informer);
  compact->packer = kin__packer_new(env->allocator);
  compact->raw = kin__memory_new(env->allocator);
  if (compact->packing == NULL || compact->packer == NULL ||
      compact->raw == NULL) {
    kin__compact_free(informer);
    return KIN_ENOMEM;
  }
  return 0;
}

void kin__compact_close(kin_informer *informer) {
  kin__compact *compact = informer->compact;
  if (compact != NULL) {
    const kin__env *env = informer->env;
    kin__timer_stop(env->timers, &compact->texts_timer);
    kin__sched_cancel(env->sched, &compact->work_task);
    kin__sched_cancel(env->sched, &compact->texts_task);
    kin__sched_cancel(env->sched, &compact->list.task);
    kin__env_cancel_work(env, &compact->work);
    kin__compact_list_cancel(&compact->list);
  }
}

/* While texts are held, no thread frees one that is noted. */
static bool hold_note(kin__compact *compact, kin__inflated **list) {
  kin__inflated *first = *list;
  if (first == NULL) {
    return false;
  }
  *list = first->next;
  kin__packed_hold(first->object);
  first->next = compact->last;
  compact->last = first;
  return true;
}

static bool disown_note(kin__compact *compact) {
  kin__inflated *first = compact->last;
  if (first == NULL) {
    return false;
  }
  compact->last = first->next;
  kin__packed_disown(first);
  return true;
}

/* Other threads note texts until none is left to be held. This ends: a text that
 * is held is not noted a second time. */
bool kin__compact_free_step(kin_informer *informer) {
  kin__compact *compact = informer->compact;
  if (compact == NULL || compact->packing == NULL) {
    return false;
  }
  if (hold_note(compact, &compact->texts) ||
      hold_note(compact, &compact->held)) {
    return true;
  }
  compact->texts = kin__inflated_close(compact->packing);
  return compact->texts != NULL || disown_note(compact) ||
         kin__compact_list_free_step(&compact->list) ||
         kin__inflated_has_callers(compact->packing);
}

bool kin__compact_is_working(const kin_informer *informer) {
  const kin__compact *compact = informer->compact;
  return compact != NULL && (compact->is_running || compact->list.running > 0);
}

void kin__compact_free(kin_informer *informer) {
  kin__compact *compact = informer->compact;
  if (compact == NULL) {
    return;
  }
  while (kin__compact_free_step(informer)) {
  }
  kin__timer_stop(informer->env->timers, &compact->texts_timer);
  drop_samples(compact);
  kin__dictionary_unref(compact->made);
  kin__packer_free(compact->packer);
  kin__packing_unref(compact->packing);
  kin__memory_unref(compact->raw);
  kin__free(informer->env->allocator, compact);
  informer->compact = NULL;
}

void kin__compact_read_metrics(const kin_informer *informer,
                               kin_informer_metrics *metrics) {
  const kin__compact *compact = informer->compact;
  if (compact != NULL) {
    metrics->packed_objects = compact->packed_objects;
    metrics->packed_text_bytes = compact->text_bytes;
    metrics->packed_bytes = compact->kept_bytes;
    metrics->dictionaries = compact->dictionaries;
  }
}
