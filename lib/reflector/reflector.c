/* SPDX-License-Identifier: MIT */
#include "reflector/reflector.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* Each input has one handler below; each handler leaves through one of the
 * `to_` functions, which say what holds in the new state. */

#define DEFAULT_PAGE_SIZE 500u
#define MAX_TOKEN (16u << 10)
#define VERY_SHORT_WATCH_MS 1000u
#define WATCH_MIN_S 300u
#define WATCH_SPREAD_S 300u
#define WATCH_MARGIN_MS 30000u
#define MAX_RETRY_AFTER_S 3600

#define BIT(state) (1u << (state))

static const unsigned transitions[] = {
    [KIN__REFLECTOR_IDLE] =
        BIT(KIN__REFLECTOR_LISTING) | BIT(KIN__REFLECTOR_STOPPED),
    [KIN__REFLECTOR_LISTING] =
        BIT(KIN__REFLECTOR_LISTING) | BIT(KIN__REFLECTOR_APPLYING) |
        BIT(KIN__REFLECTOR_WAITING) | BIT(KIN__REFLECTOR_STOPPED),
    [KIN__REFLECTOR_APPLYING] =
        BIT(KIN__REFLECTOR_OPENING) | BIT(KIN__REFLECTOR_STOPPED),
    [KIN__REFLECTOR_OPENING] = BIT(KIN__REFLECTOR_WATCHING) |
                               BIT(KIN__REFLECTOR_WAITING) |
                               BIT(KIN__REFLECTOR_STOPPED),
    [KIN__REFLECTOR_WATCHING] =
        BIT(KIN__REFLECTOR_OPENING) | BIT(KIN__REFLECTOR_VERIFYING) |
        BIT(KIN__REFLECTOR_WAITING) | BIT(KIN__REFLECTOR_STOPPED),
    [KIN__REFLECTOR_VERIFYING] = BIT(KIN__REFLECTOR_OPENING) |
                                 BIT(KIN__REFLECTOR_WAITING) |
                                 BIT(KIN__REFLECTOR_STOPPED),
    [KIN__REFLECTOR_WAITING] =
        BIT(KIN__REFLECTOR_LISTING) | BIT(KIN__REFLECTOR_OPENING) |
        BIT(KIN__REFLECTOR_VERIFYING) | BIT(KIN__REFLECTOR_STOPPED),
    [KIN__REFLECTOR_STOPPED] = 0,
};

bool kin__reflector_may(kin__reflector_state from, kin__reflector_state to) {
  return (transitions[from] & BIT(to)) != 0;
}

const char *kin__reflector_state_name(kin__reflector_state state) {
  static const char *const names[] = {
      [KIN__REFLECTOR_IDLE] = "IDLE",
      [KIN__REFLECTOR_LISTING] = "LISTING",
      [KIN__REFLECTOR_APPLYING] = "APPLYING",
      [KIN__REFLECTOR_OPENING] = "OPENING",
      [KIN__REFLECTOR_WATCHING] = "WATCHING",
      [KIN__REFLECTOR_VERIFYING] = "VERIFYING",
      [KIN__REFLECTOR_WAITING] = "WAITING",
      [KIN__REFLECTOR_STOPPED] = "STOPPED",
  };
  return names[state];
}

void kin__reflector_init(kin__reflector *reflector,
                         const kin_allocator *allocator, kin__random *random,
                         uint32_t page_size, uint64_t now_ms) {
  *reflector = (kin__reflector){.random = random, .page_size = page_size};
  kin__backoff_init(&reflector->backoff, now_ms);
  kin__buf_init(&reflector->token, allocator, MAX_TOKEN);
}

void kin__reflector_finish(kin__reflector *reflector) {
  kin__buf_finish(&reflector->token);
}

/* Versions come from bounded buffers; a longer one is not taken over. */
static bool set_version(char to[KIN__VERSION_SIZE], kin_str version) {
  if (version.length >= KIN__VERSION_SIZE) {
    return false;
  }
  memcpy(to, version.data, version.length);
  to[version.length] = '\0';
  return true;
}

static void copy_version(char to[KIN__VERSION_SIZE], const char *from) {
  snprintf(to, KIN__VERSION_SIZE, "%s", from);
}

static void to_state(kin__reflector *reflector, kin__reflector_state state) {
  assert(kin__reflector_may(reflector->state, state));
  reflector->state = state;
}

/* --- LISTING ------------------------------------------------------------- */

static bool is_any_version(const char *version) {
  return version[0] == '\0' || strcmp(version, "0") == 0;
}

/* RL-02. */
static uint32_t choose_limit(const kin__reflector *reflector) {
  if (reflector->page_size != 0) {
    return reflector->page_size == UINT32_MAX ? 0 : reflector->page_size;
  }
  bool is_paged =
      reflector->is_paginated || is_any_version(reflector->list_version);
  return is_paged ? DEFAULT_PAGE_SIZE : 0;
}

