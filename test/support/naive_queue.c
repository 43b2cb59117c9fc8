/* SPDX-License-Identifier: MIT */
#include "support/naive_queue.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <kin/error.h>

static void copy(char *to, size_t size, const char *from) {
  assert_true(strlen(from) < size);
  strcpy(to, from);
}

static naive_queue_change change(char type, const char *key, const char *what) {
  naive_queue_change c = {.type = type};
  copy(c.key, sizeof c.key, key);
  copy(c.what, sizeof c.what, what);
  return c;
}

static void settle(naive_queue *q) {
  if (q->is_populated && q->initial == 0) {
    q->is_synced = true;
  }
}

static void populate(naive_queue *q) {
  q->is_populated = true;
  settle(q);
}

static bool is_deletion(const naive_queue_change *c) {
  return c->type == 'D' || c->type == 'X';
}

/* The newest change of a key, NULL if there is none. */
static naive_queue_change *newest(naive_queue *q, const char *key) {
  for (size_t i = q->count; i > 0; i--) {
    if (strcmp(q->changes[i - 1].key, key) == 0) {
      return &q->changes[i - 1];
    }
  }
  return NULL;
}

static bool is_queued(naive_queue *q, const char *key) {
  const naive_queue_change *c = newest(q, key);
  return c != NULL && !c->is_place;
}

static void count_down(naive_queue *q) {
  q->initial -= q->initial > 0 ? 1 : 0;
}

/* FF-02: places that nothing stands behind. An item that is being processed has
 * its turn still. */
static void drop_places(naive_queue *q) {
  if (q->kind == RIG_FIFO && naive_queue_count(q) == 0) {
    for (; q->count > 0; q->count--) {
      if (q->initial > (q->is_processing ? 1 : 0)) {
        q->initial--;
      }
    }
  }
}

static void push(naive_queue *q, naive_queue_change c) {
  assert_true(q->count < NAIVE_MAX_CHANGES);
  q->changes[q->count++] = c;
}

/* DF-01, DF-04. */
static void delta_append(naive_queue *q, naive_queue_change c) {
  naive_queue_change *last = newest(q, c.key);
  if (last == NULL) {
    assert_true(q->turn_count < 64);
    copy(q->turns[q->turn_count++], 16, c.key);
  } else if (is_deletion(last) && is_deletion(&c)) {
    if (last->type == 'X' && strcmp(c.what, "-") != 0) {
      *last = c;
    }
    return;
  }
  push(q, c);
}

/* FF-01, FF-02. */
static void fifo_set(naive_queue *q, naive_queue_change c) {
  naive_queue_change *place = newest(q, c.key);
  if (place != NULL) {
    *place = c;
  } else {
    push(q, c);
  }
}

static void append(naive_queue *q, naive_queue_change c) {
  switch (q->kind) {
  case RIG_FIFO:
    fifo_set(q, c);
    break;
  case RIG_DELTA:
    delta_append(q, c);
    break;
  default:
    push(q, c);
    break;
  }
}

void naive_queue_put(naive_queue *q, char type, const char *key,
                     const char *object) {
  append(q, change(type, key, object));
  populate(q);
}

static const rig_known *known(const naive_queue *q, const char *key) {
  for (size_t i = 0; q->has_known && i < q->rig->known_count; i++) {
    if (strcmp(q->rig->known[i].key, key) == 0) {
      return &q->rig->known[i];
    }
  }
  return NULL;
}

/* The text of a known object, "-" if it cannot be had. */
static void known_text(const naive_queue *q, const char *key, char to[32]) {
  const rig_known *k = known(q, key);
  strcpy(to, "-");
  if (k != NULL && k->object != NULL && !k->fails) {
    kin_str version = kin_object_resource_version(k->object);
    snprintf(to, 32, "%.15s@%.*s", key, (int)version.length, version.data);
  }
}

void naive_queue_remove(naive_queue *q, char type, const char *key,
                        const char *object) {
  const rig_known *k = known(q, key);
  bool counts = k != NULL && (k->fails || k->object != NULL);
  if (q->kind == RIG_FIFO) {
    if (is_queued(q, key)) {
      newest(q, key)->is_place = true;
      drop_places(q);
    }
  } else if (q->kind == RIG_IN_ORDER || is_queued(q, key) || counts) {
    append(q, change(type, key, object));
  }
  populate(q);
}

/* A whole list (R), or a resync of everything (S). */
static bool has_whole(const naive_queue *q, char type) {
  for (size_t i = 0; i < q->count; i++) {
    if (q->changes[i].type == '*' && q->changes[i].what[0] == type) {
      return true;
    }
  }
  return false;
}

void naive_queue_restore(naive_queue *q, const char *key, const char *object) {
  if (!is_queued(q, key) && !has_whole(q, 'R')) {
    append(q, change('A', key, object));
  }
  populate(q);
}

