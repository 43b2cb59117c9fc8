/* SPDX-License-Identifier: MIT */
#ifndef KIN_OWNERSHIP_LIST_H
#define KIN_OWNERSHIP_LIST_H

#include <kin/error.h>
#include <kin/value.h>

/* 0 for a list of metadata, or none. Errors: KIN_ETYPE: not an array; those of
 * a read of a compact object. A later read may fail where this one did not, so
 * the caller goes on with the same `list`. */
static inline int kin__ownership_check_list(kin_value list) {
  if (!kin_value_exists(list)) {
    return list.error == KIN_ENOENT ? 0 : list.error;
  }
  return kin_value_type_of(list) == KIN_VALUE_ARRAY ? 0 : KIN_ETYPE;
}

#endif /* KIN_OWNERSHIP_LIST_H */
