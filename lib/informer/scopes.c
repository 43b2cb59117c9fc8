/* SPDX-License-Identifier: MIT */
#include "informer/scopes.h"

#include <string.h>

#include "base/alloc.h"
#include "base/str.h"
#include "informer/metrics.h"
#include "informer/scope.h"

#define SCOPES_FREED_PER_STEP 64u

/* --- Finding -------------------------------------------------------------- */

kin__scope *kin__scopes_next(const kin__scopes *scopes, uint32_t *at) {
  while (*at < scopes->limit) {
    kin__scope *scope = scopes->places[(*at)++];
    if (scope != NULL) {
      return scope;
    }
  }
  return NULL;
}

kin__scope *kin__scopes_find(const kin__scopes *scopes,
                             const char *namespace_) {
  const char *name = kin__or_default(namespace_, "");
  kin__scope *scope;
  KIN__FOR_EACH_SCOPE(scope, scopes) {
    if (!scope->is_removed && strcmp(scope->feed.namespace_, name) == 0) {
      return scope;
    }
  }
  return NULL;
}

uint64_t kin__scopes_listed_bytes(const kin__scopes *scopes) {
  uint64_t bytes = 0;
  const kin__scope *scope;
  KIN__FOR_EACH_SCOPE(scope, scopes) {
    if (kin__listwatch_state_of(&scope->feed.listwatch) !=
        KIN__LISTWATCH_APPLYING) {
      bytes += scope->listed_bytes;
    }
  }
  return bytes;
}

kin__scope *kin__scopes_only(const kin__scopes *scopes) {
  kin__scope *only = NULL;
  kin__scope *scope;
  KIN__FOR_EACH_SCOPE(scope, scopes) {
    if (!scope->is_removed) {
      if (only != NULL) {
        return NULL;
      }
      only = scope;
    }
  }
  return only;
}

/* Whether a removed scope of that namespace still has objects. */
static bool must_wait(const kin__scopes *scopes, const char *namespace_) {
  kin__scope *scope;
  KIN__FOR_EACH_SCOPE(scope, scopes) {
    if (scope->is_removed && strcmp(scope->feed.namespace_, namespace_) == 0) {
      return true;
    }
  }
  return false;
}

/* --- Making --------------------------------------------------------------- */

/* The first free place, or a new one behind all others. */
static int find_place(kin_informer *informer, uint32_t *place) {
  kin__scopes *scopes = &informer->scopes;
  if (scopes->count == KIN__SCOPES_MAX) {
    return KIN_ETOOBIG;
  }
  uint32_t i = scopes->count == scopes->limit ? scopes->limit : 0;
  while (i < scopes->limit && scopes->places[i] != NULL) {
    i++;
  }
  *place = i;
  return kin__reserve_one(informer->env->allocator, &scopes->places, i,
                          &scopes->capacity, sizeof *scopes->places);
}

static int add(kin_informer *informer, const char *namespace_,
               kin__scope **out) {
  kin__scopes *scopes = &informer->scopes;
  uint32_t place = 0;
  int err = find_place(informer, &place);
  if (err != 0) {
    return err;
  }
  err = kin__scope_new(out, informer, place, namespace_);
  if (err != 0) {
    return err;
  }
  scopes->places[place] = *out;
  scopes->count++;
  if (place == scopes->limit) {
    scopes->limit++;
  }
  return 0;
}

static void unplace(kin__scope *scope) {
  kin__scopes *scopes = &scope->informer->scopes;
  scopes->places[scope->index] = NULL;
  scopes->count--;
  while (scopes->limit > 0 && scopes->places[scopes->limit - 1] == NULL) {
    scopes->limit--;
  }
  kin__link_remove(&scope->emptied_node);
}

/* --- The sync point ------------------------------------------------------- */

/* The informer may sync because its last unsynced scope is gone. */
static void check_synced(kin_informer *informer) {
  const kin__scopes *scopes = &informer->scopes;
  bool is_due = informer->is_started && !informer->member.is_closing &&
                scopes->synced == scopes->count;
  int err = is_due ? kin__dispatcher_synced(&informer->dispatcher) : 0;
  if (err > 0) {
    kin__sched_add(informer->env->sched, &informer->scopes.task);
  } else if (err < 0) {
    kin__informer_try_later(informer);
  }
}

