/* SPDX-License-Identifier: MIT */
#include "app.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "complaint.h"
#include "words.h"

enum {
  PROGRESS_EVERY_MS = 200,
  /* How long an interrupted program waits for a reader that takes nothing. */
  STALL_LIMIT_MS = 1000,
};

/* ---- ending */

static void close_rest(void *data) {
  app *a = data;
  uv_close((uv_handle_t *)&a->interrupted, NULL);
  uv_close((uv_handle_t *)&a->terminated, NULL);
  uv_close((uv_handle_t *)&a->timeout, NULL);
  uv_close((uv_handle_t *)&a->progress, NULL);
  uv_close((uv_handle_t *)&a->index_check, NULL);
  uv_close((uv_handle_t *)&a->word_retry, NULL);
}

static void on_client_closed(void *data) {
  app *a = data;
  output_close(&a->output, close_rest);
}

void app_end(app *a, int exit_status, const char *complaint, int code) {
  if (a->is_ending) {
    return;
  }
  a->is_ending = true;
  a->exit_status = exit_status;
  a->complaint = complaint;
  a->complaint_code = code;
  uv_timer_stop(&a->progress);
  uv_timer_stop(&a->word_retry);
  if (a->options->stats && a->client) {
    stats_append(&a->stats, a->options, &a->lines, a->client, a->informer);
  }
  if (a->printer.format->end) {
    a->printer.format->end(&a->printer);
    output_commit(&a->output);
  }
  if (a->client) {
    kin_client_close(a->client, on_client_closed, a);
  } else {
    on_client_closed(a);
  }
}

/* The second signal does not wait for the reader at all. */
static void on_signal(uv_signal_t *handle, int number) {
  (void)number;
  app *a = handle->data;
  if (a->was_interrupted) {
    output_drop(&a->output);
    return;
  }
  a->was_interrupted = true;
  app_end(a, EXIT_DONE, NULL, 0);
  output_limit_stall(&a->output, STALL_LIMIT_MS);
}

/* Also ends the wait for a reader that keeps the program from ending. */
static void on_timeout(uv_timer_t *timer) {
  app *a = timer->data;
  if (!a->is_ending) {
    app_end(a, EXIT_TIMEOUT, "timed out", 0);
    output_limit_stall(&a->output, STALL_LIMIT_MS);
    return;
  }
  if (a->exit_status == EXIT_DONE && !a->was_interrupted) {
    a->exit_status = EXIT_TIMEOUT;
  }
  output_drop(&a->output);
}

static void on_index_check(uv_prepare_t *prepare) {
  app_print_index_if_due(prepare->data);
}

/* ---- beginning */

/* A wrong option is a matter of usage. A file that cannot be used is none, though
 * an option names that file; nor is a variable of the environment. */
int app_status_of(const app *a, int code) {
  bool is_usage = code == KIN_EINVAL || code == KIN_EURL ||
                  code == KIN_ENOTSUP || code == KIN_ETOOBIG;
  bool is_option =
      !is_about_environment(a->problem) && (a->client || !a->options->kube);
  return is_usage && is_option ? EXIT_USAGE : EXIT_FAILED;
}

static void open_handles(app *a) {
  output_open(&a->output, &a->loop, STDOUT_FILENO, &app_output_callbacks, a);
  printer_init(&a->printer, a->options, &a->output);
  uv_signal_init(&a->loop, &a->interrupted);
  uv_signal_init(&a->loop, &a->terminated);
  uv_timer_init(&a->loop, &a->timeout);
  uv_timer_init(&a->loop, &a->progress);
  uv_prepare_init(&a->loop, &a->index_check);
  uv_timer_init(&a->loop, &a->word_retry);
  a->interrupted.data = a;
  a->terminated.data = a;
  a->timeout.data = a;
  a->progress.data = a;
  a->index_check.data = a;
  a->word_retry.data = a;
}

static int start_handles(app *a) {
  int status = uv_signal_start(&a->interrupted, on_signal, SIGINT);
  if (status == 0) {
    status = uv_signal_start(&a->terminated, on_signal, SIGTERM);
  }
  if (a->options->timeout_ms > 0) {
    uv_timer_start(&a->timeout, on_timeout, a->options->timeout_ms, 0);
  }
  if (a->printer.can_overwrite && a->printer.format->progress) {
    uv_timer_start(&a->progress, app_on_progress, PROGRESS_EVERY_MS,
                   PROGRESS_EVERY_MS);
  }
  if (a->options->index_pointer) {
    uv_prepare_start(&a->index_check, on_index_check);
  }
  a->start_ms = uv_now(&a->loop);
  return status;
}

