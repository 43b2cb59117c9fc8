/* SPDX-License-Identifier: MIT */
#include "informer/transform.h"

#include <stdio.h>

#include "base/alloc.h"
#include "feed/told_states.h"
#include "informer/compact.h"
#include "informer/scope.h"
#include "object/transform.h"

typedef struct kin__informer_transform {
  kin_informer *informer;
  kin__transform run;
  kin__memory *raw; /* without slabs */
  kin__told_states refused;
} kin__informer_transform;

/* Errors: KIN_ENOMEM; nothing is noted or counted then. */
static int note_failure(kin__scope *scope, const kin_object *object, int err) {
  kin__failure failure;
  char what[256];
  snprintf(what, sizeof what, "transform of %s",
           scope->informer->settings.resource.plural);
  kin__failure_from_code(&failure, err, what, kin_object_key(object).data);
  failure.error_class = KIN_CLASS_DECODE;
  int note_err = kin__feed_note_object(&scope->feed, &failure);
  scope->feed.counters.transform_failures += note_err == 0;
  return note_err;
}

static kin__object_parts identity_of(const kin_object *object) {
  return (kin__object_parts){.namespace_ = kin_object_namespace(object),
                             .name = kin_object_name(object),
                             .uid = kin_object_uid(object),
                             .version = kin_object_resource_version(object)};
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
  const kin__env *env = t->informer->env;
  const kin__object_parts identity = identity_of(object); /* and no text */
  if (kin__told_states_has(&t->refused, &identity)) {
    return kin__object_new(made, env->memory, &identity);
  }
  int err = run(t, type, object, made);
  if (err == 0 || err == KIN_ENOMEM) {
    return err;
  }
  int refused_err = kin__object_new(made, env->memory, &identity);
  if (refused_err != 0) {
    return refused_err;
  }
  err = note_failure(scope, object, err);
  if (err != 0) {
    kin__object_unref(*made);
    return err;
  }
  kin__told_states_add(&t->refused, env, &identity);
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
  informer->transform = t;
  t->raw = kin__memory_new(env->allocator);
  int err = t->raw != NULL
                ? kin__transform_init(&t->run, env->memory, options->transform,
                                      options->transform_data)
                : KIN_ENOMEM;
  if (err != 0) {
    kin__informer_transform_free(informer);
  } else if (options->drop_labels) {
    kin__transform_drop_labels(&t->run);
  }
  return err;
}

void kin__informer_transform_forget(const kin__scope *scope) {
  if (kin__object_notice_is_due(&scope->feed)) {
    kin__informer_transform_forget_states(scope->informer);
  }
}

void kin__informer_transform_forget_states(kin_informer *informer) {
  if (informer->transform != NULL) {
    kin__told_states_clear(&informer->transform->refused, informer->env);
  }
}

void kin__informer_transform_free(kin_informer *informer) {
  kin__informer_transform *t = informer->transform;
  if (t == NULL) {
    return;
  }
  kin__transform_finish(&t->run);
  kin__memory_unref(t->raw);
  kin__told_states_clear(&t->refused, informer->env);
  kin__free(informer->env->allocator, t);
  informer->transform = NULL;
}
