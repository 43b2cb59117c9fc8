/* SPDX-License-Identifier: MIT */
#ifndef KINFORMER_STATS_H
#define KINFORMER_STATS_H

#include <stdint.h>

#include <kin/kin.h>

#include "options.h"
#include "text.h"

/* Lines of each kind that were printed. */
typedef struct line_counts {
  uint64_t initial;
  uint64_t add;
  uint64_t update;
  uint64_t delete_;
  uint64_t resync;
  uint64_t relisted;
  uint64_t error;
} line_counts;

/* Appends what --stats prints, one JSON object and a newline. To be called
 * before the client is closed; its numbers are those of this moment. `informer`
 * is NULL while the server has not said what RESOURCE is: then there are no
 * scopes, and all numbers of an informer are 0. */
void stats_append(text *out, const options *o, const line_counts *lines,
                  kin_client *client, kin_informer *informer);

#endif /* KINFORMER_STATS_H */
