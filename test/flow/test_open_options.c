/* SPDX-License-Identifier: MIT */

/* The options of a client that finds its server in a kubeconfig: each member is
 * either refused, or takes effect. None is silently ignored. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <kin/kin.h>
#include <kin/kubeconfig.h>

#include "connect/late.h"
#include "support/client_world.h"
#include "support/proxy_server.h"
#include "support/tls_server.h"
#include "transport/handle.h"

/* --- All members ---------------------------------------------------------- */

typedef enum member_kind {
  OF_SERVER,   /* comes from the kubeconfig: refused */
  COPIED_TEXT, /* reaches each server that is found */
  COPIED,      /* the same, byte by byte */
  OF_CLIENT    /* the client itself uses it, whatever its server is */
} member_kind;

typedef struct member {
  const char *name;
  size_t offset;
  size_t size;
  member_kind kind;
} member;

#define MEMBER(name, kind)                                                     \
  {                                                                            \
#name, offsetof(kin_client_options, name),                                 \
        sizeof(((kin_client_options *)NULL)->name), kind                       \
  }

/* In the order of the struct. */
static const member members[] = {
    MEMBER(size, OF_CLIENT),
    MEMBER(server, OF_SERVER),
    MEMBER(user_agent, COPIED_TEXT),
    MEMBER(allocator, OF_CLIENT),
    MEMBER(budget_us, COPIED),
    MEMBER(log_level, COPIED),
    MEMBER(log, COPIED),
    MEMBER(log_data, COPIED),
    MEMBER(problem, OF_CLIENT),
    MEMBER(problem_size, OF_CLIENT),
    MEMBER(on_warning, COPIED),
    MEMBER(warning_data, COPIED),
    MEMBER(certificate_authority_file, OF_SERVER),
    MEMBER(certificate_authority_data, OF_SERVER),
    MEMBER(client_certificate_file, OF_SERVER),
    MEMBER(client_certificate_data, OF_SERVER),
    MEMBER(client_key_file, OF_SERVER),
    MEMBER(client_key_data, OF_SERVER),
    MEMBER(token, OF_SERVER),
    MEMBER(token_file, OF_SERVER),
    MEMBER(exec, OF_SERVER),
    MEMBER(tls_server_name, OF_SERVER),
    MEMBER(insecure_skip_tls_verify, OF_SERVER),
    MEMBER(impersonate_user, OF_SERVER),
    MEMBER(impersonate_uid, OF_SERVER),
    MEMBER(impersonate_groups, OF_SERVER),
    MEMBER(impersonate_group_count, OF_SERVER),
    MEMBER(impersonate_extra, OF_SERVER),
    MEMBER(impersonate_extra_count, OF_SERVER),
    MEMBER(connect_timeout_ms, COPIED),
    MEMBER(response_timeout_ms, COPIED),
    MEMBER(max_lists, COPIED),
    MEMBER(list_turn_ms, COPIED),
    MEMBER(qps_milli, COPIED),
    MEMBER(burst, COPIED),
    MEMBER(accept_gzip, COPIED),
    MEMBER(no_memory_helper, COPIED),
    MEMBER(check_watch_lists, COPIED),
    MEMBER(mutation_check, COPIED),
    MEMBER(mutation_check_ms, COPIED),
    MEMBER(seed, COPIED),
    MEMBER(proxy_url, OF_SERVER),
    MEMBER(proxy_certificate_authority_file, COPIED_TEXT),
    MEMBER(username, OF_SERVER),
    MEMBER(password, OF_SERVER),
    MEMBER(max_bytes, OF_CLIENT),
    MEMBER(watch_read_delay_ms, COPIED),
};
#define MEMBERS (sizeof members / sizeof *members)

/* Between two members, and behind the last one, there is only padding. */
static void test_open_options_table_is_complete(void **state) {
  (void)state;
  size_t end = 0;
  for (size_t i = 0; i < MEMBERS; i++) {
    assert_true(members[i].offset >= end);
    assert_true(members[i].offset - end < members[i].size);
    end = members[i].offset + members[i].size;
  }
  assert_true(sizeof(kin_client_options) - end < sizeof(void *));
}

