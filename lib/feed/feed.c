/* SPDX-License-Identifier: MIT */
#include "feed/feed_core.h"

#define MAX_RETRY_AFTER_MS (24u * 3600u * 1000u)

/* --- Carrying out the machine's actions ----------------------------------- */

static void step_failed(kin_feed *feed, kin__listwatch_input_type type,
                        const kin__failure *failure) {
  kin__listwatch_input input = {.type = type, .failure = failure};
  kin__feed_step(feed, &input);
}

static void step_simple(kin_feed *feed, kin__listwatch_input_type type) {
  kin__listwatch_input input = {.type = type};
  kin__feed_step(feed, &input);
}

void kin__feed_make_request(kin_feed *feed,
                            const kin__listwatch_request *wanted, int err) {
  if (err == 0 && feed->owner->admit != NULL) {
    err = feed->owner->admit(feed);
  }
  if (err == 0) {
    err = kin__feed_send_request(feed, wanted);
  }
  if (err != 0) {
    kin__failure cause;
    kin__feed_failure_of(feed, wanted->kind, err, &cause);
    step_failed(feed, KIN__INPUT_FAILED, &cause);
  }
  if (feed->is_relist_put_off) {
    kin__feed_relist(feed);
  }
}

static void drop_stage(kin_feed *feed) {
  kin__stage_discard(&feed->stage);
  if (feed->owner->discarded != NULL) {
    feed->owner->discarded(feed);
  }
}

/* A stream, and a list of custom resources, does not say whether the server has
 * selected the shard's objects. If it had not, one of so many objects would
 * belong to another shard. */
#define TELLING_OBJECTS 64u

static void judge_shard(kin_feed *feed) {
  if (feed->counters.shard_filter == KIN_SHARD_UNKNOWN &&
      kin__stage_count(&feed->stage) >= TELLING_OBJECTS) {
    feed->counters.shard_filter = KIN_SHARD_SERVER;
  }
}

static void apply_stage(kin_feed *feed) {
  judge_shard(feed);
  kin__feed_count(feed, KIN__FEED_LIST_US,
                  kin__feed_request_age_ns(feed) / 1000u);
  kin__feed_count(feed, KIN__FEED_LIST_ITEMS, kin__stage_count(&feed->stage));
  kin__feed_list_complete(feed);
  feed->owner->apply(feed);
}

/* A wait after a failure may be long. It is cut in two where the state becomes
 * STALE, because the program is told of each change. */
static void start_timer(kin_feed *feed, uint64_t delay_ms) {
  uint64_t first_ms = kin__feed_stale_in_ms(feed);
  if (first_ms > delay_ms ||
      kin__listwatch_state_of(&feed->listwatch) != KIN__LISTWATCH_WAITING) {
    first_ms = delay_ms;
  }
  feed->rest_ms = (uint32_t)(delay_ms - first_ms); /* a day at most */
  kin__timer_start(feed->env->timers, &feed->timer,
                   kin__env_now_ms(feed->env) + first_ms);
}

/* Tells the program of a failure, a silent stream and the end. */
static void report(kin_feed *feed, const kin__listwatch_actions *actions,
                   const kin__failure *failure) {
  if (actions->report != KIN__REPORT_NONE) {
    kin__feed_report_action(feed, actions, failure);
  }
  if (actions->gave_up_stream != KIN__STREAM_NOT_GIVEN_UP) {
    kin__feed_report_silence(feed, actions);
  }
  if (actions->ended) {
    feed->owner->ended(feed, failure);
  }
}

/* Not a later page. Its clock decides whether the state is STALE, and is started
 * again if the request has to wait for its turn. */
static bool begins_request(const kin__listwatch_request *wanted) {
  return wanted->kind != KIN__REQUEST_NONE && wanted->token == NULL;
}

/* Calls of the source, which may close the feed, or begin another list: that
 * has then carried out all that is left. Returns whether there is more to do.
 */
static bool call_source(kin_feed *feed, const kin__listwatch_actions *actions) {
  kin__listwatch_state state = kin__listwatch_state_of(&feed->listwatch);
  bool is_closed = feed->is_closed;
  if (actions->cancel_request) {
    kin__feed_drop_request(feed);
  }
  if (actions->hold_request) {
    kin__feed_hold(feed);
  }
  return feed->is_closed == is_closed &&
         kin__listwatch_state_of(&feed->listwatch) == state;
}

/* The public state is up to date, and the place among the client's lists is
 * free, before anything is read or requested. A feed that a source closes
 * leaves neither a timer nor a list behind: both end before the source is
 * called. */
