/* SPDX-License-Identifier: MIT */
#ifndef APISIM_OPTIONS_H
#define APISIM_OPTIONS_H

/* The command line. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct text_list {
  const char **items; // into argv
  size_t count;
} text_list;

typedef struct options {
  int port;
  uint64_t seed;
  uint64_t history; // revisions kept
  uint64_t bookmark_interval_ms;
  const char *token;
  const char *tls_cert;
  const char *tls_key;
  const char *tls_client_ca;
  int tls_min_version; // 1, 2, 3: TLS 1.x; 0 = not given
  int tls_max_version;
  bool gzip;
  bool sharded_lists;
  text_list forbid;
  text_list resources;
  text_list faults;
  double run_for_s; // 0 = until a signal

  uint64_t pods;
  uint64_t namespaces;
  size_t object_bytes;
  uint64_t shapes; // 0 = all alike
  double churn;

  bool replay;
  bool replay_metadata;
  uint64_t replay_events;
  double replay_rate; // events per second; 0 = as fast as the socket takes them
  double replay_changed;       // percent
  const char *replay_resource; // plural
} options;

/* Returns -1 to go on, else the exit status (of --help, too). */
int options_parse(options *o, int argc, char **argv);
void options_free(options *o);
/* Sends what was printed on standard output; says on standard error if that
 * failed, also for a part that was sent before. Returns the exit status. */
int options_end_output(void);

#endif
