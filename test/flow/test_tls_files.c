/* SPDX-License-Identifier: MIT */
/* Proves AU-03, AU-04 and TR-02: certificates are read off the loop, what is
 * replaced heals, and what becomes unreadable changes nothing. On purpose
 * different from AU-03: open connections outlive their certificate until their
 * response is complete. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sys/stat.h>
#include <unistd.h>

#include "support/pool_plug.h"
#include "support/tls_world.h"
#include "transport/core.h"
#include "transport/exchange_core.h"

#define OK "HTTP/1.1 200 OK\r\n"
#define CHUNKED OK "Transfer-Encoding: chunked\r\n\r\n"

static const tls_reply hello = {.bytes = HELLO_CLOSE, .then = TLS_CLOSE};

static void pass_a_second(tls_world *t) {
  world_advance(&t->w, 1000);
}

typedef struct authorities {
  tls_cert second;
  tls_cert server; /* signed by it */
  char *second_pem;
} authorities;

static authorities make_authorities(void) {
  authorities a = {.second = tls_cert_make(&(tls_cert_options){
                       .name = "second", .is_authority = true})};
  a.server = tls_cert_make(&(tls_cert_options){
      .name = "x", .alternatives = "IP:127.0.0.1", .issuer = &a.second});
  a.second_pem = tls_cert_pem(&a.second);
  return a;
}

static void finish_authorities(authorities *a) {
  tls_cert_finish(&a->second);
  tls_cert_finish(&a->server);
  free(a->second_pem);
}

/* A world with an authority in a file. */
static void open_with_file(tls_world *t, const tls_reply *replies, size_t count,
                           char *path, size_t size, const char *text) {
  tls_world_init(t, replies, count, 0);
  tls_world_path(t, "ca.crt", path, size);
  if (text != NULL) {
    tls_write_file(path, text);
  }
  t->tls = (kin__tls_options){.authority_file = path};
}

static void test_tls_files_appear(void **state) {
  (void)state;
  tls_world t;
  char path[128];
  open_with_file(&t, &hello, 1, path, sizeof path, NULL);
  assert_int_equal(tls_world_open(&t, "127.0.0.1"), 0);
  tls_assert_words(tls_world_try(&t), kin_strerror(UV_ENOENT));
  tls_write_file(path, "");
  tls_assert_words(tls_world_try(&t), "certificate is not trusted");
  assert_true(tls_world_has_line(&t, "is empty: no server is trusted"));
  tls_assert_words(tls_world_try(&t), "certificate is not trusted");
  pass_a_second(&t);
  tls_write_file(path, tls_pki_get()->authority_pem);
  assert_string_equal(tls_world_try(&t), "");
  tls_world_close(&t);
}

/* The server has a certificate of another authority, then we hear of that. */
static void test_tls_files_replaced_authority(void **state) {
  (void)state;
  authorities a = make_authorities();
  tls_world t;
  char path[128];
  open_with_file(&t, &hello, 1, path, sizeof path,
                 tls_pki_get()->authority_pem);
  assert_int_equal(tls_world_open(&t, "127.0.0.1"), 0);
  assert_string_equal(tls_world_try(&t), "");
  tls_server_set_options(&t.server,
                         &(tls_server_options){.certificate = &a.server});
  pass_a_second(&t);
  /* The old session is no way round the new certificate. */
  tls_assert_words(tls_world_try(&t), "not trusted");
  tls_write_file(path, a.second_pem);
  tls_assert_words(tls_world_try(&t),
                   "not trusted"); /* not looked at again so soon */
  pass_a_second(&t);
  assert_string_equal(tls_world_try(&t), "");
  assert_true(tls_world_has_line(&t, "certificate files have changed"));
  tls_world_close(&t);
  finish_authorities(&a);
}

/* Removed, emptied, broken: the authority read before stays; then a good one
 * comes. One warning for each kind of trouble. */
static void test_tls_files_spoilt_authority(void **state) {
  (void)state;
  authorities a = make_authorities();
  tls_world t;
  char path[128];
  open_with_file(&t, &hello, 1, path, sizeof path,
                 tls_pki_get()->authority_pem);
  assert_int_equal(tls_world_open(&t, "127.0.0.1"), 0);
  assert_string_equal(tls_world_try(&t), "");
  assert_int_equal(unlink(path), 0);
  for (int i = 0; i < 2; i++) {
    pass_a_second(&t);
    assert_string_equal(tls_world_try(&t), "");
  }
  char words[128];
  snprintf(words, sizeof words, "%s; the certificates",
           kin_strerror(UV_ENOENT));
  char *first = strstr(t.lines, words);
  assert_non_null(first);
  assert_null(strstr(first + 1, words));
  static const char *const texts[] = {"", "-----BEGIN", "garbage\n"};
  for (size_t i = 0; i < 3; i++) {
    tls_write_file(path, texts[i]);
    pass_a_second(&t);
    assert_string_equal(tls_world_try(&t), "");
  }
  assert_true(tls_world_has_line(&t, "file is empty; the certificates read"));
  assert_true(tls_world_has_line(&t, "no certificate in it; the certificates"));
  tls_write_file(path, a.second_pem);
  pass_a_second(&t);
  tls_assert_words(tls_world_try(&t), "not trusted");
  tls_world_close(&t);
  finish_authorities(&a);
}

