/* SPDX-License-Identifier: MIT */
#ifndef KIN_TOOLKIT_METRICS_WRITER_H
#define KIN_TOOLKIT_METRICS_WRITER_H

#include <stdbool.h>

#include <kin/histogram.h>
#include <kin/metrics_text.h>

/* Prometheus' text format, version 0.0.4. Each piece of a few lines is made in
 * a buffer on the stack and passed on. After the first error nothing more is
 * passed on. */
typedef struct kin__metrics_writer {
  const char *prefix; /* of the names of all metrics */
  kin_metrics_write_cb write;
  void *data;
  int err;
} kin__metrics_writer;

#define KIN__METRICS_MAX_NAME 255u

/* Passes on a formatted text of less than 1 KiB. */
void kin__metrics_put(kin__metrics_writer *w, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The two lines that come before all values of a metric. */
void kin__metrics_put_head(kin__metrics_writer *w, const char *name,
                           const char *type, const char *help);

/* `labels` is empty or as `informer="pods"`. Values are divided by `divisor`:
 * times are shown in seconds. */
void kin__metrics_put_histogram(kin__metrics_writer *w, const char *name,
                                const char *labels,
                                const kin_histogram *histogram, double divisor);

/* Whether a label may have this value without quoting. */
bool kin__metrics_is_name(const char *name);

#endif /* KIN_TOOLKIT_METRICS_WRITER_H */
