/* SPDX-License-Identifier: MIT */

/* The price of an informer that has nothing to do: its memory, with its
 * connection, and how often it wakes its program. bench/bench_idle.c measures
 * both for a thousand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "informer/informer.h"
#include "object/packed.h"
#include "support/client_world.h"
#include "support/virtual_host.h"

/* --- Memory --------------------------------------------------------------- */

/* Of what the library has from its allocator; 64-bit programs. */
#define BYTES_OF_ONE 4096u
#define FEW 8u
#define MANY 72u

#define BOOKMARK                                                               \
  "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"Pod\",\"metadata\":{"         \
  "\"resourceVersion\":\"7\",\"annotations\":{"                                \
  "\"k8s.io/initial-events-end\":\"true\"}}}}\n"
/* An empty list that came as a watch, which goes on. */
static const char streamed[] = ANSWER_CHUNKED "82\r\n" BOOKMARK "\r\n";

static void on_synced(kin_informer *informer, const kin_event *event,
                      void *data) {
  (void)informer;
  (void)event;
  ++*(size_t *)data;
}

static void follow(client_world *w, size_t *synced, size_t index) {
  char name[32];
  snprintf(name, sizeof name, "ns-%zu", index);
  const char *const namespaces[] = {name};
  kin_informer_options io = KIN_INFORMER_OPTIONS_INIT;
  io.plural = "pods";
  io.namespaces = namespaces;
  io.namespace_count = 1;
  kin_listener_options lo = KIN_LISTENER_OPTIONS_INIT;
  lo.on_synced = on_synced;
  lo.data = synced;
  kin_informer *informer;
  assert_int_equal(kin_informer_follow(&informer, w->client, &io, &lo), 0);
}

static void open_many(client_world *w, size_t *synced, size_t count) {
  while (*synced < count) {
    for (size_t i = *synced; i < count; i++) {
      follow(w, synced, i);
    }
    CLIENT_UNTIL(w, *synced == count);
  }
}

static uint64_t received(const client_world *w) {
  kin_client_stats stats = KIN_CLIENT_STATS_INIT;
  assert_int_equal(kin_client_get_stats(w->client, &stats), 0);
  return stats.received_bytes;
}

/* Sends bytes to all informers, which take them. */
static void push(client_world *w, const char *bytes) {
  uint64_t all = received(w) + strlen(bytes) * MANY;
  loop_server_push(&w->server, bytes);
  CLIENT_UNTIL(w, received(w) == all);
}

static void test_bytes_of_idle_informers(void **state) {
  (void)state;
  static const loop_reply reply = {.bytes = streamed};
  client_world w;
  client_world_serve(&w, &reply, 1);
  assert_int_equal(client_world_open_client(&w), 0);
  size_t synced = 0;
  open_many(&w, &synced, FEW);
  size_t few = atomic_load(&w.memory.live_bytes);
  open_many(&w, &synced, MANY);
  size_t many = atomic_load(&w.memory.live_bytes);
  assert_int_equal(w.server.open, MANY); /* a connection each */
  size_t of_one = (many - few) / (MANY - FEW);
  print_message("%zu bytes each\n", of_one);
  if (sizeof(void *) == 8) {
    assert_in_range(of_one, 1, BYTES_OF_ONE);
  }

  /* A frame that has come in part needs a decoder; a whole one does not. */
  push(&w, "10\r\n{\"type\":\"BOOKMAR\r\n");
  size_t in_frames = atomic_load(&w.memory.live_bytes);
  assert_true(in_frames - many > (MANY - 8) * sizeof(void *) * 100);
  push(&w, "3f\r\nK\",\"object\":{\"kind\":\"Pod\",\"metadata\":"
           "{\"resourceVersion\":\"8\"}}}\n\r\n");
  size_t kept = KIN__WATCH_DECODERS_KEPT * (in_frames - many) / MANY;
  assert_in_range(atomic_load(&w.memory.live_bytes), few, many + 2 * kept);
  client_world_finish(&w);
}

/* --- Wake-ups ------------------------------------------------------------- */

#define INFORMERS 16u
#define MINUTE_MS 60000u
#define WAKES_A_MINUTE 4u

static void on_update(kin_informer *informer, const kin_event *event,
                      void *data) {
  (void)informer;
  (void)event;
  (void)data;
}

/* Without bookmarks, and with the default options or compact storage. The probes of a client are
 * not per informer: see test_probe.c. */
static void test_idle_informers_sleep(void **state) {
  (void)state;
  for (int mode = 0; mode < 4; mode++) {
    bool has_streams = mode % 2 != 0;
    virtual_host vh;
    vh_init(&vh, 0);
    if (has_streams) {
      script_use_streams(&vh.script);
    }
    mini_put_first(&vh.server, 3);
    kin_informer *last = NULL;
    for (size_t i = 0; i < INFORMERS; i++) {
      kin_informer_options options = KIN_INFORMER_OPTIONS_INIT;
      options.plural = "pods";
      if (mode >= 2 && kin__pack_is_supported()) {
        options.compact = KIN_COMPACT_FAST;
      }
      assert_int_equal(kin__informer_open_on(&last, &vh.host, &options), 0);
      assert_int_equal(kin_informer_start(last), 0);
    }
    mini_pass(&vh.server, 1000);
    assert_int_equal(script_open_requests(&vh.script), INFORMERS);
    unsigned requests = vh.script.request_count;
    for (int minute = 0; minute < 3; minute++) {
      size_t count = script_wakes(&vh.script, MINUTE_MS);
      print_message("%zu wake-ups of %u informers\n", count, INFORMERS);
      assert_in_range(count, 0, WAKES_A_MINUTE * INFORMERS);
    }
    assert_int_equal(vh.script.request_count, requests);
    /* What wakes on purpose is counted. */
    kin_listener_options resyncing = KIN_LISTENER_OPTIONS_INIT;
    resyncing.resync_ms = MINUTE_MS / 6;
    resyncing.on_update = on_update;
    assert_int_equal(kin_informer_listen(last, &resyncing, NULL), 0);
    script_run(&vh.script);
    assert_int_equal(script_wakes(&vh.script, MINUTE_MS), 6);
    vh_finish(&vh);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_bytes_of_idle_informers),
      cmocka_unit_test(test_idle_informers_sleep),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
