/* SPDX-License-Identifier: MIT */

/* NULL for each pointer that a public function cannot do without, strings
 * without bytes, and values that an enum lacks: what <kin/error.h> promises.
 * test_arguments_client.c has what lives on a client; check_arguments.py looks
 * for what is missing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <kin/cache.h>
#include <kin/toolkit.h>
#include <kin/yyjson.h>

#include "support/idle_callbacks.h"
#include "support/objects.h"
#include "support/refused.h"

/* A length without bytes counts as empty. */
#define NO_BYTES ((kin_str){NULL, 3})

typedef struct world {
  kin_object *object;
  const kin_object *objects[1];
  kin_object_view *view;
  kin_object_builder *builder;
  kin_selector *selector;
  kin_store *store;
  kin_lister lister;
  kin_expiring_store *expiring;
  kin_push_store *push;
  kin_queue *queue;
  kin_mutation_cache *cache;
  kin_mutation_detector *detector;
  kin_heap *heap;
  kin_sync_set *set;
  kin_lazy *lazy;
  kin_informer_names *names;
  kin_informer_name *name;

  kin_delta delta;
  kin_deltas deltas;
  kin_store_op ops[1];
  kin_heap_entry entries[1];
  const char *pointers[1];
  kin_informer_options informer_options;
  kin_expiring_store_options expiring_store_options;
  kin_heap_options heap_options;
  kin_mutation_cache_options mutation_cache_options;
  kin_mutation_detector_options mutation_detector_options;
  kin_push_store_options push_store_options;
  kin_queue_options queue_options;
  kin_store_options store_options;
  kin_index_options index_options;
  kin_lazy_options lazy_options;

  kin_str str;
  kin_cursor cursor;
  kin_index_cursor found;
  kin_queue_cursor queued;
  double number;
  int64_t integer;
  bool boolean;
  void *value;
} world;

static int process(kin_queue *queue, kin_queue_item *item, void *data) {
  (void)queue;
  (void)item;
  (void)data;
  return 0;
}

static void fill_options(world *w) {
  w->informer_options = (kin_informer_options)KIN_INFORMER_OPTIONS_INIT;
  w->expiring_store_options =
      (kin_expiring_store_options)KIN_EXPIRING_STORE_OPTIONS_INIT;
  w->expiring_store_options.now_ms = now_ms;
  w->heap_options = (kin_heap_options)KIN_HEAP_OPTIONS_INIT;
  w->heap_options.less = less;
  w->mutation_cache_options =
      (kin_mutation_cache_options)KIN_MUTATION_CACHE_OPTIONS_INIT;
  w->mutation_cache_options.store = w->store;
  w->mutation_cache_options.now_ms = now_ms;
  w->mutation_detector_options =
      (kin_mutation_detector_options)KIN_MUTATION_DETECTOR_OPTIONS_INIT;
  w->mutation_detector_options.now_ms = now_ms;
  w->mutation_detector_options.on_mutation = on_mutation;
  w->push_store_options = (kin_push_store_options)KIN_PUSH_STORE_OPTIONS_INIT;
  w->push_store_options.push = push;
  w->queue_options = (kin_queue_options)KIN_QUEUE_OPTIONS_INIT;
  w->store_options = (kin_store_options)KIN_STORE_OPTIONS_INIT;
  w->index_options = (kin_index_options)KIN_INDEX_OPTIONS_INIT;
  w->index_options.name = "index";
  w->index_options.pointer = "/metadata/namespace";
  w->lazy_options = (kin_lazy_options)KIN_LAZY_OPTIONS_INIT;
  w->lazy_options.evaluate = evaluate;
}

static void make_parts(world *w) {
  assert_int_equal(kin_store_add_index(w->store, &w->index_options), 0);
  assert_int_equal(kin_store_put(w->store, w->object), 0);
  w->lister = kin_lister_of(w->store);
  assert_int_equal(kin_object_view_open(&w->view, w->object), 0);
  assert_int_equal(kin_selector_parse(&w->selector, NULL, "app"), 0);
  assert_int_equal(
      kin_expiring_store_new(&w->expiring, &w->expiring_store_options), 0);
  assert_int_equal(kin_push_store_new(&w->push, &w->push_store_options), 0);
  assert_int_equal(kin_queue_new_delta(&w->queue, &w->queue_options), 0);
  assert_int_equal(
      kin_mutation_cache_new(&w->cache, &w->mutation_cache_options), 0);
  assert_int_equal(
      kin_mutation_detector_new(&w->detector, &w->mutation_detector_options),
      0);
  assert_int_equal(kin_heap_new(&w->heap, &w->heap_options), 0);
  assert_int_equal(kin_sync_set_new(&w->set, NULL), 0);
  assert_int_equal(kin_lazy_new(&w->lazy, &w->lazy_options), 0);
  assert_int_equal(kin_informer_names_new(&w->names, NULL), 0);
  assert_int_equal(kin_informer_name_new(&w->name, w->names, "held"), 0);
}

