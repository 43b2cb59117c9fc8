/* SPDX-License-Identifier: MIT */
#include "toolkit/change_filter.h"

#include <inttypes.h>

#include <kin/error.h>

#include "base/alloc.h"
#include "base/first_size.h"
#include "base/options.h"
#include "base/str.h"
#include "dispatch/listener.h"
#include "toolkit/stored_field.h"

#define TELLS_PER_STEP 64u
#define DROPS_PER_STEP 256u

#define MAX_DEBOUNCE_MS 86400000u
#define MAX_WAIT_FACTOR 10u
#define DEFAULT_WAITING 65536u
#define MAX_WAITING 262144u

static uint64_t now_ms(const kin_change_filter *filter) {
  return kin__env_now_ms(filter->member.env);
}

/* After the informer's close nothing of it is told. */
static bool may_tell(const kin_change_filter *filter) {
  return !filter->member.is_closing && !filter->informer->member.is_closing;
}

/* --- What has changed ----------------------------------------------------- */

static bool is_recreated(const kin_object *a, const kin_object *b) {
  return !kin__str_equal(kin_object_uid(a), kin_object_uid(b));
}

bool kin__change_filter_counts(kin_change_filter *filter,
                               const kin_event *event) {
  return event->type != KIN_EVENT_UPDATE ||
         is_recreated(event->old_object, event->object) ||
         !kin__field_set_is_same(&filter->fields, event->old_object,
                                 event->object);
}

uint8_t kin__change_filter_net_type(kin_change_filter *filter,
                                    const kin__change_wait *wait) {
  if (wait->told == NULL) {
    return wait->is_deleted ? 0 : KIN_EVENT_ADD;
  }
  if (wait->is_deleted) {
    return KIN_EVENT_DELETE;
  }
  bool is_same =
      !is_recreated(wait->told, wait->newest) &&
      kin__field_set_is_same(&filter->fields, wait->told, wait->newest);
  return is_same ? 0 : KIN_EVENT_UPDATE;
}

static kin__change_wait *begin_wait(kin_change_filter *filter,
                                    const kin_event *event) {
  if (filter->waits.count >= filter->options.max_waiting) {
    return NULL;
  }
  const kin_object *told = NULL;
  if (event->type != KIN_EVENT_ADD) {
    told = event->type == KIN_EVENT_UPDATE ? event->old_object : event->object;
  }
  kin__change_wait *wait =
      kin__change_waits_add(&filter->waits, told, event->object);
  if (wait != NULL) {
    wait->first_ms = now_ms(filter);
  }
  return wait;
}

kin__change_wait *kin__change_filter_note(kin_change_filter *filter,
                                          kin__change_wait *wait,
                                          const kin_event *event) {
  if (wait == NULL) {
    wait = begin_wait(filter, event);
  } else {
    kin__change_wait_set_newest(wait, event->object);
  }
  if (wait != NULL) {
    wait->is_deleted = event->type == KIN_EVENT_DELETE;
    wait->reason =
        wait->is_deleted ? (uint8_t)event->reason : (uint8_t)KIN_DELETE_NONE;
  }
  return wait;
}

/* --- When it is told ------------------------------------------------------ */

uint64_t kin__change_filter_due_ms(const kin_change_filter *filter,
                                   uint64_t first_ms, uint64_t last_ms) {
  const kin_change_filter_options *options = &filter->options;
  uint64_t due_ms = kin__deadline_ms(last_ms, options->debounce_ms);
  uint64_t latest_ms = options->max_wait_ms != KIN_NEVER
                           ? kin__deadline_ms(first_ms, options->max_wait_ms)
                           : UINT64_MAX;
  return due_ms < latest_ms ? due_ms : latest_ms;
}

static void on_due(kin__timer *timer) {
  kin_change_filter *filter =
      KIN__CONTAINER_OF(timer, kin_change_filter, timer);
  kin__sched_add(filter->member.env->sched, &filter->task);
}

/* The client's timer may be early: a wait that was prolonged leaves the timer
 * where it is. */
static void set_timer(kin_change_filter *filter) {
  const kin__change_wait *first = kin__change_waits_first(&filter->waits);
  if (first != NULL && (!filter->timer.is_active ||
                        first->timer.due_ms < filter->timer.due_ms)) {
    kin__timer_start(filter->member.env->timers, &filter->timer,
                     first->timer.due_ms);
  }
}

