/* SPDX-License-Identifier: MIT */
#ifndef KIN_TEST_BUILD_HOST_H
#define KIN_TEST_BUILD_HOST_H

/* Counts the calls of functions that the host has under the name of another
 * library's. */
extern unsigned foreign_calls;

#endif /* KIN_TEST_BUILD_HOST_H */