void naive_queue_resync(naive_queue *q) {
  if (q->kind == RIG_IN_ORDER && !q->has_known) {
    bool is_full = q->count >= 2 * q->batch_limit; /* kin_queue_is_full */
    if (!is_full || !has_whole(q, 'S')) {
      push(q, change('*', "", "S*"));
    }
    return;
  }
  bool was_queued[RIG_MAX_KNOWN];
  for (size_t i = 0; q->has_known && i < q->rig->known_count; i++) {
    was_queued[i] = is_queued(q, q->rig->known[i].key);
  }
  for (size_t i = 0; q->has_known && i < q->rig->known_count; i++) {
    char object[32];
    known_text(q, q->rig->known[i].key, object);
    if (!was_queued[i] && strcmp(object, "-") != 0) {
      append(q, change('S', q->rig->known[i].key, object));
    }
  }
}

void naive_queue_bookmark(naive_queue *q, const char *version) {
  char text[64];
  snprintf(text, sizeof text, "B:%s", version);
  if (q->emit_bookmarks) {
    push(q, change('*', "", text));
  }
}

static bool is_listed(char keys[][16], size_t count, const char *key) {
  for (size_t i = 0; i < count; i++) {
    if (strcmp(keys[i], key) == 0) {
      return true;
    }
  }
  return false;
}

/* DF-05, DF-06: what a list appends, in order. */
static size_t delta_steps(naive_queue *q, char keys[][16], char objects[][32],
                          size_t count, naive_queue_change *steps) {
  size_t n = 0;
  for (size_t i = 0; i < count; i++) {
    steps[n++] = change(q->emit_replaced ? 'R' : 'S', keys[i], objects[i]);
  }
  for (size_t i = 0; i < q->turn_count; i++) {
    if (!is_listed(keys, count, q->turns[i])) {
      steps[n++] = change('X', q->turns[i], newest(q, q->turns[i])->what);
    }
  }
  for (size_t i = 0; q->has_known && i < q->rig->known_count; i++) {
    const char *key = q->rig->known[i].key;
    char object[32];
    known_text(q, key, object);
    if (!is_listed(keys, count, key) && !is_queued(q, key)) {
      steps[n++] = change('X', key, object);
    }
  }
  return n;
}

static bool delta_replace(naive_queue *q, char keys[][16], char objects[][32],
                          size_t count, size_t last_step) {
  static naive_queue_change steps[256];
  size_t n = delta_steps(q, keys, objects, count, steps);
  for (size_t i = 0; i < n && i < last_step; i++) {
    delta_append(q, steps[i]);
  }
  return last_step < n;
}

/* QF-05. */
static void replace_all(naive_queue *q, char objects[][32], size_t count,
                        const char *version) {
  char text[256] = "R*(";
  for (size_t i = 0; i < count; i++) {
    strcat(text, i > 0 ? "," : "");
    strcat(text, objects[i]);
  }
  strcat(text, ")#");
  strcat(text, version);
  push(q, change('*', "", text));
}

/* QF-06. */
static void reconcile(naive_queue *q, char keys[][16], char objects[][32],
                      size_t count) {
  size_t queued = q->count;
  for (size_t i = 0; i < queued; i++) {
    bool is_first = true;
    size_t last = i;
    for (size_t k = 0; k < queued; k++) {
      if (strcmp(q->changes[k].key, q->changes[i].key) == 0) {
        is_first = is_first && k >= i;
        last = k;
      }
    }
    if (is_first && !is_deletion(&q->changes[last]) &&
        !is_listed(keys, count, q->changes[i].key)) {
      push(q, change('X', q->changes[i].key, q->changes[last].what));
    }
  }
  for (size_t i = 0; i < q->rig->known_count; i++) {
    const char *key = q->rig->known[i].key;
    bool was_queued = false;
    for (size_t k = 0; k < queued; k++) {
      was_queued = was_queued || strcmp(q->changes[k].key, key) == 0;
    }
    if (!was_queued && !is_listed(keys, count, key)) {
      char object[32];
      known_text(q, key, object);
      push(q, change('X', key, object));
    }
  }
  for (size_t i = 0; i < count; i++) {
    push(q, change('R', keys[i], objects[i]));
  }
}

bool naive_queue_replace(naive_queue *q, char keys[][16], char objects[][32],
                         size_t count, const char *version, size_t last_step) {
  bool was_populated = q->is_populated;
  if (q->kind == RIG_FIFO) {
    q->count = 0;
    for (size_t i = 0; i < count; i++) {
      fifo_set(q, change('R', keys[i], objects[i]));
    }
    was_populated = q->is_synced; /* the last list before that counts */
  } else if (q->kind == RIG_DELTA) {
    if (delta_replace(q, keys, objects, count, last_step)) {
      return true;
    }
  } else if (q->has_known) {
    reconcile(q, keys, objects, count);
  } else {
    replace_all(q, objects, count, version);
  }
  if (!was_populated) {
    q->initial = q->kind == RIG_DELTA ? q->turn_count : q->count;
  }
  populate(q);
  return false;
}

