/* SPDX-License-Identifier: MIT */
#include "base/thread.h"

const void *kin__thread_self(void) {
  static _Thread_local char place;
  return &place;
}