void kin__feed_act(kin_feed *feed, const kin__listwatch_actions *actions,
                   const kin__failure *failure) {
  kin__timers *timers = feed->env->timers;
  if (actions->verdict.is_given) {
    kin__feed_take_verdict(feed, &actions->verdict);
  }
  if (actions->stop_timer) {
    kin__timer_stop(timers, &feed->timer);
  }
  if (actions->drop_stage) {
    drop_stage(feed);
  }
  if (!call_source(feed, actions)) {
    return;
  }
  if (actions->apply_stage) {
    apply_stage(feed);
  }
  if (actions->start_timer) {
    start_timer(feed, actions->timer_ms);
  }
  if (begins_request(&actions->request)) {
    kin__feed_start_clock(feed);
  }
  report(feed, actions, failure);
  kin__feed_update_state(feed);
  if (actions->continue_request) {
    kin__feed_unhold(feed);
  }
  kin__feed_update_turn(feed);
  if (actions->request.kind != KIN__REQUEST_NONE) {
    bool must_wait;
    int err = kin__feed_take_turn(feed, &actions->request, &must_wait);
    if (!must_wait) {
      kin__feed_make_request(feed, &actions->request, err);
    }
  }
}

void kin__feed_step(kin_feed *feed, const kin__listwatch_input *input) {
  kin__listwatch_actions actions;
  kin__listwatch_state before = kin__listwatch_state_of(&feed->listwatch);
  kin__listwatch_step(&feed->listwatch, input, kin__env_now_ms(feed->env),
                      &actions);
  if (kin__listwatch_state_of(&feed->listwatch) != before) {
    kin__log_write(
        feed->env->log, KIN_LOG_DEBUG, KIN__FEED_PLACE "%s -> %s",
        KIN__FEED_PLACE_ARGS(feed), kin__listwatch_state_name(before),
        kin__listwatch_state_name(kin__listwatch_state_of(&feed->listwatch)));
    kin__feed_mind_silence(feed);
  }
  kin__feed_act(feed, &actions, input->failure);
}

static void on_timer(kin__timer *timer) {
  kin_feed *feed = KIN__CONTAINER_OF(timer, kin_feed, timer);
  if (feed->rest_ms > 0) {
    start_timer(feed, feed->rest_ms);
    kin__feed_update_state(feed);
  } else {
    step_simple(feed, KIN__INPUT_TIMER);
  }
}

void kin__feed_start(kin_feed *feed) {
  step_simple(feed, KIN__INPUT_START);
}

void kin__feed_stop(kin_feed *feed) {
  step_simple(feed, KIN__INPUT_STOP);
}

void kin__feed_close(kin_feed *feed) {
  feed->is_closed = true;
  kin__feed_stop(feed);
  kin__notice_stop(feed);
  kin__object_notice_stop(feed);
}

void kin__feed_reshard(kin_feed *feed) {
  kin__feed_doubt_shard(feed);
  kin__feed_relist(feed);
}

/* A list that waits for its turn has no request yet: its request will name the
 * new shard. An answer that is being opened has no name yet to be cancelled
 * by. */
void kin__feed_relist(kin_feed *feed) {
  feed->is_relisting = true;
  feed->is_relist_put_off = feed->is_opening;
  if (!feed->is_opening && !kin__feed_waits_to_list(feed)) {
    step_simple(feed, KIN__INPUT_RELIST);
  }
}

void kin__feed_applied(kin_feed *feed) {
  if (feed->counters.lists++ > 0) {
    feed->counters.relists++;
  }
  kin__feed_list_applied(feed);
  feed->is_silent = false;
  /* A list that was complete when the owner wanted another one is not it. */
  feed->is_relisting &= kin__listwatch_is_outdated(&feed->listwatch);
  step_simple(feed, KIN__INPUT_APPLIED);
}

void kin__feed_apply_failed(kin_feed *feed, const kin__failure *failure) {
  step_failed(feed, KIN__INPUT_APPLY_FAILED, failure);
}

void kin__feed_notice_failure(kin_feed *feed, const kin__failure *failure,
                              uint64_t retry_in_ms) {
  feed->metrics.failures[failure->error_class]++;
  kin__notice_failure(feed, failure, retry_in_ms);
}

void kin__feed_answer(kin_feed *feed, kin_retry answer,
                      uint64_t retry_after_ms) {
  kin__listwatch_input input = {.type = KIN__INPUT_RETRY_AFTER,
                                .delay_ms = retry_after_ms < MAX_RETRY_AFTER_MS
                                                ? retry_after_ms
                                                : MAX_RETRY_AFTER_MS};
  if (answer == KIN_STOP) {
    input.type = KIN__INPUT_STOP;
  }
  kin__feed_step(feed, &input);
}

