/* SPDX-License-Identifier: MIT */
#include "cache/controller.h"

#include <stddef.h>

#include <kin/error.h>
#include <kin/reflector_store.h>

#include "base/alloc.h"
#include "base/first_size.h"
#include "base/log.h"
#include "base/options.h"
#include "base/sized.h"
#include "base/str.h"
#include "cache/process.h"

/* A controller's life: its options, the input from the reflector, and its end.
 * The end comes when the reflector is gone and the loop has freed its large
 * parts. */

/* --- The reflector's input ------------------------------------------------ */

static int add(void *ctx, const kin_object *object) {
  return kin_queue_add(((kin_controller *)ctx)->queue, object);
}

static int update(void *ctx, const kin_object *object) {
  return kin_queue_update(((kin_controller *)ctx)->queue, object);
}

static int delete_(void *ctx, const kin_object *object) {
  return kin_queue_delete(((kin_controller *)ctx)->queue, object);
}

static int replace(void *ctx, const kin_object *const *objects, size_t count,
                   kin_str version) {
  return kin_queue_replace(((kin_controller *)ctx)->queue, objects, count,
                           version);
}

/* A resync by key runs in the loop, in steps. A resync of everything that falls
 * due before the last one has been processed is left out. If handlers are slower
 * than resyncs, each change would else wait behind ever more of them. */
static int resync(void *ctx) {
  kin_controller *c = ctx;
  if (c->owns_queue && c->options.queue_kind == KIN_CONTROLLER_DELTA) {
    kin__controller_begin_resync(c);
    return 0;
  }
  bool is_syncing = c->phase == KIN__CONTROLLER_SYNCING;
  return is_syncing || kin__in_order_has_sync_all(c->queue)
             ? 0
             : kin_queue_resync(c->queue);
}

static int bookmark(void *ctx, kin_str version) {
  return kin_queue_bookmark(((kin_controller *)ctx)->queue, version);
}

static bool is_full(void *ctx) {
  return kin_queue_is_full(((kin_controller *)ctx)->queue);
}

/* A list goes into the controller's own queue object by object. An object that
 * the store already has was transformed before. */

static bool is_delta(const kin_controller *c) {
  return c->options.queue_kind == KIN_CONTROLLER_DELTA;
}

static int begin_list(void *ctx, size_t count, kin_str version) {
  kin_controller *c = ctx;
  if (c->list != NULL &&
      kin__payload_free_step(
          c->list, c->queue->allocator,
          kin__sched_pieces(c->env->sched, KIN__CONTROLLER_LIST_STEP))) {
    return KIN_EAGAIN; /* of a list that was given up */
  }
  c->list = NULL;
  if (is_delta(c)) {
    kin__delta_begin_list(c->queue);
    return 0;
  }
  return kin__queue_begin_list(c->queue, count, version, &c->list);
}

/* While a list is added by key no item is popped. */
static void give_list_up(void *ctx) {
  kin_controller *c = ctx;
  if (is_delta(c)) {
    kin__controller_give_list_up(c);
  }
}

static int put_in_list(kin_controller *c, const kin_object *object,
                       bool is_ready) {
  return is_delta(c)
             ? kin__delta_add_to_list(c->queue, object, is_ready)
             : kin__queue_add_to_list(c->queue, c->list, object, is_ready);
}

/* The newest state of the key that a delta queue or the store has, or NULL. */
static const kin_object *newest_of(const kin_controller *c, kin_str key) {
  kin__deltas queued;
  if (!kin__delta_fifo_find(&c->queue->as.keyed.fifo, key, &queued)) {
    return kin_store_get(&c->store, key);
  }
  const kin__delta *newest = &queued.items[queued.count - 1];
  return newest->type != KIN_DELTA_DELETED ? newest->object : NULL;
}

/* If the transform fails, the last state of the same object stays. In order,
 * that is the stored one when the list's turn comes. */
static int add_to_list(void *ctx, const kin_object *object) {
  kin_controller *c = ctx;
  kin_str key = kin_object_key(object);
  int err = put_in_list(c, object, kin_store_get(&c->store, key) == object);
  if (err == 0 || err == KIN_ENOMEM) {
    return err;
  }
  if (!is_delta(c)) {
    kin__payload_refuse(c->list, object);
    return err;
  }
  const kin_object *last = newest_of(c, key);
  int kept_err =
      kin__controller_is_same(last, object) ? put_in_list(c, last, true) : 0;
  return kept_err != 0 ? kept_err : err;
}

static int end_list(void *ctx) {
  kin_controller *c = ctx;
  if (is_delta(c)) {
    int left = kin__delta_delete_unlisted(
        c->queue, kin__sched_pieces(c->env->sched, KIN__CONTROLLER_LIST_STEP));
    return left == 0  ? kin__queue_end_list(c->queue, NULL)
           : left > 0 ? KIN_EAGAIN
                      : left;
  }
  int err = kin__queue_end_list(c->queue, c->list);
  if (err == 0) {
    c->list = NULL;
  }
  return err;
}

