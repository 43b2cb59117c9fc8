/* SPDX-License-Identifier: MIT */
#include "churn.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <yyjson.h>

#include "mem.h"
#include "object.h"
#include "sim.h"
#include "write.h"

enum {
  TICK_MS = 5,
  TICK_WORK_MS = 10,    // at most; then requests have their turn
  BURST_STEP = 500,     // changes a loop iteration
  OWED_MAX_SECONDS = 1, // what is late by more than this is dropped
};

static table *pod_table(churn *ch) {
  return registry_find(&ch->sim->registry, "", "v1", "pods")->table;
}

static const resource *pod_resource(churn *ch) {
  return registry_find(&ch->sim->registry, "", "v1", "pods");
}

static void create_pod(churn *ch) {
  uint64_t index = ch->next_index++;
  buf key = {0};
  buf json = {0};
  podgen_namespace(&ch->gen, index, &key);
  write_ensure_namespace(ch->sim, key.data);
  buf_putc(&key, '/');
  podgen_name(&ch->gen, index, &key);
  podgen_render(&ch->gen, index, store_revision(ch->sim->store) + 1, 0, &json);
  table_put(pod_table(ch), key.data, blob_copy(json.data, json.len));
  buf_free(&json);
  if (ch->count == ch->cap) {
    ch->cap = ch->cap != 0 ? ch->cap * 2 : 1024;
    ch->keys = xrealloc(ch->keys, ch->cap, sizeof *ch->keys);
  }
  ch->keys[ch->count++] = key.data;
}

static void forget_key(churn *ch, size_t at) {
  free(ch->keys[at]);
  ch->keys[at] = ch->keys[--ch->count];
}

/* The index of a random pod that is still there; false if none is. */
static bool pick_pod(churn *ch, size_t *out) {
  while (ch->count != 0) {
    size_t at = (size_t)rng_below(&ch->sim->churn_rng, ch->count);
    if (table_get(pod_table(ch), ch->keys[at]) != NULL) {
      *out = at;
      return true;
    }
    forget_key(ch, at); // somebody deleted it through the API
  }
  return false;
}

static void delete_pod(churn *ch, size_t at) {
  table_delete(pod_table(ch), ch->keys[at]);
  forget_key(ch, at);
}

static yyjson_mut_val *first_status(yyjson_mut_val *root) {
  yyjson_mut_val *status = yyjson_mut_obj_get(root, "status");
  return yyjson_mut_arr_get_first(
      yyjson_mut_obj_get(status, "containerStatuses"));
}

/* What kubelets and people do to a pod: mostly status, sometimes a label. */
static void change_pod(churn *ch, yyjson_mut_doc *doc) {
  rng *r = &ch->sim->churn_rng;
  yyjson_mut_val *root = yyjson_mut_doc_get_root(doc);
  yyjson_mut_val *meta = object_meta(doc);
  char now[RFC3339_LEN + 1];
  format_rfc3339(time(NULL), now);
  yyjson_mut_val *labels = yyjson_mut_obj_get(meta, "labels");
  if (rng_below(r, 5) == 0 && yyjson_mut_is_obj(labels)) {
    const char *track = object_text(labels, "track");
    bool stable = track != NULL && strcmp(track, "stable") == 0;
    object_set_text(doc, labels, "track", stable ? "canary" : "stable");
    return;
  }
  yyjson_mut_val *container = first_status(root);
  if (yyjson_mut_is_obj(container)) {
    object_set_number(doc, container, "restartCount",
                      object_number(container, "restartCount") + 1);
  }
  size_t i, max;
  yyjson_mut_val *condition;
  yyjson_mut_val *status = yyjson_mut_obj_get(root, "status");
  yyjson_mut_arr_foreach(yyjson_mut_obj_get(status, "conditions"), i, max,
                         condition) {
    if (yyjson_mut_is_obj(condition)) {
      object_set_text(doc, condition, "lastTransitionTime", now);
    }
  }
}

static void modify_pod(churn *ch, size_t at) {
  yyjson_mut_doc *doc = object_of(table_get(pod_table(ch), ch->keys[at]));
  change_pod(ch, doc);
  buf digits = {0};
  buf_put_u64(&digits, store_revision(ch->sim->store) + 1);
  object_set_text(doc, object_meta(doc), "resourceVersion", digits.data);
  buf_free(&digits);
  table_put(pod_table(ch), ch->keys[at], object_render(doc, pod_resource(ch)));
  yyjson_mut_doc_free(doc);
}

