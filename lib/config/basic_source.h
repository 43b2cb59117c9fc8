/* SPDX-License-Identifier: MIT */
#ifndef KIN_CONFIG_BASIC_SOURCE_H
#define KIN_CONFIG_BASIC_SOURCE_H

#include <stdbool.h>

#include <kin/allocator.h>
#include <kin/str.h>

#include "transport/credentials.h"

/* A user name and a password, sent with every request (TR-06). Both are wiped
 * when the source is freed, and appear in no log line and no error. */
typedef struct kin__basic_source kin__basic_source;

/* Bytes of the user name and of the password, each. */
#define KIN__BASIC_MAX_BYTES (16u << 10)

/* RFC 7617, 2: no control characters; a colon would end the user name. */
bool kin__basic_is_text(kin_str text, bool may_have_colon);

/* `password` may be NULL: an empty one. Errors: KIN_EINVAL (an empty user name,
 * a user name with a colon, control characters, over the bound), KIN_ENOMEM. */
int kin__basic_source_new(kin__basic_source **out,
                          const kin_allocator *allocator, const char *username,
                          const char *password);
/* `source` may be NULL. No transport may use it any more. */
void kin__basic_source_free(kin__basic_source *source);

/* The source for a transport; valid until the source is freed. */
kin__credentials kin__basic_source_credentials(kin__basic_source *source);

#endif /* KIN_CONFIG_BASIC_SOURCE_H */