/* As client-go: what it takes for true is, everything else is not. */
static bool is_set(const char *name) {
  static const char *const yes[] = {"1", "t", "T", "true", "TRUE", "True"};
  const char *value = getenv(name);
  for (size_t i = 0; value && i < sizeof yes / sizeof yes[0]; i++) {
    if (strcmp(value, yes[i]) == 0) {
      return true;
    }
  }
  return false;
}

static kin_mutation_check mutation_check(void) {
  static const char name[] = "KUBE_CACHE_MUTATION_DETECTOR";
  const char *value = getenv(name);
  if (value && strcmp(value, "protect") == 0) {
    return KIN_MUTATION_CHECK_PROTECT;
  }
  return is_set(name) ? KIN_MUTATION_CHECK_CHECKSUM : KIN_MUTATION_CHECK_OFF;
}

/* Nothing that is printed from here on could be relied upon. Which object it is
 * the library logs. */
static void on_mutation(kin_informer *informer, const kin_mutation *mutation,
                        void *data) {
  (void)informer;
  (void)mutation;
  app_end(data, EXIT_FAILED, "the cache has been damaged", 0);
}

/* Without its scopes the informer would wait for ever. So would --once if bodies
 * cannot be dropped because all are: the library pauses. */
static kin_memory_decision on_max_bytes(kin_informer *informer,
                                        const kin_memory_event *event,
                                        void *data) {
  (void)informer;
  app *a = data;
  kin_memory_decision decision = a->options->on_max_bytes;
  if (decision == KIN_MEMORY_DROP_BODIES && a->options->once &&
      event->state == KIN_MEMORY_STATE_KEYS_ONLY) {
    decision = KIN_MEMORY_STOP;
  }
  if (decision == KIN_MEMORY_STOP) {
    app_end(a, EXIT_FAILED, "the objects need more than --max-bytes", 0);
  }
  return decision;
}

kin_informer_options app_informer_options(app *a) {
  const options *o = a->options;
  kin_informer_options io = KIN_INFORMER_OPTIONS_INIT;
  io.namespaces = o->namespaces;
  io.namespace_count = o->namespace_count;
  io.label_selector = o->label_selector;
  io.field_selector = o->field_selector;
  io.shard_index = o->shard_index;
  io.shard_count = o->shard_count;
  io.page_size = o->page_size;
  io.no_watch_list = o->no_watch_list;
  io.resync_ms = o->resync_ms;
  io.keep_managed_fields = o->keep_managed_fields;
  io.compact = o->compact;
  io.fields = o->fields;
  io.field_count = o->field_count;
  io.metadata_only = o->metadata_only;
  io.max_bytes = o->max_bytes;
  io.on_max_bytes = on_max_bytes;
  io.on_error = app_on_error;
  io.on_mutation = on_mutation;
  io.data = a;
  return io;
}

int app_open_informer(app *a) {
  kin_informer_options io = app_informer_options(a);
  io.group = a->options->resource.group;
  io.version = a->options->resource.version;
  io.plural = a->options->resource.plural;
  return kin_informer_open(&a->informer, a->client, &io);
}

static int add_index(const app *a, kin_informer *informer) {
  if (!a->options->index_pointer) {
    return 0;
  }
  kin_index_options io = KIN_INDEX_OPTIONS_INIT;
  io.name = a->options->index_pointer;
  io.pointer = a->options->index_pointer;
  return kin_store_add_index(kin_informer_store(informer), &io);
}

int app_try_informer(app *a, const char **what) {
  kin_informer *tried;
  kin_informer_options io = app_informer_options(a);
  *what = "RESOURCE, a namespace, a selector or --fields";
  io.plural = "any";
  int status = kin_informer_open(&tried, a->client, &io);
  if (status != 0) {
    return status;
  }
  *what = "--index";
  status = add_index(a, tried);
  kin_informer_close(tried, NULL, NULL);
  return status;
}

/* The options are tried before the server is asked what the word is: a wrong
 * command line needs no server. */
static int ask_for_word(app *a, const char **what) {
  int status = app_try_informer(a, what);
  if (status != 0) {
    return status;
  }
  *what = "RESOURCE";
  return words_ask(a);
}

static int add_listener(app *a) {
  kin_listener_options lo = KIN_LISTENER_OPTIONS_INIT;
  lo.on_add = app_on_change;
  lo.on_update = app_on_change;
  lo.on_delete = app_on_change;
  lo.on_synced = app_on_synced;
  lo.on_relisted = app_on_relisted;
  lo.data = a;
  return kin_informer_listen(a->informer, &lo, &a->listener);
}