/* --- Removing ------------------------------------------------------------- */

/* Starts the new scope of a namespace whose old scope is gone. */
static void start_waiting(kin_informer *informer, const char *namespace_) {
  kin__scope *scope = kin__scopes_find(&informer->scopes, namespace_);
  if (scope != NULL && scope->is_waiting &&
      !must_wait(&informer->scopes, namespace_)) {
    scope->is_waiting = false;
    if (informer->is_started) {
      kin__feed_start(&scope->feed);
    }
  }
}

static void finish_removal(kin__scope *scope) {
  kin_informer *informer = scope->informer;
  kin__metrics_add_feed(informer->scopes.past, &scope->feed);
  unplace(scope); /* the memory stays: the name is still needed */
  start_waiting(informer, scope->feed.namespace_);
  kin__scope_free(scope);
  check_synced(informer);
}

/* Whether there is a place for the counters of scopes that are gone. */
static bool have_past(kin__scopes *scopes, const kin__env *env) {
  if (scopes->past == NULL) {
    scopes->past = kin__calloc(env->allocator, 1, sizeof *scopes->past);
  }
  return scopes->past != NULL;
}

static bool scopes_step(kin__task *task) {
  kin__scopes *scopes = KIN__CONTAINER_OF(task, kin__scopes, task);
  kin_informer *informer = KIN__CONTAINER_OF(scopes, kin_informer, scopes);
  if (kin__link_is_empty(&scopes->emptied)) {
    check_synced(informer);
    return false;
  }
  if (!have_past(scopes, informer->env)) {
    kin__informer_try_later(informer);
    return false;
  }
  finish_removal(
      KIN__CONTAINER_OF(scopes->emptied.next, kin__scope, emptied_node));
  return !kin__link_is_empty(&scopes->emptied);
}

void kin__scopes_emptied(kin__scope *scope) {
  kin__scopes *scopes = &scope->informer->scopes;
  kin__link_push(&scopes->emptied, &scope->emptied_node);
  kin__sched_add(scope->informer->env->sched, &scopes->task);
}

/* --- Life ----------------------------------------------------------------- */

int kin__scopes_open(kin_informer *informer) {
  const kin__settings *settings = &informer->settings;
  informer->scopes.is_all = settings->namespaces[0][0] == '\0';
  kin__link_init(&informer->scopes.emptied);
  kin__task_init(&informer->scopes.task, scopes_step);
  /* Most informers have no other scopes later. */
  informer->scopes.capacity = (uint32_t)settings->namespace_count;
  informer->scopes.places =
      kin__calloc(informer->env->allocator, settings->namespace_count,
                  sizeof *informer->scopes.places);
  if (informer->scopes.places == NULL) {
    return KIN_ENOMEM;
  }
  for (size_t i = 0; i < settings->namespace_count; i++) {
    kin__scope *scope;
    int err = add(informer, settings->namespaces[i], &scope);
    if (err != 0) {
      return err;
    }
  }
  return 0;
}

void kin__scopes_start(kin_informer *informer) {
  kin__scope *scope;
  KIN__FOR_EACH_SCOPE(scope, &informer->scopes) {
    if (!scope->is_removed && !scope->is_waiting) {
      kin__feed_start(&scope->feed);
    }
  }
  check_synced(informer);
}

void kin__scopes_close(kin_informer *informer) {
  kin__scope *scope;
  KIN__FOR_EACH_SCOPE(scope, &informer->scopes) {
    kin__scope_close(scope);
  }
  kin__sched_cancel(informer->env->sched, &informer->scopes.task);
}

