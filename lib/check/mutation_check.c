/* SPDX-License-Identifier: MIT */
#include "check/mutation_check.h"

#include <kin/error.h>

#include "base/alloc.h"
#include "base/str.h"
#include "object/seal.h"
#include "check/mutation_detector.h"

#define DEFAULT_PERIOD_MS 1000u /* CN-07 */
#define SLOTS_PER_STEP 256u
#define BYTES_PER_STEP (256u << 10)
#define LEAVING_BYTES (64u << 10)
#define FOREIGN_PER_STEP 32u
#define MAX_LOGGED_KEY 320u

/* --- Finding -------------------------------------------------------------- */

static void keep(kin__mutation_check *check, const kin_object *object,
                 size_t block) {
  kin__seal *seal = kin__object_seal(object);
  seal->is_reported = true;
  seal->block = block;
  seal->next = NULL;
  *check->found_end = kin__object_ref(object);
  check->found_end = &seal->next;
  kin__sched_add(check->env->sched, &check->task);
}

/* The checksums to compare with. NULL: the object cannot have changed, or its
 * change was found already. */
static const uint64_t *sums_of(const kin__seal *seal) {
  return seal->is_reported ? NULL : seal->sums;
}

static uint64_t now_ms(void *env) {
  return kin__env_now_ms(env);
}

static void on_foreign(const kin_mutation *mutation, void *data) {
  kin__mutation_check *check = data;
  kin__object_ref(mutation->object);
  check->foreign = *mutation;
}

/* Without memory the next pass tries again. Returns the blocks that a new
 * object costs. */
static size_t remember(kin__mutation_check *check, const kin_object *object) {
  if (check->detector == NULL) {
    kin_mutation_detector_options options = KIN_MUTATION_DETECTOR_OPTIONS_INIT;
    options.allocator = check->env->allocator;
    options.now_ms = now_ms;
    options.now_ctx = (void *)check->env;
    options.on_mutation = on_foreign;
    options.data = check;
    if (kin_mutation_detector_new(&check->detector, &options) != 0) {
      return 0;
    }
  }
  size_t count = kin_mutation_detector_count(check->detector);
  (void)kin_mutation_detector_add(check->detector, object);
  return kin_mutation_detector_count(check->detector) > count
             ? kin_object_memory(object) / KIN__SUM_BLOCK + 1
             : 0;
}

static void spend(size_t *blocks, size_t spent) {
  *blocks -= spent < *blocks ? spent : *blocks;
}

/* Compares a part of the slot's object. Returns whether a part is left. */
static bool compare_object(kin__mutation_check *check, const kin_object *object,
                           size_t *blocks) {
  const kin__seal *seal = kin__object_seal(object);
  if (seal == NULL) {
    spend(blocks, remember(check, object));
    return false;
  }
  const uint64_t *sums = sums_of(seal);
  if (sums == NULL) {
    return false;
  }
  if (check->object != object) {
    check->object = object;
    check->block = 0;
  }
  size_t begin = check->block;
  kin__comparison result =
      kin__object_compare(object, sums, &check->block, *blocks);
  if (result == KIN__DIFFERENT) {
    keep(check, object, check->block);
  }
  spend(blocks, check->block > begin ? check->block - begin : 1);
  return result == KIN__UNFINISHED;
}

static void compare_sealed(kin__mutation_check *check) {
  const kin_store *store = check->store;
  size_t blocks = BYTES_PER_STEP / KIN__SUM_BLOCK;
  kin__slice slice = kin__slice_begin_small(check->env->sched, SLOTS_PER_STEP);
  while (blocks > 0 && kin__slice_next(&slice)) {
    if (check->slot >= kin__slots_limit(&store->slots)) {
      check->phase = KIN__MUTATION_FOREIGN;
      return;
    }
    const kin_object *object = kin__store_at(store, check->slot)->object;
    if (object == NULL || !compare_object(check, object, &blocks)) {
      check->object = NULL;
      check->slot++;
    }
  }
}

/* One object at a time: there is room for one changed object. */
static bool compare_foreign(kin__mutation_check *check) {
  size_t bytes = BYTES_PER_STEP;
  kin__slice slice = kin__slice_begin(check->env->sched, FOREIGN_PER_STEP);
  while (bytes > 0 && kin__slice_next(&slice)) {
    if (check->foreign.object != NULL) {
      return true;
    }
    if (check->detector == NULL ||
        !kin__mutation_detector_check_some(check->detector, 1, &bytes)) {
      return false;
    }
  }
  return true;
}

void kin__mutation_check_look(kin__mutation_check *check,
                              const kin_object *object) {
  const kin__seal *seal = check->is_stopped ? NULL : kin__object_seal(object);
  const uint64_t *sums = seal != NULL ? sums_of(seal) : NULL;
  size_t block = 0;
  if (sums != NULL &&
      kin__object_compare(object, sums, &block,
                          LEAVING_BYTES / KIN__SUM_BLOCK) == KIN__DIFFERENT) {
    keep(check, object, block);
  }
}

/* --- Reports -------------------------------------------------------------- */

