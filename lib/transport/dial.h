/* SPDX-License-Identifier: MIT */
#ifndef KIN_TRANSPORT_DIAL_H
#define KIN_TRANSPORT_DIAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kin/error.h>

#include "transport/net.h"
#include "transport/socket.h"

/* From a name to a connected socket. */
typedef struct kin__dial kin__dial;

typedef struct kin__dial_result {
  int fd;                            /* connected: >= 0, owned by the callee; or
                                      * -1 */
  char peer[KIN__ADDRESS_TEXT_SIZE]; /* connected: its address */
  int code;                          /* failed: negative */
  kin_error_class error_class;       /* failed: dns, connect or memory */
  char message[256];                 /* failed: the addresses and why, as many
                                      * as fit */
} kin__dial_result;

/* Called once, from a step of the scheduler or a timer. The dial no longer
 * exists then. */
typedef void (*kin__dial_cb)(void *ctx, const kin__dial_result *result);

/* Looks the host up and connects to the first address that answers (RFC 8305):
 * they are tried in kin__dial_order's order, the next one after 250 ms or a
 * failure, while the ones before go on. An address in text form, or the path of
 * a unix socket, needs no look-up. The look-up and each attempt may take
 * timeout_ms. If a look-up takes longer, the dial fails, with KIN_ERESOLVE if
 * kin__dial_withdraw can give it up, else with KIN_ETIMEDOUT, and only the
 * net's close waits for the look-up. `host` is borrowed until the callback or
 * kin__dial_cancel. Errors: KIN_ENOMEM. */
int kin__dial_start(kin__dial **out, kin__net *net, const char *host,
                    uint16_t port, uint32_t timeout_ms, kin__dial_cb cb,
                    void *ctx);

/* As kin__dial_start, for given addresses in their order, at least one.
 * Addresses beyond KIN__DIAL_MAX_ADDRESSES are not tried. */
#define KIN__DIAL_MAX_ADDRESSES 16
int kin__dial_start_at(kin__dial **out, kin__net *net,
                       const kin__address *addresses, size_t count,
                       uint32_t timeout_ms, kin__dial_cb cb, void *ctx);

/* Ends the dial without a callback. The pointer is invalid afterwards. */
void kin__dial_cancel(kin__dial *dial);

/* Whether the dial is looking its host up, no thread of libuv's pool has begun
 * that, and only other work of the program can be why: no earlier look-up of
 * the net, whose dial has ended, holds a thread still. (libuv looks up few
 * names at a time.) If so, the look-up is given up, and the dial must be
 * cancelled. */
bool kin__dial_withdraw(kin__dial *dial);

/* Whether the look-up has not ended, as far as the dial knows. */
bool kin__dial_is_looking_up(const kin__dial *dial);

/* Applies net->is_ref to all dials. A running look-up is a libuv request, which
 * always keeps the loop alive. */
void kin__dial_update_refs(kin__net *net);

#endif /* KIN_TRANSPORT_DIAL_H */
