/* SPDX-License-Identifier: MIT */
#ifndef KIN_FEED_HTTP_SOURCE_CORE_H
#define KIN_FEED_HTTP_SOURCE_CORE_H

#include "feed/http_source.h"

/* Shared by the two files of the source: http_source.c has the requests and
 * their answers, http_parse.c the objects in a body. */

/* Gives bytes of a 200's body to the decoder. The request may end, and another
 * may begin. */
void kin__http_source_parse(kin__http_source *source, const char *bytes,
                            size_t length);

/* The rest of the body will not be parsed. */
void kin__http_source_drop_decoders(kin__http_source *source);

/* True if no object of the answer is an API object. Treating such an answer as
 * an empty list would delete all cached objects. */
bool kin__http_source_is_useless(const kin__http_source *source);

#endif /* KIN_FEED_HTTP_SOURCE_CORE_H */
