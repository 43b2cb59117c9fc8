/* SPDX-License-Identifier: MIT */
#ifndef APISIM_PODSHAPE_H
#define APISIM_PODSHAPE_H

/* Pods of many shapes, as the workloads of a large cluster have them: 1 to 6
 * containers with or without probes, volumes of nine kinds, labels,
 * annotations, owners, conditions, and sizes from about a third of the size
 * aimed at to more than twice that size, with that size as the mean.
 *
 * A shape decides which members a pod has, and is a pure function of the seed
 * and the shape's number. The pods of one owner have one shape; their values
 * differ. */

#include "podgen.h"

enum { PODSHAPE_MOST = 500 };

/* Appends the pod from "metadata" to the end, without kind and apiVersion.
 * g->shapes is from 1 to PODSHAPE_MOST. */
void podshape_render(const podgen *g, uint64_t index, uint64_t version,
                     uint64_t change, buf *out);

#endif
