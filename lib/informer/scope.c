/* SPDX-License-Identifier: MIT */
#include "informer/scope.h"

#include <stddef.h>
#include <string.h>

#include "base/alloc.h"
#include "feed/feed_options.h"
#include "informer/compact.h"
#include "informer/handle_deltas.h"
#include "informer/transform.h"

/* An object that a list leaves out may live on in another shard. */
static uint8_t sweep_reason(const kin__scope *scope, const kin_object *object) {
  kin_delete_reason reason = scope->apply.reason;
  bool is_moved = reason == KIN_DELETE_RELIST &&
                  kin__feed_is_foreign(&scope->feed, kin_object_uid(object));
  return (uint8_t)(is_moved ? KIN_DELETE_RESHARDED : reason);
}

int kin__scope_push(kin__scope *scope, kin_delta_type type,
                    const kin_object *object, bool is_tombstone) {
  kin_informer *informer = scope->informer;
  kin__delta delta = {.object = (kin_object *)object,
                      .generation = scope->generation,
                      .scope = scope->index,
                      .type = (uint8_t)type,
                      .is_tombstone = is_tombstone,
                      .is_initial = !scope->feed.has_synced && !scope->is_late};
  if (type == KIN_DELTA_DELETED) {
    delta.reason =
        is_tombstone ? sweep_reason(scope, object) : KIN_DELETE_WATCH;
  }
  size_t depth = informer->fifo.depth;
  int err = kin__delta_fifo_push(&informer->fifo, &delta);
  if (err != 0) {
    return err;
  }
  kin__max_bytes_pushed(scope, type, object, informer->fifo.depth == depth);
  kin__sched_add(informer->env->sched, &informer->process_task);
  if (informer->fifo.deltas >= KIN__QUEUE_HIGH ||
      kin__max_bytes_is_near(informer)) {
    kin__feed_pause(&scope->feed, &informer->paused);
  }
  return 0;
}

int kin__scope_put(kin__scope *scope, kin_delta_type type,
                   const kin_object *object) {
  kin_object *reduced = NULL;
  int err = type != KIN_DELTA_DELETED
                ? kin__max_bytes_reduce(scope->informer, object, &reduced)
                : 0;
  if (err == 0) {
    err =
        kin__scope_push(scope, type, reduced != NULL ? reduced : object, false);
  }
  kin__object_unref(reduced);
  return err;
}

bool kin__scope_owns(const kin__scope *scope, const kin__store_slot *slot) {
  if (slot->generation != 0) {
    return slot->scope == scope->index;
  }
  kin_str namespace_ = kin_object_namespace(slot->object);
  if (kin__str_equal(namespace_, kin__cstr(scope->name))) {
    return true;
  }
  uint32_t at = 0;
  const kin__scope *other = kin__scopes_next(&scope->informer->scopes, &at);
  if (other != scope) {
    return false;
  }
  while (other != NULL && !kin__str_equal(namespace_, kin__cstr(other->name))) {
    other = kin__scopes_next(&scope->informer->scopes, &at);
  }
  return other == NULL;
}

/* --- The feed's owner ----------------------------------------------------- */

/* An object with queued changes does not count as cached, because these changes
 * come first; nor one of another scope's, because the slot changes hands. What
 * the program has put itself counts for the scope with the number 0, and is
 * read again for others. */
static const kin_object *on_cached(kin_feed *feed, kin_str key, kin_str uid,
                                   kin_str version) {
  const kin__scope *scope = kin__scope_of(feed);
  const kin_informer *informer = scope->informer;
  const kin_store *store = &informer->store;
  uint32_t place = kin__store_find(store, key, kin__store_hash(store, key));
  if (place == KIN__NO_SLOT) {
    return NULL;
  }
  const kin__store_slot *slot = kin__store_at(store, place);
  const kin_object *cached = slot->object;
  if (slot->scope != scope->index ||
      kin__listwatch_versions_repeat(&feed->listwatch) ||
      kin__max_bytes_lacks_body(informer, cached) ||
      !kin__str_equal(uid, kin_object_uid(cached)) ||
      !kin__str_equal(version, kin_object_resource_version(cached)) ||
      kin__delta_fifo_has(&informer->fifo, key)) {
    if (informer->compact != NULL) {
      kin__object_prefetch_room(cached); /* kin__compact_pack reads it */
    }
    return NULL;
  }
  return cached;
}

