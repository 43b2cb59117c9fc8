/* SPDX-License-Identifier: MIT */
#include "watch.h"

#include <stdlib.h>
#include <string.h>

#include "conn.h"
#include "mem.h"
#include "odd.h"
#include "render.h"
#include "sim.h"
#include "status.h"

enum {
  DEFAULT_TIMEOUT_S = 1800, // without timeoutSeconds: this to twice this
  LAST_BOOKMARK_MS = 2000,  // before the timeout
};

typedef struct watch {
  conn *c;
  resource *res;
  struct watch *prev, *next; // watches of res
  filter filter;
  bool partial;
  bool bookmarks;
  bool end_initial; // a bookmark ends the initial events
  bool list_form;   // metadata lists were asked for
  bool lost;        // it cannot go on: the log has moved past the cursor

  snapshot initial;
  size_t initial_next;
  bool in_initial;
  uint64_t initial_version;

  uint64_t cursor;      // index of the next log entry
  uint64_t min_version; // entries up to this one are not for us
  uv_timer_t timer;
  uint64_t deadline_ms;
  uint64_t bookmark_ms;

  bool fired;       // what the fault does at its event has been done
  uint64_t late_ms; // when a bookmark comes that was held up; else UINT64_MAX
  uint64_t late_version;
  bool late_end;
} watch;

/* ------------------------------------------------------------ life cycle */

static void on_timer_closed(uv_handle_t *handle) {
  free(handle->data);
}

static void free_watch(watch *w) {
  if (w->prev != NULL) {
    w->prev->next = w->next;
  } else {
    w->res->watches = w->next;
  }
  if (w->next != NULL) {
    w->next->prev = w->prev;
  }
  w->c->sim->watch_count--;
  snapshot_free(&w->initial);
  filter_free(&w->filter);
  uv_close((uv_handle_t *)&w->timer, on_timer_closed);
}

static void on_abort(void *data) {
  free_watch(data);
}

static void end_watch(watch *w) {
  conn_set_producer(w->c, (producer){0});
  resp_end(w->c);
  free_watch(w);
}

/* ---------------------------------------------------------------- events */

static bool is_deaf(const watch *w) {
  const fault_plan *plan = &w->c->plan;
  return plan->deaf && w->c->resp.events >= plan->after_events;
}

static void write_once(watch *w, const char *type, const rev *r,
                       uint64_t version) {
  if (w->list_form) {
    w->lost = true; // an object cannot be sent as a list: the stream ends
    return;
  }
  segq parts = {0};
  segq_push(&parts, NULL, "{\"type\":\"", 9);
  segq_push(&parts, NULL, type, strlen(type));
  segq_push(&parts, NULL, "\",\"object\":", 11);
  if (w->partial) {
    render_partial(&parts, r, w->res, version);
  } else {
    render_object(&parts, r, version);
  }
  segq_push(&parts, NULL, "}\n", 2);
  resp_write(w->c, &parts);
  segq_free(&parts);
  resp_event_end(w->c);
}

static void write_event(watch *w, const char *type, const rev *r,
                        uint64_t version) {
  for (int i = w->c->plan.duplicate_events ? 2 : 1; i > 0 && !is_deaf(w); i--) {
    write_once(w, type, r, version);
  }
}

/* What a fault does between two events: once, when it is time. */
static void fire_fault(watch *w) {
  conn *c = w->c;
  const fault_plan *plan = &c->plan;
  bool has_any = plan->error.is_set || plan->end_watch || plan->odd_object;
  if (w->fired || !has_any || c->resp.events < plan->after_events) {
    return;
  }
  w->fired = true;
  buf event = {0};
  if (plan->odd_object) {
    buf_puts(&event, "{\"type\":\"ADDED\",\"object\":");
    odd_put_object(&event, w->res, plan->odd_mode,
                   store_revision(c->sim->store), plan->odd_bytes);
    buf_puts(&event, "}\n");
  }
  if (plan->error.is_set) {
    odd_put_error(&event, plan->error.body, plan->error.code,
                  plan->error.reason, plan->error.retry_after);
  }
  if (event.len != 0) {
    resp_write_copy(c, event.data, event.len);
    resp_event_end(c);
    resp_flush(c);
  }
  buf_free(&event);
  w->lost = w->lost || plan->error.is_set || plan->end_watch;
}

