/* SPDX-License-Identifier: MIT */
#include "support/json_gen.h"

#include <stdlib.h>

void json_gen_init(json_gen *gen, uint64_t seed, kin__buf *out) {
  *gen = (json_gen){.state = seed, .out = out};
  gen->compact = json_gen_one_in(gen, 3);
}

/* splitmix64 */
static uint64_t next(json_gen *gen) {
  uint64_t z = gen->state += UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
  return z ^ z >> 31;
}

uint32_t json_gen_below(json_gen *gen, uint32_t limit) {
  return (uint32_t)(next(gen) >> 32) % limit;
}

bool json_gen_one_in(json_gen *gen, uint32_t n) {
  return json_gen_below(gen, n) == 0;
}

void json_gen_text(json_gen *gen, const char *text) {
  if (kin__buf_append_cstr(gen->out, text) != 0) {
    abort();
  }
}

static void pick(json_gen *gen, const char *const *texts, uint32_t count) {
  json_gen_text(gen, texts[json_gen_below(gen, count)]);
}

#define PICK(gen, ...)                                                         \
  do {                                                                         \
    static const char *const texts[] = {__VA_ARGS__};                          \
    pick(gen, texts, sizeof texts / sizeof *texts);                            \
  } while (0)

void json_gen_space(json_gen *gen) {
  while (!gen->compact && json_gen_one_in(gen, 3)) {
    PICK(gen, " ", "\n", "\t", "\r\n", "    ");
  }
}

void json_gen_string(json_gen *gen) {
  json_gen_text(gen, "\"");
  uint32_t pieces = json_gen_below(gen, 6);
  for (uint32_t i = 0; i < pieces; i++) {
    PICK(gen, "a", "app", "kubernetes.io/name", "{", "}", "[", "]", ",", ":",
         "\\\"", "\\\\", "\\\\\\\"", "\\/", "\\b\\f\\n\\r\\t", "\\u0041",
         "\\u00e9", "\\u20AC", "\\ud83d\\ude00", "\xc3\xa9", "\xe2\x82\xac",
         "\xf0\x9f\x98\x80", "0123456789012345678901234567890123456789", " ",
         "\x7f", "'", "-1.5e3", "null");
  }
  json_gen_text(gen, "\"");
}

static void number(json_gen *gen) {
  PICK(gen, "0", "-0", "7", "-12", "3.25", "0.001", "1e3", "2E+5", "1.5e-7",
       "18446744073709551615", "-9223372036854775808",
       "123456789012345678901234567890");
}

static void member_name(json_gen *gen) {
  if (json_gen_one_in(gen, 2)) {
    PICK(gen, "\"a\"", "\"b\"", "\"c\"", "\"spec\"", "\"status\"",
         "\"metadata\"", "\"name\"");
  } else {
    json_gen_string(gen);
  }
}

void json_gen_object(json_gen *gen, uint32_t depth) {
  json_gen_text(gen, "{");
  json_gen_space(gen);
  uint32_t members = depth > 0 ? json_gen_below(gen, 5) : 0;
  for (uint32_t i = 0; i < members; i++) {
    if (i > 0) {
      json_gen_text(gen, ",");
      json_gen_space(gen);
    }
    member_name(gen);
    json_gen_space(gen);
    json_gen_text(gen, ":");
    json_gen_space(gen);
    json_gen_value(gen, depth - 1);
    json_gen_space(gen);
  }
  json_gen_text(gen, "}");
}

static void array(json_gen *gen, uint32_t depth) {
  json_gen_text(gen, "[");
  json_gen_space(gen);
  uint32_t elements = depth > 0 ? json_gen_below(gen, 5) : 0;
  for (uint32_t i = 0; i < elements; i++) {
    if (i > 0) {
      json_gen_text(gen, ",");
      json_gen_space(gen);
    }
    json_gen_value(gen, depth - 1);
    json_gen_space(gen);
  }
  json_gen_text(gen, "]");
}

void json_gen_value(json_gen *gen, uint32_t depth) {
  switch (json_gen_below(gen, 8)) {
  case 0:
    number(gen);
    break;
  case 1:
    PICK(gen, "true", "false", "null");
    break;
  case 2:
  case 3:
    json_gen_string(gen);
    break;
  case 4:
  case 5:
    array(gen, depth);
    break;
  default:
    json_gen_object(gen, depth);
    break;
  }
}
