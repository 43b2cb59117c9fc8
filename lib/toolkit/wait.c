/* SPDX-License-Identifier: MIT */
#include "toolkit/wait.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <kin/error.h>

#include "base/alloc.h"
#include "base/first_size.h"
#include "base/log.h"
#include "base/options.h"
#include "base/sort.h"
#include "base/str.h"
#include "dispatch/listener.h"
#include "informer/informer.h"

/* A wait is a set of entries that are not done yet, and one deferred step.
 * Every event (an entry syncs or closes, the time is over, the wait is
 * cancelled) is only noted; if it matters, the step is scheduled. The step asks
 * the program's checks, a slice of them in each iteration, and ends the wait
 * when no entry is open. So callbacks come from the loop, and find the wait in a
 * consistent state.
 *
 * All memory is taken at the begin, also for the error text, so that the end
 * cannot fail.
 *
 * Invariants: an entry is open iff it is neither done nor closed. `open` counts
 * the open entries, `open_checks` those with a check. The step is among the
 * host's deferred calls iff is_step_due. */

#define POLL_MS 100u /* CN-05 */
#define CHECKS_PER_STEP 1024u
#define CAUSE_BYTES 160u /* any text of kin_strerror */
#define MAX_NAME_BYTES 1024u
#define NAME_SIZE                                                              \
  (KIN__INFORMER_NAME_SIZE + 300u) /* of an informer's listener */

typedef struct entry {
  kin__sync_watch watch; /* in a list iff the entry is open without a check */
  kin_wait *wait;
  kin_wait_check_cb check;
  void *data;
} entry;

struct kin_wait {
  kin__member member;
  const char *failure; /* the beginning of the error text */
  char *what;          /* NULL: no log */
  kin_wait_cb cb;
  void *data;

  entry *entries;
  kin_wait_item *items;
  uint32_t *order; /* the entries, sorted by name */
  uint32_t count;
  uint32_t open;
  uint32_t open_checks;
  uint32_t asked; /* entries of the round so far */
  char *names;    /* of the entries, one after the other */
  char *error;
  size_t error_size;

  kin__timer timeout;
  kin__timer poll;
  kin__deferred step;
  bool is_step_due;
  int code; /* the reason why the wait was given up, or 0 */
};

void kin__informer_name(const kin_informer *informer, char *buffer,
                        size_t size) {
  const kin__resource *resource = &informer->settings.resource;
  snprintf(buffer, size, "%s.%s%s%s%s", resource->plural, resource->version,
           resource->group[0] != '\0' ? "." : "", resource->group,
           resource->metadata_only ? " (metadata)" : "");
}

/* --- Events --------------------------------------------------------------- */

static void schedule(kin_wait *wait) {
  if (!wait->is_step_due) {
    wait->is_step_due = true;
    kin__env_defer(wait->member.env, &wait->step);
  }
}

static void settle(kin_wait *wait, uint32_t i, bool is_done) {
  wait->items[i].is_done = is_done;
  wait->items[i].is_closed = !is_done;
  wait->open--;
  wait->open_checks -= wait->entries[i].check != NULL;
  if (is_done && wait->what != NULL) {
    kin__log_write(wait->member.env->log, KIN_LOG_INFO,
                   "Done waiting for %.200s: %.200s", wait->what,
                   wait->items[i].name);
  }
}

static void on_notify(kin__sync_watch *watch, int result) {
  entry *e = KIN__CONTAINER_OF(watch, entry, watch);
  kin_wait *wait = e->wait;
  settle(wait, (uint32_t)(e - wait->entries), result == 0);
  if (wait->open == 0) {
    schedule(wait);
  }
}

static void give_up(kin_wait *wait, int code) {
  if (wait->code == 0) {
    wait->code = code;
    wait->asked = 0; /* all are asked once more */
    schedule(wait);
  }
}

static void on_timeout(kin__timer *timer) {
  give_up(KIN__CONTAINER_OF(timer, kin_wait, timeout), KIN_ETIMEDOUT);
}

static void on_poll(kin__timer *timer) {
  schedule(KIN__CONTAINER_OF(timer, kin_wait, poll));
}

static void on_close(kin__member *member) {
  give_up(KIN__CONTAINER_OF(member, kin_wait, member), KIN_ECLOSED);
}

