/* SPDX-License-Identifier: MIT */
#include "version.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { STAGE_ALPHA, STAGE_BETA, STAGE_GA };

typedef struct parsed {
  int stage;
  uint64_t major, minor;
} parsed;

/* Reads digits, at least one and at most 18. NULL if there are none. */
static const char *read_number(const char *text, uint64_t *out) {
  size_t len = strspn(text, "0123456789");
  *out = 0;
  for (size_t i = 0; i < len && len <= 18; i++) {
    *out = *out * 10 + (uint64_t)(text[i] - '0');
  }
  return len > 0 && len <= 18 ? text + len : NULL;
}

/* v1, v1beta2 or v1alpha3. */
static bool parse(const char *text, parsed *out) {
  *out = (parsed){.stage = STAGE_GA};
  text = *text == 'v' ? read_number(text + 1, &out->major) : NULL;
  if (text == NULL || *text == '\0') {
    return text != NULL;
  }
  if (strncmp(text, "alpha", 5) == 0) {
    out->stage = STAGE_ALPHA;
    text += 5;
  } else if (strncmp(text, "beta", 4) == 0) {
    out->stage = STAGE_BETA;
    text += 4;
  } else {
    return false;
  }
  text = read_number(text, &out->minor);
  return text != NULL && *text == '\0';
}

static int greater_first(uint64_t a, uint64_t b) {
  return (a < b) - (a > b);
}

int version_compare(const char *a, const char *b) {
  parsed one;
  parsed two;
  bool knows_one = parse(a, &one);
  bool knows_two = parse(b, &two);
  if (!knows_one && !knows_two) {
    return strcmp(a, b);
  }
  if (!knows_one || !knows_two) {
    return knows_one ? -1 : 1;
  }
  if (one.stage != two.stage) {
    return two.stage - one.stage;
  }
  int order = greater_first(one.major, two.major);
  order = order != 0 ? order : greater_first(one.minor, two.minor);
  return order != 0 ? order : strcmp(a, b); /* v1 and v01 */
}
