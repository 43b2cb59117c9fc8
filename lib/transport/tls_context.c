/* SPDX-License-Identifier: MIT */
#include "transport/tls_context.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <kin/error.h>

#include "base/alloc.h"
#include "transport/environment.h"
#include "transport/ip.h"
#include "transport/secret.h"
#include "transport/tls_stream.h"

#define MAX_NAME_LENGTH 253u

/* The age of the last full handshake. */
#define MAX_SESSION_MS (24u * 3600u * 1000u)

/* --- Options -------------------------------------------------------------- */

static bool is_name(const char *name) {
  static const char allowed[] = "abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789-._";
  size_t length = strlen(name);
  return length <= MAX_NAME_LENGTH && strspn(name, allowed) == length &&
         name[0] != '.';
}

bool kin__tls_is_server_name(const char *name) {
  unsigned char unused[KIN__IP_BYTES];
  return kin__ip_parse(name, unused) || is_name(name);
}

const char *kin__tls_options_check(const kin__tls_options *options) {
  bool has_authority =
      options->authority_file != NULL || options->authority_data != NULL;
  bool has_certificate =
      options->certificate_file != NULL || options->certificate_data != NULL;
  bool has_key = options->key_file != NULL || options->key_data != NULL;
  const char *const texts[] = {
      options->authority_data, options->certificate_data, options->key_data,
      options->authority_file, options->certificate_file, options->key_file,
      options->server_name};
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    size_t length = texts[i] != NULL ? strlen(texts[i]) : 1;
    if (length == 0) {
      return "an empty string where a file, PEM data or a name should be";
    }
    if (length > KIN__TLS_MAX_PEM_BYTES && i < KIN__TLS_PARTS) {
      return "PEM data over 2 MiB";
    }
  }
  if (has_authority && options->is_insecure) {
    return "a certificate authority and insecure_skip_tls_verify exclude each "
           "other";
  }
  if (has_certificate != has_key) {
    return has_key ? "a client key without a client certificate"
                   : "a client certificate without a client key";
  }
  if (options->server_name != NULL &&
      !kin__tls_is_server_name(options->server_name)) {
    return "tls_server_name is " KIN__TLS_NO_SERVER_NAME;
  }
  return NULL;
}

/* --- Life ----------------------------------------------------------------- */

static bool copy(kin__net *net, char **to, const char *from) {
  *to = kin__strdup(net->allocator, from);
  return *to != NULL || from == NULL;
}

/* A final dot is DNS only; certificates have none. */
static bool copy_name(kin__net *net, kin__tls_settings *settings,
                      const char *name) {
  size_t length = strlen(name);
  if (length > 1 && name[length - 1] == '.') {
    length--;
  }
  settings->is_address = kin__ip_parse(name, settings->address);
  settings->name = kin__strndup(net->allocator, name, length);
  return settings->name != NULL;
}

static bool copy_settings(kin__net *net, kin__tls_settings *settings,
                          const kin__tls_options *options, const char *host) {
  settings->is_insecure = options->is_insecure;
  const char *system_file =
      kin__environment_get(X509_get_default_cert_file_env());
  const char *directories =
      kin__environment_get(X509_get_default_cert_dir_env());
  return copy(net, &settings->file[KIN__TLS_AUTHORITY],
              options->authority_file) &&
         copy(net, &settings->data[KIN__TLS_AUTHORITY],
              options->authority_data) &&
         copy(net, &settings->file[KIN__TLS_CERTIFICATE],
              options->certificate_file) &&
         copy(net, &settings->data[KIN__TLS_CERTIFICATE],
              options->certificate_data) &&
         copy(net, &settings->file[KIN__TLS_KEY], options->key_file) &&
         copy(net, &settings->data[KIN__TLS_KEY], options->key_data) &&
         copy(net, &settings->system_file, system_file) &&
         copy(net, &settings->system_directories, directories) &&
         copy_name(net, settings,
                   options->server_name != NULL ? options->server_name : host);
}

int kin__tls_context_open(kin__tls_context **out, kin__net *net,
                          const kin__tls_options *options, const char *host) {
  *out = NULL;
  kin__tls_context *context = kin__calloc(net->allocator, 1, sizeof *context);
  if (context == NULL) {
    return KIN_ENOMEM;
  }
  context->net = net;
  context->build.settings = &context->settings;
  kin__link_init(&context->waiters);
  context->bio_method = kin__tls_stream_new_bio_method();
  context->plain = kin__malloc(net->allocator, KIN__READ_BYTES);
  if (context->bio_method == NULL || context->plain == NULL ||
      !copy_settings(net, &context->settings, options, host)) {
    kin__tls_context_free(context);
    return KIN_ENOMEM;
  }
  *out = context;
  return 0;
}

