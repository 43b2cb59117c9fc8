/* SPDX-License-Identifier: MIT */

#include <kin/error.h>
#include <kin/key.h>

#include "base/str.h"
#include "object/object.h"
#include "store/replacement.h"

/* Many objects in one call.
 *
 * A replacement is prepared beside the old content and then shown at once,
 * which cannot fail. The replacement makes its indices anew (TS-08). A change
 * of the old indices could be undone only with memory that may not be there. */

int kin_store_replace(kin_store *store, const kin_object *const *objects,
                      size_t count, kin_str version) {
  if (store == NULL) {
    return KIN_EINVAL;
  }
  version = kin__str_given(version);
  static const kin_process_handlers nobody = KIN_PROCESS_HANDLERS_INIT;
  if (store->is_managed || (objects == NULL && count > 0)) {
    return KIN_EINVAL;
  }
  if (store->is_indexing) {
    return KIN_EALREADY;
  }
  kin__replacement replacement;
  kin__replacement_begin(&replacement, store, objects, count, version, false);
  replacement.is_silent = true; /* so that marks of an expiring store stay */
  int err;
  do {
    err = kin__replacement_step(&replacement, UINT32_MAX, &nobody);
  } while (err > 0);
  while (kin__replacement_clear_step(&replacement, UINT32_MAX)) {
  }
  return err;
}

/* Transactions. */

static int delete_for(kin_store *store, const kin_store_op *op) {
  kin_str key = op->object != NULL ? kin_object_key(op->object) : op->key;
  int err = kin_key_split(key, NULL, NULL);
  if (err == 0) {
    err = kin_store_delete(store, key);
  }
  return err != KIN_ENOENT ? err : 0; /* nothing to do (TS-09) */
}

/* The same as the single operation, but without the version. */
static int apply(kin_store *store, const kin_store_op *op) {
  kin_object *old;
  int err;
  switch (op->type) {
  case KIN_STORE_PUT:
    err = kin__store_put(store, op->object, &old);
    kin__object_unref(old);
    return err;
  case KIN_STORE_DELETE:
    return delete_for(store, op);
  }
  return KIN_EINVAL;
}

static size_t longest_version(const kin_store_op *ops, size_t count) {
  size_t longest = 0;
  for (size_t i = 0; i < count; i++) {
    if (ops[i].object != NULL) {
      size_t length = kin_object_resource_version(ops[i].object).length;
      longest = length > longest ? length : longest;
    }
  }
  return longest;
}

int kin_store_transact(kin_store *store, kin_store_op *ops, size_t count,
                       size_t *failed) {
  if (store == NULL || (ops == NULL && count > 0)) {
    return KIN_EINVAL;
  }
  size_t failures = 0;
  int first = 0;
  int refusal = kin__store_begin_write(store, longest_version(ops, count));
  kin_object *last = NULL;
  for (size_t i = 0; i < count; i++) {
    /* A deletion may drop the store's reference, which may be the only one. */
    kin_object *object = kin__object_ref(ops[i].object);
    ops[i].error = refusal != 0 ? refusal : apply(store, &ops[i]);
    if (ops[i].error == 0) {
      kin__object_unref(last);
      last = object;
    } else {
      kin__object_unref(object);
      failures++;
      first = first != 0 ? first : ops[i].error;
    }
  }
  if (last != NULL) {
    kin__store_set_version(store, kin_object_resource_version(last));
    kin__object_unref(last);
  }
  if (failed != NULL) {
    *failed = failures;
  }
  return first;
}