static void tell_at_once(kin_change_filter *filter, const kin_event *event) {
  kin_change change = {.size = sizeof change,
                       .type = event->type,
                       .object = event->object,
                       .is_initial = event->is_initial,
                       .changes = 1};
  if (event->type == KIN_EVENT_UPDATE) {
    change.old_object = event->old_object;
    change.is_recreated = is_recreated(event->old_object, event->object);
  } else if (event->type == KIN_EVENT_DELETE) {
    change.reason = event->reason;
  }
  filter->options.on_change(filter, &change, filter->options.data);
}

/* For one key by itself. */
static void take(kin_change_filter *filter, const kin_event *event) {
  bool counts = kin__change_filter_counts(filter, event);
  kin__change_wait *wait =
      kin__change_waits_find(&filter->waits, event->object);
  bool waits = wait != NULL || (filter->options.debounce_ms > 0 && counts &&
                                !event->is_initial);
  if (waits) {
    wait = kin__change_filter_note(filter, wait, event);
  }
  if (wait == NULL) {
    if (counts) {
      tell_at_once(filter, event);
    }
    return;
  }
  if (counts) {
    wait->changes++;
    kin__timer_start(
        &filter->waits.due, &wait->timer,
        kin__change_filter_due_ms(filter, wait->first_ms, now_ms(filter)));
    set_timer(filter);
  }
}

static void tell_wait(kin_change_filter *filter, kin__change_wait *wait) {
  kin_change change = {
      .size = sizeof change,
      .type = (kin_event_type)kin__change_filter_net_type(filter, wait),
      .object = kin__object_ref(wait->newest),
      .reason = (kin_delete_reason)wait->reason,
      .changes = wait->changes,
      .waited_ms = now_ms(filter) - wait->first_ms};
  kin_object *told = wait->told != NULL ? kin__object_ref(wait->told) : NULL;
  if (change.type == KIN_EVENT_UPDATE) {
    change.old_object = told;
    change.is_recreated = is_recreated(told, change.object);
  }
  /* The callback may close the filter, or change the key again. */
  kin__change_waits_remove(&filter->waits, wait);
  if (change.type != 0) {
    uint64_t start_ns = kin__clock_ns(&filter->member.env->clock);
    filter->options.on_change(filter, &change, filter->options.data);
    kin__env_add_handler_time(filter->member.env, start_ns);
  }
  kin__object_unref(told);
  kin__object_unref(change.object);
}

/* The wait that is over first, or NULL. The flushed ones are older than those
 * that began after the flush. */
static kin__change_wait *next_due(kin_change_filter *filter) {
  if (filter->flushed > 0) {
    filter->flushed--;
    return kin__change_waits_oldest(&filter->waits);
  }
  kin__change_wait *first = kin__change_waits_first(&filter->waits);
  return first != NULL && first->timer.due_ms <= now_ms(filter) ? first : NULL;
}

/* Returns whether more are over. */
static bool tell_due(kin_change_filter *filter) {
  kin__slice slice =
      kin__slice_begin(filter->member.env->sched, TELLS_PER_STEP);
  while (may_tell(filter)) {
    if (!kin__slice_next(&slice)) {
      return true;
    }
    kin__change_wait *wait = next_due(filter);
    if (wait == NULL) {
      set_timer(filter);
      return false;
    }
    tell_wait(filter, wait);
  }
  return filter->member.is_closing;
}

/* Returns whether there is more to drop; if not, the filter ends. */
static bool close_step(kin_change_filter *filter) {
  kin__slice slice =
      kin__slice_begin(filter->member.env->sched, DROPS_PER_STEP);
  if (kin__change_waits_drop(&filter->waits, &slice, true)) {
    return true;
  }
  kin__member_end(&filter->member);
  return false;
}

static bool step(kin__task *task) {
  kin_change_filter *filter = KIN__CONTAINER_OF(task, kin_change_filter, task);
  if (filter->member.is_closing) {
    return close_step(filter);
  }
  if (!may_tell(filter)) {
    return false;
  }
  if (filter->options.on_change == NULL) {
    kin__change_batch_step(filter);
  } else if (tell_due(filter)) {
    return true;
  }
  kin__slice slice =
      kin__slice_begin(filter->member.env->sched, DROPS_PER_STEP);
  return kin__change_waits_drop(&filter->waits, &slice, false) ||
         filter->member.is_closing;
}

/* --- The listener --------------------------------------------------------- */

static void on_event(kin_informer *informer, const kin_event *event,
                     void *data) {
  (void)informer;
  kin_change_filter *filter = data;
  if (filter->options.on_change != NULL) {
    take(filter, event);
  } else {
    kin__change_batch_take(filter, event);
  }
}

