/* SPDX-License-Identifier: MIT */

/* YAML of which libyaml reads a masked copy. Oracle: libyaml itself, which reads
 * the text as it is and gives the same events, values and refusals.
 *
 * The first byte decides whether the rest is the text, or chooses its pieces. */

#include <kin/error.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/str.h"
#include "fuzz/fuzz.h"
#include "support/yaml_twins.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_input in = {data, size};
  bool is_composed = (fuzz_byte(&in) & 1) != 0;
  kin_str text = fuzz_rest(&in);
  kin__buf composed;
  kin__buf_init(&composed, kin__default_allocator(), 1u << 24);
  if (is_composed) {
    FUZZ_CHECK(yaml_twins_compose(&composed, (const unsigned char *)text.data,
                                  text.length) == 0);
    text = kin__str(composed.data, composed.length);
  }
  FUZZ_CHECK(yaml_twins_difference(text) == NULL);
  kin__buf_finish(&composed);
  return 0;
}
