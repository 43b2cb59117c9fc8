/* SPDX-License-Identifier: MIT */
/* A replay is a short, fixed history: a first list, M events on top of it, and
 * then, each time a list asks for it (--replay-changed) or the watches are
 * expired, a later state. It is consistent: a list that comes after events
 * shows what the events did, and a watch continues from the version it gives.
 *
 * Until something moves the state on, every client gets the first list and all
 * events, so several can be measured one after the other. */
#include "replay.h"

#include <stdlib.h>
#include <string.h>

#include "conn.h"
#include "mem.h"
#include "render.h"
#include "replay_data.h"
#include "sim.h"
#include "status.h"

enum {
  PIECE_BYTES = 4 * 1024 * 1024, // queued at a time
  TICK_MS = 1,                   // of a limited rate
  DEFAULT_TIMEOUT_MS = 3600 * 1000,
};

typedef struct replay_watch {
  struct replay_watch *prev, *next;
  replay *rp;
  conn *c;
  const replay_form *form;
  uint64_t next_initial, initial_end;
  uint64_t next_event, event_end;
  uint64_t end_version; // of the bookmark that ends initial events; 0 = none
  bool bookmarks;
  double owed;
  uint64_t last_ns;
  uint64_t deadline_ms, bookmark_ms;
  uv_timer_t timer;
} replay_watch;

struct replay {
  struct sim *sim;
  replay_plan plan;
  replay_form full;
  replay_form partial; // rendered when first asked for, or at the start
  bool has_partial;
  uint64_t version;    // of the state
  uint64_t oldest;     // a watch may start from
  uint64_t generation; // how often the state was moved on
  uint64_t lists;
  bool watched; // some client was sent events
  bool events_applied;
  replay_watch *watches;
};

/* ------------------------------------------------------------------ state */

bool replay_can(const resource *res) {
  return res != NULL && (res->custom || res->has_pod_fields);
}

replay *replay_open(struct sim *s) {
  replay *rp = xcalloc(1, sizeof *rp);
  rp->sim = s;
  rp->plan = (replay_plan){
      .gen = {.seed = s->opts->seed,
              .namespaces = s->opts->namespaces,
              .object_bytes = s->opts->object_bytes,
              .shapes = s->opts->shapes},
      .res =
          registry_next_of_plural(&s->registry, NULL, s->opts->replay_resource),
      .pods = s->opts->pods,
      .events = s->opts->pods != 0 ? s->opts->replay_events : 0,
      .first_version = s->opts->pods + 1,
  };
  replay_form_render(&rp->full, &rp->plan, false);
  if (s->opts->replay_metadata) {
    replay_form_render(&rp->partial, &rp->plan, true);
    rp->has_partial = true;
  }
  replay_reset(rp);
  return rp;
}

void replay_close(replay *rp) {
  if (rp != NULL) {
    replay_form_free(&rp->full);
    replay_form_free(&rp->partial);
    free(rp);
  }
}

void replay_reset(replay *rp) {
  if (rp == NULL) {
    return;
  }
  replay_form_reset(&rp->full, &rp->plan);
  if (rp->has_partial) {
    replay_form_reset(&rp->partial, &rp->plan);
  }
  rp->version = rp->plan.first_version;
  rp->oldest = 1;
  rp->generation = 0;
  rp->lists = 0;
  rp->watched = false;
  rp->events_applied = false;
}

static void apply_events(replay *rp) {
  if (rp->events_applied || !rp->watched) {
    return;
  }
  rp->events_applied = true;
  replay_form_apply_events(&rp->full, &rp->plan);
  if (rp->has_partial) {
    replay_form_apply_events(&rp->partial, &rp->plan);
  }
  rp->version = rp->plan.first_version + rp->plan.events;
}

/* Changes the share of objects that --replay-changed asks for. */
static void move_on(replay *rp) {
  apply_events(rp);
  rp->generation++;
  rp->version++;
  uint64_t parts = (uint64_t)(rp->sim->opts->replay_changed * 1000);
  for (uint64_t i = 0; i < rp->plan.pods; i++) {
    uint64_t dice = rng_mix(rng_mix(i) ^ rp->generation << 40) % 100000;
    if (dice >= parts) {
      continue;
    }
    rp->version++;
    uint64_t change = rp->plan.events + rp->generation;
    replay_form_change(&rp->full, &rp->plan, i, rp->version, change);
    if (rp->has_partial) {
      replay_form_change(&rp->partial, &rp->plan, i, rp->version, change);
    }
  }
}

/* Metadata asked for after the state has moved on would need the same moves;
 * rendering it at the start is what --replay-metadata is for. */
static const replay_form *form_for(replay *rp, media m) {
  if (m == MEDIA_JSON) {
    return &rp->full;
  }
  if (!rp->has_partial && rp->generation == 0 && !rp->events_applied) {
    replay_form_render(&rp->partial, &rp->plan, true);
    rp->has_partial = true;
  }
  return rp->has_partial ? &rp->partial : NULL;
}