static void on_synced(kin_informer *informer, const kin_event *event,
                      void *data) {
  (void)informer;
  kin_change_filter *filter = data;
  filter->has_synced = true;
  if (filter->options.on_changes != NULL) {
    kin__change_batch_begin(filter, event->objects);
  } else if (filter->options.on_synced != NULL) {
    filter->options.on_synced(filter, event->objects, filter->options.data);
  }
}

static bool accepts(const kin_object *object, void *data) {
  const kin_change_filter *filter = data;
  return filter->options.filter(object, filter->options.data);
}

static int add_listener(kin_change_filter *filter) {
  kin_listener_options options = KIN_LISTENER_OPTIONS_INIT;
  options.on_add = options.on_update = options.on_delete = on_event;
  options.on_synced = on_synced;
  options.data = filter;
  options.filter = filter->options.filter != NULL ? accepts : NULL;
  options.resync_ms = KIN_NEVER;
  options.name = kin__or_default(filter->options.name, "change filter");
  return kin_informer_listen(filter->informer, &options, &filter->listener);
}

/* --- Life ----------------------------------------------------------------- */

static void free_filter(kin_change_filter *filter) {
  kin__change_waits_finish(&filter->waits);
  kin__field_set_finish(&filter->fields);
  kin__free(filter->member.env->allocator, filter);
}

static void on_free(kin__member *member) {
  free_filter(KIN__CONTAINER_OF(member, kin_change_filter, member));
}

static void begin_close(kin_change_filter *filter) {
  const kin__env *env = filter->member.env;
  kin__timer_stop(env->timers, &filter->timer);
  kin__sched_add(env->sched, &filter->task);
}

/* A closing informer frees its listeners itself. */
static void on_close(kin__member *member) {
  kin_change_filter *filter =
      KIN__CONTAINER_OF(member, kin_change_filter, member);
  kin__link_remove(&filter->watch.node);
  if (!filter->informer->member.is_closing) {
    kin_listener_close(filter->listener);
  }
  begin_close(filter);
}

static const kin__member_ops member_ops = {.close = on_close, .free = on_free};

static void on_informer_gone(kin__gone_watch *watch) {
  kin_change_filter *filter =
      KIN__CONTAINER_OF(watch, kin_change_filter, watch);
  filter->member.is_closing = true;
  filter->informer = NULL;
  filter->listener = NULL;
  begin_close(filter);
}

/* --- Open ----------------------------------------------------------------- */

static int check_callbacks(const kin_change_filter_options *options,
                           const kin__log *log) {
  if ((options->on_change != NULL) == (options->on_changes != NULL)) {
    return kin__log_problem(log, KIN_EINVAL,
                            "on_change, on_changes: exactly one is required");
  }
  if (options->on_changes != NULL && options->on_synced != NULL) {
    return kin__log_problem(log, KIN_EINVAL, "on_synced: only with on_change");
  }
  if (options->on_changes != NULL && options->debounce_ms == 0) {
    return kin__log_problem(log, KIN_EINVAL,
                            "on_changes: requires debounce_ms");
  }
  return 0;
}

static int check_times(const kin_change_filter_options *options,
                       const kin__log *log) {
  uint32_t wait_ms = options->max_wait_ms;
  if (options->debounce_ms > MAX_DEBOUNCE_MS) {
    return kin__log_problem(log, KIN_EINVAL,
                            "debounce_ms: %" PRIu32 " is more than %u",
                            options->debounce_ms, (unsigned)MAX_DEBOUNCE_MS);
  }
  bool is_given = wait_ms != 0 && wait_ms != KIN_NEVER;
  if (is_given &&
      (options->debounce_ms == 0 || wait_ms < options->debounce_ms ||
       wait_ms > MAX_WAIT_FACTOR * MAX_DEBOUNCE_MS)) {
    return kin__log_problem(log, KIN_EINVAL,
                            "max_wait_ms: %" PRIu32
                            " is not from debounce_ms to %u",
                            wait_ms, MAX_WAIT_FACTOR * MAX_DEBOUNCE_MS);
  }
  if (options->max_waiting > MAX_WAITING) {
    return kin__log_problem(log, KIN_EINVAL,
                            "max_waiting: %" PRIu32 " is more than %u",
                            options->max_waiting, MAX_WAITING);
  }
  return 0;
}

