/* SPDX-License-Identifier: MIT */
#ifndef KIN_TEST_WRITTEN_OBJECT_H
#define KIN_TEST_WRITTEN_OBJECT_H

#include <stddef.h>

/* One object of a test's server, as JSON text, that clients write. "" is no
 * object. */

#define WO_VERSION "\"resourceVersion\":\""

/* Replaces each ' by ". */
void wo_quote(char *text);
/* Copies a body to `to`, under another version. A body without a version gets a
 * uid, too. */
void wo_store(char *to, size_t size, const char *body, unsigned version);
/* The resourceVersion; 0: none. */
unsigned wo_version(const char *object);
/* The value of the first string or number of that name, as text; "" if absent.
 * Valid until the next call. */
const char *wo_value(const char *object, const char *member);
/* Of a Status that refuses a request. */
const char *wo_reason(int status, const char *method);

#endif /* KIN_TEST_WRITTEN_OBJECT_H */