/* A new pair of the client's; between the two files it does not fit. */
static void test_tls_files_replaced_pair(void **state) {
  (void)state;
  const tls_pki *pki = tls_pki_get();
  tls_cert next = tls_cert_make(
      &(tls_cert_options){.name = "next", .issuer = &pki->authority});
  char *pem = tls_cert_pem(&next);
  char *key = tls_cert_key_pem(&next);
  tls_world t;
  char cert_path[128];
  char key_path[128];
  tls_world_init(&t, &hello, 1, 0);
  tls_world_path(&t, "tls.crt", cert_path, sizeof cert_path);
  tls_world_path(&t, "tls.key", key_path, sizeof key_path);
  tls_write_file(cert_path, pki->client_pem);
  tls_write_file(key_path, pki->client_key_pem);
  t.serve.client_authority = &pki->authority;
  t.tls.certificate_file = cert_path;
  t.tls.key_file = key_path;
  assert_int_equal(tls_world_open(&t, "127.0.0.1"), 0);
  assert_string_equal(tls_world_try(&t), "");
  assert_string_equal(t.server.last_client, "client");
  tls_write_file(cert_path, pem);
  pass_a_second(&t);
  assert_string_equal(tls_world_try(&t), "");
  assert_string_equal(t.server.last_client, "client");
  tls_write_file(key_path, key);
  pass_a_second(&t);
  assert_string_equal(tls_world_try(&t), "");
  assert_string_equal(t.server.last_client, "next");
  assert_false(tls_world_leaks(&t, NULL, "PRIVATE"));
  tls_world_close(&t);
  free(pem);
  free(key);
  tls_cert_finish(&next);
}

/* The system's certificates may be replaced as well, or be gone. */
static void test_tls_files_system(void **state) {
  (void)state;
  tls_world t;
  char path[128];
  tls_world_init(&t, &hello, 1, 0);
  tls_world_path(&t, "bundle", path, sizeof path);
  setenv("SSL_CERT_FILE", path, 1);
  t.tls = (kin__tls_options){.server_name = NULL};
  assert_int_equal(tls_world_open(&t, "127.0.0.1"), 0);
  unsetenv("SSL_CERT_FILE");
  tls_assert_words(tls_world_try(&t), path);
  tls_write_file(path, "# none\n");
  tls_assert_words(tls_world_try(&t), "certificate is not trusted");
  tls_write_file(path, tls_pki_get()->authority_pem);
  pass_a_second(&t);
  assert_string_equal(tls_world_try(&t), "");
  pass_a_second(&t);
  assert_string_equal(tls_world_try(&t), "");
  assert_int_equal(t.w.transport->tls->generation, 2);
  tls_write_file(path, "# none\n");
  pass_a_second(&t);
  tls_assert_words(tls_world_try(&t), "certificate is not trusted");
  tls_world_close(&t);
}

/* Authorities in the directories of SSL_CERT_DIR, with a bundle that has none,
 * or that is missing. A file that comes or goes counts for the next connection,
 * twice; broken files are passed over. */
static void test_tls_files_system_directories(void **state) {
  (void)state;
  for (int has_bundle = 0; has_bundle < 2; has_bundle++) {
    tls_world t;
    char bundle[128];
    char directory[128];
    char directories[200];
    char path[140];
    tls_world_init(&t, &hello, 1, 0);
    tls_world_path(&t, "bundle", bundle, sizeof bundle);
    tls_world_path(&t, "certs", directory, sizeof directory);
    assert_int_equal(mkdir(directory, 0700), 0);
    if (has_bundle) {
      tls_write_file(bundle, "# none\n");
    }
    snprintf(directories, sizeof directories, "/nowhere:%s", directory);
    setenv("SSL_CERT_FILE", bundle, 1);
    setenv("SSL_CERT_DIR", directories, 1);
    t.tls = (kin__tls_options){.server_name = NULL};
    assert_int_equal(tls_world_open(&t, "127.0.0.1"), 0);
    unsetenv("SSL_CERT_FILE");
    unsetenv("SSL_CERT_DIR");
    tls_assert_words(tls_world_try(&t), has_bundle
                                            ? "certificate is not trusted"
                                            : "no such file or directory");
    for (int i = 0; i < 2; i++) {
      snprintf(path, sizeof path, "%s/a", directory);
      tls_write_file(path, "-----BEGIN CERTIFICATE-----\ngarbage\n");
      snprintf(path, sizeof path, "%s/b", directory);
      tls_write_file(path, tls_pki_get()->authority_pem);
      pass_a_second(&t);
      assert_string_equal(tls_world_try(&t), "");
      tls_write_file(path, "");
      pass_a_second(&t);
      const char *message = tls_world_try(&t);
      if (has_bundle) {
        tls_assert_words(message, "certificate is not trusted");
      } else {
        assert_string_equal(message, ""); /* nothing was found: as before */
      }
    }
    (void)unlink(path);
    snprintf(path, sizeof path, "%s/a", directory);
    (void)unlink(path);
    assert_int_equal(rmdir(directory), 0);
    tls_world_close(&t);
  }
}

