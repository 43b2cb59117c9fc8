/* SPDX-License-Identifier: MIT */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uv.h>

#include <kin/cache.h>
#include <kin/toolkit.h>

#include "../../tools/kinformer/json.h"
#include "../../tools/kinformer/resource.h"

/* An informer that is told what to do while it runs, for what the kinformer
 * program has no options for. It prints the same lines, and for each line on
 * standard input one that begins with `"event":"done"`, when it is done:
 *
 *   add NS | remove NS           namespaces
 *   verify NS TIMEOUT_MS         whether the cache is up to date; NS may be "-"
 *   wait NS VERSION TIMEOUT_MS   until the cache has come to a version
 *   state NS                     of a scope
 *   received                     bytes from sockets so far
 *   get KEY                      the version that is stored of an object
 *
 * With --controller, a kin_controller with handlers takes the informer's place.
 * It prints the same lines without `relisted`; it takes no commands.
 *
 * The end of standard input, SIGINT and SIGTERM end it. */

enum { MAX_NAMES = 16, LINE_BYTES = 512 };

typedef struct actor {
  uv_loop_t loop;
  uv_pipe_t commands;
  uv_signal_t interrupted;
  uv_signal_t terminated;
  char line[LINE_BYTES];
  size_t line_length;

  kin_client *client;
  kin_informer *informer;
  bool is_controller;
  kin_controller *controller;
  resource_name resource;
  const char *namespaces[MAX_NAMES];
  size_t namespace_count;
  kin_informer_options options;
  kin_client_options client_options;
  bool is_ending;
} actor;

/* One command that is under way. */
typedef struct command {
  actor *actor;
  char name[16];
  char namespace_[256];
  uint64_t items;
} command;

static _Noreturn void die(const char *what) {
  fprintf(stderr, "actor: %s\n", what);
  exit(2);
}

/* --- Lines ---------------------------------------------------------------- */

static text line_text;

static json_writer begin_line(const char *event) {
  text_truncate(&line_text, 0);
  json_writer w = {.out = &line_text};
  json_open(&w, '{');
  json_member_z(&w, "event", event);
  return w;
}

static void end_line(json_writer *w) {
  json_close(w, '}');
  text_append_char(w->out, '\n');
  if (w->out->failed ||
      fwrite(line_text.data, 1, line_text.length, stdout) != line_text.length ||
      fflush(stdout) != 0) {
    die("cannot print");
  }
}

static void print_done(const command *c, int code, const char *version) {
  json_writer w = begin_line("done");
  json_member_z(&w, "command", c->name);
  json_member_z(&w, "namespace", c->namespace_);
  json_member_z(&w, "code", code == 0 ? "" : kin_err_name(code));
  json_member_z(&w, "resourceVersion", version);
  json_member_u64(&w, "items", c->items);
  end_line(&w);
}

static json_writer begin_change(const char *event, const kin_object *object,
                                bool is_initial) {
  json_writer w = begin_line(event);
  json_member_bool(&w, "initial", is_initial);
  json_member_string(&w, "key", kin_object_key(object));
  json_member_string(&w, "uid", kin_object_uid(object));
  json_member_string(&w, "resourceVersion",
                     kin_object_resource_version(object));
  return w;
}

static void print_add(const kin_object *object, bool is_initial) {
  json_writer w = begin_change("add", object, is_initial);
  end_line(&w);
}

static void print_update(const kin_object *old_object,
                         const kin_object *object) {
  json_writer w = begin_change("update", object, false);
  json_member_string(&w, "oldResourceVersion",
                     kin_object_resource_version(old_object));
  end_line(&w);
}

static void print_delete(const kin_object *object, const char *reason) {
  json_writer w = begin_change("delete", object, false);
  json_member_z(&w, "reason", reason);
  end_line(&w);
}

static void on_change(kin_informer *informer, const kin_event *event,
                      void *data) {
  (void)informer, (void)data;
  switch (event->type) {
  case KIN_EVENT_UPDATE:
    print_update(event->old_object, event->object);
    break;
  case KIN_EVENT_DELETE:
    print_delete(event->object, kin_delete_reason_name(event->reason));
    break;
  default:
    print_add(event->object, event->is_initial);
    break;
  }
}

