/* SPDX-License-Identifier: MIT */
/* Proves TR-01, TR-02 and TR-04 as far as settings go: what cannot be
 * understood is refused in words, and what is trusted is what was asked for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sys/stat.h>
#include <unistd.h>

#include <openssl/pem.h>

#include "support/tls_world.h"

static const tls_reply hello = {.bytes = HELLO_CLOSE, .then = TLS_CLOSE};

/* --- Options -------------------------------------------------------------- */

static void check_options(kin__tls_options options, const char *words) {
  tls_world t;
  tls_world_init(&t, NULL, 0, 0);
  t.tls = options;
  assert_int_equal(tls_world_open_at(&t, "https://127.0.0.1:1"), KIN_EINVAL);
  assert_null(t.w.transport);
  assert_true(tls_world_has_line(&t, words));
  tls_world_close(&t);
}

static void check_taken(kin__tls_options options) {
  tls_world t;
  tls_world_init(&t, NULL, 0, 0);
  t.tls = options;
  assert_int_equal(tls_world_open_at(&t, "https://127.0.0.1:1"), 0);
  tls_world_close(&t);
}

static void test_tls_settings_options(void **state) {
  (void)state;
  check_options((kin__tls_options){.authority_data = "x", .is_insecure = true},
                "exclude each other");
  check_options((kin__tls_options){.authority_file = "x", .is_insecure = true},
                "exclude each other");
  check_options((kin__tls_options){.certificate_file = "x"},
                "without a client key");
  check_options((kin__tls_options){.key_data = "x"},
                "without a client certificate");
  check_options((kin__tls_options){.authority_data = ""}, "empty string");
  check_options((kin__tls_options){.server_name = ""}, "empty string");
  check_options((kin__tls_options){.server_name = "a b"}, "neither a host");
  check_options((kin__tls_options){.server_name = "a\r\nb"}, "neither a host");
  char name[255];
  memset(name, 'a', sizeof name - 1);
  name[sizeof name - 1] = '\0';
  check_options((kin__tls_options){.server_name = name}, "neither a host");
  check_taken((kin__tls_options){.server_name = name + 1});
  char *large = malloc(KIN__TLS_MAX_PEM_BYTES + 2);
  assert_non_null(large);
  memset(large, 'x', KIN__TLS_MAX_PEM_BYTES + 1);
  large[KIN__TLS_MAX_PEM_BYTES + 1] = '\0';
  check_options((kin__tls_options){.authority_data = large}, "over 2 MiB");
  free(large);
}

/* --- What cannot be understood -------------------------------------------- */

/* The text as a file and as data; %s in `words` is what it is called. */
static void check_part(const char *kind, const char *text, const char *words) {
  const tls_pki *pki = tls_pki_get();
  for (int is_data = 0; is_data < 2; is_data++) {
    tls_world t;
    char path[128];
    char expected[300];
    tls_world_init(&t, &hello, 1, 0);
    tls_world_path(&t, "part", path, sizeof path);
    tls_write_file(path, text);
    const char *file = is_data ? NULL : path;
    const char *data = is_data ? text : NULL;
    if (strcmp(kind, "certificate authority") == 0) {
      t.tls.authority_data = data;
      t.tls.authority_file = file;
    } else {
      bool is_key = strcmp(kind, "client key") == 0;
      t.tls.certificate_data = is_key ? pki->client_pem : data;
      t.tls.certificate_file = is_key ? NULL : file;
      t.tls.key_data = is_key ? data : pki->client_key_pem;
      t.tls.key_file = is_key ? file : NULL;
    }
    assert_int_equal(tls_world_open(&t, "127.0.0.1"), 0);
    snprintf(expected, sizeof expected, "tls: %s%s%s: %s", kind,
             is_data ? "" : " file ", is_data ? "" : path, words);
    tls_assert_words(tls_world_try(&t), expected);
    tls_assert_words(tls_world_try(&t), expected); /* again, not remembered */
    assert_int_equal(t.server.accepted, 0);
    assert_false(tls_world_leaks(&t, NULL, "BEGIN"));
    tls_world_close(&t);
  }
}

static void test_tls_settings_authority(void **state) {
  (void)state;
  const tls_pki *pki = tls_pki_get();
  char *cut = strdup(pki->authority_pem);
  assert_non_null(cut);
  cut[strlen(cut) / 2] = '\0';
  char two[8192];
  snprintf(two, sizeof two, "%s%s", pki->authority_pem, cut);
  check_part("certificate authority", "no PEM\n", "no certificate in it");
  check_part("certificate authority", "\n", "no certificate in it");
  check_part("certificate authority", pki->client_key_pem,
             "no certificate in it");
  check_part("certificate authority", cut, "cannot be parsed: ");
  check_part("certificate authority", two, "cannot be parsed: ");
  check_part("certificate authority",
             "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n",
             "cannot be parsed: ");
  free(cut);
}

