/* SPDX-License-Identifier: MIT */
#ifndef KIN_KIN_H
#define KIN_KIN_H

/* Kubernetes informers on a libuv loop: includes every public header. Start
 * with client.h, then informer.h and handler.h. */

#include <kin/allocator.h>
#include <kin/client.h>
#include <kin/controller.h>
#include <kin/delta.h>
#include <kin/error.h>
#include <kin/expiring_store.h>
#include <kin/export.h>
#include <kin/factory.h>
#include <kin/features.h>
#include <kin/handler.h>
#include <kin/heap.h>
#include <kin/histogram.h>
#include <kin/informer.h>
#include <kin/informer_name.h>
#include <kin/key.h>
#include <kin/lister.h>
#include <kin/lister_watcher.h>
#include <kin/log.h>
#include <kin/metrics.h>
#include <kin/mutation_cache.h>
#include <kin/mutation_detector.h>
#include <kin/object.h>
#include <kin/object_builder.h>
#include <kin/object_list.h>
#include <kin/pager.h>
#include <kin/process.h>
#include <kin/push_store.h>
#include <kin/queue.h>
#include <kin/reflector.h>
#include <kin/reflector_store.h>
#include <kin/selector.h>
#include <kin/store.h>
#include <kin/str.h>
#include <kin/sync_track.h>
#include <kin/until.h>
#include <kin/version.h>
#include <kin/wait.h>
#include <kin/warning.h>
#include <kin/watch.h>

#endif /* KIN_KIN_H */