static void member_versions(json_writer *w, const actor *a) {
  json_key(w, (kin_str){"resourceVersions", strlen("resourceVersions")});
  json_open(w, '{');
  for (size_t i = 0; i < a->namespace_count; i++) {
    kin_status status = KIN_STATUS_INIT;
    if (kin_informer_get_status(a->informer, a->namespaces[i], &status) == 0) {
      json_member_z(w, a->namespaces[i], status.resource_version);
    }
  }
  json_close(w, '}');
}

static void on_synced(kin_informer *informer, const kin_event *event,
                      void *data) {
  (void)informer;
  json_writer w = begin_line("synced");
  const actor *a = data;
  if (a->namespace_count > 0) {
    member_versions(&w, a);
  } else {
    json_member_string(&w, "resourceVersion", event->resource_version);
  }
  json_member_u64(&w, "objects", event->objects);
  end_line(&w);
}

static void on_relisted(kin_informer *informer, const kin_event *event,
                        void *data) {
  (void)informer;
  json_writer w = begin_line("relisted");
  if (((actor *)data)->namespace_count > 0) {
    json_member_string(&w, "namespace", event->namespace_);
  }
  json_member_string(&w, "resourceVersion", event->resource_version);
  json_member_u64(&w, "objects", event->objects);
  end_line(&w);
}

static void print_error(const actor *a, const kin_error_event *event) {
  json_writer w = begin_line("error");
  if (a->namespace_count > 0 && !a->is_controller) {
    json_member_z(&w, "namespace", event->namespace_);
  }
  json_member_z(&w, "class", kin_error_class_name(event->error_class));
  json_member_u64(&w, "status",
                  event->status > 0 ? (uint64_t)event->status : 0);
  json_member_z(&w, "reason", event->reason);
  json_member_z(&w, "message", event->message);
  json_member_u64(&w, "retryInMs", event->retry_in_ms);
  end_line(&w);
}

static void on_error(kin_informer *informer, kin_error_event *event,
                     void *data) {
  (void)informer;
  print_error(data, event);
}

/* --- The controller's lines ------------------------------------------------ */

static void on_added(const kin_object *object, bool is_initial, void *data) {
  (void)data;
  print_add(object, is_initial);
}

static void on_updated(const kin_object *old_object, const kin_object *object,
                       void *data) {
  (void)data;
  print_update(old_object, object);
}

static void on_deleted(kin_str key, const kin_object *object, bool is_tombstone,
                       void *data) {
  (void)key, (void)data;
  if (object != NULL) {
    print_delete(object, is_tombstone ? "relist" : "watch");
  }
}

static void on_controller_synced(kin_controller *controller, void *data) {
  (void)data;
  json_writer w = begin_line("synced");
  json_member_z(&w, "resourceVersion",
                kin_controller_last_sync_version(controller));
  json_member_u64(&w, "objects",
                  kin_store_count(kin_controller_store(controller)));
  end_line(&w);
}

static void on_controller_error(kin_controller *controller,
                                kin_error_event *event, void *data) {
  (void)controller;
  print_error(data, event);
}

static void on_log(kin_log_level level, const char *message, void *data) {
  (void)data;
  fprintf(stderr, "%d %s\n", (int)level, message);
}

/* --- Commands ------------------------------------------------------------- */

static command *new_command(actor *a, const char *name,
                            const char *namespace_) {
  command *c = calloc(1, sizeof *c);
  if (c == NULL) {
    die("out of memory");
  }
  c->actor = a;
  snprintf(c->name, sizeof c->name, "%s", name);
  snprintf(c->namespace_, sizeof c->namespace_, "%s",
           strcmp(namespace_, "-") == 0 ? "" : namespace_);
  return c;
}

static void finish(command *c, int code, const char *version) {
  print_done(c, code, version);
  free(c);
}

static void on_version(kin_informer *informer, int code, const char *version,
                       void *data) {
  (void)informer;
  finish(data, code, version);
}