static int set_up(void **state) {
  static world the_world;
  world *w = &the_world;
  *w = (world){0};
  w->object = object_of(NULL, "{'metadata':{'namespace':'n','name':'a',"
                              "'uid':'u','resourceVersion':'1'},'a':1}");
  w->objects[0] = w->object;
  assert_int_equal(kin_store_new(&w->store, NULL), 0);
  fill_options(w);
  make_parts(w);
  w->delta = (kin_delta){.type = KIN_DELTA_ADDED,
                         .key = kin_object_key(w->object),
                         .object = w->object};
  w->deltas = (kin_deltas){&w->delta, 1};
  w->ops[0] = (kin_store_op){.type = KIN_STORE_PUT, .object = w->object};
  w->entries[0] = (kin_heap_entry){kin_object_key(w->object), w};
  w->pointers[0] = "/a";
  *state = w;
  return 0;
}

static int tear_down(void **state) {
  world *w = *state;
  kin_informer_name_unref(w->name);
  kin_informer_names_free(w->names);
  kin_lazy_free(w->lazy);
  kin_sync_set_free(w->set);
  kin_heap_free(w->heap);
  kin_mutation_detector_free(w->detector);
  kin_mutation_cache_free(w->cache);
  kin_queue_free(w->queue);
  kin_push_store_free(w->push);
  kin_expiring_store_free(w->expiring);
  kin_selector_free(w->selector);
  kin_object_view_close(w->view);
  kin_store_free(w->store);
  kin_object_unref(w->object);
  return 0;
}

static void test_objects(void **state) {
  world *w = *state;
  REFUSED(kin_object_parse(NULL, NULL, "1", 1));
  REFUSED_OUT(kin_object *, kin_object_parse(&out, NULL, NULL, 1));
  assert_null(kin_object_ref(NULL));
  kin_object_unref(NULL);
  EMPTY(kin_object_key(NULL));
  EMPTY(kin_object_name(NULL));
  EMPTY(kin_object_namespace(NULL));
  EMPTY(kin_object_uid(NULL));
  EMPTY(kin_object_resource_version(NULL));
  ZERO(kin_object_label(NULL, "app", &w->str));
  ZERO(kin_object_label(w->object, NULL, &w->str));
  ZERO(kin_object_is_key_only(NULL));
  ZERO(kin_object_memory(NULL));
  REFUSED(kin_object_view_open(NULL, w->object));
  REFUSED_OUT(kin_object_view *, kin_object_view_open(&out, NULL));
  kin_object_view_close(NULL);
  EMPTY(kin_object_view_json(NULL));
  assert_null(kin_object_view_document(NULL, NULL));
  REFUSED(kin_object_view_string(NULL, "/a", &w->str));
  REFUSED(kin_object_view_string(w->view, NULL, &w->str));
  REFUSED(kin_object_view_string(w->view, "/a", NULL));
  REFUSED(kin_object_view_int(NULL, "/a", &w->integer));
  REFUSED(kin_object_view_int(w->view, NULL, &w->integer));
  REFUSED(kin_object_view_int(w->view, "/a", NULL));
  REFUSED(kin_object_view_bool(NULL, "/a", &w->boolean));
  REFUSED(kin_object_view_bool(w->view, NULL, &w->boolean));
  REFUSED(kin_object_view_bool(w->view, "/a", NULL));
  kin_object_list_free(NULL);
  assert_false(kin_object_label(w->object, "app", NULL));
  int error = 0;
  assert_null(kin_object_view_document(NULL, &error));
  assert_int_equal(error, KIN_EINVAL);
}

