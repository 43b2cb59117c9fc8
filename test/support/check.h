/* SPDX-License-Identifier: MIT */
#ifndef KIN_TEST_CHECK_H
#define KIN_TEST_CHECK_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* For the sockets of test servers: says where and why, and aborts. */
#define CHECK(condition)                                                       \
  do {                                                                         \
    if (!(condition)) {                                                        \
      fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #condition,       \
              strerror(errno));                                                \
      abort();                                                                 \
    }                                                                          \
  } while (0)

#endif /* KIN_TEST_CHECK_H */
