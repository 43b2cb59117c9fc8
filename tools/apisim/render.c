/* SPDX-License-Identifier: MIT */
#include "render.h"

#include <string.h>

#include "object.h"

static const char PARTIAL_HEAD[] = "{\"kind\":\"PartialObjectMetadata\","
                                   "\"apiVersion\":\"meta.k8s.io/v1\","
                                   "\"metadata\":";

static void push(segq *to, const rev *r, size_t from, size_t end) {
  segq_push(to, r->json, r->json->data + from, end - from);
}

/* Queues json[from, end) with the resourceVersion replaced. */
static void push_with_version(segq *to, const rev *r, size_t from, size_t end,
                              uint64_t version) {
  if (version == 0) {
    push(to, r, from, end);
    return;
  }
  buf digits = {0};
  buf_put_u64(&digits, version);
  push(to, r, from, r->rv_text.off);
  segq_push_copy(to, digits.data, digits.len);
  push(to, r, r->rv_text.off + r->rv_text.len, end);
  buf_free(&digits);
}

void render_object(segq *to, const rev *r, uint64_t version) {
  push_with_version(to, r, 0, r->json->len, version);
}

void render_item(segq *to, const rev *r, const resource *res) {
  if (res->custom) {
    push(to, r, 0, r->json->len);
    return;
  }
  /* Built-in objects are stored as {"kind":...,"apiVersion":...,"metadata":.
   * The key and its colon and quotes are 11 bytes. */
  segq_push(to, NULL, "{", 1);
  push(to, r, r->meta.off - 11, r->json->len);
}

/* A custom resource's metadata is stored alphabetically, but its
 * PartialObjectMetadata is a typed object. */
static void push_reordered(segq *to, const rev *r, uint64_t version) {
  const char *text = r->json->data;
  buf out = {0};
  buf_putc(&out, '{');
  for (size_t i = 0; i < OBJECT_META_COUNT; i++) {
    span value = scan_find(text, r->meta, OBJECT_META_ORDER[i]);
    if (value.len == 0) {
      continue;
    }
    buf_printf(&out, "%s\"%s\":", out.len > 1 ? "," : "", OBJECT_META_ORDER[i]);
    if (version != 0 && value.off + 1 == r->rv_text.off) {
      buf_putc(&out, '"');
      buf_put_u64(&out, version);
      buf_putc(&out, '"');
    } else {
      buf_append(&out, text + value.off, value.len);
    }
  }
  buf_putc(&out, '}');
  segq_push_copy(to, out.data, out.len);
  buf_free(&out);
}

void render_partial(segq *to, const rev *r, const resource *res,
                    uint64_t version) {
  segq_push(to, NULL, PARTIAL_HEAD, sizeof PARTIAL_HEAD - 1);
  if (res->custom) {
    push_reordered(to, r, version);
  } else {
    push_with_version(to, r, r->meta.off, r->meta.off + r->meta.len, version);
  }
  segq_push(to, NULL, "}", 1);
}

void render_bookmark(buf *to, const resource *res, bool partial,
                     uint64_t version, bool end) {
  static const char ANNOTATION[] =
      "\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}";
  if (partial) {
    buf_append(to, PARTIAL_HEAD, sizeof PARTIAL_HEAD - 1);
  } else if (res->custom) {
    buf_printf(to, "{\"apiVersion\":\"%s\",\"kind\":\"%s\",\"metadata\":",
               res->api_version, res->kind);
  } else {
    buf_printf(to, "{\"kind\":\"%s\",\"apiVersion\":\"%s\",\"metadata\":",
               res->kind, res->api_version);
  }
  bool annotation_first = res->custom && !partial;
  buf_putc(to, '{');
  if (end && annotation_first) {
    buf_puts(to, ANNOTATION);
    buf_putc(to, ',');
  }
  buf_puts(to, "\"resourceVersion\":\"");
  buf_put_u64(to, version);
  buf_putc(to, '"');
  if (end && !annotation_first) {
    buf_putc(to, ',');
    buf_puts(to, ANNOTATION);
  }
  buf_putc(to, '}');
  buf_puts(to, partial ? "" : res->zero);
  buf_putc(to, '}');
}
