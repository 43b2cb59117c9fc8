/* SPDX-License-Identifier: MIT */
#ifndef KIN_DISCOVERY_DOCUMENT_H
#define KIN_DISCOVERY_DOCUMENT_H

#include "base/buf.h"
#include "base/sched.h"
#include "discovery/parts.h"
#include "discovery/table.h"
#include "object/json.h"

/* Discovery documents, read into a table in pieces. A value of another type
 * than expected counts as absent. A group, version or resource that cannot be
 * read leaves the others as they are. */
typedef enum kin__document_kind {
  /* The answer to /api or /apis: an APIGroupDiscoveryList of
   * apidiscovery.k8s.io/v2 or v2beta1, or (old form) APIVersions or an
   * APIGroupList. In the old form all versions are pending; in the aggregated
   * one those that are stale or have no readable list of resources. */
  KIN__DOCUMENT_CORE,
  KIN__DOCUMENT_GROUPS,
  /* The answer to /api/VERSION or /apis/GROUP/VERSION: an APIResourceList, read
   * into a version, which is known then. */
  KIN__DOCUMENT_VERSION
} kin__document_kind;

typedef struct kin__document {
  kin__api_table *table;
  kin__document_kind kind;
  kin__api_version *version; /* KIN__DOCUMENT_VERSION */
  int error;

  /* The rest belongs to document.c. The text is cut into parts first, all of
   * which are parsed before anything is added to the table. */
  enum {
    KIN__DOCUMENT_SCANNING,
    KIN__DOCUMENT_CUTTING,
    KIN__DOCUMENT_ADDING
  } state;
  kin__parts parts;
  bool is_aggregated;
  uint32_t part; /* in hand */
  kin__json_elements items;
  kin__json_elements versions;  /* aggregated: of the group in hand */
  kin__json_elements resources; /* aggregated: of the version in hand */
  kin_str group;
  kin__api_version *into;
} kin__document;

/* Begins. Takes the memory of `text`. `version`
 * is NULL but for KIN__DOCUMENT_VERSION. Finish it with
 * kin__document_finish. */
void kin__document_begin(kin__document *document, kin__api_table *table,
                         kin__document_kind kind, kin__api_version *version,
                         kin__buf *text);
/* Reads on for a slice. Returns whether more is left; else document->error is
 * the result: 0, KIN_EJSON or KIN_EUNEXPECTED (another document; nothing was
 * added then), KIN_ENOMEM. One piece lasts long if one group, or one resource of
 * an APIResourceList, is long. */
bool kin__document_step(kin__document *document, kin__slice *slice);
void kin__document_finish(kin__document *document);

#endif /* KIN_DISCOVERY_DOCUMENT_H */