static char *encrypted_key(void) {
  BIO *bio = BIO_new(BIO_s_mem());
  char *bytes;
  assert_int_equal(PEM_write_bio_PrivateKey(
                       bio, tls_pki_get()->client.key, EVP_aes_128_cbc(),
                       (const unsigned char *)"secret", 6, NULL, NULL),
                   1);
  long length = BIO_get_mem_data(bio, &bytes);
  char *text = strndup(bytes, (size_t)length);
  BIO_free(bio);
  assert_non_null(text);
  return text;
}

static void test_tls_settings_pair(void **state) {
  (void)state;
  const tls_pki *pki = tls_pki_get();
  check_part("client certificate", "no PEM\n", "no certificate in it");
  check_part("client certificate", pki->client_key_pem, "no certificate in it");
  check_part("client key", "no PEM\n", "no key in it");
  check_part("client key", pki->client_pem, "no key in it");
  check_part("client key",
             "-----BEGIN PRIVATE KEY-----\nMIGH\n-----END PRIVATE KEY-----\n",
             "cannot be parsed: ");

  char *text = encrypted_key();
  check_part("client key", text, "it is encrypted");
  free(text);

  tls_cert other = tls_cert_make(&(tls_cert_options){.name = "x"});
  text = tls_cert_key_pem(&other);
  check_part("client key", text,
             "it does not belong to the client certificate");
  free(text);
  EVP_PKEY_free(other.key);
  other.key = EVP_RSA_gen(2048);
  text = tls_cert_key_pem(&other);
  check_part("client key", text,
             "it does not belong to the client certificate");
  free(text);
  tls_cert_finish(&other);
}

static void check_path(const char *path, const char *words) {
  tls_world t;
  tls_world_init(&t, &hello, 1, 0);
  t.tls = (kin__tls_options){.authority_file = path};
  assert_int_equal(tls_world_open(&t, "127.0.0.1"), 0);
  tls_assert_words(tls_world_try(&t), words);
  tls_world_close(&t);
}

static void test_tls_settings_unreadable(void **state) {
  (void)state;
  check_path("/nowhere/ca.crt",
             "tls: certificate authority file /nowhere/ca.crt: ");
  check_path("/nowhere/ca.crt", kin_strerror(UV_ENOENT));
  check_path("/proc", "certificate authority file /proc: ");
  check_path("/dev/zero", "/dev/zero: not a regular file");
  char name[] = "/tmp/kin-fifo-XXXXXX";
  assert_non_null(mkdtemp(name));
  char path[64];
  snprintf(path, sizeof path, "%s/f", name);
  assert_int_equal(mkfifo(path, 0600), 0);
  check_path(path, "not a regular file");
  assert_int_equal(unlink(path), 0);

  /* 3 MiB, with nothing in it. */
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  assert_int_equal(ftruncate(fileno(file), 3 << 20), 0);
  fclose(file);
  check_path(path, "too large");
  assert_int_equal(unlink(path), 0);
  assert_int_equal(rmdir(name), 0);
}

/* --- What is trusted ------------------------------------------------------ */

/* An intermediate alone ends a chain, as does the server's own certificate. */
static void test_tls_settings_partial_chain(void **state) {
  (void)state;
  tls_cert root =
      tls_cert_make(&(tls_cert_options){.name = "root", .is_authority = true});
  tls_cert middle = tls_cert_make(&(tls_cert_options){
      .name = "middle", .is_authority = true, .issuer = &root});
  tls_cert server = tls_cert_make(&(tls_cert_options){
      .name = "x", .alternatives = "IP:127.0.0.1", .issuer = &middle});
  const tls_cert *const trusted[] = {&middle, &server};
  for (size_t i = 0; i < 2; i++) {
    char *pem = tls_cert_pem(trusted[i]);
    tls_world t;
    tls_world_init(&t, &hello, 1, 0);
    t.serve.certificate = &server;
    t.tls.authority_data = pem;
    assert_int_equal(tls_world_open(&t, "127.0.0.1"), 0);
    assert_string_equal(tls_world_try(&t), "");
    tls_world_close(&t);
    free(pem);
  }
  tls_cert_finish(&root);
  tls_cert_finish(&middle);
  tls_cert_finish(&server);
}

/* Data beats the file (TR-01). */
static void test_tls_settings_precedence(void **state) {
  (void)state;
  tls_world t;
  tls_world_init(&t, &hello, 1, 0);
  t.tls.authority_file = "/nowhere/ca.crt";
  assert_int_equal(tls_world_open(&t, "127.0.0.1"), 0);
  assert_string_equal(tls_world_try(&t), "");
  tls_world_close(&t);
}