static void test_builders(void **state) {
  world *w = *state;
  const kin_str key = {"n/a", 3};
  REFUSED(kin_object_builder_new(NULL, NULL, NULL));
  REFUSED_OUT(kin_object *, kin_object_builder_finish(NULL, &out));
  REFUSED(kin_object_builder_finish(w->builder, NULL));
  kin_object_builder_free(NULL);
  REFUSED(kin_object_builder_remove(NULL, "/a"));
  REFUSED(kin_object_builder_remove(w->builder, NULL));
  REFUSED(kin_object_builder_keep(NULL, w->pointers, 1));
  REFUSED(kin_object_builder_keep(w->builder, NULL, 1));
  REFUSED(kin_object_builder_set_json(NULL, "/a", "1", 1));
  REFUSED(kin_object_builder_set_json(w->builder, NULL, "1", 1));
  REFUSED(kin_object_builder_set_json(w->builder, "/a", NULL, 1));
  REFUSED(kin_object_builder_set_string(NULL, "/a", "v"));
  REFUSED(kin_object_builder_set_string(w->builder, NULL, "v"));
  REFUSED(kin_object_builder_set_string(w->builder, "/a", NULL));
  REFUSED(kin_object_builder_set_str(NULL, "/a", key));
  REFUSED(kin_object_builder_set_str(w->builder, NULL, key));
  REFUSED(kin_object_builder_set_int(NULL, "/a", 1));
  REFUSED(kin_object_builder_set_int(w->builder, NULL, 1));
  REFUSED(kin_object_builder_set_bool(NULL, "/a", false));
  REFUSED(kin_object_builder_set_bool(w->builder, NULL, false));
  REFUSED_OUT(kin_object *,
              kin_object_transform(NULL, change_nothing, NULL, &out));
  REFUSED_OUT(kin_object *, kin_object_transform(w->object, NULL, NULL, &out));
  REFUSED(kin_object_transform(w->object, change_nothing, NULL, NULL));
}

static void test_selectors_and_listers(void **state) {
  world *w = *state;
  const kin_str key = {"n/a", 3};
  REFUSED(kin_selector_parse(NULL, NULL, "text"));
  REFUSED(kin_selector_nothing(NULL, NULL));
  kin_selector_free(NULL);
  ZERO(kin_selector_matches(w->selector, NULL));
  REFUSED_OUT(const kin_object *, kin_lister_get(NULL, key, &out));
  REFUSED(kin_lister_get(&w->lister, key, NULL));
  assert_null(kin_lister_next(NULL));
  assert_true(kin_selector_is_everything(NULL));
  assert_false(kin_selector_is_nothing(NULL));
  assert_true(kin_selector_matches(NULL, w->object));
  kin_selector *everything;
  assert_int_equal(kin_selector_parse(&everything, NULL, NULL), 0);
  assert_true(kin_selector_is_everything(everything));
  kin_selector_free(everything);
  kin_lister nowhere = kin_lister_of(NULL);
  const kin_object *object = w->object;
  REFUSED(kin_lister_get(&nowhere, key, &object));
  assert_null(object);
  kin_lister_scan scan = kin_lister_list(NULL, w->selector);
  assert_null(kin_lister_next(&scan));
  nowhere = kin_lister_in(nowhere, key);
  scan = kin_lister_list(&nowhere, NULL);
  assert_null(kin_lister_next(&scan));
}

