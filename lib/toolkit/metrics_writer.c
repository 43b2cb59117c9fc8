/* SPDX-License-Identifier: MIT */
#include "toolkit/metrics_writer.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/ascii.h"
#include "base/number.h"

void kin__metrics_put(kin__metrics_writer *w, const char *format, ...) {
  char text[1024];
  if (w->err != 0) {
    return;
  }
  va_list args;
  va_start(args, format);
  int length = vsnprintf(text, sizeof text, format, args);
  va_end(args);
  w->err = w->write(text, (size_t)length, w->data);
}

void kin__metrics_put_head(kin__metrics_writer *w, const char *name,
                           const char *type, const char *help) {
  kin__metrics_put(w, "# HELP %s%s %s\n# TYPE %s%s %s\n", w->prefix, name, help,
                   w->prefix, name, type);
}

void kin__metrics_put_histogram(kin__metrics_writer *w, const char *name,
                                const char *labels,
                                const kin_histogram *histogram,
                                double divisor) {
  const char *comma = labels[0] != '\0' ? "," : "";
  const char *open = labels[0] != '\0' ? "{" : "";
  const char *close = labels[0] != '\0' ? "}" : "";
  char text[KIN__NUMBER_SIZE];
  uint64_t below = 0;
  for (size_t i = 0; i < KIN_HISTOGRAM_BUCKETS - 1; i++) {
    below += histogram->buckets[i];
    double bound = (double)kin_histogram_bound(i) / divisor;
    kin__metrics_put(w, "%s%s_bucket{%s%sle=\"%s\"} %" PRIu64 "\n", w->prefix,
                     name, labels, comma, kin__number_format(text, bound, 10),
                     below);
  }
  kin__metrics_put(w, "%s%s_bucket{%s%sle=\"+Inf\"} %" PRIu64 "\n", w->prefix,
                   name, labels, comma, histogram->count);
  kin__metrics_put(
      w, "%s%s_sum%s%s%s %s\n", w->prefix, name, open, labels, close,
      kin__number_format(text, (double)histogram->sum / divisor, 15));
  kin__metrics_put(w, "%s%s_count%s%s%s %" PRIu64 "\n", w->prefix, name, open,
                   labels, close, histogram->count);
}

bool kin__metrics_is_name(const char *name) {
  static const char others[] = ".-_/";
  size_t length = strnlen(name, KIN__METRICS_MAX_NAME + 1);
  for (size_t i = 0; i < length; i++) {
    if (!kin__is_alphanumeric(name[i]) && strchr(others, name[i]) == NULL) {
      return false;
    }
  }
  return length > 0 && length <= KIN__METRICS_MAX_NAME;
}