/* --- The end -------------------------------------------------------------- */

static void detach(kin_wait *wait) {
  for (uint32_t i = 0; i < wait->count; i++) {
    kin__link_remove(&wait->entries[i].watch.node);
  }
  kin__timer_stop(wait->member.env->timers, &wait->timeout);
  kin__timer_stop(wait->member.env->timers, &wait->poll);
}

static void free_wait(kin__member *member) {
  kin_wait *wait = KIN__CONTAINER_OF(member, kin_wait, member);
  const kin_allocator *allocator = member->env->allocator;
  kin__free(allocator, wait->entries);
  kin__free(allocator, wait->items);
  kin__free(allocator, wait->order);
  kin__free(allocator, wait->names);
  kin__free(allocator, wait->error);
  kin__free(allocator, wait->what);
  kin__free(allocator, wait);
}

static const kin__member_ops member_ops = {.close = on_close,
                                           .free = free_wait};

static size_t append(const kin_wait *wait, size_t length, const char *text) {
  size_t added = strlen(text);
  size_t room = wait->error_size - length - 1;
  added = added < room ? added : room;
  memcpy(wait->error + length, text, added);
  wait->error[length + added] = '\0';
  return length + added;
}

static void write_error(const kin_wait *wait, int code) {
  size_t length = append(wait, 0, wait->failure);
  const char *separator = ": ";
  for (uint32_t i = 0; i < wait->count; i++) {
    const kin_wait_item *item = &wait->items[wait->order[i]];
    if (!item->is_done) {
      length = append(wait, length, separator);
      length = append(wait, length, item->name);
      separator = ", ";
    }
  }
  length = append(wait, length, ": ");
  append(wait, length, kin_strerror(code));
  if (wait->what != NULL) {
    kin__log_write(wait->member.env->log, KIN_LOG_INFO,
                   "%s waiting for %.200s%s",
                   code == KIN_ETIMEDOUT ? "Timed out" : "Stopped", wait->what,
                   wait->error + strlen(wait->failure));
  }
}

static bool are_all_done(const kin_wait *wait) {
  for (uint32_t i = 0; i < wait->count; i++) {
    if (!wait->items[i].is_done) {
      return false;
    }
  }
  return true;
}

static void end(kin_wait *wait) {
  kin_wait_result result = {.size = sizeof result,
                            .items = wait->items,
                            .count = wait->count,
                            .error = wait->error};
  wait->error[0] = '\0';
  if (!are_all_done(wait)) {
    result.code = wait->code != 0 ? wait->code : KIN_ECLOSED;
    write_error(wait, result.code);
  }
  /* Detached, the wait hears no more events, whatever the callback does. A
   * cancel in the callback comes too late. */
  detach(wait);
  wait->code = KIN_ECLOSED;
  uint64_t start_ns = kin__clock_ns(&wait->member.env->clock);
  wait->cb(&result, wait->data);
  kin__env_add_handler_time(wait->member.env, start_ns);
  kin__member_gone(&wait->member);
}

static bool ask(const kin_wait *wait, const entry *e) {
  uint64_t start_ns = kin__clock_ns(&wait->member.env->clock);
  bool is_done = e->check(e->data);
  kin__env_add_handler_time(wait->member.env, start_ns);
  return is_done;
}

/* Asks a slice of the checks. Returns whether the round goes on. If a check
 * gives the wait up, or the client closes, the data of the others may be
 * gone. */
static bool ask_checks(kin_wait *wait) {
  int code = wait->code;
  kin__slice slice = kin__slice_begin(wait->member.env->sched, CHECKS_PER_STEP);
  while (wait->asked < wait->count && wait->open_checks > 0 &&
         wait->code == code && !wait->member.is_closing) {
    uint32_t i = wait->asked;
    const entry *e = &wait->entries[i];
    bool is_open = e->check != NULL && !wait->items[i].is_done;
    if (is_open && !kin__slice_next(&slice)) {
      return true;
    }
    wait->asked++;
    if (is_open && ask(wait, e)) {
      settle(wait, i, true);
    }
  }
  wait->asked = 0;
  return false;
}