static void show_state(actor *a, command *c) {
  kin_status status = KIN_STATUS_INIT;
  int err = kin_informer_get_status(a->informer, c->namespace_, &status);
  c->items = status.relists;
  finish(c, err, err == 0 ? kin_state_name(status.state) : "");
}

static void show_received(actor *a, command *c) {
  kin_client_stats stats = KIN_CLIENT_STATS_INIT;
  (void)kin_client_get_stats(a->client, &stats);
  c->items = stats.received_bytes;
  finish(c, 0, "");
}

static void show_object(actor *a, command *c) {
  kin_str key = {c->namespace_, strlen(c->namespace_)};
  const kin_object *object =
      kin_store_get(kin_informer_store(a->informer), key);
  char version[64] = "";
  if (object != NULL) {
    kin_str v = kin_object_resource_version(object);
    snprintf(version, sizeof version, "%.*s", (int)v.length, v.data);
  }
  finish(c, object != NULL ? 0 : KIN_ENOENT, version);
}

static void run(actor *a, char *line) {
  char name[16] = "", first[256] = "-", second[64] = "", third[64] = "";
  if (sscanf(line, "%15s %255s %63s %63s", name, first, second, third) < 1) {
    return;
  }
  if (a->is_controller) {
    die("a controller takes no commands");
  }
  command *c = new_command(a, name, first);
  int err = KIN_EINVAL;
  if (strcmp(name, "add") == 0) {
    err = kin_informer_add_namespace(a->informer, c->namespace_);
    finish(c, err, "");
  } else if (strcmp(name, "remove") == 0) {
    err = kin_informer_remove_namespace(a->informer, c->namespace_);
    finish(c, err, "");
  } else if (strcmp(name, "state") == 0) {
    show_state(a, c);
  } else if (strcmp(name, "received") == 0) {
    show_received(a, c);
  } else if (strcmp(name, "get") == 0) {
    show_object(a, c);
  } else if (strcmp(name, "verify") == 0) {
    err = kin_informer_verify(a->informer, c->namespace_,
                              strtoull(second, NULL, 10), on_version, c);
    if (err != 0) {
      finish(c, err, "");
    }
  } else if (strcmp(name, "wait") == 0) {
    err = kin_informer_wait_version(a->informer, c->namespace_, second,
                                    strtoull(third, NULL, 10), on_version, c);
    if (err != 0) {
      finish(c, err, "");
    }
  } else {
    finish(c, err, "");
  }
}

static void end(actor *a) {
  if (!a->is_ending) {
    a->is_ending = true;
    uv_close((uv_handle_t *)&a->commands, NULL);
    uv_close((uv_handle_t *)&a->interrupted, NULL);
    uv_close((uv_handle_t *)&a->terminated, NULL);
    kin_client_close(a->client, NULL, NULL);
  }
}

static void take_bytes(actor *a, const char *bytes, size_t length) {
  for (size_t i = 0; i < length; i++) {
    if (bytes[i] == '\n') {
      a->line[a->line_length] = '\0';
      a->line_length = 0;
      run(a, a->line);
    } else if (a->line_length + 1 < sizeof a->line) {
      a->line[a->line_length++] = bytes[i];
    } else {
      die("a command is too long");
    }
  }
}

static char read_buffer[4096];

static void on_alloc(uv_handle_t *handle, size_t size, uv_buf_t *buf) {
  (void)handle, (void)size;
  *buf = uv_buf_init(read_buffer, sizeof read_buffer);
}

static void on_read(uv_stream_t *stream, ssize_t count, const uv_buf_t *buf) {
  actor *a = stream->data;
  if (count < 0) {
    end(a);
  } else {
    take_bytes(a, buf->base, (size_t)count);
  }
}

static void on_signal(uv_signal_t *handle, int number) {
  (void)number;
  end(handle->data);
}

/* --- Start ---------------------------------------------------------------- */

static void on_warning(const kin_warning *warning, void *data) {
  (void)data;
  json_writer w = begin_line("warning");
  json_member_z(&w, "message", warning->text);
  end_line(&w);
}