/* TR-01, TR-04: each part of the pair is data or a file, and data beats the
 * file. */
static void test_tls_settings_pair_sources(void **state) {
  (void)state;
  const tls_pki *pki = tls_pki_get();
  char certificate[128];
  char key[128];
  for (int from_data = 0; from_data < 4; from_data++) {
    bool is_data[2] = {from_data % 2 != 0, from_data / 2 != 0};
    tls_world t;
    tls_world_init(&t, &hello, 1, 0);
    tls_world_path(&t, "tls.crt", certificate, sizeof certificate);
    tls_world_path(&t, "tls.key", key, sizeof key);
    tls_write_file(certificate, is_data[0] ? "no PEM\n" : pki->client_pem);
    tls_write_file(key, is_data[1] ? "no PEM\n" : pki->client_key_pem);
    t.serve.client_authority = &pki->authority;
    t.tls.certificate_file = certificate;
    t.tls.certificate_data = is_data[0] ? pki->client_pem : NULL;
    t.tls.key_file = key;
    t.tls.key_data = is_data[1] ? pki->client_key_pem : NULL;
    assert_int_equal(tls_world_open(&t, "127.0.0.1"), 0);
    assert_string_equal(tls_world_try(&t), "");
    assert_string_equal(t.server.last_client, "client");
    tls_world_close(&t);
  }
}

/* TR-01, TR-02: beside a given authority the system's do not count, not even if
 * its file is empty. */
static void test_tls_settings_only_authority(void **state) {
  (void)state;
  tls_cert other =
      tls_cert_make(&(tls_cert_options){.name = "other", .is_authority = true});
  char *pem = tls_cert_pem(&other);
  const char *const texts[] = {NULL, pem, pem, ""};
  for (size_t i = 0; i < 4; i++) {
    tls_world t;
    char bundle[128];
    char path[128];
    tls_world_init(&t, &hello, 1, 0);
    tls_world_path(&t, "bundle", bundle, sizeof bundle);
    tls_world_path(&t, "ca.crt", path, sizeof path);
    tls_write_file(bundle, tls_pki_get()->authority_pem);
    setenv("SSL_CERT_FILE", bundle, 1);
    t.tls = (kin__tls_options){.server_name = NULL};
    if (i == 1) {
      t.tls.authority_data = texts[i];
    } else if (texts[i] != NULL) {
      tls_write_file(path, texts[i]);
      t.tls.authority_file = path;
    }
    assert_int_equal(tls_world_open(&t, "127.0.0.1"), 0);
    unsetenv("SSL_CERT_FILE");
    const char *message = tls_world_try(&t);
    if (texts[i] == NULL) {
      assert_string_equal(message, "");
    } else {
      tls_assert_words(message, "certificate is not trusted");
      assert_int_equal(t.server.requests, 0);
    }
    tls_world_close(&t);
  }
  free(pem);
  tls_cert_finish(&other);
}

/* Without an authority it is the system's certificates, which SSL_CERT_FILE may
 * name; broken ones among them are passed over. */
static void test_tls_settings_system(void **state) {
  (void)state;
  tls_world t;
  char path[128];
  char bundle[8192];
  tls_world_init(&t, &hello, 1, 0);
  tls_world_path(&t, "bundle", path, sizeof path);
  snprintf(bundle, sizeof bundle,
           "# bundle\n-----BEGIN CERTIFICATE-----\nMIIB\n"
           "-----END CERTIFICATE-----\n\n%s",
           tls_pki_get()->authority_pem);
  tls_write_file(path, bundle);
  setenv("SSL_CERT_FILE", path, 1);
  t.tls = (kin__tls_options){.server_name = NULL};
  assert_int_equal(tls_world_open(&t, "127.0.0.1"), 0);
  assert_string_equal(tls_world_try(&t), "");
  tls_world_close(&t);

  /* The real ones do not know our authority. */
  unsetenv("SSL_CERT_FILE");
  tls_world_init(&t, &hello, 1, 0);
  t.tls = (kin__tls_options){.server_name = NULL};
  assert_int_equal(tls_world_open(&t, "127.0.0.1"), 0);
  tls_assert_words(tls_world_try(&t), "tls: ");
  tls_world_close(&t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_tls_settings_options),
      cmocka_unit_test(test_tls_settings_authority),
      cmocka_unit_test(test_tls_settings_pair),
      cmocka_unit_test(test_tls_settings_unreadable),
      cmocka_unit_test(test_tls_settings_partial_chain),
      cmocka_unit_test(test_tls_settings_precedence),
      cmocka_unit_test(test_tls_settings_pair_sources),
      cmocka_unit_test(test_tls_settings_only_authority),
      cmocka_unit_test(test_tls_settings_system),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  tls_pki_finish();
  return failed;
}