static int on_keep(kin_feed *feed, kin__decoded_type type,
                   kin_object **object) {
  kin__scope *scope = kin__scope_of(feed);
  int err = kin__informer_transform_keep(feed, type, object);
  if (err != 0) {
    return err;
  }
  /* The last state of a deleted object is not stored. */
  bool is_whole = !scope->informer->max_bytes.is_keys_only;
  if (type != KIN__DECODED_DELETED && is_whole) {
    bool is_listed =
        !feed->is_held && (type == KIN__DECODED_LISTED ||
                           kin__feed_request_kind(feed) == KIN__REQUEST_STREAM);
    kin__compact_pack(scope->informer, object, is_listed);
  }
  return kin__max_bytes_keep(scope, type, object);
}

static void on_repeats(kin_feed *feed) {
  kin__informer_transform_forget_states(kin__scope_of(feed)->informer);
}

static int on_admit(kin_feed *feed) {
  return kin__max_bytes_admit(kin__scope_of(feed));
}

static int on_event(kin_feed *feed, kin__decoded_type type,
                    kin_object *object) {
  kin_delta_type delta = KIN_DELTA_UPDATED;
  if (type == KIN__DECODED_ADDED) {
    delta = KIN_DELTA_ADDED;
  } else if (type == KIN__DECODED_DELETED) {
    delta = KIN_DELTA_DELETED;
  }
  return kin__scope_put(kin__scope_of(feed), delta, object);
}

static void on_staged(kin_feed *feed, kin_object *object) {
  kin__compact_staged(kin__scope_of(feed), object);
}

static void on_unstaged(kin_feed *feed, const kin_object *object) {
  kin__max_bytes_replaced(kin__scope_of(feed), object);
}

static void on_apply(kin_feed *feed) {
  kin__compact_listed(kin__scope_of(feed)->informer);
  kin__apply_start(kin__scope_of(feed));
}

static void on_discarded(kin_feed *feed) {
  kin__scope_of(feed)->dropped_lists++;
  kin__compact_listed(kin__scope_of(feed)->informer);
  kin__max_bytes_discarded(kin__scope_of(feed));
  kin__apply_wake(kin__scope_of(feed));
}

/* The resource type has vanished, so its objects are deleted. A later list is
 * applied after these deletes. */
static void clear(kin__scope *scope) {
  kin_feed *feed = &scope->feed;
  if (feed->state == KIN_STATE_ABSENT &&
      kin__listwatch_state_of(&feed->listwatch) == KIN__LISTWATCH_WAITING &&
      scope->apply.phase == KIN__APPLY_IDLE && !scope->apply.is_empty) {
    kin__feed_forget(feed);
    kin__informer_transform_forget_states(scope->informer);
    kin__apply_drop(scope, KIN_DELETE_CLEARED);
  }
}

void kin__scope_stopped(kin__scope *scope) {
  kin__max_bytes_left(scope);
  kin__apply_give_up(scope);
  kin__version_waits_wake(scope);
  kin__list_check_end(scope->list_check, NULL);
}

static void on_failed(kin_feed *feed, kin_error_event *event) {
  kin__scope *scope = kin__scope_of(feed);
  kin_informer *informer = scope->informer;
  const kin__kept_options *options = &informer->settings.options;
  if (options->on_error != NULL) {
    options->on_error(informer, event, options->data);
  }
  if (feed->is_closed) {
    return;
  }
  if (event->code == KIN_EMAXBYTES &&
      informer->max_bytes.phase == KIN__BOUND_STOPPED) {
    event->answer = KIN_STOP; /* no other try would be better */
  }
  if (event->answer == KIN_STOP) {
    kin__scope_stopped(scope);
  } else if (options->clear_when_absent &&
             event->error_class == KIN_CLASS_ABSENT) {
    clear(scope);
  }
}

static void on_state(kin_feed *feed, kin_state from, kin_state to) {
  kin_informer *informer = kin__scope_of(feed)->informer;
  const kin__kept_options *options = &informer->settings.options;
  if (options->on_state != NULL) {
    options->on_state(informer, feed->namespace_, from, to, options->data);
  }
}

static const kin__feed_owner owner = {.cached = on_cached,
                                      .keep = on_keep,
                                      .repeats = on_repeats,
                                      .admit = on_admit,
                                      .staged = on_staged,
                                      .unstaged = on_unstaged,
                                      .event = on_event,
                                      .advanced = kin__version_waits_advanced,
                                      .apply = on_apply,
                                      .discarded = on_discarded,
                                      .failed = on_failed,
                                      .opened = kin__version_waits_opened,
                                      .verified = kin__version_waits_verified,
                                      .state_changed = on_state};