static const kin_object *cached(void *ctx, kin_str key, kin_str uid,
                                kin_str version) {
  const kin_controller *c = ctx;
  const kin_object *object = kin_store_get(&c->store, key);
  return object != NULL && kin__str_equal(uid, kin_object_uid(object)) &&
                 kin__str_equal(version, kin_object_resource_version(object))
             ? object
             : NULL;
}

/* --- Calls to the program ------------------------------------------------- */

static bool on_should_resync(kin_reflector *reflector, void *data) {
  kin_controller *c = data;
  (void)reflector;
  return c->options.should_resync(c, c->options.data);
}

static void on_error(kin_reflector *reflector, kin_error_event *event,
                     void *data) {
  kin_controller *c = data;
  (void)reflector;
  c->options.on_error(c, event, c->options.data);
  if (event->answer == KIN_STOP && !c->member.is_closing && c->owns_queue) {
    give_list_up(c);
  }
}

/* --- Close ---------------------------------------------------------------- */

/* The queue and the store must be empty, and there must be no list. */
static void free_controller(kin_controller *c) {
  const kin_allocator *allocator = c->env->allocator;
  if (c->owns_queue) {
    kin_queue_free(c->queue);
    kin__store_finish(&c->store);
  }
  kin__free(allocator, c);
}

static void on_free(kin__member *member) {
  free_controller(KIN__CONTAINER_OF(member, kin_controller, member));
}

static void on_reflector_closed(void *data) {
  kin_controller *c = data;
  c->reflector = NULL;
  kin__controller_loop_close(c);
}

/* The reflector's close callback comes from a deferred call, as the
 * controller's must. */
void kin__controller_ended(kin_controller *c) {
  if (c->reflector == NULL) {
    kin__member_end(&c->member);
  }
}

static void on_close(kin__member *member) {
  kin_controller *c = KIN__CONTAINER_OF(member, kin_controller, member);
  c->store.index_refusal = KIN_ECLOSED;
  c->queue->changed = NULL;
  kin_queue_close(c->queue);
  (void)kin_reflector_close(c->reflector, on_reflector_closed, c);
  kin__controller_loop_close(c);
}

static const kin__member_ops member_ops = {.close = on_close, .free = on_free};

int kin_controller_close(kin_controller *c, kin_controller_close_cb cb,
                         void *data) {
  return c != NULL ? kin__member_close(&c->member, cb, data) : KIN_EINVAL;
}

/* --- Open ----------------------------------------------------------------- */

/* A text about a fault of the options, or NULL. */
static const char *fault_of(const kin_controller_options *o) {
  if (o->resource == NULL) {
    return "resource: is required";
  }
  if (o->queue_kind < KIN_CONTROLLER_IN_ORDER ||
      o->queue_kind > KIN_CONTROLLER_DELTA) {
    return "queue_kind: there is no such value";
  }
  if (o->queue == NULL) {
    bool is_plain =
        o->process == NULL && o->process_batch == NULL && !o->retry_on_error;
    return is_plain ? NULL
                    : "process, process_batch, retry_on_error: need a queue";
  }
  if (o->process == NULL) {
    return "process: is required with a queue";
  }
  if (o->handlers != NULL || o->transform != NULL ||
      o->queue_kind != KIN_CONTROLLER_IN_ORDER) {
    return "handlers, transform, queue_kind: not together with a queue";
  }
  return o->queue->changed != NULL ? "queue: is another controller's" : NULL;
}

static int make_queue(kin_controller *c) {
  const kin_controller_options *o = &c->options;
  bool is_delta = o->queue_kind == KIN_CONTROLLER_DELTA;
  kin_queue_options options = KIN_QUEUE_OPTIONS_INIT;
  options.allocator = c->env->allocator;
  options.name = o->name;
  options.transform = o->transform;
  options.data = o->transform_data;
  if (is_delta) {
    options.known = kin_store_known_objects(&c->store);
    options.emit_replaced = true;
    options.pending_limit = KIN__CONTROLLER_PENDING;
    return kin_queue_new_delta(&c->queue, &options);
  }
  options.emit_bookmarks = true;
  return kin_queue_new_in_order(&c->queue, &options);
}

static int make_parts(kin_controller *c) {
  const kin_controller_options *o = &c->options;
  int err = kin__process_handlers_copy(&c->handlers, o->handlers, c->env->log);
  c->queue = o->queue;
  if (err != 0 || c->queue != NULL) {
    return err;
  }
  kin__store_init(&c->store, c->env->memory,
                  kin__random_hash_seed(c->env->random), false);
  err = make_queue(c);
  if (err != 0) {
    kin__store_finish(&c->store);
    return err;
  }
  c->owns_queue = true;
  return 0;
}