/* ------------------------------------------------------------------ list */

static void answer_list(replay *rp, conn *c, const replay_form *form) {
  if (rp->lists++ != 0 && rp->sim->opts->replay_changed > 0) {
    move_on(rp);
  }
  segq all = {0};
  replay_put_list(form, &rp->plan, rp->version, &all);
  resp_begin(c, 200, "application/json");
  resp_begin_raw(c);
  conn_push_queue(c, &all, all.bytes);
  resp_end(c);
  segq_free(&all);
}

/* ----------------------------------------------------------------- watch */

static void on_timer_closed(uv_handle_t *handle) {
  free(handle->data);
}

static void free_watch(replay_watch *w) {
  if (w->prev != NULL) {
    w->prev->next = w->next;
  } else {
    w->rp->watches = w->next;
  }
  if (w->next != NULL) {
    w->next->prev = w->prev;
  }
  w->rp->sim->watch_count--;
  uv_close((uv_handle_t *)&w->timer, on_timer_closed);
}

static void end_watch(replay_watch *w) {
  conn_set_producer(w->c, (producer){0});
  resp_end(w->c);
  free_watch(w);
}

static void put_text_chunk(conn *c, const buf *text) {
  buf frame = {0};
  buf_printf(&frame, "%zx\r\n", text->len);
  conn_push_copy(c, frame.data, frame.len);
  conn_push_copy(c, text->data, text->len);
  conn_push(c, NULL, "\r\n", 2);
  buf_free(&frame);
  resp_event_end(c);
}

static void put_bookmark(replay_watch *w, uint64_t version, bool end) {
  buf text = {0};
  buf_puts(&text, "{\"type\":\"BOOKMARK\",\"object\":");
  render_bookmark(&text, w->rp->plan.res, w->form->partial, version, end);
  buf_puts(&text, "}\n");
  if (!w->c->plan.drop_bookmarks) {
    put_text_chunk(w->c, &text);
    w->rp->sim->stats.bookmarks_sent++;
  }
  buf_free(&text);
}

/* Whether to stop after the event just queued, because a fault counts them. */
static bool at_fault(const replay_watch *w, uint64_t queued) {
  return w->c->resp.events + queued == w->c->plan.after_events;
}

static void push_events(replay_watch *w, segq *piece, uint64_t count) {
  conn_push_queue(w->c, piece, piece->bytes);
  resp_events_end(w->c, count);
}

static void pump_initial(replay_watch *w) {
  segq piece = {0};
  uint64_t count = 0;
  while (w->next_initial < w->initial_end &&
         conn_backlog(w->c) + piece.bytes < PIECE_BYTES) {
    replay_put_added(w->form, w->next_initial++, &piece);
    if (at_fault(w, ++count)) {
      break;
    }
  }
  push_events(w, &piece, count);
  segq_free(&piece);
  if (w->next_initial == w->initial_end && w->end_version != 0) {
    put_bookmark(w, w->end_version, true);
    w->end_version = 0;
  }
}

static uint64_t allowance(replay_watch *w) {
  double rate = w->rp->sim->opts->replay_rate;
  if (rate <= 0) {
    return UINT64_MAX;
  }
  uint64_t now = uv_hrtime();
  w->owed += rate * (double)(now - w->last_ns) / 1e9;
  w->last_ns = now;
  return (uint64_t)w->owed;
}

static void pump_events(replay_watch *w) {
  segq piece = {0};
  uint64_t count = 0;
  uint64_t most = allowance(w);
  while (w->next_event < w->event_end && count < most &&
         conn_backlog(w->c) + piece.bytes < PIECE_BYTES) {
    replay_put_event(w->form, w->next_event++, &piece);
    if (at_fault(w, ++count)) {
      break;
    }
  }
  w->owed -= w->rp->sim->opts->replay_rate > 0 ? (double)count : 0;
  push_events(w, &piece, count);
  segq_free(&piece);
}

static void pump(replay_watch *w) {
  if (w->next_initial < w->initial_end || w->end_version != 0) {
    pump_initial(w);
    w->last_ns = uv_hrtime(); // the rate counts from the last initial event
  } else if (w->next_event < w->event_end) {
    pump_events(w);
  }
}

static void on_drain(void *data) {
  pump(data);
}

static void on_abort(void *data) {
  free_watch(data);
}

// A bookmark that is due while the reader is behind waits for its next time. A
// timer that is due again at once would keep libuv before 1.45 from everything
// else.
static void on_timer(uv_timer_t *timer) {
  replay_watch *w = timer->data;
  uint64_t now = uv_now(w->rp->sim->loop);
  if (now >= w->deadline_ms) {
    end_watch(w);
    return;
  }
  bool idle =
      w->next_event == w->event_end && w->next_initial == w->initial_end;
  bool is_due = w->bookmarks && now >= w->bookmark_ms;
  if (!idle) {
    pump(w);
  } else if (is_due) {
    put_bookmark(w, w->rp->plan.first_version + w->event_end, false);
  }
  if (is_due) {
    w->bookmark_ms = now + w->rp->sim->opts->bookmark_interval_ms;
  }
  uint64_t due = w->bookmarks && w->bookmark_ms < w->deadline_ms
                     ? w->bookmark_ms
                     : w->deadline_ms;
  bool ticks = !idle && w->rp->sim->opts->replay_rate > 0;
  uv_timer_start(&w->timer, on_timer,
                 ticks       ? TICK_MS
                 : due > now ? due - now
                             : 0,
                 0);
}

