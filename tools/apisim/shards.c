/* SPDX-License-Identifier: MIT */
#include "shards.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "mem.h"

static const char *const FIELDS[] = {"object.metadata.uid",
                                     "object.metadata.namespace"};

void shards_free(shard_ranges *s) {
  free(s->items);
  free(s->text);
  *s = (shard_ranges){0};
}

static void skip_blanks(const char **at) {
  *at += strspn(*at, " \t\n\r");
}

static bool take(const char **at, const char *word) {
  skip_blanks(at);
  size_t len = strlen(word);
  if (strncmp(*at, word, len) != 0) {
    return false;
  }
  *at += len;
  return true;
}

/* '0x' and 16 digits, or 2^64 as an end: is_top. */
static bool take_hex(const char **at, uint64_t *value, bool *is_top) {
  static const char top[] = "'0x10000000000000000'";
  *is_top = take(at, top);
  if (*is_top) {
    return true;
  }
  if (!take(at, "'0x") || strspn(*at, "0123456789abcdef") != 16) {
    return false;
  }
  *value = 0;
  for (int i = 0; i < 16; i++) {
    char c = *(*at)++;
    *value = *value << 4 | (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
  }
  return take(at, "'");
}

static bool take_field(const char **at, bool *of_namespace) {
  *of_namespace = take(at, FIELDS[1]);
  return *of_namespace || take(at, FIELDS[0]);
}

static bool take_range(const char **at, shard_ranges *out) {
  bool of_namespace;
  bool begins_at_top;
  bool ends_at_top;
  uint64_t begin;
  uint64_t end = 0;
  bool ok = take(at, "shardRange") && take(at, "(") &&
            take_field(at, &of_namespace) && take(at, ",") &&
            take_hex(at, &begin, &begins_at_top) && take(at, ",") &&
            take_hex(at, &end, &ends_at_top) && take(at, ")");
  if (!ok || begins_at_top || (!ends_at_top && begin >= end) ||
      (out->count > 0 && out->of_namespace != of_namespace)) {
    return false;
  }
  out->of_namespace = of_namespace;
  out->items = xrealloc(out->items, out->count + 1, sizeof *out->items);
  out->items[out->count++] =
      (shard_range){begin, ends_at_top ? UINT64_MAX : end - 1};
  return true;
}

static void put_range(buf *out, const shard_ranges *s, const shard_range *r) {
  buf_printf(out, "%sshardRange(%s, '0x%016" PRIx64 "', ",
             out->len > 0 ? " || " : "", FIELDS[s->of_namespace], r->first);
  if (r->last == UINT64_MAX) {
    buf_puts(out, "'0x10000000000000000')");
  } else {
    buf_printf(out, "'0x%016" PRIx64 "')", r->last + 1);
  }
}

bool shards_parse(const char *text, shard_ranges *out, buf *error) {
  const char *at = text;
  *out = (shard_ranges){0};
  bool ok = take_range(&at, out);
  while (ok && take(&at, "||")) {
    ok = take_range(&at, out);
  }
  skip_blanks(&at);
  if (!ok || *at != '\0') {
    buf_printf(error, "invalid shard selector: %s", text);
    shards_free(out);
    return false;
  }
  buf normal = {0};
  for (size_t i = 0; i < out->count; i++) {
    put_range(&normal, out, &out->items[i]);
  }
  out->text = normal.data;
  return true;
}

bool shards_match(const shard_ranges *s, const rev *r) {
  slice value = rev_text(r, s->of_namespace ? r->ns : r->uid);
  uint64_t hash = UINT64_C(14695981039346656037);
  for (size_t i = 0; i < value.len; i++) {
    hash = (hash ^ (unsigned char)value.ptr[i]) * UINT64_C(1099511628211);
  }
  for (size_t i = 0; i < s->count; i++) {
    if (hash >= s->items[i].first && hash <= s->items[i].last) {
      return true;
    }
  }
  return false;
}
