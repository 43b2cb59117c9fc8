/* SPDX-License-Identifier: MIT */
/* The control API, for whoever drives a test. Bodies are JSON and may be empty.
 *
 *   GET    /sim/stats           what was asked for and sent
 *   DELETE /sim/stats           start counting anew
 *   POST   /sim/compact         {"keep":N} forget all but the last N revisions
 *   POST   /sim/restart-cache   watch windows begin at the current revision
 *   POST   /sim/restore         {"back":N} the state of N revisions ago, as
 *                               from a backup; all connections are reset
 *   POST   /sim/events          {"count":N,"kind":"mix|modify|create|delete"}
 *                               change pods; answers when it is done
 *   POST   /sim/churn           {"rate":R} changes a second from now on
 *   POST   /sim/bookmark        a bookmark to every watch that takes them
 *   POST   /sim/drop-watches    {"how":"end|fin|rst","plural":P}
 *   POST   /sim/expire-watches  {"plural":P} ERROR 410 on every watch, the end
 *   POST   /sim/replay-reset    replay begins anew with its first list
 *   GET    /sim/fault           the fault rules
 *   POST   /sim/fault           a rule, see fault.c; {"kind":...,...}
 *   DELETE /sim/fault           no rules any more
 *
 * A member that the request does not have, or of another type, is refused.
 * Control requests are not counted, not faulted and need no token. */
#include "control.h"

#include <stdlib.h>
#include <string.h>
#include <yyjson.h>

#include "conn.h"
#include "definition.h"
#include "mem.h"
#include "sim.h"
#include "status.h"
#include "watch.h"

static void answer(conn *c, buf *body) {
  resp_send(c, 200, "application/json", body->data, body->len);
  buf_free(body);
}

static void answer_count(conn *c, const char *name, uint64_t count) {
  buf body = {0};
  buf_printf(&body, "{\"%s\":%llu}\n", name, (unsigned long long)count);
  answer(c, &body);
}

/* more: further members, each with a comma before it. */
static void answer_revision_and(conn *c, const char *more) {
  buf body = {0};
  buf_printf(
      &body,
      "{\"resourceVersion\":\"%llu\",\"compactedRevision\":\"%llu\"%s}\n",
      (unsigned long long)store_revision(c->sim->store),
      (unsigned long long)store_compacted(c->sim->store), more);
  answer(c, &body);
}

static void answer_revision(conn *c) {
  answer_revision_and(c, "");
}

static uint64_t number_in(yyjson_val *body, const char *key,
                          uint64_t otherwise) {
  yyjson_val *value = yyjson_obj_get(body, key);
  return value != NULL ? yyjson_get_uint(value) : otherwise;
}

static const char *text_in(yyjson_val *body, const char *key,
                           const char *otherwise) {
  const char *text = yyjson_get_str(yyjson_obj_get(body, key));
  return text != NULL ? text : otherwise;
}

/* --------------------------------------------------------------- actions */

static void get_stats(conn *c, yyjson_val *body) {
  (void)body;
  buf out = {0};
  stats_describe(c->sim, &out);
  answer(c, &out);
}

static void reset_stats(conn *c, yyjson_val *body) {
  (void)body;
  stats_reset(&c->sim->stats);
  answer_revision(c);
}

static void compact(conn *c, yyjson_val *body) {
  store_compact(c->sim->store, number_in(body, "keep", 0));
  answer_revision(c);
}

static void restart_cache(conn *c, yyjson_val *body) {
  (void)body;
  store_restart_cache(c->sim->store);
  answer_revision(c);
}

static void restore(conn *c, yyjson_val *body) {
  uint64_t now = store_revision(c->sim->store);
  uint64_t back = number_in(body, "back", 0);
  if (back > now || now - back < store_compacted(c->sim->store)) {
    status_bad_request(c, "that revision is compacted");
    return;
  }
  server_drop_all(&c->sim->server, c, true);
  store_restore(c->sim->store, now - back);
  definitions_restored(c->sim);
  answer_revision(c);
}

