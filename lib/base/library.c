/* SPDX-License-Identifier: MIT */
#include "base/library.h"

#include <kin/error.h>

int kin__library_check(const kin__library *library, const kin__log *log) {
  if (library->fits) {
    return 0;
  }
  return kin__log_problem(
      log, KIN_ELIBRARY,
      "%s: the program uses another one (%s) than kinformer needs (%s)",
      library->name, library->found, library->built_for);
}
