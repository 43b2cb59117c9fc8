/* SPDX-License-Identifier: MIT */
#include "costs/cost.h"

#include <stdlib.h>

#include <kin/queue.h>

typedef enum kind { FIFO, DELTA, IN_ORDER } kind;

typedef struct queue_rig {
  kin_store *known; /* NULL: none */
  kin_queue *queue;
} queue_rig;

/* `queued` pods in the queue. With `known`: that many others in the store that
 * the queue looks at. */
static queue_rig rig_of(kind of, size_t queued, size_t known) {
  static int (*const makers[])(kin_queue **, const kin_queue_options *) = {
      [FIFO] = kin_queue_new_fifo,
      [DELTA] = kin_queue_new_delta,
      [IN_ORDER] = kin_queue_new_in_order};
  queue_rig rig = {0};
  kin_queue_options options = KIN_QUEUE_OPTIONS_INIT;
  options.allocator = cost_memory();
  for (size_t i = 0; i < queued + known + COST_CALLS; i++) {
    (void)cost_pod(i);
  }
  if (known > 0) {
    rig.known = cost_store(0);
    for (size_t i = 0; i < known; i++) {
      cost_must(kin_store_put(rig.known, cost_pod(queued + i)));
    }
    options.known = kin_store_known_objects(rig.known);
  }
  cost_must(makers[of](&rig.queue, &options));
  for (size_t i = 0; i < queued; i++) {
    cost_must(kin_queue_add(rig.queue, cost_pod(i)));
  }
  return rig;
}

static void rig_free(const queue_rig *rig) {
  kin_queue_free(rig->queue);
  kin_store_free(rig->known);
}

static void free_queue(kind of, size_t n) {
  queue_rig rig = rig_of(of, n, 0);
  COST(kin_queue_free(rig.queue));
  kin_store_free(rig.known);
}

/* --- One key -------------------------------------------------------------- */

/* Pods from number `first` on: those below n are queued. */
static void change(kind of, size_t n, size_t first,
                   int (*call)(kin_queue *queue, const kin_object *object)) {
  queue_rig rig = rig_of(of, n, 0);
  const kin_object **pods = cost_pods(first, COST_CALLS);
  COST_EACH(i, COST_CALLS, cost_must(call(rig.queue, pods[i])));
  free(pods);
  rig_free(&rig);
}

static void add(kind of, size_t n) {
  change(of, n, n, kin_queue_add);
}

static void update(kind of, size_t n) {
  change(of, n, n / 2, kin_queue_update);
}

static void delete_(kind of, size_t n) {
  change(of, n, n / 2, kin_queue_delete);
}

static int process(kin_queue *queue, kin_queue_item *item, void *data) {
  (void)queue;
  *(size_t *)data += item->deltas.count;
  return 0;
}

static void pop(kind of, size_t n) {
  queue_rig rig = rig_of(of, n, 0);
  size_t popped = 0;
  COST_EACH(i, COST_CALLS,
            cost_must(kin_queue_pop(rig.queue, process, &popped)));
  cost_assert(popped == COST_CALLS);
  rig_free(&rig);
}

/* Only places of deleted objects are left then. */
static void delete_last(size_t n) {
  queue_rig rig = rig_of(FIFO, n, 0);
  for (size_t i = 0; i + 1 < n; i++) {
    cost_must(kin_queue_delete(rig.queue, cost_pod(i)));
  }
  COST(cost_must(kin_queue_delete(rig.queue, cost_pod(n - 1))));
  cost_assert(kin_queue_count(rig.queue) == 0);
  rig_free(&rig);
}

/* n places of deleted objects are before it. */
static void pop_behind(size_t n) {
  queue_rig rig = rig_of(FIFO, n, 0);
  for (size_t i = 0; i + 1 < n; i++) {
    cost_must(kin_queue_delete(rig.queue, cost_pod(i)));
  }
  size_t popped = 0;
  COST(cost_must(kin_queue_pop(rig.queue, process, &popped)));
  rig_free(&rig);
}

/* Half of the FIFO's places are of deleted objects. */
static void pop_all(kind of, size_t n) {
  queue_rig rig = rig_of(of, n, 0);
  for (size_t i = 0; i < n; i += 2) {
    cost_must(kin_queue_delete(rig.queue, cost_pod(i)));
  }
  size_t popped = 0;
  cost_begin();
  while (kin_queue_pop(rig.queue, process, &popped) == 0) {
  }
  cost_end();
  cost_assert(popped >= n / 2);
  rig_free(&rig);
}

static void put_back(kind of, size_t n) {
  queue_rig rig = rig_of(of, n, 0);
  kin_delta change = {.type = KIN_DELTA_ADDED, .object = cost_pod(n)};
  change.key = kin_object_key(change.object);
  kin_deltas changes = {&change, 1};
  COST(cost_must(kin_queue_add_if_not_present(rig.queue, &changes)));
  cost_assert(kin_queue_count(rig.queue) == n + 1);
  rig_free(&rig);
}