/* A key that was written to may hold any bytes. */
static void copy_printable(char *to, size_t capacity, kin_str key) {
  size_t length = key.length < capacity ? key.length : capacity - 1;
  for (size_t i = 0; i < length; i++) {
    bool is_printable = key.data[i] > ' ' && key.data[i] < 0x7f;
    to[i] = is_printable ? key.data[i] : '?';
  }
  to[length] = '\0';
}

static void tell(const kin__mutation_check *check,
                 const kin_mutation *mutation) {
  if (check->is_stopped) {
    return;
  }
  char key[MAX_LOGGED_KEY];
  copy_printable(key, sizeof key, mutation->key);
  kin__log_write(check->env->log, KIN_LOG_ERROR,
                 "%s: the cached %s was written to, at byte %zu of its %s",
                 check->plural, key, mutation->offset,
                 kin_mutation_part_name(mutation->part));
  const kin__env *env = check->env;
  uint64_t start_ns = kin__clock_ns(&env->clock);
  check->found_one(check->owner, mutation);
  kin__env_add_handler_time(env, start_ns);
}

static kin_object *pop_found(kin__mutation_check *check) {
  kin_object *object = check->found;
  kin__seal *seal = kin__object_seal(object);
  check->found = seal->next;
  if (check->found == NULL) {
    check->found_end = &check->found;
  }
  return object;
}

static void tell_sealed(kin__mutation_check *check) {
  kin_object *object = pop_found(check);
  const kin__seal *seal = kin__object_seal(object);
  kin_mutation mutation =
      kin__object_mutation(object, seal->sums, seal->block, seal->key_length);
  tell(check, &mutation);
  kin__object_unref(object);
}

static void tell_foreign(kin__mutation_check *check) {
  kin_mutation mutation = check->foreign;
  check->foreign.object = NULL;
  tell(check, &mutation);
  kin__object_unref(mutation.object);
}

/* --- The task ------------------------------------------------------------- */

static void wait(kin__mutation_check *check) {
  const kin__env *env = check->env;
  uint32_t period = env->mutation_check_ms;
  check->phase = KIN__MUTATION_WAITING;
  kin__timer_start(env->timers, &check->timer,
                   kin__env_now_ms(env) +
                       (period != 0 ? period : DEFAULT_PERIOD_MS));
}

static bool step(kin__task *task) {
  kin__mutation_check *check =
      KIN__CONTAINER_OF(task, kin__mutation_check, task);
  if (check->found != NULL) {
    tell_sealed(check);
  } else if (check->foreign.object != NULL) {
    tell_foreign(check);
  } else if (check->phase == KIN__MUTATION_SEALED) {
    compare_sealed(check);
  } else if (check->phase == KIN__MUTATION_FOREIGN && !compare_foreign(check) &&
             check->foreign.object == NULL) {
    wait(check);
  }
  return !check->is_stopped &&
         (check->phase != KIN__MUTATION_WAITING || check->found != NULL);
}

static void on_timer(kin__timer *timer) {
  kin__mutation_check *check =
      KIN__CONTAINER_OF(timer, kin__mutation_check, timer);
  check->phase = KIN__MUTATION_SEALED;
  check->slot = 0;
  check->object = NULL;
  kin__sched_add(check->env->sched, &check->task);
}

int kin__mutation_check_new(kin__mutation_check **out, const kin__env *env,
                            const kin_store *store, const char *plural,
                            kin__mutation_cb found_one, void *owner) {
  *out = NULL;
  if (env->memory->check == KIN_MUTATION_CHECK_OFF) {
    return 0;
  }
  kin__mutation_check *check = kin__malloc(env->allocator, sizeof *check);
  if (check == NULL) {
    return KIN_ENOMEM;
  }
  *check = (kin__mutation_check){.env = env,
                                 .store = store,
                                 .plural = plural,
                                 .found_one = found_one,
                                 .owner = owner};
  check->found_end = &check->found;
  kin__task_init(&check->task, step);
  kin__timer_init(&check->timer, on_timer);
  *out = check;
  return 0;
}

void kin__mutation_check_free(kin__mutation_check *check) {
  if (check != NULL) {
    kin__free(check->env->allocator, check);
  }
}

void kin__mutation_check_start(kin__mutation_check *check) {
  if (check != NULL) {
    wait(check);
  }
}

void kin__mutation_check_stop(kin__mutation_check *check) {
  if (check == NULL) {
    return;
  }
  const kin__env *env = check->env;
  check->is_stopped = true;
  kin__timer_stop(env->timers, &check->timer);
  kin__sched_cancel(env->sched, &check->task);
  while (check->found != NULL) {
    kin__object_unref(pop_found(check));
  }
  kin__object_unref(check->foreign.object);
  check->foreign.object = NULL;
}

bool kin__mutation_check_free_step(kin__mutation_check *check, size_t count) {
  if (check == NULL || check->detector == NULL) {
    return false;
  }
  if (kin__mutation_detector_drop(check->detector, count)) {
    return true;
  }
  kin_mutation_detector_free(check->detector);
  check->detector = NULL;
  return false;
}
