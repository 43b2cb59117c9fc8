/* SPDX-License-Identifier: MIT */
#include "feed/pager_core.h"

#include <assert.h>
#include <stdio.h>

#include "base/alloc.h"

/* Items go into the feed's stage, because they may come inside a call of the
 * program's source. The task gives them to the owner. After a complete page the
 * feed waits. It requests the next page after kin__feed_applied, which the task
 * calls when there is room. */

#define DEFAULT_PAGE_ITEMS 500u
#define ITEMS_PER_STEP 64u
#define DROPS_PER_STEP 256u

static kin__pager_core *core_of(kin_feed *feed) {
  return KIN__CONTAINER_OF(feed, kin__pager_core, feed);
}

static void wake(kin__pager_core *core) {
  kin__sched_add(core->feed.env->sched, &core->task);
}

/* --- Items from the feed -------------------------------------------------- */

/* A paused core leaves the gate, so that it delays no other list. */
static void stop_reading(kin__pager_core *core) {
  kin__feed_pause(&core->feed, &core->paused);
  if (!kin__link_is_empty(&core->paused)) {
    kin__feed_leave_turn(&core->feed);
  }
}

/* Keeps the item as it is. Called for each item that comes. */
static int on_keep(kin_feed *feed, kin__decoded_type type,
                   kin_object **object) {
  kin__pager_core *core = core_of(feed);
  (void)type;
  (void)object;
  if (kin__stage_count(&feed->stage) >= core->high) {
    stop_reading(core);
  }
  wake(core);
  return 0;
}

static void forget_given_pages(kin__pager_core *core) {
  uint32_t size = core->options.pages_ahead + 2;
  while (core->page_count > 0 &&
         core->page_ends[core->first_page] <= core->given) {
    core->first_page = (core->first_page + 1) % size;
    core->page_count--;
  }
}

static void on_apply(kin_feed *feed) {
  kin__pager_core *core = core_of(feed);
  core->is_due = true;
  if (core->page_ends != NULL) {
    uint32_t size = core->options.pages_ahead + 2;
    assert(core->page_count < size);
    uint32_t at = (core->first_page + core->page_count) % size;
    core->page_ends[at] = core->given + kin__stage_count(&feed->stage);
    core->page_count++;
    forget_given_pages(core);
  }
  wake(core);
}

static void on_discarded(kin_feed *feed) {
  wake(core_of(feed));
}

static void end(kin__pager_core *core, const kin__failure *failure) {
  core->has_ended = true;
  core->is_end_due = true;
  if (failure != NULL) {
    core->end = *failure;
  }
  wake(core);
}

static void on_ended(kin_feed *feed, const kin__failure *failure) {
  end(core_of(feed), failure);
}

/* Drops the request and the items in hand. */
static void stop(kin__pager_core *core, const kin__failure *failure) {
  kin__feed_stop(&core->feed);
  kin__stage_discard(&core->feed.stage);
  end(core, failure);
}

static void copy_failure(kin__failure *failure, const kin_error_event *event) {
  *failure = (kin__failure){.code = event->code,
                            .error_class = event->error_class,
                            .status = event->status};
  snprintf(failure->reason, sizeof failure->reason, "%s", event->reason);
  snprintf(failure->message, sizeof failure->message, "%s", event->message);
}

/* Called from the feed's notice task, so the list may have ended. */
static void on_failed(kin_feed *feed, kin_error_event *event) {
  kin__pager_core *core = core_of(feed);
  bool is_over = core->has_ended && !core->is_end_due;
  if (core->options.owner->failed == NULL || is_over) {
    return;
  }
  kin__failure failure;
  copy_failure(&failure, event);
  core->options.owner->failed(core, event);
  bool is_stopped = event->answer == KIN_STOP && !core->is_closing;
  if (is_stopped && !core->has_ended) {
    stop(core, &failure);
  } else if (is_stopped && core->end.code == 0) {
    kin__stage_discard(&core->feed.stage);
    core->end = failure;
  }
}

static const kin__feed_owner owner = {.keep = on_keep,
                                      .apply = on_apply,
                                      .discarded = on_discarded,
                                      .ended = on_ended,
                                      .failed = on_failed};

/* --- Items to the owner --------------------------------------------------- */

static bool may_give(const kin__pager_core *core) {
  bool is_complete = core->has_ended && core->end.code == 0;
  return kin__stage_count(&core->feed.stage) > 0 &&
         (!core->options.list.is_whole || is_complete);
}

static bool has_work(const kin__pager_core *core) {
  return !core->is_paused && (may_give(core) || core->is_end_due);
}

static void give_next(kin__pager_core *core) {
  kin__stage *stage = &core->feed.stage;
  kin_object *item = kin__object_ref(kin__stage_peek(stage));
  kin__stage_pop(stage);
  core->given++;
  forget_given_pages(core);
  int code = core->options.owner->item(core, item);
  kin__object_unref(item);
  if (code != 0 && !core->is_closing) {
    kin__failure failure = {.code = code};
    stop(core, &failure);
  }
}

