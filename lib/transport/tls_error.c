/* SPDX-License-Identifier: MIT */
#include "transport/tls_error.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include <uv.h>

#include <openssl/asn1.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <kin/error.h>

#define NAME_SIZE 96
#define NAMES_SIZE 128

/* Content types of TLS records: change_cipher_spec to heartbeat. */
#define FIRST_CONTENT_TYPE 0x14
#define LAST_CONTENT_TYPE 0x18
#define CONTENT_HANDSHAKE 0x16

/* --- The queue ------------------------------------------------------------ */

/* The oldest error; 0 if there was none. */
static unsigned long take_errors(bool *is_memory) {
  unsigned long first = 0;
  unsigned long error;
  *is_memory = false;
  while ((error = ERR_get_error()) != 0) {
    if (first == 0) {
      first = error;
    }
    if (ERR_GET_REASON(error) == ERR_R_MALLOC_FAILURE) {
      *is_memory = true;
    }
  }
  return first;
}

void kin__tls_drop_errors(bool *is_memory) {
  bool was_memory;
  (void)take_errors(&was_memory);
  *is_memory = *is_memory || was_memory;
}

static int out_of_memory(char *reason, size_t size) {
  snprintf(reason, size, "%s", kin_strerror(KIN_ENOMEM));
  return KIN_ENOMEM;
}

static const char *text_of(unsigned long error) {
  const char *text = error != 0 ? ERR_reason_error_string(error) : NULL;
  return text != NULL ? text : "no reason given";
}

int kin__tls_take_error(char *reason, size_t size) {
  bool is_memory;
  unsigned long error = take_errors(&is_memory);
  if (is_memory) {
    return out_of_memory(reason, size);
  }
  snprintf(reason, size, "%s", text_of(error));
  return KIN_ETLS;
}

/* --- Certificates --------------------------------------------------------- */

/* "CN=kubernetes"; RFC 2253's escapes leave printable ASCII only. */
static void format_name(const X509_NAME *name, char *text, size_t size) {
  snprintf(text, size, "?");
  BIO *bio = BIO_new(BIO_s_mem());
  if (bio == NULL) {
    return;
  }
  char *bytes;
  if (X509_NAME_print_ex(bio, name, 0, XN_FLAG_RFC2253) >= 0) {
    long length = BIO_get_mem_data(bio, &bytes);
    bool is_long = length >= (long)size;
    int shown = is_long ? (int)size - 4 : (int)length;
    snprintf(text, size, "%.*s%s", shown, length > 0 ? bytes : "",
             is_long ? "..." : "");
  }
  BIO_free(bio);
}

static void format_time(const ASN1_TIME *time, char *text, size_t size) {
  struct tm tm;
  if (ASN1_TIME_to_tm(time, &tm) != 1 ||
      strftime(text, size, "%Y-%m-%dT%H:%M:%SZ", &tm) == 0) {
    snprintf(text, size, "at an unknown time");
  }
}

/* Formats a DNS name or an address. Returns false for other kinds and for bytes
 * that are no text. */
static bool format_alternative(const GENERAL_NAME *name, char *text,
                               size_t size) {
  int type;
  const ASN1_STRING *value = GENERAL_NAME_get0_value(name, &type);
  const unsigned char *bytes = NULL;
  int length = 0;
  if (type == GEN_DNS || type == GEN_IPADD) {
    bytes = ASN1_STRING_get0_data(value);
    length = ASN1_STRING_length(value);
  }
  if (type == GEN_IPADD && (length == 4 || length == 16)) {
    return uv_inet_ntop(length == 4 ? AF_INET : AF_INET6, bytes, text, size) ==
           0;
  }
  if (type != GEN_DNS || length <= 0 || (size_t)length >= size) {
    return false;
  }
  for (int i = 0; i < length; i++) {
    text[i] = (char)(bytes[i] > 0x20 && bytes[i] < 0x7f ? bytes[i] : '?');
  }
  text[length] = '\0';
  return true;
}