enum {
  OPT_SERVER = 256,
  OPT_TOKEN_FILE,
  OPT_AUTHORITY,
  OPT_NO_WATCH_LIST,
  OPT_GZIP,
  OPT_AS,
  OPT_AS_GROUP,
  OPT_CLEAR,
  OPT_STALE_AFTER,
  OPT_CONSISTENCY,
  OPT_START_VERSION,
  OPT_LIMIT,
  OPT_PAGE_SIZE,
  OPT_PARAMETER,
  OPT_CHECK,
  OPT_CONTROLLER
};

static const struct option long_options[] = {
    {"server", required_argument, NULL, OPT_SERVER},
    {"token-file", required_argument, NULL, OPT_TOKEN_FILE},
    {"certificate-authority", required_argument, NULL, OPT_AUTHORITY},
    {"no-watch-list", no_argument, NULL, OPT_NO_WATCH_LIST},
    {"gzip", no_argument, NULL, OPT_GZIP},
    {"as", required_argument, NULL, OPT_AS},
    {"as-group", required_argument, NULL, OPT_AS_GROUP},
    {"clear-when-absent", no_argument, NULL, OPT_CLEAR},
    {"stale-after", required_argument, NULL, OPT_STALE_AFTER},
    {"consistency", required_argument, NULL, OPT_CONSISTENCY},
    {"start-version", required_argument, NULL, OPT_START_VERSION},
    {"max-object-bytes", required_argument, NULL, OPT_LIMIT},
    {"page-size", required_argument, NULL, OPT_PAGE_SIZE},
    {"parameter", required_argument, NULL, OPT_PARAMETER},
    {"check-watch-lists", no_argument, NULL, OPT_CHECK},
    {"controller", no_argument, NULL, OPT_CONTROLLER},
    {NULL, 0, NULL, 0}};

static kin_parameter parameters[MAX_NAMES];
static const char *groups[MAX_NAMES];

static void add_parameter(kin_informer_options *options, char *argument) {
  char *equals = strchr(argument, '=');
  if (equals == NULL || options->parameter_count == MAX_NAMES) {
    die("--parameter NAME=VALUE");
  }
  *equals = '\0';
  parameters[options->parameter_count++] =
      (kin_parameter){argument, equals + 1};
  options->parameters = parameters;
}

static bool take_client_option(kin_client_options *options, int option) {
  switch (option) {
  case OPT_SERVER:
    options->server = optarg;
    return true;
  case OPT_TOKEN_FILE:
    options->token_file = optarg;
    return true;
  case OPT_AUTHORITY:
    options->certificate_authority_file = optarg;
    return true;
  case OPT_GZIP:
    options->accept_gzip = true;
    return true;
  case OPT_AS:
    options->impersonate_user = optarg;
    return true;
  case OPT_AS_GROUP:
    if (options->impersonate_group_count == MAX_NAMES) {
      die("too many groups");
    }
    groups[options->impersonate_group_count++] = optarg;
    options->impersonate_groups = groups;
    return true;
  case OPT_CHECK:
    options->check_watch_lists = true;
    return true;
  default:
    return false;
  }
}

static kin_consistency parse_consistency(const char *name) {
  if (strcmp(name, "at-least") == 0) {
    return KIN_CONSISTENCY_AT_LEAST;
  }
  if (strcmp(name, "most-recent") == 0) {
    return KIN_CONSISTENCY_MOST_RECENT;
  }
  die("--consistency at-least|most-recent");
}

static void take_option(actor *a, int option) {
  kin_informer_options *options = &a->options;
  switch (option) {
  case 'n':
    if (a->namespace_count == MAX_NAMES) {
      die("too many namespaces");
    }
    a->namespaces[a->namespace_count++] = optarg;
    break;
  case OPT_NO_WATCH_LIST:
    options->no_watch_list = true;
    break;
  case OPT_CLEAR:
    options->clear_when_absent = true;
    break;
  case OPT_STALE_AFTER:
    options->stale_after_ms = (uint32_t)strtoul(optarg, NULL, 10);
    break;
  case OPT_CONSISTENCY:
    options->consistency = parse_consistency(optarg);
    break;
  case OPT_START_VERSION:
    options->start_version = optarg;
    break;
  case OPT_LIMIT:
    options->max_object_bytes = (uint32_t)strtoul(optarg, NULL, 10);
    break;
  case OPT_PAGE_SIZE:
    options->page_size = (uint32_t)strtoul(optarg, NULL, 10);
    break;
  case OPT_PARAMETER:
    add_parameter(options, optarg);
    break;
  case OPT_CONTROLLER:
    a->is_controller = true;
    break;
  default:
    if (!take_client_option(&a->client_options, option)) {
      die("unknown option");
    }
    break;
  }
}

