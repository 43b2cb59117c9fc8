/* SPDX-License-Identifier: MIT */
#include "app.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kin/metrics.h>

/* What the program does when the informer or the output tells it something. */

enum {
  PROGRESS_FROM_MS = 500, /* a first list that takes less shows no progress */
  REFUSALS = 2            /* in a row that count as lasting */
};

static void commit(app *a) {
  if (output_commit(&a->output) != 0) {
    app_end(a, EXIT_FAILED, "a line could not be printed", KIN_ENOMEM);
  }
}

/* ---- the informer */

static void count_line(line_counts *lines, const kin_event *event) {
  switch (event->type) {
  case KIN_EVENT_ADD:
    *(event->is_initial ? &lines->initial : &lines->add) += 1;
    return;
  case KIN_EVENT_UPDATE:
    *(event->is_resync ? &lines->resync : &lines->update) += 1;
    return;
  case KIN_EVENT_DELETE:
    lines->delete_++;
    return;
  default:
    return;
  }
}

void app_on_change(kin_informer *informer, const kin_event *event, void *data) {
  (void)informer;
  app *a = data;
  count_line(&a->lines, event);
  if (!a->printer.format->change(&a->printer, event)) {
    a->lines.error++;
  }
  commit(a);
  if (a->is_synced && !event->is_initial && !event->is_resync &&
      ++a->changes == a->options->exit_after) {
    app_end(a, EXIT_DONE, NULL, 0);
  }
}

static int compare_keys(const void *a, const void *b) {
  const kin_str *x = a;
  const kin_str *y = b;
  int order =
      memcmp(x->data, y->data, x->length < y->length ? x->length : y->length);
  return order != 0 ? order : (x->length > y->length) - (x->length < y->length);
}

/* Sorted, because the index has no order of its own. */
static int print_index(app *a) {
  kin_store *store = kin_informer_store(a->informer);
  const char *name = a->options->index_pointer;
  kin_str value = {a->options->index_value, strlen(a->options->index_value)};
  size_t count = kin_store_index_count(store, name, value);
  kin_str *keys = malloc((count + 1) * sizeof(*keys));
  if (!keys) {
    return KIN_ENOMEM;
  }
  size_t found = 0;
  kin_index_cursor cursor;
  const kin_object *object;
  int status = kin_store_by_index(store, name, value, &cursor);
  while (status == 0 && found < count &&
         (object = kin_store_by_index_next(store, &cursor))) {
    keys[found++] = kin_object_key(object);
  }
  if (status == 0) {
    qsort(keys, found, sizeof(*keys), compare_keys);
    a->printer.format->index(&a->printer, keys, found);
  }
  free(keys);
  return status;
}

void app_print_index_if_due(app *a) {
  if (!a->index_is_due || a->is_ending ||
      !kin_store_index_ready(kin_informer_store(a->informer),
                             a->options->index_pointer)) {
    return;
  }
  a->index_is_due = false;
  int status = print_index(a);
  if (status != 0) {
    app_end(a, EXIT_FAILED, "--index", status);
    return;
  }
  commit(a);
  if (a->options->once) {
    app_end(a, EXIT_DONE, NULL, 0);
  }
}

void app_on_synced(kin_informer *informer, const kin_event *event, void *data) {
  (void)informer;
  app *a = data;
  a->is_synced = true;
  uv_timer_stop(&a->progress);
  a->printer.format->synced(&a->printer, event);
  commit(a);
  if (a->options->index_pointer) {
    a->index_is_due = true;
    app_print_index_if_due(a);
  } else if (a->options->once) {
    app_end(a, EXIT_DONE, NULL, 0);
  }
}

void app_on_relisted(kin_informer *informer, const kin_event *event,
                     void *data) {
  (void)informer;
  app *a = data;
  a->lines.relisted++;
  a->printer.format->relisted(&a->printer, event);
  commit(a);
}

/* Whether waiting may not help: the request is refused as it is, there are no
 * credentials that can be sent, or no TLS is possible with the files or the
 * scheme of the server's URL. */