static void test_stores(void **state) {
  world *w = *state;
  const kin_str key = {"n/a", 3};
  REFUSED(kin_store_new(NULL, &w->store_options));
  kin_store_free(NULL);
  REFUSED(kin_store_put(NULL, w->object));
  REFUSED(kin_store_put(w->store, NULL));
  REFUSED(kin_store_delete(NULL, key));
  REFUSED(kin_store_delete_object(NULL, w->object));
  REFUSED(kin_store_delete_object(w->store, NULL));
  REFUSED(kin_store_replace(NULL, w->objects, 1, key));
  REFUSED(kin_store_replace(w->store, NULL, 1, key));
  REFUSED(kin_store_transact(NULL, w->ops, 1, NULL));
  REFUSED(kin_store_transact(w->store, NULL, 1, NULL));
  EMPTY(kin_store_resource_version(NULL));
  REFUSED(kin_store_bookmark(NULL, key));
  ZERO(kin_store_version_gauge(NULL, &w->number));
  ZERO(kin_store_version_gauge(w->store, NULL));
  assert_null(kin_store_get(NULL, key));
  assert_null(kin_store_get_key(NULL, "app"));
  assert_null(kin_store_get_key(w->store, NULL));
  ZERO(kin_store_count(NULL));
  ZERO(kin_store_bytes(NULL));
  assert_null(kin_store_next(NULL, &w->cursor));
  assert_null(kin_store_next(w->store, NULL));
  REFUSED_OUT(kin_object_list *, kin_store_list(NULL, &out));
  REFUSED(kin_store_list(w->store, NULL));
  REFUSED(kin_index_emit(NULL, key));
  REFUSED(kin_store_add_index(NULL, &w->index_options));
  REFUSED(kin_store_add_index(w->store, NULL));
  ZERO(kin_store_index_ready(NULL, "index"));
  ZERO(kin_store_index_ready(w->store, NULL));
  assert_null(kin_store_next_index(NULL, &w->cursor));
  assert_null(kin_store_next_index(w->store, NULL));
  REFUSED(kin_store_by_index(NULL, "index", key, &w->found));
  REFUSED(kin_store_by_index(w->store, NULL, key, &w->found));
  REFUSED(kin_store_by_index(w->store, "index", key, NULL));
  assert_null(kin_store_by_index_next(NULL, &w->found));
  assert_null(kin_store_by_index_next(w->store, NULL));
  REFUSED_OUT(kin_object_list *,
              kin_store_list_by_index(NULL, "index", key, &out));
  REFUSED_OUT(kin_object_list *,
              kin_store_list_by_index(w->store, NULL, key, &out));
  REFUSED(kin_store_list_by_index(w->store, "index", key, NULL));
  REFUSED_OUT(kin_object_list *,
              kin_store_list_like(NULL, "index", w->object, &out));
  REFUSED_OUT(kin_object_list *,
              kin_store_list_like(w->store, NULL, w->object, &out));
  REFUSED_OUT(kin_object_list *,
              kin_store_list_like(w->store, "index", NULL, &out));
  REFUSED(kin_store_list_like(w->store, "index", w->object, NULL));
  ZERO(kin_store_index_count(NULL, "index", key));
  ZERO(kin_store_index_count(w->store, NULL, key));
  ZERO(kin_store_index_next_value(NULL, "index", &w->cursor, &w->str));
  ZERO(kin_store_index_next_value(w->store, NULL, &w->cursor, &w->str));
  ZERO(kin_store_index_next_value(w->store, "index", NULL, &w->str));
  ZERO(kin_store_index_next_value(w->store, "index", &w->cursor, NULL));
  assert_int_equal(kin_store_count(w->store), 1);
}

static void test_other_stores(void **state) {
  world *w = *state;
  const kin_str key = {"n/a", 3};
  REFUSED(kin_expiring_store_new(NULL, &w->expiring_store_options));
  REFUSED_OUT(kin_expiring_store *, kin_expiring_store_new(&out, NULL));
  kin_expiring_store_free(NULL);
  REFUSED(kin_expiring_store_put(NULL, w->object));
  REFUSED(kin_expiring_store_put(w->expiring, NULL));
  REFUSED(kin_expiring_store_delete(NULL, key));
  REFUSED(kin_expiring_store_delete_object(NULL, w->object));
  REFUSED(kin_expiring_store_delete_object(w->expiring, NULL));
  REFUSED(kin_expiring_store_replace(NULL, w->objects, 1, key));
  REFUSED(kin_expiring_store_replace(w->expiring, NULL, 1, key));
  REFUSED(kin_expiring_store_bookmark(NULL, key));
  assert_null(kin_expiring_store_get(NULL, key));
  assert_null(kin_expiring_store_next(NULL, &w->cursor));
  assert_null(kin_expiring_store_next(w->expiring, NULL));
  ZERO(kin_expiring_store_next_key(NULL, &w->cursor, &w->str));
  ZERO(kin_expiring_store_next_key(w->expiring, NULL, &w->str));
  ZERO(kin_expiring_store_next_key(w->expiring, &w->cursor, NULL));
  ZERO(kin_expiring_store_count(NULL));
  EMPTY(kin_expiring_store_resource_version(NULL));
  REFUSED(kin_push_store_new(NULL, &w->push_store_options));
  REFUSED_OUT(kin_push_store *, kin_push_store_new(&out, NULL));
  kin_push_store_free(NULL);
  REFUSED(kin_push_store_put(NULL, w->object));
  REFUSED(kin_push_store_put(w->push, NULL));
  REFUSED(kin_push_store_delete(NULL, key));
  REFUSED(kin_push_store_delete_object(NULL, w->object));
  REFUSED(kin_push_store_delete_object(w->push, NULL));
  REFUSED(kin_push_store_replace(NULL, w->objects, 1, key));
  REFUSED(kin_push_store_replace(w->push, NULL, 1, key));
  assert_null(kin_push_store_content(NULL));
  REFUSED(kin_mutation_cache_new(NULL, &w->mutation_cache_options));
  REFUSED_OUT(kin_mutation_cache *, kin_mutation_cache_new(&out, NULL));
  kin_mutation_cache_free(NULL);
  REFUSED(kin_mutation_cache_mutation(NULL, w->object));
  REFUSED(kin_mutation_cache_mutation(w->cache, NULL));
  kin_mutation_cache_on_put(NULL, w->object);
  kin_mutation_cache_on_put(w->cache, NULL);
  REFUSED(kin_mutation_cache_on_delete(NULL, w->object));
  REFUSED(kin_mutation_cache_on_delete(w->cache, NULL));
  assert_null(kin_mutation_cache_get(NULL, key));
  REFUSED_OUT(kin_object_list *,
              kin_mutation_cache_by_index(NULL, "index", key, &out));
  REFUSED_OUT(kin_object_list *,
              kin_mutation_cache_by_index(w->cache, NULL, key, &out));
  REFUSED(kin_mutation_cache_by_index(w->cache, "index", key, NULL));
  ZERO(kin_mutation_cache_count(NULL));
  REFUSED(kin_resource_version_compare(key, key, NULL));
  REFUSED(kin_mutation_detector_new(NULL, &w->mutation_detector_options));
  REFUSED_OUT(kin_mutation_detector *, kin_mutation_detector_new(&out, NULL));
  kin_mutation_detector_free(NULL);
  REFUSED(kin_mutation_detector_add(NULL, w->object));
  REFUSED(kin_mutation_detector_add(w->detector, NULL));
  ZERO(kin_mutation_detector_check(NULL, 1));
  ZERO(kin_mutation_detector_count(NULL));
}

