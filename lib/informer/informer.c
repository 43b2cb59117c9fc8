/* SPDX-License-Identifier: MIT */
#include "informer/informer.h"

#include "base/alloc.h"
#include "base/first_size.h"
#include "base/sized.h"
#include "client/host.h"
#include "informer/compact.h"
#include "informer/handle_deltas.h"
#include "informer/scope.h"
#include "informer/transform.h"

/* An informer's life: open, listen, start, close. A close stops all work at
 * once and frees objects in bounded steps. It ends in a deferred call, when no
 * frame of the informer is on the stack. */

#define CLOSE_PIECES_PER_STEP 256u
/* A collected cell may return a slab of 256 KiB to the system, which takes some
 * ten microseconds. */
#define CLOSE_CELLS_PER_PIECE 16u

/* --- Tasks ---------------------------------------------------------------- */

void kin__informer_try_later(kin_informer *informer) {
  const kin__env *env = informer->env;
  if (!informer->retry_timer.is_active) {
    kin__timer_start(env->timers, &informer->retry_timer,
                     kin__env_now_ms(env) + KIN__MEMORY_RETRY_MS);
  }
}

static void on_retry(kin__timer *timer) {
  kin_informer *informer = KIN__CONTAINER_OF(timer, kin_informer, retry_timer);
  kin__sched *sched = informer->env->sched;
  kin__sched_add(sched, &informer->process_task);
  kin__sched_add(sched, &informer->index_task);
  kin__sched_add(sched, &informer->scopes.task);
  kin__applies_wake(informer);
}

static bool index_step(kin__task *task) {
  kin_informer *informer = KIN__CONTAINER_OF(task, kin_informer, index_task);
  int err;
  bool has_more =
      kin__store_index_slice(&informer->store, informer->env->sched, &err);
  if (err != 0) {
    kin__informer_try_later(informer);
    return false;
  }
  return has_more;
}

static void on_index_added(void *ctx) {
  kin_informer *informer = ctx;
  if (!informer->member.is_closing) {
    kin__sched_add(informer->env->sched, &informer->index_task);
  }
}

static const kin__log *log_of(void *ctx) {
  const kin_informer *informer = ctx;
  return informer->env->log;
}

static const kin__store_owner store_owner = {.index_added = on_index_added,
                                             .log = log_of,
                                             .reserve = kin__own_write_reserve,
                                             .wrote = kin__own_write_tell};

static bool is_key_known(void *ctx, kin_str key, uint32_t hash) {
  return kin__store_find(ctx, key, hash) != KIN__NO_SLOT;
}

static kin_str synced_version(void *ctx) {
  const kin_informer *informer = ctx;
  const kin__scope *only = kin__scopes_only(&informer->scopes);
  bool is_known = only != NULL && only->applied_version != NULL;
  return is_known ? kin__cstr(only->applied_version) : kin__str(NULL, 0);
}

/* --- Close ---------------------------------------------------------------- */

static void free_informer(kin_informer *informer) {
  const kin__env *env = informer->env;
  kin__max_bytes_finish(informer);
  kin__scopes_finish(informer);
  kin__informer_transform_free(informer);
  kin__mutation_check_free(informer->mutation_check);
  kin__compact_free(informer);
  kin__free(env->allocator, informer->version_waits);
  kin__dispatcher_finish(&informer->dispatcher);
  kin__delta_fifo_finish(&informer->fifo);
  kin__small_histogram_finish(&informer->process_us, env->allocator);
  kin__store_finish(&informer->store);
  kin__settings_finish(&informer->settings, env->allocator);
  kin__free(env->allocator, informer);
}

static void on_free(kin__member *member) {
  free_informer(KIN__CONTAINER_OF(member, kin_informer, member));
}

static void tell_watches(kin_informer *informer) {
  kin__link *watches = &informer->gone_watches;
  while (!kin__link_is_empty(watches)) {
    kin__gone_watch *watch =
        KIN__CONTAINER_OF(watches->next, kin__gone_watch, node);
    kin__link_remove(&watch->node);
    watch->gone(watch);
  }
}

/* Listeners' handles are valid until the callbacks. If one slice cannot free
 * all listeners and scopes, the rest and the informer are freed after the
 * callbacks, and the client waits. */
static void on_gone(kin__deferred *deferred) {
  kin_informer *informer =
      KIN__CONTAINER_OF(deferred, kin_informer, member.gone);
  bool has_more = kin__dispatcher_finish_step(&informer->dispatcher) ||
                  kin__scopes_finish_step(informer);
  tell_watches(informer);
  if (has_more) {
    kin__member_end(&informer->member);
    kin__member_tell_closed(&informer->member);
  } else {
    kin__member_gone(&informer->member);
  }
}

/* Parts freed by a close, in this order. Each function frees one piece and
 * returns whether there are more. */

static bool free_listeners(kin_informer *informer) {
  return kin__dispatcher_close_step(&informer->dispatcher, 1);
}

