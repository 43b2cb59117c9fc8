/* SPDX-License-Identifier: MIT */
#include "store.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "mem.h"
#include "rng.h"

enum { LEVEL_MAX = 20, PAGE_NOTES = 8 };

/* A node of a skip list ordered by the bytes of key. */
typedef struct entry {
  rev *newest; // owned
  size_t key_len;
  int level;
  struct entry *next[]; // level pointers, then the key and a NUL
} entry;

/* Where a page of a list ended and how many keys were left behind it. A page
 * has to tell what remains; with this the next one need not count again. Only
 * a restore gives a version to another state, and drops the version's notes. */
typedef struct page_note {
  uint64_t version;
  char *key; // the last one of the page; NULL = unused
  size_t prefix_len;
  uint64_t remaining;
} page_note;

struct table {
  store *store;
  void *owner;
  table *next_table;
  entry *head; // a sentinel of LEVEL_MAX levels
  rng levels;
  size_t live_count;
  rev **log; // owned references
  size_t log_head, log_count, log_cap;
  uint64_t log_base; // index of log[log_head]
  uint64_t oldest;
  page_note notes[PAGE_NOTES]; // a ring
  size_t next_note;
};

struct store {
  uint64_t revision;
  uint64_t compacted;
  uint64_t history;
  store_hooks hooks;
  table *tables;
  size_t key_count;
};

/* ------------------------------------------------------------------ revs */

static rev *rev_new(entry *e, blob *json, uint64_t rv) {
  rev *r = xcalloc(1, sizeof *r);
  r->refs = 1;
  r->entry = e;
  r->json = json;
  r->rv = rv;
  const char *text = json->data;
  scan s = scan_object(text, 0);
  slice key;
  span value, spec = {0}, status = {0};
  while (scan_next(&s, &key, &value)) {
    if (slice_is(key, "metadata")) {
      r->meta = value;
    } else if (slice_is(key, "spec")) {
      spec = value;
    } else if (slice_is(key, "status")) {
      status = value;
    }
  }
  assert(r->meta.len != 0);
  s = scan_object(text, r->meta.off);
  while (scan_next(&s, &key, &value)) {
    if (slice_is(key, "name")) {
      r->name = scan_unquote(text, value);
    } else if (slice_is(key, "namespace")) {
      r->ns = scan_unquote(text, value);
    } else if (slice_is(key, "uid")) {
      r->uid = scan_unquote(text, value);
    } else if (slice_is(key, "resourceVersion")) {
      r->rv_text = scan_unquote(text, value);
    } else if (slice_is(key, "labels")) {
      r->labels = value;
    }
  }
  r->node_name = scan_unquote(text, scan_find(text, spec, "nodeName"));
  r->phase = scan_unquote(text, scan_find(text, status, "phase"));
  return r;
}

rev *rev_ref(rev *r) {
  r->refs++;
  return r;
}

void rev_unref(rev *r) {
  /* A loop, not recursion: an object changed all the time has a long past. */
  while (r != NULL && --r->refs == 0) {
    rev *prev = r->prev;
    blob_unref(r->json);
    free(r);
    r = prev;
  }
}

slice rev_text(const rev *r, span sp) {
  return span_slice(r->json->data, sp);
}

/* --------------------------------------------------------------- entries */

static const char *entry_key(const entry *e) {
  return (const char *)&e->next[e->level];
}

static entry *entry_new(const char *key, size_t len, int level) {
  entry *e = xcalloc(1, sizeof *e + (size_t)level * sizeof(entry *) + len + 1);
  e->level = level;
  e->key_len = len;
  memcpy(&e->next[level], key, len + 1);
  return e;
}

/* The last entry before key on every level. Returns the first one >= key. */
static entry *seek(const table *t, const char *key, entry **before) {
  entry *e = t->head;
  for (int level = LEVEL_MAX - 1; level >= 0; level--) {
    while (e->next[level] != NULL &&
           strcmp(entry_key(e->next[level]), key) < 0) {
      e = e->next[level];
    }
    if (before != NULL) {
      before[level] = e;
    }
  }
  return e->next[0];
}