bool kin__scopes_free_step(kin_informer *informer) {
  kin__scopes *scopes = &informer->scopes;
  if (scopes->emptying >= scopes->limit) {
    return false;
  }
  kin__scope *scope = scopes->places[scopes->emptying];
  if (scope == NULL || (!kin__stage_free_step(&scope->feed.stage, 1) &&
                        !kin__list_check_free_step(scope->list_check))) {
    scopes->emptying++;
  }
  return true;
}

bool kin__scopes_finish_step(kin_informer *informer) {
  kin__scopes *scopes = &informer->scopes;
  kin__slice slice =
      kin__slice_begin(informer->env->sched, SCOPES_FREED_PER_STEP);
  while (scopes->limit > 0 && kin__slice_next(&slice)) {
    kin__scope *last = scopes->places[scopes->limit - 1];
    unplace(last);
    kin__scope_free(last);
  }
  if (scopes->limit > 0) {
    return true;
  }
  kin__free(informer->env->allocator, scopes->places);
  scopes->places = NULL;
  kin__free(informer->env->allocator, scopes->past);
  scopes->past = NULL;
  return false;
}

void kin__scopes_finish(kin_informer *informer) {
  while (kin__scopes_finish_step(informer)) {
  }
}

/* --- Use ------------------------------------------------------------------ */

int kin_informer_set_shard(kin_informer *informer, uint32_t index,
                           uint32_t count) {
  if (informer == NULL) {
    return KIN_EINVAL;
  }
  kin__log_no_problem(informer->env->log);
  if (informer->member.is_closing) {
    return KIN_ECLOSED;
  }
  const kin__shard shard = {index, count > 0 ? count : 1};
  kin__shard *own = &informer->settings.resource.shard;
  int err = kin__settings_check_shard(&informer->settings.resource, &shard,
                                      informer->env->log);
  if (err != 0) {
    return err;
  }
  bool is_same = kin__shard_equal(shard, *own);
  *own = shard;
  kin__max_bytes_reopen(informer);
  if (is_same) {
    return 0;
  }
  kin__scope *scope;
  KIN__FOR_EACH_SCOPE(scope, &informer->scopes) {
    if (!scope->is_removed) {
      kin__list_check_end(scope->list_check, "its shard has changed");
      kin__feed_reshard(&scope->feed);
    }
  }
  return 0;
}

void kin__scopes_relist(kin_informer *informer) {
  kin__scope *scope;
  KIN__FOR_EACH_SCOPE(scope, &informer->scopes) {
    if (!scope->is_removed) {
      kin__feed_relist(&scope->feed);
    }
  }
}

static int check_use(const kin_informer *informer, const char *namespace_) {
  const kin__log *log = informer->env->log;
  kin__log_no_problem(log);
  if (informer->member.is_closing) {
    return KIN_ECLOSED;
  }
  return informer->scopes.is_all
             ? kin__log_problem(log, KIN_EINVAL,
                                "namespaces: the informer is for all "
                                "namespaces")
             : kin__namespaces_check(&namespace_, 1, log);
}

int kin_informer_add_namespace(kin_informer *informer, const char *namespace_) {
  if (informer == NULL) {
    return KIN_EINVAL;
  }
  int err = check_use(informer, namespace_);
  if (err != 0) {
    return err;
  }
  if (kin__scopes_find(&informer->scopes, namespace_) != NULL) {
    return KIN_EEXIST;
  }
  kin__scope *scope;
  err = add(informer, namespace_, &scope);
  if (err != 0) {
    return err;
  }
  scope->is_waiting = must_wait(&informer->scopes, scope->feed.namespace_);
  if (informer->is_started && !scope->is_waiting) {
    kin__feed_start(&scope->feed);
  }
  return 0;
}

int kin_informer_remove_namespace(kin_informer *informer,
                                  const char *namespace_) {
  if (informer == NULL) {
    return KIN_EINVAL;
  }
  int err = check_use(informer, namespace_);
  if (err != 0) {
    return err;
  }
  kin__scope *scope = kin__scopes_find(&informer->scopes, namespace_);
  if (scope == NULL) {
    return KIN_ENOENT;
  }
  informer->scopes.synced -= scope->feed.has_synced;
  kin__scope_remove(scope);
  return 0;
}
