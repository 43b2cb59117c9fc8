/* SPDX-License-Identifier: MIT */

/* A cluster whose authority is replaced, twice, while a client watches. The
 * authority is inline in the kubeconfig. Once the file has the new authority,
 * no new connection trusts the old one, although the last reading is fresh.
 *
 * And a pod whose authority comes late. */

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

#include "client/route.h"
#include "config/kube_load.h"
#include "connect/kube_finder.h"
#include "connect/late.h"
#include "support/client_world.h"
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
} pod;

int __real_kin__kube_load(kin__resolved_config *out,
                          const kin_kubeconfig_options *options,
                          const kin__config_env *env, kin__problems *problems);
int __wrap_kin__kube_load(kin__resolved_config *out,
                          const kin_kubeconfig_options *options,
                          const kin__config_env *env, kin__problems *problems);

int __wrap_kin__kube_load(kin__resolved_config *out,
                          const kin_kubeconfig_options *options,
                          const kin__config_env *env, kin__problems *problems) {
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

/* kin_client_open_kubeconfig, but that a reading may follow another one at
 * once. */
static int open_route(kin__route *out, const kin__server_place *place,
                      const kin_client_options *options, void *ctx) {
  const bench *b = ctx;
  kin_kubeconfig_options which = KIN_KUBECONFIG_OPTIONS_INIT;
  which.path = b->path;
  kin__finder finder;
  int err = kin__kube_finder_open(&finder, place, &which);
  assert_int_equal(err, 0);
  finder.retry_ms = 0;
  return kin__late_open(out, place, options, &finder);
}

static int open_client(client_world *w) {
  return kin__client_open(&w->client, &w->loop, &w->options, open_route,
                          w->data);
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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_open_rotation_of_inline_authority),
      cmocka_unit_test(test_open_pod_whose_authority_comes_late),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  tls_pki_finish();
  return failed;
}