/* Nothing is read again while nothing changes, and not more than once a second
 * is looked. */
static void test_tls_files_unchanged(void **state) {
  (void)state;
  tls_world t;
  char path[128];
  open_with_file(&t, &hello, 1, path, sizeof path,
                 tls_pki_get()->authority_pem);
  assert_int_equal(tls_world_open(&t, "127.0.0.1"), 0);
  const kin__tls_context *context = t.w.transport->tls;
  for (int i = 0; i < 5; i++) {
    assert_string_equal(tls_world_try(&t), "");
    assert_string_equal(tls_world_try(&t), "");
    pass_a_second(&t);
  }
  assert_int_equal(context->generation, 1);
  assert_int_equal(t.server.resumed, 9);
  tls_write_file(path, tls_pki_get()->authority_pem); /* another file */
  assert_string_equal(tls_world_try(&t), "");
  assert_int_equal(context->generation, 2);
  assert_int_equal(context->checked_ms, t.w.now_ms);
  tls_world_close(&t);
}

/* --- The pool ------------------------------------------------------------- */

/* A changed file closes idle connections, not a running watch. */
static void test_tls_files_change_and_open_connections(void **state) {
  (void)state;
  static const tls_reply replies[] = {{CHUNKED "1\r\na\r\n", 0, TLS_KEEP},
                                      {HELLO, 0, TLS_KEEP}};
  authorities a = make_authorities();
  tls_world t;
  char path[128];
  open_with_file(&t, replies, 2, path, sizeof path,
                 tls_pki_get()->authority_pem);
  assert_int_equal(tls_world_open(&t, "127.0.0.1"), 0);
  fetch watch = {.world = &t.w};
  assert_int_equal(fetch_start(&watch, &t.w, "/x", true), 0);
  WORLD_UNTIL(&t.w, watch.bodies == 1);
  assert_string_equal(tls_world_try(&t), "");
  const kin__transport_stats *stats = kin__transport_get_stats(t.w.transport);
  assert_int_equal(stats->open_connections, 2);

  char both[16384];
  snprintf(both, sizeof both, "%s%s", a.second_pem,
           tls_pki_get()->authority_pem);
  tls_write_file(path, both);
  pass_a_second(&t);
  /* Two at once: one takes the idle connection and gives it back, while the
   * other waits for the files. */
  pool_plug p;
  plug_open(&p, &t.w.loop);
  fetch one = {.world = &t.w};
  fetch two = {.world = &t.w};
  assert_int_equal(fetch_start(&one, &t.w, "/1", false), 0);
  assert_int_equal(fetch_start(&two, &t.w, "/2", false), 0);
  fetch_until_end(&one);
  assert_int_equal(stats->open_connections, 2);
  assert_int_equal(two.ends, 0);
  plug_pull(&p);
  fetch_until_end(&two);
  assert_string_equal(one.error.message, "");
  assert_string_equal(two.error.message, "");
  assert_int_equal(t.w.transport->tls->generation, 2);
  assert_int_equal(stats->connections, 3);
  assert_int_equal(stats->open_connections, 2); /* the watch, and two's */

  assert_int_equal(watch.ends, 0);
  tls_server_push(&t.server, "1\r\nb\r\n0\r\n\r\n");
  fetch_until_end(&watch);
  assert_string_equal(watch.body, "ab");
  fetch_finish(&watch);
  fetch_finish(&one);
  fetch_finish(&two);
  tls_world_close(&t);
  plug_close(&p);
  finish_authorities(&a);
}

/* --- Rotation ------------------------------------------------------------- */

#define CHECK_MS 60000u

typedef struct pair {
  tls_cert cert;
  char *pem;
  char *key;
  char name[16];
} pair;