static void request_page(kin__reflector *reflector,
                         kin__reflector_actions *actions) {
  to_state(reflector, KIN__REFLECTOR_LISTING);
  actions->request = KIN__REQUEST_LIST;
  actions->limit = reflector->list_limit;
  if (reflector->token.length > 0) {
    actions->token = reflector->token.data;
  } else {
    actions->version = reflector->list_version;
  }
}

/* Discards what was staged and asks for the first page again. */
static void restart_list(kin__reflector *reflector,
                         kin__reflector_actions *actions) {
  reflector->pages = 0;
  kin__buf_reset(&reflector->token, 0);
  actions->drop_stage = true;
  request_page(reflector, actions);
}

/* RF-14: never back in time, unless the version is known to be unavailable. */
static void to_listing(kin__reflector *reflector,
                       kin__reflector_actions *actions) {
  const char *version =
      reflector->version[0] != '\0' ? reflector->version : "0";
  copy_version(reflector->list_version,
               reflector->version_unavailable ? "" : version);
  reflector->list_limit = choose_limit(reflector);
  reflector->fell_back_to_full = false;
  reflector->fell_back_to_current = false;
  restart_list(reflector, actions);
}

/* --- OPENING, VERIFYING, WAITING ----------------------------------------- */

static void to_opening(kin__reflector *reflector, uint64_t now_ms,
                       kin__reflector_actions *actions) {
  to_state(reflector, KIN__REFLECTOR_OPENING);
  reflector->watch_began_ms = now_ms;
  reflector->saw_anything = false;
  reflector->version_is_ordered = !is_any_version(reflector->version);
  actions->request = KIN__REQUEST_WATCH;
  actions->version = reflector->version;
  reflector->watch_timeout_s =
      WATCH_MIN_S +
      (uint32_t)kin__random_below(reflector->random, WATCH_SPREAD_S);
  actions->timeout_s = reflector->watch_timeout_s;
}

static void to_verifying(kin__reflector *reflector,
                         kin__reflector_actions *actions) {
  to_state(reflector, KIN__REFLECTOR_VERIFYING);
  actions->request = KIN__REQUEST_VERIFY;
  actions->version = reflector->version;
  actions->version_match =
      is_any_version(reflector->version) ? "" : "NotOlderThan";
  actions->limit = 1;
}

static void enter(kin__reflector *reflector, kin__reflector_state state,
                  uint64_t now_ms, kin__reflector_actions *actions) {
  switch (state) {
  case KIN__REFLECTOR_LISTING:
    to_listing(reflector, actions);
    break;
  case KIN__REFLECTOR_VERIFYING:
    to_verifying(reflector, actions);
    break;
  default:
    to_opening(reflector, now_ms, actions);
    break;
  }
}

static void to_waiting(kin__reflector *reflector, kin__reflector_state after,
                       uint64_t delay_ms, kin__reflector_actions *actions) {
  to_state(reflector, KIN__REFLECTOR_WAITING);
  reflector->after_wait = after;
  actions->start_timer = true;
  actions->timer_ms = delay_ms;
  actions->retry_in_ms = delay_ms;
}

static uint64_t next_delay_ms(kin__reflector *reflector, int64_t retry_after_s,
                              uint64_t now_ms) {
  uint64_t delay_ms =
      kin__backoff_next_ms(&reflector->backoff, now_ms, reflector->random);
  if (retry_after_s > MAX_RETRY_AFTER_S) {
    retry_after_s = MAX_RETRY_AFTER_S;
  }
  if (retry_after_s > 0 && delay_ms < (uint64_t)retry_after_s * 1000) {
    delay_ms = (uint64_t)retry_after_s * 1000;
  }
  return delay_ms;
}

static void count_failure(kin__reflector *reflector, uint64_t now_ms,
                          kin__reflector_actions *actions) {
  if (reflector->failures++ == 0) {
    reflector->failing_since_ms = now_ms;
  }
  actions->report = true;
}

static void fail(kin__reflector *reflector, const kin__failure *failure,
                 kin__reflector_state after, uint64_t now_ms,
                 kin__reflector_actions *actions) {
  count_failure(reflector, now_ms, actions);
  to_waiting(reflector, after,
             next_delay_ms(reflector, failure->retry_after_s, now_ms), actions);
}

/* --- Inputs --------------------------------------------------------------- */

static void on_head(kin__reflector *reflector,
                    kin__reflector_actions *actions) {
  if (reflector->state != KIN__REFLECTOR_OPENING) {
    return;
  }
  to_state(reflector, KIN__REFLECTOR_WATCHING);
  reflector->failures = 0;
  actions->start_timer = true;
  actions->timer_ms =
      reflector->watch_timeout_s * UINT64_C(1000) + WATCH_MARGIN_MS;
}