/* Any value but the default: the option is refused before it is looked at. */
static void set_member(kin_client_options *options, const member *which) {
  static const char *const texts[] = {"x"};
  memset((char *)options + which->offset, 0, which->size);
  if (which->size == sizeof texts && strstr(which->name, "count") == NULL) {
    memcpy((char *)options + which->offset, texts, sizeof texts);
  } else {
    size_t one = 1;
    bool yes = true;
    memcpy((char *)options + which->offset,
           which->size == sizeof one ? (const void *)&one : &yes, which->size);
  }
}

static void test_open_options_of_the_server_are_refused(void **state) {
  (void)state;
  client_world w;
  client_world_init(&w);
  for (size_t i = 0; i < MEMBERS; i++) {
    if (members[i].kind != OF_SERVER) {
      continue;
    }
    char problem[256];
    char expected[128];
    kin_client_options options = KIN_CLIENT_OPTIONS_INIT;
    options.problem = problem;
    options.problem_size = sizeof problem;
    set_member(&options, &members[i]);
    /* An array counts if it is not empty. */
    if (strcmp(members[i].name, "impersonate_groups") == 0) {
      options.impersonate_group_count = 1;
    } else if (strcmp(members[i].name, "impersonate_extra") == 0) {
      options.impersonate_extra_count = 1;
    }
    assert_int_equal(
        kin_client_open_kubeconfig(&w.client, &w.loop, NULL, &options),
        KIN_EINVAL);
    assert_null(w.client);
    snprintf(expected, sizeof expected, "%s: comes from the kubeconfig",
             members[i].name);
    size_t length = strlen(members[i].name);
    if (length > 6 && strcmp(members[i].name + length - 6, "_count") == 0) {
      assert_non_null(strstr(problem, "comes from the kubeconfig"));
    } else {
      assert_string_equal(problem, expected);
    }
  }
  client_world_finish(&w);
}

/* --- What reaches a server ------------------------------------------------ */

typedef struct seen {
  client_world *world;
  kin__tick gone;
  void (*closed_cb)(void *ctx);
  void *closed_ctx;
  int compared;
} seen;

static void compare(const kin_client_options *found,
                    const kin_client_options *given) {
  for (size_t i = 0; i < MEMBERS; i++) {
    const member *m = &members[i];
    const char *of_found = (const char *)found + m->offset;
    const char *of_given = (const char *)given + m->offset;
    if (m->kind == COPIED) {
      assert_memory_equal(of_found, of_given, m->size);
    } else if (m->kind == COPIED_TEXT) {
      const char *a = *(const char *const *)(const void *)of_found;
      const char *b = *(const char *const *)(const void *)of_given;
      assert_true(a != b);
      assert_string_equal(a, b);
    }
  }
}

static void search(void *ctx, kin__late *late) {
  seen *s = ctx;
  compare(kin__late_options(late), &s->world->options);
  s->compared++;
}

static void on_gone(kin__tick *tick) {
  seen *s = KIN__CONTAINER_OF(tick, seen, gone);
  s->closed_cb(s->closed_ctx);
}

static void close_finder(void *ctx, void (*cb)(void *cb_ctx), void *cb_ctx) {
  seen *s = ctx;
  s->closed_cb = cb;
  s->closed_ctx = cb_ctx;
  kin__tick_request(&s->gone, &s->world->loop);
}

static void ignore_opened(void *ctx, bool is_in_use) {
  (void)ctx;
  (void)is_in_use;
}

static int open_route(kin__route *out, const kin__server_place *place,
                      const kin_client_options *options, void *ctx) {
  const kin__finder ops = {.search = search,
                           .close = close_finder,
                           .opened = ignore_opened,
                           .ctx = ctx,
                           .fresh_ms = 60000};
  return kin__late_open(out, place, options, &ops);
}

static int open_late(client_world *w) {
  return kin__client_open(&w->client, &w->loop, &w->options, open_route,
                          w->data);
}

static void on_warning(const kin_warning *warning, void *data) {
  (void)warning;
  (void)data;
}

