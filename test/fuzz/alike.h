/* SPDX-License-Identifier: MIT */
#ifndef KIN_TEST_FUZZ_ALIKE_H
#define KIN_TEST_FUZZ_ALIKE_H

#include "fuzz/fuzz.h"

/* Texts of API objects that are alike, as the bytes of a script say. It knows
 * JSON and what an API server writes, and nothing of how texts are packed. */

enum {
  ALIKE_BYTES = 208 << 10, /* of a text; beyond, its end is left out */
  ALIKE_STRING = 1200      /* of an identity's string */
};

/* A string of the identity. In the text it may be written with escapes. */
typedef struct alike_string {
  size_t at; /* in the text; 0: not there as it is */
  size_t length;
  char plain[ALIKE_STRING];
} alike_string;

typedef enum alike_field {
  ALIKE_NAME,
  ALIKE_NAMESPACE,
  ALIKE_UID,
  ALIKE_VERSION,
  ALIKE_FIELDS
} alike_field;

typedef struct alike {
  alike_string fields[ALIKE_FIELDS];
  size_t labels; /* the place in the text; 0: none */
  size_t labels_length;
  size_t length;
  char text[ALIKE_BYTES];
} alike;

/* Writes the text of object `number` in its state `state`. */
void alike_write(alike *to, kin_str script, unsigned number, unsigned state);

/* The string, from the text if it is there. */
kin_str alike_field_of(const alike *text, alike_field field);

#endif /* KIN_TEST_FUZZ_ALIKE_H */
