/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kin/error.h>

#include "source_state.h"

/* A fake source as a lister-watcher. Feeding may cancel the answer that is
 * being fed, and open others: `current` is the one in hand, NULL once it is
 * gone, and is looked at after each call. An answer that is about to end is
 * forgotten first. */

#define MAX_VERSION_DIGITS 19u

/* --- Answers -------------------------------------------------------------- */

static void drop_snapshot(kin_fake_source *source, uint64_t id) {
  kin__fake_snapshot **place = kin__fake_find_snapshot(source, id);
  if (place != NULL) {
    kin__fake_drop_snapshot(source, place);
  }
}

void kin__fake_forget(kin__fake_answer *gone) {
  kin_fake_source *source = gone->source;
  *(gone->prev != NULL ? &gone->prev->next : &source->first) = gone->next;
  *(gone->next != NULL ? &gone->next->prev : &source->last) = gone->prev;
  if (source->current == gone) {
    source->current = NULL;
  }
  if (gone->is_stream) {
    drop_snapshot(source, gone->list_id);
  }
  kin__fake_release(&source->allocator, gone);
}

static void fail_with(kin__fake_answer *a, int status, const char *reason,
                      const char *message) {
  kin_feed_error error = KIN_FEED_ERROR_INIT;
  error.status = status;
  error.reason = reason;
  error.message = message;
  kin_feed *feed = a->feed;
  kin__fake_forget(a);
  (void)kin_feed_fail(feed, &error, false);
}

static void fail_expired(kin__fake_answer *a) {
  fail_with(a, 410, "Expired",
            "The provided continue parameter or version is "
            "too old.");
}

static void fail_too_large(kin__fake_answer *a) {
  char message[128];
  snprintf(message, sizeof message,
           "Too large resource version: %s, current: %" PRIu64, a->version,
           a->source->version);
  fail_with(a, 504, "Timeout", message);
}

static bool parse_version(const char *text, uint64_t *version) {
  size_t length = strspn(text, "0123456789");
  if (length == 0 || length > MAX_VERSION_DIGITS || text[length] != '\0') {
    return false;
  }
  *version = strtoull(text, NULL, 10);
  return true;
}

/* --- Lists ---------------------------------------------------------------- */

static int open_page(kin__fake_answer *a, const kin__fake_snapshot *list) {
  uint64_t rest = list->list->count - a->list_place;
  a->page_end =
      a->list_place + (a->limit > 0 && a->limit < rest ? a->limit : rest);
  a->is_granted = true;
  return kin_feed_open(a->feed);
}

static void end_page(kin__fake_answer *a, const kin__fake_snapshot *list) {
  kin_feed *feed = a->feed;
  char version[24];
  char token[48] = "";
  snprintf(version, sizeof version, "%" PRIu64, list->version);
  if (a->page_end == list->list->count) {
    drop_snapshot(a->source, list->id);
  } else {
    snprintf(token, sizeof token, "%" PRIu64 ":%" PRIu64, list->id,
             a->page_end);
  }
  kin__fake_forget(a);
  (void)kin_feed_list_end(feed, version, token);
}

/* Feeds the page, until the reader pauses it, and ends it. */
static void feed_page(kin__fake_answer *a, const kin__fake_snapshot *list) {
  const kin_fake_source *source = a->source;
  int err = a->is_granted ? 0 : open_page(a, list);
  while (err == 0 && source->current == a && !a->is_paused &&
         a->list_place < a->page_end) {
    err = kin_feed_item(a->feed, list->list->objects[a->list_place++]);
  }
  if (err == 0 && source->current == a && !a->is_paused) {
    end_page(a, list);
  }
}

static bool is_version_there(kin__fake_answer *a) {
  uint64_t version = 0;
  if (a->version[0] != '\0' && !parse_version(a->version, &version)) {
    fail_with(a, 400, "BadRequest", "the version is no number");
    return false;
  }
  if (version > a->source->version) {
    fail_too_large(a);
    return false;
  }
  if (strcmp(a->match, "Exact") == 0 && version != a->source->version) {
    fail_expired(a);
    return false;
  }
  return true;
}

