/* SPDX-License-Identifier: MIT */
#include "workqueue/rate_limiter.h"

#include <kin/error.h>

#include "base/alloc.h"
#include "base/first_size.h"
#include "base/options.h"
#include "base/str.h"

/* The part that all limiters share, and the limiter that calls a program. */

/* --- All limiters --------------------------------------------------------- */

int kin__rate_limiter_make(kin_rate_limiter **out,
                           const kin_allocator *allocator,
                           const kin__rate_limiter_ops *ops, size_t size) {
  if (out == NULL) {
    return KIN_EINVAL;
  }
  *out = NULL;
  int err = kin__options_check_common(allocator, KIN_LOG_ERROR, NULL);
  if (err != 0) {
    return err;
  }
  allocator = allocator != NULL ? allocator : kin__default_allocator();
  kin_rate_limiter *limiter = kin__calloc(allocator, 1, size);
  if (limiter == NULL) {
    return KIN_ENOMEM;
  }
  limiter->ops = ops;
  limiter->allocator = *allocator;
  limiter->depth = 1;
  *out = limiter;
  return 0;
}

bool kin__rate_limiter_free_step(kin_rate_limiter *limiter, uint32_t count) {
  if (limiter == NULL) {
    return false;
  }
  if (limiter->ops->clear_step(limiter, count)) {
    return true;
  }
  kin_allocator allocator = limiter->allocator;
  kin__free(&allocator, limiter);
  return false;
}

void kin_rate_limiter_free(kin_rate_limiter *limiter) {
  if (limiter == NULL || limiter->is_owned) {
    return;
  }
  while (kin__rate_limiter_free_step(limiter, UINT32_MAX)) {
  }
}

uint64_t kin_rate_limiter_when_ms(kin_rate_limiter *limiter, kin_str key,
                                  uint64_t now_ns) {
  return limiter != NULL
             ? limiter->ops->when_ms(limiter, kin__str_given(key), now_ns)
             : 0;
}

void kin_rate_limiter_forget(kin_rate_limiter *limiter, kin_str key) {
  if (limiter != NULL) {
    limiter->ops->forget(limiter, kin__str_given(key));
  }
}

uint32_t kin_rate_limiter_requeues(const kin_rate_limiter *limiter,
                                   kin_str key) {
  return limiter != NULL ? limiter->ops->requeues(limiter, kin__str_given(key))
                         : 0;
}

/* --- A program's own ------------------------------------------------------ */

typedef struct own_limiter {
  kin_rate_limiter base;
  kin_rate_limiter_callbacks callbacks;
} own_limiter;

static uint64_t own_when_ms(kin_rate_limiter *limiter, kin_str key,
                            uint64_t now_ns) {
  const kin_rate_limiter_callbacks *own = &((own_limiter *)limiter)->callbacks;
  return own->when_ms(key, now_ns, own->data);
}

static void own_forget(kin_rate_limiter *limiter, kin_str key) {
  const kin_rate_limiter_callbacks *own = &((own_limiter *)limiter)->callbacks;
  if (own->forget != NULL) {
    own->forget(key, own->data);
  }
}

static uint32_t own_requeues(const kin_rate_limiter *limiter, kin_str key) {
  const kin_rate_limiter_callbacks *own =
      &((const own_limiter *)limiter)->callbacks;
  return own->requeues != NULL ? own->requeues(key, own->data) : 0;
}

static bool own_clear_step(kin_rate_limiter *limiter, uint32_t count) {
  const kin_rate_limiter_callbacks *own = &((own_limiter *)limiter)->callbacks;
  (void)count;
  if (own->free != NULL) {
    own->free(own->data);
  }
  return false;
}

int kin_rate_limiter_new(kin_rate_limiter **out, const kin_allocator *allocator,
                         const kin_rate_limiter_callbacks *callbacks) {
  static const kin__rate_limiter_ops ops = {.when_ms = own_when_ms,
                                            .forget = own_forget,
                                            .requeues = own_requeues,
                                            .clear_step = own_clear_step};
  if (out == NULL) {
    return KIN_EINVAL;
  }
  *out = NULL;
  kin_rate_limiter_callbacks copy;
  int err = kin__options_copy(&copy, sizeof copy, callbacks,
                              KIN__FIRST_SIZE(kin_rate_limiter_callbacks));
  if (err == 0 && copy.when_ms == NULL) {
    err = KIN_EINVAL;
  }
  if (err == 0) {
    err = kin__rate_limiter_make(out, allocator, &ops, sizeof(own_limiter));
  }
  if (err == 0) {
    ((own_limiter *)*out)->callbacks = copy;
  }
  return err;
}
