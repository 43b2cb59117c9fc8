/* SPDX-License-Identifier: MIT */
#include "check/list_check.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/str.h"
#include "feed/pager_core.h"
#include "feed/feed_options.h"
#include "feed/http_source.h"
#include "object/packed.h"
#include "object/transform.h"
#include "base/map.h"

#define RETRY_MS 1000u
/* A server keeps its versions for about five minutes. */
#define MAX_TRIES 300u
#define ENTRIES_PER_STEP 256u
#define HASHED_PER_STEP (64u << 10) /* bytes */
#define MAX_NAMED 5u
#define MAX_NAME 100

typedef enum check_phase {
  CHECK_IDLE = 0,  /* no entries */
  CHECK_CLEARING,  /* a list is being applied; old entries are freed */
  CHECK_GATHERING, /* the list is in the store; entries are made */
  CHECK_READY,     /* entries are made; the pager still aborts another list */
  CHECK_LISTING,   /* the pager lists; entries are marked */
  CHECK_WAITING,   /* the list failed; timer */
  CHECK_UNMARKING, /* before a new try; from here on the task works */
  CHECK_NAMING,    /* looks for keys of unlisted entries */
  CHECK_TELLING,
  CHECK_DROPPING
} check_phase;

/* The key's hash is in the slot head. */
typedef struct entry {
  kin__slot_head head;
  uint64_t digest; /* lowest bit: the object was listed */
} entry;

static_assert(sizeof(entry) == 16, "16 bytes, and 4 of the map");

struct kin__list_check {
  kin__list_check_subject of;
  kin__http_source http;
  kin__pager_core pager;
  kin__transform transform;
  kin__task task;
  kin__timer timer;
  check_phase phase;
  char version[KIN__VERSION_SIZE];
  uint32_t server_address; /* that the version is of */

  kin__slots slots; /* of entry */
  kin__map map;
  uint32_t cursor;
  uint32_t own_writes; /* of the store when the list was to be applied */
  uint32_t tries;
  bool has_listed; /* the pager was started before */
  bool is_listing; /* the pager has not ended yet */
  bool is_closing;
  bool is_pager_empty; /* the pager is closed and empty */

  uint64_t listed;
  uint64_t matched; /* listed entries */
  uint64_t unlike;  /* listed objects that are not cached, or cached in another
                     * state */
  unsigned named;
  char names[MAX_NAMED * (MAX_NAME + 2) + 1]; /* ", ns/a, ns/b" */
};

static const kin__env *env_of(const kin__list_check *check) {
  return check->of.feed->env;
}

static void enter(kin__list_check *check, check_phase phase) {
  check->phase = phase;
  check->cursor = 0;
  if (phase >= CHECK_UNMARKING) {
    kin__sched_add(env_of(check)->sched, &check->task);
  }
}

/* The check cannot come to a result. */
static void give_up(kin__list_check *check, const char *why) {
  const kin_feed *feed = check->of.feed;
  kin__log_write(env_of(check)->log, KIN_LOG_WARN,
                 KIN__FEED_PLACE "the list that came as a watch, at version "
                                 "%s, cannot be checked: %s",
                 KIN__FEED_PLACE_ARGS(feed), check->version, why);
  enter(check, CHECK_DROPPING);
}

/* --- Entries -------------------------------------------------------------- */

/* Items of a built-in type lack the leading kind and apiVersion of events. */
static kin_str without_type(kin_str text) {
  static const char *const names[] = {"\"kind\":\"", "\"apiVersion\":\""};
  const char *at = text.data;
  const char *end = at + text.length;
  at += at < end; /* skip the brace */
  for (size_t i = 0; i < 2 * 2; i++) {
    const char *name = names[i % 2];
    size_t length = strlen(name);
    if ((size_t)(end - at) > length && memcmp(at, name, length) == 0) {
      const char *quote = memchr(at + length, '"', (size_t)(end - at) - length);
      at = quote != NULL && quote + 1 < end ? quote + 1 : end;
      at += at < end && *at == ',';
    }
  }
  return kin__str(at, (size_t)(end - at));
}

