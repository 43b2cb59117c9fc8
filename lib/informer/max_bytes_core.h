/* SPDX-License-Identifier: MIT */
#ifndef KIN_INFORMER_MAX_BYTES_CORE_H
#define KIN_INFORMER_MAX_BYTES_CORE_H

#include "informer/max_bytes.h"
#include "informer/scope.h"

/* Shared by the files of max_bytes. max_bytes_count.c counts; max_bytes.c takes
 * and refuses what comes; max_bytes_decide.c asks the program, and drops bodies
 * or stops. */

/* Adds to and takes from what is used. */
void kin__max_bytes_count(kin_informer *informer, uint64_t more, uint64_t less);
/* Counts the queue, whose depth is bounded. O(changes in the queue). */
void kin__max_bytes_recount(kin_informer *informer);

/* Whether so many more bytes are too many for one of the two bounds. */
bool kin__max_bytes_refuses(const kin_informer *informer, uint64_t more);
/* The bound that was reached: the informer's or the client's. */
const kin__byte_bound *
kin__max_bytes_reached_bound(const kin_informer *informer);
/* Whether `needed` fits again. An eighth stays free of the bound that was
 * reached. The other bound refused nothing, so there it is enough that all
 * fits. */
bool kin__max_bytes_has_room(const kin_informer *informer);

/* *out is a new object with the key only. Errors: KIN_ENOMEM. */
int kin__max_bytes_drop_body(kin_informer *informer, const kin_object *object,
                             kin_object **out);

/* The task: asks the program when the queue is empty, and drops bodies. */
bool kin__max_bytes_step(kin__task *task);
/* Scopes that were refused an object or a request try again. */
void kin__max_bytes_retry_refused(kin_informer *informer);

#endif /* KIN_INFORMER_MAX_BYTES_CORE_H */