void kin__tls_context_close(kin__tls_context *context) {
  assert(kin__link_is_empty(&context->waiters));
  context->is_closing = true;
  if (context->is_working) {
    /* Fails if the build is running; the callback comes in both cases. */
    (void)uv_cancel((uv_req_t *)&context->work);
  }
}

static void drop_session(kin__tls_context *context) {
  SSL_SESSION_free(context->session);
  context->session = NULL;
}

void kin__tls_context_free(kin__tls_context *context) {
  if (context == NULL) {
    return;
  }
  kin__net *net = context->net;
  kin__tls_settings *settings = &context->settings;
  for (kin__tls_part part = 0; part < KIN__TLS_PARTS; part++) {
    kin__free(net->allocator, settings->file[part]);
    kin__secret_free(net->allocator, &settings->data[part]);
    kin__secret_free(net->allocator, &context->next[part]);
  }
  kin__free(net->allocator, settings->name);
  kin__free(net->allocator, settings->system_file);
  kin__free(net->allocator, settings->system_directories);
  drop_session(context);
  SSL_CTX_free(context->ctx);
  BIO_meth_free(context->bio_method);
  kin__free(net->allocator, context->plain);
  kin__free(net->allocator, context);
  ERR_clear_error();
}

/* --- Sessions ------------------------------------------------------------- */

/* OpenSSL has a session for us. With TLS 1.3 several may come, any time after
 * the handshake. Returns whether the reference was taken. */
static int on_session(SSL *ssl, SSL_SESSION *session) {
  unsigned generation;
  kin__tls_context *context = kin__tls_stream_context(ssl, &generation);
  if (context->is_closing || generation != context->generation) {
    return 0;
  }
  drop_session(context);
  context->session = session;
  context->verified_ms = kin__tls_stream_verified_ms(ssl);
  return 1;
}

/* OpenSSL verifies nothing when a session is resumed, and the server gives a new
 * session each time. So the certificate's end is checked here, as in Go. The
 * age bounds what only a full handshake would find out, such as the end of an
 * authority's certificate. */
SSL_SESSION *kin__tls_context_session(const kin__tls_context *context) {
  SSL_SESSION *session = context->session;
  if (session == NULL ||
      kin__net_now_ms(context->net) - context->verified_ms >= MAX_SESSION_MS) {
    return NULL;
  }
  const X509 *server = SSL_SESSION_get0_peer(session);
  bool is_over = !context->settings.is_insecure && server != NULL &&
                 X509_cmp_current_time(X509_get0_notAfter(server)) <= 0;
  return is_over ? NULL : session;
}

/* --- Building ------------------------------------------------------------- */

static void on_work(uv_work_t *work) {
  kin__tls_context *context = KIN__CONTAINER_OF(work, kin__tls_context, work);
  kin__tls_build_run(&context->build);
}

static void adopt(kin__tls_context *context, SSL_CTX *ctx) {
  const kin__tls_settings *settings = &context->settings;
  bool is_first = context->ctx == NULL;
  /* After builds that failed, connections still have the pair before. */
  bool is_late_pair = context->is_pair_new && context->reason[0] != '\0';
  bool is_other = context->content != context->build.content || is_late_pair;
  context->is_pair_new = false;
  context->content = context->build.content;
  drop_session(context);
  SSL_CTX_free(context->ctx);
  ERR_clear_error();
  context->ctx = ctx;
  context->generation++;
  context->reason[0] = '\0';
  SSL_CTX_sess_set_new_cb(ctx, on_session);
  if (context->build.is_empty) {
    kin__log_write(context->net->log, KIN_LOG_WARN,
                   "%s: certificate authority file %s is empty: no server is "
                   "trusted",
                   context->label, settings->file[KIN__TLS_AUTHORITY]);
  }
  if (!is_first && is_other) {
    kin__log_write(context->net->log, KIN_LOG_INFO,
                   "%s: certificate files have changed; new connections use "
                   "the new ones",
                   context->label);
    context->edition++;
    context->on_changed(context);
  }
}

/* The present context stays. The next build is forced, so that the unreadable
 * file is tried again, changed or not. */
static void keep(kin__tls_context *context, const char *reason) {
  context->is_suspect = true;
  if (strcmp(context->reason, reason) != 0) {
    snprintf(context->reason, sizeof context->reason, "%s", reason);
    kin__log_write(context->net->log, KIN_LOG_WARN,
                   "%s: %s; the certificates read before stay in use",
                   context->label, reason);
  }
}

static void take_result(kin__tls_context *context) {
  kin__tls_build *build = &context->build;
  context->checked_ms = kin__net_now_ms(context->net);
  if (build->is_unchanged) {
    return;
  }
  if (context->ctx != NULL && build->context != NULL && build->is_empty) {
    SSL_CTX_free(build->context); /* AU-04: the file is probably being
                                   * written */
    build->context = NULL;
    keep(context, "certificate authority file is empty");
  } else if (build->context != NULL) {
    adopt(context, build->context);
  } else if (context->ctx != NULL) {
    keep(context, build->reason);
  } else {
    context->code = build->code;
    snprintf(context->reason, sizeof context->reason, "%s", build->reason);
  }
  build->context = NULL;
}