void kin__scope_failed(kin__scope *scope, int code, const char *what,
                       const char *key) {
  kin__failure failure;
  kin__failure_from_code(&failure, code, what, key);
  if (scope->feed.is_closed) {
    kin__log_write(scope->informer->env->log, KIN_LOG_WARN, "%s",
                   failure.message);
  } else {
    kin__feed_notice_failure(&scope->feed, &failure, KIN__MEMORY_RETRY_MS);
  }
}

/* --- Life ----------------------------------------------------------------- */

static void init_feed(kin__scope *scope) {
  kin_informer *informer = scope->informer;
  const kin__feed_subject subject = {.env = informer->env,
                                     .settings = &informer->settings,
                                     .namespace_ = scope->name,
                                     .http = &scope->http,
                                     .silence = scope->silence,
                                     .memory =
                                         kin__informer_raw_memory(informer),
                                     .lists_and_watches = true};
  kin__feed_options options = kin__feed_options_of(&subject);
  options.owner = &owner;
  kin__feed_init(&scope->feed, &options);
}

/* A scope in one block with its name and, if needed, what minds silence. */
static kin__scope *make(const kin_informer *informer, const char *namespace_) {
  bool is_minded = informer->settings.options.stale_after_ms > 0;
  size_t name_size = strlen(namespace_) + 1;
  size_t size = offsetof(kin__scope, name) + name_size;
  if (is_minded) {
    size += _Alignof(kin__silence) - 1;
    size -= size % _Alignof(kin__silence);
  }
  kin__scope *scope =
      kin__calloc(informer->env->allocator, 1,
                  size + (is_minded ? sizeof *scope->silence : 0));
  if (scope != NULL) {
    memcpy(scope->name, namespace_, name_size);
    scope->silence =
        is_minded ? (kin__silence *)(void *)((char *)scope + size) : NULL;
  }
  return scope;
}

int kin__scope_new(kin__scope **out, kin_informer *informer, uint32_t index,
                   const char *namespace_) {
  kin__scope *scope = make(informer, namespace_);
  if (scope == NULL) {
    return KIN_ENOMEM;
  }
  scope->informer = informer;
  scope->index = index;
  scope->is_late = informer->dispatcher.has_synced;
  init_feed(scope);
  kin__apply_init(&scope->apply);
  kin__link_init(&scope->emptied_node);
  *out = scope;
  return 0;
}

void kin__scope_check_list(kin__scope *scope) {
  kin_informer *informer = scope->informer;
  if (informer->max_bytes.is_keys_only) {
    return; /* a transform would see other objects */
  }
  if (kin__listwatch_is_outdated(&scope->feed.listwatch)) {
    return; /* another shard would be listed */
  }
  kin__list_check_subject of = {.feed = &scope->feed,
                                .store = &informer->store,
                                .scope = scope->index,
                                .settings = &informer->settings,
                                .raw_memory =
                                    kin__informer_raw_memory(informer)};
  kin__list_check_begin(&scope->list_check, &of);
}

void kin__scope_close(kin__scope *scope) {
  kin__feed_close(&scope->feed);
  kin__apply_stop(scope);
  kin__list_check_close(scope->list_check);
  kin__version_waits_end(scope);
}

void kin__scope_remove(kin__scope *scope) {
  scope->is_removed = true;
  kin__max_bytes_left(scope);
  kin__informer_transform_forget(scope);
  kin__feed_close(&scope->feed);
  if (scope->informer->member.is_closing) {
    return; /* the program's source has closed it */
  }
  kin__list_check_close(scope->list_check);
  kin__apply_drop(scope, KIN_DELETE_SCOPE_REMOVED);
  kin__version_waits_end(scope);
}

void kin__scope_free(kin__scope *scope) {
  const kin_allocator *allocator = scope->informer->env->allocator;
  kin__apply_stop(scope); /* the last packed object may have woken it */
  kin__compact_forget(scope);
  kin__list_check_free(scope->list_check);
  if (scope->waits != NULL) { /* the source may have closed what woke it */
    kin__sched_cancel(scope->informer->env->sched, &scope->waits->task);
    kin__free(allocator, scope->waits);
  }
  kin__feed_finish(&scope->feed);
  kin__free(allocator, scope->applied_version);
  kin__free(allocator, scope);
}