static void get(kind of, size_t n) {
  queue_rig rig = rig_of(of, n, 0);
  kin_deltas *changes;
  COST(cost_must(kin_queue_get(rig.queue, COST_STR("space/pod-7"), &changes)));
  kin_deltas_free(changes);
  rig_free(&rig);
}

static void look(kind of, size_t n) {
  queue_rig rig = rig_of(of, n, 0);
  COST(cost_assert(kin_queue_count(rig.queue) == n);
       cost_assert(kin_queue_is_full(rig.queue) || n < 4000 || of != IN_ORDER));
  rig_free(&rig);
}

static void scan(kind of, size_t n) {
  queue_rig rig = rig_of(of, n, 0);
  kin_queue_cursor cursor = {0};
  kin_delta change;
  size_t found = 0;
  cost_begin();
  while (kin_queue_next(rig.queue, &cursor, &change)) {
    found++;
  }
  cost_end();
  cost_assert(found == n);
  rig_free(&rig);
}

/* --- Everything ----------------------------------------------------------- */

static void replace(kind of, size_t listed, size_t queued, size_t known) {
  queue_rig rig = rig_of(of, queued, known);
  const kin_object **pods = cost_pods(queued, listed);
  COST(cost_must(kin_queue_replace(rig.queue, pods, listed, COST_STR("7"))));
  free(pods);
  rig_free(&rig);
}

static void resync(kind of, size_t queued, size_t known) {
  queue_rig rig = rig_of(of, queued, known);
  COST(cost_must(kin_queue_resync(rig.queue)));
  rig_free(&rig);
}

/* A scenario of each kind: NAME_fifo, NAME_delta, NAME_in_order. */
#define EACH_KIND(name)                                                        \
  static void name##_fifo(size_t n) {                                          \
    name(FIFO, n);                                                             \
  }                                                                            \
  static void name##_delta(size_t n) {                                         \
    name(DELTA, n);                                                            \
  }                                                                            \
  static void name##_in_order(size_t n) {                                      \
    name(IN_ORDER, n);                                                         \
  }

static void replace_listed(kind of, size_t n) {
  replace(of, n, 4, of == FIFO ? 0 : 4);
}

static void replace_queued(kind of, size_t n) {
  replace(of, 4, n, of == FIFO ? 0 : 4);
}

static void replace_known(kind of, size_t n) {
  replace(of, 4, 4, n);
}

/* All that is listed is known and queued. */
static void replace_all(kind of, size_t n) {
  queue_rig rig = rig_of(of, n, 0);
  const kin_object **pods = cost_pods(0, n);
  COST(cost_must(kin_queue_replace(rig.queue, pods, n, COST_STR("7"))));
  free(pods);
  rig_free(&rig);
}

static void resync_known(kind of, size_t n) {
  resync(of, 4, n);
}

static void resync_queued(kind of, size_t n) {
  resync(of, n, 4);
}

static void replace_known_delta(size_t n) {
  replace_known(DELTA, n);
}

static void replace_known_in_order(size_t n) {
  replace_known(IN_ORDER, n);
}

static void resync_known_delta(size_t n) {
  resync_known(DELTA, n);
}

static void resync_queued_delta(size_t n) {
  resync_queued(DELTA, n);
}

static void resync_known_in_order(size_t n) {
  resync_known(IN_ORDER, n);
}

static void resync_queued_in_order(size_t n) {
  resync_queued(IN_ORDER, n);
}

EACH_KIND(free_queue)
EACH_KIND(add)
EACH_KIND(update)
EACH_KIND(delete_)
EACH_KIND(pop)
EACH_KIND(pop_all)
EACH_KIND(put_back)
EACH_KIND(get)
EACH_KIND(look)
EACH_KIND(scan)
EACH_KIND(replace_listed)
EACH_KIND(replace_queued)
EACH_KIND(replace_all)