static uint64_t bare_digest(const kin__list_check *check,
                            const kin_object *object) {
  const kin__hash_seed *seed = &check->of.store->seed;
  uint64_t digest = kin__hash(seed, kin_object_uid(object));
  return (digest << 32 | kin__hash(seed, kin_object_resource_version(object)))
         << 1;
}

/* With a transform, the digest covers the transformed text too, unless there is
 * none. Errors: KIN_ENOMEM. */
static int digest_of(const kin__list_check *check, const kin_object *object,
                     uint64_t *result) {
  uint64_t digest = bare_digest(check, object);
  if (check->transform.cb != NULL && !kin_object_is_key_only(object)) {
    kin_str text;
    void *block;
    if (kin__object_open_text(object, &text, &block) != 0) {
      return KIN_ENOMEM;
    }
    digest ^= kin__hash(&check->of.store->seed, without_type(text)) *
                  UINT64_C(0x9e3779b97f4a7c15)
              << 1;
    kin__object_close_text(object, block);
  }
  *result = digest;
  return 0;
}

static uint32_t hash_of(const kin__list_check *check,
                        const kin_object *object) {
  return kin__hash(&check->of.store->seed, kin_object_key(object));
}

static int add_entry(kin__list_check *check, const kin_object *object) {
  uint32_t id;
  int err = kin__slots_take(&check->slots, &id);
  if (err != 0) {
    return err;
  }
  entry *made = kin__slots_at(&check->slots, id);
  err = digest_of(check, object, &made->digest);
  if (err != 0) {
    kin__slots_give(&check->slots, id);
    return err;
  }
  return kin__map_insert(&check->map, hash_of(check, object), id);
}

/* The entry of a key that is not marked as listed; also of *digest, unless
 * NULL. */
static entry *find_entry(const kin__list_check *check, uint32_t hash,
                         const uint64_t *digest) {
  for (uint32_t id = kin__map_first(&check->map, hash); id != KIN__NO_SLOT;
       id = kin__map_next(&check->map, id)) {
    entry *found = kin__slots_at(&check->slots, id);
    if ((found->digest & 1) == 0 &&
        (digest == NULL || found->digest == *digest)) {
      return found;
    }
  }
  return NULL;
}

/* The entry of a listed object. An object that has lost its body since the list
 * came (max_bytes) is there by its uid and version alone. */
static entry *find_state(const kin__list_check *check, uint32_t hash,
                         const kin_object *listed, uint64_t digest) {
  entry *found = find_entry(check, hash, &digest);
  if (found == NULL) {
    uint64_t bare = bare_digest(check, listed);
    found = find_entry(check, hash, &bare);
  }
  return found;
}

static void mark(kin__list_check *check, entry *found) {
  if (found != NULL) {
    found->digest |= 1;
    check->matched++;
  }
}

static void note_name(kin__list_check *check, const kin_object *object) {
  if (check->named < MAX_NAMED) {
    kin_str key = kin_object_key(object);
    size_t length = strlen(check->names);
    int shown = (int)(key.length < MAX_NAME ? key.length : MAX_NAME);
    snprintf(check->names + length, sizeof check->names - length, ", %.*s",
             shown, key.data);
    check->named++;
  }
}

static void forget_results(kin__list_check *check) {
  check->listed = 0;
  check->matched = 0;
  check->unlike = 0;
  check->named = 0;
  check->names[0] = '\0';
}

/* Returns whether there is more. At the end no memory is held. */
static bool drop_some(kin__list_check *check) {
  if (check->slots.segments.count > 0) {
    (void)kin__slots_drop_segment(&check->slots);
    return true;
  }
  if (check->map.heads.count > 0 && kin__map_drop_segment(&check->map)) {
    return true;
  }
  const kin_allocator *allocator = &env_of(check)->memory->cells;
  kin__map_finish(&check->map);
  kin__slots_finish(&check->slots);
  kin__slots_init(&check->slots, allocator, sizeof(entry));
  kin__map_init(&check->map, allocator, &check->slots);
  return false;
}

/* --- Listing -------------------------------------------------------------- */

