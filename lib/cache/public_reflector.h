/* SPDX-License-Identifier: MIT */
#ifndef KIN_CACHE_PUBLIC_REFLECTOR_H
#define KIN_CACHE_PUBLIC_REFLECTOR_H

#include <kin/reflector.h>

#include "base/log.h"
#include "client/host.h"

/* kin_reflector_open for any host. The reflector becomes a member of the host,
 * which must outlive it. The same errors. */
int kin__public_reflector_open(kin_reflector **out, kin__host *host,
                               const kin_reflector_options *options);

/* Whether a reflector, or a controller, may have this name; NULL may be given.
 * Errors: KIN_ETOOBIG, and the problem is told. */
int kin__public_reflector_check_name(const char *name, const kin__log *log);

/* Takes a list object by object, over many tasks, instead of
 * kin_reflector_store.replace. For each list the functions are called in this
 * order. The taker drops what an unfinished earlier list left.
 *
 * Errors are those of replace. After KIN_ENOMEM the same call is repeated. The
 * same holds for KIN_EAGAIN from begin or end, which means more work. Any other
 * error of add concerns the object, which is reported. Any other error of begin
 * or end ends the list: give_up is called. */
typedef struct kin__list_taker {
  int (*begin)(void *ctx, size_t count, kin_str version);
  int (*add)(void *ctx, const kin_object *object);
  int (*end)(void *ctx);
  /* In place of end: the list will not be completed. */
  void (*give_up)(void *ctx);
  /* The stored object with exactly this key, uid and version, borrowed; NULL if
   * there is none. The list then takes this object. */
  const kin_object *(*cached)(void *ctx, kin_str key, kin_str uid,
                              kin_str version);
  void *ctx;
} kin__list_taker;

/* Must be called before the reflector starts. `taker` must outlive the
 * reflector. */
void kin__public_reflector_use_taker(kin_reflector *reflector,
                                     const kin__list_taker *taker);

#endif /* KIN_CACHE_PUBLIC_REFLECTOR_H */