static bool free_queue(kin_informer *informer) {
  return kin__delta_fifo_clear_step(&informer->fifo, 1);
}

static bool free_scopes(kin_informer *informer) {
  return kin__scopes_free_step(informer);
}

static bool free_mutation_check(kin_informer *informer) {
  return kin__mutation_check_free_step(informer->mutation_check, 1);
}

static bool free_store(kin_informer *informer) {
  return kin__store_clear_step(&informer->store, 1);
}

static bool collect_cells(kin_informer *informer) {
  return kin__arena_collect(informer->env->memory->arena,
                            CLOSE_CELLS_PER_PIECE);
}

static bool (*const close_parts[])(kin_informer *informer) = {
    free_listeners,      free_queue, free_scopes,
    free_mutation_check, free_store, kin__compact_free_step,
    collect_cells};

#define CLOSE_PARTS (sizeof close_parts / sizeof close_parts[0])

static bool close_step(kin__task *task) {
  kin_informer *informer = KIN__CONTAINER_OF(task, kin_informer, close_task);
  if (kin__version_waits_tell(informer)) {
    return true;
  }
  /* The closing call does not do this, because its caller may hold a slot of
   * the store. */
  kin__store_hide(&informer->store);
  kin__slice slice =
      kin__slice_begin(informer->env->sched, CLOSE_PIECES_PER_STEP);
  while (informer->close_part < CLOSE_PARTS) {
    if (!kin__slice_next(&slice)) {
      return true;
    }
    if (!close_parts[informer->close_part](informer)) {
      informer->close_part++;
    }
  }
  if (!kin__compact_is_working(informer)) {
    kin__member_end(&informer->member);
  }
  return false;
}

static void on_close(kin__member *member) {
  kin_informer *informer = KIN__CONTAINER_OF(member, kin_informer, member);
  const kin__env *env = informer->env;
  informer->store.index_refusal = KIN_ECLOSED;
  kin__scopes_close(informer);
  kin__compact_close(informer);
  kin__dispatcher_close_step(&informer->dispatcher, 0);
  kin__timer_stop(env->timers, &informer->retry_timer);
  kin__mutation_check_stop(informer->mutation_check);
  kin__max_bytes_stop(informer);
  kin__sched_cancel(env->sched, &informer->process_task);
  kin__sched_cancel(env->sched, &informer->index_task);
  kin__sched_cancel(env->sched, &informer->defragmenter.task);
  kin__version_waits_close(informer);
  kin__sched_add(env->sched, &informer->close_task);
}

static void on_news(kin__member *member, kin__news news) {
  kin_informer *informer = KIN__CONTAINER_OF(member, kin_informer, member);
  if (member->is_closing) {
    return;
  }
  if (news == KIN__NEWS_SPARSE) {
    kin__defragment_wake(informer);
  } else {
    kin__compact_called(informer);
  }
}

static const kin__member_ops member_ops = {
    .close = on_close, .free = on_free, .on_news = on_news};

int kin_informer_close(kin_informer *informer, kin_informer_close_cb cb,
                       void *data) {
  return informer != NULL ? kin__member_close(&informer->member, cb, data)
                          : KIN_EINVAL;
}

/* --- Open ----------------------------------------------------------------- */

static void on_mutation(void *owner, const kin_mutation *mutation) {
  kin_informer *informer = owner;
  const kin__kept_options *options = &informer->settings.options;
  if (options->on_mutation != NULL) {
    options->on_mutation(informer, mutation, options->data);
  }
}

static void init_parts(kin_informer *informer,
                       const kin_informer_options *options) {
  const kin__env *env = informer->env;
  /* Queue and store share one seed, so that a key is hashed once. */
  kin__hash_seed seed = kin__random_hash_seed(env->random);
  kin__store_init(&informer->store, env->memory, seed, true);
  informer->store.has_no_labels = informer->settings.options.drop_labels;
  informer->store.owner = &store_owner;
  informer->store.owner_ctx = informer;
  kin__delta_fifo_init(&informer->fifo, env->allocator, seed);
  informer->fifo.is_known = is_key_known;
  informer->fifo.ctx = &informer->store;
  informer->dispatcher =
      (kin__dispatcher){.allocator = env->allocator,
                        .store = &informer->store,
                        .sched = env->sched,
                        .timers = env->timers,
                        .clock = &env->clock,
                        .informer = informer,
                        .default_resync_ms = options->resync_ms,
                        .handler_ns = env->handler_ns,
                        .driver = &informer->process_task,
                        .log = env->log,
                        .synced_version = synced_version,
                        .ctx = informer};
  kin__dispatcher_init(&informer->dispatcher);

  kin__member_init(&informer->member, &member_ops, env);
  informer->member.gone.cb = on_gone;
  informer->member.on_closed = options->on_closed;
  informer->member.data = options->data;
  kin__link_init(&informer->gone_watches);
  kin__link_init(&informer->applying);
  kin__link_init(&informer->paused);
  kin__task_init(&informer->process_task, kin__handle_deltas_step);
  kin__task_init(&informer->index_task, index_step);
  kin__task_init(&informer->close_task, close_step);
  kin__defragment_init(&informer->defragmenter);
  kin__max_bytes_init(informer, options->max_bytes);
  kin__timer_init(&informer->retry_timer, on_retry);
}