static void test_queues(void **state) {
  world *w = *state;
  const kin_str key = {"n/a", 3};
  REFUSED(kin_queue_new_fifo(NULL, &w->queue_options));
  REFUSED(kin_queue_new_delta(NULL, &w->queue_options));
  REFUSED(kin_queue_new_in_order(NULL, &w->queue_options));
  kin_queue_free(NULL);
  REFUSED(kin_queue_add(NULL, w->object));
  REFUSED(kin_queue_add(w->queue, NULL));
  REFUSED(kin_queue_update(NULL, w->object));
  REFUSED(kin_queue_update(w->queue, NULL));
  REFUSED(kin_queue_delete(NULL, w->object));
  REFUSED(kin_queue_delete(w->queue, NULL));
  REFUSED(kin_queue_delete_tombstone(NULL, key, w->object));
  REFUSED(kin_queue_replace(NULL, w->objects, 1, key));
  REFUSED(kin_queue_replace(w->queue, NULL, 1, key));
  REFUSED(kin_queue_resync(NULL));
  REFUSED(kin_queue_bookmark(NULL, key));
  REFUSED(kin_queue_add_if_not_present(NULL, &w->deltas));
  REFUSED(kin_queue_add_if_not_present(w->queue, NULL));
  REFUSED(kin_queue_pop(NULL, process, NULL));
  REFUSED(kin_queue_pop(w->queue, NULL, NULL));
  REFUSED(kin_queue_pop_batch(NULL, process, process, NULL));
  REFUSED(kin_queue_pop_batch(w->queue, NULL, process, NULL));
  REFUSED(kin_queue_pop_batch(w->queue, process, NULL, NULL));
  ZERO(kin_queue_has_synced(NULL));
  kin_queue_close(NULL);
  ZERO(kin_queue_is_closed(NULL));
  assert_string_equal(kin_queue_name(NULL), "");
  assert_null(kin_queue_transform(NULL, &w->value));
  ZERO(kin_queue_count(NULL));
  ZERO(kin_queue_is_full(NULL));
  REFUSED_OUT(kin_deltas *, kin_queue_get(NULL, key, &out));
  REFUSED(kin_queue_get(w->queue, key, NULL));
  ZERO(kin_queue_next(NULL, &w->queued, &w->delta));
  ZERO(kin_queue_next(w->queue, NULL, &w->delta));
  ZERO(kin_queue_next(w->queue, &w->queued, NULL));
  assert_null(kin_deltas_oldest(NULL));
  assert_null(kin_deltas_newest(NULL));
  REFUSED(kin_delta_key(&w->delta, NULL));
  REFUSED(kin_deltas_key(&w->deltas, NULL));
  REFUSED(kin_deltas_copy(NULL, &w->deltas, NULL));
  REFUSED_OUT(kin_deltas *, kin_deltas_copy(&out, NULL, NULL));
  kin_deltas_free(NULL);
  REFUSED(kin_process_deltas(NULL, NULL, &w->deltas, false));
  REFUSED(kin_process_deltas(w->store, NULL, NULL, false));
  REFUSED(kin_process_batch(NULL, NULL, &w->deltas, false));
  REFUSED(kin_process_batch(w->store, NULL, NULL, false));
  kin_queue *plain;
  assert_int_equal(kin_queue_new_fifo(&plain, NULL), 0);
  kin_queue_free(plain);
  assert_int_equal(kin_queue_new_in_order(&plain, NULL), 0);
  kin_queue_free(plain);
  assert_int_equal(kin_delta_key(NULL, &w->str), KIN_EKEY);
  assert_int_equal(kin_deltas_key(NULL, &w->str), KIN_EKEY);
  kin_known_objects known = kin_store_known_objects(NULL);
  assert_null(known.get);
  assert_null(known.next);
  assert_int_equal(kin_queue_count(w->queue), 0);
}

