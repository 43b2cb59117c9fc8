/* SPDX-License-Identifier: MIT */
#ifndef KIN_TRANSPORT_NET_H
#define KIN_TRANSPORT_NET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <uv.h>

#include <kin/error.h>

#include "base/fork.h"
#include "base/link.h"
#include "transport/handle.h"
#include "transport/read_delay.h"
#include "transport/transport.h"
#include "transport/wiping.h"

/* The size of one recv; less if a request has a read_shift. */
#define KIN__READ_BYTES (64u << 10)

struct kin__conn;

typedef struct kin__conn_error {
  int code;
  kin_error_class error_class;
  char reason[240];
} kin__conn_error;

/* Shared by the connections of one transport: the loop, memory, the read
 * buffer, and a count of what libuv still holds.
 *
 * Nothing is freed that libuv may still call back. Every handle, from its init
 * to its release, and every running request holds the net once. The transport
 * is freed only when this count is zero. */
typedef struct kin__net {
  uv_loop_t *loop;
  const kin_allocator *allocator;
  kin__wiping wiping; /* for bytes that wait to be sent */
  kin__sched *sched;
  kin__timers *timers; /* they use sched's clock */
  const kin__log *log;
  kin__transport_stats stats;

  kin__link conns;        /* open ones; kin__conn.node */
  kin__link closed_conns; /* whose sockets are still open */
  kin__task close_task;   /* closes those sockets; kin__conn_init_closing */
  kin__link dials;        /* not yet ended; kin__dial.node */
  size_t hanging;         /* look-ups in threads whose dials have ended */
  char *read_buffer;      /* KIN__READ_BYTES; used within one step only */
  uint32_t stops;         /* of polling, since a connection's last step */
  kin__read_delay read_delay;

  /* The last error of a connection. It is reported in the call that set it. */
  kin__conn_error conn_error;
  const struct kin__conn *failed_conn; /* NULL: none, or it is closed */

  /* Never started. If this handle is closing, the host has swept the loop. */
  uv_timer_t anchor;
  kin__release anchor_gone;
  kin__releases releases;   /* of closed connections, dials and the anchor */
  kin__fork_mark fork_mark; /* of the process that owns the sockets */
  size_t holds;
  void (*on_drained)(struct kin__net *net); /* may free the net */
  bool is_ref;
} kin__net;

/* Takes loop, allocator, sched, timers and log from the options.
 * Errors: KIN_ENOMEM, and libuv's. */
int kin__net_open(kin__net *net, const kin__transport_options *options);

/* Calls on_drained from the loop when nothing holds the net any more. All
 * connections and dials must have been told to end. */
void kin__net_close(kin__net *net, void (*on_drained)(kin__net *net));

void kin__net_hold(kin__net *net);
/* Only for callbacks of libuv, or while something else holds the net. */
void kin__net_release(kin__net *net);

/* Applies kin__transport_set_ref to a new handle. */
void kin__net_apply_ref(const kin__net *net, uv_handle_t *handle);

/* Whether the network is gone. Either the host has closed the handles on its
 * loop, or this is a forked child, whose sockets belong to its parent. From
 * then on no handle is opened, and no socket is read or written. */
bool kin__net_is_cut_off(const kin__net *net);

uint64_t kin__net_now_ms(const kin__net *net);

#endif /* KIN_TRANSPORT_NET_H */
