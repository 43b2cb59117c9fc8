/* SPDX-License-Identifier: MIT */

/* A cluster whose authority is replaced, twice, while a client watches. The
 * authority is inline in the kubeconfig. Once the file has the new authority,
 * no new connection trusts the old one, although the last reading is fresh.
 *
 * A pod whose authority comes late.
 *
 * And a kubeconfig that loses entries, in a pod. */

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <openssl/evp.h>

#include <kin/kin.h>
#include <kin/kubeconfig.h>

#include "base/str.h"
#include "config/kube_load.h"
#include "support/client_world.h"
#include "support/kube_route.h"
#include "support/tls_server.h"

#define WATCH(event) ANSWER_CHUNKED "64\r\n" event "\r\n"

/* After a failure to connect, a list of one item verifies the position. */
static const tls_reply replies[] = {
    {ANSWER_LISTED, 0, TLS_CLOSE},
    {ANSWER_WATCHED, 0, TLS_KEEP},
    {ANSWER_TO_END ANSWER_PODS("8", ""), 0, TLS_CLOSE},
    {WATCH(ANSWER_CHANGE("ADDED", ANSWER_POD("c", "3", "9"))), 0, TLS_KEEP},
    {ANSWER_TO_END ANSWER_PODS("9", ""), 0, TLS_CLOSE},
    {WATCH(ANSWER_CHANGE("ADDED", ANSWER_POD("d", "4", "9"))), 0, TLS_KEEP}};
#define REPLIES (sizeof replies / sizeof *replies)

typedef struct authority {
  tls_cert self;
  tls_cert server;
} authority;

typedef struct bench {
  client_world w;
  tls_server server;
  authority authorities[3];
  char path[64];
} bench;

/* --- A pod ---------------------------------------------------------------- */

/* The test's own pod. The files of a real one would lie at the root. */
static struct {
  const char *server; /* NULL: no pod */
  const char *_Atomic authority_file;
  atomic_uint searches_of_files; /* that may find a kubeconfig */
  char port[8]; /* not "": a pod beside the kubeconfig, that has a token */
} pod;

#define ACCOUNT "/var/run/secrets/kubernetes.io/serviceaccount/"

static const char *get_variable(void *ctx, const char *name) {
  const kin__config_env *env = ctx;
  return strcmp(name, "KUBERNETES_SERVICE_HOST") == 0 ? "127.0.0.1"
         : strcmp(name, "KUBERNETES_SERVICE_PORT") == 0
             ? pod.port
             : env->getenv(env->ctx, name);
}

static int read_content(void *ctx, kin__vault *vault, const char *path,
                        size_t max_bytes, kin_str *text) {
  const kin__config_env *env = ctx;
  if (strcmp(path, ACCOUNT "token") == 0) {
    *text = KIN__LIT("pod-token");
    return 0;
  }
  return env->read(env->ctx, vault, path, max_bytes, text);
}

static int probe_content(void *ctx, const char *path) {
  const kin__config_env *env = ctx;
  return strcmp(path, ACCOUNT "token") == 0 ? 0 : env->probe(env->ctx, path);
}

int __real_kin__kube_load(kin__resolved_config *out,
                          const kin_kubeconfig_options *options,
                          const kin__config_env *env, kin__problems *problems);
int __wrap_kin__kube_load(kin__resolved_config *out,
                          const kin_kubeconfig_options *options,
                          const kin__config_env *env, kin__problems *problems);

int __wrap_kin__kube_load(kin__resolved_config *out,
                          const kin_kubeconfig_options *options,
                          const kin__config_env *env, kin__problems *problems) {
  if (pod.port[0] != '\0') {
    kin__config_env in_pod = *env;
    in_pod.getenv = get_variable;
    in_pod.read = read_content;
    in_pod.probe = probe_content;
    in_pod.ctx = (void *)env;
    return __real_kin__kube_load(out, options, &in_pod, problems);
  }
  if (pod.server == NULL) {
    return __real_kin__kube_load(out, options, env, problems);
  }
  pod.searches_of_files += !env->is_pod_only;
  out->server = pod.server;
  out->certificate_authority_file = pod.authority_file;
  out->is_in_cluster = true;
  return 0;
}

