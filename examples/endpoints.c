/* SPDX-License-Identifier: MIT */

/* Endpoint slices as nginx upstreams, in a file that is always whole.
 *
 *     kubectl proxy --port=8001 &
 *     endpoints http://127.0.0.1:8001 default FILE web:http |
 *       while read line; do nginx -s reload; done
 *
 * The file has a block for each SERVICE[:PORT]. Output: a line for each file.
 *
 *     upstream web-http {
 *       server 10.244.1.7:8080; # web-0
 *       server [fd00::7]:8080; # web-1
 *     }
 *
 * What to look at: no file is made before the list is complete, and a server
 * that is away takes no endpoint away. A change filter makes one file of many
 * changes. An index finds the slices of a service. One label is stored. */

#include <kin/toolkit.h>

#include "replace_file.h"

#define LABEL "/metadata/labels/kubernetes.io~1service-name"

typedef struct app {
  kin_informer *slices;
  replaced_file file;
  char **ports; /* SERVICE[:PORT]; NULL is the end */
} app;

typedef struct server {
  char address[64]; /* with the port */
  kin_str pod;
  bool is_ready;
} server;

static int64_t port_number(const kin_object *slice, kin_str name) {
  kin_value_iterator ports = kin_value_iterate(kin_object_at(slice, "/ports"));
  kin_value port;
  int64_t number = 0;
  while (number == 0 && kin_value_next(&ports, &port)) {
    kin_str found = KIN_STR("");
    kin_value_string(kin_value_at(port, "/name"), NULL, 0, &found);
    if (kin_str_equal(found, name)) {
      kin_value_int64(kin_value_at(port, "/port"), &number);
    }
  }
  return number;
}

/* Returns whether the endpoint may get requests. One that terminates and still
 * serves is for services that have no other. */
static bool read_server(server *s, kin_value endpoint, int64_t port) {
  char text[64], bytes[16];
  kin_value address = kin_value_at(endpoint, "/addresses/0"); /* one suffices */
  s->pod = KIN_STR("");
  kin_value_string(kin_value_at(endpoint, "/targetRef/name"), NULL, 0, &s->pod);
  bool serves = false, terminates = false; /* what is absent stays as here */
  s->is_ready = true;
  kin_value_bool(kin_value_at(endpoint, "/conditions/ready"), &s->is_ready);
  kin_value_bool(kin_value_at(endpoint, "/conditions/serving"), &serves);
  kin_value_bool(kin_value_at(endpoint, "/conditions/terminating"),
                 &terminates);
  if (!(s->is_ready || (serves && terminates)) || port < 1 || port > 65535 ||
      kin_value_copy_string(address, text, sizeof text, NULL) != 0) {
    return false;
  }
  int family = strchr(text, ':') != NULL ? AF_INET6 : AF_INET;
  if (uv_inet_pton(family, text, bytes) != 0 ||
      uv_inet_ntop(family, bytes, text, sizeof text) != 0) {
    return false; /* such as a name; an address gets its one spelling */
  }
  snprintf(s->address, sizeof s->address,
           family == AF_INET6 ? "[%s]:%d" : "%s:%d", text, (int)port);
  return true;
}

/* Those that are ready come first. */
static int compare(const void *a, const void *b) {
  const server *x = a, *y = b;
  int order = y->is_ready - x->is_ready;
  return order != 0 ? order : strcmp(x->address, y->address);
}