static void set_churn(conn *c, yyjson_val *body) {
  yyjson_val *rate = yyjson_obj_get(body, "rate");
  double value = yyjson_get_num(rate);
  if (!yyjson_is_num(rate) || !(value >= 0) || value > 1e6) {
    status_bad_request(c, "rate must be a number from 0 to 1000000");
    return;
  }
  churn_set_rate(&c->sim->churn, value);
  answer_revision(c);
}

static void send_bookmarks(conn *c, yyjson_val *body) {
  (void)body;
  answer_count(c, "watches", watch_bookmark_all(c->sim));
}

static void end_watches(conn *c, yyjson_val *body, watch_end how) {
  struct sim *s = c->sim;
  const char *plural = yyjson_get_str(yyjson_obj_get(body, "plural"));
  const resource *res =
      plural != NULL ? registry_next_of_plural(&s->registry, NULL, plural)
                     : NULL;
  if (plural != NULL && res == NULL) {
    status_bad_request(c, "no such plural");
    return;
  }
  size_t count = plural == NULL ? watch_end_all(s, NULL, how) : 0;
  for (; res != NULL;
       res = registry_next_of_plural(&s->registry, res, plural)) {
    count += watch_end_all(s, res, how);
  }
  if (plural == NULL || strcmp(plural, s->opts->replay_resource) == 0) {
    count += replay_end_watches(s->replay, how);
  }
  answer_count(c, "watches", count);
}

static void drop_watches(conn *c, yyjson_val *body) {
  const char *how = text_in(body, "how", "end");
  if (strcmp(how, "end") == 0) {
    end_watches(c, body, WATCH_END);
  } else if (strcmp(how, "fin") == 0) {
    end_watches(c, body, WATCH_FIN);
  } else if (strcmp(how, "rst") == 0) {
    end_watches(c, body, WATCH_RESET);
  } else {
    status_bad_request(c, "how must be end, fin or rst");
  }
}

static void expire_watches(conn *c, yyjson_val *body) {
  end_watches(c, body, WATCH_EXPIRE);
}

static void reset_replay(conn *c, yyjson_val *body) {
  (void)body;
  replay_reset(c->sim->replay);
  answer_revision(c);
}

static void get_faults(conn *c, yyjson_val *body) {
  (void)body;
  buf out = {0};
  faults_describe(c->sim->faults, &out);
  buf_putc(&out, '\n');
  answer(c, &out);
}

static void add_fault(conn *c, yyjson_val *body) {
  buf error = {0};
  uint64_t id = faults_add(c->sim, body, &error);
  if (id == 0) {
    status_bad_request_take(c, &error);
    return;
  }
  answer_count(c, "id", id);
}

static void clear_faults(conn *c, yyjson_val *body) {
  (void)body;
  faults_clear(c->sim->faults);
  answer_revision(c);
}

/* -------------------------------------------------------------- bursts */

typedef struct burst_wait {
  conn *c;
  burst *burst;
} burst_wait;

static void on_burst_done(void *data) {
  burst_wait *wait = data;
  buf changes = {0};
  buf_printf(&changes, ",\"changes\":%llu",
             (unsigned long long)wait->burst->made);
  conn_set_producer(wait->c, (producer){0});
  answer_revision_and(wait->c, changes.data);
  buf_free(&changes);
  free(wait);
}

static void on_burst_abort(void *data) {
  burst_wait *wait = data;
  churn_forget(wait->burst);
  free(wait);
}