/* False if there is no pod to change. */
static bool change_one(churn *ch, churn_kind kind) {
  bool is_mix = kind == CHURN_MIX;
  if (is_mix) {
    uint64_t dice = rng_below(&ch->sim->churn_rng, 10);
    kind = dice < 8 ? CHURN_MODIFY : dice == 8 ? CHURN_CREATE : CHURN_DELETE;
  }
  size_t at = 0;
  if (kind != CHURN_CREATE && !pick_pod(ch, &at)) {
    if (!is_mix) {
      return false;
    }
    kind = CHURN_CREATE;
  }
  if (kind == CHURN_CREATE) {
    create_pod(ch);
  } else if (kind == CHURN_DELETE) {
    delete_pod(ch, at);
  } else {
    modify_pod(ch, at);
  }
  return true;
}

/* ------------------------------------------------------------------ rate */

static void on_tick(uv_timer_t *timer) {
  churn *ch = timer->data;
  uint64_t now = uv_hrtime();
  ch->owed += ch->rate * (double)(now - ch->last_ns) / 1e9;
  ch->last_ns = now;
  if (ch->owed > ch->rate * OWED_MAX_SECONDS + 1) {
    ch->owed = ch->rate * OWED_MAX_SECONDS + 1;
  }
  while (ch->owed >= 1 &&
         uv_hrtime() - now < (uint64_t)TICK_WORK_MS * 1000000) {
    ch->owed -= 1;
    change_one(ch, CHURN_MIX);
  }
}

void churn_set_rate(churn *ch, double rate) {
  ch->rate = rate;
  ch->owed = 0;
  ch->last_ns = uv_hrtime();
  if (rate > 0) {
    uv_timer_start(&ch->timer, on_tick, TICK_MS, TICK_MS);
  } else {
    uv_timer_stop(&ch->timer);
  }
}

/* ---------------------------------------------------------------- bursts */

static void finish_burst(churn *ch) {
  burst *b = ch->bursts;
  ch->bursts = b->next;
  if (b->done != NULL) {
    b->done(b->data);
  }
  free(b);
}

static void on_idle(uv_idle_t *idle) {
  churn *ch = idle->data;
  int steps = BURST_STEP;
  while (ch->bursts != NULL && steps > 0) {
    if (ch->bursts->left == 0) {
      finish_burst(ch);
      continue;
    }
    ch->bursts->left--;
    steps--;
    ch->bursts->made += change_one(ch, ch->bursts->kind) ? 1 : 0;
  }
  if (ch->bursts == NULL) {
    uv_idle_stop(idle);
  }
}

burst *churn_burst(churn *ch, uint64_t count, churn_kind kind,
                   void (*done)(void *data), void *data) {
  burst *b = xcalloc(1, sizeof *b);
  *b = (burst){.left = count, .kind = kind, .done = done, .data = data};
  burst **end = &ch->bursts;
  while (*end != NULL) {
    end = &(*end)->next;
  }
  *end = b;
  uv_idle_start(&ch->idle, on_idle);
  return b;
}

void churn_forget(burst *b) {
  b->done = NULL;
}

/* ------------------------------------------------------------ life cycle */

void churn_open(churn *ch, struct sim *s, uint64_t pods, double rate) {
  ch->sim = s;
  ch->gen = (podgen){.seed = s->opts->seed,
                     .namespaces = s->opts->namespaces,
                     .object_bytes = s->opts->object_bytes,
                     .shapes = s->opts->shapes};
  uv_timer_init(s->loop, &ch->timer);
  uv_idle_init(s->loop, &ch->idle);
  ch->timer.data = ch;
  ch->idle.data = ch;
  for (uint64_t i = 0; i < pods; i++) {
    create_pod(ch);
  }
  churn_set_rate(ch, rate);
}

void churn_close(churn *ch) {
  while (ch->bursts != NULL) {
    burst *b = ch->bursts;
    ch->bursts = b->next;
    free(b);
  }
  for (size_t i = 0; i < ch->count; i++) {
    free(ch->keys[i]);
  }
  free(ch->keys);
  uv_close((uv_handle_t *)&ch->timer, NULL);
  uv_close((uv_handle_t *)&ch->idle, NULL);
}