static void step(kin__deferred *deferred) {
  kin_wait *wait = KIN__CONTAINER_OF(deferred, kin_wait, step);
  /* No other step runs before this one is over, whatever a check does. */
  if (ask_checks(wait)) {
    kin__env_defer(wait->member.env, &wait->step);
    return;
  }
  wait->is_step_due = false;
  if (wait->open == 0 || wait->code != 0) {
    end(wait);
  } else if (wait->open_checks > 0) {
    kin__timer_start(wait->member.env->timers, &wait->poll,
                     kin__env_now_ms(wait->member.env) + POLL_MS);
  }
}

int kin_wait_cancel(kin_wait *wait, int code) {
  if (wait == NULL || code >= 0) {
    return KIN_EINVAL;
  }
  if (wait->code != 0) {
    return KIN_EALREADY;
  }
  give_up(wait, code);
  return 0;
}

/* --- Begin ---------------------------------------------------------------- */

static int check_things(const kin_wait_options *options, const kin__log *log) {
  if (options->count > KIN__WAIT_MAX) {
    return kin__log_problem(log, KIN_ETOOBIG,
                            "count: %zu things are more than %u",
                            options->count, KIN__WAIT_MAX);
  }
  if (options->cb == NULL || (options->count > 0 && options->things == NULL)) {
    return kin__log_problem(log, KIN_EINVAL, "%s: is required",
                            options->cb == NULL ? "cb" : "things");
  }
  size_t longest = options->what != NULL ? strlen(options->what) : 0;
  for (size_t i = 0; i < options->count; i++) {
    const kin_wait_for *thing = &options->things[i];
    int kinds = (thing->informer != NULL) + (thing->listener != NULL) +
                (thing->check != NULL);
    if (kinds != 1 || (thing->check != NULL && thing->name == NULL)) {
      return kin__log_problem(
          log, KIN_EINVAL,
          "things[%zu] is not one informer, listener or named check", i);
    }
    size_t length = thing->name != NULL ? strlen(thing->name) : 0;
    longest = length > longest ? length : longest;
  }
  return longest <= MAX_NAME_BYTES
             ? 0
             : kin__log_problem(log, KIN_ETOOBIG,
                                "what or names: %zu bytes are more than %u",
                                longest, MAX_NAME_BYTES);
}

/* The thing's name, or one that is made in `buffer`. */
static const char *name_of(const kin_wait_for *thing, char *buffer,
                           size_t size) {
  if (thing->name != NULL) {
    return thing->name;
  }
  if (thing->informer != NULL) {
    kin__informer_name(thing->informer, buffer, size);
    return buffer;
  }
  kin__informer_name(thing->listener->dispatcher->informer, buffer, size);
  size_t length = strlen(buffer);
  snprintf(buffer + length, size - length, " + event handler %s",
           kin_listener_name(thing->listener));
  return buffer;
}

static int copy_names(kin_wait *wait, const kin_wait_for *things) {
  const kin_allocator *allocator = wait->member.env->allocator;
  char buffer[NAME_SIZE];
  size_t total = 0;
  for (uint32_t i = 0; i < wait->count; i++) {
    total += strlen(name_of(&things[i], buffer, sizeof buffer)) + 1;
  }
  wait->names = kin__malloc(allocator, total > 0 ? total : 1);
  wait->error_size =
      strlen(wait->failure) + total + 2 * (size_t)wait->count + CAUSE_BYTES;
  wait->error = kin__malloc(allocator, wait->error_size);
  if (wait->names == NULL || wait->error == NULL) {
    return KIN_ENOMEM;
  }
  char *next = wait->names;
  for (uint32_t i = 0; i < wait->count; i++) {
    const char *name = name_of(&things[i], buffer, sizeof buffer);
    size_t size = strlen(name) + 1;
    wait->items[i].name = memcpy(next, name, size);
    next += size;
  }
  return 0;
}

static bool is_before(void *ctx, size_t a, size_t b) {
  const kin_wait *wait = ctx;
  return strcmp(wait->items[wait->order[a]].name,
                wait->items[wait->order[b]].name) < 0;
}

static void swap(void *ctx, size_t a, size_t b) {
  uint32_t *order = ((kin_wait *)ctx)->order;
  uint32_t moved = order[a];
  order[a] = order[b];
  order[b] = moved;
}

static void sort_names(kin_wait *wait) {
  for (uint32_t i = 0; i < wait->count; i++) {
    wait->order[i] = i;
  }
  kin__sort(&(kin__row){.ctx = wait, .is_less = is_before, .swap = swap},
            wait->count);
}

