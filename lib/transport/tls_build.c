/* SPDX-License-Identifier: MIT */
/* Trust. If an authority is given, it is the only one (TR-01); an empty file
 * trusts nothing (TR-02). As in Go, any certificate of an authority ends a
 * chain, self-signed or not. A subject alternative name must name the server;
 * the common name does not count.
 *
 * Every given part must be understood as a whole. A certificate that cannot be
 * parsed, a key without its certificate, or a key that does not fit is refused,
 * not skipped. Only the system's bundle, which no user wrote, may have broken
 * entries; these are skipped.
 *
 * The system's certificates come from one file, as on every living
 * distribution, and from the directories of SSL_CERT_DIR. All of them are read
 * here at once. OpenSSL's default would look up single files in a directory
 * during a handshake, on the loop. */
#include "transport/tls_build.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <uv.h>

#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <kin/error.h>

#include "base/hash.h"
#include "base/str.h"
#include "transport/tls_roots.h"

kin__library kin__tls_library(void) {
  unsigned long found = OpenSSL_version_num();
  kin__library library = {.name = "OpenSSL",
                          .built_for = OPENSSL_VERSION_STR,
                          .fits = found >> 28 == OPENSSL_VERSION_MAJOR};
  snprintf(library.found, sizeof library.found, "%s",
           OpenSSL_version(OPENSSL_VERSION));
  return library;
}

static const char *const part_names[KIN__TLS_PARTS] = {
    [KIN__TLS_AUTHORITY] = "certificate authority",
    [KIN__TLS_CERTIFICATE] = "client certificate",
    [KIN__TLS_KEY] = "client key",
};

/* The current PEM text: borrowed from the settings, or read into `scratch`. */
typedef struct pem {
  const char *bytes;
  size_t length;
  char *scratch;
} pem;

/* --- Failing -------------------------------------------------------------- */

