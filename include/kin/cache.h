/* SPDX-License-Identifier: MIT */
#ifndef KIN_CACHE_H
#define KIN_CACHE_H

/** @file
 * The pieces of client-go's tools/cache one by one, for programs that combine
 * them themselves: queues (queue.h), controllers (controller.h), reflectors
 * (reflector.h), and stores for special uses. An informer does not use them. */

#include <kin/controller.h>
#include <kin/delta.h>
#include <kin/expiring_store.h>
#include <kin/heap.h>
#include <kin/kin.h>
#include <kin/mutation_cache.h>
#include <kin/process.h>
#include <kin/push_store.h>
#include <kin/queue.h>
#include <kin/reflector.h>
#include <kin/reflector_store.h>
#include <kin/sync_track.h>

#endif /* KIN_CACHE_H */
