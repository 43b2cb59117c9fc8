/* SPDX-License-Identifier: MIT */
#ifndef KINFORMER_APP_H
#define KINFORMER_APP_H

#include <stdbool.h>
#include <stdint.h>

#include <uv.h>

#include <kin/kin.h>

#include "options.h"
#include "output.h"
#include "printer.h"
#include "stats.h"
#include "warnings.h"

/* One run of the program on one loop: a client, an informer with one listener,
 * and the output they print to. Everything ends through app_end(): the client
 * is closed, then the output, when the reader has taken what was printed, then
 * the loop runs empty. */
typedef struct app {
  options *options;
  uv_loop_t loop;
  kin_client *client;
  kin_informer *informer;
  kin_listener *listener;
  output output;
  printer printer;

  uv_signal_t interrupted; /* SIGINT */
  uv_signal_t terminated;  /* SIGTERM */
  uv_timer_t timeout;
  uv_timer_t progress;
  uv_prepare_t index_check;
  uv_timer_t word_retry; /* the server could not be asked what the word means */
  uint64_t received_at_error; /* bytes, when the last error was told */
  uint32_t word_failures;
  /* Errors in a row that were refusals, of each namespace; the last is of errors
   * without one. */
  unsigned *refusals;
  uint64_t start_ms;

  line_counts lines;
  warnings warnings;
  uint64_t changes; /* past the first sync, for --exit-after */
  bool is_synced;
  bool index_is_due;

  bool was_interrupted;
  bool is_ending;
  int exit_status;
  const char *complaint; /* said on standard error at the end */
  bool is_beginning;     /* options are being taken */
  char problem[256];     /* what the library says is wrong with them */
  int complaint_code;    /* negative: its text is added */
  char refusal[512];     /* the complaint, if the server refused a list */
  uint64_t errors_dropped;
  text stats;
} app;

/* Carries the options out; returns the exit status. */
int app_run(options *o);

/* Begins the end, unless it has begun. `complaint` may be NULL, `code` 0. */
void app_end(app *a, int exit_status, const char *complaint, int code);

/* The options of the informer, but for the resource. */
kin_informer_options app_informer_options(app *a);

/* Opens the informer of the resource that the command line names. */
int app_open_informer(app *a);

/* Opens and closes an informer of any resource, so that the library checks its
 * options and those of --index. *what becomes the option that is wrong. */
int app_try_informer(app *a, const char **what);

/* The exit status after an error of the library's when options were taken. */
int app_status_of(const app *a, int code);

/* The informer is open: adds the index and the listener, and starts. */
void app_follow(app *a);

/* Ends with the library's words about what was refused, else with `what` and
 * the code. */
void app_end_beginning(app *a, const char *what, int code);

/* Handlers of the informer, `data` is the app. */
extern const output_callbacks app_output_callbacks;
void app_on_change(kin_informer *informer, const kin_event *event, void *data);
void app_on_synced(kin_informer *informer, const kin_event *event, void *data);
void app_on_relisted(kin_informer *informer, const kin_event *event,
                     void *data);
void app_on_error(kin_informer *informer, kin_error_event *event, void *data);

/* Prints the line of --index once the index covers what was listed. */
void app_print_index_if_due(app *a);

/* Shows how far the first list is; on a terminal only. */
void app_on_progress(uv_timer_t *timer);

#endif /* KINFORMER_APP_H */
