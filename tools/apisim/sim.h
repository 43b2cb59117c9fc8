/* SPDX-License-Identifier: MIT */
#ifndef APISIM_SIM_H
#define APISIM_SIM_H

/* Everything one simulated API server consists of. Its parts reach each other
 * through this. */

#include <uv.h>

#include "churn.h"
#include "fault.h"
#include "options.h"
#include "registry.h"
#include "replay.h"
#include "rng.h"
#include "schema.h"
#include "server.h"
#include "stats.h"
#include "store.h"
#include "tls_config.h"

struct sim {
  uv_loop_t *loop;
  const options *opts;
  store *store;
  registry registry;
  schema_set schemas;
  server server;
  tls_config *tls; // NULL = plain HTTP
  stats stats;
  faults *faults;
  churn churn;
  replay *replay;            // NULL without --replay
  resource *dirty_resources; // their watches have to catch up
  size_t watch_count;

  /* Separate streams: what one part draws does not shift another's values. */
  rng uid_rng;
  rng churn_rng;
  rng audit_rng;
  rng jitter_rng;
  rng fault_rng;
  char flow_schema_uid[UUID_LEN + 1];
  char priority_level_uid[UUID_LEN + 1];
};

#endif
