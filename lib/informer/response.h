/* SPDX-License-Identifier: MIT */
#ifndef KIN_INFORMER_RESPONSE_H
#define KIN_INFORMER_RESPONSE_H

#include "informer/scope.h"

/* A scope's side of a response: checks its head, feeds its body to a decoder,
 * puts the objects where they belong, and tells the reflector how it ended. */

/* Of a body that is an error and not a list; more is cut off. */
#define KIN__MAX_ERROR_BODY (64u << 10)

extern const kin__exchange_callbacks kin__response_callbacks;

/* Makes the decoder for the coming response, or readies it.
 * Errors: KIN_ENOMEM. */
int kin__response_prepare(kin__scope *scope, bool is_watch);

/* scope.c's part, for response.c: one step of the reflector, and one with a
 * failure. */
void kin__scope_step(kin__scope *scope, const kin__reflector_input *input);
void kin__scope_failed(kin__scope *scope, kin__reflector_input_type type,
                       const kin__failure *failure);
/* Cancels the open request, if any; forgets one that ended by itself. */
void kin__scope_drop_request(kin__scope *scope);
void kin__scope_request_ended(kin__scope *scope);

#endif /* KIN_INFORMER_RESPONSE_H */
