/* SPDX-License-Identifier: MIT */
#include "warnings.h"

#include <stdbool.h>
#include <stddef.h>

#include "complaint.h"

#define SAID (sizeof((warnings *)0)->said / sizeof(uint64_t))

/* FNV-1a. */
static uint64_t hash(const char *s) {
  uint64_t h = UINT64_C(0xcbf29ce484222325);
  for (; *s != '\0'; s++) {
    h = (h ^ (unsigned char)*s) * UINT64_C(0x100000001b3);
  }
  return h;
}

static bool is_new(warnings *w, const char *text) {
  uint64_t h = hash(text);
  for (size_t i = 0; i < w->count && i < SAID; i++) {
    if (w->said[i] == h) {
      return false;
    }
  }
  w->said[w->count++ % SAID] = h;
  return true;
}

void warnings_on_warning(const kin_warning *warning, void *data) {
  bool is_text = warning->code == 299 && warning->text[0] != '\0';
  if (is_text && is_new(data, warning->text)) {
    complain_of_server("the server warns: ", warning->text);
  }
}
