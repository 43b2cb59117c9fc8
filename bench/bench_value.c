/* SPDX-License-Identifier: MIT */

/* The cost of reading an object, on one core: one field and twenty, by pointer,
 * in one pass and from a parsed document; and matching label selectors.
 *
 * bench_value [OBJECTS [ROUNDS]]
 *
 * prints lines `name value unit`, the median of all rounds. The objects are pods
 * of 5.4 KB; each round visits all of them. 4,000 fit the last-level cache at
 * best, 100,000 (the default) are 540 MB, which do not: the figures of `hot`
 * read one object again and again. `parse` is a view's document (yyjson) made,
 * asked by pointer and dropped. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <yyjson.h>

#include <kin/error.h>
#include <kin/toolkit.h>
#include <kin/yyjson.h>

#include "measure.h"
#include "pod.h"

enum { OBJECTS = 100000, ROUNDS = 7, ROUNDS_MAX = 99, FIELDS = 20 };

static const char *const fields_of_pods[FIELDS] = {
    "/spec/nodeName",
    "/status/phase",
    "/status/podIP",
    "/status/qosClass",
    "/metadata/name",
    "/metadata/namespace",
    "/metadata/uid",
    "/metadata/creationTimestamp",
    "/metadata/generateName",
    "/metadata/labels/app",
    "/metadata/labels/team",
    "/metadata/annotations/prometheus.io~1scrape",
    "/metadata/ownerReferences/0/name",
    "/spec/restartPolicy",
    "/spec/serviceAccountName",
    "/spec/containers/0/image",
    "/spec/containers/0/resources/requests/cpu",
    "/spec/containers/1/image",
    "/spec/containers/2/resources/limits/memory",
    "/status/conditions/0/status"};

static void check(int err, const char *what) {
  if (err != 0) {
    fprintf(stderr, "bench_value: %s: %s\n", what, kin_strerror(err));
    exit(1);
  }
}

typedef struct bench {
  kin_object **objects;
  size_t count;
  size_t rounds;
  bool is_hot; /* the first object only */
  size_t fields;
  kin_fields *compiled;
  const kin_selector *selector;
  kin_store *store;
  uint64_t sum; /* of what was read, so that it is read */
} bench;

/* Reads all fields of one object. */
typedef void (*read_cb)(bench *b, const kin_object *object);

static void take(bench *b, kin_value value) {
  kin_str text = {NULL, 0};
  check(kin_value_string(value, NULL, 0, &text), "string");
  b->sum += text.length;
}

static void by_pointer(bench *b, const kin_object *object) {
  for (size_t i = 0; i < b->fields; i++) {
    take(b, kin_object_at(object, fields_of_pods[i]));
  }
}

static void by_fields(bench *b, const kin_object *object) {
  kin_value values[FIELDS];
  check(kin_fields_read(b->compiled, object, values), "fields");
  for (size_t i = 0; i < b->fields; i++) {
    take(b, values[i]);
  }
}

static void by_parsing(bench *b, const kin_object *object) {
  kin_object_view *view;
  check(kin_object_view_open(&view, object), "view");
  yyjson_doc *doc = kin_object_view_document(view, NULL);
  for (size_t i = 0; i < b->fields; i++) {
    yyjson_val *value = yyjson_doc_ptr_get(doc, fields_of_pods[i]);
    check(yyjson_is_str(value) ? 0 : KIN_ENOENT, fields_of_pods[i]);
    b->sum += yyjson_get_len(value);
  }
  kin_object_view_close(view);
}

static void by_matching(bench *b, const kin_object *object) {
  b->sum += kin_selector_matches(b->selector, object);
}

static int compare_doubles(const void *a, const void *b) {
  double x = *(const double *)a;
  double y = *(const double *)b;
  return (x > y) - (x < y);
}

static void report(const char *name, double *times, size_t count) {
  qsort(times, count, sizeof *times, compare_doubles);
  printf("value.%s %.1f ns\n", name, times[count / 2]);
}

static void measure(bench *b, const char *name, read_cb read) {
  double times[ROUNDS_MAX];
  for (size_t round = 0; round < b->rounds; round++) {
    uint64_t since = thread_cpu_ns();
    for (size_t i = 0; i < b->count; i++) {
      read(b, b->objects[b->is_hot ? 0 : i]);
    }
    times[round] = (double)(thread_cpu_ns() - since) / (double)b->count;
  }
  report(name, times, b->rounds);
}

