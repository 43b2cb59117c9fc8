/* SPDX-License-Identifier: MIT */
#include <kin/metrics_text.h>

#include <inttypes.h>
#include <stdio.h>

#include "base/number.h"
#include "informer/informer.h"
#include "informer/metrics.h"
#include "toolkit/metrics_writer.h"

/* All lines of one metric stand together, so each metric walks all
 * informers. */

typedef struct writer {
  kin__metrics_writer to;
  const kin_metrics_source *sources;
  size_t count;
} writer;

static const char *name_of(const kin_metrics_source *source) {
  return source->name != NULL ? source->name
                              : source->informer->settings.resource.plural;
}

static void put_head(writer *w, const char *name, const char *type,
                     const char *help) {
  kin__metrics_put_head(&w->to, name, type, help);
}

/* --- Metrics -------------------------------------------------------------- */

typedef struct number {
  const char *name;
  const char *type;
  const char *help;
  size_t offset; /* of a uint64_t or size_t in kin_informer_metrics */
} number;

#define AT(member) offsetof(kin_informer_metrics, member)
static_assert(sizeof(size_t) <= sizeof(uint64_t), "gauges are sizes");

static const number counters[] = {
    {"lists_total", "counter", "Lists applied.", AT(lists)},
    {"slow_lists_total", "counter", "Lists that took over 10 s.",
     AT(slow_lists)},
    {"overdue_lists_total", "counter",
     "Lists that were not complete in time, so that others went on.",
     AT(overdue_lists)},
    {"checked_lists_total", "counter",
     "Lists that came as watches and were compared with a list.",
     AT(checked_lists)},
    {"inconsistent_lists_total", "counter", "Of these, that differed.",
     AT(inconsistent_lists)},
    {"watches_total", "counter", "Watches opened.", AT(watches)},
    {"short_watches_total", "counter",
     "Watches that ended within a second and said nothing.", AT(short_watches)},
    {"bookmarks_total", "counter", "Bookmarks received.", AT(bookmarks)},
    {"unchanged_total", "counter",
     "Objects received that were cached as they were.", AT(unchanged)},
    {"received_bytes_total", "counter", "Bytes of response bodies.",
     AT(received_bytes)},
    {"delivered_total", "counter", "Notifications given to handlers.",
     AT(delivered)},
    {"transform_failures_total", "counter",
     "States that the transform failed on.", AT(transform_failures)},
    {"oversized_total", "counter",
     "States over the limit, of which only the key is kept.", AT(oversized)},
    {"bad_objects_total", "counter", "Objects skipped, as they had no name.",
     AT(bad_objects)},
    {"coalesced_total", "counter", "Notifications merged into others.",
     AT(coalesced)},
    {"object_bytes", "gauge", "Memory of cached objects.", AT(object_bytes)},
    {"max_bytes", "gauge", "Bound of the objects' memory; 0: none.",
     AT(max_bytes)},
    {"bounded_bytes", "gauge", "Bytes that count for this bound.",
     AT(bounded_bytes)},
    {"max_bytes_reached_total", "counter", "Times that an object did not fit.",
     AT(max_bytes_reached)},
    {"dropped_bodies_total", "counter",
     "Objects of which only the key was kept for want of room.",
     AT(dropped_bodies)},
    {"packed_objects_total", "counter", "States that were compressed.",
     AT(packed_objects)},
    {"packed_text_bytes_total", "counter", "JSON texts of these.",
     AT(packed_text_bytes)},
    {"packed_bytes_total", "counter", "The same, compressed.",
     AT(packed_bytes)},
    {"dictionaries_total", "counter", "Dictionaries that were made.",
     AT(dictionaries)},
};

static const number sizes[] = {
    {"queue_depth", "gauge", "Keys waiting to be processed.", AT(queue_depth)},
    {"objects", "gauge", "Cached objects.", AT(objects)},
    {"listeners", "gauge", "Registered listeners.", AT(listeners)},
    {"pending", "gauge", "Undelivered notifications.", AT(pending)},
    {"waiting_lists", "gauge", "Scopes that wait for their turn to list.",
     AT(waiting_lists)},
};

typedef struct distribution {
  const char *name;
  const char *help;
  size_t offset;
  double divisor;
} distribution;