static int init_fields(kin_change_filter *filter,
                       const kin_change_filter_options *options,
                       const kin__env *env) {
  size_t bad;
  int err = kin__field_set_init(&filter->fields, env->allocator,
                                options->fields, options->field_count, &bad);
  if (err != KIN_EINVAL) {
    return err;
  }
  if (options->field_count > KIN__FIELDS_MAX) {
    return kin__log_problem(env->log, err, "fields: more than %u",
                            KIN__FIELDS_MAX);
  }
  const char *field = options->fields != NULL ? options->fields[bad] : NULL;
  return field == NULL
             ? kin__log_problem(env->log, err, "fields: is NULL")
             : kin__log_problem(env->log, err,
                                "fields: \"%.80s\" is no JSON Pointer without "
                                "*",
                                field);
}

/* A field that is not stored never changes, and nobody would know why. */
static int check_stored(const kin_informer *informer,
                        const kin_change_filter_options *options) {
  for (size_t i = 0; i < options->field_count; i++) {
    bool is_stored;
    int err = kin__is_stored_field(informer, options->fields[i], &is_stored);
    if (err != 0) {
      return err;
    }
    if (!is_stored) {
      return kin__log_problem(informer->env->log, KIN_EINVAL,
                              "fields: \"%.200s\" is not stored by this "
                              "informer",
                              options->fields[i]);
    }
  }
  return 0;
}

static void take_options(kin_change_filter *filter,
                         const kin_change_filter_options *options) {
  filter->options = *options;
  if (options->max_wait_ms == 0) {
    filter->options.max_wait_ms = MAX_WAIT_FACTOR * options->debounce_ms;
  }
  if (options->max_waiting == 0) {
    filter->options.max_waiting = DEFAULT_WAITING;
  }
}

static int make(kin_change_filter **out, kin_informer *informer,
                const kin_change_filter_options *options) {
  const kin__env *env = informer->env;
  kin_change_filter *filter = kin__calloc(env->allocator, 1, sizeof *filter);
  if (filter == NULL) {
    return KIN_ENOMEM;
  }
  kin__member_init(&filter->member, &member_ops, env);
  filter->member.on_closed = options->on_closed;
  filter->member.data = options->data;
  filter->informer = informer;
  filter->watch.gone = on_informer_gone;
  kin__change_waits_init(&filter->waits, &env->memory->cells,
                         informer->store.seed);
  kin__timer_init(&filter->timer, on_due);
  kin__task_init(&filter->task, step);
  take_options(filter, options);
  int err = init_fields(filter, options, env);
  if (err == 0) {
    err = check_stored(informer, options);
  }
  if (err == 0) {
    err = add_listener(filter);
  }
  if (err != 0) {
    free_filter(filter);
    return err;
  }
  kin__link_push(&informer->gone_watches, &filter->watch.node);
  if (informer->member.host != NULL) {
    kin__member_join(&filter->member, informer->member.host);
  }
  *out = filter;
  return 0;
}

static int open_filter(kin_change_filter **out, kin_informer *informer,
                       const kin_change_filter_options *options) {
  const kin__log *log = informer->env->log;
  kin__log_no_problem(log);
  if (informer->member.is_closing) {
    return KIN_ECLOSED;
  }
  kin_change_filter_options copy;
  int err = kin__options_take(&copy, sizeof copy, options,
                              KIN__FIRST_SIZE(kin_change_filter_options),
                              "kin_change_filter_options", log);
  if (err == 0) {
    err = check_callbacks(&copy, log);
  }
  if (err == 0) {
    err = check_times(&copy, log);
  }
  return err == 0 ? make(out, informer, &copy) : err;
}

int kin_change_filter_open(kin_change_filter **out, kin_informer *informer,
                           const kin_change_filter_options *options) {
  kin_change_filter *filter = NULL;
  int err =
      informer != NULL ? open_filter(&filter, informer, options) : KIN_EINVAL;
  if (out != NULL) {
    *out = filter;
  }
  return err;
}

/* --- Use ------------------------------------------------------------------ */

int kin_change_filter_close(kin_change_filter *filter,
                            kin_change_filter_close_cb cb, void *data) {
  return filter != NULL ? kin__member_close(&filter->member, cb, data)
                        : KIN_EINVAL;
}

void kin_change_filter_flush(kin_change_filter *filter) {
  if (filter == NULL || filter->member.is_closing) {
    return;
  }
  filter->flushed = filter->waits.count;
  filter->batch.is_flushed = filter->batch.changes > 0;
  kin__sched_add(filter->member.env->sched, &filter->task);
}

size_t kin_change_filter_waiting(const kin_change_filter *filter) {
  return filter != NULL ? filter->waits.count : 0;
}
