/* SPDX-License-Identifier: MIT */
#include "object/key.h"

#include <string.h>

#include <kin/error.h>
#include <kin/key.h>

#include "base/str.h"

static bool has_slash(kin_str s) {
  return s.length > 0 && memchr(s.data, '/', s.length) != NULL;
}

static int check(kin_str namespace_, kin_str name) {
  return name.length > 0 && !has_slash(name) && !has_slash(namespace_)
             ? 0
             : KIN_EKEY;
}

int kin__object_check_key(const kin_object *object) {
  return object != NULL
             ? check(kin_object_namespace(object), kin_object_name(object))
             : KIN_EINVAL;
}

int kin_key_make(char *to, size_t size, kin_str namespace_, kin_str name,
                 kin_str *key) {
  if (to == NULL) {
    return KIN_EINVAL;
  }
  namespace_ = kin__str_given(namespace_);
  name = kin__str_given(name);
  int err = check(namespace_, name);
  if (err != 0) {
    return err;
  }
  size_t separator = namespace_.length > 0 ? 1 : 0;
  size_t before = namespace_.length + separator;
  if (name.length >= size || before >= size - name.length) {
    return KIN_ETOOBIG;
  }
  if (separator > 0) {
    memcpy(to, namespace_.data, namespace_.length);
    to[namespace_.length] = '/';
  }
  memcpy(to + before, name.data, name.length);
  to[before + name.length] = '\0';
  if (key != NULL) {
    *key = kin__str(to, before + name.length);
  }
  return 0;
}

int kin_key_split(kin_str key, kin_str *namespace_, kin_str *name) {
  key = kin__str_given(key);
  const char *slash = key.length > 0 ? memchr(key.data, '/', key.length) : NULL;
  kin_str before = kin__str(key.data, 0);
  kin_str after = key;
  if (slash != NULL) {
    before.length = (size_t)(slash - key.data);
    after = kin__str(slash + 1, key.length - before.length - 1);
  }
  if (after.length == 0 || has_slash(after) ||
      (slash != NULL && before.length == 0)) {
    return KIN_EKEY;
  }
  if (namespace_ != NULL) {
    *namespace_ = before;
  }
  if (name != NULL) {
    *name = after;
  }
  return 0;
}