static void make_events(conn *c, yyjson_val *body) {
  static const char *const KINDS[] = {"mix", "modify", "create", "delete"};
  const char *kind = text_in(body, "kind", "mix");
  uint64_t count = number_in(body, "count", 1);
  for (size_t i = 0; i < sizeof KINDS / sizeof KINDS[0]; i++) {
    if (strcmp(kind, KINDS[i]) == 0 && count <= 10000000) {
      burst_wait *wait = xcalloc(1, sizeof *wait);
      wait->c = c;
      wait->burst = churn_burst(&c->sim->churn, count, (churn_kind)i,
                                on_burst_done, wait);
      conn_set_producer(c, (producer){NULL, on_burst_abort, wait});
      return;
    }
  }
  status_bad_request(c, "kind must be mix, modify, create or delete, count at "
                        "most 10000000");
}

/* ---------------------------------------------------------------- routing */

typedef struct action {
  int method;
  const char *name;
  void (*act)(conn *c, yyjson_val *body);
  const char *number;   // a member that is an unsigned integer; NULL: none
  const char *texts[2]; // members that are texts
  const char *other;    // a member that the function checks
} action;

static const action ACTIONS[] = {
    {HTTP_GET, "stats", get_stats},
    {HTTP_DELETE, "stats", reset_stats},
    {HTTP_POST, "compact", compact, "keep"},
    {HTTP_POST, "restart-cache", restart_cache},
    {HTTP_POST, "restore", restore, "back"},
    {HTTP_POST, "events", make_events, "count", {"kind"}},
    {HTTP_POST, "churn", set_churn, .other = "rate"},
    {HTTP_POST, "bookmark", send_bookmarks},
    {HTTP_POST, "drop-watches", drop_watches, NULL, {"how", "plural"}},
    {HTTP_POST, "expire-watches", expire_watches, NULL, {"plural"}},
    {HTTP_POST, "replay-reset", reset_replay},
    {HTTP_GET, "fault", get_faults},
    {HTTP_POST, "fault", add_fault},
    {HTTP_DELETE, "fault", clear_faults},
};

static bool check_member(conn *c, const action *a, yyjson_val *key,
                         yyjson_val *item) {
  bool is_text = yyjson_equals_str(key, a->texts[0]) ||
                 yyjson_equals_str(key, a->texts[1]);
  bool is_number = yyjson_equals_str(key, a->number);
  if ((is_text && yyjson_is_str(item)) || (is_number && yyjson_is_uint(item)) ||
      yyjson_equals_str(key, a->other)) {
    return true;
  }
  buf error = {0};
  buf_puts(&error, is_text     ? "not a text: "
                   : is_number ? "not an unsigned integer: "
                               : "no such member: ");
  buf_append(&error, yyjson_get_str(key), yyjson_get_len(key));
  status_bad_request_take(c, &error);
  return false;
}

/* A member that is misspelt or of another type would else count as absent. */
static bool check_members(conn *c, const action *a, yyjson_val *body) {
  size_t i, max;
  yyjson_val *key, *item;
  if (a->act == add_fault) {
    return true; // checks all members itself
  }
  yyjson_obj_foreach(body, i, max, key, item) {
    if (!check_member(c, a, key, item)) {
      return false;
    }
  }
  return true;
}

void control_answer(conn *c) {
  const char *name = request_segment(&c->req, 1);
  const buf *text = &c->req.body;
  for (size_t i = 0; i < sizeof ACTIONS / sizeof ACTIONS[0]; i++) {
    if (name == NULL || c->req.path_count != 2 ||
        ACTIONS[i].method != c->req.method ||
        strcmp(ACTIONS[i].name, name) != 0) {
      continue;
    }
    yyjson_doc *doc = NULL;
    if (text->len != 0) {
      doc = yyjson_read(text->data, text->len, 0);
      if (!yyjson_is_obj(yyjson_doc_get_root(doc))) {
        yyjson_doc_free(doc);
        status_bad_request(c, "the body must be a JSON object");
        return;
      }
    }
    yyjson_val *body = yyjson_doc_get_root(doc);
    if (check_members(c, &ACTIONS[i], body)) {
      ACTIONS[i].act(c, body);
    }
    yyjson_doc_free(doc);
    return;
  }
  status_unknown_path(c);
}