/* Moves the first `n` changes that are of `key`, or any if it is NULL. */
static void take(naive_queue *q, const char *key, size_t n) {
  size_t kept = 0;
  q->taken_count = 0;
  for (size_t i = 0; i < q->count; i++) {
    if (q->taken_count < n &&
        (key == NULL || strcmp(q->changes[i].key, key) == 0)) {
      q->taken[q->taken_count++] = q->changes[i];
    } else {
      q->changes[kept++] = q->changes[i];
    }
  }
  q->count = kept;
}

/* QF-09. */
static size_t batch_size(const naive_queue *q) {
  size_t n = 0;
  while (n < q->count && n < q->batch_limit &&
         (q->initial == 0 || n < q->initial)) {
    bool is_seen = false;
    for (size_t i = 0; i < n; i++) {
      is_seen = is_seen || strcmp(q->changes[i].key, q->changes[n].key) == 0;
    }
    if (q->changes[n].type == '*') {
      return n == 0 ? 1 : n;
    }
    if (is_seen) {
      return n;
    }
    n++;
  }
  return n;
}

static void describe(const naive_queue_change *c, char *to, size_t size) {
  size_t at = strlen(to);
  const char *separator = at > 0 && to[at - 1] != '[' ? " " : "";
  if (c->type == '*') {
    snprintf(to + at, size - at, "%s%s", separator, c->what);
  } else if (strcmp(c->what, "-") == 0) {
    snprintf(to + at, size - at, "%s%c:%s@-", separator, c->type, c->key);
  } else {
    snprintf(to + at, size - at, "%s%c:%s", separator, c->type, c->what);
  }
}

bool naive_queue_begin(naive_queue *q, bool is_batch, char *to, size_t size) {
  q->was_initial = !q->is_synced;
  q->taken_count = 0;
  while (q->kind == RIG_FIFO && q->count > 0 && q->changes[0].is_place) {
    take(q, NULL, 1);
    count_down(q);
    q->taken_count = 0;
  }
  if (q->kind == RIG_FIFO) {
    settle(q);
    q->was_initial = !q->is_synced;
  }
  if (q->count == 0) {
    settle(q);
    return false;
  }
  if (q->kind == RIG_DELTA) {
    take(q, q->turns[0], SIZE_MAX);
    memmove(q->turns[0], q->turns[1], --q->turn_count * 16);
    count_down(q);
    settle(q);
  } else {
    take(q, NULL, is_batch && q->kind == RIG_IN_ORDER ? batch_size(q) : 1);
  }
  q->is_processing = true;
  bool is_several = q->kind == RIG_IN_ORDER && q->taken_count > 1;
  strcpy(to, is_several ? "[" : "");
  for (size_t i = 0; i < q->taken_count; i++) {
    describe(&q->taken[i], to, size);
  }
  strcat(to, is_several ? "]" : "");
  return true;
}

void naive_queue_end(naive_queue *q, bool requeue) {
  q->is_processing = false;
  if (requeue && q->kind == RIG_IN_ORDER) {
    memmove(&q->changes[q->taken_count], q->changes,
            q->count * sizeof q->changes[0]);
    memcpy(q->changes, q->taken, q->taken_count * sizeof q->taken[0]);
    q->count += q->taken_count;
    return;
  }
  if (requeue && !is_queued(q, q->taken[0].key)) {
    for (size_t i = 0; i < q->taken_count; i++) {
      append(q, q->taken[i]);
    }
  }
  for (size_t i = 0; q->kind != RIG_DELTA && i < q->taken_count; i++) {
    count_down(q);
  }
  drop_places(q);
  settle(q);
}

size_t naive_queue_count(const naive_queue *q) {
  size_t places = 0;
  for (size_t i = 0; i < q->count; i++) {
    places += q->changes[i].is_place ? 1 : 0;
  }
  return q->kind == RIG_DELTA ? q->turn_count : q->count - places;
}

void naive_queue_list(const naive_queue *q, char *to, size_t size) {
  to[0] = '\0';
  for (size_t i = 0; q->kind == RIG_DELTA && i < q->turn_count; i++) {
    describe(newest((naive_queue *)q, q->turns[i]), to, size);
  }
  for (size_t i = 0; q->kind != RIG_DELTA && i < q->count; i++) {
    if (!q->changes[i].is_place) {
      describe(&q->changes[i], to, size);
    }
  }
}

void naive_queue_get(const naive_queue *q, const char *key, char *to,
                     size_t size) {
  to[0] = '\0';
  for (size_t i = 0; i < q->count; i++) {
    if (strcmp(q->changes[i].key, key) == 0 && !q->changes[i].is_place) {
      describe(&q->changes[i], to, size);
    }
  }
}
