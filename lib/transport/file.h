/* SPDX-License-Identifier: MIT */
#ifndef KIN_TRANSPORT_FILE_H
#define KIN_TRANSPORT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Small files, read whole. These functions block: they are for threads of
 * libuv's pool. They allocate nothing. */

/* Tells whether a path's content has changed, without reading it. All zero:
 * there is no such file, or the file was never looked at. */
typedef struct kin__file_id {
  uint64_t device;
  uint64_t inode;
  uint64_t size;
  int64_t modified_s;
  int64_t modified_ns;
  int64_t changed_s; /* of the inode: changes even if the times are set back */
  int64_t changed_ns;
} kin__file_id;

bool kin__file_id_equal(const kin__file_id *a, const kin__file_id *b);

/* *id is zero on failure. Errors: libuv's. */
int kin__file_stat(const char *path, kin__file_id *id);

/* Reads at most `size` bytes. *id is of the file that was read; `id` may be
 * NULL. Pipes and devices are refused, because they could block for ever.
 * Errors: KIN_ETOOBIG (the file is larger), UV_EINVAL (not a regular file), and
 * libuv's. */
int kin__file_read(const char *path, char *bytes, size_t size, size_t *length,
                   kin__file_id *id);

/* Texts for the errors of these functions, also where libuv's would mislead.
 * Static. */
const char *kin__file_strerror(int code);

#endif /* KIN_TRANSPORT_FILE_H */