static void test_heaps_and_trackers(void **state) {
  world *w = *state;
  const kin_str key = {"n/a", 3};
  REFUSED(kin_heap_new(NULL, &w->heap_options));
  REFUSED_OUT(kin_heap *, kin_heap_new(&out, NULL));
  kin_heap_free(NULL);
  REFUSED(kin_heap_put(NULL, key, w, NULL));
  REFUSED(kin_heap_put_new(NULL, key, w));
  REFUSED(kin_heap_put_all(NULL, w->entries, 1, NULL));
  REFUSED(kin_heap_put_all(w->heap, NULL, 1, NULL));
  REFUSED(kin_heap_delete(NULL, key, &w->value));
  REFUSED(kin_heap_pop(NULL, &w->value));
  assert_null(kin_heap_peek(NULL));
  assert_null(kin_heap_get(NULL, key));
  ZERO(kin_heap_count(NULL));
  ZERO(kin_heap_next(NULL, &w->cursor, &w->str, &w->value));
  ZERO(kin_heap_next(w->heap, NULL, &w->str, &w->value));
  kin_heap_close(NULL);
  ZERO(kin_heap_is_closed(NULL));
  kin_sync_counter_start(NULL);
  REFUSED(kin_sync_counter_finish(NULL));
  kin_sync_counter_upstream_synced(NULL);
  ZERO(kin_sync_counter_has_synced(NULL));
  REFUSED(kin_sync_set_new(NULL, NULL));
  kin_sync_set_free(NULL);
  REFUSED(kin_sync_set_start(NULL, key));
  kin_sync_set_finish(NULL, key);
  kin_sync_set_upstream_synced(NULL);
  ZERO(kin_sync_set_has_synced(NULL));
  ZERO(kin_sync_set_count(NULL));
  REFUSED(kin_lazy_new(NULL, &w->lazy_options));
  REFUSED_OUT(kin_lazy *, kin_lazy_new(&out, NULL));
  kin_lazy_free(NULL);
  REFUSED(kin_lazy_get(NULL, &w->value));
  REFUSED(kin_lazy_get(w->lazy, NULL));
  kin_lazy_notify(NULL);
  ZERO(kin_lazy_generation(NULL));
  ZERO(kin_lazy_offer(NULL, 0, w));
  assert_true(kin_lazy_offer(w->lazy, kin_lazy_generation(w->lazy), NULL));
  REFUSED(kin_heap_put(w->heap, key, NULL, NULL));
  REFUSED(kin_heap_put_new(w->heap, key, NULL));
}

static void test_names_and_gates(void **state) {
  world *w = *state;
  const kin_str key = {"n/a", 3};
  REFUSED(kin_informer_names_new(NULL, NULL));
  kin_informer_names_free(NULL);
  REFUSED(kin_informer_name_new(NULL, w->names, "text"));
  REFUSED_OUT(kin_informer_name *, kin_informer_name_new(&out, NULL, "text"));
  REFUSED_OUT(kin_informer_name *, kin_informer_name_new(&out, w->names, NULL));
  assert_null(kin_informer_name_ref(NULL));
  kin_informer_name_unref(NULL);
  kin_informer_name_release(NULL);
  assert_string_equal(kin_informer_name_text(NULL), "");
  REFUSED(kin_informer_id_new(NULL, w->name, NULL, NULL, "pods"));
  REFUSED_OUT(kin_informer_id *,
              kin_informer_id_new(&out, w->name, NULL, NULL, NULL));
  kin_informer_id_free(NULL);
  ZERO(kin_informer_id_is_reserved(NULL));
  assert_string_equal(kin_informer_id_name(NULL), "");
  assert_string_equal(kin_informer_id_group(NULL), "");
  assert_string_equal(kin_informer_id_version(NULL), "");
  assert_string_equal(kin_informer_id_plural(NULL), "");
  REFUSED(kin_key_make(NULL, 1, key, key, &w->str));
  assert_int_equal(kin_key_split(key, NULL, NULL), 0);
}