/* What is wrong with an option is said at the end; see begin. Of failures later
 * on on_error tells, which the library logs as warnings. */
static void on_log(kin_log_level level, const char *line, void *data) {
  (void)level;
  if (!((const app *)data)->is_beginning) {
    fprintf(stderr, "kinformer: %s\n", line);
  }
}

/* The library's own words if it has some, else ours and the code. */
void app_end_beginning(app *a, const char *what, int status) {
  if (a->client) {
    snprintf(a->problem, sizeof a->problem, "%s",
             kin_client_problem(a->client));
  }
  if (a->problem[0] != '\0') {
    app_end(a, app_status_of(a, status), a->problem, 0);
  } else {
    app_end(a, app_status_of(a, status), what, status);
  }
}

void app_follow(app *a) {
  a->printer.informer = a->informer;
  a->is_beginning = true;
  const char *what = "--index";
  int status = add_index(a, a->informer);
  if (status == 0) {
    what = "starting";
    status = add_listener(a);
  }
  if (status == 0) {
    status = kin_informer_start(a->informer);
  }
  a->is_beginning = false;
  if (status != 0) {
    app_end_beginning(a, what, status);
  }
}

static int open_client(app *a, kin_client_options *co) {
  const options *o = a->options;
  if (o->kube) {
    return kube_open(&a->client, &a->loop, o->kube, co);
  }
  co->server = o->server;
  security_apply(&o->security, co);
  return kin_client_open(&a->client, &a->loop, co);
}

static void begin(app *a) {
  const char *what = "signals";
  int status = start_handles(a);
  a->is_beginning = true;
  if (status == 0) {
    what = "the server, or an option about security";
    kin_client_options co = KIN_CLIENT_OPTIONS_INIT;
    co.log = on_log;
    co.log_data = a;
    co.log_level = KIN_LOG_ERROR;
    co.on_warning = warnings_on_warning;
    co.warning_data = &a->warnings;
    co.mutation_check = mutation_check();
    co.check_watch_lists = is_set("KUBE_WATCHLIST_INCONSISTENCY_DETECTOR");
    co.problem = a->problem;
    co.problem_size = sizeof a->problem;
    status = open_client(a, &co);
  }
  if (status == 0) {
    what = "RESOURCE, a namespace, a selector or --fields";
    status = a->options->resource.word ? ask_for_word(a, &what)
                                       : app_open_informer(a);
  }
  a->is_beginning = false;
  if (status != 0) {
    app_end_beginning(a, what, status);
  } else if (a->informer) {
    app_follow(a);
  }
}

/* ---- the whole */

static void say_at_end(const app *a) {
  if (a->complaint == a->problem) {
    complain(a->complaint);
  } else if (a->complaint == a->refusal) {
    complain_of_server("", a->complaint);
  } else if (a->complaint && a->complaint_code != 0) {
    fprintf(stderr, "kinformer: %s: %s\n", a->complaint,
            kin_strerror(a->complaint_code));
  } else if (a->complaint) {
    fprintf(stderr, "kinformer: %s\n", a->complaint);
  }
  if (a->errors_dropped > 0) {
    fprintf(stderr,
            "kinformer: %" PRIu64 " errors are not in the output, whose reader "
            "was too slow\n",
            a->errors_dropped);
  }
  if (a->stats.length > 0) {
    fwrite(a->stats.data, 1, a->stats.length, stderr);
  }
}

int app_run(options *o) {
  app a = {.options = o};
  a.refusals = calloc(o->namespace_count + 1, sizeof *a.refusals);
  int status = a.refusals ? uv_loop_init(&a.loop) : KIN_ENOMEM;
  if (status != 0) {
    fprintf(stderr, "kinformer: %s\n", kin_strerror(status));
    free(a.refusals);
    return EXIT_FAILED;
  }
  signal(SIGPIPE, SIG_IGN); // a write says so instead
  if (o->security.insecure_skip_tls_verify) {
    fputs("kinformer: WARNING: --insecure-skip-tls-verify: nobody checks who "
          "the server is; whoever answers for it gets the credentials\n",
          stderr);
  }
  open_handles(&a);
  begin(&a);
  uv_run(&a.loop, UV_RUN_DEFAULT);
  if (!a.is_ending || uv_loop_close(&a.loop) != 0) {
    fputs("kinformer: the loop ended before the program did\n", stderr);
    return EXIT_FAILED;
  }
  say_at_end(&a);
  text_finish(&a.stats);
  free(a.refusals);
  return a.exit_status;
}