/* Returns false if there is no memory; the answer is gone then. */
static bool take_snapshot(kin__fake_answer *a) {
  kin_fake_source *source = a->source;
  int err = kin__fake_take_snapshot(source, a->namespace_);
  if (err == 0) {
    a->list_id = source->snapshot_ids;
    return true;
  }
  kin_feed *feed = a->feed;
  kin_feed_error error = KIN_FEED_ERROR_INIT;
  error.code = err;
  kin__fake_forget(a);
  (void)kin_feed_fail(feed, &error, false);
  return false;
}

static void answer_list(kin__fake_answer *a) {
  kin_fake_source *source = a->source;
  if (source->is_failing && !a->is_granted) {
    kin_feed *feed = a->feed;
    kin__fake_forget(a);
    (void)kin_feed_fail(feed, &source->list_error, false);
    return;
  }
  if (a->list_id == 0) {
    if (!is_version_there(a)) {
      return;
    }
    if (!take_snapshot(a)) {
      return;
    }
  }
  kin__fake_snapshot **list = kin__fake_find_snapshot(source, a->list_id);
  if (list == NULL || a->list_place > (*list)->list->count) {
    fail_expired(a);
    return;
  }
  feed_page(a, *list);
}

/* --- Watches -------------------------------------------------------------- */

static void grant_watch(kin__fake_answer *a) {
  kin_fake_source *source = a->source;
  uint64_t version;
  if (!parse_version(a->version, &version)) {
    fail_with(a, 400, "BadRequest", "a watch needs a version");
    return;
  }
  if (version > source->version) {
    fail_too_large(a);
    return;
  }
  if (version < source->first_version) {
    fail_expired(a);
    return;
  }
  a->place = (size_t)(version - source->first_version);
  a->replay_end = source->change_count;
  a->is_granted = true;
  (void)kin_feed_open(a->feed);
}

static void grant_stream(kin__fake_answer *a) {
  kin_fake_source *source = a->source;
  if (!source->watch_list) {
    fail_with(a, 422, "Invalid", "sendInitialEvents is forbidden");
    return;
  }
  if (!is_version_there(a) || !take_snapshot(a)) {
    return;
  }
  a->place = a->replay_end = source->change_count;
  a->is_granted = true;
  a->owes_initial_end = true;
  (void)kin_feed_open(a->feed);
}

/* What there was when the stream was granted. */
static void feed_initial(kin__fake_answer *a) {
  kin_fake_source *source = a->source;
  kin__fake_snapshot **place = kin__fake_find_snapshot(source, a->list_id);
  if (place == NULL) {
    fail_expired(a);
    return;
  }
  const kin_object_list *list = (*place)->list;
  while (source->current == a && !a->is_paused && a->list_place < list->count) {
    (void)kin_feed_event(a->feed, KIN_WATCH_ADDED,
                         list->objects[a->list_place++]);
  }
  if (source->current == a && !a->is_paused) {
    drop_snapshot(source, a->list_id);
    a->list_id = 0;
  }
}

static void feed_bookmark(kin__fake_answer *a) {
  char version[24];
  int length =
      snprintf(version, sizeof version, "%" PRIu64, a->source->version);
  bool is_initial_end = a->owes_initial_end;
  a->owes_bookmark = a->owes_initial_end = false;
  (void)kin_feed_bookmark(a->feed, (kin_str){version, (size_t)length},
                          is_initial_end);
}

static bool concerns(const kin__fake_answer *a, const kin__fake_change *c) {
  if (c->is_dropped && a->place >= a->replay_end) {
    return false;
  }
  kin_str namespace_ = kin_object_namespace(c->object);
  size_t length = strlen(a->namespace_);
  return length == 0 || (namespace_.length == length &&
                         memcmp(namespace_.data, a->namespace_, length) == 0);
}

static void feed_changes(kin__fake_answer *a) {
  kin_fake_source *source = a->source;
  while (source->current == a && !a->is_paused &&
         a->place < source->change_count) {
    const kin__fake_change *c = &source->changes[a->place];
    bool is_fed = concerns(a, c);
    a->place++;
    if (is_fed) {
      (void)kin_feed_event(a->feed, c->type, c->object);
    }
  }
}

