/* SPDX-License-Identifier: MIT */
#include "config/exec_credential.h"

#include <stdio.h>
#include <string.h>

#include <kin/error.h>

#include <openssl/evp.h>

#include "base/alloc.h"
#include "base/str.h"
#include "config/token.h"
#include "transport/wiping.h"
#include "object/json.h"
#include "transport/secret.h"

#define SCHEME "Bearer "
/* Go's zero time, 0001-01-01T00:00:00Z, stands for no time. */
#define GO_ZERO_S INT64_C(-62135596800)

/* --- What a plugin is told ------------------------------------------------ */

static int append_quoted(kin__buf *out, const char *text) {
  int err = kin__buf_append(out, "\"", 1);
  for (const char *c = text; err == 0 && *c != '\0'; c++) {
    if (*c == '"' || *c == '\\') {
      err = kin__buf_printf(out, "\\%c", *c);
    } else if ((unsigned char)*c < 0x20) {
      err = kin__buf_printf(out, "\\u%04x", (unsigned)*c);
    } else {
      err = kin__buf_append(out, c, 1);
    }
  }
  return err == 0 ? kin__buf_append(out, "\"", 1) : err;
}

static int append_base64(kin__buf *out, kin_str bytes) {
  size_t length = (bytes.length + 2) / 3 * 4;
  int err = kin__buf_append(out, "\"", 1);
  if (err == 0) {
    err = kin__buf_reserve(out, length + 1);
  }
  if (err != 0) {
    return err;
  }
  /* Its NUL becomes the last quote. */
  (void)EVP_EncodeBlock((unsigned char *)out->data + out->length,
                        (const unsigned char *)bytes.data, (int)bytes.length);
  out->length += length;
  return kin__buf_append(out, "\"", 1);
}

/* Appends "NAME": with a comma before it, unless it is the first. */
static int append_name(kin__buf *out, const char *name) {
  bool is_first = out->data[out->length - 1] == '{';
  return kin__buf_printf(out, "%s\"%s\":", is_first ? "" : ",", name);
}

static int append_text(kin__buf *out, const char *name, const char *text) {
  if (!kin__has_text(text)) {
    return 0;
  }
  int err = append_name(out, name);
  return err == 0 ? append_quoted(out, text) : err;
}

static int append_true(kin__buf *out, const char *name, bool is_true) {
  if (!is_true) {
    return 0;
  }
  int err = append_name(out, name);
  return err == 0 ? kin__buf_append_cstr(out, "true") : err;
}

static int append_authority(kin__buf *out, kin_str authority) {
  if (authority.length == 0) {
    return 0;
  }
  int err = append_name(out, "certificate-authority-data");
  return err == 0 ? append_base64(out, authority) : err;
}

static int append_config(kin__buf *out, const char *config) {
  if (config == NULL) {
    return 0;
  }
  int err = append_name(out, "config");
  return err == 0 ? kin__buf_append_cstr(out, config) : err;
}

static int append_cluster(kin__buf *out, const kin__exec_cluster *cluster) {
  int err = kin__buf_append_cstr(out, "\"cluster\":{");
  if (err == 0) {
    err = append_text(out, "server", cluster->server);
  }
  if (err == 0) {
    err = append_text(out, "tls-server-name", cluster->tls_server_name);
  }
  if (err == 0) {
    err = append_true(out, "insecure-skip-tls-verify", cluster->is_insecure);
  }
  if (err == 0) {
    err = append_authority(out, cluster->authority);
  }
  if (err == 0) {
    err = append_text(out, "proxy-url", cluster->proxy_url);
  }
  if (err == 0) {
    err = append_true(out, "disable-compression", cluster->disable_compression);
  }
  if (err == 0) {
    err = append_config(out, cluster->config);
  }
  return err == 0 ? kin__buf_append_cstr(out, "},") : err;
}

int kin__exec_info_render(kin__buf *out, const char *api_version,
                          bool is_interactive,
                          const kin__exec_cluster *cluster) {
  int err = kin__buf_append_cstr(out, "{\"kind\":\"ExecCredential\","
                                      "\"apiVersion\":");
  if (err == 0) {
    err = append_quoted(out, api_version);
  }
  if (err == 0) {
    err = kin__buf_append_cstr(out, ",\"spec\":{");
  }
  if (err == 0 && cluster != NULL) {
    err = append_cluster(out, cluster);
  }
  return err == 0 ? kin__buf_printf(out, "\"interactive\":%s}}",
                                    is_interactive ? "true" : "false")
                  : err;
}

/* --- What a plugin answers ------------------------------------------------ */

static int refuse_output(char *reason, const char *why) {
  snprintf(reason, KIN__EXEC_REASON_SIZE, "%s", why);
  return KIN_ETOKEN;
}

