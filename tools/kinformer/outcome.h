/* SPDX-License-Identifier: MIT */
#ifndef KINFORMER_OUTCOME_H
#define KINFORMER_OUTCOME_H

/* The result of reading a part of the command line. */
typedef enum outcome {
  GO_ON,
  BAD_USAGE, /* what is wrong has been said, as with CANNOT */
  CANNOT,
  NO_MEMORY,
  SHOW_HELP,
  SHOW_VERSION
} outcome;

/* Says on standard error what is wrong; returns BAD_USAGE. */
#if defined(__GNUC__)
__attribute__((format(printf, 1, 2)))
#endif
outcome
refuse(const char *format, ...);

#endif /* KINFORMER_OUTCOME_H */
