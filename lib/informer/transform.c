/* SPDX-License-Identifier: MIT */
#include "informer/transform.h"

#include <stdio.h>

#include "base/alloc.h"
#include "informer/compact.h"
#include "informer/scope.h"
#include "object/transform.h"

typedef struct kin__informer_transform {
  kin_informer *informer;
  kin__transform run;
  kin__memory *raw;  /* without slabs */
  uint64_t *refused; /* fingerprints, placed by value modulo the table's size;
                      * 0: none. NULL before the first */

  kin__task task; /* reports */
  kin__scope *scope;
  kin__failure failure; /* the first unreported one */
  uint32_t untold;      /* number of unreported failures */
} kin__informer_transform;

/* --- Refused states ------------------------------------------------------- */

/* 0: the object's version cannot be recognised. */
static uint64_t fingerprint(const kin_informer *informer,
                            const kin_object *object) {
  const kin__hash_seed *seed = &informer->store.seed;
  kin_str uid = kin_object_uid(object);
  kin_str version = kin_object_resource_version(object);
  if (uid.length == 0 || version.length == 0) {
    return 0;
  }
  uint64_t print = kin__hash(seed, kin_object_key(object));
  print = print << 32 | kin__hash(seed, version);
  print ^= kin__hash(seed, uid) * UINT64_C(0x9e3779b97f4a7c15);
  return print != 0 ? print : 1;
}

static bool was_refused(const kin__informer_transform *t, uint64_t print) {
  return print != 0 && t->refused != NULL &&
         t->refused[print % KIN__TRANSFORM_TABLE] == print;
}

/* While versions repeat, a version does not identify a state. */
static void forget_refused(kin__informer_transform *t) {
  kin__free(t->informer->env->allocator, t->refused);
  t->refused = NULL;
}

/* Without memory the failure is reported each time. */
static void note_refused(kin__informer_transform *t, uint64_t print) {
  if (t->refused == NULL) {
    t->refused = kin__calloc(t->informer->env->allocator, KIN__TRANSFORM_TABLE,
                             sizeof *t->refused);
  }
  if (t->refused != NULL && print != 0) {
    t->refused[print % KIN__TRANSFORM_TABLE] = print;
  }
}

/* --- Reports -------------------------------------------------------------- */

static void note_failure(kin__informer_transform *t, kin__scope *scope,
                         const kin_object *object, int err) {
  const kin__env *env = t->informer->env;
  const char *plural = t->informer->settings.resource.plural;
  kin__failure failure;
  char what[256];
  snprintf(what, sizeof what, "transform of %s", plural);
  kin__failure_from_code(&failure, err, what, kin_object_key(object).data);
  failure.error_class = KIN_CLASS_DECODE;
  kin__log_write(env->log, KIN_LOG_WARN, "%s", failure.message);
  scope->feed.counters.transform_failures++;
  if (t->untold++ == 0) {
    t->scope = scope;
    t->failure = failure;
    kin__sched_add(env->sched, &t->task);
  }
}

static bool tell_step(kin__task *task) {
  kin__informer_transform *t =
      KIN__CONTAINER_OF(task, kin__informer_transform, task);
  kin_feed *feed = &t->scope->feed;
  char message[sizeof t->failure.message + 32];
  int length = snprintf(message, sizeof message, "%s", t->failure.message);
  if (t->untold > 1) {
    snprintf(message + length, sizeof message - (size_t)length, " and %u more",
             t->untold - 1);
  }
  t->untold = 0;
  kin__feed_tell(feed, t->failure.code, t->failure.error_class, message);
  return false;
}

/* --- Running -------------------------------------------------------------- */

/* Makes an object without text. */
static int make_refused(kin__informer_transform *t, const kin_object *object,
                        kin_object **out) {
  kin__object_parts parts = {.namespace_ = kin_object_namespace(object),
                             .name = kin_object_name(object),
                             .uid = kin_object_uid(object),
                             .version = kin_object_resource_version(object)};
  return kin__object_new(out, t->informer->env->memory, &parts);
}

/* A cached object with this uid and version is transformed already. */
static const kin_object *find_cached(kin_feed *feed, kin__decoded_type type,
                                     const kin_object *object) {
  kin_str uid = kin_object_uid(object);
  kin_str version = kin_object_resource_version(object);
  bool is_cacheable =
      (type == KIN__DECODED_ADDED || type == KIN__DECODED_MODIFIED) &&
      uid.length > 0 && version.length > 0;
  return is_cacheable
             ? feed->owner->cached(feed, kin_object_key(object), uid, version)
             : NULL;
}