static int make(kin_wait **out, kin__host *host,
                const kin_wait_options *options, const char *failure) {
  const kin_allocator *allocator = host->env->allocator;
  kin_wait *wait = kin__calloc(allocator, 1, sizeof *wait);
  *out = wait;
  if (wait == NULL) {
    return KIN_ENOMEM;
  }
  kin__member_init(&wait->member, &member_ops, host->env);
  wait->failure = failure;
  wait->cb = options->cb;
  wait->data = options->data;
  wait->count = wait->open = (uint32_t)options->count;
  bool is_logged = kin__has_text(options->what);
  wait->what = is_logged ? kin__strdup(allocator, options->what) : NULL;
  wait->entries = kin__calloc(allocator, options->count, sizeof *wait->entries);
  wait->items = kin__calloc(allocator, options->count, sizeof *wait->items);
  wait->order = kin__calloc(allocator, options->count, sizeof *wait->order);
  if ((is_logged && wait->what == NULL) || wait->entries == NULL ||
      wait->items == NULL || wait->order == NULL) {
    return KIN_ENOMEM;
  }
  return copy_names(wait, options->things);
}

/* From here on nothing can fail. */
static void watch(kin_wait *wait, uint32_t i, const kin_wait_for *thing) {
  entry *e = &wait->entries[i];
  e->wait = wait;
  e->watch.notify = on_notify;
  kin__link_init(&e->watch.node);
  e->check = thing->check;
  e->data = thing->data;
  if (thing->check != NULL) {
    wait->open_checks++;
    return;
  }
  bool is_informer = thing->informer != NULL;
  bool is_done = is_informer ? kin_informer_has_synced(thing->informer)
                             : kin_listener_has_synced(thing->listener);
  bool is_closed = is_informer ? thing->informer->member.is_closing
                               : thing->listener->is_closed;
  if (is_done || is_closed) {
    settle(wait, i, is_done);
  } else {
    kin__link_push(is_informer ? &thing->informer->dispatcher.sync_watches
                               : &thing->listener->sync_watches,
                   &e->watch.node);
  }
}

static void begin(kin_wait *wait, kin__host *host,
                  const kin_wait_options *options) {
  const kin__env *env = host->env;
  sort_names(wait);
  kin__timer_init(&wait->timeout, on_timeout);
  kin__timer_init(&wait->poll, on_poll);
  wait->step.cb = step;
  kin__link_init(&wait->step.node);
  kin__member_join(&wait->member, host);
  if (wait->what != NULL) {
    kin__log_write(env->log, KIN_LOG_INFO, "Waiting for %.200s", wait->what);
  }
  for (uint32_t i = 0; i < wait->count; i++) {
    watch(wait, i, &options->things[i]);
  }
  if (options->timeout_ms > 0) {
    kin__timer_start(
        env->timers, &wait->timeout,
        kin__deadline_ms(kin__env_now_ms(env), options->timeout_ms));
  }
  if (wait->open == 0 || wait->open_checks > 0) {
    schedule(wait);
  }
}

int kin__wait_open(kin_wait **out, kin__host *host,
                   const kin_wait_options *options, const char *failure) {
  *out = NULL;
  int err = kin__host_check(host);
  if (err == 0) {
    err = check_things(options, host->env->log);
  }
  if (err != 0) {
    return err;
  }
  kin_wait *wait;
  err = make(&wait, host, options, failure);
  if (err != 0) {
    if (wait != NULL) {
      free_wait(&wait->member);
    }
    return err;
  }
  begin(wait, host, options);
  *out = wait;
  return 0;
}

int kin_wait_open(kin_wait **out, kin_client *client,
                  const kin_wait_options *options) {
  kin_wait *wait = NULL;
  int err = KIN_EINVAL;
  if (client != NULL) {
    kin__host *host = kin__client_host(client);
    kin_wait_options copy;
    err = kin__options_take(&copy, sizeof copy, options,
                            KIN__FIRST_SIZE(kin_wait_options),
                            "kin_wait_options", host->env->log);
    if (err == 0) {
      err = kin__wait_open(&wait, host, &copy, "failed to wait for all");
    }
  }
  if (out != NULL) {
    *out = wait;
  }
  return err;
}
