/* SPDX-License-Identifier: MIT */
#include "request.h"

#include <string.h>
#include <strings.h>

void request_clear(request *r) {
  buf_clear(&r->url);
  buf_clear(&r->head);
  buf_clear(&r->text);
  buf_free(&r->body); // may be large, and the connection may idle for hours
  r->header_count = 0;
  r->path_count = 0;
  r->query_count = 0;
  r->trailing_slash = false;
}

void request_free(request *r) {
  buf_free(&r->url);
  buf_free(&r->head);
  buf_free(&r->text);
  buf_free(&r->body);
}

static int hex_value(char c) {
  if (c >= '0' && c <= '9') {
    return c - '0';
  }
  if (c >= 'a' && c <= 'f') {
    return c - 'a' + 10;
  }
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static bool unescape(buf *to, slice from, bool plus_is_space) {
  for (size_t i = 0; i < from.len; i++) {
    char c = from.ptr[i];
    if (c == '%') {
      int hi = from.len - i > 2 ? hex_value(from.ptr[i + 1]) : -1;
      int lo = from.len - i > 2 ? hex_value(from.ptr[i + 2]) : -1;
      if (hi < 0 || lo < 0) {
        return false;
      }
      c = (char)(hi * 16 + lo);
      i += 2;
    } else if (c == '+' && plus_is_space) {
      c = ' ';
    }
    if (c == '\0') {
      return false;
    }
    buf_putc(to, c);
  }
  return true;
}

/* Appends the decoded text, which is UTF-8 then, and a NUL. False on a bad
 * escape or an embedded NUL, which no valid name or parameter contains. */
static bool decode(buf *to, slice from, bool plus_is_space) {
  buf text = {0};
  bool ok = unescape(&text, from, plus_is_space);
  buf_put_utf8(to, text.data, text.len);
  buf_append(to, "", 1);
  buf_free(&text);
  return ok;
}

static bool parse_path(request *r, slice path) {
  if (path.len == 0 || path.ptr[0] != '/') {
    return false;
  }
  size_t at = 1;
  while (at < path.len) {
    const char *from = path.ptr + at;
    const char *slash = memchr(from, '/', path.len - at);
    size_t len = slash != NULL ? (size_t)(slash - from) : path.len - at;
    if (len == 0 || r->path_count == REQUEST_PATH_MAX) {
      return false;
    }
    r->path[r->path_count++] = r->text.len;
    if (!decode(&r->text, (slice){from, len}, false)) {
      return false;
    }
    at += len + 1;
    r->trailing_slash = slash != NULL && at == path.len;
  }
  return true;
}

static void parse_pair(request *r, slice pair) {
  if (pair.len == 0 || r->query_count == REQUEST_QUERY_MAX) {
    return;
  }
  const char *equal = memchr(pair.ptr, '=', pair.len);
  size_t key_len = equal != NULL ? (size_t)(equal - pair.ptr) : pair.len;
  size_t undo = r->text.len;
  slice value = {pair.ptr + pair.len, 0};
  if (equal != NULL) {
    value = (slice){equal + 1, pair.len - key_len - 1};
  }
  size_t key_at = r->text.len;
  if (!decode(&r->text, (slice){pair.ptr, key_len}, true)) {
    r->text.len = undo;
    return;
  }
  size_t value_at = r->text.len;
  if (!decode(&r->text, value, true)) {
    r->text.len = undo;
    return;
  }
  r->query[r->query_count].key = key_at;
  r->query[r->query_count++].value = value_at;
}

/* Where the path begins: after scheme and authority in the absolute form, which
 * every server has to take (RFC 9112, 3.2.2). */
static size_t path_start(slice url) {
  static const char *const SCHEMES[] = {"http://", "https://"};
  for (size_t i = 0; i < 2; i++) {
    size_t at = strlen(SCHEMES[i]);
    if (url.len >= at && strncasecmp(url.ptr, SCHEMES[i], at) == 0) {
      while (at < url.len && url.ptr[at] != '/' && url.ptr[at] != '?') {
        at++;
      }
      return at;
    }
  }
  return 0;
}

bool request_parse_target(request *r) {
  if (r->url.len == 0) {
    return false;
  }
  size_t start = path_start((slice){r->url.data, r->url.len});
  const char *mark = memchr(r->url.data, '?', r->url.len);
  size_t path_end = mark != NULL ? (size_t)(mark - r->url.data) : r->url.len;
  if (!parse_path(r, (slice){r->url.data + start, path_end - start})) {
    return false;
  }
  size_t at = path_end + 1;
  while (at < r->url.len) {
    const char *from = r->url.data + at;
    const char *amp = memchr(from, '&', r->url.len - at);
    size_t len = amp != NULL ? (size_t)(amp - from) : r->url.len - at;
    parse_pair(r, (slice){from, len});
    at += len + 1;
  }
  return true;
}

const char *request_segment(const request *r, size_t i) {
  return i < r->path_count ? r->text.data + r->path[i] : NULL;
}

const char *request_query(const request *r, const char *key) {
  for (size_t i = 0; i < r->query_count; i++) {
    if (strcmp(r->text.data + r->query[i].key, key) == 0) {
      return r->text.data + r->query[i].value;
    }
  }
  return NULL;
}

bool request_query_bool(const request *r, const char *key) {
  const char *value = request_query(r, key);
  return value != NULL && strcmp(value, "0") != 0 &&
         strcasecmp(value, "false") != 0;
}

slice request_header(const request *r, const char *name) {
  size_t len = strlen(name);
  for (size_t i = 0; i < r->header_count; i++) {
    if (r->headers[i].name_len == len &&
        strncasecmp(r->head.data + r->headers[i].name, name, len) == 0) {
      return (slice){r->head.data + r->headers[i].value,
                     r->headers[i].value_len};
    }
  }
  return (slice){NULL, 0};
}