/* "a.example, 10.0.0.1 and 7 more". Returns false if there are none. */
static bool list_names(const X509 *certificate, char *text, size_t size) {
  GENERAL_NAMES *names =
      X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
  int count = names != NULL ? sk_GENERAL_NAME_num(names) : 0;
  size_t used = 0;
  int left_out = 0;
  text[0] = '\0';
  for (int i = 0; i < count; i++) {
    char name[NAME_SIZE];
    const size_t tail = sizeof " and 1000000 more";
    if (!format_alternative(sk_GENERAL_NAME_value(names, i), name,
                            sizeof name) ||
        used + 2 + strlen(name) + tail > size) {
      left_out++;
      continue;
    }
    used += (size_t)snprintf(text + used, size - used, "%s%s",
                             used > 0 ? ", " : "", name);
  }
  if (left_out > 0) {
    snprintf(text + used, size - used, "%s%d %s", used > 0 ? " and " : "",
             left_out, used > 0 ? "more" : "names that cannot be shown");
  }
  GENERAL_NAMES_free(names);
  return count > 0;
}

static void describe_mismatch(const X509 *certificate, const char *wanted,
                              char *reason, size_t size) {
  char names[NAMES_SIZE];
  if (list_names(certificate, names, sizeof names)) {
    snprintf(reason, size, "certificate is for %s, not %s", names, wanted);
  } else {
    snprintf(reason, size, "certificate names no host, and is not for %s",
             wanted);
  }
}

/* "certificate", or "certificate of its issuer CN=..." further up the chain. */
static void format_which(X509_STORE_CTX *store, const X509 *certificate,
                         char *text, size_t size) {
  if (X509_STORE_CTX_get_error_depth(store) == 0) {
    snprintf(text, size, "certificate");
    return;
  }
  char subject[NAME_SIZE];
  format_name(X509_get_subject_name(certificate), subject, sizeof subject);
  snprintf(text, size, "certificate of its issuer %s", subject);
}

static void describe_distrust(const X509 *certificate, int error, char *reason,
                              size_t size) {
  char issuer[NAME_SIZE];
  format_name(X509_get_issuer_name(certificate), issuer, sizeof issuer);
  snprintf(reason, size, "certificate is not trusted: %s (issuer %s)",
           X509_verify_cert_error_string(error), issuer);
}

void kin__tls_describe_refusal(X509_STORE_CTX *store, const char *wanted,
                               char *reason, size_t size) {
  const X509 *certificate = X509_STORE_CTX_get_current_cert(store);
  int error = X509_STORE_CTX_get_error(store);
  char which[NAME_SIZE + 32];
  char time[40];
  if (certificate == NULL) {
    snprintf(reason, size, "certificate is refused: %s",
             X509_verify_cert_error_string(error));
    return;
  }
  format_which(store, certificate, which, sizeof which);
  switch (error) {
  case X509_V_ERR_HOSTNAME_MISMATCH:
  case X509_V_ERR_IP_ADDRESS_MISMATCH:
    describe_mismatch(certificate, wanted, reason, size);
    break;
  case X509_V_ERR_CERT_HAS_EXPIRED:
    format_time(X509_get0_notAfter(certificate), time, sizeof time);
    snprintf(reason, size, "%s expired %s", which, time);
    break;
  case X509_V_ERR_CERT_NOT_YET_VALID:
    format_time(X509_get0_notBefore(certificate), time, sizeof time);
    snprintf(reason, size, "%s is not valid before %s", which, time);
    break;
  case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
  case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
  case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
  case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
  case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    describe_distrust(certificate, error, reason, size);
    break;
  default:
    snprintf(reason, size, "%s is refused: %s", which,
             X509_verify_cert_error_string(error));
    break;
  }
}

/* --- Connections ---------------------------------------------------------- */