/* --- Authorities ---------------------------------------------------------- */

static void make_authority(authority *a) {
  a->self =
      tls_cert_make(&(tls_cert_options){.name = "ca", .is_authority = true});
  a->server = tls_cert_make(&(tls_cert_options){
      .name = "x", .alternatives = "IP:127.0.0.1", .issuer = &a->self});
}

static void write_config(const bench *b, int n) {
  char *pem = tls_cert_pem(&b->authorities[n].self);
  char data[8192];
  char text[10000];
  assert_true(strlen(pem) < sizeof data / 2);
  (void)EVP_EncodeBlock((unsigned char *)data, (const unsigned char *)pem,
                        (int)strlen(pem));
  free(pem);
  snprintf(text, sizeof text,
           "clusters:\n- name: c\n  cluster:\n"
           "    server: https://127.0.0.1:%d\n"
           "    certificate-authority-data: %s\n"
           "contexts:\n- name: c\n  context: {cluster: c}\n"
           "current-context: c\n",
           b->server.port, data);
  tls_write_file(b->path, text);
}

static int open_client(client_world *w) {
  bench *b = w->data;
  return kin__client_open(&w->client, &w->loop, &w->options, kube_route_open,
                          b->path);
}

static void serve_as(bench *b, int n) {
  tls_server_set_options(
      &b->server,
      &(tls_server_options){.certificate = &b->authorities[n].server});
}

/* The file first, then the server: in between nothing is trusted. */
static void rotate(bench *b, int to, tls_then how) {
  size_t answered = b->server.requests;
  write_config(b, to);
  tls_server_drop(&b->server, how);
  CLIENT_UNTIL(&b->w, b->w.error_class == KIN_CLASS_TLS);
  assert_int_equal(b->server.requests, answered);
  serve_as(b, to);
  b->w.error_class = KIN_CLASS_NONE;
}

static void test_open_rotation_of_inline_authority(void **state) {
  (void)state;
  bench b;
  memset(&b, 0, sizeof b);
  client_world_init(&b.w);
  client_world_guard(&b.w);
  for (int i = 0; i < 3; i++) {
    make_authority(&b.authorities[i]);
  }
  tls_server_open(
      &b.server, &b.w.loop,
      &(tls_server_options){.certificate = &b.authorities[0].server}, replies,
      REPLIES);
  snprintf(b.path, sizeof b.path, "/tmp/kin-rotation-XXXXXX");
  int fd = mkstemp(b.path);
  assert_true(fd >= 0);
  close(fd);
  write_config(&b, 0);
  b.w.retry_after_ms = 1;
  b.w.open = open_client;
  b.w.data = &b;
  client_world_open(&b.w);
  CLIENT_UNTIL(&b.w, b.w.deletes == 1);
  assert_int_equal(b.w.errors, 0);
  rotate(&b, 1, TLS_CUT);
  CLIENT_UNTIL(&b.w, b.w.adds == 3);
  rotate(&b, 2, TLS_RESET);
  CLIENT_UNTIL(&b.w, b.w.adds == 4);
  assert_non_null(strstr(b.server.last_request, "resourceVersion=9"));
  client_world_close(&b.w);
  tls_server_close(&b.server);
  client_world_finish(&b.w);
  for (int i = 0; i < 3; i++) {
    tls_cert_finish(&b.authorities[i].self);
    tls_cert_finish(&b.authorities[i].server);
  }
  (void)unlink(b.path);
}

/* KC-01: the authority's file is absent or half written at first. A later
 * search finds it, and looks at nothing but the pod. */
