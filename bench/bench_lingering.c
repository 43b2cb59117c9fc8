/* SPDX-License-Identifier: MIT */

/* The cost of a look-up in a lingering index: the pod of an address, for a line
 * of now, for an older one, and for an address that nobody had. As
 * examples/pod_ip.c does for each line.
 *
 * Prints `name value unit` lines. Times are means over all addresses in random
 * order, as wall time. A third of the pods is deleted, and its addresses belong
 * to new pods; another third is deleted. Not measured: reading lines, printing,
 * the loop.
 *
 * usage: bench_lingering [PODS] */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kin/testing/fake_source.h>
#include <kin/toolkit.h>

#include "measure.h"

#define DEFAULT_PODS 30000u
#define ROUNDS 10u
#define LINGER_MS 3600000u

typedef struct bench {
  uv_loop_t loop;
  uv_idle_t pump;
  kin_client *client;
  kin_fake_source *source;
  kin_informer *informer;
  kin_lingering_index *index;
  size_t pods;
  uint32_t *order; /* a random permutation */
} bench;

static void check(int err, const char *what) {
  if (err != 0) {
    fprintf(stderr, "bench_lingering: %s: %s\n", what, kin_strerror(err));
    exit(1);
  }
}

static kin_str address_of(char to[64], size_t i) {
  int length = snprintf(to, 64, "10.%u.%u.%u", (unsigned)(i >> 16 & 255),
                        (unsigned)(i >> 8 & 255), (unsigned)(i & 255));
  return (kin_str){to, (size_t)length};
}

static void change(const bench *b, kin_watch_event_type type,
                   const char *prefix, size_t i) {
  char address[64];
  address_of(address, i);
  char json[512];
  int length = snprintf(
      json, sizeof json,
      "{\"metadata\":{\"name\":\"%s-%zu\",\"namespace\":\"space-%zu\",\"uid\":"
      "\"%s-%zu\",\"resourceVersion\":\"0\"},\"status\":{\"podIPs\":[{\"ip\":"
      "\"%s\"}]}}",
      prefix, i, i % 100, prefix, i, address);
  kin_object *object;
  check(kin_object_parse(&object, NULL, json, (size_t)length), "object");
  check(kin_fake_source_change(b->source, type, object, false), "source");
  kin_object_unref(object);
}

static void on_pump(uv_idle_t *pump) {
  kin_fake_source_run(((bench *)pump->data)->source);
}

static void run_until(bench *b, size_t gone, size_t live) {
  const kin_store *store = kin_informer_store(b->informer);
  while (kin_lingering_index_count(b->index) != gone ||
         kin_store_count(store) != live) {
    uv_run(&b->loop, UV_RUN_NOWAIT);
  }
}

static void open_bench(bench *b) {
  check(uv_loop_init(&b->loop), "loop");
  check(uv_idle_init(&b->loop, &b->pump), "idle");
  b->pump.data = b;
  check(uv_idle_start(&b->pump, on_pump), "idle");
  check(kin_fake_source_new(&b->source, NULL), "source");
  kin_client_options client = KIN_CLIENT_OPTIONS_INIT;
  client.server = "http://127.0.0.1"; /* never asked */
  check(kin_client_open(&b->client, &b->loop, &client), "client");
  kin_lister_watcher source = kin_fake_source_lister_watcher(b->source);
  kin_informer_options options = KIN_INFORMER_OPTIONS_INIT;
  options.plural = "pods";
  options.source = &source;
  check(kin_informer_open(&b->informer, b->client, &options), "informer");
  kin_index_options index = KIN_INDEX_OPTIONS_INIT;
  index.name = "address";
  index.pointer = "/status/podIPs/*/ip";
  check(kin_store_add_index(kin_informer_store(b->informer), &index), "index");
  kin_lingering_index_options lingering = KIN_LINGERING_INDEX_OPTIONS_INIT;
  lingering.name = "address";
  lingering.linger_ms = LINGER_MS;
  lingering.max_objects = 1048576;
  check(kin_lingering_index_open(&b->index, b->informer, &lingering),
        "lingering index");
  check(kin_informer_start(b->informer), "start");
}

/* Live, used again, and gone: a third each. */
static void fill(bench *b) {
  for (size_t i = 0; i < b->pods; i++) {
    change(b, KIN_WATCH_ADDED, "old", i);
  }
  run_until(b, 0, b->pods);
  size_t gone = 0;
  size_t live = b->pods;
  for (size_t i = 0; i < b->pods; i++) {
    if (i % 3 != 0) {
      change(b, KIN_WATCH_DELETED, "old", i);
      gone++;
      live--;
    }
    if (i % 3 == 1) {
      change(b, KIN_WATCH_ADDED, "new", i);
      live++;
    }
  }
  run_until(b, gone, live);
}

static void make_order(bench *b) {
  b->order = calloc(b->pods, sizeof *b->order);
  check(b->order != NULL ? 0 : KIN_ENOMEM, "order");
  uint64_t random = 1;
  for (uint32_t i = 0; i < b->pods; i++) {
    random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
    uint32_t j = (uint32_t)((random >> 33) % (i + 1u));
    b->order[i] = b->order[j];
    b->order[j] = i;
  }
}

/* The addresses are made before: they come with the packet. */
static void look_up(const bench *b, const char *name, size_t first,
                    uint64_t age_ms, bool is_found) {
  char(*texts)[64] = calloc(b->pods, sizeof *texts);
  kin_str *addresses = calloc(b->pods, sizeof *addresses);
  check(texts != NULL && addresses != NULL ? 0 : KIN_ENOMEM, "addresses");
  for (size_t i = 0; i < b->pods; i++) {
    addresses[i] = address_of(texts[i], first + b->order[i]);
  }
  uint64_t best_ns = UINT64_MAX;
  for (unsigned round = 0; round < ROUNDS; round++) {
    size_t bytes = 0;
    uint64_t start = wall_ns();
    for (size_t i = 0; i < b->pods; i++) {
      uint64_t gone_ms;
      const kin_object *pod =
          kin_lingering_index_owner(b->index, addresses[i], age_ms, &gone_ms);
      bytes += pod != NULL ? kin_object_key(pod).length : 0;
    }
    uint64_t spent = wall_ns() - start;
    best_ns = spent < best_ns ? spent : best_ns;
    check((bytes > 0) == is_found ? 0 : KIN_EUNEXPECTED, name);
  }
  printf("lingering.%zu.%s %.1f ns\n", b->pods, name,
         (double)best_ns / (double)b->pods);
  free(addresses);
  free(texts);
}

int main(int argc, char **argv) {
  static bench b;
  b.pods = argc > 1 ? strtoul(argv[1], NULL, 10) : DEFAULT_PODS;
  make_order(&b);
  open_bench(&b);
  fill(&b);
  look_up(&b, "now", 0, 0, true);
  look_up(&b, "late", 0, LINGER_MS, true);
  look_up(&b, "unknown", (size_t)1 << 23, 0, false);
  uv_close((uv_handle_t *)&b.pump, NULL);
  check(kin_client_close(b.client, NULL, NULL), "close");
  uv_run(&b.loop, UV_RUN_DEFAULT);
  kin_fake_source_free(b.source);
  free(b.order);
  return uv_loop_close(&b.loop) == 0 ? 0 : 1;
}
