/* SPDX-License-Identifier: MIT */
#ifndef KIN_CACHE_PROCESS_H
#define KIN_CACHE_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

#include <kin/process.h>

#include "base/log.h"
#include "store/store.h"

/* The parts of kin_process_deltas, for code that processes in steps. Lists are
 * in replacement.h. */

/* Copies handlers of any version. NULL means no handlers. `log` as for
 * kin__options_take. Errors: KIN_EINVAL (size), KIN_ENOTSUP. */
int kin__process_handlers_copy(kin_process_handlers *to,
                               const kin_process_handlers *from,
                               const kin__log *log);

/* Processes one change of any type but REPLACED_ALL and SYNC_ALL. `handlers`
 * are complete. Errors: see kin_process_deltas. */
int kin__handle_deltas_one(kin_store *store,
                           const kin_process_handlers *handlers,
                           const kin_delta *delta, bool is_initial);

/* Processes SYNC_ALL for the next `count` slots. Returns whether any is left
 * below `end`, the limit of the store's slots when the SYNC_ALL began: what
 * handlers add behind `end` is no part of it. A handler may set *is_stopped:
 * then no other handler is called. */
bool kin__handle_deltas_sync_step(const kin_store *store, kin_cursor *cursor,
                                  uint32_t end, uint32_t count,
                                  const bool *is_stopped,
                                  const kin_process_handlers *handlers);

#endif /* KIN_CACHE_PROCESS_H */
