/* SPDX-License-Identifier: MIT */
#include "support/like_pods.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <kin/error.h>

#include "base/str.h"

static void put_random(char *to, int length, unsigned seed) {
  static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
  for (int i = 0; i < length; i++) {
    seed = seed * 1103515245u + 12345u;
    to[i] = letters[seed >> 16 & 31];
  }
  to[length] = '\0';
}

size_t like_pods_text(char to[LIKE_PODS_SIZE], int i, int padding) {
  char random[LIKE_PODS_SIZE / 2 + 1];
  put_random(random, padding, (unsigned)i + 7u);
  return (size_t)snprintf(
      to, LIKE_PODS_SIZE,
      "{\"metadata\":{\"name\":\"web-%d\",\"namespace\":\"shop\",\"uid\":"
      "\"u-%d\",\"resourceVersion\":\"%d\",\"labels\":{\"app\":\"web\","
      "\"track\":\"t%d\",\"own\":\"only-%d\"}},\"spec\":{\"nodeName\":"
      "\"node-%d\",\"containers\":[{\"name\":\"c\",\"image\":"
      "\"registry.example.com/shop/web:v%d\",\"terminationMessagePath\":"
      "\"/dev/termination-log\",\"imagePullPolicy\":\"IfNotPresent\"}],"
      "\"text\":\"%s\"}}",
      i, i, 100 + i, i % 3, i, i % 7, i % 5, random);
}

int like_pods_make(kin_object **out, kin__memory *memory, const char *text,
                   size_t length) {
  kin_object *parsed;
  int err = kin_object_parse(&parsed, &memory->allocator, text, length);
  if (err == 0) {
    err = kin__object_copy(out, memory, parsed, 0);
    kin_object_unref(parsed);
  }
  return err;
}

static void on_noted(void *ctx, bool is_first) {
  like_pods *l = ctx;
  atomic_fetch_add(&l->noted, 1);
  atomic_fetch_add(&l->calls, is_first);
}

int like_pods_renew(like_pods *l, int first, int samples, bool is_thorough) {
  static char bytes[KIN__SAMPLES_MAX * 1024];
  static kin__samples all;
  all = (kin__samples){.bytes = bytes};
  size_t used = 0;
  for (int i = first; i < first + samples; i++) {
    char text[LIKE_PODS_SIZE];
    size_t length = like_pods_text(text, i, 40);
    assert_true(used + length <= sizeof bytes);
    memcpy(bytes + used, text, length);
    used += length;
    all.sizes[all.count++] = length;
  }
  kin__dictionary *dictionary;
  int err = kin__dictionary_new(&dictionary, l->packing, &all, l->is_small,
                                is_thorough);
  if (err == 0) {
    kin__packer_use(l->packer, dictionary);
    kin__dictionary_unref(dictionary);
  }
  return err;
}

int like_pods_init(like_pods *l, size_t fail_at, int first, int samples) {
  *l = (like_pods){0};
  fail_alloc_init(&l->fail, fail_at);
  l->memory = kin__memory_new(&l->fail.allocator);
  if (l->memory == NULL || kin__memory_use_slabs(l->memory) != 0) {
    return KIN_ENOMEM;
  }
  l->packing = kin__packing_new(&l->memory->allocator, on_noted, l);
  l->packer = kin__packer_new(&l->memory->allocator);
  if (l->packing == NULL || l->packer == NULL) {
    return KIN_ENOMEM;
  }
  return like_pods_renew(l, first, samples, false);
}

void like_pods_close(like_pods *l) {
  kin__inflated *noted;
  kin__inflated *held = NULL;
  while ((noted = kin__inflated_close(l->packing)) != NULL) {
    while (noted != NULL) {
      kin__inflated *next = noted->next;
      kin__packed_hold(noted->object);
      noted->next = held;
      held = noted;
      noted = next;
    }
  }
  while (held != NULL) {
    kin__inflated *next = held->next;
    kin__packed_disown(held);
    held = next;
  }
  while (kin__inflated_has_callers(l->packing)) {
  }
}

void like_pods_finish(like_pods *l) {
  if (l->packing != NULL) {
    like_pods_close(l);
  }
  kin__packer_free(l->packer);
  kin__packing_unref(l->packing);
  while (l->memory != NULL && kin__arena_close_step(l->memory->arena)) {
  }
  kin__memory_unref(l->memory);
  assert_int_equal(atomic_load(&l->fail.live_blocks), 0);
}
