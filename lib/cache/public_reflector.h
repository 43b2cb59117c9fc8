/* SPDX-License-Identifier: MIT */
#ifndef KIN_CACHE_PUBLIC_REFLECTOR_H
#define KIN_CACHE_PUBLIC_REFLECTOR_H

#include <kin/reflector.h>

#include "client/host.h"

/* kin_reflector_open in any surroundings; the reflector becomes a member of the
 * host, which must outlive it. The same errors. */
int kin__public_reflector_open(kin_reflector **out, kin__host *host,
                               const kin_reflector_options *options);

/* Another way to take a list than kin_reflector_store.replace: object by
 * object, over many tasks. The functions are called in this order, for each
 * list anew; what an earlier one that did not come to its end has left is void.
 * Errors are those of replace: after KIN_ENOMEM the same call is made again,
 * any other ends the list. After KIN_EAGAIN from begin or end, too: there is
 * more to do. */
typedef struct kin__list_taker {
  int (*begin)(void *ctx, size_t count, kin_str version);
  int (*add)(void *ctx, const kin_object *object);
  int (*end)(void *ctx);
  /* What the store has under exactly these, borrowed, or NULL: it is listed
   * instead. */
  const kin_object *(*cached)(void *ctx, kin_str key, kin_str uid,
                              kin_str version);
  void *ctx;
} kin__list_taker;

/* Before it is started; `taker` must outlive the reflector. */
void kin__public_reflector_use_taker(kin_reflector *reflector,
                                     const kin__list_taker *taker);

#endif /* KIN_CACHE_PUBLIC_REFLECTOR_H */
