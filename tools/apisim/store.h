/* SPDX-License-Identifier: MIT */
#ifndef APISIM_STORE_H
#define APISIM_STORE_H

/* The version history behind the API: one revision counter, and for every
 * resource a table of objects with their past versions and a log of changes.
 *
 * A rev is one version of one object, immutable and counted. It is reachable
 * from the log (in order of rv), from its entry if it is the newest of its key,
 * and from the next newer rev of the key as prev. When a rev leaves the log its
 * prev goes: nobody may ask for anything older. A deletion is a rev too, with
 * the last state and the deletion's rv; its entry goes when it leaves the log.
 *
 * Compaction is global: versions older than store_compacted() cannot be listed,
 * and no watch may start before table_oldest(). */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "blob.h"
#include "jsonscan.h"

typedef struct store store;
typedef struct table table;
struct entry;

typedef struct rev {
  size_t refs;
  struct rev *prev; // the version this one replaced; NULL if none is kept
  struct entry *entry;
  blob *json; // the whole object
  uint64_t rv;
  bool deleted;
  span meta, rv_text, name, ns, uid, labels, node_name, phase;
} rev;

rev *rev_ref(rev *r);
void rev_unref(rev *r);
slice rev_text(const rev *r, span sp);

typedef struct store_hooks {
  /* The table has a new entry at the end of its log. */
  void (*committed)(table *t, void *data);
  /* Log entries before index are about to go. */
  void (*trimming)(table *t, uint64_t index, void *data);
  void *data;
} store_hooks;

/* history is how many revisions are kept. */
store *store_new(uint64_t history, store_hooks hooks);
void store_free(store *s);
uint64_t store_revision(const store *s);
uint64_t store_compacted(const store *s);
/* Keys known to any table, those of deleted objects included until compaction
 * has forgotten them. */
size_t store_key_count(const store *s);
/* A new empty table, freed with the store. owner is the caller's. */
table *store_add_table(store *s, void *owner);
void *table_owner(const table *t);

/* The newest live version of key, borrowed; NULL if there is none. */
rev *table_get(const table *t, const char *key);
size_t table_live_count(const table *t);
/* Makes json the newest version of key, at revision store_revision() + 1,
 * which it must already carry. Takes json. Returns it, borrowed. */
rev *table_put(table *t, const char *key, blob *json);
/* Deletes key, which must be live. Returns the deletion, borrowed. */
rev *table_delete(table *t, const char *key);

typedef struct list_query {
  uint64_t version;                        // state as of this revision
  const char *prefix;                      // only keys that begin so; "" = all
  const char *start;                       // only keys >= this; "" = all
  size_t limit;                            // 0 = all
  bool (*match)(const rev *r, void *data); // NULL = all
  void *data;
} list_query;

typedef struct snapshot {
  rev **items; // counted
  size_t count;
  bool more;          // the limit was reached before the last key
  uint64_t remaining; // keys behind the last item; 1 if a match was asked for
  char *last_key;     // of the last item; NULL if there is none
} snapshot;

/* Collects in key order. Free with snapshot_free(). */
snapshot table_list(table *t, const list_query *q);
void snapshot_free(snapshot *sn);

/* The log: indexes grow for ever, [log_begin, log_end) are there. */
uint64_t table_log_begin(const table *t);
uint64_t table_log_end(const table *t);
rev *table_log_at(const table *t, uint64_t index);
/* The first index whose rv is greater than version. */
uint64_t table_log_after(const table *t, uint64_t version);
/* The oldest version a watch may start from. */
uint64_t table_oldest(const table *t);

/* Keeps the last keep revisions only. */
void store_compact(store *s, uint64_t keep);
/* Every table's watch window now begins at the current revision. */
void store_restart_cache(store *s);
/* Goes back to the state of an older revision, as after restoring a backup.
 * False if it is compacted or in the future. */
bool store_restore(store *s, uint64_t revision);

#endif
