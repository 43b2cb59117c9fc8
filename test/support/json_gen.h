/* SPDX-License-Identifier: MIT */
#ifndef KIN_TEST_JSON_GEN_H
#define KIN_TEST_JSON_GEN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

/* Random valid JSON text from a seed: odd white space, escapes, Unicode, deep
 * nesting, empty containers, numbers of all forms. */
typedef struct json_gen {
  uint64_t state;
  bool compact; /* no white space */
  kin__buf *out;
} json_gen;

void json_gen_init(json_gen *gen, uint64_t seed, kin__buf *out);

/* A number below `limit`. */
uint32_t json_gen_below(json_gen *gen, uint32_t limit);
bool json_gen_one_in(json_gen *gen, uint32_t n);

/* Appends literal text; a random amount of white space; a string; any value
 * nested `depth` levels at most; an object. */
void json_gen_text(json_gen *gen, const char *text);
void json_gen_space(json_gen *gen);
void json_gen_string(json_gen *gen);
void json_gen_value(json_gen *gen, uint32_t depth);
void json_gen_object(json_gen *gen, uint32_t depth);

#endif /* KIN_TEST_JSON_GEN_H */