static pair make_pair(int number) {
  pair made;
  snprintf(made.name, sizeof made.name, "client-%d", number);
  made.cert = tls_cert_make(&(tls_cert_options){
      .name = made.name, .issuer = &tls_pki_get()->authority});
  made.pem = tls_cert_pem(&made.cert);
  made.key = tls_cert_key_pem(&made.cert);
  return made;
}

static void finish_pair(pair *made) {
  tls_cert_finish(&made->cert);
  free(made->pem);
  free(made->key);
}

typedef struct pair_files {
  char certificate[128];
  char key[128];
} pair_files;

static void write_pair(const pair_files *files, const pair *made) {
  tls_write_file(files->certificate, made->pem);
  tls_write_file(files->key, made->key);
}

/* A server that wants a client certificate, which is in files. */
static void open_with_pair(tls_world *t, pair_files *files, const pair *made,
                           const tls_reply *replies, size_t count) {
  tls_world_init(t, replies, count, 0);
  tls_world_path(t, "tls.crt", files->certificate, sizeof files->certificate);
  tls_world_path(t, "tls.key", files->key, sizeof files->key);
  write_pair(files, made);
  t->serve.client_authority = &tls_pki_get()->authority;
  t->tls.certificate_file = files->certificate;
  t->tls.key_file = files->key;
  t->certificate_check_ms = CHECK_MS;
  assert_int_equal(tls_world_open(t, "127.0.0.1"), 0);
}

/* A client whose connection is always kept sees a new pair, too: a minute
 * later, with its next request, twice. */
static void test_tls_files_rotate_on_kept_connection(void **state) {
  (void)state;
  static const tls_reply keep = {HELLO, 0, TLS_KEEP};
  tls_world t;
  pair_files files;
  pair pairs[3] = {make_pair(0), make_pair(1), make_pair(2)};
  open_with_pair(&t, &files, &pairs[0], &keep, 1);
  assert_string_equal(tls_world_try(&t), "");
  for (int i = 1; i <= 2; i++) {
    write_pair(&files, &pairs[i]);
    world_advance(&t.w, CHECK_MS - 1);
    assert_string_equal(tls_world_try(&t), "");
    assert_string_equal(t.server.last_client, pairs[i - 1].name);
    assert_int_equal(t.server.accepted, i);
    world_advance(&t.w, 1);
    assert_string_equal(tls_world_try(&t), "");
    assert_string_equal(t.server.last_client, pairs[i].name);
    assert_int_equal(t.server.accepted, i + 1);
    assert_int_equal(t.server.resumed, 0);
    /* Once more, unchanged: nothing is opened. */
    world_advance(&t.w, CHECK_MS - 1);
    assert_string_equal(tls_world_try(&t), "");
    world_advance(&t.w, 1);
    assert_string_equal(tls_world_try(&t), "");
    assert_int_equal(t.server.accepted, i + 1);
  }
  assert_false(tls_world_leaks(&t, NULL, "PRIVATE"));
  tls_world_close(&t);
  for (int i = 0; i < 3; i++) {
    finish_pair(&pairs[i]);
  }
}

/* AU-03: a server that closes or resets in the handshake may have refused the
 * certificate or the session without an alert. Neither is offered again before
 * the files have been looked at. */
static void test_tls_files_after_hang_up(void **state) {
  (void)state;
  tls_world t;
  pair_files files;
  pair pairs[3] = {make_pair(0), make_pair(1), make_pair(2)};
  open_with_pair(&t, &files, &pairs[0], &hello, 1);
  assert_string_equal(tls_world_try(&t), "");
  for (int i = 1; i <= 2; i++) {
    assert_string_equal(tls_world_try(&t), "");
    assert_int_equal(t.server.resumed, i);
    t.server.options.closes_at_hello = i == 1;
    t.server.options.resets_at_hello = i == 2;
    fetch f = {.world = &t.w};
    fetch_run(&f, &t.w, "/x");
    assert_int_equal(f.error.error_class, KIN_CLASS_CONNECT);
    fetch_finish(&f);
    t.server.options.closes_at_hello = false;
    t.server.options.resets_at_hello = false;
    assert_false(kin__tls_context_is_usable(t.w.transport->tls));
    write_pair(&files, &pairs[i]);
    pass_a_second(&t);
    assert_string_equal(tls_world_try(&t), "");
    assert_string_equal(t.server.last_client, pairs[i].name);
    assert_int_equal(t.server.resumed, i);
  }
  tls_world_close(&t);
  for (int i = 0; i < 3; i++) {
    finish_pair(&pairs[i]);
  }
}

/* AU-03: after a 401 a connection with a client certificate is not used again,
 * also if the files have not changed. */
