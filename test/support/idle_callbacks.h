/* SPDX-License-Identifier: MIT */
#ifndef KIN_TEST_IDLE_CALLBACKS_H
#define KIN_TEST_IDLE_CALLBACKS_H

#include <kin/cache.h>
#include <kin/controllers.h>
#include <kin/toolkit.h>

/* Callbacks that options require, for tests in which nothing happens. */

static inline void on_wait(const kin_wait_result *result, void *data) {
  (void)result;
  (void)data;
}

static inline void on_until(const kin_until_result *result, void *data) {
  (void)result;
  (void)data;
}

static inline void on_watch_event(const kin_watch_event *event, void *data) {
  (void)event;
  (void)data;
}

static inline int on_item(const kin_object *item, void *data) {
  (void)item;
  (void)data;
  return 0;
}

/* A transform. */
static inline int change_nothing(const kin_object *in, kin_object_builder *out,
                                 void *data) {
  (void)in;
  (void)out;
  (void)data;
  return 0;
}

static inline uint64_t now_ms(void *ctx) {
  (void)ctx;
  return 1;
}

static inline bool less(const void *a, const void *b, void *data) {
  (void)data;
  return a < b;
}

static inline int evaluate(void **value, void *data) {
  *value = data;
  return 0;
}

static inline void on_mutation(const kin_mutation *mutation, void *data) {
  (void)mutation;
  (void)data;
}

static inline void push(const kin_object_list *objects, void *data) {
  (void)objects;
  (void)data;
}

static inline void on_work(kin_work_queue *queue, const kin_work_item *item,
                           void *data) {
  (void)queue;
  (void)item;
  (void)data;
}

static inline uint64_t wait_a_moment(kin_str key, uint64_t now_ns, void *data) {
  (void)key;
  (void)now_ns;
  (void)data;
  return 1;
}

static inline void on_started(kin_leader_elector *elector, void *data) {
  (void)elector;
  (void)data;
}

static inline void on_stopped(kin_leader_elector *elector,
                              const kin_leader_stop *stop, void *data) {
  (void)elector;
  (void)stop;
  (void)data;
}

#endif /* KIN_TEST_IDLE_CALLBACKS_H */
