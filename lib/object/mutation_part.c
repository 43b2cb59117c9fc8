/* SPDX-License-Identifier: MIT */
#include <kin/mutation_detector.h>

const char *kin_mutation_part_name(kin_mutation_part part) {
  static const char *const names[] = {[KIN_MUTATION_HEADER] = "header",
                                      [KIN_MUTATION_STRINGS] = "strings",
                                      [KIN_MUTATION_JSON] = "json"};
  size_t i = (size_t)part;
  return i < sizeof names / sizeof names[0] ? names[i] : "unknown";
}
