/* SPDX-License-Identifier: MIT */
/* kin_mutation_cache, kin_heap, and what kin/sync_track.h has. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kin/error.h>
#include <kin/heap.h>
#include <kin/mutation_cache.h>
#include <kin/sync_track.h>

#include "subjects.h"

static bool is(const char *operation, const char *name) {
  return strcmp(operation, name) == 0;
}

/* --- mutation cache */

typedef struct mutations {
  kin_store *store;
  kin_mutation_cache *cache;
} mutations;

static void *mutation_open(const words *options) {
  mutations *m = must_allocate(sizeof *m);
  kin_mutation_cache_options with = KIN_MUTATION_CACHE_OPTIONS_INIT;
  if (kin_store_new(&m->store, NULL) != 0 ||
      store_index(m->store, "values") != 0) {
    return NULL;
  }
  with.store = m->store;
  with.now_ms = script_clock;
  with.ttl_ms = (uint64_t)words_option(options, "ttl");
  with.include_adds = words_have(options, "adds");
  with.max_entries = (uint32_t)words_option(options, "max");
  return kin_mutation_cache_new(&m->cache, &with) == 0 ? m : NULL;
}

static void mutation_get(mutations *m, const words *line, text *to) {
  const kin_object *object =
      kin_mutation_cache_get(m->cache, word_str(line, 0));
  if (object != NULL) {
    text_add_object(to, object);
  } else {
    text_add(to, "none");
  }
}

static void mutation_index(mutations *m, const words *line, text *to) {
  kin_object_list *list;
  if (kin_mutation_cache_by_index(m->cache, "values", word_str(line, 0),
                                  &list) != 0) {
    text_add(to, "error");
  } else {
    store_add_list(list, to);
  }
}

/* What client-go refuses it only logs. */
static void mutation_tell(mutations *m, const char *operation,
                          const words *line) {
  kin_object *object = word_object(word_raw(line, 0));
  if (is(operation, "mutation")) {
    kin_mutation_cache_mutation(m->cache, object);
  } else if (is(operation, "onput")) {
    kin_mutation_cache_on_put(m->cache, object);
  } else {
    kin_mutation_cache_on_delete(m->cache, object);
  }
  kin_object_unref(object);
}

static bool mutation_run(void *ctx, const char *operation, const words *line,
                         text *to) {
  mutations *m = ctx;
  if (is(operation, "mutation") || is(operation, "onput") ||
      is(operation, "ondelete")) {
    mutation_tell(m, operation, line);
    text_add(to, "ok");
  } else if (is(operation, "get")) {
    mutation_get(m, line, to);
  } else if (is(operation, "index")) {
    mutation_index(m, line, to);
  } else if (is(operation, "advance")) {
    script_clock_advance((uint64_t)word_number(line, 0));
    text_add(to, "ok");
  } else {
    return store_run(m->store, operation, line, to);
  }
  return true;
}

static void mutation_close(void *ctx) {
  mutations *m = ctx;
  kin_mutation_cache_free(m->cache);
  kin_store_free(m->store);
  free(m);
}
const subject mutation_subject = {"mutation", mutation_open, mutation_run,
                                  mutation_close};

/* --- heap */

typedef struct heap_item {
  struct heap_item *next; /* of all that were made */
  char *key;
  long order;
} heap_item;

typedef struct heap_subject_state {
  kin_heap *heap;
  heap_item *items;
} heap_subject_state;

static bool less(const void *a, const void *b, void *data) {
  (void)data;
  const heap_item *x = a;
  const heap_item *y = b;
  return x->order < y->order ||
         (x->order == y->order && strcmp(x->key, y->key) < 0);
}

static void *heap_open(const words *options) {
  (void)options;
  heap_subject_state *h = must_allocate(sizeof *h);
  kin_heap_options with = KIN_HEAP_OPTIONS_INIT;
  with.less = less;
  return kin_heap_new(&h->heap, &with) == 0 ? h : NULL;
}

static void heap_close(void *ctx) {
  heap_subject_state *h = ctx;
  kin_heap_free(h->heap);
  while (h->items != NULL) {
    heap_item *item = h->items;
    h->items = item->next;
    free(item->key);
    free(item);
  }
  free(h);
}

static kin_heap_entry heap_entry(heap_subject_state *h, const words *line,
                                 size_t at) {
  kin_str key = word_str(line, at);
  heap_item *item = must_allocate(sizeof *item);
  item->key = must_allocate(key.length + 1);
  memcpy(item->key, key.data, key.length);
  item->order = word_number(line, at + 1);
  item->next = h->items;
  h->items = item;
  return (kin_heap_entry){{item->key, key.length}, item};
}

static void add_heap_item(text *to, const heap_item *item) {
  char order[32];
  snprintf(order, sizeof order, ":%ld", item->order);
  text_add_encoded(to, (kin_str){item->key, strlen(item->key)});
  text_add(to, order);
}

static int heap_put_all(heap_subject_state *h, const words *line) {
  size_t count = line->count / 2;
  kin_heap_entry *entries = must_allocate((count + 1) * sizeof *entries);
  for (size_t i = 0; i < count; i++) {
    entries[i] = heap_entry(h, line, i * 2);
  }
  int err = kin_heap_put_all(h->heap, entries, count, NULL);
  free(entries);
  return err;
}

static void heap_pop(heap_subject_state *h, text *to) {
  void *item;
  int err = kin_heap_pop(h->heap, &item);
  if (err == 0) {
    add_heap_item(to, item);
  } else {
    text_add(to, err == KIN_ENOENT ? "empty" : "closed");
  }
}

