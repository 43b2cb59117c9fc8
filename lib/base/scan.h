/* SPDX-License-Identifier: MIT */
#ifndef KIN_BASE_SCAN_H
#define KIN_BASE_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The byte loops that decide how fast a body is decoded. They take 64 bytes a
 * step and exist once for each instruction set. All versions give the same
 * results. */

enum { KIN__BLOCK = 64 };

/* The classes of the bytes of one block; bit i is for byte i. */
typedef struct kin__block_masks {
  uint64_t quote;     /* " */
  uint64_t backslash; /* \ */
  uint64_t open;      /* { and [ */
  uint64_t close;     /* } and ] */
  uint64_t control;   /* below 0x20 */
} kin__block_masks;

/* The state of a skip to the end of the open JSON container(s), carried from
 * one span of bytes to the next. */
typedef struct kin__skip {
  uint64_t in_string; /* all ones inside a string, else 0 */
  uint64_t escaped;   /* 1 if the next byte is escaped, else 0 */
  uint64_t depth;     /* closing brackets still to come; never 0 while
                       * skipping */
  uint64_t max_depth; /* bound on `depth`; UINT64_MAX: none */
  bool is_deep;       /* depth went over max_depth, which is UINT64_MAX from
                       * then on */
} kin__skip;

typedef enum kin__skip_result {
  KIN__SKIP_MORE,    /* all bytes were used up */
  KIN__SKIP_DONE,    /* depth is 0 */
  KIN__SKIP_CONTROL, /* a control character inside a string */
} kin__skip_result;

/* One instruction set. Static and immutable. */
typedef struct kin__scanner {
  const char *name;

  void (*classify)(kin__block_masks *masks, const char block[KIN__BLOCK]);

  /* kin__scanner_skip for whole blocks: `length` is a multiple of KIN__BLOCK,
   * and not 0. *used means nothing unless the result is KIN__SKIP_DONE. */
  kin__skip_result (*skip_blocks)(kin__skip *skip, const char *bytes,
                                  size_t length, size_t *used);

  /* The offset of the first quote, backslash or control character, or
   * length. */
  size_t (*find_special)(const char *bytes, size_t length);
} kin__scanner;

/* Steps over bytes until skip->depth is 0. Then *used is the offset after the
 * last closing bracket; otherwise it is `length`. Brackets inside strings do not
 * count.
 *
 * Neither the kinds of the brackets nor the values between them are checked. A
 * backslash escapes a quote outside of strings, too; JSON has neither there. */
kin__skip_result kin__scanner_skip(const kin__scanner *scanner, kin__skip *skip,
                                   const char *bytes, size_t length,
                                   size_t *used);

/* The fastest scanner that this machine can run. */
const kin__scanner *kin__scanner_best(void);

/* All scanners that this machine can run, the portable one first; NULL past the
 * last. */
const kin__scanner *kin__scanner_at(size_t index);

#endif /* KIN_BASE_SCAN_H */
