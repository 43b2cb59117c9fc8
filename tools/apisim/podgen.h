/* SPDX-License-Identifier: MIT */
#ifndef APISIM_PODGEN_H
#define APISIM_PODGEN_H

/* Pods as a busy cluster has them: owned by a ReplicaSet, running on a node,
 * with probes, volumes, conditions and managedFields. Pod i is a pure function
 * of the seed, i and how often it has changed. */

#include <stddef.h>
#include <stdint.h>

#include "buf.h"

/* The members before metadata, with which every pod begins. */
#define PODGEN_PREFIX "{\"kind\":\"Pod\",\"apiVersion\":\"v1\","

typedef struct podgen {
  uint64_t seed;
  uint64_t namespaces; // pods go to ns-0 ... ns-(namespaces - 1) in turn
  size_t object_bytes; // the size aimed at, from about 1060 on; small ones
                       // leave parts out
  uint64_t shapes;     // 0: one shape; else as in podshape.h
} podgen;

void podgen_namespace(const podgen *g, uint64_t index, buf *out);
void podgen_name(const podgen *g, uint64_t index, buf *out);
/* Appends the whole object, PODGEN_PREFIX first. */
void podgen_render(const podgen *g, uint64_t index, uint64_t version,
                   uint64_t change, buf *out);

#endif
