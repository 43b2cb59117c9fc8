/* SPDX-License-Identifier: MIT */
#ifndef KIN_TEST_DOCUMENTS_H
#define KIN_TEST_DOCUMENTS_H

#include "base/sched.h"
#include "discovery/document.h"

/* A whole discovery document at once, for tests and fuzz targets. */

static inline uint64_t documents_clock(void *ctx) {
  (void)ctx;
  return 0;
}

/* Steps of `pieces`. *steps may be NULL. */
static inline int read_document_in(kin__api_table *table,
                                   kin__document_kind kind,
                                   kin__api_version *version, kin_str text,
                                   uint32_t pieces, size_t *steps) {
  kin__document document;
  kin__buf copy;
  kin__sched sched;
  kin__sched_init(&sched, documents_clock, NULL);
  kin__buf_init(&copy, table->allocator, text.length + 1);
  int err = kin__buf_append_str(&copy, text);
  if (err != 0) {
    kin__buf_finish(&copy);
    return err;
  }
  kin__document_begin(&document, table, kind, version, &copy);
  bool has_more = true;
  for (size_t i = 0; has_more; i++) {
    kin__slice slice = kin__slice_begin(&sched, pieces);
    has_more = kin__document_step(&document, &slice);
    if (steps != NULL) {
      *steps = i + 1;
    }
  }
  err = document.error;
  kin__document_finish(&document);
  return err;
}

static inline int read_root_document(kin__api_table *table, kin_str text,
                                     bool is_core) {
  return read_document_in(table,
                          is_core ? KIN__DOCUMENT_CORE : KIN__DOCUMENT_GROUPS,
                          NULL, text, UINT32_MAX, NULL);
}

static inline int read_version_document(kin__api_table *table,
                                        kin__api_version *version,
                                        kin_str text) {
  return read_document_in(table, KIN__DOCUMENT_VERSION, version, text,
                          UINT32_MAX, NULL);
}

#endif /* KIN_TEST_DOCUMENTS_H */
