/* SPDX-License-Identifier: MIT */
#include "base/alloc.h"
#include "feed/feed_core.h"

/* The place of a feed among the lists that a client makes at a time. */

/* The request goes on; another list gets the place. */
static void on_overdue(kin__gate_visitor *visitor) {
  kin__feed_report_overdue(
      KIN__CONTAINER_OF(visitor, kin__feed_listing, turn)->feed);
}

static void on_turn(kin__gate_visitor *visitor, uint64_t waited_ms) {
  kin_feed *feed = KIN__CONTAINER_OF(visitor, kin__feed_listing, turn)->feed;
  const kin__listwatch_request first = feed->listing->first;
  kin__feed_report_turn(feed, waited_ms);
  if (first.kind == KIN__REQUEST_STREAM &&
      kin__listwatch_is_stream_refused(&feed->listwatch)) {
    kin__listwatch_input refused = {.type = KIN__INPUT_REFUSED};
    kin__feed_step(feed, &refused);
  } else {
    kin__feed_make_request(feed, &first, 0);
  }
}

static int want_list(kin_feed *feed) {
  kin__feed_listing *listing = feed->listing;
  if (listing == NULL) {
    listing = kin__calloc(feed->env->allocator, 1, sizeof *listing);
    if (listing == NULL) {
      return KIN_ENOMEM;
    }
    listing->feed = feed;
    kin__gate_visitor_init(&listing->turn, on_turn, on_overdue);
    feed->listing = listing;
  }
  kin__feed_list_wanted(feed);
  return 0;
}

int kin__feed_take_turn(kin_feed *feed, const kin__listwatch_request *wanted,
                        bool *must_wait) {
  bool is_list = kin__is_list(wanted->kind);
  int err = is_list && wanted->token == NULL ? want_list(feed) : 0;
  *must_wait = err == 0 && is_list && feed->env->lists != NULL &&
               !kin__gate_enter(feed->env->lists, &feed->listing->turn);
  if (*must_wait) {
    feed->listing->first = *wanted;
  }
  return err;
}

void kin__feed_leave_turn(kin_feed *feed) {
  if (feed->env->lists != NULL) {
    kin__gate_leave(feed->env->lists, &feed->listing->turn);
  }
}

void kin__feed_update_turn(kin_feed *feed) {
  kin__listwatch_state state = kin__listwatch_state_of(&feed->listwatch);
  if (feed->listing == NULL || state == KIN__LISTWATCH_LISTING ||
      state == KIN__LISTWATCH_STREAMING) {
    return;
  }
  kin__feed_leave_turn(feed);
  if (state != KIN__LISTWATCH_APPLYING && state != KIN__LISTWATCH_WAITING) {
    kin__free(feed->env->allocator, feed->listing);
    feed->listing = NULL;
  }
}