static void test_tls_files_refused_pair(void **state) {
  (void)state;
  static const tls_reply replies[] = {
      {"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n", 0, TLS_KEEP},
      {HELLO, 0, TLS_KEEP}};
  tls_world t;
  pair_files files;
  pair made = make_pair(0);
  open_with_pair(&t, &files, &made, replies, 2);
  fetch f = {.world = &t.w};
  fetch_run(&f, &t.w, "/x");
  assert_int_equal(f.error.code, 0);
  assert_int_equal(f.status, 401);
  fetch_finish(&f);
  for (int i = 0; i < 2; i++) {
    assert_string_equal(tls_world_try(&t), "");
    assert_int_equal(t.server.accepted, 2);
  }
  tls_world_close(&t);
  finish_pair(&made);
}

/* The connection does not become idle for too long meanwhile. */
static void pass_a_check(tls_world *t) {
  for (int i = 0; i < 2; i++) {
    world_advance(&t->w, CHECK_MS / 2);
    assert_string_equal(tls_world_try(t), "");
  }
}

/* Files that are replaced by equal ones are read again, and nothing else
 * happens; twice. Then one byte is another. The first reading is no change. */
static void test_tls_files_rewritten(void **state) {
  (void)state;
  static const tls_reply keep = {HELLO, 0, TLS_KEEP};
  static const char line[] = "certificate files have changed";
  tls_world t;
  pair_files files;
  pair made = make_pair(0);
  open_with_pair(&t, &files, &made, &keep, 1);
  assert_string_equal(tls_world_try(&t), "");
  const kin__tls_context *context = t.w.transport->tls;
  for (unsigned i = 1; i <= 2; i++) {
    assert_int_equal(context->generation, i);
    write_pair(&files, &made);
    pass_a_check(&t);
  }
  assert_int_equal(context->generation, 3);
  assert_int_equal(context->edition, 0);
  assert_int_equal(t.server.accepted, 1);
  assert_false(tls_world_has_line(&t, line));
  char text[8192];
  snprintf(text, sizeof text, "%s\n", made.key);
  tls_write_file(files.key, text);
  pass_a_check(&t);
  assert_int_equal(context->edition, 1);
  assert_int_equal(t.server.accepted, 2);
  assert_true(tls_world_has_line(&t, line));
  tls_world_close(&t);
  finish_pair(&made);
}

/* A watch is not broken by a new pair, gets all that comes, and its connection
 * carries no other request; twice. */
static void test_tls_files_rotate_beside_watch(void **state) {
  (void)state;
  static const tls_reply replies[] = {{CHUNKED "1\r\na\r\n", 0, TLS_KEEP},
                                      {HELLO, 0, TLS_KEEP},
                                      {HELLO, 0, TLS_KEEP},
                                      {CHUNKED "1\r\na\r\n", 0, TLS_KEEP},
                                      {HELLO, 0, TLS_KEEP}};
  tls_world t;
  pair_files files;
  pair pairs[3] = {make_pair(0), make_pair(1), make_pair(2)};
  open_with_pair(&t, &files, &pairs[0], replies, 5);
  const kin__transport_stats *stats = kin__transport_get_stats(t.w.transport);
  for (int i = 1; i <= 2; i++) {
    fetch watch = {.world = &t.w};
    assert_int_equal(fetch_start(&watch, &t.w, "/x", true), 0);
    WORLD_UNTIL(&t.w, watch.bodies == 1);
    assert_string_equal(tls_world_try(&t), "");
    assert_string_equal(t.server.last_client, pairs[i - 1].name);
    write_pair(&files, &pairs[i]);
    world_advance(&t.w, CHECK_MS);
    assert_string_equal(tls_world_try(&t), "");
    assert_string_equal(t.server.last_client, pairs[i].name);
    /* The watch, and the new one. */
    assert_int_equal(stats->open_connections, 2);
    assert_int_equal(watch.ends, 0);
    tls_server_push(&t.server, "1\r\nb\r\n0\r\n\r\n");
    fetch_until_end(&watch);
    assert_int_equal(watch.error.code, 0);
    assert_string_equal(watch.body, "ab");
    fetch_finish(&watch);
    /* The push was unasked for on the new one, so both are closed. */
    WORLD_UNTIL(&t.w, stats->open_connections == 0);
  }
  tls_world_close(&t);
  for (int i = 0; i < 3; i++) {
    finish_pair(&pairs[i]);
  }
}