static void write_error(conn *c, const buf *status) {
  buf event = {0};
  buf_puts(&event, "{\"type\":\"ERROR\",\"object\":");
  buf_append(&event, status->data, status->len);
  buf_puts(&event, "}\n");
  resp_write_copy(c, event.data, event.len);
  resp_event_end(c);
  buf_free(&event);
}

static void start_timer(watch *w);

static void write_bookmark_now(watch *w, uint64_t version, bool end) {
  conn *c = w->c;
  buf event = {0};
  buf_puts(&event, "{\"type\":\"BOOKMARK\",\"object\":");
  render_bookmark(&event, w->res, w->partial, version, end);
  buf_puts(&event, "}\n");
  for (int i = c->plan.duplicate_bookmarks ? 2 : 1; i > 0; i--) {
    resp_write_copy(c, event.data, event.len);
    c->sim->stats.bookmarks_sent++;
    resp_event_end(c);
  }
  buf_free(&event);
}

static void write_bookmark(watch *w, uint64_t version, bool end) {
  const fault_plan *plan = &w->c->plan;
  if (plan->drop_bookmarks || is_deaf(w)) {
    return;
  }
  if (plan->late_bookmark_ms == 0) {
    write_bookmark_now(w, version, end);
  } else if (w->late_ms == UINT64_MAX) {
    w->late_ms = uv_now(w->c->sim->loop) + plan->late_bookmark_ms;
    w->late_version = version;
    w->late_end = end;
    start_timer(w);
  }
}

/* Sends what one log entry means for this watch: with a selector, a change
 * that enters it is ADDED, and one that leaves it is DELETED, with the state
 * that was last seen and the version of the change. */
static void write_change(watch *w, const rev *r) {
  if (r->rv <= w->min_version || !filter_in_scope(&w->filter, r)) {
    return;
  }
  const rev *before = r->prev != NULL && !r->prev->deleted ? r->prev : NULL;
  bool was = before != NULL && filter_match(&w->filter, before);
  bool is = !r->deleted && filter_match(&w->filter, r);
  if (was && r->deleted) {
    write_event(w, "DELETED", r, 0);
  } else if (was && is) {
    write_event(w, "MODIFIED", r, 0);
  } else if (is) {
    write_event(w, "ADDED", r, 0);
  } else if (was) {
    write_event(w, "DELETED", before, r->rv);
  }
}

static void step_initial(watch *w) {
  if (w->initial_next < w->initial.count) {
    write_event(w, "ADDED", w->initial.items[w->initial_next++], 0);
    return;
  }
  w->in_initial = false;
  if (w->end_initial && w->bookmarks) {
    write_bookmark(w, w->initial_version, true);
  }
  snapshot_free(&w->initial);
}

static bool caught_up(const watch *w) {
  return !w->in_initial && w->cursor == table_log_end(w->res->table);
}

static void pump(watch *w) {
  bool wrote = false;
  fire_fault(w);
  while (!caught_up(w) && !w->lost && conn_backlog(w->c) < CONN_HIGH_WATER) {
    if (w->in_initial) {
      step_initial(w);
    } else {
      write_change(w, table_log_at(w->res->table, w->cursor++));
    }
    wrote = true;
    fire_fault(w);
  }
  if (wrote) {
    resp_flush(w->c);
  }
}

/* May free w. */
static void pump_or_end(watch *w) {
  pump(w);
  if (w->lost) {
    end_watch(w);
  }
}

static void on_drain(void *data) {
  pump_or_end(data);
}

/* ----------------------------------------------------- time and bookmarks */

static uint64_t now_ms(const watch *w) {
  return uv_now(w->c->sim->loop);
}

static void plan_bookmark(watch *w) {
  uint64_t interval = w->c->sim->opts->bookmark_interval_ms;
  uint64_t now = now_ms(w);
  if (!w->bookmarks || interval == 0) {
    w->bookmark_ms = UINT64_MAX;
    return;
  }
  uint64_t jitter = rng_below(&w->c->sim->jitter_rng, interval / 4 + 1);
  w->bookmark_ms = now + interval + jitter;
  uint64_t left = w->deadline_ms - now;
  uint64_t last = w->deadline_ms -
                  (left / 2 < LAST_BOOKMARK_MS ? left / 2 : LAST_BOOKMARK_MS);
  if (w->bookmark_ms > last) {
    w->bookmark_ms = now < last ? last : UINT64_MAX;
  }
}