static bool refuse(kin__tls_build *build, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static bool refuse(kin__tls_build *build, const char *format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(build->reason, sizeof build->reason, format, args);
  va_end(args);
  build->code = KIN_ETLSSETUP;
  return false;
}

/* "client key /x/y: " or "client key: ". */
static bool refuse_part(kin__tls_build *build, kin__tls_part part,
                        const char *why) {
  const kin__tls_settings *settings = build->settings;
  bool is_file = settings->data[part] == NULL && settings->file[part] != NULL;
  return refuse(build, "%s%s%s: %s", part_names[part], is_file ? " file " : "",
                is_file ? settings->file[part] : "", why);
}

/* Refuses a part for the reason on OpenSSL's queue. */
static bool refuse_openssl(kin__tls_build *build, kin__tls_part part) {
  char cause[KIN__TLS_REASON_SIZE];
  char why[KIN__TLS_REASON_SIZE + 32];
  int code = kin__tls_take_error(cause, sizeof cause);
  snprintf(why, sizeof why, "cannot be parsed: %s", cause);
  (void)refuse_part(build, part, code == KIN_ENOMEM ? cause : why);
  build->code = code == KIN_ENOMEM ? code : KIN_ETLSSETUP;
  return false;
}

/* --- Reading -------------------------------------------------------------- */

/* For changes only: another content with an equal hash does no harm but that
 * open connections stay. */
static void add_content(kin__tls_build *build, const char *bytes,
                        size_t length) {
  kin__hash_seed high = {build->content, 0};
  kin__hash_seed low = {build->content, 1};
  kin_str text = kin__str(bytes, length);
  build->content =
      (uint64_t)kin__hash(&high, text) << 32 | kin__hash(&low, text);
}

static bool make_scratch(kin__tls_build *build, kin__tls_part part, pem *text) {
  if (text->scratch == NULL) {
    text->scratch = OPENSSL_malloc(KIN__TLS_MAX_PEM_BYTES);
  }
  return text->scratch != NULL || refuse_openssl(build, part);
}

static bool read_file(kin__tls_build *build, kin__tls_part part,
                      const char *path, pem *text) {
  if (!make_scratch(build, part, text)) {
    return false;
  }
  text->bytes = text->scratch;
  int err = kin__file_read(path, text->scratch, KIN__TLS_MAX_PEM_BYTES,
                           &text->length, &build->files[part]);
  if (err != 0) {
    OPENSSL_cleanse(text->scratch, KIN__TLS_MAX_PEM_BYTES);
    (void)refuse(build, "%s file %s: %s", part_names[part], path,
                 kin__file_strerror(err));
    build->code = err == UV_ENOMEM ? KIN_ENOMEM : KIN_ETLSSETUP;
    return false;
  }
  add_content(build, text->bytes, text->length);
  return true;
}

static bool read_part(kin__tls_build *build, kin__tls_part part, pem *text) {
  const kin__tls_settings *settings = build->settings;
  if (settings->data[part] != NULL) {
    text->bytes = settings->data[part];
    text->length = strlen(text->bytes);
    return true;
  }
  return read_file(build, part, settings->file[part], text);
}

/* The text may be a key. */
static void wipe(pem *text) {
  if (text->bytes == text->scratch && text->scratch != NULL) {
    OPENSSL_cleanse(text->scratch, text->length);
  }
  text->bytes = NULL;
  text->length = 0;
}

/* --- Parsing -------------------------------------------------------------- */

/* Replaces OpenSSL's own, which asks the terminal. */
static int on_passphrase(char *buffer, int size, int is_writing, void *asked) {
  (void)buffer;
  (void)size;
  (void)is_writing;
  *(bool *)asked = true;
  return -1;
}

typedef bool (*take_certificate)(void *ctx, X509 *certificate, size_t index);

/* Gives each certificate to `take`, borrowed. Returns their number. Returns -1
 * if one could not be read (unless broken ones are skipped) or taken; the
 * reason is then on the queue. */
static int each_certificate(kin__tls_build *build, const pem *text,
                            bool pass_over, take_certificate take, void *ctx) {
  BIO *bio = BIO_new_mem_buf(text->bytes, (int)text->length);
  int count = bio != NULL ? 0 : -1;
  bool is_done = bio == NULL;
  while (!is_done) {
    bool is_asked = false;
    X509 *certificate = PEM_read_bio_X509(bio, NULL, on_passphrase, &is_asked);
    if (certificate != NULL) {
      is_done = !take(ctx, certificate, (size_t)count);
      count = is_done ? -1 : count + 1;
      X509_free(certificate);
      continue;
    }
    unsigned long error = ERR_peek_last_error();
    bool is_end = ERR_GET_LIB(error) == ERR_LIB_PEM &&
                  ERR_GET_REASON(error) == PEM_R_NO_START_LINE;
    if (is_end || pass_over) { /* continues after a broken entry */
      kin__tls_drop_errors(&build->is_starved);
    } else {
      count = -1;
    }
    is_done = is_end || count < 0 || build->is_starved;
  }
  BIO_free(bio);
  return count;
}

static bool trust(void *store, X509 *certificate, size_t index) {
  (void)index;
  return X509_STORE_add_cert(store, certificate) == 1;
}

static bool load_authority(kin__tls_build *build, X509_STORE *store,
                           pem *text) {
  if (!read_part(build, KIN__TLS_AUTHORITY, text)) {
    return false;
  }
  if (text->length == 0) {
    build->is_empty = true;
    return true;
  }
  int count = each_certificate(build, text, false, trust, store);
  if (count < 0) {
    return refuse_openssl(build, KIN__TLS_AUTHORITY);
  }
  return count > 0 ||
         refuse_part(build, KIN__TLS_AUTHORITY, "no certificate in it");
}

/* SSL_CERT_FILE, or the first bundle of those of distributions. */
static const char *system_bundle(const kin__tls_settings *settings,
                                 kin__file_id *id) {
  if (settings->system_file == NULL) {
    return kin__tls_roots_bundle(id);
  }
  (void)kin__file_stat(settings->system_file, id);
  return settings->system_file;
}

/* Beside a bundle only those of SSL_CERT_DIR: the others have the same
 * certificates, and twice the work. */
static bool uses_directories(const kin__tls_settings *settings,
                             const char *bundle) {
  return bundle == NULL || settings->system_directories != NULL;
}

typedef struct system_roots {
  kin__tls_build *build;
  X509_STORE *store;
  int count;
} system_roots;

static bool trust_system(void *ctx, const char *bytes, size_t length) {
  system_roots *roots = ctx;
  pem text = {.bytes = bytes, .length = length};
  add_content(roots->build, bytes, length);
  int count = each_certificate(roots->build, &text, true, trust, roots->store);
  roots->count += count > 0 ? count : 0;
  return count >= 0;
}

/* SSL_CERT_FILE may name no file, if a directory has certificates. */
static bool load_bundle(system_roots *roots, const char *path, pem *text) {
  kin__tls_build *build = roots->build;
  if (path == NULL) {
    return true;
  }
  if (!read_file(build, KIN__TLS_AUTHORITY, path, text)) {
    return build->settings->system_directories != NULL &&
           build->code != KIN_ENOMEM;
  }
  return trust_system(roots, text->bytes, text->length);
}

static bool load_system(kin__tls_build *build, X509_STORE *store, pem *text) {
  kin__file_id unused;
  const kin__tls_settings *settings = build->settings;
  const char *path = system_bundle(settings, &unused);
  system_roots roots = {.build = build, .store = store};
  bool is_good = make_scratch(build, KIN__TLS_AUTHORITY, text) &&
                 load_bundle(&roots, path, text);
  if (is_good && uses_directories(settings, path)) {
    is_good = kin__tls_roots_read(
        settings->system_directories, &build->files[KIN__TLS_AUTHORITY],
        text->scratch, KIN__TLS_MAX_PEM_BYTES, trust_system, &roots);
  }
  if (!is_good) {
    return build->code == 0 ? refuse_openssl(build, KIN__TLS_AUTHORITY) : false;
  }
  if (build->code != 0 && roots.count == 0) {
    return false;
  }
  build->code = 0;
  return path != NULL || roots.count > 0 ||
         refuse(build, "the system's certificates were not found; name a "
                       "certificate authority");
}

static bool take_own(void *context, X509 *certificate, size_t index) {
  return index == 0 ? SSL_CTX_use_certificate(context, certificate) == 1
                    : SSL_CTX_add1_chain_cert(context, certificate) == 1;
}

static bool load_certificate(kin__tls_build *build, SSL_CTX *context,
                             pem *text) {
  if (!read_part(build, KIN__TLS_CERTIFICATE, text)) {
    return false;
  }
  int count = each_certificate(build, text, false, take_own, context);
  if (count < 0) {
    return refuse_openssl(build, KIN__TLS_CERTIFICATE);
  }
  return count > 0 ||
         refuse_part(build, KIN__TLS_CERTIFICATE, "no certificate in it");
}

/* OpenSSL reports a missing block as "unsupported". */
static bool has_key_block(const pem *text) {
  static const char end[] = "PRIVATE KEY-----";
  return memmem(text->bytes, text->length, end, sizeof end - 1) != NULL;
}

static bool is_mismatch(void) {
  unsigned long error = ERR_peek_error();
  int reason = ERR_GET_REASON(error);
  return (ERR_GET_LIB(error) == ERR_LIB_X509 &&
          (reason == X509_R_KEY_VALUES_MISMATCH ||
           reason == X509_R_KEY_TYPE_MISMATCH)) ||
         (ERR_GET_LIB(error) == ERR_LIB_SSL &&
          reason == SSL_R_NO_CERTIFICATE_ASSIGNED);
}

static bool load_key(kin__tls_build *build, SSL_CTX *context, pem *text) {
  if (!read_part(build, KIN__TLS_KEY, text)) {
    return false;
  }
  BIO *bio = BIO_new_mem_buf(text->bytes, (int)text->length);
  bool is_asked = false;
  EVP_PKEY *key =
      bio != NULL ? PEM_read_bio_PrivateKey(bio, NULL, on_passphrase, &is_asked)
                  : NULL;
  BIO_free(bio);
  if (is_asked) {
    return refuse_part(build, KIN__TLS_KEY, "it is encrypted");
  }
  if (key == NULL) {
    return has_key_block(text)
               ? refuse_openssl(build, KIN__TLS_KEY)
               : refuse_part(build, KIN__TLS_KEY, "no key in it");
  }
  int is_used = SSL_CTX_use_PrivateKey(context, key);
  EVP_PKEY_free(key);
  if (is_used == 1 && SSL_CTX_check_private_key(context) == 1) {
    return true;
  }
  return is_mismatch()
             ? refuse_part(build, KIN__TLS_KEY,
                           "it does not belong to the client certificate")
             : refuse_openssl(build, KIN__TLS_KEY);
}

/* --- The context ---------------------------------------------------------- */

static bool set_name(SSL_CTX *context, const kin__tls_settings *settings) {
  X509_VERIFY_PARAM *param = SSL_CTX_get0_param(context);
  X509_VERIFY_PARAM_set_hostflags(param,
                                  X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS |
                                      X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
  const unsigned char *ip = settings->address;
  size_t skipped = kin__ip_is_ip4(ip) ? KIN__IP_BYTES - KIN__IP4_BYTES : 0;
  int is_set = settings->is_address
                   ? X509_VERIFY_PARAM_set1_ip(param, ip + skipped,
                                               KIN__IP_BYTES - skipped)
                   : X509_VERIFY_PARAM_set1_host(param, settings->name, 0);
  return is_set == 1 &&
         X509_VERIFY_PARAM_set_flags(param, X509_V_FLAG_PARTIAL_CHAIN) == 1;
}

/* Sets everything that does not depend on the settings' files. */
static SSL_CTX *new_context(const kin__tls_settings *settings) {
  static const unsigned char protocols[] = "\x08http/1.1";
  SSL_CTX *context = SSL_CTX_new(TLS_client_method());
  if (context == NULL) {
    return NULL;
  }
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_CLIENT |
                                              SSL_SESS_CACHE_NO_INTERNAL);
  SSL_CTX_set_verify(
      context, settings->is_insecure ? SSL_VERIFY_NONE : SSL_VERIFY_PEER, NULL);
  if (SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) != 1 ||
      SSL_CTX_set_alpn_protos(context, protocols, sizeof protocols - 1) != 0 ||
      !set_name(context, settings)) {
    SSL_CTX_free(context);
    return NULL;
  }
  return context;
}

