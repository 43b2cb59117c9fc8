/* SPDX-License-Identifier: MIT */
#include "token.h"

#include <stdlib.h>
#include <string.h>
#include <yyjson.h>

#include "mem.h"

/* Sorts behind the key itself and before every longer key: names have no
 * control characters. Stands for the token's NUL in C strings. */
static const char JUST_AFTER[] = "\x01";

static const char ALPHABET[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

static void encode_base64(buf *out, const char *bytes, size_t len) {
  uint32_t bits = 0;
  int have = 0;
  for (size_t i = 0; i < len; i++) {
    bits = bits << 8 | (unsigned char)bytes[i];
    have += 8;
    while (have >= 6) {
      have -= 6;
      buf_putc(out, ALPHABET[bits >> have & 63]);
    }
  }
  if (have > 0) {
    buf_putc(out, ALPHABET[bits << (6 - have) & 63]);
  }
}

/* Returns the offset of the first illegal byte, or -1. */
static long decode_base64(buf *out, const char *text) {
  uint32_t bits = 0;
  int have = 0;
  size_t len = strlen(text);
  for (size_t i = 0; i < len; i++) {
    const char *at = strchr(ALPHABET, text[i]);
    if (at == NULL) {
      return (long)i;
    }
    bits = bits << 6 | (uint32_t)(at - ALPHABET);
    have += 6;
    if (have >= 8) {
      have -= 8;
      buf_putc(out, (char)(bits >> have & 255));
    }
  }
  return len % 4 == 1 ? (long)len : -1;
}

static void encode(buf *out, int64_t version, const char *slash,
                   const char *start, size_t start_len, bool after) {
  buf json = {0};
  buf_printf(&json, "{\"v\":\"meta.k8s.io/v1\",\"rv\":%lld,\"start\":\"%s",
             (long long)version, slash);
  buf_append(&json, start, start_len);
  buf_puts(&json, after ? "\\u0000\"}" : "\"}");
  encode_base64(out, json.data, json.len);
  buf_free(&json);
}

void token_encode(buf *out, int64_t version, const char *prefix,
                  const char *last_key, bool rooted) {
  const char *start = last_key + strlen(prefix);
  encode(out, version, rooted ? "/" : "", start, strlen(start), true);
}

void token_encode_inconsistent(buf *out, const char *prefix, const token *t) {
  const char *start = t->start + strlen(prefix);
  size_t len = strlen(start);
  bool after = len != 0 && start[len - 1] == JUST_AFTER[0];
  encode(out, -1, "", start, after ? len - 1 : len, after);
}

/* What path.Clean() would leave alone, and no control characters. */
static bool is_clean(const char *start, size_t len) {
  for (size_t i = 0; i < len; i++) {
    if ((unsigned char)start[i] < 0x20) {
      return false;
    }
  }
  return len != 0 && start[len - 1] != '/' &&
         memchr(start, '\\', len) == NULL && strstr(start, "//") == NULL &&
         strstr(start, "/../") == NULL && strstr(start, "/./") == NULL &&
         strcmp(start, "..") != 0 && strcmp(start, ".") != 0 &&
         strncmp(start, "../", 3) != 0 && strncmp(start, "./", 2) != 0;
}

static bool read_start(yyjson_val *root, const char *prefix, token *out,
                       buf *error) {
  const char *start = yyjson_get_str(yyjson_obj_get(root, "start"));
  size_t len = yyjson_get_len(yyjson_obj_get(root, "start"));
  if (start == NULL || len == 0) {
    buf_puts(error, "continue key is not valid: encoded start key empty "
                    "(version meta.k8s.io/v1)");
    return false;
  }
  if (*start == '/') {
    start++;
    len--;
  }
  bool after = len != 0 && start[len - 1] == '\0';
  len -= after ? 1 : 0;
  char *copy = xstrndup(start, len);
  if (strlen(copy) != len || !is_clean(copy, len)) {
    buf_puts(error, "continue key is not valid: ");
    buf_puts(error, copy);
    free(copy);
    return false;
  }
  buf key = {0};
  buf_printf(&key, "%s%s%s", prefix, copy, after ? JUST_AFTER : "");
  free(copy);
  out->start = key.data;
  return true;
}

static bool read_fields(yyjson_val *root, const char *prefix, token *out,
                        buf *error) {
  const char *form = yyjson_get_str(yyjson_obj_get(root, "v"));
  if (form == NULL || strcmp(form, "meta.k8s.io/v1") != 0) {
    buf_printf(error,
               "continue key is not valid: server does not recognize this "
               "encoded version %s",
               form != NULL ? form : "");
    return false;
  }
  out->version = yyjson_get_sint(yyjson_obj_get(root, "rv"));
  if (out->version == 0) {
    buf_puts(error, "continue key is not valid: incorrect encoded start "
                    "resourceVersion (version meta.k8s.io/v1)");
    return false;
  }
  return read_start(root, prefix, out, error);
}

static void put_json_error(const buf *json, buf *error) {
  buf_puts(error, "continue key is not valid: ");
  if (json->len == 0 || json->data[0] == '{') {
    buf_puts(error, "unexpected end of JSON input");
  } else {
    char c = json->data[0];
    buf_printf(error, "invalid character '%c' looking for beginning of value",
               c >= ' ' && c <= '~' ? c : '?');
  }
}

bool token_decode(const char *text, const char *prefix, token *out,
                  buf *error) {
  *out = (token){0};
  buf json = {0};
  buf_puts(&json, "");
  buf_puts(error, "invalid continue token: ");
  long illegal = decode_base64(&json, text);
  if (illegal >= 0) {
    buf_printf(error,
               "continue key is not valid: illegal base64 data at input byte "
               "%ld",
               illegal);
    buf_free(&json);
    return false;
  }
  yyjson_doc *doc = yyjson_read(json.data, json.len, 0);
  bool ok = false;
  if (!yyjson_is_obj(yyjson_doc_get_root(doc))) {
    put_json_error(&json, error);
  } else {
    ok = read_fields(yyjson_doc_get_root(doc), prefix, out, error);
  }
  yyjson_doc_free(doc);
  buf_free(&json);
  return ok;
}

void token_free(token *t) {
  free(t->start);
  *t = (token){0};
}
