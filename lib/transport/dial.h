/* SPDX-License-Identifier: MIT */
#ifndef KIN_TRANSPORT_DIAL_H
#define KIN_TRANSPORT_DIAL_H

#include <stddef.h>
#include <stdint.h>

#include <kin/error.h>

#include "transport/net.h"
#include "transport/socket.h"

/* From a name to a connected socket. */
typedef struct kin__dial kin__dial;

typedef struct kin__dial_result {
  int fd;                            /* connected: >= 0, the callee's; or -1 */
  char peer[KIN__ADDRESS_TEXT_SIZE]; /* connected: its address */
  int code;                          /* failed: negative */
  kin_error_class error_class;       /* failed: dns, connect or memory */
  char message[256];                 /* failed: every address and why */
} kin__dial_result;

/* Called once, from a step of the scheduler or a timer; the dial is gone when
 * it is called. */
typedef void (*kin__dial_cb)(void *ctx, const kin__dial_result *result);

/* Looks the host up (an address in text form is taken as it is) and tries each
 * address in turn. The look-up and each attempt may take timeout_ms; a
 * look-up that takes longer is waited for only by the net's close. `host` is
 * borrowed until the callback or kin__dial_cancel. Errors: KIN_ENOMEM. */
int kin__dial_start(kin__dial **out, kin__net *net, const char *host,
                    uint16_t port, uint32_t timeout_ms, kin__dial_cb cb,
                    void *ctx);

/* The same with the addresses given, at least one; those beyond
 * KIN__DIAL_MAX_ADDRESSES are not tried. */
#define KIN__DIAL_MAX_ADDRESSES 16
int kin__dial_start_at(kin__dial **out, kin__net *net,
                       const kin__address *addresses, size_t count,
                       uint32_t timeout_ms, kin__dial_cb cb, void *ctx);

/* Ends it without a callback. The pointer is dead. */
void kin__dial_cancel(kin__dial *dial);

/* Applies net->is_ref to all dials. A running look-up is a request of libuv's,
 * which always keeps the loop alive. */
void kin__dial_update_refs(kin__net *net);

#endif /* KIN_TRANSPORT_DIAL_H */
