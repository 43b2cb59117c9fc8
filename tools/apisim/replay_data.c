/* SPDX-License-Identifier: MIT */
#include "replay_data.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jsonscan.h"
#include "mem.h"
#include "rng.h"

enum { SLAB_BYTES = 64 * 1024 * 1024 };

/* ----------------------------------------------------------------- slabs */

static void slabs_free(slabs *s) {
  for (size_t i = 0; i < s->count; i++) {
    blob_unref(s->items[i]);
  }
  free(s->items);
  *s = (slabs){0};
}

/* Room for len bytes in one slab. */
static char *slabs_take(slabs *s, size_t len, blob **owner) {
  if (s->count == 0 || s->items[s->count - 1]->len - s->used < len) {
    s->items = xrealloc(s->items, s->count + 1, sizeof *s->items);
    s->items[s->count++] = blob_new(len > SLAB_BYTES ? len : SLAB_BYTES);
    s->used = 0;
  }
  *owner = s->items[s->count - 1];
  char *at = (*owner)->data + s->used;
  s->used += len;
  return at;
}

/* ------------------------------------------------------------- rendering */

/* The body of a pod: from "metadata" to the end, or metadata alone. */
static void render_body(const replay_form *f, const replay_plan *plan,
                        uint64_t index, uint64_t version, uint64_t change,
                        buf *out) {
  buf_clear(out);
  podgen_render(&plan->gen, index, version, change, out);
  if (f->partial) {
    span meta = scan_find(out->data, (span){0, (uint32_t)out->len}, "metadata");
    out->len = meta.off + meta.len;
    buf_putc(out, '}');
  }
  buf_consume(out, sizeof PODGEN_PREFIX - 1);
}

/* Puts a chunk of three parts into a slab. */
static replay_item put_chunk(slabs *s, const char *before, const buf *body,
                             const char *after) {
  char frame[24];
  size_t before_len = strlen(before);
  size_t after_len = strlen(after);
  size_t content = before_len + body->len + after_len;
  size_t frame_len = (size_t)snprintf(frame, sizeof frame, "%zx\r\n", content);
  replay_item item = {0};
  char *at = slabs_take(s, frame_len + content + 2, &item.owner);
  item.wire = at;
  item.wire_len = (uint32_t)(frame_len + content + 2);
  memcpy(at, frame, frame_len);
  at += frame_len;
  memcpy(at, before, before_len);
  at += before_len;
  memcpy(at, body->data, body->len);
  item.body = at;
  item.body_len = (uint32_t)body->len;
  at += body->len;
  memcpy(at, after, after_len);
  memcpy(at + after_len, "\r\n", 2);
  return item;
}

uint64_t replay_event_pod(const replay_plan *plan, uint64_t i) {
  return plan->pods != 0
             ? rng_mix(plan->gen.seed ^ 0xe7e47 ^ i << 8) % plan->pods
             : 0;
}

static void render_events(replay_form *f, const replay_plan *plan) {
  buf before = {0};
  buf body = {0};
  buf_printf(&before, "{\"type\":\"MODIFIED\",\"object\":%s", f->prefix.data);
  for (uint64_t i = 0; i < plan->events; i++) {
    render_body(f, plan, replay_event_pod(plan, i), plan->first_version + i + 1,
                i + 1, &body);
    f->events[i] = put_chunk(&f->slabs, before.data, &body, "}\n");
  }
  buf_free(&before);
  buf_free(&body);
}

static const char *item_end(const replay_plan *plan, uint64_t index) {
  return index + 1 < plan->pods ? "," : "";
}

/* Items of built-in types have no kind and apiVersion. Custom resources are
 * unstructured: their items have both, and members are in alphabetical order. */
static void set_prefixes(replay_form *f, const resource *res) {
  const char *kind = f->partial ? "PartialObjectMetadata" : res->kind;
  const char *version = f->partial ? "meta.k8s.io/v1" : res->api_version;
  f->items_first = res->custom && !f->partial;
  if (f->items_first) {
    buf_printf(&f->list_kind, "\"kind\":\"%sList\"", kind);
    buf_printf(&f->prefix, "{\"apiVersion\":\"%s\",\"kind\":\"%s\",", version,
               kind);
  } else {
    buf_printf(&f->list_kind, "\"kind\":\"%sList\",\"apiVersion\":\"%s\"", kind,
               version);
    buf_printf(&f->prefix, "{\"kind\":\"%s\",\"apiVersion\":\"%s\",", kind,
               version);
  }
  f->item_prefix = f->partial || res->custom ? f->prefix.data : "{";
}