/* Where in the events a watch from version begins. */
static uint64_t event_after(const replay *rp, uint64_t version) {
  if (version <= rp->plan.first_version) {
    return 0;
  }
  uint64_t at = version - rp->plan.first_version;
  return at < rp->plan.events ? at : rp->plan.events;
}

static void start_watch(replay *rp, conn *c, const replay_form *form,
                        const list_options *lo, bool initial) {
  replay_watch *w = xcalloc(1, sizeof *w);
  w->rp = rp;
  w->c = c;
  w->form = form;
  w->bookmarks = lo->bookmarks && rp->sim->opts->bookmark_interval_ms != 0;
  w->event_end = rp->plan.events;
  w->next_event = event_after(rp, initial ? rp->version : lo->version);
  w->initial_end = initial ? rp->plan.pods : 0;
  w->end_version = lo->send_initial && lo->bookmarks ? rp->version : 0;
  w->last_ns = uv_hrtime();
  rp->watched = rp->watched || w->next_event < w->event_end;
  w->next = rp->watches;
  if (w->next != NULL) {
    w->next->prev = w;
  }
  rp->watches = w;
  rp->sim->watch_count++;
  rp->sim->stats.watches_started++;
  uv_timer_init(rp->sim->loop, &w->timer);
  w->timer.data = w;
  uint64_t now = uv_now(rp->sim->loop);
  w->deadline_ms =
      now + (lo->timeout_s != 0 ? lo->timeout_s * 1000 : DEFAULT_TIMEOUT_MS);
  w->bookmark_ms = now + rp->sim->opts->bookmark_interval_ms;
  uv_timer_start(&w->timer, on_timer, TICK_MS, 0);
  resp_begin(c, 200, "application/json");
  resp_begin_raw(c);
  conn_set_producer(c, (producer){on_drain, on_abort, w});
}

static void put_expired(conn *c) {
  buf text = {0};
  buf_puts(&text, "{\"type\":\"ERROR\",\"object\":");
  status_put(&text, 410, "Expired", "too old resource version: 1 (2)", NULL);
  buf_puts(&text, "}\n");
  put_text_chunk(c, &text);
  buf_free(&text);
}

static void answer_watch(replay *rp, const api_call *call,
                         const replay_form *form) {
  conn *c = call->c;
  list_options lo;
  if (!list_options_read(call, &lo)) {
    return;
  }
  bool initial = lo.send_initial || (!lo.has_send_initial && lo.version == 0);
  if (!initial && lo.version < rp->oldest) {
    resp_begin(c, 200, "application/json");
    resp_begin_raw(c);
    put_expired(c);
    resp_end(c);
  } else {
    start_watch(rp, c, form, &lo, initial);
  }
  list_options_free(&lo);
}

size_t replay_end_watches(replay *rp, watch_end how) {
  size_t count = 0;
  replay_watch *w = rp != NULL ? rp->watches : NULL;
  while (w != NULL) {
    replay_watch *next = w->next;
    count++;
    if (how == WATCH_EXPIRE) {
      put_expired(w->c);
    }
    if (how == WATCH_EXPIRE || how == WATCH_END) {
      end_watch(w);
    } else {
      conn_close(w->c, how == WATCH_RESET);
    }
    w = next;
  }
  if (rp != NULL && how == WATCH_EXPIRE) {
    apply_events(rp);
    rp->oldest = ++rp->version;
  }
  return count;
}

/* ---------------------------------------------------------------- routing */

bool replay_answer(const api_call *call) {
  conn *c = call->c;
  replay *rp = c->sim->replay;
  bool list = strcmp(call->verb, "list") == 0;
  bool watch = strcmp(call->verb, "watch") == 0;
  if (rp == NULL || (!list && !watch) || call->ns != NULL ||
      call->name != NULL || call->res != rp->plan.res || c->http10 ||
      c->plan.gzip) {
    return false;
  }
  media partial = list ? MEDIA_PARTIAL_LIST : MEDIA_PARTIAL;
  if (call->media != MEDIA_JSON && call->media != partial) {
    return false; // the ordinary answer is 406
  }
  const replay_form *form = form_for(rp, call->media);
  if (form == NULL) {
    status_bad_request(c, "metadata after the state has moved on needs "
                          "--replay-metadata");
  } else if (list) {
    answer_list(rp, c, form);
  } else {
    answer_watch(rp, call, form);
  }
  return true;
}
