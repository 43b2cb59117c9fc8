/* SPDX-License-Identifier: MIT */
#include "client/server.h"

#include <kin/error.h>

#include "base/alloc.h"
#include "client/client_credentials.h"
#include "client/client_options.h"
#include "transport/impersonate.h"
#include "transport/proxy.h"
#include "transport/tls_context.h"
#include "transport/url.h"

#define DEFAULT_RESPONSE_TIMEOUT_MS 30000u
#define MAX_IDLE_CONNECTIONS 4u
#define IDLE_TIMEOUT_MS 90000u /* CN-09; probes keep one connection warm */
#define CERTIFICATE_CHECK_MS 60000u
#define PROBE_SILENCE_MS 30000u
#define PROBE_ANSWER_MS 10000u

struct kin__server {
  kin__server_place place;
  kin__client_credentials credentials;
  kin__transport *transport;
  void (*close_cb)(void *ctx);
  void *close_ctx;
};

static kin__tls_options tls_options(const kin_client_options *options) {
  return (kin__tls_options){
      .authority_file = options->certificate_authority_file,
      .authority_data = options->certificate_authority_data,
      .certificate_file = options->client_certificate_file,
      .certificate_data = options->client_certificate_data,
      .key_file = options->client_key_file,
      .key_data = options->client_key_data,
      .server_name = options->tls_server_name,
      .is_insecure = options->insecure_skip_tls_verify};
}

/* The header fields of impersonation, with a zero byte at the end. `fields`
 * must be empty. */
static int render_fields(kin__server *server, const kin_client_options *options,
                         kin__buf *fields) {
  const kin__impersonation whom = {
      .user = options->impersonate_user,
      .uid = options->impersonate_uid,
      .groups = options->impersonate_groups,
      .group_count = options->impersonate_group_count,
      .extra = options->impersonate_extra,
      .extra_count = options->impersonate_extra_count};
  const char *reason;
  int err = kin__impersonate_render(fields, &whom, &reason);
  if (err == KIN_EINVAL) {
    kin__log_problem(server->place.log, err, "impersonation: %s", reason);
  }
  if (err == 0) {
    err = kin__buf_append(fields, "", 1);
  }
  if (err == KIN_ETOOBIG) {
    err = kin__log_problem(server->place.log, KIN_EINVAL,
                           "impersonation: over 64 KiB");
  }
  return err;
}

static bool has_tls_options(const kin__tls_options *tls) {
  return tls->authority_file != NULL || tls->authority_data != NULL ||
         tls->certificate_file != NULL || tls->certificate_data != NULL ||
         tls->key_file != NULL || tls->key_data != NULL ||
         tls->server_name != NULL || tls->is_insecure;
}

static int find_proxy(kin__server *server, const kin_client_options *options,
                      kin__transport_options *transport) {
  const kin__proxy_options proxy = {.allocator = transport->allocator,
                                    .log = server->place.log,
                                    .url = options->proxy_url,
                                    .server = &transport->url,
                                    .user_agent = server->place.user_agent};
  return kin__proxy_open(&transport->proxy, &proxy);
}

static int connect_transport(kin__server *server,
                             const kin_client_options *options,
                             const char *fields) {
  const kin_allocator *allocator = server->place.allocator;
  kin__tls_options tls = tls_options(options);
  kin__credentials credentials;
  bool has_credentials =
      kin__client_credentials_source(&server->credentials, &credentials);
  kin__transport_options transport = {
      .loop = server->place.loop->uv,
      .allocator = allocator,
      .sched = &server->place.loop->sched,
      .timers = &server->place.loop->timers,
      .log = server->place.log,
      .user_agent = server->place.user_agent,
      .fields = fields,
      .warnings = server->place.warnings,
      .connect_timeout_ms =
          kin__number_or(options->connect_timeout_ms, KIN__CONNECT_TIMEOUT_MS),
      .response_timeout_ms = kin__number_or(options->response_timeout_ms,
                                            DEFAULT_RESPONSE_TIMEOUT_MS),
      .read_delay_ms = (uint32_t)options->watch_read_delay_ms,
      .max_idle_connections = MAX_IDLE_CONNECTIONS,
      .idle_timeout_ms = IDLE_TIMEOUT_MS,
      .proxy_authority_file = options->proxy_certificate_authority_file,
      .certificate_check_ms = CERTIFICATE_CHECK_MS,
      .accept_gzip = options->accept_gzip,
      .tls = has_tls_options(&tls) ? &tls : NULL,
      .credentials = has_credentials ? &credentials : NULL,
      .probe_silence_ms = PROBE_SILENCE_MS,
      .probe_answer_ms = PROBE_ANSWER_MS};
  int err = kin__url_parse(&transport.url, allocator, options->server);
  if (err == KIN_EURL) {
    kin__client_bad_server(options->server, server->place.log);
  }
  if (err != 0) {
    return err;
  }
  err = find_proxy(server, options, &transport);
  if (err == 0) {
    err = kin__transport_open(&server->transport, &transport);
  }
  if (err != 0) {
    kin__proxy_free(transport.proxy, allocator);
    kin__url_finish(&transport.url, allocator);
  }
  return err;
}

static int open_transport(kin__server *server,
                          const kin_client_options *options) {
  kin__buf fields;
  kin__buf_init(&fields, server->place.allocator,
                KIN__IMPERSONATE_MAX_BYTES + 1);
  int err = render_fields(server, options, &fields);
  if (err == 0) {
    err = connect_transport(server, options, fields.data);
  }
  kin__buf_finish(&fields);
  return err;
}

int kin__server_open(kin__server **out, const kin__server_place *place,
                     const kin_client_options *options) {
  *out = NULL;
  kin__server *server = kin__calloc(place->allocator, 1, sizeof *server);
  if (server == NULL) {
    return KIN_ENOMEM;
  }
  server->place = *place;
  int err = 0;
  if (options->server == NULL) {
    err = kin__log_problem(place->log, KIN_EINVAL, "server: is required");
  }
  if (err == 0) {
    err = kin__client_credentials_open(&server->credentials, options,
                                       server->place.loop, place->allocator,
                                       place->log);
  }
  if (err == 0) {
    err = open_transport(server, options);
  }
  if (err == 0) {
    *out = server;
    return 0;
  }
  kin__client_credentials_free(&server->credentials);
  kin__free(place->allocator, server);
  return err;
}

kin__transport *kin__server_transport(const kin__server *server) {
  return server->transport;
}

void kin__server_get_stats(const kin__server *server,
                           kin__server_stats *stats) {
  stats->transport = *kin__transport_get_stats(server->transport);
  stats->exec = kin__client_credentials_stats(&server->credentials);
}

void kin__server_set_ref(kin__server *server, bool is_ref) {
  kin__transport_set_ref(server->transport, is_ref);
  kin__client_credentials_set_ref(&server->credentials, is_ref);
}

static void on_credentials_closed(void *ctx) {
  kin__server *server = ctx;
  void (*cb)(void *ctx) = server->close_cb;
  void *cb_ctx = server->close_ctx;
  kin__free(server->place.allocator, server);
  cb(cb_ctx);
}

static void on_transport_closed(void *ctx) {
  kin__server *server = ctx;
  kin__client_credentials_close(&server->credentials, on_credentials_closed,
                                server);
}

void kin__server_close(kin__server *server, void (*cb)(void *ctx), void *ctx) {
  server->close_cb = cb;
  server->close_ctx = ctx;
  kin__transport_close(server->transport, on_transport_closed, server);
}