static void parse(actor *a, int argc, char **argv) {
  a->options = (kin_informer_options)KIN_INFORMER_OPTIONS_INIT;
  a->client_options = (kin_client_options)KIN_CLIENT_OPTIONS_INIT;
  for (int c; (c = getopt_long(argc, argv, "n:", long_options, NULL)) != -1;) {
    take_option(a, c);
  }
  if (optind + 1 != argc ||
      resource_parse(&a->resource, argv[optind]) != RESOURCE_OK) {
    die("usage: actor [options] RESOURCE");
  }
  a->options.group = a->resource.group;
  a->options.version = a->resource.version;
  a->options.plural = a->resource.plural;
  a->options.namespaces = a->namespaces;
  a->options.namespace_count = a->namespace_count;
  a->options.on_error = on_error;
  a->options.data = a;
  a->client_options.log = on_log;
  a->client_options.on_warning = on_warning;
}

static void check(int err, const char *what) {
  if (err != 0) {
    fprintf(stderr, "actor: %s: %s\n", what, kin_strerror(err));
    exit(1);
  }
}

static void start_controller(actor *a) {
  a->options.on_error = NULL;
  kin_process_handlers handlers = KIN_PROCESS_HANDLERS_INIT;
  handlers.on_add = on_added;
  handlers.on_update = on_updated;
  handlers.on_delete = on_deleted;
  kin_controller_options options = KIN_CONTROLLER_OPTIONS_INIT;
  options.resource = &a->options;
  options.handlers = &handlers;
  options.on_error = on_controller_error;
  options.on_synced = on_controller_synced;
  options.data = a;
  check(kin_controller_open(&a->controller, a->client, &options), "controller");
  check(kin_controller_start(a->controller), "start");
}

static void start_informer(actor *a) {
  check(kin_informer_open(&a->informer, a->client, &a->options), "informer");
  kin_listener_options listener = KIN_LISTENER_OPTIONS_INIT;
  listener.on_add = on_change;
  listener.on_update = on_change;
  listener.on_delete = on_change;
  listener.on_synced = on_synced;
  listener.on_relisted = on_relisted;
  listener.data = a;
  check(kin_informer_listen(a->informer, &listener, NULL), "listener");
  check(kin_informer_start(a->informer), "start");
}

static void start(actor *a) {
  check(kin_client_open(&a->client, &a->loop, &a->client_options), "client");
  if (a->is_controller) {
    start_controller(a);
  } else {
    start_informer(a);
  }

  check(uv_pipe_init(&a->loop, &a->commands, 0), "pipe");
  check(uv_pipe_open(&a->commands, 0), "standard input");
  a->commands.data = a;
  check(uv_read_start((uv_stream_t *)&a->commands, on_alloc, on_read), "read");
  uv_signal_t *signals[] = {&a->interrupted, &a->terminated};
  const int numbers[] = {SIGINT, SIGTERM};
  for (size_t i = 0; i < 2; i++) {
    check(uv_signal_init(&a->loop, signals[i]), "signal");
    signals[i]->data = a;
    check(uv_signal_start(signals[i], on_signal, numbers[i]), "signal");
  }
}

int main(int argc, char **argv) {
  static actor a;
  parse(&a, argc, argv);
  check(uv_loop_init(&a.loop), "loop");
  start(&a);
  uv_run(&a.loop, UV_RUN_DEFAULT);
  check(uv_loop_close(&a.loop), "end");
  resource_finish(&a.resource);
  text_finish(&line_text);
  return 0;
}