static void on_complete_list(kin__reflector *reflector,
                             kin__reflector_actions *actions) {
  if (reflector->pages > 1 && strcmp(reflector->list_version, "0") == 0) {
    reflector->is_paginated = true;
  }
  reflector->failures = 0;
  to_state(reflector, KIN__REFLECTOR_APPLYING);
  actions->apply_stage = true;
}

static void on_page(kin__reflector *reflector,
                    const kin__reflector_input *input, uint64_t now_ms,
                    kin__reflector_actions *actions) {
  if (reflector->state == KIN__REFLECTOR_VERIFYING) {
    reflector->failures = 0;
    to_opening(reflector, now_ms, actions);
    return;
  }
  if (reflector->state != KIN__REFLECTOR_LISTING) {
    return;
  }
  if (reflector->pages++ == 0) {
    copy_version(reflector->found_version, input->version);
  }
  kin__buf_reset(&reflector->token, MAX_TOKEN);
  if (input->token[0] == '\0') {
    on_complete_list(reflector, actions);
    return;
  }
  int err = kin__buf_append(&reflector->token, input->token,
                            strlen(input->token) + 1);
  if (err == 0) {
    request_page(reflector, actions);
    return;
  }
  kin__buf_reset(&reflector->token, 0);
  actions->drop_stage = true;
  to_waiting(reflector, KIN__REFLECTOR_LISTING,
             next_delay_ms(reflector, -1, now_ms), actions);
}

/* RF-13: the position moves when the store has the list. */
static void on_applied(kin__reflector *reflector, uint64_t now_ms,
                       kin__reflector_actions *actions) {
  if (reflector->state != KIN__REFLECTOR_APPLYING) {
    return;
  }
  copy_version(reflector->version, reflector->found_version);
  reflector->version_unavailable = false;
  to_opening(reflector, now_ms, actions);
}

static bool is_position_lost(const kin__failure *failure) {
  return failure->is_expired || failure->is_rv_too_large ||
         failure->error_class == KIN_CLASS_DECODE || failure->status == 400 ||
         failure->status == 422 ||
         strcmp(failure->reason, "StorageReadError") == 0;
}

/* The same, noting that a list at the last version would be refused too. */
static bool loses_position(kin__reflector *reflector,
                           const kin__failure *failure) {
  if (failure->is_rv_too_large) {
    reflector->version_unavailable = true;
  }
  return is_position_lost(failure);
}

/* RL-05, PG-03: what can be had at once is asked for at once. */
static bool list_falls_back(kin__reflector *reflector,
                            const kin__failure *failure,
                            kin__reflector_actions *actions) {
  bool is_page_expired =
      reflector->pages > 0 && strcmp(failure->reason, "Expired") == 0;
  if (is_page_expired && !reflector->fell_back_to_full) {
    reflector->fell_back_to_full = true;
    reflector->list_limit = 0;
    restart_list(reflector, actions);
    return true;
  }
  if (!failure->is_expired && !failure->is_rv_too_large) {
    return false;
  }
  reflector->version_unavailable = true;
  if (reflector->fell_back_to_current) {
    return false;
  }
  reflector->fell_back_to_current = true;
  copy_version(reflector->list_version, "");
  restart_list(reflector, actions);
  return true;
}

static void on_list_failed(kin__reflector *reflector,
                           const kin__failure *failure, uint64_t now_ms,
                           kin__reflector_actions *actions) {
  if (list_falls_back(reflector, failure, actions)) {
    count_failure(reflector, now_ms, actions);
    return;
  }
  kin__buf_reset(&reflector->token, 0);
  actions->drop_stage = true;
  fail(reflector, failure, KIN__REFLECTOR_LISTING, now_ms, actions);
}

/* Where to go on after a watch: a silent one proves nothing about the
 * position. */
static kin__reflector_state after_watch(const kin__reflector *reflector) {
  return reflector->saw_anything ? KIN__REFLECTOR_OPENING
                                 : KIN__REFLECTOR_VERIFYING;
}

/* A watch that broke is resumed at once, unless it broke so soon that resuming
 * at once would be a storm. */
static void on_watch_broke(kin__reflector *reflector,
                           const kin__failure *failure, uint64_t now_ms,
                           kin__reflector_actions *actions) {
  if (loses_position(reflector, failure)) {
    fail(reflector, failure, KIN__REFLECTOR_LISTING, now_ms, actions);
    return;
  }
  bool was_dropped = failure->status == 0 &&
                     failure->error_class != KIN_CLASS_MEMORY &&
                     now_ms - reflector->watch_began_ms >= VERY_SHORT_WATCH_MS;
  if (!was_dropped) {
    fail(reflector, failure, after_watch(reflector), now_ms, actions);
    return;
  }
  count_failure(reflector, now_ms, actions);
  enter(reflector, after_watch(reflector), now_ms, actions);
}