static bool is_refusal(const kin_error_event *event) {
  return event->status == 400 || event->code == KIN_ETLSSETUP ||
         event->error_class == KIN_CLASS_AUTH ||
         event->error_class == KIN_CLASS_FORBIDDEN ||
         event->error_class == KIN_CLASS_ABSENT;
}

static unsigned *refusals_of(app *a, const char *name) {
  const options *o = a->options;
  size_t i = 0;
  while (i < o->namespace_count && strcmp(o->namespaces[i], name) != 0) {
    i++;
  }
  return &a->refusals[i];
}

/* A program that is to print one list does not wait for what will not come. One
 * refusal may be that of a server that has just started. */
static void end_if_refused(app *a, const kin_error_event *event) {
  unsigned *refusals = refusals_of(a, event->namespace_);
  *refusals = is_refusal(event) ? *refusals + 1 : 0;
  if (!a->options->once || a->is_synced || *refusals < REFUSALS ||
      event->attempt < REFUSALS) {
    return;
  }
  snprintf(a->refusal, sizeof a->refusal, "%s", event->message);
  app_end(a, EXIT_FAILED, a->refusal, 0);
}

/* Of the bodies of all lists and watches so far. */
static uint64_t received_bytes(const app *a) {
  kin_informer_metrics metrics = KIN_INFORMER_METRICS_INIT;
  if (a->informer) {
    (void)kin_informer_get_metrics(a->informer, &metrics);
  }
  return metrics.received_bytes;
}

static size_t staged_objects(const app *a) {
  size_t count = a->options->namespace_count;
  size_t staged = 0;
  for (size_t i = 0; i < (count > 0 ? count : 1); i++) {
    kin_status status = KIN_STATUS_INIT;
    kin_informer_get_status(
        a->informer, count > 0 ? a->options->namespaces[i] : "", &status);
    staged += (size_t)status.staged;
  }
  return staged;
}

/* The listener is paused while the output is full, but errors are not the
 * listener's: they are left out then, and counted. */
void app_on_error(kin_informer *informer, kin_error_event *event, void *data) {
  (void)informer;
  app *a = data;
  if (a->output.is_full) {
    a->errors_dropped++;
  } else {
    a->lines.error++;
    a->printer.format->error(&a->printer, event);
    commit(a);
  }
  a->received_at_error = received_bytes(a);
  end_if_refused(a, event);
}

/* ---- the output */

static void on_full(void *data) {
  app *a = data;
  if (!a->is_ending && a->listener) {
    kin_listener_pause(a->listener);
  }
}

static void on_room(void *data) {
  app *a = data;
  if (!a->is_ending && a->listener) {
    kin_listener_resume(a->listener);
  }
}

/* A reader that has seen enough is no failure. All else is one, also if it
 * comes with the last lines, when the end has begun. */
static void on_output_failed(int status, void *data) {
  app *a = data;
  if (status == UV_EPIPE || status == UV_ECONNRESET) {
    app_end(a, EXIT_DONE, NULL, 0);
    return;
  }
  app_end(a, EXIT_FAILED, "standard output", status);
  if (a->exit_status == EXIT_DONE) {
    a->exit_status = EXIT_FAILED;
    a->complaint = "standard output";
    a->complaint_code = status;
  }
}

const output_callbacks app_output_callbacks = {
    .full = on_full,
    .room = on_room,
    .failed = on_output_failed,
};

/* ---- progress */

/* Only a list that comes is progress. While nothing comes, the last error says
 * why, and when the next attempt is. Without an error the server is waited
 * for. */
void app_on_progress(uv_timer_t *timer) {
  app *a = timer->data;
  uint64_t elapsed_ms = uv_now(&a->loop) - a->start_ms;
  if (elapsed_ms < PROGRESS_FROM_MS || output_pending(&a->output) > 0 ||
      !a->informer) {
    return;
  }
  uint64_t received = received_bytes(a);
  if (received == a->received_at_error && a->lines.error > 0) {
    return;
  }
  size_t objects =
      kin_store_count(kin_informer_store(a->informer)) + staged_objects(a);
  a->printer.format->progress(&a->printer, objects, received, elapsed_ms);
  commit(a);
}
