/* SPDX-License-Identifier: MIT */

/* Uses the library for tests of programs. */

#undef NDEBUG
#include <assert.h>

#include <kin/testing/fake_source.h>

int main(void) {
  kin_fake_source *source;
  int err = kin_fake_source_new(&source, 0);
  assert(err == 0);
  assert(kin_fake_source_count(source) == 0);
  kin_fake_source_free(source);
  return 0;
}