/* No session of an authority that is no longer trusted is resumed; twice. */
static void test_tls_files_session_ends_with_authority(void **state) {
  (void)state;
  authorities a = make_authorities();
  tls_world t;
  char path[128];
  const char *first = tls_pki_get()->authority_pem;
  open_with_file(&t, &hello, 1, path, sizeof path, first);
  assert_int_equal(tls_world_open(&t, "127.0.0.1"), 0);
  for (int i = 0; i < 2; i++) {
    assert_string_equal(tls_world_try(&t), "");
    assert_string_equal(tls_world_try(&t), "");
    assert_int_equal(t.server.resumed, i + 1);
    tls_write_file(path, a.second_pem);
    pass_a_second(&t);
    tls_assert_words(tls_world_try(&t), "certificate is not trusted");
    pass_a_second(&t);
    tls_assert_words(tls_world_try(&t), "certificate is not trusted");
    assert_int_equal(t.server.resumed, i + 1);
    tls_write_file(path, first);
    pass_a_second(&t);
  }
  assert_string_equal(tls_world_try(&t), "");
  tls_world_close(&t);
  finish_authorities(&a);
}

/* AU-04: a session that an old connection gets late is not resumed either. */
static void test_tls_files_late_session(void **state) {
  (void)state;
  authorities a = make_authorities();
  tls_world t;
  char path[128];
  open_with_file(&t, &hello, 1, path, sizeof path,
                 tls_pki_get()->authority_pem);
  assert_int_equal(tls_world_open(&t, "127.0.0.1"), 0);
  fetch f = {.world = &t.w};
  assert_int_equal(fetch_start(&f, &t.w, "/x", false), 0);
  const kin__transport_stats *stats = kin__transport_get_stats(t.w.transport);
  WORLD_UNTIL(&t.w, stats->requests == 1);
  kin__exchange_pause(f.exchange); /* the session stays in the socket */
  WORLD_UNTIL(&t.w, t.server.requests == 1);
  tls_write_file(path, a.second_pem);
  pass_a_second(&t);
  tls_assert_words(tls_world_try(&t), "certificate is not trusted");
  kin__exchange_resume(f.exchange);
  fetch_until_end(&f);
  fetch_assert_hello(&f);
  fetch_finish(&f);
  tls_assert_words(tls_world_try(&t), "certificate is not trusted");
  assert_int_equal(t.server.resumed, 0);
  tls_world_close(&t);
  finish_authorities(&a);
}

/* A changed file ends the session even if it has the same authority, also
 * while a response of the old connection goes on; twice. */
static void test_tls_files_session_ends_with_file(void **state) {
  (void)state;
  static const tls_reply replies[] = {{CHUNKED "1\r\na\r\n", 0, TLS_KEEP},
                                      {HELLO_CLOSE, 0, TLS_CLOSE}};
  tls_world t;
  char path[128];
  open_with_file(&t, replies, 2, path, sizeof path,
                 tls_pki_get()->authority_pem);
  assert_int_equal(tls_world_open(&t, "127.0.0.1"), 0);
  for (int i = 0; i < 2; i++) {
    fetch watch = {.world = &t.w};
    assert_int_equal(fetch_start(&watch, &t.w, "/x", true), 0);
    t.server.requests = 0;
    WORLD_UNTIL(&t.w, watch.bodies == 1);
    size_t resumed = t.server.resumed;
    char text[8192];
    snprintf(text, sizeof text, "# %d\n%s", i, tls_pki_get()->authority_pem);
    tls_write_file(path, text);
    pass_a_second(&t);
    assert_string_equal(tls_world_try(&t), "");
    assert_int_equal(t.server.resumed, resumed);
    tls_server_push(&t.server, "0\r\n\r\n");
    fetch_until_end(&watch);
    fetch_finish(&watch);
    WORLD_UNTIL(&t.w,
                kin__transport_get_stats(t.w.transport)->open_connections == 0);
  }
  tls_world_close(&t);
}

/* --- The pool's threads --------------------------------------------------- */

/* Nothing is parsed on the loop: without the pool, exchanges wait, and give up
 * in time. With it, one building serves all that have waited. */
static void test_tls_files_wait(void **state) {
  (void)state;
  tls_world t;
  tls_world_setup(&t, &hello, 1);
  pool_plug p;
  plug_open(&p, &t.w.loop);
  fetch fetches[4] = {{.world = NULL}};
  for (size_t i = 0; i < 4; i++) {
    assert_int_equal(fetch_start(&fetches[i], &t.w, "/x", i == 3), 0);
  }
  world_run_tasks(&t.w);
  kin__exchange_cancel(fetches[3].exchange);
  fetches[3].exchange = NULL;
  world_advance(&t.w, WORLD_CONNECT_MS - 1);
  assert_int_equal(fetches[0].ends, 0);
  fetch late = {.world = &t.w};
  assert_int_equal(fetch_start(&late, &t.w, "/late", false), 0);
  world_run_tasks(&t.w);
  world_advance(&t.w, 1);
  for (size_t i = 0; i < 3; i++) {
    assert_int_equal(fetches[i].ends, 1);
    assert_int_equal(fetches[i].error.code, KIN_ETIMEDOUT);
    assert_int_equal(fetches[i].error.error_class, KIN_CLASS_TLS);
    tls_assert_words(fetches[i].error.message, "were not read within 10000 ms");
    fetch_finish(&fetches[i]);
  }
  plug_pull(&p);
  fetch_until_end(&late);
  assert_string_equal(late.error.message, "");
  assert_int_equal(t.w.transport->tls->generation, 1);
  fetch_finish(&late);
  tls_world_close(&t);
  plug_close(&p);
}

