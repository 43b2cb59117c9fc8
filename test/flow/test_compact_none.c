/* SPDX-License-Identifier: MIT */

/* A build without zstd refuses compact storage. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <kin/error.h>

#include "support/informer_world.h"

static void test_compact_is_refused(void **state) {
  (void)state;
  for (int compact = KIN_COMPACT_OFF; compact <= 3; compact++) {
    iw_world w;
    iw_init(&w, 0);
    kin_informer_options options = iw_options(&w);
    options.compact = (kin_compact)compact;
    int expected = compact == KIN_COMPACT_OFF ? 0
                   : compact == 3             ? KIN_EINVAL
                                              : KIN_ENOTSUP;
    assert_int_equal(kin__informer_open(&w.informer, &w.script.env, &options),
                     expected);
    iw_finish(&w);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_compact_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