static void measure_fields(bench *b, size_t fields) {
  static const struct {
    const char *name;
    read_cb read;
  } ways[] = {
      {"pointer", by_pointer}, {"fields", by_fields}, {"parse", by_parsing}};
  b->fields = fields;
  check(kin_fields_new(&b->compiled, NULL, fields_of_pods, fields), "fields");
  for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
    for (int is_hot = 0; is_hot < 2; is_hot++) {
      char name[64];
      snprintf(name, sizeof name, "%s.%zu.%s", is_hot ? "hot" : "all", fields,
               ways[i].name);
      b->is_hot = is_hot;
      measure(b, name, ways[i].read);
    }
  }
  b->is_hot = false;
  kin_fields_free(b->compiled);
}

/* Each object by itself, and a lister's scan of the store. */
static void measure_selector(bench *b, const char *selector_name,
                             const char *text) {
  kin_selector *selector;
  check(kin_selector_parse(&selector, NULL, text), text);
  b->selector = selector;
  char name[128];
  snprintf(name, sizeof name, "match.%s", selector_name);
  measure(b, name, by_matching);
  double times[ROUNDS_MAX];
  size_t found = 0;
  for (size_t round = 0; round < b->rounds; round++) {
    kin_lister lister = kin_lister_of(b->store);
    uint64_t since = thread_cpu_ns();
    kin_lister_scan scan = kin_lister_list(&lister, selector);
    for (found = 0; kin_lister_next(&scan) != NULL; found++) {
    }
    times[round] = (double)(thread_cpu_ns() - since) / (double)b->count;
  }
  snprintf(name, sizeof name, "list.%s", selector_name);
  report(name, times, b->rounds);
  printf("value.list.%s.found %zu objects\n", selector_name, found);
  kin_selector_free(selector);
}

static void measure_index(bench *b) {
  kin_lister lister = kin_lister_of(b->store);
  double times[ROUNDS_MAX];
  for (size_t round = 0; round < b->rounds; round++) {
    uint64_t since = thread_cpu_ns();
    for (size_t i = 0; i < b->count; i++) {
      char node[16];
      int length = snprintf(node, sizeof node, "node-%zu", i % 500);
      const kin_object *object;
      kin_str value = {node, (size_t)length};
      check(kin_lister_find(&lister, "node", value, &object), "find");
      b->sum += kin_object_memory(object);
    }
    times[round] = (double)(thread_cpu_ns() - since) / (double)b->count;
  }
  report("find_by_index", times, b->rounds);
}

static void fill(bench *b) {
  b->objects = calloc(b->count, sizeof(kin_object *));
  check(b->objects != NULL ? 0 : KIN_ENOMEM, "memory");
  check(kin_store_new(&b->store, NULL), "store");
  kin_index_options options = KIN_INDEX_OPTIONS_INIT;
  options.name = "node";
  options.pointer = "/spec/nodeName";
  check(kin_store_add_index(b->store, &options), "index");
  for (size_t i = 0; i < b->count; i++) {
    b->objects[i] = bench_pod((unsigned)i);
    check(kin_store_put(b->store, b->objects[i]), "put");
  }
}

int main(int argc, char **argv) {
  bench b = {
      .count = argc > 1 ? number_argument("bench_value", "OBJECTS", argv[1])
                        : OBJECTS,
      .rounds = argc > 2 ? number_argument("bench_value", "ROUNDS", argv[2])
                         : ROUNDS};
  if (b.count < 500 || b.rounds == 0 || b.rounds > ROUNDS_MAX) {
    fprintf(stderr, "usage: bench_value [OBJECTS, from 500 [ROUNDS, to %d]]\n",
            ROUNDS_MAX);
    return 2;
  }
  fill(&b);
  measure_fields(&b, 1);
  measure_fields(&b, FIELDS);
  measure_selector(&b, "equal", "app=web");
  measure_selector(&b, "one_in_100", "team=team-7");
  measure_selector(&b, "two", "app=web,team notin (team-7,team-8)");
  measure_selector(&b, "four",
                   "app,!canary,team in (team-1,team-2,team-3),"
                   "pod-template-hash!=x");
  measure_index(&b);
  kin_store_free(b.store);
  for (size_t i = 0; i < b.count; i++) {
    kin_object_unref(b.objects[i]);
  }
  free(b.objects);
  return b.sum == 0;
}
