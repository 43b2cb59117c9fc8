/* SPDX-License-Identifier: MIT */
#include "workqueue/rate_limiter.h"

#include <kin/error.h>

#include "base/limiter.h"

/* The bucket limiter (WQ-12). A call that finds no token takes one that does
 * not exist yet, so the tokens are a balance: credit or debt. Both are counted
 * in trillionths of a token, as in base/limiter.h, so no call rounds.
 *
 * Invariant: there is credit or debt, never both. */

#define TOKEN UINT64_C(1000000000000)
#define NS_PER_MS UINT64_C(1000000)

typedef struct bucket_limiter {
  kin_rate_limiter base;
  uint64_t per_ns; /* credit; thousandths of a token a second */
  uint64_t capacity;
  uint64_t credit;
  uint64_t debt;
  uint64_t at_ns;
  bool is_begun; /* at_ns is a time */
} bucket_limiter;

static void earn(bucket_limiter *own, uint64_t now_ns) {
  uint64_t passed_ns =
      own->is_begun && now_ns > own->at_ns ? now_ns - own->at_ns : 0;
  own->at_ns += own->is_begun ? passed_ns : now_ns;
  own->is_begun = true;
  uint64_t earned = passed_ns <= UINT64_MAX / own->per_ns
                        ? passed_ns * own->per_ns
                        : UINT64_MAX;
  uint64_t paid = earned < own->debt ? earned : own->debt;
  own->debt -= paid;
  uint64_t room = own->capacity - own->credit;
  own->credit += earned - paid < room ? earned - paid : room;
}

static uint64_t when_ms(kin_rate_limiter *limiter, kin_str key,
                        uint64_t now_ns) {
  bucket_limiter *own = (bucket_limiter *)limiter;
  (void)key;
  earn(own, now_ns);
  if (own->credit >= TOKEN) {
    own->credit -= TOKEN;
    return 0;
  }
  own->debt = kin__add_or_max(own->debt, TOKEN - own->credit);
  own->credit = 0;
  uint64_t per_ms = own->per_ns * NS_PER_MS;
  return own->debt / per_ms + (own->debt % per_ms != 0);
}

static void forget(kin_rate_limiter *limiter, kin_str key) {
  (void)limiter;
  (void)key;
}

static uint32_t requeues(const kin_rate_limiter *limiter, kin_str key) {
  (void)limiter;
  (void)key;
  return 0;
}

static bool clear_step(kin_rate_limiter *limiter, uint32_t count) {
  (void)limiter;
  (void)count;
  return false;
}

int kin_rate_limiter_new_bucket(kin_rate_limiter **out,
                                const kin_allocator *allocator,
                                uint32_t qps_milli, uint32_t burst) {
  static const kin__rate_limiter_ops ops = {.when_ms = when_ms,
                                            .forget = forget,
                                            .requeues = requeues,
                                            .clear_step = clear_step};
  if (out != NULL) {
    *out = NULL;
  }
  if (qps_milli == 0 || qps_milli > KIN__BUCKET_MAX_QPS_MILLI || burst == 0 ||
      burst > KIN__BUCKET_MAX_BURST) {
    return KIN_EINVAL;
  }
  int err =
      kin__rate_limiter_make(out, allocator, &ops, sizeof(bucket_limiter));
  if (err == 0) {
    bucket_limiter *own = (bucket_limiter *)*out;
    own->per_ns = qps_milli;
    own->capacity = own->credit = burst * TOKEN;
  }
  return err;
}