static entry *find(const table *t, const char *key) {
  entry *e = seek(t, key, NULL);
  return e != NULL && strcmp(entry_key(e), key) == 0 ? e : NULL;
}

static int random_level(table *t) {
  uint64_t bits = rng_next(&t->levels);
  int level = 1;
  while (level < LEVEL_MAX && (bits & 3) == 3) {
    bits >>= 2;
    level++;
  }
  return level;
}

static entry *find_or_add(table *t, const char *key) {
  entry *before[LEVEL_MAX];
  entry *e = seek(t, key, before);
  if (e != NULL && strcmp(entry_key(e), key) == 0) {
    return e;
  }
  e = entry_new(key, strlen(key), random_level(t));
  t->store->key_count++;
  for (int level = 0; level < e->level; level++) {
    e->next[level] = before[level]->next[level];
    before[level]->next[level] = e;
  }
  return e;
}

static void remove_entry(table *t, entry *e) {
  entry *before[LEVEL_MAX];
  entry *found = seek(t, entry_key(e), before);
  assert(found == e);
  (void)found;
  for (int level = 0; level < e->level; level++) {
    before[level]->next[level] = e->next[level];
  }
  rev_unref(e->newest);
  free(e);
  t->store->key_count--;
}

/* ---------------------------------------------------------------- tables */

table *store_add_table(store *s, void *owner) {
  table *t = xcalloc(1, sizeof *t);
  t->store = s;
  t->owner = owner;
  t->head = entry_new("", 0, LEVEL_MAX);
  t->next_table = s->tables;
  s->tables = t;
  return t;
}

static void free_table(table *t) {
  for (size_t i = 0; i < t->log_count; i++) {
    rev_unref(t->log[t->log_head + i]);
  }
  entry *e = t->head;
  while (e != NULL) {
    entry *next = e->next[0];
    rev_unref(e->newest);
    free(e);
    e = next;
  }
  for (size_t i = 0; i < PAGE_NOTES; i++) {
    free(t->notes[i].key);
  }
  free(t->log);
  free(t);
}

void *table_owner(const table *t) {
  return t->owner;
}

size_t table_live_count(const table *t) {
  return t->live_count;
}

rev *table_get(const table *t, const char *key) {
  entry *e = find(t, key);
  return e != NULL && e->newest != NULL && !e->newest->deleted ? e->newest
                                                               : NULL;
}

/* ------------------------------------------------------------------- log */

uint64_t table_log_begin(const table *t) {
  return t->log_base;
}

uint64_t table_log_end(const table *t) {
  return t->log_base + t->log_count;
}

rev *table_log_at(const table *t, uint64_t index) {
  assert(index >= t->log_base && index < table_log_end(t));
  return t->log[t->log_head + (size_t)(index - t->log_base)];
}

uint64_t table_log_after(const table *t, uint64_t version) {
  uint64_t low = table_log_begin(t);
  uint64_t high = table_log_end(t);
  while (low < high) {
    uint64_t mid = low + (high - low) / 2;
    if (table_log_at(t, mid)->rv > version) {
      high = mid;
    } else {
      low = mid + 1;
    }
  }
  return low;
}

uint64_t table_oldest(const table *t) {
  return t->oldest > t->store->compacted ? t->oldest : t->store->compacted;
}

static void log_append(table *t, rev *r) {
  if (t->log_head + t->log_count == t->log_cap) {
    if (t->log_head > t->log_cap / 2) {
      memmove(t->log, t->log + t->log_head, t->log_count * sizeof *t->log);
      t->log_head = 0;
    } else {
      t->log_cap = t->log_cap != 0 ? t->log_cap * 2 : 64;
      t->log = xrealloc(t->log, t->log_cap, sizeof *t->log);
    }
  }
  t->log[t->log_head + t->log_count++] = rev_ref(r);
}

static void log_pop_front(table *t) {
  rev *r = t->log[t->log_head];
  t->log_head++;
  t->log_count--;
  t->log_base++;
  t->log_head = t->log_count != 0 ? t->log_head : 0;
  rev_unref(r->prev);
  r->prev = NULL;
  if (r->deleted && r->entry->newest == r) {
    remove_entry(t, r->entry);
  }
  rev_unref(r);
}