static void on_failed(kin__reflector *reflector, const kin__failure *failure,
                      uint64_t now_ms, kin__reflector_actions *actions) {
  switch (reflector->state) {
  case KIN__REFLECTOR_LISTING:
    on_list_failed(reflector, failure, now_ms, actions);
    break;
  case KIN__REFLECTOR_WATCHING:
    actions->stop_timer = true;
    on_watch_broke(reflector, failure, now_ms, actions);
    break;
  case KIN__REFLECTOR_OPENING:
  case KIN__REFLECTOR_VERIFYING: {
    bool is_lost = loses_position(reflector, failure);
    fail(reflector, failure,
         is_lost ? KIN__REFLECTOR_LISTING : reflector->state, now_ms, actions);
    break;
  }
  default:
    break;
  }
}

static void on_error_event(kin__reflector *reflector,
                           const kin__failure *failure, uint64_t now_ms,
                           kin__reflector_actions *actions) {
  if (reflector->state != KIN__REFLECTOR_WATCHING) {
    return;
  }
  actions->cancel_request = true;
  actions->stop_timer = true;
  on_watch_broke(reflector, failure, now_ms, actions);
}

/* RW-02, RW-07: a watch that ended as it should says nothing and is opened
 * again. */
static void on_watch_ended(kin__reflector *reflector, uint64_t now_ms,
                           kin__reflector_actions *actions) {
  if (reflector->state != KIN__REFLECTOR_WATCHING) {
    return;
  }
  actions->stop_timer = true;
  if (now_ms - reflector->watch_began_ms < VERY_SHORT_WATCH_MS) {
    to_waiting(reflector, after_watch(reflector),
               next_delay_ms(reflector, -1, now_ms), actions);
  } else {
    enter(reflector, after_watch(reflector), now_ms, actions);
  }
}

static void on_timer(kin__reflector *reflector, uint64_t now_ms,
                     kin__reflector_actions *actions) {
  if (reflector->state == KIN__REFLECTOR_WAITING) {
    enter(reflector, reflector->after_wait, now_ms, actions);
  } else if (reflector->state == KIN__REFLECTOR_WATCHING) {
    /* The server did not end the watch when it was asked to (RW-15). */
    actions->cancel_request = true;
    enter(reflector, after_watch(reflector), now_ms, actions);
  }
}

static void on_stop(kin__reflector *reflector,
                    kin__reflector_actions *actions) {
  if (reflector->state == KIN__REFLECTOR_STOPPED) {
    return;
  }
  to_state(reflector, KIN__REFLECTOR_STOPPED);
  kin__buf_reset(&reflector->token, 0);
  actions->cancel_request = true;
  actions->stop_timer = true;
  actions->drop_stage = true;
}

void kin__reflector_step(kin__reflector *reflector,
                         const kin__reflector_input *input, uint64_t now_ms,
                         kin__reflector_actions *actions) {
  *actions = (kin__reflector_actions){0};
  switch (input->type) {
  case KIN__INPUT_START:
    if (reflector->state == KIN__REFLECTOR_IDLE) {
      to_listing(reflector, actions);
    }
    break;
  case KIN__INPUT_STOP:
    on_stop(reflector, actions);
    break;
  case KIN__INPUT_HEAD:
    on_head(reflector, actions);
    break;
  case KIN__INPUT_PAGE:
    on_page(reflector, input, now_ms, actions);
    break;
  case KIN__INPUT_APPLIED:
    on_applied(reflector, now_ms, actions);
    break;
  case KIN__INPUT_WATCH_ENDED:
    on_watch_ended(reflector, now_ms, actions);
    break;
  case KIN__INPUT_ERROR_EVENT:
    on_error_event(reflector, input->failure, now_ms, actions);
    break;
  case KIN__INPUT_FAILED:
    on_failed(reflector, input->failure, now_ms, actions);
    break;
  case KIN__INPUT_TIMER:
    on_timer(reflector, now_ms, actions);
    break;
  case KIN__INPUT_RETRY_AFTER:
    if (reflector->state == KIN__REFLECTOR_WAITING) {
      actions->stop_timer = true;
      actions->start_timer = true;
      actions->timer_ms = input->delay_ms;
    }
    break;
  }
}

void kin__reflector_saw(kin__reflector *reflector, kin__decoded_type type,
                        kin_str version) {
  reflector->saw_anything = true;
  if (type != KIN__DECODED_ADDED) {
    reflector->version_is_ordered = true;
  }
  if (reflector->version_is_ordered && version.length > 0) {
    set_version(reflector->version, version);
  }
}
