/* SPDX-License-Identifier: MIT */
#include "config/basic_source.h"

#include <kin/error.h>

#include "base/alloc.h"
#include "base/str.h"
#include "transport/basic.h"
#include "transport/secret.h"

struct kin__basic_source {
  const kin_allocator *allocator;
  char *value;
};

bool kin__basic_is_text(kin_str text, bool may_have_colon) {
  for (size_t i = 0; i < text.length; i++) {
    unsigned char c = (unsigned char)text.data[i];
    if (c < 0x20 || c == 0x7f || (c == ':' && !may_have_colon)) {
      return false;
    }
  }
  return text.length <= KIN__BASIC_MAX_BYTES;
}

static int get_basic(void *ctx, kin__waiter *waiter, kin__credential *out) {
  const kin__basic_source *source = ctx;
  (void)waiter;
  *out = (kin__credential){.value = source->value, .serial = 1, .reason = ""};
  return 0;
}

kin__credentials kin__basic_source_credentials(kin__basic_source *source) {
  return (kin__credentials){.get = get_basic, .ctx = source};
}

int kin__basic_source_new(kin__basic_source **out,
                          const kin_allocator *allocator, const char *username,
                          const char *password) {
  kin_str name = kin__cstr(username);
  kin_str secret = kin__cstr(password);
  *out = NULL;
  if (name.length == 0 || !kin__basic_is_text(name, false) ||
      !kin__basic_is_text(secret, true)) {
    return KIN_EINVAL;
  }
  kin__basic_source *source = kin__calloc(allocator, 1, sizeof *source);
  if (source == NULL) {
    return KIN_ENOMEM;
  }
  source->allocator = allocator;
  source->value = kin__basic_value(allocator, name, secret);
  if (source->value == NULL) {
    kin__basic_source_free(source);
    return KIN_ENOMEM;
  }
  *out = source;
  return 0;
}

void kin__basic_source_free(kin__basic_source *source) {
  if (source != NULL) {
    kin__secret_free(source->allocator, &source->value);
    kin__free(source->allocator, source);
  }
}