static void start_list(kin__list_check *check) {
  if (check->is_listing) {
    check->phase = CHECK_READY;
    return;
  }
  forget_results(check);
  check->phase = CHECK_LISTING;
  check->is_listing = true;
  check->tries++;
  if (check->has_listed) {
    kin__pager_core_restart(&check->pager);
  } else {
    check->has_listed = true;
    kin__pager_core_start(&check->pager);
  }
}

static kin__slice begin_slice(const kin__list_check *check) {
  return kin__slice_begin_small(env_of(check)->sched, ENTRIES_PER_STEP);
}

static kin__list_check *check_of(kin__pager_core *pager) {
  return KIN__CONTAINER_OF(pager, kin__list_check, pager);
}

/* If the transform fails, the cache holds an earlier state or none. */
static int on_item(kin__pager_core *pager, const kin_object *item) {
  kin__list_check *check = check_of(pager);
  uint32_t hash = hash_of(check, item);
  check->listed++;
  kin_object *kept;
  int err = kin__transform_run(&check->transform, item, 0, &kept);
  if (err == KIN_ENOMEM) {
    return err;
  }
  if (err != 0) {
    mark(check, find_entry(check, hash, NULL));
    return 0;
  }
  uint64_t digest;
  err = digest_of(check, kept, &digest);
  if (err != 0) {
    kin__object_unref(kept);
    return err;
  }
  entry *found = find_state(check, hash, kept, digest);
  mark(check, found);
  if (found == NULL) {
    check->unlike++;
    note_name(check, kept);
  }
  kin__object_unref(kept);
  return 0;
}

static uint64_t count_missing(const kin__list_check *check) {
  return check->map.count - check->matched;
}

static void on_list_complete(kin__list_check *check) {
  kin__feed_counters *counters = &check->of.feed->counters;
  if (check->pager.feed.server_address != check->server_address ||
      strcmp(kin__listwatch_list_version(&check->pager.feed.listwatch),
             check->version) != 0) {
    give_up(check, "the server listed another one, or has another address");
    return;
  }
  counters->checked_lists++;
  if (check->unlike == 0 && count_missing(check) == 0) {
    enter(check, CHECK_DROPPING);
    return;
  }
  counters->inconsistent_lists++;
  enter(check, CHECK_NAMING);
}

static void on_list_failed(kin__list_check *check, const kin__failure *end) {
  const kin__env *env = env_of(check);
  if (end->is_expired || check->tries >= MAX_TRIES) {
    give_up(check, end->message);
    return;
  }
  kin__log_write(env->log, KIN_LOG_INFO,
                 "%s; the check of a list that came as a watch is tried again",
                 end->message[0] != '\0' ? end->message
                                         : kin_strerror(end->code));
  check->phase = CHECK_WAITING;
  kin__timer_start(env->timers, &check->timer, kin__env_now_ms(env) + RETRY_MS);
}

static void on_ended(kin__pager_core *pager, const kin__failure *end) {
  kin__list_check *check = check_of(pager);
  check->is_listing = false;
  if (check->phase == CHECK_READY) {
    start_list(check);
  } else if (check->phase == CHECK_LISTING && end->code == 0) {
    on_list_complete(check);
  } else if (check->phase == CHECK_LISTING) {
    on_list_failed(check, end);
  }
}

static void on_emptied(kin__pager_core *pager) {
  check_of(pager)->is_pager_empty = true;
}

static const kin__pager_owner owner = {
    .item = on_item, .ended = on_ended, .emptied = on_emptied};

static void on_timer(kin__timer *timer) {
  enter(KIN__CONTAINER_OF(timer, kin__list_check, timer), CHECK_UNMARKING);
}

/* --- Gathering ------------------------------------------------------------ */

/* Only the program can change the store meanwhile, because the watch is held.
 * The list does not have such a change. The slot of an object that the program
 * has put before has the generation 0, like a free slot. */