static void trim(table *t) {
  uint64_t end = table_log_after(t, t->store->compacted);
  if (end == t->log_base) {
    return;
  }
  if (t->store->hooks.trimming != NULL) {
    t->store->hooks.trimming(t, end, t->store->hooks.data);
  }
  while (t->log_base < end) {
    log_pop_front(t);
  }
}

/* ---------------------------------------------------------------- writes */

static rev *commit(table *t, entry *e, blob *json, bool deleted) {
  store *s = t->store;
  rev *r = rev_new(e, json, ++s->revision);
  r->deleted = deleted;
  bool was_live = e->newest != NULL && !e->newest->deleted;
  t->live_count += (size_t)!deleted - (size_t)was_live;
  r->prev = e->newest;
  e->newest = r;
  log_append(t, r);
  if (s->hooks.committed != NULL) {
    s->hooks.committed(t, s->hooks.data);
  }
  if (s->revision > s->history && s->compacted < s->revision - s->history) {
    s->compacted = s->revision - s->history;
  }
  trim(t);
  return r;
}

rev *table_put(table *t, const char *key, blob *json) {
  return commit(t, find_or_add(t, key), json, false);
}

rev *table_delete(table *t, const char *key) {
  entry *e = find(t, key);
  assert(e != NULL && e->newest != NULL && !e->newest->deleted);
  const rev *last = e->newest;
  const char *text = last->json->data;
  size_t tail = last->rv_text.off + last->rv_text.len;
  buf b = {0};
  buf_reserve(&b, last->json->len + 8);
  buf_append(&b, text, last->rv_text.off);
  buf_put_u64(&b, t->store->revision + 1);
  buf_append(&b, text + tail, last->json->len - tail);
  blob *json = blob_copy(b.data, b.len);
  buf_free(&b);
  return commit(t, e, json, true);
}

/* ----------------------------------------------------------------- lists */

static rev *entry_at(const entry *e, uint64_t version) {
  rev *r = e->newest;
  while (r != NULL && r->rv > version) {
    r = r->prev;
  }
  return r != NULL && !r->deleted ? r : NULL;
}

static bool has_prefix(const entry *e, const char *prefix, size_t len) {
  return strncmp(entry_key(e), prefix, len) == 0;
}

/* Live keys from e on. */
static uint64_t count_live(const entry *e, const list_query *q) {
  size_t prefix_len = strlen(q->prefix);
  uint64_t count = 0;
  for (; e != NULL && has_prefix(e, q->prefix, prefix_len); e = e->next[0]) {
    count += entry_at(e, q->version) != NULL ? 1 : 0;
  }
  return count;
}

/* The keys behind a page of count items that ended before e, from the note of
 * the page before it if there is one. */
static uint64_t count_remaining(const table *t, const list_query *q,
                                uint64_t count, const entry *e) {
  size_t prefix_len = strlen(q->prefix);
  for (size_t i = 0; i < PAGE_NOTES; i++) {
    const page_note *n = &t->notes[i];
    size_t len = n->key != NULL ? strlen(n->key) : 0;
    /* A start that continues a page is its last key and a control byte. */
    if (n->key != NULL && n->version == q->version &&
        n->prefix_len == prefix_len && strncmp(n->key, q->start, len) == 0 &&
        strlen(q->start) == len + 1 && q->start[len] < ' ' &&
        n->remaining >= count) {
      return n->remaining - count;
    }
  }
  return count_live(e, q);
}

static void note_page(table *t, const list_query *q, const snapshot *sn) {
  page_note *n = &t->notes[t->next_note++ % PAGE_NOTES];
  free(n->key);
  *n = (page_note){.version = q->version,
                   .key = xstrdup(sn->last_key),
                   .prefix_len = strlen(q->prefix),
                   .remaining = sn->remaining};
}

/* The limit was reached at e, which is live. */
static void end_page(table *t, const list_query *q, const entry *e,
                     snapshot *sn) {
  sn->more = true;
  sn->remaining = 1;
  if (q->match == NULL) {
    sn->remaining = count_remaining(t, q, sn->count, e);
    note_page(t, q, sn);
  }
}