void replay_form_render(replay_form *f, const replay_plan *plan, bool partial) {
  *f = (replay_form){
      .partial = partial,
      .base = xcalloc(plan->pods, sizeof(replay_item)),
      .now = xcalloc(plan->pods, sizeof(replay_item)),
      .events = xcalloc(plan->events, sizeof(replay_item)),
  };
  set_prefixes(f, plan->res);
  buf body = {0};
  for (uint64_t i = 0; i < plan->pods; i++) {
    render_body(f, plan, i, i + 1, 0, &body);
    f->base[i] = put_chunk(&f->slabs, f->item_prefix, &body, item_end(plan, i));
  }
  buf_free(&body);
  render_events(f, plan);
  replay_form_reset(f, plan);
}

void replay_form_free(replay_form *f) {
  slabs_free(&f->slabs);
  buf_free(&f->list_kind);
  buf_free(&f->prefix);
  free(f->base);
  free(f->now);
  free(f->events);
  *f = (replay_form){0};
}

void replay_form_reset(replay_form *f, const replay_plan *plan) {
  memcpy(f->now, f->base, plan->pods * sizeof *f->now);
}

void replay_form_change(replay_form *f, const replay_plan *plan, uint64_t index,
                        uint64_t version, uint64_t change) {
  buf body = {0};
  render_body(f, plan, index, version, change, &body);
  f->now[index] =
      put_chunk(&f->slabs, f->item_prefix, &body, item_end(plan, index));
  buf_free(&body);
}

void replay_form_apply_events(replay_form *f, const replay_plan *plan) {
  for (uint64_t i = 0; i < plan->events; i++) {
    replay_item *item = &f->now[replay_event_pod(plan, i)];
    *item = f->events[i];
    item->wire = NULL; // that chunk is an event
  }
}

/* --------------------------------------------------------------- queueing */

static void put_pieces(const replay_item *item, const char *before,
                       const char *after, segq *to) {
  char frame[24];
  size_t before_len = strlen(before);
  size_t after_len = strlen(after);
  size_t content = before_len + item->body_len + after_len;
  int len = snprintf(frame, sizeof frame, "%zx\r\n", content);
  buf head = {0};
  buf_append(&head, frame, (size_t)len);
  buf_append(&head, before, before_len);
  segq_push_copy(to, head.data, head.len);
  buf_free(&head);
  segq_push(to, item->owner, item->body, item->body_len);
  segq_push(to, NULL, after, after_len);
  segq_push(to, NULL, "\r\n", 2);
}

static void put_text(const buf *text, segq *to) {
  buf chunk = {0};
  buf_printf(&chunk, "%zx\r\n", text->len);
  buf_append(&chunk, text->data, text->len);
  buf_puts(&chunk, "\r\n");
  segq_push_copy(to, chunk.data, chunk.len);
  buf_free(&chunk);
}

void replay_put_list(const replay_form *f, const replay_plan *plan,
                     uint64_t version, segq *to) {
  buf head = {0};
  buf tail = {0};
  if (f->items_first) {
    buf_printf(&head, "{\"apiVersion\":\"%s\",\"items\":[",
               plan->res->api_version);
    buf_printf(&tail, "],%s,\"metadata\":{\"resourceVersion\":\"%llu\"}}\n",
               f->list_kind.data, (unsigned long long)version);
  } else {
    buf_printf(&head,
               "{%s,\"metadata\":{\"resourceVersion\":\"%llu\"},\"items\":[",
               f->list_kind.data, (unsigned long long)version);
    buf_puts(&tail, "]}\n");
  }
  put_text(&head, to);
  for (uint64_t i = 0; i < plan->pods; i++) {
    const replay_item *item = &f->now[i];
    if (item->wire != NULL) {
      segq_push(to, item->owner, item->wire, item->wire_len);
    } else {
      put_pieces(item, f->item_prefix, item_end(plan, i), to);
    }
  }
  put_text(&tail, to);
  buf_free(&head);
  buf_free(&tail);
}

void replay_put_added(const replay_form *f, uint64_t index, segq *to) {
  buf before = {0};
  buf_printf(&before, "{\"type\":\"ADDED\",\"object\":%s", f->prefix.data);
  put_pieces(&f->now[index], before.data, "}\n", to);
  buf_free(&before);
}

void replay_put_event(const replay_form *f, uint64_t i, segq *to) {
  segq_push(to, f->events[i].owner, f->events[i].wire, f->events[i].wire_len);
}
