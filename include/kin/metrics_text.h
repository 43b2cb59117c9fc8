/* SPDX-License-Identifier: MIT */
#ifndef KIN_METRICS_TEXT_H
#define KIN_METRICS_TEXT_H

#include <stddef.h>

#include <kin/export.h>
#include <kin/metrics.h>

#ifdef __cplusplus
extern "C" {
#endif

/** @file
 * The numbers of <kin/metrics.h> in Prometheus' text format. */

/** Takes a piece of text, of at most 4 KiB; `text` is not NUL-terminated. A
 * non-zero result ends the writing. */
typedef int (*kin_metrics_write_cb)(const char *text, size_t length,
                                    void *data);

/** One informer whose metrics are written, and its name in them. */
typedef struct kin_metrics_source {
  const kin_informer *informer; /**< required */

  /** The label `informer`: letters, digits, '.', '-', '_', '/', at most 255.
   * NULL: the plural of the informer's resource. Two sources of one name would
   * write the same time series; the program must tell them apart, with
   * kin_informer_id for example. */
  const char *name;
} kin_metrics_source;

/** Writes metrics in Prometheus' text format: those of the client, unless it is
 * NULL, and of each of the informers, which may be another client's. Nothing is
 * allocated. `data` is passed to `write`, which is called inside this call
 * only. `write` is pure: it must not call anything that would change an
 * informer.
 * Errors: KIN_EINVAL (a name, no informer; nothing has been written), the
 * result of `write`.
 * Cost: O(informers), some 180 lines for each. */
KIN_EXTERN int kin_metrics_write(const kin_client *client,
                                 const kin_metrics_source *sources,
                                 size_t count, kin_metrics_write_cb write,
                                 void *data);

#ifdef __cplusplus
}
#endif

#endif /* KIN_METRICS_TEXT_H */
