/* SPDX-License-Identifier: MIT */
#ifndef KIN_BASE_SCAN_H
#define KIN_BASE_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The loops over bytes that decide how fast a body is decoded, 64 bytes a step,
 * once for each instruction set. All of them give the same results. */

enum { KIN__BLOCK = 64 };

/* What the bytes of one block are; bit i tells about byte i. */
typedef struct kin__block_masks {
  uint64_t quote;     /* " */
  uint64_t backslash; /* \ */
  uint64_t open;      /* { and [ */
  uint64_t close;     /* } and ] */
  uint64_t control;   /* below 0x20 */
} kin__block_masks;

/* A way out of JSON text to the end of the container(s) it lies in, carried
 * from one span of bytes to the next. */
typedef struct kin__skip {
  uint64_t in_string; /* all ones inside a string, else 0 */
  uint64_t escaped;   /* 1 if the next byte is escaped, else 0 */
  uint64_t depth;     /* closing brackets to go; never 0 while skipping */
  uint64_t max_depth; /* of `depth`; UINT64_MAX: none */
  bool is_deep;       /* depth has been more; then there is no max_depth any
                       * more */
} kin__skip;

typedef enum kin__skip_result {
  KIN__SKIP_MORE,    /* all bytes were used up */
  KIN__SKIP_DONE,    /* depth has become 0 */
  KIN__SKIP_CONTROL, /* a control character inside a string */
} kin__skip_result;

/* One instruction set. Static and immutable. */
typedef struct kin__scanner {
  const char *name;

  void (*classify)(kin__block_masks *masks, const char block[KIN__BLOCK]);

  /* Steps over bytes until skip->depth is 0; *used is then the offset after the
   * bracket that did it. Brackets inside strings do not count. Which kind of
   * bracket closes which is not checked, nor what is between them; a backslash
   * escapes a quote outside of strings, too, where JSON has neither. */
  kin__skip_result (*skip_out)(kin__skip *skip, const char *bytes,
                               size_t length, size_t *used);

  /* The offset of the first quote, backslash or control character, or
   * length. */
  size_t (*find_special)(const char *bytes, size_t length);
} kin__scanner;

/* The best one for this machine. */
const kin__scanner *kin__scanner_best(void);

/* All that this machine can run, the portable one first; NULL from the end
 * on. */
const kin__scanner *kin__scanner_at(size_t index);

#endif /* KIN_BASE_SCAN_H */