static bool gather_step(kin__list_check *check) {
  const kin_store *store = check->of.store;
  size_t hashed = 0;
  if (store->own_writes != check->own_writes) {
    give_up(check, "the program has written to the store");
    return false;
  }
  kin__slice slice = begin_slice(check);
  while (hashed < HASHED_PER_STEP && kin__slice_next(&slice)) {
    if (check->cursor >= kin__slots_limit(&store->slots)) {
      start_list(check);
      return false;
    }
    const kin__store_slot *slot = kin__store_at(store, check->cursor++);
    if (slot->generation == 0 || slot->scope != check->of.scope) {
      continue;
    }
    if (add_entry(check, slot->object) != 0) {
      give_up(check, kin_strerror(KIN_ENOMEM));
      return false;
    }
    if (check->transform.cb != NULL) {
      hashed += kin__object_text_length(slot->object);
    }
  }
  return true;
}

bool kin__list_check_step(kin__list_check *check) {
  if (check == NULL || check->is_closing) {
    return kin__list_check_free_step(check);
  }
  if (check->phase == CHECK_IDLE || check->phase > CHECK_GATHERING) {
    return false;
  }
  if (check->phase == CHECK_CLEARING) {
    if (!drop_some(check)) {
      enter(check, CHECK_GATHERING);
    }
    return true;
  }
  return gather_step(check);
}

/* --- The task ------------------------------------------------------------- */

static bool unmark_step(kin__list_check *check) {
  kin__slice slice = begin_slice(check);
  while (kin__slice_next(&slice)) {
    if (check->cursor >= kin__slots_limit(&check->slots)) {
      start_list(check);
      return false;
    }
    entry *next = kin__slots_at(&check->slots, check->cursor++);
    next->digest &= ~UINT64_C(1);
  }
  return true;
}

/* Unlisted objects are probably still in the store. */
static bool name_step(kin__list_check *check) {
  const kin_store *store = check->of.store;
  size_t hashed = 0;
  kin__slice slice = begin_slice(check);
  while (hashed < HASHED_PER_STEP && kin__slice_next(&slice)) {
    if (check->named == MAX_NAMED || count_missing(check) == 0 ||
        check->cursor >= kin__slots_limit(&store->slots)) {
      enter(check, CHECK_TELLING);
      return true;
    }
    const kin__store_slot *slot = kin__store_at(store, check->cursor++);
    if (slot->generation == 0 || slot->scope != check->of.scope) {
      continue;
    }
    uint64_t digest;
    if (digest_of(check, slot->object, &digest) == 0 &&
        find_entry(check, hash_of(check, slot->object), &digest) != NULL) {
      note_name(check, slot->object);
    }
    hashed += kin__object_text_length(slot->object);
  }
  return true;
}

/* No request follows, so only the answer KIN_STOP has an effect. */
static bool tell_step(kin__list_check *check) {
  const kin__env *env = env_of(check);
  kin_feed *feed = check->of.feed;
  char message[sizeof check->names + 512];
  snprintf(message, sizeof message,
           KIN__FEED_PLACE
           "what came as a watch differs from the list at version %s: "
           "%" PRIu64 " of %" PRIu32 " cached objects are not listed so, "
           "%" PRIu64 " of %" PRIu64 " listed are not cached so%s%s",
           KIN__FEED_PLACE_ARGS(feed), check->version, count_missing(check),
           check->map.count, check->unlike, check->listed,
           check->named > 0 ? ": " : "",
           check->named > 0 ? check->names + 2 : "");
  kin__log_write(env->log, KIN_LOG_ERROR, "%s", message);
  enter(check, CHECK_DROPPING);
  kin__feed_tell(feed, KIN_EINCONSISTENT, KIN_CLASS_SERVER, message);
  return !check->is_closing;
}

static bool task_step(kin__task *task) {
  kin__list_check *check = KIN__CONTAINER_OF(task, kin__list_check, task);
  switch (check->phase) {
  case CHECK_UNMARKING:
    return unmark_step(check);
  case CHECK_NAMING:
    return name_step(check);
  case CHECK_TELLING:
    return tell_step(check);
  case CHECK_DROPPING:
    if (drop_some(check)) {
      return true;
    }
    check->phase = CHECK_IDLE;
    return false;
  default:
    return false;
  }
}

