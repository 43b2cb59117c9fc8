/* SPDX-License-Identifier: MIT */
#ifndef KIN_TEST_JSON_MUTATIONS_H
#define KIN_TEST_JSON_MUTATIONS_H

#include <stddef.h>

/* Every JSON text that is one change away from a given one. A change is made at
 * one value of the text, whichever it is:
 *
 *   - the value becomes one of each other JSON type, several of each;
 *   - the value is repeated: with itself, and with each of these before and
 *     after it. A member is repeated with its name;
 *   - the value goes, and its name with it.
 *
 * The order is fixed, and nothing is left out. Nothing is known here but JSON:
 * neither what the text means nor who reads it. */
typedef struct json_mutations {
  const char *text;
  size_t length;
  struct json_place *places; /* of values, in the order in which they begin */
  size_t place_count;
  size_t count; /* of mutations */
  char *out;    /* the last one */
  size_t out_length;
} json_mutations;

/* Fails the test if the text, which is borrowed, is not JSON. */
void json_mutations_init(json_mutations *m, const char *text);
void json_mutations_finish(json_mutations *m);

/* Number `index` of m->count, NUL-terminated; lives until the next call. */
const char *json_mutation(json_mutations *m, size_t index);

#endif /* KIN_TEST_JSON_MUTATIONS_H */
