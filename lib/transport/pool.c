/* SPDX-License-Identifier: MIT */
#include "transport/pool.h"

#include "base/link.h"

static kin__conn *conn_of(kin__link *node) {
  return KIN__CONTAINER_OF(node, kin__conn, waiting_node);
}

static void start_timer(kin__pool *pool) {
  kin__conn *oldest = conn_of(pool->idle.next);
  kin__timer_start(pool->net->timers, &pool->timer,
                   oldest->since_ms + pool->timeout_ms);
}

static void remove_conn(kin__pool *pool, kin__conn *conn) {
  kin__link_remove(&conn->waiting_node);
  if (--pool->count == 0) {
    kin__timer_stop(pool->net->timers, &pool->timer);
  }
}

static void drop(kin__pool *pool, kin__conn *conn) {
  remove_conn(pool, conn);
  kin__conn_close(conn);
}

static void on_bytes(kin__conn *conn, const char *bytes, size_t length) {
  (void)bytes;
  (void)length;
  drop(conn->owner, conn);
}

static void on_end(kin__conn *conn, const kin__conn_error *error) {
  (void)error;
  drop(conn->owner, conn);
}

/* A connection is ready before it carries a request, so on_ready never comes
 * here. */
static const kin__conn_events events = {.on_bytes = on_bytes, .on_end = on_end};

/* Closes one connection a call; the next one may be due at once. */
static void on_timer(kin__timer *timer) {
  kin__pool *pool = KIN__CONTAINER_OF(timer, kin__pool, timer);
  kin__conn *oldest = conn_of(pool->idle.next);
  if (oldest->since_ms + pool->timeout_ms <= kin__net_now_ms(pool->net)) {
    drop(pool, oldest);
  }
  if (pool->count > 0) {
    start_timer(pool);
  }
}

void kin__pool_init(kin__pool *pool, kin__net *net, uint32_t max_count,
                    uint32_t timeout_ms) {
  *pool =
      (kin__pool){.net = net, .max_count = max_count, .timeout_ms = timeout_ms};
  kin__link_init(&pool->idle);
  kin__timer_init(&pool->timer, on_timer);
}

void kin__pool_finish(kin__pool *pool) {
  while (pool->count > 0) {
    drop(pool, conn_of(pool->idle.next));
  }
}

void kin__pool_put(kin__pool *pool, kin__conn *conn) {
  if (pool->max_count == 0) {
    kin__conn_close(conn);
    return;
  }
  if (pool->count == pool->max_count) {
    drop(pool, conn_of(pool->idle.next));
  }
  kin__conn_set_owner(conn, &events, pool);
  kin__conn_resume(conn);
  conn->since_ms = kin__net_now_ms(pool->net);
  kin__link_push(&pool->idle, &conn->waiting_node);
  if (pool->count++ == 0) {
    start_timer(pool);
  }
}

kin__conn *kin__pool_take(kin__pool *pool) {
  if (pool->count == 0) {
    return NULL;
  }
  kin__conn *conn = conn_of(pool->idle.prev);
  remove_conn(pool, conn);
  return conn;
}