/* --- Life ----------------------------------------------------------------- */

static int init_pager(kin__list_check *check) {
  const kin__list_check_subject *of = &check->of;
  const kin__env *env = of->feed->env;
  const kin__settings *settings = of->settings;
  const kin__feed_subject subject = {.env = env,
                                     .settings = settings,
                                     .namespace_ = of->feed->namespace_,
                                     .http = &check->http,
                                     .memory = of->raw_memory};
  kin__pager_core_options options = {.owner = &owner,
                                     .feed = kin__feed_options_of(&subject),
                                     .list = {.page_size = UINT32_MAX,
                                              .version = check->version,
                                              .version_match = "Exact"}};
  int err = kin__transform_init(&check->transform, env->memory,
                                settings->options.transform,
                                settings->options.transform_data);
  if (err == 0) {
    err = kin__pager_core_init(&check->pager, &options);
  }
  return err;
}

static kin__list_check *make(const kin__list_check_subject *of) {
  const kin__env *env = of->feed->env;
  kin__list_check *check = kin__calloc(env->allocator, 1, sizeof *check);
  if (check == NULL) {
    return NULL;
  }
  check->of = *of;
  kin__slots_init(&check->slots, &env->memory->cells, sizeof(entry));
  kin__map_init(&check->map, &env->memory->cells, &check->slots);
  kin__task_init(&check->task, task_step);
  kin__timer_init(&check->timer, on_timer);
  if (init_pager(check) != 0) {
    kin__transform_finish(&check->transform);
    kin__free(env->allocator, check);
    return NULL;
  }
  return check;
}

static void interrupt(kin__list_check *check) {
  const kin__env *env = env_of(check);
  if (check->is_listing) {
    kin__pager_core_abort(&check->pager);
  }
  kin__timer_stop(env->timers, &check->timer);
  kin__sched_cancel(env->sched, &check->task);
}

void kin__list_check_begin(kin__list_check **made,
                           const kin__list_check_subject *of) {
  const kin_feed *feed = of->feed;
  const kin__env *env = feed->env;
  const char *version = kin__listwatch_list_version(&feed->listwatch);
  if (!env->check_watch_lists || !feed->is_held || version[0] == '\0' ||
      strcmp(version, "0") == 0) {
    return;
  }
  if (*made == NULL) {
    *made = make(of);
  }
  kin__list_check *check = *made;
  if (check == NULL) {
    kin__log_write(env->log, KIN_LOG_WARN,
                   KIN__FEED_PLACE
                   "no memory to check a list that came as a watch",
                   KIN__FEED_PLACE_ARGS(feed));
    return;
  }
  interrupt(check);
  snprintf(check->version, sizeof check->version, "%s", version);
  check->server_address = feed->server_address;
  check->own_writes = check->of.store->own_writes;
  check->tries = 0;
  check->phase = CHECK_CLEARING;
}

void kin__list_check_end(kin__list_check *check, const char *why) {
  if (check == NULL || check->phase == CHECK_IDLE ||
      check->phase >= CHECK_NAMING) {
    return;
  }
  interrupt(check);
  if (check->is_closing) {
    return; /* by the program's source */
  }
  if (why != NULL) {
    give_up(check, why);
  } else {
    enter(check, CHECK_DROPPING);
  }
}

void kin__list_check_close(kin__list_check *check) {
  if (check == NULL || check->is_closing) {
    return;
  }
  check->is_closing = true;
  check->phase = CHECK_IDLE;
  kin__timer_stop(env_of(check)->timers, &check->timer);
  kin__sched_cancel(env_of(check)->sched, &check->task);
  kin__pager_core_close(&check->pager);
}

bool kin__list_check_free_step(kin__list_check *check) {
  return check != NULL && (drop_some(check) || !check->is_pager_empty);
}

void kin__list_check_free(kin__list_check *check) {
  if (check == NULL) {
    return;
  }
  assert(check->is_pager_empty);
  kin__pager_core_finish(&check->pager);
  kin__transform_finish(&check->transform);
  kin__free(env_of(check)->allocator, check);
}
