/* SPDX-License-Identifier: MIT */
#include "informer/metrics.h"

#include "base/first_size.h"
#include "base/sized.h"
#include "dispatch/listener.h"
#include "informer/compact.h"
#include "informer/informer.h"
#include "informer/scope.h"

/* Gathers the counters of feeds, queue and dispatcher. */

uint64_t kin_histogram_bound(size_t n) {
  return n < KIN_HISTOGRAM_BUCKETS - 1 ? UINT64_C(1) << (2 * n) : UINT64_MAX;
}

const char *kin_relist_reason_name(kin_relist_reason reason) {
  static const char *const names[] = {
      [KIN_RELIST_EXPIRED] = "expired",   [KIN_RELIST_TOO_LARGE] = "too_large",
      [KIN_RELIST_STORAGE] = "storage",   [KIN_RELIST_DECODE] = "decode",
      [KIN_RELIST_REFUSED] = "refused",   [KIN_RELIST_VERIFY] = "verify",
      [KIN_RELIST_INTERNAL] = "internal",
  };
  size_t i = (size_t)reason;
  return i < sizeof names / sizeof *names ? names[i] : "unknown";
}

const char *kin_memory_state_name(kin_memory_state state) {
  static const char *const names[] = {
      [KIN_MEMORY_STATE_WHOLE] = "whole",
      [KIN_MEMORY_STATE_KEYS_ONLY] = "keys_only",
      [KIN_MEMORY_STATE_PAUSED] = "paused",
      [KIN_MEMORY_STATE_STOPPED] = "stopped",
  };
  size_t i = (size_t)state;
  return i < sizeof names / sizeof names[0] ? names[i] : "unknown";
}

void kin__metrics_add_feed(kin_informer_metrics *to, const kin_feed *feed) {
  const kin__feed_counters *counters = &feed->counters;
  const kin__feed_metrics *from = &feed->metrics;
  to->lists += counters->lists;
  to->watches += counters->watches;
  to->bookmarks += counters->bookmarks;
  to->unchanged += counters->unchanged;
  to->received_bytes += counters->received_bytes;
  to->added_events += from->events[0];
  to->modified_events += from->events[1];
  to->deleted_events += from->events[2];
  to->short_watches += from->short_watches;
  to->transform_failures += counters->transform_failures;
  to->oversized += counters->oversized;
  to->bad_objects += counters->bad_objects;
  to->slow_lists += counters->slow_lists;
  to->overdue_lists += counters->overdue_lists;
  to->checked_lists += counters->checked_lists;
  to->inconsistent_lists += counters->inconsistent_lists;
  for (size_t i = 0; i <= KIN_RELIST_INTERNAL; i++) {
    to->lost_positions[i] += kin__listwatch_lost_positions(&feed->listwatch)[i];
  }
  for (size_t i = 0; i <= KIN_CLASS_MEMORY; i++) {
    to->failures[i] += from->failures[i];
  }
  kin_histogram *const histograms[KIN__FEED_HISTOGRAMS] = {
      [KIN__FEED_LIST_US] = &to->list_us,
      [KIN__FEED_LIST_ITEMS] = &to->list_items,
      [KIN__FEED_LIST_WAIT_US] = &to->list_wait_us,
      [KIN__FEED_WATCH_US] = &to->watch_us,
      [KIN__FEED_WATCH_ITEMS] = &to->watch_items};
  for (size_t i = 0; i < KIN__FEED_HISTOGRAMS; i++) {
    kin__histogram_merge(histograms[i], &from->histograms[i]);
  }
  to->waiting_lists += kin__feed_waits_to_list(feed);
}

void kin__metrics_read(const kin_informer *informer,
                       kin_informer_metrics *metrics) {
  const kin__dispatcher *dispatcher = &informer->dispatcher;
  const kin_informer_metrics *past = informer->scopes.past;
  *metrics = past != NULL ? *past : (kin_informer_metrics){0};
  metrics->queue_depth = informer->fifo.depth;
  kin__histogram_merge(&metrics->process_us, &informer->process_us);
  metrics->objects = kin_store_count(&informer->store);
  metrics->object_bytes = kin_store_bytes(&informer->store);
  metrics->max_bytes = informer->max_bytes.own.max;
  metrics->bounded_bytes = informer->max_bytes.own.used;
  metrics->max_bytes_reached = informer->max_bytes.reached;
  metrics->dropped_bodies = informer->max_bytes.dropped;
  kin__compact_read_metrics(informer, metrics);
  metrics->delivered = dispatcher->delivered;
  metrics->coalesced = dispatcher->coalesced;
  kin__histogram_merge(&metrics->handler_us, &dispatcher->handler_us);
  kin__scope *scope;
  KIN__FOR_EACH_SCOPE(scope, &informer->scopes) {
    kin__metrics_add_feed(metrics, &scope->feed);
    metrics->scopes[scope->feed.state] += !scope->is_removed;
  }
  for (const kin__link *node = dispatcher->listeners.next;
       node != &dispatcher->listeners; node = node->next) {
    const kin_listener *listener =
        KIN__CONTAINER_OF(node, const kin_listener, node);
    if (!listener->is_closed) {
      metrics->listeners++;
      metrics->pending += kin_listener_pending(listener);
    }
  }
}

int kin_informer_get_metrics(const kin_informer *informer,
                             kin_informer_metrics *metrics) {
  if (informer == NULL) {
    return KIN_EINVAL;
  }
  kin_informer_metrics found;
  kin__metrics_read(informer, &found);
  return kin__sized_fill(metrics, &found, sizeof found,
                         KIN__FIRST_SIZE(kin_informer_metrics));
}

bool kin_informer_version_gauge(const kin_informer *informer,
                                const char *namespace_, double *value) {
  if (informer == NULL || value == NULL) {
    return false;
  }
  const kin_feed *feed = kin__informer_feed(informer, namespace_);
  return feed != NULL &&
         kin__version_gauge(kin__cstr(kin__listwatch_version(&feed->listwatch)),
                            value);
}