static const distribution distributions[] = {
    {"list_seconds", "Time of complete lists.", AT(list_us), 1e6},
    {"list_items", "Items of complete lists.", AT(list_items), 1},
    {"list_wait_seconds", "Time until the turn of lists that had to wait.",
     AT(list_wait_us), 1e6},
    {"watch_seconds", "Time of watches.", AT(watch_us), 1e6},
    {"watch_items", "Events of watches.", AT(watch_items), 1},
    {"process_seconds", "Time of a turn of the queue.", AT(process_us), 1e6},
    {"handler_seconds", "Time of handlers' callbacks.", AT(handler_us), 1e6},
};

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const void *member(const kin_informer_metrics *metrics, size_t offset) {
  return (const char *)metrics + offset;
}

static void put_numbers(writer *w, const number *numbers, size_t count,
                        bool is_size) {
  kin_informer_metrics metrics;
  for (size_t n = 0; n < count; n++) {
    put_head(w, numbers[n].name, numbers[n].type, numbers[n].help);
    for (size_t i = 0; i < w->count; i++) {
      kin__metrics_read(w->sources[i].informer, &metrics);
      const void *value = member(&metrics, numbers[n].offset);
      kin__metrics_put(&w->to, "kinformer_%s{informer=\"%s\"} %" PRIu64 "\n",
                       numbers[n].name, name_of(&w->sources[i]),
                       is_size ? (uint64_t) * (const size_t *)value
                               : *(const uint64_t *)value);
    }
  }
}

static void put_distributions(writer *w) {
  kin_informer_metrics metrics;
  char labels[KIN__METRICS_MAX_NAME + 16];
  for (size_t n = 0; n < COUNT(distributions); n++) {
    const distribution *shown = &distributions[n];
    put_head(w, shown->name, "histogram", shown->help);
    for (size_t i = 0; i < w->count; i++) {
      kin__metrics_read(w->sources[i].informer, &metrics);
      snprintf(labels, sizeof labels, "informer=\"%s\"",
               name_of(&w->sources[i]));
      kin__metrics_put_histogram(&w->to, shown->name, labels,
                                 member(&metrics, shown->offset),
                                 shown->divisor);
    }
  }
}

static void put_labelled(writer *w, const kin_metrics_source *source,
                         const char *name, const char *label, const char *value,
                         uint64_t count) {
  kin__metrics_put(&w->to,
                   "kinformer_%s{informer=\"%s\",%s=\"%s\"} %" PRIu64 "\n",
                   name, name_of(source), label, value, count);
}

static void put_events(writer *w) {
  kin_informer_metrics metrics;
  put_head(w, "events_total", "counter", "Watch events received.");
  for (size_t i = 0; i < w->count; i++) {
    const kin_metrics_source *source = &w->sources[i];
    kin__metrics_read(source->informer, &metrics);
    put_labelled(w, source, "events_total", "type", "added",
                 metrics.added_events);
    put_labelled(w, source, "events_total", "type", "modified",
                 metrics.modified_events);
    put_labelled(w, source, "events_total", "type", "deleted",
                 metrics.deleted_events);
  }
}

static void put_lost_positions(writer *w) {
  kin_informer_metrics metrics;
  put_head(w, "lost_positions_total", "counter",
           "Positions given up, by reason; a list follows each.");
  for (size_t i = 0; i < w->count; i++) {
    kin__metrics_read(w->sources[i].informer, &metrics);
    for (size_t r = 0; r <= KIN_RELIST_INTERNAL; r++) {
      put_labelled(w, &w->sources[i], "lost_positions_total", "reason",
                   kin_relist_reason_name((kin_relist_reason)r),
                   metrics.lost_positions[r]);
    }
  }
}

static void put_failures(writer *w) {
  kin_informer_metrics metrics;
  put_head(w, "failures_total", "counter", "Failures, by class.");
  for (size_t i = 0; i < w->count; i++) {
    kin__metrics_read(w->sources[i].informer, &metrics);
    for (size_t c = KIN_CLASS_NONE + 1; c <= KIN_CLASS_MEMORY; c++) {
      put_labelled(w, &w->sources[i], "failures_total", "class",
                   kin_error_class_name((kin_error_class)c),
                   metrics.failures[c]);
    }
  }
}

