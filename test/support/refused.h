/* SPDX-License-Identifier: MIT */
#ifndef KIN_TEST_REFUSED_H
#define KIN_TEST_REFUSED_H

#include <kin/error.h>

/* What a function makes of a NULL that it cannot do without. */

#define REFUSED(call) assert_int_equal(call, KIN_EINVAL)

/* `call` has &out for its out pointer, which must not keep what was in it. */
#define REFUSED_OUT(type, call)                                                \
  do {                                                                         \
    type out = (type)(uintptr_t)1;                                             \
    assert_int_equal(call, KIN_EINVAL);                                        \
    assert_null(out);                                                          \
  } while (0)

#define ZERO(call) assert_true((call) == 0)
#define EMPTY(call) assert_int_equal((call).length, 0)

#endif /* KIN_TEST_REFUSED_H */