/* An empty key is none, an empty version or value is one. */
static void test_strings_without_bytes(void **state) {
  world *w = *state;
  assert_int_equal(kin_key_split(NO_BYTES, NULL, NULL), KIN_EKEY);
  char key[8];
  assert_int_equal(kin_key_make(key, sizeof key, w->str, NO_BYTES, NULL),
                   KIN_EKEY);
  assert_int_equal(kin_key_make(key, sizeof key, NO_BYTES,
                                kin_object_name(w->object), &w->str),
                   0);
  assert_string_equal(key, "a");
  const kin_object *found;
  assert_int_equal(kin_lister_get(&w->lister, NO_BYTES, &found), KIN_EKEY);
  kin_lister everywhere = kin_lister_in(w->lister, NO_BYTES);
  kin_lister_scan scan = kin_lister_list(&everywhere, NULL);
  assert_ptr_equal(kin_lister_next(&scan), w->object);
  w->lister.namespace_ = NO_BYTES;
  scan = kin_lister_list(&w->lister, NULL);
  assert_ptr_equal(kin_lister_next(&scan), w->object);
  int order;
  kin_str one = {"1", 1};
  assert_int_equal(kin_resource_version_compare(NO_BYTES, one, &order), 0);
  assert_int_equal(order, -1);
  assert_int_equal(kin_resource_version_compare(one, NO_BYTES, &order), 0);
  assert_int_equal(order, 1);

  assert_null(kin_heap_get(w->heap, NO_BYTES));
  assert_int_equal(kin_heap_delete(w->heap, NO_BYTES, NULL), KIN_ENOENT);
  assert_int_equal(kin_heap_put(w->heap, NO_BYTES, w, NULL),
                   kin_heap_put(w->heap, (kin_str){"", 0}, w, NULL));
  assert_int_equal(kin_heap_put_new(w->heap, NO_BYTES, w),
                   kin_heap_put_new(w->heap, (kin_str){"", 0}, w));
  assert_int_equal(kin_sync_set_start(w->set, NO_BYTES), 0);
  assert_int_equal(kin_sync_set_start(w->set, (kin_str){"", 0}), 0);
  assert_int_equal(kin_sync_set_count(w->set), 1);
  kin_sync_set_finish(w->set, NO_BYTES);
  assert_int_equal(kin_sync_set_count(w->set), 0);
}

static void test_stores_without_bytes(void **state) {
  world *w = *state;
  assert_null(kin_store_get(w->store, NO_BYTES));
  assert_int_equal(kin_store_delete(w->store, NO_BYTES), KIN_ENOENT);
  assert_int_equal(kin_store_by_index(w->store, "index", NO_BYTES, &w->found),
                   0);
  assert_null(kin_store_by_index_next(w->store, &w->found));
  ZERO(kin_store_index_count(w->store, "index", NO_BYTES));
  kin_object_list *list;
  assert_int_equal(kin_store_list_by_index(w->store, "index", NO_BYTES, &list),
                   0);
  assert_int_equal(list->count, 0);
  kin_object_list_free(list);
  assert_null(kin_mutation_cache_get(w->cache, NO_BYTES));
  assert_int_equal(
      kin_mutation_cache_by_index(w->cache, "index", NO_BYTES, &list), 0);
  assert_int_equal(list->count, 0);
  kin_object_list_free(list);
  assert_int_equal(kin_store_replace(w->store, w->objects, 1, NO_BYTES), 0);
  assert_int_equal(kin_store_bookmark(w->store, NO_BYTES), 0);
  EMPTY(kin_store_resource_version(w->store));

  assert_null(kin_expiring_store_get(w->expiring, NO_BYTES));
  assert_int_equal(kin_expiring_store_delete(w->expiring, NO_BYTES),
                   KIN_ENOENT);
  assert_int_equal(
      kin_expiring_store_replace(w->expiring, w->objects, 1, NO_BYTES), 0);
  assert_int_equal(kin_expiring_store_bookmark(w->expiring, NO_BYTES), 0);
  EMPTY(kin_expiring_store_resource_version(w->expiring));
  assert_int_equal(kin_push_store_delete(w->push, NO_BYTES), KIN_ENOENT);
  assert_int_equal(kin_push_store_replace(w->push, w->objects, 1, NO_BYTES), 0);
}

static int emit_no_bytes(const kin_object *object, kin_index_values *values,
                         void *data) {
  (void)object;
  (void)data;
  return kin_index_emit(values, NO_BYTES);
}