static void put_states(writer *w) {
  kin_informer_metrics metrics;
  put_head(w, "scopes", "gauge", "Scopes, by state.");
  for (size_t i = 0; i < w->count; i++) {
    kin__metrics_read(w->sources[i].informer, &metrics);
    for (size_t s = KIN_STATE_IDLE; s <= KIN_STATE_ABSENT; s++) {
      put_labelled(w, &w->sources[i], "scopes", "state",
                   kin_state_name((kin_state)s), metrics.scopes[s]);
    }
  }
}

static void put_gauge(writer *w, const char *name, const char *help,
                      uint32_t value) {
  put_head(w, name, "gauge", help);
  kin__metrics_put(&w->to, "kinformer_%s %" PRIu32 "\n", name, value);
}

static void put_lists(writer *w, const kin_client_stats *stats) {
  put_gauge(w, "client_lists", "Lists being made (max_lists).", stats->lists);
  put_gauge(w, "client_waiting_lists", "Lists that wait for their turn.",
            stats->waiting_lists);
  put_gauge(w, "client_overdue_lists",
            "Lists being made that others no longer wait for.",
            stats->overdue_lists);
}

static void put_client(writer *w, const kin_client *client) {
  kin_client_stats stats = KIN_CLIENT_STATS_INIT;
  kin_histogram iteration_us;
  (void)kin_client_get_stats(client, &stats);
  kin_client_get_iterations(client, &iteration_us);
  put_head(w, "client_requests_total", "counter", "Requests sent.");
  kin__metrics_put(&w->to, "kinformer_client_requests_total %" PRIu64 "\n",
                   stats.requests);
  put_head(w, "client_connections_total", "counter", "Connections opened.");
  kin__metrics_put(&w->to, "kinformer_client_connections_total %" PRIu64 "\n",
                   stats.connections);
  put_head(w, "client_open_connections", "gauge", "Connections open.");
  kin__metrics_put(&w->to, "kinformer_client_open_connections %" PRIu32 "\n",
                   stats.open_connections);
  put_head(w, "client_delayed_requests_total", "counter",
           "Requests sent after a wait for the client's own limit.");
  kin__metrics_put(&w->to,
                   "kinformer_client_delayed_requests_total %" PRIu64 "\n",
                   stats.delayed_requests);
  put_head(w, "client_delay_seconds_total", "counter", "These waits together.");
  char text[KIN__NUMBER_SIZE];
  kin__metrics_put(
      &w->to, "kinformer_client_delay_seconds_total %s\n",
      kin__number_format(text, (double)stats.delayed_ns / 1e9, 15));
  put_lists(w, &stats);
  put_head(w, "client_object_bytes", "gauge", "Memory of all cached objects.");
  kin__metrics_put(&w->to, "kinformer_client_object_bytes %" PRIu64 "\n",
                   stats.object_bytes);
  put_head(w, "client_live_object_bytes", "gauge",
           "Memory of objects, also of those that are only held.");
  kin__metrics_put(&w->to, "kinformer_client_live_object_bytes %" PRIu64 "\n",
                   stats.live_object_bytes);
  put_head(w, "client_warnings_total", "counter",
           "Warnings that came with responses.");
  kin__metrics_put(&w->to, "kinformer_client_warnings_total %" PRIu64 "\n",
                   stats.warnings);
  put_head(w, "client_iteration_seconds", "histogram",
           "Own work in a loop iteration that had some.");
  kin__metrics_put_histogram(&w->to, "client_iteration_seconds", "",
                             &iteration_us, 1e6);
}

int kin_metrics_write(const kin_client *client,
                      const kin_metrics_source *sources, size_t count,
                      kin_metrics_write_cb write, void *data) {
  if ((sources == NULL && count > 0) || write == NULL) {
    return KIN_EINVAL;
  }
  for (size_t i = 0; i < count; i++) {
    if (sources[i].informer == NULL ||
        (sources[i].name != NULL && !kin__metrics_is_name(sources[i].name))) {
      return KIN_EINVAL;
    }
  }
  writer w = {{"kinformer_", write, data, 0}, sources, count};
  if (client != NULL) {
    put_client(&w, client);
  }
  if (count > 0) {
    put_numbers(&w, counters, COUNT(counters), false);
    put_numbers(&w, sizes, COUNT(sizes), true);
    put_events(&w);
    put_lost_positions(&w);
    put_failures(&w);
    put_states(&w);
    put_distributions(&w);
  }
  return w.to.err;
}
