/* SPDX-License-Identifier: MIT */
#ifndef KIN_CONFIG_BASE64_H
#define KIN_CONFIG_BASE64_H

#include <kin/str.h>

#include "config/vault.h"

/* Decodes base64 with its padding, as Go's encoding/base64 does: line ends
 * between the characters do not count. *text is in the vault, with a NUL behind
 * it. Errors: KIN_EINVAL (no base64), KIN_ENOMEM. */
int kin__base64_decode(kin__vault *vault, kin_str encoded, kin_str *text);

#endif /* KIN_CONFIG_BASE64_H */