static void send_bookmark(watch *w) {
  uint64_t current = store_revision(w->c->sim->store);
  if (caught_up(w) && !w->lost && current >= w->min_version) {
    write_bookmark(w, current, false);
    resp_flush(w->c);
  }
}

static void on_timer(uv_timer_t *timer);

static void start_timer(watch *w) {
  uint64_t due =
      w->deadline_ms < w->bookmark_ms ? w->deadline_ms : w->bookmark_ms;
  due = w->late_ms < due ? w->late_ms : due;
  uint64_t now = now_ms(w);
  uv_timer_start(&w->timer, on_timer, due > now ? due - now : 0, 0);
}

static void on_timer(uv_timer_t *timer) {
  watch *w = timer->data;
  uint64_t now = now_ms(w);
  if (now >= w->deadline_ms) {
    end_watch(w);
    return;
  }
  if (now >= w->late_ms) {
    w->late_ms = UINT64_MAX;
    write_bookmark_now(w, w->late_version, w->late_end);
    resp_flush(w->c);
  }
  if (now >= w->bookmark_ms) {
    send_bookmark(w);
    /* After the one before the timeout there is no further one. */
    bool was_last = w->deadline_ms - now <= LAST_BOOKMARK_MS;
    plan_bookmark(w);
    w->bookmark_ms = was_last ? UINT64_MAX : w->bookmark_ms;
  }
  start_timer(w);
}

/* ----------------------------------------------------------------- start */

/* Answers with one ERROR event. */
static void answer_error(conn *c, const buf *status) {
  resp_begin(c, 200, "application/json");
  resp_flush(c);
  write_error(c, status);
  resp_flush(c);
  resp_end(c);
}

static void answer_too_old(conn *c, uint64_t version, uint64_t oldest) {
  buf message = {0};
  buf status = {0};
  buf_puts(&message, "too old resource version: ");
  buf_put_u64(&message, version);
  buf_puts(&message, " (");
  buf_put_u64(&message, oldest);
  buf_putc(&message, ')');
  status_put(&status, 410, "Expired", message.data, NULL);
  answer_error(c, &status);
  buf_free(&message);
  buf_free(&status);
}

static void answer_too_large(conn *c, uint64_t version, uint64_t current) {
  buf status = {0};
  status_put_too_large(&status, version, current);
  answer_error(c, &status);
  buf_free(&status);
}

static void take_initial(watch *w) {
  list_query q = {
      .version = store_revision(w->c->sim->store),
      .prefix = w->filter.prefix,
      .start = "",
  };
  snapshot all = table_list(w->res->table, &q);
  size_t kept = 0;
  for (size_t i = 0; i < all.count; i++) {
    if (filter_match(&w->filter, all.items[i])) {
      all.items[kept++] = all.items[i];
    } else {
      rev_unref(all.items[i]);
    }
  }
  all.count = kept;
  w->initial = all;
  w->in_initial = true;
  w->initial_version = q.version;
}

static uint64_t timeout_ms(const api_call *call, const list_options *lo) {
  if (lo->timeout_s != 0) {
    return lo->timeout_s * 1000;
  }
  return (DEFAULT_TIMEOUT_S +
          rng_below(&call->c->sim->jitter_rng, DEFAULT_TIMEOUT_S)) *
         1000;
}

