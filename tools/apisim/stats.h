/* SPDX-License-Identifier: MIT */
#ifndef APISIM_STATS_H
#define APISIM_STATS_H

/* What clients asked for and got, for tests to assert on. Requests under /sim/
 * are not counted. */

#include <stddef.h>
#include <stdint.h>

#include "buf.h"

struct conn;
struct sim;

enum { STATS_LAST_MAX = 256, STATS_PAIRS_MAX = 256 };

typedef struct stats_request {
  char *method;
  char *url;
  char *verb;
  char *accept;
  char *agent;
  int status; // 0 until answered
} stats_request;

typedef struct stats {
  uint64_t requests;
  uint64_t by_class[6]; // [0] = never answered with a status
  struct {
    char *key; // "verb" or "verb plural"
    uint64_t count;
  } by_verb[STATS_PAIRS_MAX];
  size_t by_verb_count;
  uint64_t events_sent;
  uint64_t bookmarks_sent;
  uint64_t watches_started;
  uint64_t faults_applied;
  uint64_t bytes_sent;
  stats_request last[STATS_LAST_MAX]; // a ring, next is the oldest
  uint64_t last_count;
} stats;

/* Counts a request; plural may be NULL. */
void stats_asked(stats *st, const struct conn *c, const char *verb,
                 const char *plural);
/* Counts the status of the request that was asked last. */
void stats_answered(stats *st, int status);
void stats_reset(stats *st);
/* Appends everything as a JSON object. */
void stats_describe(struct sim *s, buf *out);

#endif