static void test_open_pod_whose_authority_comes_late(void **state) {
  (void)state;
  bench b;
  char url[64];
  memset(&b, 0, sizeof b);
  client_world_init(&b.w);
  client_world_guard(&b.w);
  make_authority(&b.authorities[0]);
  tls_server_open(
      &b.server, &b.w.loop,
      &(tls_server_options){.certificate = &b.authorities[0].server}, replies,
      2);
  snprintf(b.path, sizeof b.path, "/tmp/kin-rotation-XXXXXX");
  int fd = mkstemp(b.path);
  assert_true(fd >= 0);
  close(fd);
  char *pem = tls_cert_pem(&b.authorities[0].self);
  tls_write_file(b.path, pem);
  free(pem);
  snprintf(url, sizeof url, "https://127.0.0.1:%d", b.server.port);
  pod.server = url;
  b.w.retry_after_ms = 1;
  b.w.open = open_client;
  b.w.data = &b;
  client_world_open(&b.w);
  CLIENT_UNTIL(&b.w, b.w.errors > 2);
  assert_int_equal(b.w.error_class, KIN_CLASS_TLS);
  pod.authority_file = b.path;
  CLIENT_UNTIL(&b.w, b.w.deletes == 1);
  assert_int_equal(pod.searches_of_files, 1);
  client_world_close(&b.w);
  tls_server_close(&b.server);
  client_world_finish(&b.w);
  tls_cert_finish(&b.authorities[0].self);
  tls_cert_finish(&b.authorities[0].server);
  (void)unlink(b.path);
  pod.server = NULL;
}

/* --- A kubeconfig that loses entries -------------------------------------- */

#define REFUSED "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n"

static const loop_reply only_refuse[] = {{.bytes = REFUSED}};

/* `user` NULL: no entry of a user; so is `has_cluster`. "": an empty entry. */
static void write_entries(const bench *b, bool has_cluster, const char *user) {
  char cluster[128] = "";
  char users[128] = "";
  char text[512];
  if (has_cluster) {
    snprintf(cluster, sizeof cluster,
             "clusters:\n- name: c\n  cluster: {server: \"%s\"}\n",
             b->w.server.url);
  }
  if (user != NULL) {
    snprintf(users, sizeof users, "users:\n- name: u\n  user: {as: %s}\n",
             user);
  }
  snprintf(text, sizeof text,
           "%scontexts:\n- name: c\n  context: {cluster: c, user: u}\n"
           "current-context: c\n%s",
           cluster, users);
  tls_write_file(b->path, text);
}

/* Each error is a 401, so the files are read before the next request. */
static void expect_user(bench *b, const char *user) {
  char field[64];
  snprintf(field, sizeof field, "Impersonate-User: %s\r\n", user);
  int errors = b->w.errors;
  CLIENT_UNTIL(&b->w, b->w.errors == errors + 2);
  assert_int_equal(b->w.status, 401);
  assert_non_null(strstr(b->w.server.last_request, field));
}

/* An editor writes a file in pieces, or one file of several is missing for a
 * moment: the client does not move to the pod's cluster, and keeps its user. */
static void test_open_rotation_that_loses_entries(void **state) {
  (void)state;
  static const char *const users[] = {"alice", "bob", "carol"};
  bench b;
  loop_server beside;
  memset(&b, 0, sizeof b);
  client_world_serve(&b.w, only_refuse, 1);
  loop_server_open(&beside, &b.w.loop, only_refuse, 1);
  snprintf(pod.port, sizeof pod.port, "%s", strrchr(beside.url, ':') + 1);
  snprintf(b.path, sizeof b.path, "/tmp/kin-rotation-XXXXXX");
  int fd = mkstemp(b.path);
  assert_true(fd >= 0);
  close(fd);
  b.w.options.server = NULL;
  b.w.retry_after_ms = 1;
  b.w.open = open_client;
  b.w.data = &b;
  write_entries(&b, true, users[0]);
  client_world_open(&b.w);
  for (size_t i = 0; i < 3; i++) {
    write_entries(&b, true, users[i]);
    expect_user(&b, users[i]);
    write_entries(&b, false, "nobody");
    expect_user(&b, users[i]);
    write_entries(&b, true, NULL);
    expect_user(&b, users[i]);
    write_entries(&b, true, "");
    expect_user(&b, users[i]);
    write_entries(&b, false, NULL);
    expect_user(&b, users[i]);
  }
  assert_int_equal(beside.accepted, 0);
  client_world_close(&b.w);
  loop_server_close(&beside);
  client_world_finish(&b.w);
  (void)unlink(b.path);
  pod.port[0] = '\0';
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_open_rotation_of_inline_authority),
      cmocka_unit_test(test_open_pod_whose_authority_comes_late),
      cmocka_unit_test(test_open_rotation_that_loses_entries),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  tls_pki_finish();
  return failed;
}
