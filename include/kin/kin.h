/* SPDX-License-Identifier: MIT */
#ifndef KIN_KIN_H
#define KIN_KIN_H

/** @file
 * Kubernetes informers on a libuv loop: the core, which a normal program needs.
 * A client is one server on one loop (client.h). An informer keeps a copy of a
 * resource (informer.h). Handlers are called on changes (handler.h). The copy
 * is a store (store.h) of objects (object.h).
 *
 * <kin/request.h> adds single requests: get, create, patch, delete.
 * <kin/discovery.h> finds the resource that a word names.
 * <kin/toolkit.h> adds tools that use informers: factories, waits, watchers,
 * listers, pages. <kin/controllers.h> adds what controllers need: work queues,
 * leader election, Events, finalizers and owners. <kin/cache.h> has the pieces
 * of client-go's tools/cache one by one. */

#include <kin/allocator.h>
#include <kin/client.h>
#include <kin/error.h>
#include <kin/exec_plugin.h>
#include <kin/export.h>
#include <kin/handler.h>
#include <kin/histogram.h>
#include <kin/informer.h>
#include <kin/key.h>
#include <kin/lister_watcher.h>
#include <kin/log.h>
#include <kin/max_bytes.h>
#include <kin/metrics.h>
#include <kin/mutation_detector.h>
#include <kin/object.h>
#include <kin/object_builder.h>
#include <kin/object_list.h>
#include <kin/selector.h>
#include <kin/sized.h>
#include <kin/store.h>
#include <kin/str.h>
#include <kin/version.h>
#include <kin/warning.h>

#endif /* KIN_KIN_H */
