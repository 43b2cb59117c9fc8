/* SPDX-License-Identifier: MIT */
#include <kin/error.h>
#include <kin/work_queue.h>

#include <inttypes.h>
#include <stdio.h>

#include "base/first_size.h"
#include "base/number.h"
#include "base/sized.h"
#include "toolkit/metrics_writer.h"
#include "workqueue/work_queue.h"

/* WQ-13: the numbers of a queue, and client-go's names for them. */

/* An attached queue that closes has only counters. */
static void read_metrics(const kin_work_queue *queue,
                         kin_work_queue_metrics *metrics) {
  if (kin__work_queue_is_closing(queue)) {
    *metrics = queue->work.metrics;
    metrics->depth = 0;
    return;
  }
  /* The time of the copy is now; the work is only read. */
  kin__work_queue_look((kin_work_queue *)(uintptr_t)queue);
  kin__work_read_metrics(&queue->work, metrics);
}

int kin_work_queue_get_metrics(const kin_work_queue *queue,
                               kin_work_queue_metrics *metrics) {
  if (queue == NULL) {
    return KIN_EINVAL;
  }
  kin_work_queue_metrics found;
  read_metrics(queue, &found);
  return kin__sized_fill(metrics, &found, sizeof found,
                         KIN__FIRST_SIZE(kin_work_queue_metrics));
}

/* --- Text ----------------------------------------------------------------- */

typedef struct number {
  const char *name;
  const char *type;
  const char *help;
  size_t offset; /* of a uint64_t in kin_work_queue_metrics */
  bool is_time;  /* in microseconds; shown in seconds */
} number;

#define AT(member) offsetof(kin_work_queue_metrics, member)

static const number numbers[] = {
    {"depth", "gauge", "Keys that are to be worked on.", AT(depth), false},
    {"adds_total", "counter", "Keys that were queued.", AT(adds), false},
    {"retries_total", "counter", "Adds with a delay or a rate limit.",
     AT(retries), false},
    {"unfinished_work_seconds", "gauge",
     "Work that has no answer: the sum of its times.", AT(unfinished_us), true},
    {"longest_running_processor_seconds", "gauge",
     "The longest of these times.", AT(longest_us), true},
};

static const number distributions[] = {
    {"queue_duration_seconds", "histogram", "Time from add to work.",
     AT(queue_us), true},
    {"work_duration_seconds", "histogram", "Time from work to answer.",
     AT(work_us), true},
};

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const void *member(const kin_work_queue_metrics *metrics,
                          const number *shown) {
  return (const char *)metrics + shown->offset;
}

static void put_number(kin__metrics_writer *w, const number *shown,
                       const kin_work_queue *queue) {
  kin_work_queue_metrics metrics;
  read_metrics(queue, &metrics);
  uint64_t value = *(const uint64_t *)member(&metrics, shown);
  if (shown->is_time) {
    char text[KIN__NUMBER_SIZE];
    kin__metrics_put(w, "workqueue_%s{name=\"%s\"} %s\n", shown->name,
                     queue->name,
                     kin__number_format(text, (double)value / 1e6, 15));
  } else {
    kin__metrics_put(w, "workqueue_%s{name=\"%s\"} %" PRIu64 "\n", shown->name,
                     queue->name, value);
  }
}

static void put_distribution(kin__metrics_writer *w, const number *shown,
                             const kin_work_queue *queue) {
  kin_work_queue_metrics metrics;
  char labels[KIN__METRICS_MAX_NAME + 16];
  read_metrics(queue, &metrics);
  snprintf(labels, sizeof labels, "name=\"%s\"", queue->name);
  kin__metrics_put_histogram(w, shown->name, labels, member(&metrics, shown),
                             1e6);
}

int kin_work_queue_metrics_write(kin_work_queue *const *queues, size_t count,
                                 kin_metrics_write_cb write, void *data) {
  if ((queues == NULL && count > 0) || write == NULL) {
    return KIN_EINVAL;
  }
  for (size_t i = 0; i < count; i++) {
    if (queues[i] == NULL) {
      return KIN_EINVAL;
    }
  }
  kin__metrics_writer w = {"workqueue_", write, data, 0};
  for (size_t n = 0; n < COUNT(numbers) && count > 0; n++) {
    kin__metrics_put_head(&w, numbers[n].name, numbers[n].type,
                          numbers[n].help);
    for (size_t i = 0; i < count; i++) {
      put_number(&w, &numbers[n], queues[i]);
    }
  }
  for (size_t n = 0; n < COUNT(distributions) && count > 0; n++) {
    kin__metrics_put_head(&w, distributions[n].name, distributions[n].type,
                          distributions[n].help);
    for (size_t i = 0; i < count; i++) {
      put_distribution(&w, &distributions[n], queues[i]);
    }
  }
  return w.err;
}
