/* SPDX-License-Identifier: MIT */
#ifndef APISIM_MEDIA_H
#define APISIM_MEDIA_H

/* Content negotiation: which of the forms we can send does a client accept. */

#include <stdbool.h>

#include "buf.h"

typedef enum media {
  MEDIA_NONE,         // no type we have is acceptable
  MEDIA_UNKNOWN_FORM, // only conversions ("as=...") we do not have
  MEDIA_JSON,         // the object itself
  MEDIA_PARTIAL,      // PartialObjectMetadata
  MEDIA_PARTIAL_LIST, // PartialObjectMetadataList
  MEDIA_DISCOVERY,    // APIGroupDiscoveryList v2
} media;

/* The acceptable form of highest quality, the first of several. An absent or
 * empty Accept header means that anything goes. */
media media_negotiate(slice accept);
/* Whether an object as it is would do, too: errors are sent so. */
bool media_takes_plain(slice accept);
/* The type and subtype of a Content-Type value, without parameters. */
slice media_type(slice content_type);

#endif
