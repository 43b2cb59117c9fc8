/* SPDX-License-Identifier: MIT */
#include "costs/cost.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void cost_check(bool is_true, const char *what, const char *file, int line) {
  if (!is_true) {
    fprintf(stderr, "kin-costs: %s:%d: not so: %s\n", file, line, what);
    exit(1);
  }
}

/* --- Memory --------------------------------------------------------------- */

#define SIZE_CLASSES 40u
#define SMALLEST 32u

typedef union block {
  struct {
    union block *next; /* of a free one */
    size_t size_class;
  } head;
  max_align_t aligned;
} block;

static block *free_blocks[SIZE_CLASSES];
static size_t live_blocks;

static void *take(void *ctx, size_t size) {
  (void)ctx;
  size_t size_class = 0;
  while (((size_t)SMALLEST << size_class) < size) {
    size_class++;
  }
  cost_assert(size_class < SIZE_CLASSES);
  block *taken = free_blocks[size_class];
  if (taken != NULL) {
    free_blocks[size_class] = taken->head.next;
  } else {
    taken = malloc(sizeof *taken + ((size_t)SMALLEST << size_class));
    cost_assert(taken != NULL);
  }
  taken->head.size_class = size_class;
  live_blocks++;
  return taken + 1;
}

static void give(void *ctx, void *memory) {
  (void)ctx;
  block *given = (block *)memory - 1;
  given->head.next = free_blocks[given->head.size_class];
  free_blocks[given->head.size_class] = given;
  live_blocks--;
}

static void *take_again(void *ctx, void *memory, size_t old_size, size_t size) {
  void *taken = take(ctx, size);
  if (memory != NULL) {
    memcpy(taken, memory, old_size < size ? old_size : size);
    give(ctx, memory);
  }
  return taken;
}

const kin_allocator *cost_memory(void) {
  static const kin_allocator allocator = {NULL, take, take_again, give};
  return &allocator;
}

size_t cost_memory_live(void) {
  return live_blocks;
}

char *cost_text(size_t size) {
  char *text = calloc(1, size);
  cost_assert(text != NULL);
  return text;
}

/* --- Objects -------------------------------------------------------------- */

#define PODS (COST_SEGMENT * COST_SEGMENT_FACTOR + 64u)

kin_object *cost_object(const char *json) {
  size_t length = strlen(json);
  char *text = cost_text(length + 1);
  memcpy(text, json, length);
  for (char *at = text; (at = strchr(at, '\'')) != NULL;) {
    *at = '"';
  }
  kin_object *object;
  cost_must(kin_object_parse(&object, cost_memory(), text, length));
  free(text);
  return object;
}

const kin_object *cost_pod(size_t i) {
  /* Not of cost_memory, since these stay. */
  static kin_object *pods[PODS];
  cost_assert(i < PODS);
  if (pods[i] == NULL) {
    char json[256];
    int length = snprintf(
        json, sizeof json,
        "{\"metadata\":{\"name\":\"pod-%zu\",\"namespace\":\"space\","
        "\"uid\":\"u-%zu\",\"resourceVersion\":\"%zu\",\"labels\":"
        "{\"app\":\"all\",\"own\":\"o%zu\"}},\"spec\":{\"nodeName\":\"all\"}}",
        i, i, i + 1, i);
    cost_must(kin_object_parse(&pods[i], NULL, json, (size_t)length));
  }
  return pods[i];
}

const kin_object **cost_pods(size_t first, size_t count) {
  const kin_object **pods = calloc(count, sizeof *pods);
  cost_assert(pods != NULL);
  for (size_t i = 0; i < count; i++) {
    pods[i] = cost_pod(first + i);
  }
  return pods;
}

/* An object with a text of so many bytes between two pieces. */
static kin_object *object_around(const char *before, size_t bytes,
                                 const char *after) {
  size_t size = strlen(before) + bytes + strlen(after) + 1;
  char *json = cost_text(size);
  char *x = json + snprintf(json, size, "%s", before);
  memset(x, 'x', bytes);
  snprintf(x + bytes, size - (size_t)(x + bytes - json), "%s", after);
  kin_object *object = cost_object(json);
  free(json);
  return object;
}

kin_object *cost_big_object(size_t bytes) {
  return object_around(
      "{'metadata':{'name':'big','namespace':'space','uid':'u','labels':"
      "{'app':'all'},'resourceVersion':'7'},'spec':{'x':'",
      bytes, "'}}");
}

kin_object *cost_annotated_object(size_t bytes) {
  return object_around("{'metadata':{'annotations':{'x':'", bytes,
                       "'},'name':'big','namespace':'space','uid':'u',"
                       "'resourceVersion':'7'}}");
}

kin_object *cost_labelled_object(size_t count) {
  size_t size = count * 32 + 64;
  char *json = cost_text(size);
  size_t used =
      (size_t)snprintf(json, size, "{'metadata':{'name':'many','labels':{");
  for (size_t i = 0; i < count; i++) {
    used += (size_t)snprintf(json + used, size - used, "%s'l%zu':'l%zu'",
                             i > 0 ? "," : "", i, i);
  }
  snprintf(json + used, size - used, "}}}");
  kin_object *object = cost_object(json);
  free(json);
  return object;
}

static void add_index(kin_store *store, const char *name, const char *pointer) {
  kin_index_options options = KIN_INDEX_OPTIONS_INIT;
  options.name = name;
  options.pointer = pointer;
  cost_must(kin_store_add_index(store, &options));
}

kin_store *cost_store(size_t n) {
  kin_store *store;
  kin_store_options options = KIN_STORE_OPTIONS_INIT;
  options.allocator = cost_memory();
  cost_must(kin_store_new(&store, &options));
  add_index(store, "own", "/metadata/labels/own");
  add_index(store, "app", "/metadata/labels/app");
  for (size_t i = 0; i < n; i++) {
    cost_must(kin_store_put(store, cost_pod(i)));
  }
  return store;
}