/* Takes lo's filter. */
static void start(const api_call *call, list_options *lo, bool initial) {
  conn *c = call->c;
  watch *w = xcalloc(1, sizeof *w);
  w->c = c;
  w->res = call->res;
  w->filter = lo->filter;
  lo->filter = (filter){0};
  w->partial = call->media == MEDIA_PARTIAL;
  w->list_form = call->media == MEDIA_PARTIAL_LIST;
  w->bookmarks = lo->bookmarks;
  w->end_initial = lo->send_initial;
  w->late_ms = UINT64_MAX;
  table *t = call->res->table;
  w->cursor = initial ? table_log_end(t) : table_log_after(t, lo->version);
  w->min_version = initial ? 0 : lo->version;
  if (initial) {
    take_initial(w);
  }
  w->next = call->res->watches;
  if (w->next != NULL) {
    w->next->prev = w;
  }
  call->res->watches = w;
  c->sim->watch_count++;
  c->sim->stats.watches_started++;
  uv_timer_init(c->sim->loop, &w->timer);
  w->timer.data = w;
  w->deadline_ms = now_ms(w) + timeout_ms(call, lo);
  plan_bookmark(w);
  start_timer(w);
  resp_begin(c, 200, "application/json");
  resp_flush(c);
  conn_set_producer(c, (producer){on_drain, on_abort, w});
}

static void answer_valid(const api_call *call, list_options *lo) {
  conn *c = call->c;
  uint64_t current = store_revision(c->sim->store);
  uint64_t oldest = table_oldest(call->res->table);
  bool initial =
      lo->send_initial || (!lo->has_send_initial && lo->version == 0);
  if (lo->send_initial && lo->version > current) {
    answer_too_large(c, lo->version, current);
    return;
  }
  if (!initial && lo->version == 0) {
    lo->version = current; // sendInitialEvents=false: from now on
  }
  if (!initial && lo->version < oldest) {
    answer_too_old(c, lo->version, oldest);
    return;
  }
  start(call, lo, initial);
}

void watch_answer(const api_call *call) {
  if (call->media != MEDIA_JSON && call->media != MEDIA_PARTIAL &&
      call->media != MEDIA_PARTIAL_LIST) {
    status_not_acceptable(call->c, NULL);
    return;
  }
  list_options lo;
  if (list_options_read(call, &lo)) {
    answer_valid(call, &lo);
    list_options_free(&lo);
  }
}

/* ------------------------------------------------------------ from outside */

void watch_on_committed(table *t, void *data) {
  struct sim *s = data;
  resource *res = table_owner(t);
  if (res->watches != NULL && !res->dirty) {
    res->dirty = true;
    res->next_dirty = s->dirty_resources;
    s->dirty_resources = res;
  }
}

void watch_on_trimming(table *t, uint64_t index, void *data) {
  resource *res = table_owner(t);
  for (watch *w = res->watches; w != NULL; w = w->next) {
    if (w->cursor < index) {
      pump(w);
    }
    if (w->cursor < index) {
      w->lost = true;
      w->cursor = index;
      watch_on_committed(t, data);
    }
  }
}

void watch_pump_dirty(struct sim *s) {
  while (s->dirty_resources != NULL) {
    resource *res = s->dirty_resources;
    s->dirty_resources = res->next_dirty;
    res->dirty = false;
    watch *w = res->watches;
    while (w != NULL) {
      watch *next = w->next;
      pump_or_end(w);
      w = next;
    }
  }
}

static void end_one(watch *w, watch_end how, const buf *expired) {
  conn *c = w->c;
  switch (how) {
  case WATCH_END:
    end_watch(w);
    break;
  case WATCH_EXPIRE:
    write_error(c, expired);
    end_watch(w);
    break;
  case WATCH_FIN:
  case WATCH_RESET:
    conn_close(c, how == WATCH_RESET);
    break;
  }
}

size_t watch_end_all(struct sim *s, const resource *only, watch_end how) {
  size_t count = 0;
  buf expired = {0};
  status_put(&expired, 410, "Expired", "too old resource version: 1 (2)", NULL);
  for (resource *res = s->registry.first; res != NULL; res = res->next) {
    watch *w = only == NULL || only == res ? res->watches : NULL;
    while (w != NULL) {
      watch *next = w->next;
      pump(w);
      end_one(w, how, &expired);
      count++;
      w = next;
    }
  }
  buf_free(&expired);
  return count;
}

size_t watch_bookmark_all(struct sim *s) {
  size_t count = 0;
  for (resource *res = s->registry.first; res != NULL; res = res->next) {
    for (watch *w = res->watches; w != NULL; w = w->next) {
      if (w->bookmarks) {
        pump(w);
        send_bookmark(w);
        count++;
      }
    }
  }
  return count;
}
