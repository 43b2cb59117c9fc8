/* SPDX-License-Identifier: MIT */
#ifndef KINFORMER_WARNINGS_H
#define KINFORMER_WARNINGS_H

#include <stddef.h>
#include <stdint.h>

#include <kin/warning.h>

/* The texts that have been said, by their hashes: the last ones. */
typedef struct warnings {
  uint64_t said[64];
  size_t count; /* ever */
} warnings;

/* Says on standard error what the server warns about, each text once. `data` is
 * the warnings. */
void warnings_on_warning(const kin_warning *warning, void *data);

#endif /* KINFORMER_WARNINGS_H */