/* If the transform returned the same object, an object in raw memory is copied
 * to the informer's memory. */
static int run(kin__informer_transform *t, kin__decoded_type type,
               const kin_object *object, kin_object **made) {
  size_t headroom = kin__http_source_headroom(type, kin__object_body(object));
  int err = kin__transform_run(&t->run, object, headroom, made);
  if (err != 0 || *made != object ||
      kin__object_allocator(object) != &t->raw->allocator) {
    return err;
  }
  kin__object_unref(*made);
  return kin__object_copy(made, t->informer->env->memory, object, headroom);
}

static int run_or_refuse(kin__scope *scope, kin__decoded_type type,
                         const kin_object *object, kin_object **made) {
  kin__informer_transform *t = scope->informer->transform;
  bool is_repeating = kin__listwatch_versions_repeat(&scope->feed.listwatch);
  if (is_repeating) {
    forget_refused(t);
  }
  uint64_t print = t->refused != NULL ? fingerprint(t->informer, object) : 0;
  if (was_refused(t, print)) {
    return make_refused(t, object, made);
  }
  int err = run(t, type, object, made);
  if (err == 0 || err == KIN_ENOMEM) {
    return err;
  }
  int refused_err = make_refused(t, object, made);
  if (refused_err != 0) {
    return refused_err;
  }
  note_failure(t, scope, object, err);
  if (!is_repeating) {
    note_refused(t, fingerprint(t->informer, object));
  }
  return 0;
}

int kin__informer_transform_keep(kin_feed *feed, kin__decoded_type type,
                                 kin_object **object) {
  if (kin__scope_of(feed)->informer->transform == NULL) {
    return 0;
  }
  const kin_object *cached = find_cached(feed, type, *object);
  kin_object *kept = NULL;
  int err = 0;
  if (cached != NULL) {
    kept = kin__object_ref(cached);
  } else {
    err = run_or_refuse(kin__scope_of(feed), type, *object, &kept);
  }
  if (err == 0) {
    kin__object_unref(*object);
    *object = kept;
  }
  return err;
}

kin__memory *kin__informer_raw_memory(const kin_informer *informer) {
  return informer->transform != NULL ? informer->transform->raw
                                     : kin__compact_raw_memory(informer);
}

/* --- Life ----------------------------------------------------------------- */

int kin__informer_transform_open(kin_informer *informer) {
  const kin__kept_options *options = &informer->settings.options;
  const kin__env *env = informer->env;
  if (options->transform == NULL) {
    return 0;
  }
  kin__informer_transform *t = kin__calloc(env->allocator, 1, sizeof *t);
  if (t == NULL) {
    return KIN_ENOMEM;
  }
  t->informer = informer;
  kin__task_init(&t->task, tell_step);
  informer->transform = t;
  t->raw = kin__memory_new(env->allocator);
  int err = t->raw != NULL
                ? kin__transform_init(&t->run, env->memory, options->transform,
                                      options->transform_data)
                : KIN_ENOMEM;
  if (err != 0) {
    kin__informer_transform_free(informer);
  }
  return err;
}

void kin__informer_transform_close(kin_informer *informer) {
  if (informer->transform != NULL) {
    kin__sched_cancel(informer->env->sched, &informer->transform->task);
  }
}

void kin__informer_transform_forget(kin__scope *scope) {
  kin__informer_transform *t = scope->informer->transform;
  if (t != NULL && t->scope == scope) {
    kin__sched_cancel(scope->informer->env->sched, &t->task);
    t->scope = NULL;
    if (t->untold > 0) {
      t->untold = 0;
      forget_refused(t);
    }
  }
}

void kin__informer_transform_forget_states(kin_informer *informer) {
  if (informer->transform != NULL) {
    forget_refused(informer->transform);
  }
}

void kin__informer_transform_free(kin_informer *informer) {
  kin__informer_transform *t = informer->transform;
  if (t == NULL) {
    return;
  }
  kin__transform_finish(&t->run);
  kin__memory_unref(t->raw);
  kin__free(informer->env->allocator, t->refused);
  kin__free(informer->env->allocator, t);
  informer->transform = NULL;
}