static void answer_watch(kin__fake_answer *a) {
  kin_fake_source *source = a->source;
  kin_feed *feed = a->feed;
  if (!a->is_granted) {
    if (a->is_stream) {
      grant_stream(a);
    } else {
      grant_watch(a);
    }
    return;
  }
  if (a->list_id != 0 && !a->is_reset) {
    feed_initial(a);
    return;
  }
  if (!a->is_reset) {
    feed_changes(a);
  }
  if (source->current != a || a->is_paused) {
    return;
  }
  if (a->is_reset || (a->is_ending && !a->owes_initial_end)) {
    kin__fake_forget(a);
    (void)kin_feed_watch_end(feed);
  } else if (a->owes_bookmark || a->owes_initial_end) {
    feed_bookmark(a);
  }
}

static bool has_work(const kin__fake_answer *a) {
  if (a->is_paused) {
    return false;
  }
  return !a->is_watch || !a->is_granted || a->is_ending || a->owes_bookmark ||
         a->owes_initial_end || a->place < a->source->change_count;
}

bool kin_fake_source_step(kin_fake_source *source) {
  if (source == NULL) {
    return false;
  }
  kin__fake_answer *a = source->first;
  while (a != NULL && !has_work(a)) {
    a = a->next;
  }
  if (a == NULL) {
    return false;
  }
  source->current = a;
  if (a->is_watch) {
    answer_watch(a);
  } else {
    answer_list(a);
  }
  source->current = NULL;
  return true;
}

size_t kin_fake_source_run(kin_fake_source *source) {
  if (source == NULL) {
    return 0;
  }
  size_t count = 0;
  while (kin_fake_source_step(source)) {
    count++;
  }
  return count;
}

/* --- The lister-watcher --------------------------------------------------- */

static int open_answer(void *ctx, const kin_feed_request *request,
                       kin_feed *feed, void **out) {
  kin_fake_source *source = ctx;
  size_t size = strlen(request->namespace_) + 1;
  kin__fake_answer *a =
      kin__fake_allocate(&source->allocator, sizeof *a + size);
  if (a == NULL) {
    return KIN_ENOMEM;
  }
  a->source = source;
  a->feed = feed;
  a->is_watch = request->is_watch;
  a->is_stream = request->send_initial_events;
  a->limit = request->limit;
  memcpy(a->namespace_, request->namespace_, size);
  snprintf(a->version, sizeof a->version, "%s", request->resource_version);
  snprintf(a->match, sizeof a->match, "%s", request->resource_version_match);
  if (request->continue_token[0] != '\0') {
    char *end;
    a->list_id = strtoull(request->continue_token, &end, 10);
    a->list_place = *end == ':' ? strtoull(end + 1, NULL, 10) : UINT64_MAX;
  }
  a->prev = source->last;
  *(source->last != NULL ? &source->last->next : &source->first) = a;
  source->last = a;
  *(a->is_watch ? &source->watches : &source->lists) += 1;
  source->streams += a->is_stream;
  *out = a;
  kin__fake_wake(source);
  return 0;
}

static void cancel_answer(void *ctx, void *given) {
  (void)ctx;
  kin__fake_forget(given);
}

static void pause_answer(void *ctx, void *given) {
  (void)ctx;
  ((kin__fake_answer *)given)->is_paused = true;
}

static void resume_answer(void *ctx, void *given) {
  ((kin__fake_answer *)given)->is_paused = false;
  kin__fake_wake(ctx);
}

kin_lister_watcher kin_fake_source_lister_watcher(kin_fake_source *source) {
  kin_lister_watcher lister_watcher = KIN_LISTER_WATCHER_INIT;
  if (source == NULL) {
    return lister_watcher;
  }
  lister_watcher.open = open_answer;
  lister_watcher.cancel = cancel_answer;
  lister_watcher.pause = pause_answer;
  lister_watcher.resume = resume_answer;
  lister_watcher.watch_list = source->watch_list;
  lister_watcher.ctx = source;
  return lister_watcher;
}
