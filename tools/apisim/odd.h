/* SPDX-License-Identifier: MIT */
#ifndef APISIM_ODD_H
#define APISIM_ODD_H

/* Texts of faults: errors by their code, and objects as nobody should send
 * them. */

#include <stdint.h>

#include "buf.h"
#include "registry.h"

/* What a server says with that code. */
const char *odd_message(unsigned code);
/* Appends a Status. reason "" = the usual one of the code; retry_after 0 =
 * none. */
void odd_put_status(buf *out, unsigned code, const char *reason,
                    uint64_t retry_after);
/* Appends an ERROR event. body is "" or "status": as it should be; "object" or
 * "null": that instead of a Status; "none": without an object. */
void odd_put_error(buf *out, const char *body, unsigned code,
                   const char *reason, uint64_t retry_after);
/* Appends an object of the resource: "table" for a Table, "large" for one
 * named odd of some more bytes than that, else without a name. */
void odd_put_object(buf *out, const resource *res, const char *mode,
                    uint64_t version, uint64_t bytes);

#endif