#define EACH_KEY "O(1)", "queued ones, "
#define REPLACES "kin_queue_replace", "O(count + queued + known)"
const cost_row cost_rows_queue[] = {
    {"kin_queue_free", "O(queued)", "queued ones, FIFO", COST_LINEAR,
     free_queue_fifo},
    {"kin_queue_free", "O(queued)", "queued ones, delta", COST_LINEAR,
     free_queue_delta},
    {"kin_queue_free", "O(queued)", "queued ones, in order", COST_LINEAR,
     free_queue_in_order},
    {"kin_queue_add", EACH_KEY "FIFO", COST_ONE, add_fifo, COST_SEGMENT,
     "kin_queue"},
    {"kin_queue_add", EACH_KEY "delta", COST_ONE, add_delta, COST_SEGMENT,
     "kin_queue"},
    {"kin_queue_add", EACH_KEY "in order", COST_ONE, add_in_order, COST_SEGMENT,
     "kin_queue"},
    {"kin_queue_update", EACH_KEY "FIFO", COST_ONE, update_fifo, 0,
     "kin_queue"},
    {"kin_queue_update", EACH_KEY "delta", COST_ONE, update_delta, 0,
     "kin_queue"},
    {"kin_queue_update", EACH_KEY "in order", COST_ONE, update_in_order, 0,
     "kin_queue"},
    {"kin_queue_delete", EACH_KEY "FIFO", COST_ONE, delete__fifo, 0,
     "kin_queue"},
    {"kin_queue_delete", EACH_KEY "delta", COST_ONE, delete__delta, 0,
     "kin_queue"},
    {"kin_queue_delete", EACH_KEY "in order", COST_ONE, delete__in_order, 0,
     "kin_queue"},
    {"kin_queue_delete", "O(their number)", "deleted ones, and no other, FIFO",
     COST_LINEAR, delete_last},
    {"kin_queue_pop", EACH_KEY "FIFO", COST_ONE, pop_fifo, 0, "kin_queue"},
    {"kin_queue_pop", EACH_KEY "delta", COST_ONE, pop_delta, 0, "kin_queue"},
    {"kin_queue_pop", EACH_KEY "in order", COST_ONE, pop_in_order, 0,
     "kin_queue"},
    {"kin_queue_pop", "O(deleted objects before the item)",
     "deleted ones before it, FIFO", COST_LINEAR, pop_behind},
    {"kin_queue_pop", NULL, "pops, FIFO, half are deleted", COST_LINEAR,
     pop_all_fifo},
    {"kin_queue_pop", NULL, "pops, delta", COST_LINEAR, pop_all_delta},
    {"kin_queue_pop", NULL, "pops, in order", COST_LINEAR, pop_all_in_order},
    {"kin_queue_add_if_not_present", NULL, "queued ones, FIFO", COST_ONE,
     put_back_fifo},
    {"kin_queue_add_if_not_present", NULL, "queued ones, delta", COST_ONE,
     put_back_delta},
    {"kin_queue_add_if_not_present", "O(queued)", "queued ones, in order",
     COST_LINEAR, put_back_in_order},
    {"kin_queue_get", NULL, "queued ones, FIFO", COST_ONE, get_fifo},
    {"kin_queue_get", NULL, "queued ones, delta", COST_ONE, get_delta},
    {"kin_queue_get", "O(queued)", "queued ones, in order", COST_LINEAR,
     get_in_order},
    {"kin_queue_count", NULL, "queued ones, FIFO", COST_ONE, look_fifo},
    {"kin_queue_count", NULL, "queued ones, delta", COST_ONE, look_delta},
    {"kin_queue_count", NULL, "queued ones, in order", COST_ONE, look_in_order},
    {"kin_queue_next", NULL, "queued ones, a whole scan, FIFO", COST_LINEAR,
     scan_fifo},
    {"kin_queue_next", NULL, "queued ones, a whole scan, delta", COST_LINEAR,
     scan_delta},
    {"kin_queue_next", NULL, "queued ones, a whole scan, in order", COST_LINEAR,
     scan_in_order},
    {REPLACES, "listed ones, FIFO", COST_LINEAR, replace_listed_fifo},
    {REPLACES, "listed ones, delta", COST_LINEAR, replace_listed_delta},
    {REPLACES, "listed ones, in order", COST_LINEAR, replace_listed_in_order},
    {REPLACES, "queued ones, FIFO", COST_LINEAR, replace_queued_fifo},
    {REPLACES, "queued ones, delta", COST_LINEAR, replace_queued_delta},
    {REPLACES, "queued ones, in order", COST_LINEAR, replace_queued_in_order},
    {REPLACES, "listed and queued ones, FIFO", COST_LINEAR, replace_all_fifo},
    {REPLACES, "listed and queued ones, delta", COST_LINEAR, replace_all_delta},
    {REPLACES, "listed and queued ones, in order", COST_LINEAR,
     replace_all_in_order},
    {REPLACES, "known ones, delta", COST_LINEAR, replace_known_delta},
    {REPLACES, "known ones, in order", COST_LINEAR, replace_known_in_order},
    {"kin_queue_resync", "O(known)", "known ones, delta", COST_LINEAR,
     resync_known_delta},
    {"kin_queue_resync", "O(known)", "known ones, in order", COST_LINEAR,
     resync_known_in_order},
    {"kin_queue_resync", NULL, "queued ones, delta", COST_ONE,
     resync_queued_delta},
    {"kin_queue_resync", "O(queued)", "queued ones, in order", COST_LINEAR,
     resync_queued_in_order},
    {0},
};
