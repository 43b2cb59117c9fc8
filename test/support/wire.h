/* SPDX-License-Identifier: MIT */
#ifndef KIN_TEST_WIRE_H
#define KIN_TEST_WIRE_H

#include <stddef.h>

#include <kin/str.h>

/* Recorded responses of a real API server: files of KIN_WIRE_DIR, or of
 * "test/wire" without it. */

/* The body of a response, chunks joined; NUL-terminated for convenience. Free
 * its data with free(). A file that cannot be read fails the test. */
kin_str wire_body(const char *file);

#endif /* KIN_TEST_WIRE_H */