static bool is_record(const kin__tls_failure *failure) {
  return failure->first_length == 0 ||
         (failure->first[0] >= FIRST_CONTENT_TYPE &&
          failure->first[0] <= LAST_CONTENT_TYPE);
}

static const char *describe_stranger(const kin__tls_failure *failure) {
  static const char http[] = "HTTP/";
  size_t length = failure->first_length;
  bool is_http = memcmp(failure->first, http, length < 5 ? length : 5) == 0;
  return is_http ? "server does not speak TLS (plain HTTP on this port?)"
                 : "server does not speak TLS";
}

/* A ServerHello of an old version comes in a record of that version. */
static const char *describe_old_version(const kin__tls_failure *failure) {
  if (failure->first_length < 3 || failure->first[0] != CONTENT_HANDSHAKE) {
    return "server speaks neither TLS 1.2 nor TLS 1.3";
  }
  switch (failure->first[1] << 8 | failure->first[2]) {
  case SSL3_VERSION:
    return "server speaks SSL 3.0 only";
  case TLS1_VERSION:
    return "server speaks TLS 1.0 only";
  case TLS1_1_VERSION:
    return "server speaks TLS 1.1 only";
  default:
    return "server speaks neither TLS 1.2 nor TLS 1.3";
  }
}

static bool is_about_our_certificate(int alert) {
  switch (alert) {
  case SSL_AD_BAD_CERTIFICATE:
  case SSL_AD_UNSUPPORTED_CERTIFICATE:
  case SSL_AD_CERTIFICATE_REVOKED:
  case SSL_AD_CERTIFICATE_EXPIRED:
  case SSL_AD_CERTIFICATE_UNKNOWN:
  case SSL_AD_UNKNOWN_CA:
  case SSL_AD_CERTIFICATE_REQUIRED:
    return true;
  default:
    return false;
  }
}

/* OpenSSL 3.0 has no name for one alert that matters. */
static const char *alert_name(int alert) {
  return alert == SSL_AD_CERTIFICATE_REQUIRED
             ? "certificate required"
             : SSL_alert_desc_string_long(alert);
}

static void describe_alert(const kin__tls_failure *failure, int alert,
                           char *reason, size_t size) {
  const char *what = failure->is_established ? "ended the connection"
                                             : "refuses the handshake";
  if (alert == SSL_AD_PROTOCOL_VERSION) {
    what = "speaks neither TLS 1.2 nor TLS 1.3";
  } else if (alert == SSL_AD_NO_APPLICATION_PROTOCOL) {
    what = "does not speak http/1.1";
  } else if (is_about_our_certificate(alert)) {
    what = failure->has_certificate ? "refuses the client certificate"
                                    : "asks for a client certificate";
  }
  snprintf(reason, size, "server %s (alert: %s)", what, alert_name(alert));
}

int kin__tls_describe_failure(const kin__tls_failure *failure, char *reason,
                              size_t size) {
  bool is_memory;
  unsigned long error = take_errors(&is_memory);
  int code = ERR_GET_REASON(error);
  if (is_memory) {
    return out_of_memory(reason, size);
  }
  if (!failure->is_established && !is_record(failure)) {
    snprintf(reason, size, "%s", describe_stranger(failure));
    return KIN_ETLSSETUP;
  }
  if (ERR_GET_LIB(error) != ERR_LIB_SSL) {
    snprintf(reason, size, "%s", text_of(error));
  } else if (code == SSL_R_UNSUPPORTED_PROTOCOL) {
    snprintf(reason, size, "%s", describe_old_version(failure));
  } else if (code >= SSL_AD_REASON_OFFSET &&
             code <= SSL_AD_REASON_OFFSET + UINT8_MAX) {
    describe_alert(failure, code - SSL_AD_REASON_OFFSET, reason, size);
  } else {
    snprintf(reason, size, "%s", text_of(error));
  }
  return KIN_ETLS;
}
