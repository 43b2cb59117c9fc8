/* SPDX-License-Identifier: MIT */
#include "podtext.h"

#include <string.h>

static const char *const APPS[] = {
    "checkout",  "cart",     "catalog",   "search",    "payments",
    "ledger",    "identity", "gateway",   "inventory", "shipping",
    "recommend", "pricing",  "reviews",   "media",     "notify",
    "metrics",   "billing",  "scheduler", "worker",    "frontend",
};

static const char *const WORDS[] = {
    "alpha", "region", "eu-west-1", "true",   "timeout",  "30s",
    "https", "queue",  "primary",   "shard",  "replica",  "cluster.local",
    "v2",    "token",  "redis",     "5432",   "postgres", "info",
    "json",  "cache",  "us-east-2", "secret", "bucket",   "stream",
};

enum { EPOCH = 1767225600 }; // 2026-01-01

const char *podtext_pick(rng *r, const char *const *from, size_t count) {
  return from[rng_below(r, count)];
}

const char *podtext_word(rng *r) {
  return PICK(r, WORDS);
}

void podtext_letters(buf *out, rng *r, int count) {
  for (int i = 0; i < count; i++) {
    buf_putc(out, PODTEXT_LETTERS[rng_below(r, sizeof PODTEXT_LETTERS - 1)]);
  }
}

void podtext_time(buf *out, uint64_t seconds) {
  char text[RFC3339_LEN + 1];
  format_rfc3339((time_t)(EPOCH + seconds % (300 * 86400)), text);
  buf_putc(out, '"');
  buf_append(out, text, RFC3339_LEN);
  buf_putc(out, '"');
}

rng podtext_rng(const podgen *g, uint64_t index) {
  return (rng){rng_mix(g->seed * 0x10001 + index)};
}

const char *podtext_app(const podgen *g, uint64_t index) {
  rng r = podtext_rng(g, index);
  return PICK(&r, APPS);
}

void podtext_set_name(const podgen *g, uint64_t index, buf *out) {
  rng r = {rng_mix(g->seed ^ (index % 997))};
  buf_puts(out, podtext_app(g, index));
  buf_putc(out, '-');
  podtext_letters(out, &r, 10);
}

void podtext_env(rng *r, size_t pad, buf *out) {
  size_t from = out->len;
  buf_puts(out, ",\"env\":[");
  for (unsigned i = 0; out->len - from + 40 < pad; i++) {
    buf_printf(out, "%s{\"name\":\"APP_SETTING_%03u\",\"value\":\"",
               i != 0 ? "," : "", i);
    size_t want = 20 + rng_below(r, 60);
    size_t start = out->len;
    while (out->len - start < want && out->len - from + 8 < pad) {
      buf_puts(out, out->len != start ? "-" : "");
      buf_puts(out, PICK(r, WORDS));
    }
    buf_puts(out, "\"}");
  }
  buf_puts(out, "]");
}

static size_t digits(uint64_t number) {
  size_t count = 1;
  for (; number >= 10; number /= 10) {
    count++;
  }
  return count;
}

size_t podtext_varying(uint64_t version, uint64_t change, unsigned containers) {
  return digits(version) + containers * digits(change);
}

void podtext_insert(buf *out, size_t at, const buf *text) {
  buf_reserve(out, text->len);
  memmove(out->data + at + text->len, out->data + at, out->len - at);
  memcpy(out->data + at, text->data, text->len);
  out->len += text->len;
  out->data[out->len] = '\0';
}