/* The loop was blocked for longer than a request waits for certificates, and
 * they have been read meanwhile. */
static void test_tls_files_on_a_late_loop(void **state) {
  (void)state;
  tls_world t;
  tls_world_setup(&t, &hello, 1);
  pool_plug p;
  plug_open(&p, &t.w.loop);
  fetch f = {.world = &t.w};
  assert_int_equal(fetch_start(&f, &t.w, "/x", false), 0);
  world_run_tasks(&t.w);
  world_advance(&t.w, WORLD_CONNECT_MS + 1000);
  assert_int_equal(f.ends, 0);
  plug_pull(&p);
  fetch_until_end(&f);
  assert_string_equal(f.error.message, "");
  fetch_finish(&f);
  tls_world_close(&t);
  plug_close(&p);
}

/* The pool has no time to look at files that have been read before: a request on
 * a kept connection and one on a new connection wait for a second, later ones do
 * not wait, and all have the certificates in hand. Then a replaced pair is
 * used. */
static void test_tls_files_busy_pool(void **state) {
  (void)state;
  static const tls_reply keep = {HELLO, 0, TLS_KEEP};
  tls_world t;
  pair_files files;
  pair pairs[2] = {make_pair(0), make_pair(1)};
  open_with_pair(&t, &files, &pairs[0], &keep, 1);
  assert_string_equal(tls_world_try(&t), "");
  world_advance(&t.w, CHECK_MS - 1);
  assert_string_equal(tls_world_try(&t), "");
  world_advance(&t.w, 1);
  write_pair(&files, &pairs[1]);
  pool_plug plug;
  plug_open(&plug, &t.w.loop);
  fetch fetches[2] = {{.world = &t.w}, {.world = &t.w}};
  for (size_t i = 0; i < 2; i++) {
    assert_int_equal(fetch_start(&fetches[i], &t.w, "/x", false), 0);
  }
  world_run_tasks(&t.w);
  world_advance(&t.w, KIN__PATIENCE_MS - 1);
  for (size_t i = 0; i < 2; i++) {
    assert_int_equal(fetches[i].exchange->state, KIN__EXCHANGE_WAITING);
  }
  world_advance(&t.w, 1);
  for (size_t i = 0; i < 2; i++) {
    fetch_until_end(&fetches[i]);
    fetch_assert_hello(&fetches[i]);
    fetch_finish(&fetches[i]);
  }
  assert_int_equal(t.server.accepted, 2);
  assert_string_equal(tls_world_try(&t), "");
  plug_pull(&plug);
  WORLD_UNTIL(&t.w, t.w.transport->tls->edition == 1);
  assert_string_equal(tls_world_try(&t), "");
  assert_int_equal(t.server.accepted, 3);
  tls_world_close(&t);
  plug_close(&plug);
  finish_pair(&pairs[0]);
  finish_pair(&pairs[1]);
}

/* A pair that was given is waited for, whether its context is being built yet or
 * not: the one in hand presents another pair. */
static void check_busy_pool_and_new_pair(bool is_built) {
  tls_world t;
  pair_files files;
  pair pairs[2] = {make_pair(0), make_pair(1)};
  open_with_pair(&t, &files, &pairs[0], &hello, 1);
  assert_string_equal(tls_world_try(&t), "");
  world_advance(&t.w, KIN__TLS_CHECK_INTERVAL_MS);
  pool_plug plugs[2];
  plug_open(&plugs[0], &t.w.loop);
  fetch f = {.world = &t.w};
  assert_int_equal(fetch_start(&f, &t.w, "/x", false), 0);
  world_run_tasks(&t.w);
  world_advance(&t.w, KIN__PATIENCE_MS - 1);
  kin__tls_context *context = t.w.transport->tls;
  assert_int_equal(
      kin__tls_context_set_pair(context, pairs[1].pem, pairs[1].key), 0);
  if (is_built) { /* behind the second plug */
    plug_pull(&plugs[0]);
    plug_open(&plugs[1], &t.w.loop);
    WORLD_UNTIL(&t.w, context->is_pair_new);
  }
  world_advance(&t.w, 1);
  assert_int_equal(f.exchange->state, KIN__EXCHANGE_WAITING);
  world_advance(&t.w, KIN__PATIENCE_MS);
  assert_int_equal(f.exchange->state, KIN__EXCHANGE_WAITING);
  plug_pull(&plugs[is_built]);
  fetch_until_end(&f);
  fetch_assert_hello(&f);
  assert_false(context->is_pair_new);
  fetch_finish(&f);
  tls_world_close(&t);
  for (int i = 0; i <= is_built; i++) {
    plug_close(&plugs[i]);
  }
  finish_pair(&pairs[0]);
  finish_pair(&pairs[1]);
}