/* --- Input from the source ------------------------------------------------ */

void kin__feed_opened(kin_feed *feed, uint64_t connection) {
  feed->is_granted = true;
  feed->connection = connection;
  if (kin__is_watch(feed->request)) {
    feed->counters.watches++;
  }
  if (kin__listwatch_mode_of(&feed->listwatch) == KIN__WATCH_ONLY) {
    feed->has_synced = true;
  }
  kin__listwatch_input input = {.type = KIN__INPUT_HEAD,
                                .connection = connection};
  bool is_watch = feed->request == KIN__REQUEST_WATCH;
  kin__feed_step(feed, &input);
  if (is_watch && feed->owner->opened != NULL) {
    feed->owner->opened(feed);
  }
}

void kin__feed_break(kin_feed *feed, kin__listwatch_input_type type,
                     const kin__failure *failure) {
  kin__feed_drop_request(feed);
  step_failed(feed, type, failure);
}

void kin__feed_end_failed(kin_feed *feed, kin__listwatch_input_type type,
                          const kin__failure *failure) {
  kin__feed_request_ended(feed);
  step_failed(feed, type, failure);
}

void kin__feed_end_list(kin_feed *feed, const char *version,
                        const char *token) {
  const char *why = feed->request == KIN__REQUEST_LIST
                        ? kin__feed_list_page(feed, token)
                        : NULL;
  kin__feed_request_ended(feed);
  if (why != NULL) {
    kin__feed_refuse(feed, KIN_EUNEXPECTED, why);
    return;
  }
  kin__failure failure;
  kin__feed_failure_of(feed, KIN__REQUEST_LIST, KIN_ENOMEM, &failure);
  kin__listwatch_input input = {.type = KIN__INPUT_PAGE,
                                .version = version,
                                .token = token,
                                .failure = &failure,
                                .connection = feed->connection};
  kin__feed_step(feed, &input);
}

void kin__feed_streamed(kin_feed *feed, const char *version) {
  kin__listwatch_input input = {.type = KIN__INPUT_STREAMED,
                                .version = version};
  kin__feed_step(feed, &input);
}

void kin__feed_end_watch(kin_feed *feed) {
  kin__feed_request_ended(feed);
  kin__listwatch_input input = {.type = KIN__INPUT_WATCH_ENDED,
                                .quiet_ms = kin__env_now_ms(feed->env) -
                                            feed->last_byte_ms};
  kin__feed_step(feed, &input);
}

/* --- Life ----------------------------------------------------------------- */

/* The refusal of streams by a source of the program's own is the feed's. */
static kin__listwatch_options machine_of(kin_feed *feed,
                                         const kin__feed_options *options) {
  kin__listwatch_options machine = options->listwatch;
  if (machine.mode == KIN__LIST_AND_WATCH) {
    kin__list_and_watch *list = &machine.list_and_watch;
    if (!options->source->watch_list || options->source->pause == NULL) {
      list->stream_refused = NULL;
    } else if (list->stream_refused != NULL && options->is_own_source) {
      list->stream_refused = &feed->stream_refused;
    }
  }
  return machine;
}

void kin__feed_init(kin_feed *feed, const kin__feed_options *options) {
  const kin__env *env = options->env;
  kin__listwatch_options machine = machine_of(feed, options);
  *feed = (kin_feed){.env = env,
                     .owner = options->owner,
                     .source = options->source,
                     .source_ctx = options->source_ctx,
                     .resource = options->resource,
                     .namespace_ = options->namespace_,
                     .silence = options->silence,
                     .last_byte_ms = UINT64_MAX,
                     .last_event_ms = UINT64_MAX,
                     .last_bookmark_ms = UINT64_MAX,
                     .delayed_since_ms = UINT64_MAX};
  kin__listwatch_init(&feed->listwatch, &machine, env->allocator, env->random,
                      kin__env_now_ms(env));
  kin__timer_init(&feed->timer, on_timer);
  kin__feed_init_silence(feed);
  kin__stage_init(&feed->stage, &env->memory->cells);
  kin__stage_init(&feed->held, &env->memory->cells);
  kin__notice_init(&feed->notice);
  kin__link_init(&feed->paused_node);
  kin__feed_doubt_shard(feed);
}

void kin__feed_finish(kin_feed *feed) {
  const kin_allocator *allocator = feed->env->allocator;
  kin__listwatch_finish(&feed->listwatch);
  kin__object_notice_finish(feed);
  kin__noted_failure_drop(&feed->notice.failure, allocator);
  for (size_t i = 0; i < KIN__FEED_HISTOGRAMS; i++) {
    kin__small_histogram_finish(&feed->metrics.histograms[i], allocator);
  }
}