int kin__informer_open(kin_informer **out, const kin__env *env,
                       const kin_informer_options *options) {
  *out = NULL;
  kin_informer *informer = kin__calloc(env->allocator, 1, sizeof *informer);
  if (informer == NULL) {
    return KIN_ENOMEM;
  }
  informer->env = env;
  kin_informer_options given;
  int err = kin__settings_init(&informer->settings, env->allocator, env->log,
                               options, KIN__SETTINGS_INFORMER, &given);
  if (err != 0) {
    kin__free(env->allocator, informer);
    return err;
  }
  init_parts(informer, &given);
  err = kin__informer_transform_open(informer);
  if (err == 0) {
    err = kin__mutation_check_new(
        &informer->mutation_check, env, &informer->store,
        informer->settings.resource.plural, on_mutation, informer);
  }
  if (err == 0) {
    err = kin__compact_open(informer);
  }
  if (err == 0) {
    err = kin__scopes_open(informer);
  }
  if (err != 0) {
    free_informer(informer);
    return err;
  }
  *out = informer;
  return 0;
}

static int open_on(kin_informer **out, kin__host *host,
                   const kin_informer_options *options, bool has_listener,
                   const kin_listener_options *listener) {
  if (out == NULL) {
    return KIN_EINVAL;
  }
  *out = NULL;
  kin_informer *informer;
  int err = kin__host_check(host);
  if (err == 0) {
    err = kin__informer_open(&informer, host->env, options);
  }
  if (err != 0) {
    return err;
  }
  if (has_listener) {
    err = kin__dispatcher_add(&informer->dispatcher, listener, NULL);
    if (err != 0) {
      free_informer(informer);
      return err;
    }
  }
  kin__member_join(&informer->member, host);
  *out = informer;
  return 0;
}

int kin__informer_open_on(kin_informer **out, kin__host *host,
                          const kin_informer_options *options) {
  return open_on(out, host, options, false, NULL);
}

int kin_informer_open(kin_informer **out, kin_client *client,
                      const kin_informer_options *options) {
  return open_on(out, kin__client_host(client), options, false, NULL);
}

int kin__informer_follow(kin_informer **out, kin__host *host,
                         const kin_informer_options *options,
                         const kin_listener_options *listener) {
  int err = open_on(out, host, options, true, listener);
  return err == 0 ? kin_informer_start(*out) : err;
}

int kin_informer_follow(kin_informer **out, kin_client *client,
                        const kin_informer_options *options,
                        const kin_listener_options *listener) {
  kin_informer *unused;
  return kin__informer_follow(out != NULL ? out : &unused,
                              kin__client_host(client), options, listener);
}

/* --- Use ------------------------------------------------------------------ */

int kin_informer_start(kin_informer *informer) {
  if (informer == NULL) {
    return KIN_EINVAL;
  }
  if (informer->member.is_closing) {
    return KIN_ECLOSED;
  }
  if (informer->is_started) {
    return KIN_EALREADY;
  }
  informer->is_started = true;
  if (informer->settings.options.fixed_indices) {
    informer->store.index_refusal = KIN_EALREADY;
  }
  kin__mutation_check_start(informer->mutation_check);
  kin__scopes_start(informer);
  return 0;
}

int kin_informer_listen(kin_informer *informer,
                        const kin_listener_options *options,
                        kin_listener **out) {
  if (out != NULL) {
    *out = NULL;
  }
  if (informer == NULL) {
    return KIN_EINVAL;
  }
  kin__log_no_problem(informer->env->log);
  if (informer->member.is_closing) {
    return KIN_ECLOSED;
  }
  return kin__dispatcher_add(&informer->dispatcher, options, out);
}

kin_store *kin_informer_store(kin_informer *informer) {
  return informer != NULL ? &informer->store : NULL;
}

bool kin_informer_has_synced(const kin_informer *informer) {
  return informer != NULL && informer->dispatcher.has_synced;
}

const kin_feed *kin__informer_feed(const kin_informer *informer,
                                   const char *namespace_) {
  const kin__scope *scope = kin__scopes_find(&informer->scopes, namespace_);
  return scope != NULL ? &scope->feed : NULL;
}

int kin_informer_get_status(const kin_informer *informer,
                            const char *namespace_, kin_status *status) {
  if (informer == NULL || status == NULL) {
    return KIN_EINVAL;
  }
  const kin_feed *feed = kin__informer_feed(informer, namespace_);
  if (feed == NULL) {
    return KIN_ENOENT;
  }
  kin_status found;
  kin__feed_get_status(feed, &found);
  found.memory_state = kin__max_bytes_state(informer);
  return kin__sized_fill(status, &found, sizeof found,
                         KIN__FIRST_SIZE(kin_status));
}
