/* SPDX-License-Identifier: MIT */
#ifndef APISIM_RENDER_H
#define APISIM_RENDER_H

/* The forms in which a stored version is sent: whole, as an item of a list, as
 * metadata only; all as references to the stored bytes. */

#include "blob.h"
#include "registry.h"
#include "store.h"

/* Queues the whole object, with version (0 = its own) as resourceVersion. */
void render_object(segq *to, const rev *r, uint64_t version);
/* Queues it as a list item: built-in kinds without kind and apiVersion. */
void render_item(segq *to, const rev *r, const resource *res);
/* Queues its PartialObjectMetadata. */
void render_partial(segq *to, const rev *r, const resource *res,
                    uint64_t version);
/* Appends an object of the resource that has no content but resourceVersion
 * and, if end is set, the annotation that ends initial events. */
void render_bookmark(buf *to, const resource *res, bool partial,
                     uint64_t version, bool end);

#endif
