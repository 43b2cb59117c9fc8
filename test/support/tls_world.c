/* SPDX-License-Identifier: MIT */
#include "support/tls_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <unistd.h>

#include <cmocka.h>

#include <openssl/err.h>

#include "transport/proxy.h"

static void on_log(kin_log_level level, const char *line, void *data) {
  (void)level;
  tls_world *t = data;
  size_t length = strlen(line);
  t->lines = realloc(t->lines, t->lines_length + length + 2);
  assert_non_null(t->lines);
  memcpy(t->lines + t->lines_length, line, length);
  memcpy(t->lines + t->lines_length + length, "\n", 2);
  t->lines_length += length + 1;
}

static uint64_t now_ns(void *ctx) {
  const world *w = ctx;
  return w->now_ms * 1000000u;
}

void tls_world_init(tls_world *t, const tls_reply *replies, size_t reply_count,
                    size_t fail_at) {
  memset(t, 0, sizeof *t);
  (void)tls_pki_get();
  world_init(&t->w, NULL, 0, fail_at);
  t->server.replies = replies;
  t->server.reply_count = reply_count;
  t->tls.authority_data = tls_pki_get()->authority_pem;
  t->log = (kin__log){.cb = on_log, .data = t, .level = KIN_LOG_DEBUG};
  snprintf(t->directory, sizeof t->directory, "/tmp/kin-test-XXXXXX");
  assert_non_null(mkdtemp(t->directory));
  unsetenv("SSL_CERT_DIR"); /* of the machine */
}

static int open_plugin(tls_world *t) {
  kin__exec_plugin_options options = {.loop = &t->w.loop,
                                      .timers = &t->w.timers,
                                      .allocator = &t->w.memory.allocator,
                                      .clock = {now_ns, &t->w},
                                      .log = &t->log,
                                      .plugin = t->exec};
  return kin__exec_plugin_new(&t->plugin, &options);
}

static int open_source(tls_world *t) {
  if (t->exec != NULL) {
    return open_plugin(t);
  }
  if (t->token == NULL && t->token_file == NULL) {
    return 0;
  }
  kin__token_options options = {.loop = &t->w.loop,
                                .allocator = &t->w.memory.allocator,
                                .clock = {now_ns, &t->w},
                                .log = &t->log,
                                .token = t->token,
                                .file = t->token_file};
  return kin__token_new(&t->source, &options);
}

static int open_transport(tls_world *t, const char *url) {
  kin__credentials credentials;
  if (t->source != NULL) {
    credentials = kin__token_credentials(t->source);
  } else if (t->plugin != NULL) {
    credentials = kin__exec_plugin_credentials(t->plugin);
  }
  kin__transport_options options = {
      .loop = &t->w.loop,
      .allocator = &t->w.memory.allocator,
      .sched = &t->w.sched,
      .timers = &t->w.timers,
      .log = &t->log,
      .user_agent = "test/1.0",
      .fields = t->w.fields,
      .connect_timeout_ms = WORLD_CONNECT_MS,
      .response_timeout_ms = WORLD_RESPONSE_MS,
      .max_idle_connections = t->w.max_idle,
      .idle_timeout_ms = WORLD_IDLE_MS,
      .tls = strncmp(url, "https", 5) == 0 ? &t->tls : NULL,
      .credentials =
          t->source != NULL || t->plugin != NULL ? &credentials : NULL,
      .certificate_check_ms = t->certificate_check_ms,
      .probe_silence_ms = t->probe_silence_ms,
      .probe_answer_ms = 10000,
  };
  int err = world_set_server(&t->w, &options, url);
  if (err != 0) {
    return err;
  }
  err = kin__transport_open(&t->w.transport, &options);
  if (err != 0) {
    kin__proxy_free(options.proxy, options.allocator);
    kin__url_finish(&options.url, options.allocator);
  }
  return err;
}