static bool has_part(const kin__tls_settings *settings, kin__tls_part part) {
  return settings->data[part] != NULL || settings->file[part] != NULL;
}

static bool load(kin__tls_build *build, SSL_CTX *context, pem *text) {
  const kin__tls_settings *settings = build->settings;
  X509_STORE *store = SSL_CTX_get_cert_store(context);
  bool is_good = true;
  if (!settings->is_insecure) {
    is_good = has_part(settings, KIN__TLS_AUTHORITY)
                  ? load_authority(build, store, text)
                  : load_system(build, store, text);
    wipe(text);
  }
  if (is_good && has_part(settings, KIN__TLS_CERTIFICATE)) {
    is_good = load_certificate(build, context, text);
    wipe(text);
  }
  if (is_good && has_part(settings, KIN__TLS_KEY)) {
    is_good = load_key(build, context, text);
    wipe(text);
  }
  return is_good;
}

/* --- Change --------------------------------------------------------------- */

/* The path whose changes matter for a part, or NULL. */
static const char *path_of(const kin__tls_settings *settings,
                           kin__tls_part part) {
  if (settings->data[part] != NULL ||
      (part == KIN__TLS_AUTHORITY && settings->is_insecure)) {
    return NULL;
  }
  return settings->file[part];
}

static bool uses_system(const kin__tls_settings *settings) {
  return !settings->is_insecure && !has_part(settings, KIN__TLS_AUTHORITY);
}