static int set_no_bytes(const kin_object *in, kin_object_builder *out,
                        void *data) {
  (void)in;
  (void)data;
  return kin_object_builder_set_str(out, "/a", NO_BYTES);
}

static void test_callbacks_without_bytes(void **state) {
  world *w = *state;
  w->index_options.name = "emitted";
  w->index_options.pointer = NULL;
  w->index_options.cb = emit_no_bytes;
  assert_int_equal(kin_store_add_index(w->store, &w->index_options), 0);
  assert_int_equal(kin_store_index_count(w->store, "emitted", NO_BYTES), 1);
  kin_object *made;
  assert_int_equal(kin_object_transform(w->object, set_no_bytes, NULL, &made),
                   0);
  kin_object_view *view;
  assert_int_equal(kin_object_view_open(&view, made), 0);
  assert_int_equal(kin_object_view_string(view, "/a", &w->str), 0);
  EMPTY(w->str);
  kin_object_view_close(view);
  kin_object_unref(made);
}

static void test_queues_without_bytes(void **state) {
  world *w = *state;
  assert_int_equal(kin_queue_delete_tombstone(w->queue, NO_BYTES, NULL),
                   KIN_EKEY);
  kin_deltas *copy;
  assert_int_equal(kin_queue_get(w->queue, NO_BYTES, &copy), KIN_ENOENT);
  assert_int_equal(kin_queue_replace(w->queue, w->objects, 1, NO_BYTES), 0);
  assert_int_equal(kin_queue_bookmark(w->queue, NO_BYTES), 0);

  w->delta.key = w->delta.resource_version = NO_BYTES;
  assert_int_equal(kin_delta_key(&w->delta, &w->str), 0);
  assert_ptr_equal(w->str.data, kin_object_key(w->object).data);
  w->delta.object = NULL;
  w->delta.type = KIN_DELTA_DELETED;
  assert_int_equal(kin_delta_key(&w->delta, &w->str), KIN_EKEY);
  REFUSED(kin_process_deltas(w->store, NULL, &w->deltas, false));
  assert_int_equal(kin_queue_add_if_not_present(w->queue, &w->deltas),
                   KIN_EKEY);
  assert_int_equal(kin_deltas_copy(&copy, &w->deltas, NULL), 0);
  EMPTY(copy->items[0].key);
  EMPTY(copy->items[0].resource_version);
  kin_deltas_free(copy);
  w->delta.type = KIN_DELTA_REPLACED_ALL;
  assert_int_equal(kin_process_deltas(w->store, NULL, &w->deltas, false), 0);
  EMPTY(kin_store_resource_version(w->store));
}

static void test_values_that_are_none(void **state) {
  (void)state;
  for (int value = -99999; value < 100000; value += 199998) {
    assert_string_equal(kin_delta_type_name((kin_delta_type)value), "");
    assert_string_equal(kin_delete_reason_name((kin_delete_reason)value), "");
    assert_string_equal(kin_state_name((kin_state)value), "unknown");
    assert_string_equal(kin_memory_state_name((kin_memory_state)value),
                        "unknown");
    assert_string_equal(kin_relist_reason_name((kin_relist_reason)value),
                        "unknown");
    assert_string_equal(kin_mutation_part_name((kin_mutation_part)value),
                        "unknown");
    assert_string_equal(kin_error_class_name((kin_error_class)value),
                        "unknown");
    assert_string_equal(kin_strerror(value), "unknown error");
    assert_string_equal(kin_err_name(value), "UNKNOWN");
  }
  assert_true(kin_histogram_bound(SIZE_MAX) >= kin_histogram_bound(1));
  assert_non_null(kin_version_string());
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_objects, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_builders, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_selectors_and_listers, set_up,
                                      tear_down),
      cmocka_unit_test_setup_teardown(test_stores, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_other_stores, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_queues, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_heaps_and_trackers, set_up,
                                      tear_down),
      cmocka_unit_test_setup_teardown(test_names_and_gates, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_strings_without_bytes, set_up,
                                      tear_down),
      cmocka_unit_test_setup_teardown(test_stores_without_bytes, set_up,
                                      tear_down),
      cmocka_unit_test_setup_teardown(test_callbacks_without_bytes, set_up,
                                      tear_down),
      cmocka_unit_test_setup_teardown(test_queues_without_bytes, set_up,
                                      tear_down),
      cmocka_unit_test(test_values_that_are_none),
  };
  return cmocka_run_group_tests_name("arguments", tests, NULL, NULL);
}
