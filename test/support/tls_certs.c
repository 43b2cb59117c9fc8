/* SPDX-License-Identifier: MIT */
#include "support/tls_certs.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#define CHECK(condition)                                                       \
  do {                                                                         \
    if (!(condition)) {                                                        \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);          \
      ERR_print_errors_fp(stderr);                                             \
      abort();                                                                 \
    }                                                                          \
  } while (0)

#define HOUR_S 3600
#define DAY_S (24 * HOUR_S)

static void add_extension(X509 *certificate, X509 *issuer, int nid,
                          const char *value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, NULL, NULL, 0);
  X509_EXTENSION *extension =
      X509V3_EXT_conf_nid(NULL, &context, nid, (char *)value);
  CHECK(extension != NULL);
  CHECK(X509_add_ext(certificate, extension, -1) == 1);
  X509_EXTENSION_free(extension);
}

static void set_validity(X509 *certificate, const tls_cert_options *options) {
  bool is_default = options->from_s == 0 && options->until_s == 0;
  long from_s = is_default ? -HOUR_S : options->from_s;
  long until_s = is_default ? DAY_S : options->until_s;
  CHECK(X509_gmtime_adj(X509_getm_notBefore(certificate), from_s) != NULL);
  CHECK(X509_gmtime_adj(X509_getm_notAfter(certificate), until_s) != NULL);
}

tls_cert tls_cert_make(const tls_cert_options *options) {
  static long serial = 1000;
  tls_cert cert = {.certificate = X509_new(), .key = EVP_EC_gen("P-256")};
  X509 *x = cert.certificate;
  CHECK(x != NULL && cert.key != NULL);
  const tls_cert *issuer = options->issuer != NULL ? options->issuer : &cert;
  CHECK(X509_set_version(x, X509_VERSION_3) == 1);
  CHECK(ASN1_INTEGER_set(X509_get_serialNumber(x), ++serial) == 1);
  set_validity(x, options);
  X509_NAME *name = X509_get_subject_name(x);
  CHECK(X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8,
                                   (const unsigned char *)options->name, -1, -1,
                                   0) == 1);
  CHECK(X509_set_issuer_name(x, X509_get_subject_name(issuer->certificate)) ==
        1);
  CHECK(X509_set_pubkey(x, cert.key) == 1);
  add_extension(x, issuer->certificate, NID_basic_constraints,
                options->is_authority ? "critical,CA:TRUE" : "CA:FALSE");
  if (options->alternatives != NULL) {
    add_extension(x, issuer->certificate, NID_subject_alt_name,
                  options->alternatives);
  }
  CHECK(X509_sign(x, issuer->key, EVP_sha256()) > 0);
  return cert;
}

void tls_cert_finish(tls_cert *cert) {
  X509_free(cert->certificate);
  EVP_PKEY_free(cert->key);
  *cert = (tls_cert){.key = NULL};
}

static char *take_text(BIO *bio) {
  char *bytes;
  long length = BIO_get_mem_data(bio, &bytes);
  char *text = malloc((size_t)length + 1);
  CHECK(text != NULL);
  memcpy(text, bytes, (size_t)length);
  text[length] = '\0';
  BIO_free(bio);
  return text;
}

char *tls_cert_pem(const tls_cert *cert) {
  BIO *bio = BIO_new(BIO_s_mem());
  CHECK(bio != NULL && PEM_write_bio_X509(bio, cert->certificate) == 1);
  return take_text(bio);
}

char *tls_cert_key_pem(const tls_cert *cert) {
  BIO *bio = BIO_new(BIO_s_mem());
  CHECK(bio != NULL && PEM_write_bio_PrivateKey(bio, cert->key, NULL, NULL, 0,
                                                NULL, NULL) == 1);
  return take_text(bio);
}

static tls_pki pki;

const tls_pki *tls_pki_get(void) {
  if (pki.authority_pem == NULL) {
    pki.authority = tls_cert_make(
        &(tls_cert_options){.name = "test authority", .is_authority = true});
    pki.server = tls_cert_make(
        &(tls_cert_options){.name = "server",
                            .alternatives = "DNS:localhost,IP:127.0.0.1",
                            .issuer = &pki.authority});
    pki.client = tls_cert_make(
        &(tls_cert_options){.name = "client", .issuer = &pki.authority});
    pki.authority_pem = tls_cert_pem(&pki.authority);
    pki.client_pem = tls_cert_pem(&pki.client);
    pki.client_key_pem = tls_cert_key_pem(&pki.client);
    ERR_clear_error();
  }
  return &pki;
}

void tls_pki_finish(void) {
  tls_cert_finish(&pki.authority);
  tls_cert_finish(&pki.server);
  tls_cert_finish(&pki.client);
  free(pki.authority_pem);
  free(pki.client_pem);
  free(pki.client_key_pem);
  pki = (tls_pki){.authority_pem = NULL};
}

void tls_write_file(const char *path, const char *text) {
  char temporary[512];
  snprintf(temporary, sizeof temporary, "%s.new", path);
  FILE *file = fopen(temporary, "w");
  CHECK(file != NULL);
  CHECK(fputs(text, file) >= 0);
  CHECK(fclose(file) == 0);
  CHECK(rename(temporary, path) == 0);
}

void tls_remove_directory(const char *path) {
  DIR *dir = opendir(path);
  CHECK(dir != NULL);
  for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
    char name[512];
    snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
    (void)unlink(name); /* not "." and ".." */
  }
  closedir(dir);
  CHECK(rmdir(path) == 0);
}