static void heap_scan(const heap_subject_state *h, bool only_keys, text *to) {
  bag all = {0};
  kin_cursor cursor = {0};
  kin_str key;
  void *item;
  while (kin_heap_next(h->heap, &cursor, &key, &item)) {
    if (only_keys) {
      text_add_encoded(bag_new(&all), key);
    } else {
      add_heap_item(bag_new(&all), item);
    }
  }
  bag_finish(&all, to);
}

static bool heap_run(void *ctx, const char *operation, const words *line,
                     text *to) {
  heap_subject_state *h = ctx;
  if (is(operation, "put")) {
    kin_heap_entry entry = heap_entry(h, line, 0);
    text_add_outcome(to, kin_heap_put(h->heap, entry.key, entry.item, NULL));
  } else if (is(operation, "putnew")) {
    kin_heap_entry entry = heap_entry(h, line, 0);
    int err = kin_heap_put_new(h->heap, entry.key, entry.item);
    text_add(to, err == KIN_EEXIST ? "exists" : err == 0 ? "ok" : "error");
  } else if (is(operation, "putall")) {
    text_add_outcome(to, heap_put_all(h, line));
  } else if (is(operation, "delete")) {
    text_add_outcome(to, kin_heap_delete(h->heap, word_str(line, 0), NULL));
  } else if (is(operation, "pop")) {
    heap_pop(h, to);
  } else if (is(operation, "get")) {
    const heap_item *item = kin_heap_get(h->heap, word_str(line, 0));
    if (item != NULL) {
      add_heap_item(to, item);
    } else {
      text_add(to, "none");
    }
  } else if (is(operation, "list") || is(operation, "keys")) {
    heap_scan(h, is(operation, "keys"), to);
  } else if (is(operation, "close")) {
    kin_heap_close(h->heap);
    text_add(to, "ok");
  } else if (is(operation, "closed")) {
    text_add_bool(to, kin_heap_is_closed(h->heap));
  } else {
    return false;
  }
  return true;
}
const subject heap_subject = {"heap", heap_open, heap_run, heap_close};

/* --- trackers */

typedef struct trackers {
  kin_sync_set *set;
  kin_sync_counter counter;
} trackers;

static void *track_open(const words *options) {
  (void)options;
  trackers *t = must_allocate(sizeof *t);
  return kin_sync_set_new(&t->set, NULL) == 0 ? t : NULL;
}

static void track_close(void *ctx) {
  trackers *t = ctx;
  kin_sync_set_free(t->set);
  free(t);
}

static bool track_run(void *ctx, const char *operation, const words *line,
                      text *to) {
  trackers *t = ctx;
  int err = 0;
  if (is(operation, "synced")) {
    text_add_bool(to, kin_sync_set_has_synced(t->set));
    return true;
  }
  if (is(operation, "countersynced")) {
    text_add_bool(to, kin_sync_counter_has_synced(&t->counter));
    return true;
  }
  if (is(operation, "start")) {
    err = kin_sync_set_start(t->set, word_str(line, 0));
  } else if (is(operation, "finish")) {
    kin_sync_set_finish(t->set, word_str(line, 0));
  } else if (is(operation, "upstream")) {
    kin_sync_set_upstream_synced(t->set);
  } else if (is(operation, "count")) {
    kin_sync_counter_start(&t->counter);
  } else if (is(operation, "uncount")) {
    err = kin_sync_counter_finish(&t->counter);
  } else if (is(operation, "counterupstream")) {
    kin_sync_counter_upstream_synced(&t->counter);
  } else {
    return false;
  }
  text_add_outcome(to, err);
  return true;
}
const subject track_subject = {"track", track_open, track_run, track_close};

/* --- lazy value */

typedef struct lazy_state {
  kin_lazy *lazy;
  int evaluations;
  bool fails;
  int values[4096]; /* by evaluation */
} lazy_state;

static int evaluate(void **value, void *data) {
  lazy_state *l = data;
  int n = ++l->evaluations;
  if (l->fails) {
    return KIN_EINVAL;
  }
  l->values[n % 4096] = n;
  *value = &l->values[n % 4096];
  return 0;
}

static void *lazy_open(const words *options) {
  (void)options;
  lazy_state *l = must_allocate(sizeof *l);
  kin_lazy_options with = KIN_LAZY_OPTIONS_INIT;
  with.evaluate = evaluate;
  with.data = l;
  return kin_lazy_new(&l->lazy, &with) == 0 ? l : NULL;
}

static void lazy_close(void *ctx) {
  lazy_state *l = ctx;
  kin_lazy_free(l->lazy);
  free(l);
}

static bool lazy_run(void *ctx, const char *operation, const words *line,
                     text *to) {
  lazy_state *l = ctx;
  if (is(operation, "get")) {
    void *value;
    char number[16] = "error";
    if (kin_lazy_get(l->lazy, &value) == 0) {
      snprintf(number, sizeof number, "%d", *(int *)value);
    }
    text_add(to, number);
  } else if (is(operation, "notify")) {
    kin_lazy_notify(l->lazy);
    text_add(to, "ok");
  } else if (is(operation, "fail")) {
    l->fails = is(word_raw(line, 0), "on");
    text_add(to, "ok");
  } else {
    return false;
  }
  return true;
}
const subject lazy_subject = {"lazy", lazy_open, lazy_run, lazy_close};
