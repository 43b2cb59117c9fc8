/* SPDX-License-Identifier: MIT */
#ifndef KIN_BASE_THREAD_H
#define KIN_BASE_THREAD_H

/* An address that tells the calling thread from all others that run now. */
const void *kin__thread_self(void);

#endif /* KIN_BASE_THREAD_H */