int tls_world_open_at(tls_world *t, const char *url) {
  int err = open_source(t);
  if (err == 0) {
    err = open_transport(t, url);
  }
  if (err != 0 && t->source != NULL) {
    kin__token_free(t->source);
    t->source = NULL;
  }
  if (err != 0 && t->plugin != NULL) {
    kin__exec_plugin_free(t->plugin);
    t->plugin = NULL;
  }
  assert_int_equal(ERR_peek_error(), 0);
  return err;
}

int tls_world_open(tls_world *t, const char *host) {
  tls_server_open(&t->server, &t->w.loop, &t->serve, t->server.replies,
                  t->server.reply_count);
  char url[300];
  snprintf(url, sizeof url, "https://%s:%d", host, t->server.port);
  return tls_world_open_at(t, url);
}

void tls_world_setup(tls_world *t, const tls_reply *replies,
                     size_t reply_count) {
  tls_world_init(t, replies, reply_count, 0);
  assert_int_equal(tls_world_open(t, "127.0.0.1"), 0);
}

static void on_closed(void *ctx) {
  *(bool *)ctx = true;
}

void tls_world_close(tls_world *t) {
  bool is_closed = t->w.transport == NULL;
  if (!is_closed) {
    kin__transport_close(t->w.transport, on_closed, &is_closed);
    assert_false(is_closed);
    t->w.transport = NULL;
    WORLD_UNTIL(&t->w, is_closed);
  }
  if (t->source != NULL) {
    is_closed = false;
    kin__token_close(t->source, on_closed, &is_closed);
    assert_false(is_closed);
    WORLD_UNTIL(&t->w, is_closed);
  }
  if (t->plugin != NULL) {
    is_closed = false;
    kin__exec_plugin_close(t->plugin, on_closed, &is_closed);
    assert_false(is_closed);
    WORLD_UNTIL(&t->w, is_closed);
  }
  assert_int_equal(ERR_peek_error(), 0);
  if (t->server.ctx != NULL) {
    tls_server_close(&t->server);
  }
  world_close(&t->w);
  assert_int_equal(ERR_peek_error(), 0);
  tls_remove_directory(t->directory);
  free(t->lines);
}

const char *tls_world_path(const tls_world *t, const char *name, char *path,
                           size_t size) {
  snprintf(path, size, "%s/%s", t->directory, name);
  return path;
}

bool tls_world_has_line(const tls_world *t, const char *text) {
  return t->lines != NULL && strstr(t->lines, text) != NULL;
}

bool tls_world_leaks(const tls_world *t, const fetch *f, const char *secret) {
  return tls_world_has_line(t, secret) ||
         (f != NULL && strstr(f->error.message, secret) != NULL);
}

const char *tls_world_try(tls_world *t) {
  static char message[400];
  fetch f = {.world = &t->w};
  fetch_run(&f, &t->w, "/x");
  snprintf(message, sizeof message, "%s", f.error.message);
  if (f.error.code == 0) {
    assert_int_equal(f.status, 200);
    assert_string_equal(f.body, "hello");
  } else {
    bool is_of_server = strstr(message, "connection to ") != NULL;
    assert_int_equal(f.error.code, is_of_server ? KIN_ETLS : KIN_ETLSSETUP);
    assert_int_equal(f.error.error_class, KIN_CLASS_TLS);
  }
  fetch_finish(&f);
  return message;
}

/* "..." in the words stands for any text. */
static bool has_words(const char *message, const char *words) {
  static const char gap[] = "...";
  const char *end;
  while ((end = strstr(words, gap)) != NULL) {
    char part[256];
    snprintf(part, sizeof part, "%.*s", (int)(end - words), words);
    message = strstr(message, part);
    if (message == NULL) {
      return false;
    }
    message += strlen(part);
    words = end + strlen(gap);
  }
  return strstr(message, words) != NULL;
}

void tls_assert_words(const char *message, const char *words) {
  if (!has_words(message, words)) {
    print_error("\"%s\" lacks \"%s\"\n", message, words);
    fail();
  }
}