bool kin__tls_settings_can_change(const kin__tls_settings *settings) {
  bool can_change = uses_system(settings);
  for (kin__tls_part part = 0; part < KIN__TLS_PARTS; part++) {
    can_change = can_change || path_of(settings, part) != NULL;
  }
  return can_change;
}

static bool has_changed(const kin__tls_build *build) {
  const kin__tls_settings *settings = build->settings;
  for (kin__tls_part part = 0; part < KIN__TLS_PARTS; part++) {
    const char *path = path_of(settings, part);
    kin__file_id id = {.size = 0};
    if (path != NULL) {
      (void)kin__file_stat(path, &id);
    } else if (part == KIN__TLS_AUTHORITY && uses_system(settings)) {
      if (uses_directories(settings, system_bundle(settings, &id))) {
        kin__tls_roots_add_ids(settings->system_directories, &id);
      }
    }
    if (!kin__file_id_equal(&id, &build->files[part])) {
      return true;
    }
  }
  return false;
}

void kin__tls_build_run(kin__tls_build *build) {
  build->is_unchanged = !build->is_forced && !has_changed(build);
  build->is_empty = false;
  build->is_starved = false;
  build->context = NULL;
  build->code = 0;
  if (build->is_unchanged) {
    return;
  }
  ERR_clear_error();
  memset(build->files, 0, sizeof build->files);
  build->content = 0;
  SSL_CTX *context = new_context(build->settings);
  if (context == NULL) {
    build->code = kin__tls_take_error(build->reason, sizeof build->reason);
    return;
  }
  pem text = {.bytes = NULL};
  bool is_good = load(build, context, &text);
  OPENSSL_free(text.scratch);
  kin__tls_drop_errors(&build->is_starved);
  if (build->is_starved) {
    /* OpenSSL may continue with half of a certificate. */
    build->code = KIN_ENOMEM;
    snprintf(build->reason, sizeof build->reason, "%s",
             kin_strerror(KIN_ENOMEM));
    is_good = false;
  }
  if (is_good) {
    build->context = context;
  } else {
    SSL_CTX_free(context);
  }
}