/* The endpoints of all slices of a service, each once. */
static bool print_block(FILE *out, const kin_store *slices, const char *text) {
  server *all = NULL;
  size_t count = 0;
  kin_str service = {text, strcspn(text, ":")};
  kin_str port =
      kin_str_of(text + service.length + (text[service.length] == ':'));
  kin_index_cursor cursor;
  const kin_object *slice;
  kin_store_by_index(slices, "service", service, &cursor);
  while ((slice = kin_store_by_index_next(slices, &cursor)) != NULL) {
    int64_t number = port_number(slice, port);
    kin_value endpoint, list = kin_object_at(slice, "/endpoints");
    kin_value_iterator endpoints = kin_value_iterate(list);
    while (kin_value_next(&endpoints, &endpoint)) {
      server *more = realloc(all, (count + 1) * sizeof *all);
      if (more == NULL) {
        free(all);
        return false;
      }
      all = more;
      count += read_server(&all[count], endpoint, number);
    }
  }
  fprintf(out, "upstream " KIN_STR_FORMAT "%s" KIN_STR_FORMAT " {\n",
          KIN_STR_ARG(service), port.length > 0 ? "-" : "", KIN_STR_ARG(port));
  if (count > 0) {
    qsort(all, count, sizeof *all, compare);
  }
  for (size_t i = 0; i < count && all[i].is_ready == all[0].is_ready; i++) {
    if (i == 0 || strcmp(all[i].address, all[i - 1].address) != 0) {
      fprintf(out, "  server %s; # " KIN_STR_FORMAT "\n", all[i].address,
              KIN_STR_ARG(all[i].pod));
    }
  }
  fputs(count > 0 ? "}\n" : "  server 127.0.0.1:1 down;\n}\n", out);
  free(all);
  return true;
}

static void on_changes(kin_change_filter *filter, const kin_changes *changes,
                       void *data) {
  (void)filter;
  (void)changes;
  app *a = data;
  FILE *out = replaced_file_begin(&a->file);
  bool is_whole = out != NULL;
  for (char **port = a->ports; is_whole && *port != NULL; port++) {
    is_whole = print_block(out, kin_informer_store(a->slices), *port);
  }
  replaced_file_end(&a->file, is_whole);
}

static void on_replaced(replaced_file *file, int error) {
  fprintf(error == 0 ? stdout : stderr, "%s: %s\n", file->path,
          error == 0 ? "new" : uv_strerror(error));
}

static void on_error(kin_informer *informer, kin_error_event *event,
                     void *data) {
  (void)informer;
  (void)data;
  fprintf(stderr, "endpoints: %s\n", event->message);
}

static int follow(app *a, kin_client *client, const char *namespace_) {
  static const char *const fields[] = {"/endpoints", "/ports", LABEL};
  kin_informer_options io = {.size = sizeof io,
                             .group = "discovery.k8s.io",
                             .plural = "endpointslices",
                             .fields = fields,
                             .field_count = 3,
                             .drop_labels = true,
                             .namespaces = &namespace_,
                             .namespace_count = 1,
                             .on_error = on_error};
  kin_index_options xo = {sizeof xo, .name = "service", .pointer = LABEL};
  kin_change_filter_options fo = {.size = sizeof fo,
                                  .on_changes = on_changes,
                                  .data = a,
                                  .fields = fields,
                                  .field_count = 3,
                                  .debounce_ms = 100,
                                  .max_wait_ms = 1000};
  int status = kin_informer_open(&a->slices, client, &io);
  if (status == 0) {
    status = kin_store_add_index(kin_informer_store(a->slices), &xo);
  }
  if (status == 0) {
    status = kin_change_filter_open(NULL, a->slices, &fo);
  }
  return status == 0 ? kin_informer_start(a->slices) : status;
}

int main(int argc, char **argv) {
  if (argc < 5) {
    fprintf(stderr, "usage: endpoints URL NAMESPACE FILE SERVICE[:PORT]...\n");
    return 2;
  }
  setvbuf(stdout, NULL, _IOLBF, 0);
  app a = {.ports = argv + 4};
  replaced_file_init(&a.file, uv_default_loop(), argv[3], on_replaced);
  kin_client *client;
  kin_client_options co = {.size = sizeof co, .server = argv[1]};
  int status = kin_client_open(&client, a.file.loop, &co);
  status = status == 0 ? follow(&a, client, argv[2]) : status;
  if (status != 0) {
    fprintf(stderr, "endpoints: %s\n", kin_strerror(status));
    kin_client_close(client, NULL, NULL);
  }
  uv_run(a.file.loop, UV_RUN_DEFAULT);
  return 1;
}