static void on_log(kin_log_level level, const char *line, void *data) {
  (void)level;
  (void)line;
  (void)data;
}

static void test_open_options_reach_the_server(void **state) {
  (void)state;
  client_world w;
  seen s = {.world = &w};
  client_world_init(&w);
  client_world_guard(&w);
  kin__tick_init(&s.gone, on_gone);
  w.open = open_late;
  w.data = &s;
  kin_client_options *o = &w.options;
  o->user_agent = "x";
  o->budget_us = 501;
  o->log_level = KIN_LOG_ERROR;
  o->log = on_log;
  o->log_data = &w;
  o->on_warning = on_warning;
  o->warning_data = &w;
  o->connect_timeout_ms = 2000;
  o->response_timeout_ms = 3000;
  o->max_lists = 5;
  o->list_turn_ms = 6000;
  o->qps_milli = 7000;
  o->burst = 8;
  o->accept_gzip = true;
  o->no_memory_helper = true;
  o->check_watch_lists = true;
  o->mutation_check = KIN_MUTATION_CHECK_CHECKSUM;
  o->mutation_check_ms = 9000;
  o->seed = 10;
  o->watch_read_delay_ms = 11;
  o->proxy_certificate_authority_file = "/y";
  for (size_t i = 0; i < MEMBERS; i++) {
    static const char zero[sizeof(void *)];
    if (members[i].kind == COPIED || members[i].kind == COPIED_TEXT) {
      assert_memory_not_equal((char *)o + members[i].offset, zero,
                              members[i].size);
    }
  }
  client_world_open(&w);
  CLIENT_UNTIL(&w, s.compared == 1);
  client_world_finish(&w);
}

/* --- Their effect --------------------------------------------------------- */

static const tls_reply list_and_watch[] = {{ANSWER_LISTED, 0, TLS_CLOSE},
                                           {ANSWER_WATCHED, 0, TLS_KEEP}};

/* An https server behind an https proxy, whose authority the system does not
 * trust. */
typedef struct bench {
  client_world w;
  tls_server server;
  proxy_server proxy;
  proxy_server_options serve;
  char path[64];
  char authority_path[80];
  char config[1024];
} bench;

static int open_kubeconfig(client_world *w) {
  const bench *b = w->data;
  kin_kubeconfig_options which = KIN_KUBECONFIG_OPTIONS_INIT;
  which.path = b->path;
  return kin_client_open_kubeconfig(&w->client, &w->loop, &which, &w->options);
}

static void bench_init(bench *b, const char *more) {
  memset(b, 0, sizeof *b);
  client_world_init(&b->w);
  client_world_guard(&b->w);
  tls_server_open(&b->server, &b->w.loop, &(tls_server_options){.slice = 0},
                  list_and_watch, 2);
  b->serve.target_port = b->server.port;
  b->serve.certificate = &tls_pki_get()->server;
  proxy_server_open(&b->proxy, &b->w.loop, &b->serve);
  snprintf(b->path, sizeof b->path, "/tmp/kin-open-XXXXXX");
  int fd = mkstemp(b->path);
  assert_true(fd >= 0);
  close(fd);
  snprintf(b->authority_path, sizeof b->authority_path, "%s.crt", b->path);
  tls_write_file(b->authority_path, tls_pki_get()->authority_pem);
  snprintf(b->config, sizeof b->config,
           "clusters:\n- name: c\n  cluster:\n"
           "    server: https://localhost:%d\n"
           "    proxy-url: https://localhost:%d\n"
           "    certificate-authority: %s\n%s"
           "contexts:\n- name: c\n  context: {cluster: c}\n"
           "current-context: c\n",
           b->server.port, b->proxy.port, b->authority_path, more);
  tls_write_file(b->path, b->config);
  b->w.open = open_kubeconfig;
  b->w.data = b;
}

static void bench_finish(bench *b) {
  client_world_close(&b->w);
  tls_server_close(&b->server);
  proxy_server_close(&b->proxy);
  client_world_finish(&b->w);
  (void)unlink(b->path);
  (void)unlink(b->authority_path);
}

