/* SPDX-License-Identifier: MIT */
#include "media.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static slice trim(slice s) {
  while (s.len != 0 && (s.ptr[0] == ' ' || s.ptr[0] == '\t')) {
    s.ptr++;
    s.len--;
  }
  while (s.len != 0 && (s.ptr[s.len - 1] == ' ' || s.ptr[s.len - 1] == '\t')) {
    s.len--;
  }
  return s;
}

/* Cuts *rest at the first sep and returns the trimmed part before it. */
static slice cut(slice *rest, char sep) {
  const char *at = memchr(rest->ptr, sep, rest->len);
  size_t len = at != NULL ? (size_t)(at - rest->ptr) : rest->len;
  slice part = {rest->ptr, len};
  size_t skip = at != NULL ? len + 1 : len;
  rest->ptr += skip;
  rest->len -= skip;
  return trim(part);
}

static bool same(slice s, const char *text) {
  return s.len == strlen(text) && strncasecmp(s.ptr, text, s.len) == 0;
}

typedef struct clause {
  slice type, as, group, version;
  double quality;
} clause;

static double read_quality(slice text) {
  char digits[8] = "0";
  memcpy(digits, text.ptr, text.len < 7 ? text.len : 7);
  return strtod(digits, NULL);
}

static clause read_clause(slice text) {
  clause c = {.quality = 1};
  c.type = cut(&text, ';');
  while (text.len != 0) {
    slice parameter = cut(&text, ';');
    slice key = cut(&parameter, '=');
    slice value = trim(parameter);
    if (same(key, "as")) {
      c.as = value;
    } else if (same(key, "g")) {
      c.group = value;
    } else if (same(key, "v")) {
      c.version = value;
    } else if (same(key, "q")) {
      c.quality = read_quality(value);
    }
  }
  return c;
}

/* The real server's router knows no other wildcard. */
static bool is_json(const clause *c) {
  return same(c->type, "application/json") || same(c->type, "*/*");
}

static media judge(const clause *c) {
  if (!is_json(c)) {
    return MEDIA_NONE;
  }
  if (c->as.len == 0) {
    return MEDIA_JSON;
  }
  bool meta = same(c->group, "meta.k8s.io") && same(c->version, "v1");
  if (meta && same(c->as, "PartialObjectMetadata")) {
    return MEDIA_PARTIAL;
  }
  if (meta && same(c->as, "PartialObjectMetadataList")) {
    return MEDIA_PARTIAL_LIST;
  }
  if (same(c->as, "APIGroupDiscoveryList") &&
      same(c->group, "apidiscovery.k8s.io") && same(c->version, "v2")) {
    return MEDIA_DISCOVERY;
  }
  return MEDIA_UNKNOWN_FORM;
}

media media_negotiate(slice accept) {
  if (trim(accept).len == 0) {
    return MEDIA_JSON;
  }
  media best = MEDIA_NONE;
  double best_quality = 0;
  while (accept.len != 0) {
    clause c = read_clause(cut(&accept, ','));
    media m = judge(&c);
    bool usable = m != MEDIA_NONE && m != MEDIA_UNKNOWN_FORM;
    if (usable && c.quality > best_quality) {
      best = m;
      best_quality = c.quality;
    } else if (m == MEDIA_UNKNOWN_FORM && best == MEDIA_NONE) {
      best = m;
    }
  }
  return best;
}

bool media_takes_plain(slice accept) {
  if (trim(accept).len == 0) {
    return true;
  }
  while (accept.len != 0) {
    clause c = read_clause(cut(&accept, ','));
    bool json = is_json(&c) || same(c.type, "application/*");
    if (json && c.as.len == 0) {
      return true;
    }
  }
  return false;
}

slice media_type(slice content_type) {
  if (content_type.ptr == NULL) {
    return content_type;
  }
  return cut(&content_type, ';');
}