static void test_tls_files_busy_pool_and_new_pair(void **state) {
  (void)state;
  check_busy_pool_and_new_pair(false);
  check_busy_pool_and_new_pair(true);
}

/* A pair that the server has refused is not presented again while the files
 * wait to be looked at, nor is the authority in hand used once TLS has failed.
 * So it is for a request that waits already. */
static void check_busy_pool_and_refused_pair(bool is_refused_late) {
  static const tls_reply keep = {HELLO, 0, TLS_KEEP};
  tls_world t;
  pair_files files;
  pair pairs[2] = {make_pair(0), make_pair(1)};
  open_with_pair(&t, &files, &pairs[0], &keep, 1);
  assert_string_equal(tls_world_try(&t), "");
  write_pair(&files, &pairs[1]);
  kin__tls_context *context = t.w.transport->tls;
  kin__pool_finish(&t.w.transport->pool);
  if (!is_refused_late) {
    kin__tls_context_suspect(context);
  }
  world_advance(&t.w, KIN__TLS_CHECK_INTERVAL_MS);
  pool_plug plug;
  plug_open(&plug, &t.w.loop);
  fetch f = {.world = &t.w};
  assert_int_equal(fetch_start(&f, &t.w, "/x", false), 0);
  world_run_tasks(&t.w);
  if (is_refused_late) {
    kin__tls_context_suspect(context);
  }
  world_advance(&t.w, 2 * KIN__PATIENCE_MS);
  assert_int_equal(f.exchange->state, KIN__EXCHANGE_WAITING);
  plug_pull(&plug);
  fetch_until_end(&f);
  fetch_assert_hello(&f);
  assert_int_equal(context->edition, 1);
  fetch_finish(&f);
  tls_world_close(&t);
  plug_close(&plug);
  finish_pair(&pairs[0]);
  finish_pair(&pairs[1]);
}

static void test_tls_files_busy_pool_and_refused_pair(void **state) {
  (void)state;
  check_busy_pool_and_refused_pair(false);
  check_busy_pool_and_refused_pair(true);
}

/* Closing waits for the pool, whether the work has begun or not. */
static void test_tls_files_close_while_building(void **state) {
  (void)state;
  for (int is_plugged = 0; is_plugged < 2; is_plugged++) {
    tls_world t;
    tls_world_setup(&t, &hello, 1);
    pool_plug p;
    if (is_plugged) {
      plug_open(&p, &t.w.loop);
    }
    fetch f = {.world = &t.w};
    assert_int_equal(fetch_start(&f, &t.w, "/x", false), 0);
    world_run_tasks(&t.w);
    if (is_plugged) {
      plug_pull(&p);
    }
    tls_world_close(&t);
    assert_int_equal(f.callbacks, 0);
    if (is_plugged) {
      plug_close(&p);
    }
  }
}

int main(void) {
  setenv("UV_THREADPOOL_SIZE", "4", 1);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_tls_files_appear),
      cmocka_unit_test(test_tls_files_replaced_authority),
      cmocka_unit_test(test_tls_files_spoilt_authority),
      cmocka_unit_test(test_tls_files_replaced_pair),
      cmocka_unit_test(test_tls_files_system),
      cmocka_unit_test(test_tls_files_system_directories),
      cmocka_unit_test(test_tls_files_unchanged),
      cmocka_unit_test(test_tls_files_change_and_open_connections),
      cmocka_unit_test(test_tls_files_rotate_on_kept_connection),
      cmocka_unit_test(test_tls_files_refused_pair),
      cmocka_unit_test(test_tls_files_rewritten),
      cmocka_unit_test(test_tls_files_after_hang_up),
      cmocka_unit_test(test_tls_files_rotate_beside_watch),
      cmocka_unit_test(test_tls_files_session_ends_with_authority),
      cmocka_unit_test(test_tls_files_late_session),
      cmocka_unit_test(test_tls_files_session_ends_with_file),
      cmocka_unit_test(test_tls_files_wait),
      cmocka_unit_test(test_tls_files_on_a_late_loop),
      cmocka_unit_test(test_tls_files_busy_pool),
      cmocka_unit_test(test_tls_files_busy_pool_and_new_pair),
      cmocka_unit_test(test_tls_files_busy_pool_and_refused_pair),
      cmocka_unit_test(test_tls_files_close_while_building),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  tls_pki_finish();
  return failed;
}