/* The text of the option need not live. */
static void test_open_options_proxy_authority(void **state) {
  (void)state;
  bench b;
  bench_init(&b, "");
  char path[80];
  snprintf(path, sizeof path, "%s", b.authority_path);
  b.w.options.proxy_certificate_authority_file = path;
  client_world_open(&b.w);
  memset(path, 'x', sizeof path);
  CLIENT_UNTIL(&b.w, b.w.deletes == 1 || b.w.errors > 0);
  assert_int_equal(b.w.errors, 0);
  assert_int_equal(b.proxy.tunnels, 2);
  bench_finish(&b);
}

/* Without the option the proxy is not trusted. */
static void test_open_options_no_proxy_authority(void **state) {
  (void)state;
  bench b;
  bench_init(&b, "");
  client_world_open(&b.w);
  CLIENT_UNTIL(&b.w, b.w.errors > 0);
  assert_int_equal(b.w.error_class, KIN_CLASS_TLS);
  assert_int_equal(b.proxy.tunnels, 0);
  bench_finish(&b);
}

/* The variables of proxies are read when the server has been found, not when
 * the client is opened. */
static void test_open_options_proxy_variables(void **state) {
  (void)state;
  bench b;
  bench_init(&b, "");
  tls_write_file(b.path, "clusters:\n- name: c\n  cluster:\n"
                         "    server: https://kube.example\n"
                         "contexts:\n- name: c\n  context: {cluster: c}\n"
                         "current-context: c\n");
  assert_int_equal(client_world_open_client(&b.w), 0);
  assert_int_equal(setenv("HTTPS_PROXY", "foo://u:s3cret@h", 1), 0);
  assert_int_equal(client_world_open_informer(&b.w, "pods"), 0);
  CLIENT_UNTIL(&b.w, b.w.errors > 0);
  assert_int_equal(unsetenv("HTTPS_PROXY"), 0);
  assert_non_null(strstr(b.w.message, "HTTPS_PROXY: is no http://"));
  assert_null(strstr(b.w.message, "s3cret"));
  bench_finish(&b);
}

/* accept_gzip, unless the kubeconfig has disable-compression. */
static void test_open_options_gzip(void **state) {
  (void)state;
  for (int is_disabled = 0; is_disabled < 2; is_disabled++) {
    bench b;
    bench_init(&b, is_disabled ? "    disable-compression: true\n" : "");
    b.w.options.proxy_certificate_authority_file = b.authority_path;
    b.w.options.accept_gzip = true;
    if (client_world_open_client(&b.w) == KIN_ENOTSUP) { /* without zlib */
      bench_finish(&b);
      skip();
    }
    assert_int_equal(client_world_open_informer(&b.w, "pods"), 0);
    CLIENT_UNTIL(&b.w, b.server.requests == 1 || b.w.errors > 0);
    assert_int_equal(b.w.errors, 0);
    bool asks =
        strstr(b.server.last_request, "\r\nAccept-Encoding: gzip") != NULL;
    assert_true(asks == !is_disabled);
    bench_finish(&b);
  }
}

static bool run_without_memory(size_t n) {
  bench b;
  bench_init(&b, "");
  b.w.options.proxy_certificate_authority_file = b.authority_path;
  b.w.memory.fail_at = n;
  (void)client_world_open_client(&b.w);
  bench_finish(&b);
  return fail_alloc_has_failed(&b.w.memory);
}

static void test_open_options_allocations_fail(void **state) {
  (void)state;
  fail_alloc_sweep(run_without_memory, 3);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_open_options_table_is_complete),
      cmocka_unit_test(test_open_options_of_the_server_are_refused),
      cmocka_unit_test(test_open_options_reach_the_server),
      cmocka_unit_test(test_open_options_proxy_authority),
      cmocka_unit_test(test_open_options_no_proxy_authority),
      cmocka_unit_test(test_open_options_proxy_variables),
      cmocka_unit_test(test_open_options_gzip),
      cmocka_unit_test(test_open_options_allocations_fail),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  tls_pki_finish();
  return failed;
}
