/* SPDX-License-Identifier: MIT */
#ifndef APISIM_GZIP_H
#define APISIM_GZIP_H

/* A gzip stream (RFC 1952) whose blocks are stored, not compressed: all a
 * client's inflating has to be tried with, without a compressor here. But for
 * blanks, of which a few bytes may stand for many. */

#include <stdbool.h>
#include <stdint.h>

#include "blob.h"

typedef struct gzip {
  uint32_t crc;
  uint32_t size; // modulo 2^32
} gzip;

/* Queues the header. */
void gzip_begin(gzip *gz, segq *to);
/* Queues everything in from, which is left empty. */
void gzip_put(gzip *gz, segq *from, segq *to);
/* Queues a block that inflates to so many blanks, 158 to the byte. */
void gzip_put_blanks(gzip *gz, size_t count, segq *to);
/* Queues the last block and the trailer. */
void gzip_end(const gzip *gz, segq *to);

#endif
