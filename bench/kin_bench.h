/* SPDX-License-Identifier: MIT */
#ifndef BENCH_KIN_BENCH_H
#define BENCH_KIN_BENCH_H

#include <stdbool.h>
#include <stdint.h>

#include <uv.h>

#include <kin/kin.h>

#include "../tools/kinformer/resource.h"
#include "measure.h"

/* The phases follow each other in this order; those from RELIST to INDEX are
 * left out without --more. */
typedef enum phase {
  PHASE_SYNC,   /* until the handler's synced */
  PHASE_EVENTS, /* until the last event has been delivered */
  PHASE_SETTLE, /* nothing comes any more */
  PHASE_RELIST, /* until a second list has been applied and memory is at rest */
  PHASE_LATE,   /* until a second handler has been shown all objects */
  PHASE_INDEX,  /* until an index on a field covers all objects */
  PHASE_CLOSE,
  PHASE_COUNT
} phase;

typedef struct arguments {
  const char *server;
  const char *authority_file; /* for https; NULL: the system's */
  bool is_insecure;
  resource_name resource;
  uint64_t objects; /* expected; 0: any number */
  uint64_t events;
  uint64_t settle_ms;
  uint64_t timeout_ms;
  bool keep_all;
  kin_compact compact;
  bool metadata_only;
  bool more;
  bool latency;
  bool no_memory_helper;
  uint64_t read_delay_ms;
  uint64_t max_bytes; /* 0: no bound */
} arguments;

/* A moment, on all clocks. */
typedef struct instant {
  uint64_t wall_ns;
  uint64_t cpu_ns;    /* of the process */
  uint64_t thread_ns; /* CPU time of the loop's thread */
  uint64_t faults;    /* page faults of the loop's thread */
} instant;

instant instant_now(void);

/* What --more measures besides its phases' turns. */
typedef struct more {
  instant began;
  uint64_t retry_ms; /* that the library chose to wait before it lists again */
  uint64_t objects;  /* shown to the second handler */
  uint64_t peak_rss; /* from the end of SETTLE to that of RELIST */
  uint64_t steady_rss;
  double relist_s, relist_cpu_s;
  double late_s, late_cpu_s;
  double index_s, index_cpu_s;
} more;

typedef struct bench {
  arguments arguments;
  uv_loop_t loop;
  uv_prepare_t prepare;
  uv_timer_t settle;
  uv_timer_t timeout;
  kin_client *client;
  kin_informer *informer;
  kin_listener *listener;

  phase phase;
  uint64_t turn_began_ns;
  bool is_closing;
  bool has_failed;

  instant started, synced, finished;
  uint64_t delivered;    /* updates */
  uint64_t early_events; /* received before synced was delivered */
  uint64_t final_events; /* received in all */
  uint64_t objects;
  uint64_t store_bytes;
  uint64_t base_rss, sync_peak_rss, peak_rss, steady_rss;
  kin_client_stats stats;
  more more;
} bench;

/* Both end the run; the second one with status 1 and a word. */
void bench_end(bench *b);
void bench_fail(bench *b, const char *what);

/* Begins the phases of --more; the last one calls bench_end. */
void more_begin(bench *b);

/* At the end of each turn. */
void more_on_turn(bench *b);

/* Takes a failure if it is the one that RELIST is about. */
bool more_on_error(bench *b, const kin_error_event *event);

void more_on_relisted(bench *b);

/* Prints members of the result, each after a comma. */
void more_print(const more *m);

#endif /* BENCH_KIN_BENCH_H */