static int open_reflector(kin_controller *c, kin__host *host) {
  static const kin__list_taker by_object = {.begin = begin_list,
                                            .add = add_to_list,
                                            .end = end_list,
                                            .give_up = give_list_up,
                                            .cached = cached};
  const kin_controller_options *o = &c->options;
  kin_reflector_store store = {.size = sizeof store,
                               .add = add,
                               .update = update,
                               .delete_ = delete_,
                               .replace = replace,
                               .resync = resync,
                               .bookmark = bookmark,
                               .is_full = is_full,
                               .ctx = c};
  kin_reflector_options options = KIN_REFLECTOR_OPTIONS_INIT;
  options.resource = o->resource;
  options.store = &store;
  options.name = o->name;
  options.resync_ms = o->resync_ms;
  options.should_resync = o->should_resync != NULL ? on_should_resync : NULL;
  options.on_error = o->on_error != NULL ? on_error : NULL;
  options.data = c;
  int err = kin__public_reflector_open(&c->reflector, host, &options);
  if (err == 0 && c->owns_queue) {
    c->taker = by_object;
    c->taker.ctx = c;
    kin__public_reflector_use_taker(c->reflector, &c->taker);
  }
  return err;
}

static int init(kin_controller *c, kin__host *host,
                const kin_controller_options *options) {
  int err = kin__options_take(&c->options, sizeof c->options, options,
                              KIN__FIRST_SIZE(kin_controller_options),
                              "kin_controller_options", c->env->log);
  const char *fault = err == 0 ? fault_of(&c->options) : NULL;
  if (fault != NULL) {
    err = kin__log_problem(c->env->log, KIN_EINVAL, "%s", fault);
  }
  if (err == 0 && c->options.queue != NULL &&
      kin_queue_is_closed(c->options.queue)) {
    err = KIN_ECLOSED;
  }
  if (err == 0) {
    /* Before the queue, which would return another error. */
    err = kin__public_reflector_check_name(c->options.name, c->env->log);
  }
  if (err == 0) {
    err = make_parts(c);
  }
  return err == 0 ? open_reflector(c, host) : err;
}

int kin__controller_open(kin_controller **out, kin__host *host,
                         const kin_controller_options *options) {
  if (out == NULL) {
    return KIN_EINVAL;
  }
  *out = NULL;
  int err = kin__host_check(host);
  if (err != 0) {
    return err;
  }
  kin_controller *c = kin__calloc(host->env->allocator, 1, sizeof *c);
  if (c == NULL) {
    return KIN_ENOMEM;
  }
  c->env = host->env;
  kin__member_init(&c->member, &member_ops, c->env);
  err = init(c, host, options);
  if (err != 0) {
    free_controller(c);
    return err;
  }
  kin__controller_loop_init(c);
  c->member.on_closed = c->options.on_closed;
  c->member.data = c->options.data;
  kin__member_join(&c->member, host);
  *out = c;
  return 0;
}

int kin_controller_open(kin_controller **out, kin_client *client,
                        const kin_controller_options *options) {
  return kin__controller_open(out, kin__client_host(client), options);
}

/* --- Use ------------------------------------------------------------------ */

int kin_controller_start(kin_controller *c) {
  if (c == NULL) {
    return KIN_EINVAL;
  }
  if (c->member.is_closing) {
    return KIN_ECLOSED;
  }
  if (c->is_started) {
    return KIN_EALREADY;
  }
  c->is_started = true;
  kin__controller_wake(c);
  return kin_reflector_start(c->reflector);
}

bool kin_controller_has_synced(const kin_controller *c) {
  return c != NULL && kin_queue_has_synced(c->queue);
}

const char *kin_controller_last_sync_version(const kin_controller *c) {
  if (c == NULL) {
    return "";
  }
  return c->reflector != NULL ? kin_reflector_last_sync_version(c->reflector)
                              : "";
}

kin_store *kin_controller_store(kin_controller *c) {
  if (c == NULL) {
    return NULL;
  }
  return c->owns_queue ? &c->store : NULL;
}

kin_queue *kin_controller_queue(kin_controller *c) {
  return c != NULL ? c->queue : NULL;
}

int kin_controller_get_status(const kin_controller *c, kin_status *status) {
  if (c == NULL) {
    return KIN_EINVAL;
  }
  if (c->reflector != NULL) {
    return kin_reflector_get_status(c->reflector, status);
  }
  kin_status idle = KIN_STATUS_INIT;
  idle.byte_age_ms = idle.event_age_ms = idle.bookmark_age_ms = UINT64_MAX;
  idle.turn_wait_ms = idle.limit_wait_ms = UINT64_MAX;
  idle.shard_count = 1;
  return kin__sized_fill(status, &idle, sizeof idle,
                         KIN__FIRST_SIZE(kin_status));
}

int kin_controller_get_stats(const kin_controller *c,
                             kin_controller_stats *stats) {
  return c != NULL ? kin__sized_fill(stats, &c->stats, sizeof *stats,
                                     KIN__FIRST_SIZE(kin_controller_stats))
                   : KIN_EINVAL;
}