static void tell_end(kin__pager_core *core) {
  kin__object_notice_flush(&core->feed);
  if (core->is_closing || core->is_paused) {
    return; /* by the report */
  }
  core->is_end_due = false;
  core->options.owner->ended(core, &core->end);
}

/* Reading resumes when at most half of `high` items are in hand. */
static void take_more(kin__pager_core *core) {
  size_t in_hand = kin__stage_count(&core->feed.stage);
  if (in_hand <= core->high / 2 && !kin__link_is_empty(&core->paused)) {
    kin__feed_resume(&core->feed);
  }
  bool has_room = core->page_ends == NULL ||
                  core->page_count <= core->options.pages_ahead + 1;
  if (core->is_due && has_room && !core->has_ended) {
    core->is_due = false;
    /* The owner sets the pace, so the list does not count as slow. */
    core->feed.listing->times.wanted_ms = kin__env_now_ms(core->feed.env);
    kin__feed_applied(&core->feed);
  }
}

static void give_some(kin__pager_core *core) {
  const kin__stage *stage = &core->feed.stage;
  kin__slice slice = kin__slice_begin(core->feed.env->sched, ITEMS_PER_STEP);
  while (!kin__stage_is_stale(stage) && kin__slice_next(&slice)) {
    if (core->is_closing || !has_work(core)) {
      return;
    }
    if (may_give(core)) {
      give_next(core);
    } else {
      tell_end(core);
    }
  }
}

static bool step(kin__task *task) {
  kin__pager_core *core = KIN__CONTAINER_OF(task, kin__pager_core, task);
  if (kin__stage_free_slice(&core->feed.stage, core->feed.env->sched,
                            DROPS_PER_STEP)) {
    return true;
  }
  if (core->is_closing) {
    core->options.owner->emptied(core);
    return false;
  }
  give_some(core);
  if (!core->is_closing) {
    take_more(core);
  }
  return core->is_closing || has_work(core) ||
         kin__stage_is_stale(&core->feed.stage);
}

/* --- Life ----------------------------------------------------------------- */

static size_t high_of(const kin__pager_core_options *options) {
  uint64_t page = options->list.page_size;
  if (page == 0 || page == UINT32_MAX) {
    page = DEFAULT_PAGE_ITEMS;
  }
  uint64_t high = page * ((uint64_t)options->pages_ahead + 2);
  return options->list.is_whole || high > SIZE_MAX ? SIZE_MAX : (size_t)high;
}

/* Allocates nothing. */
static void init_feed(kin__pager_core *core) {
  kin__feed_init(&core->feed, &core->options.feed);
  core->first_page = 0;
  core->page_count = 0;
  core->given = 0;
  core->is_due = false;
  core->has_ended = false;
  core->end = (kin__failure){.code = 0};
}

int kin__pager_core_init(kin__pager_core *core,
                         const kin__pager_core_options *options) {
  *core = (kin__pager_core){.options = *options, .high = high_of(options)};
  if (!options->list.is_whole) {
    core->page_ends =
        kin__calloc(options->feed.env->allocator,
                    (size_t)options->pages_ahead + 2, sizeof *core->page_ends);
    if (core->page_ends == NULL) {
      return KIN_ENOMEM;
    }
  }
  core->options.feed.owner = &owner;
  core->options.feed.listwatch = (kin__listwatch_options){
      .mode = KIN__LIST_ONCE, .list_once = options->list};
  kin__link_init(&core->paused);
  kin__task_init(&core->task, step);
  init_feed(core);
  return 0;
}

void kin__pager_core_finish(kin__pager_core *core) {
  kin__feed_finish(&core->feed);
  kin__free(core->options.feed.env->allocator, core->page_ends);
}

void kin__pager_core_start(kin__pager_core *core) {
  kin__feed_start(&core->feed);
}

void kin__pager_core_restart(kin__pager_core *core) {
  assert(core->has_ended && !core->is_end_due && !core->is_closing);
  kin__feed_close(&core->feed);
  kin__feed_finish(&core->feed);
  init_feed(core);
  kin__pager_core_start(core);
}

void kin__pager_core_abort(kin__pager_core *core) {
  if (!core->has_ended || core->is_end_due) {
    kin__failure failure = {.code = KIN_ECLOSED};
    stop(core, &failure);
  }
}

void kin__pager_core_close(kin__pager_core *core) {
  core->is_closing = true;
  kin__feed_close(&core->feed);
  kin__stage_discard(&core->feed.stage);
  wake(core);
}

void kin__pager_core_set_paused(kin__pager_core *core, bool is_paused) {
  core->is_paused = is_paused;
  if (!core->is_closing && has_work(core)) {
    wake(core);
  }
}
