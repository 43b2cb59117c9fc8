/* SPDX-License-Identifier: MIT */
#ifndef KIN_TOOLKIT_STORED_FIELD_H
#define KIN_TOOLKIT_STORED_FIELD_H

#include <stdbool.h>

#include "informer/informer.h"

/* Whether the informer may store something of the field that a valid pointer
 * names. With a transform or a source of the program's that is so for every
 * field. Errors: KIN_ENOMEM. */
int kin__is_stored_field(const kin_informer *informer, const char *pointer,
                         bool *is_stored);

#endif /* KIN_TOOLKIT_STORED_FIELD_H */