snapshot table_list(table *t, const list_query *q) {
  snapshot sn = {0};
  size_t prefix_len = strlen(q->prefix);
  size_t cap = 0;
  const char *from = strcmp(q->start, q->prefix) > 0 ? q->start : q->prefix;
  const entry *last = NULL;
  const entry *e = seek(t, from, NULL);
  for (; e != NULL && has_prefix(e, q->prefix, prefix_len); e = e->next[0]) {
    rev *r = entry_at(e, q->version);
    if (r == NULL) {
      continue;
    }
    if (q->limit != 0 && sn.count == q->limit) {
      break;
    }
    if (q->match != NULL && !q->match(r, q->data)) {
      continue;
    }
    if (sn.count == cap) {
      cap = cap != 0 ? cap * 2 : 64;
      sn.items = xrealloc(sn.items, cap, sizeof *sn.items);
    }
    sn.items[sn.count++] = rev_ref(r);
    last = e;
  }
  sn.last_key = last != NULL ? xstrdup(entry_key(last)) : NULL;
  if (e != NULL && last != NULL && has_prefix(e, q->prefix, prefix_len)) {
    end_page(t, q, e, &sn);
  }
  return sn;
}

void snapshot_free(snapshot *sn) {
  for (size_t i = 0; i < sn->count; i++) {
    rev_unref(sn->items[i]);
  }
  free(sn->items);
  free(sn->last_key);
  *sn = (snapshot){0};
}

/* ----------------------------------------------------------------- store */

store *store_new(uint64_t history, store_hooks hooks) {
  store *s = xcalloc(1, sizeof *s);
  s->history = history;
  s->hooks = hooks;
  return s;
}

void store_free(store *s) {
  while (s->tables != NULL) {
    table *t = s->tables;
    s->tables = t->next_table;
    free_table(t);
  }
  free(s);
}

uint64_t store_revision(const store *s) {
  return s->revision;
}

size_t store_key_count(const store *s) {
  return s->key_count;
}

uint64_t store_compacted(const store *s) {
  return s->compacted;
}

void store_compact(store *s, uint64_t keep) {
  uint64_t to = s->revision > keep ? s->revision - keep : 0;
  if (to <= s->compacted) {
    return;
  }
  s->compacted = to;
  for (table *t = s->tables; t != NULL; t = t->next_table) {
    trim(t);
  }
}

void store_restart_cache(store *s) {
  for (table *t = s->tables; t != NULL; t = t->next_table) {
    t->oldest = s->revision;
  }
}

/* Versions that are still in the log are removed when they leave it. */
static bool is_forgotten(const table *t, const rev *r) {
  return r->deleted && (t->log_count == 0 || r->rv < t->log[t->log_head]->rv);
}

static void undo_last(table *t) {
  rev *r = t->log[t->log_head + --t->log_count];
  entry *e = r->entry;
  assert(e->newest == r);
  rev *older = r->prev;
  bool is_live = older != NULL && !older->deleted;
  t->live_count += (size_t)is_live - (size_t)!r->deleted;
  e->newest = older;
  r->prev = NULL;
  r->refs--; // the entry's; the log's is the other
  rev_unref(r);
  if (older == NULL || is_forgotten(t, older)) {
    remove_entry(t, e);
  }
}

/* Versions behind the revision will be given again, to other states. */
static void drop_notes(table *t, uint64_t revision) {
  for (size_t i = 0; i < PAGE_NOTES; i++) {
    if (t->notes[i].version > revision) {
      free(t->notes[i].key);
      t->notes[i] = (page_note){0};
    }
  }
}

bool store_restore(store *s, uint64_t revision) {
  if (revision < s->compacted || revision > s->revision) {
    return false;
  }
  for (table *t = s->tables; t != NULL; t = t->next_table) {
    while (t->log_count != 0 &&
           t->log[t->log_head + t->log_count - 1]->rv > revision) {
      undo_last(t);
    }
    t->oldest = t->oldest < revision ? t->oldest : revision;
    drop_notes(t, revision);
  }
  s->revision = revision;
  return true;
}