/* Absent and null give "". A string with a zero byte is no text. */
static int read_text(kin__json *status, const char *name, kin_str *out,
                     char *reason) {
  kin__json *value = kin__json_member(status, name);
  *out = kin__str("", 0);
  if (value == NULL || kin__json_is_null(value)) {
    return 0;
  }
  if (!kin__json_to_string(value, out) ||
      memchr(out->data, '\0', out->length) != NULL) {
    snprintf(reason, KIN__EXEC_REASON_SIZE, "its status.%s is no text", name);
    return KIN_ETOKEN;
  }
  return 0;
}

static int read_expiry(kin__exec_credential *out, kin__json *status,
                       char *reason) {
  kin__json *value = kin__json_member(status, "expirationTimestamp");
  if (value == NULL || kin__json_is_null(value)) {
    return 0;
  }
  kin_str text;
  if (!kin__json_to_string(value, &text) ||
      !kin__timestamp_parse(text, &out->expires)) {
    return refuse_output(reason,
                         "its status.expirationTimestamp is no RFC 3339 time");
  }
  out->can_expire = out->expires.s != GO_ZERO_S || out->expires.ns != 0;
  return 0;
}

static int copy_secret(char **to, const kin_allocator *allocator,
                       const char *prefix, kin_str text) {
  if (text.length == 0) {
    return 0;
  }
  size_t prefix_length = strlen(prefix);
  *to = kin__malloc(allocator, prefix_length + text.length + 1);
  if (*to == NULL) {
    return KIN_ENOMEM;
  }
  memcpy(*to, prefix, prefix_length);
  memcpy(*to + prefix_length, text.data, text.length);
  (*to)[prefix_length + text.length] = '\0';
  return 0;
}

static int read_status(kin__exec_credential *out,
                       const kin_allocator *allocator, kin__json *status,
                       char *reason) {
  kin_str token;
  kin_str certificate;
  kin_str key;
  int err = read_text(status, "token", &token, reason);
  if (err == 0) {
    err = read_text(status, "clientCertificateData", &certificate, reason);
  }
  if (err == 0) {
    err = read_text(status, "clientKeyData", &key, reason);
  }
  if (err == 0) {
    err = read_expiry(out, status, reason);
  }
  if (err != 0) {
    return err;
  }
  if (token.length == 0 && certificate.length == 0 && key.length == 0) {
    return refuse_output(reason,
                         "it printed neither a token nor a certificate");
  }
  if ((certificate.length == 0) != (key.length == 0)) {
    return refuse_output(reason,
                         "it printed only a certificate or a key, not both");
  }
  if (token.length > 0 && !kin__token_is_valid(token)) {
    return refuse_output(reason, "its status.token has bytes that no token "
                                 "has, or more than 64 KiB");
  }
  err = copy_secret(&out->authorization, allocator, SCHEME, token);
  if (err == 0) {
    err = copy_secret(&out->certificate, allocator, "", certificate);
  }
  return err == 0 ? copy_secret(&out->key, allocator, "", key) : err;
}

static int read_root(kin__exec_credential *out, const kin_allocator *allocator,
                     kin__json *root, const char *api_version, char *reason) {
  kin_str kind = kin__json_string(root, "kind");
  kin_str version = kin__json_string(root, "apiVersion");
  if (!kin__str_equal(kind, KIN__LIT("ExecCredential"))) {
    return refuse_output(reason, "it printed no ExecCredential");
  }
  if (!kin__str_equal(version, kin__cstr(api_version))) {
    snprintf(reason, KIN__EXEC_REASON_SIZE,
             "it printed an ExecCredential of another version than %s",
             api_version);
    return KIN_ETOKEN;
  }
  kin__json *status = kin__json_member(root, "status");
  if (!kin__json_is_object(status)) {
    return refuse_output(reason, "it printed no status");
  }
  return read_status(out, allocator, status, reason);
}

int kin__exec_credential_read(kin__exec_credential *out,
                              const kin_allocator *allocator, kin_str output,
                              const char *api_version, char *reason) {
  *out = (kin__exec_credential){.authorization = NULL};
  reason[0] = '\0';
  kin__wiping wiping;
  kin__wiping_init(&wiping, allocator);
  struct yyjson_doc *doc;
  int err = kin__json_parse(&doc, &wiping.allocator, output);
  if (err == 0) {
    err = read_root(out, allocator, kin__json_root(doc), api_version, reason);
    kin__json_free(&wiping.allocator, doc);
  } else if (err != KIN_ENOMEM) {
    err = refuse_output(reason, "it printed no JSON");
  }
  if (err != 0) {
    kin__exec_credential_finish(out, allocator);
  }
  if (err == KIN_ENOMEM) {
    snprintf(reason, KIN__EXEC_REASON_SIZE, "%s", kin_strerror(err));
  }
  return err;
}

void kin__exec_credential_finish(kin__exec_credential *credential,
                                 const kin_allocator *allocator) {
  kin__secret_free(allocator, &credential->authorization);
  kin__secret_free(allocator, &credential->certificate);
  kin__secret_free(allocator, &credential->key);
  credential->can_expire = false;
}