static void on_worked(uv_work_t *work, int status);

/* Only while no worker uses the settings. */
static void take_next_pair(kin__tls_context *context) {
  static const kin__tls_part parts[] = {KIN__TLS_CERTIFICATE, KIN__TLS_KEY};
  for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
    char **data = &context->settings.data[parts[i]];
    kin__secret_free(context->net->allocator, data);
    *data = context->next[parts[i]];
    context->next[parts[i]] = NULL;
  }
  context->has_next = false;
  context->is_pair_new = true;
}

static void start_work(kin__tls_context *context, bool is_forced) {
  context->build.is_forced = is_forced || context->has_next;
  if (context->has_next) {
    take_next_pair(context);
  }
  context->is_suspect = false;
  context->is_working = true;
  context->begun_ms = kin__net_now_ms(context->net);
  kin__net_hold(context->net);
  int err =
      uv_queue_work(context->net->loop, &context->work, on_work, on_worked);
  assert(err == 0); /* fails only without a callback */
  (void)err;
}

static void on_worked(uv_work_t *work, int status) {
  kin__tls_context *context = KIN__CONTAINER_OF(work, kin__tls_context, work);
  kin__net *net = context->net;
  context->is_working = false;
  /* A refusal during the work is about the files before: one more look. */
  context->is_refused = context->is_refused && context->is_suspect;
  if (context->is_closing) {
    if (status == 0) {
      SSL_CTX_free(context->build.context);
      context->build.context = NULL;
    }
  } else {
    take_result(context);
    if (context->has_next) {
      start_work(context, true); /* the waiters want the newest pair */
    } else {
      kin__waiters_serve(&context->waiters);
    }
  }
  kin__net_release(net);
}

/* If there is no context, every connection has it built. If there is one, its
 * files are looked at now and then. After a failed connection this also
 * applies if no file can change: short of memory, OpenSSL may have skipped a
 * certificate silently. */
static bool is_due(const kin__tls_context *context, uint32_t interval_ms) {
  if (context->ctx == NULL || context->has_next) {
    return true;
  }
  return (context->is_suspect ||
          kin__tls_settings_can_change(&context->settings)) &&
         kin__net_now_ms(context->net) - context->checked_ms >= interval_ms;
}

/* Not if it lacks a pair that was given, or was refused. */
bool kin__tls_context_is_usable(const kin__tls_context *context) {
  return context->ctx != NULL && !context->has_next && !context->is_pair_new &&
         !context->is_refused;
}

static bool is_slow(const kin__tls_context *context) {
  return kin__tls_context_is_usable(context) &&
         kin__net_now_ms(context->net) - context->begun_ms >= KIN__PATIENCE_MS;
}

int kin__tls_context_prepare(kin__tls_context *context, kin__waiter *waiter,
                             uint32_t interval_ms) {
  /* A pair, or a refusal, may have come meanwhile. */
  bool must_wait = context->ctx != NULL && context->is_working &&
                   !kin__tls_context_is_usable(context);
  if (!waiter->is_served || context->has_next || must_wait) {
    if (!context->is_working && is_due(context, interval_ms)) {
      start_work(context, context->ctx == NULL || context->is_suspect);
    }
    if (context->is_working && !is_slow(context)) {
      kin__link_push(&context->waiters, &waiter->node);
      return KIN__PENDING;
    }
  }
  return context->ctx != NULL ? 0 : context->code;
}

int kin__tls_context_set_pair(kin__tls_context *context,
                              const char *certificate, const char *key) {
  kin__net *net = context->net;
  char *copies[KIN__TLS_PARTS] = {NULL};
  if (!copy(net, &copies[KIN__TLS_CERTIFICATE], certificate) ||
      !copy(net, &copies[KIN__TLS_KEY], key)) {
    kin__secret_free(net->allocator, &copies[KIN__TLS_CERTIFICATE]);
    return KIN_ENOMEM;
  }
  for (kin__tls_part part = 0; part < KIN__TLS_PARTS; part++) {
    kin__secret_free(net->allocator, &context->next[part]);
    context->next[part] = copies[part];
  }
  context->has_next = true;
  drop_session(context);
  return 0;
}

void kin__tls_context_suspect(kin__tls_context *context) {
  context->is_suspect = true;
  context->is_refused = true;
  drop_session(context);
}

bool kin__tls_context_has_certificate(const kin__tls_context *context) {
  const kin__tls_settings *settings = &context->settings;
  return settings->file[KIN__TLS_CERTIFICATE] != NULL ||
         settings->data[KIN__TLS_CERTIFICATE] != NULL ||
         context->next[KIN__TLS_CERTIFICATE] != NULL;
}
