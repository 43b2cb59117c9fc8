/* SPDX-License-Identifier: MIT */
#include <string.h>

#include <kin/error.h>

#include "base/alloc.h"
#include "base/str.h"
#include "store/store.h"

/* The version that a store has reached. The version is a copy, so that it keeps
 * no object alive that has left the store. Room is taken before a change and
 * never given back, so that setting the version afterwards cannot fail. */

enum {
  CAPACITY_MIN = 32, /* an API server's versions have up to 20 digits */
  GAUGE_DIGITS = 15
};

int kin__store_reserve_version(kin_store *store, size_t length) {
  kin__store_version *old = store->version;
  size_t present = old != NULL ? old->capacity : 0;
  if (length < present || length == 0 || store->is_managed) {
    return 0;
  }
  size_t capacity = length < CAPACITY_MIN ? CAPACITY_MIN : length + 1;
  kin__store_version *version = kin__realloc_array(
      store->allocator, old, old != NULL ? sizeof *old + present : 0,
      sizeof *version + capacity, 1);
  if (version == NULL) {
    return KIN_ENOMEM;
  }
  if (old == NULL) {
    version->length = 0;
    version->text[0] = '\0';
  }
  version->capacity = capacity;
  store->version = version;
  return 0;
}

int kin__store_begin_write(kin_store *store, size_t version_length) {
  return store->is_indexing ? KIN_EALREADY
                            : kin__store_reserve_version(store, version_length);
}

void kin__store_set_version(kin_store *store, kin_str version) {
  kin__store_version *own = store->version;
  if (own == NULL) {
    return; /* an informer's, or "" again */
  }
  own->length = version.length;
  if (version.length > 0) {
    memmove(own->text, version.data, version.length);
  }
  own->text[version.length] = '\0';
}

kin_str kin_store_resource_version(const kin_store *store) {
  if (store == NULL) {
    return kin__str(NULL, 0);
  }
  return store->version != NULL && store->version->length > 0
             ? kin__str(store->version->text, store->version->length)
             : KIN__LIT("");
}

int kin_store_bookmark(kin_store *store, kin_str version) {
  if (store == NULL) {
    return KIN_EINVAL;
  }
  version = kin__str_given(version);
  int err = kin__store_begin_write(store, version.length);
  if (err == 0) {
    kin__store_set_version(store, version);
  }
  return err;
}

bool kin__version_gauge(kin_str version, double *value) {
  kin_str digits = version;
  if (digits.length > GAUGE_DIGITS) {
    digits.data += digits.length - GAUGE_DIGITS;
    digits.length = GAUGE_DIGITS;
  }
  uint64_t number = 0;
  if (digits.length > 0 && !kin__str_to_u64(digits, &number)) {
    return false;
  }
  *value = (double)number;
  return true;
}

bool kin_store_version_gauge(const kin_store *store, double *value) {
  if (store == NULL || value == NULL) {
    return false;
  }
  return kin__version_gauge(kin_store_resource_version(store), value);
}
