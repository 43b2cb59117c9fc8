/* SPDX-License-Identifier: MIT */
#ifndef KIN_TRANSPORT_WIPING_H
#define KIN_TRANSPORT_WIPING_H

#include <kin/allocator.h>

/* An allocator that wipes what it gives back, for parsers and buffers of
 * secrets. Costs 16 bytes for each block. */
typedef struct kin__wiping {
  kin_allocator allocator; /* the wiping one */
  const kin_allocator *inner;
} kin__wiping;

/* `inner` must outlive it, and the struct must not move. */
void kin__wiping_init(kin__wiping *wiping, const kin_allocator *inner);

#endif /* KIN_TRANSPORT_WIPING_H */
