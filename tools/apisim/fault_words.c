/* SPDX-License-Identifier: MIT */
#include "fault_words.h"

#include <stddef.h>
#include <string.h>

static const struct {
  const char *member;
  const char *kind; // NULL = every kind
  const char *allowed;
} WORDS[] = {
    {"verb", NULL,
     "any list watch get create update patch delete deletecollection other "
     "page watchlist"},
    {"how", "cut", "rst fin"},
    {"mode", "split", "writes tcp chunks"},
    {"mode", "until-close", "1.0 1.1"},
    {"mode", "odd-object", "nameless table large"},
    {"body", "error", "status object null none"},
    {"body", "status", "status text none"},
};

static bool has_word(const char *allowed, slice value) {
  for (const char *word = allowed; *word != '\0';) {
    size_t len = strcspn(word, " ");
    if (len == value.len && memcmp(word, value.ptr, len) == 0) {
      return true;
    }
    word += len;
    word += *word == ' ';
  }
  return false;
}

bool fault_words_allow(const char *kind, const char *member, slice value,
                       buf *error) {
  bool is_listed = false;
  for (size_t i = 0; i < sizeof WORDS / sizeof WORDS[0]; i++) {
    if (strcmp(WORDS[i].member, member) != 0) {
      continue;
    }
    is_listed = true;
    if (WORDS[i].kind != NULL && strcmp(WORDS[i].kind, kind) != 0) {
      continue;
    }
    bool is_default = WORDS[i].kind != NULL && value.len == 0;
    if (is_default || has_word(WORDS[i].allowed, value)) {
      return true;
    }
    buf_printf(error, "%s must be one of %s", member, WORDS[i].allowed);
    return false;
  }
  if (is_listed) {
    buf_printf(error, "%s: the kind %s has none", member, kind);
  }
  return !is_listed;
}
