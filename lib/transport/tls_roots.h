/* SPDX-License-Identifier: MIT */
#ifndef KIN_TRANSPORT_TLS_ROOTS_H
#define KIN_TRANSPORT_TLS_ROOTS_H

#include <stdbool.h>
#include <stddef.h>

#include "transport/file.h"

/* Where the system keeps the certificates of its authorities: in one file, in
 * directories, or both. These functions block: they are for threads of libuv's
 * pool. */

/* The first of the well-known files that exists, or NULL. Static. *id is zero
 * if there is none. */
const char *kin__tls_roots_bundle(kin__file_id *id);

/* Adds the ids of the directories to *id. The list has a colon between two
 * paths; NULL: the well-known directories. Files that are added, removed or
 * renamed change the id of their directory. */
void kin__tls_roots_add_ids(const char *directories, kin__file_id *id);

/* Takes a file's content, borrowed. Returns whether to go on. */
typedef bool (*kin__tls_roots_take)(void *ctx, const char *bytes,
                                    size_t length);

/* The bounds of what is read of one directory, and of all. */
#define KIN__TLS_ROOTS_MAX_FILES 4096u
#define KIN__TLS_ROOTS_MAX_BYTES (32u << 20)

/* Gives each file of the directories to `take`, read into `scratch`. Files that
 * cannot be read are left out. Links to a file of the same directory, as
 * c_rehash makes them, are not followed. Adds the ids. Returns false if `take`
 * did. */
bool kin__tls_roots_read(const char *directories, kin__file_id *id,
                         char *scratch, size_t size, kin__tls_roots_take take,
                         void *ctx);

#endif /* KIN_TRANSPORT_TLS_ROOTS_H */
