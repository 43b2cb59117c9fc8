/* SPDX-License-Identifier: MIT */

/* Holds every scanner of the machine against the portable one: on generated
 * bytes, of every length, at every alignment, with the last byte the last of a
 * page and the next page closed. A read beyond the end ends the program.
 *
 * Needs lib/base/scan.c and libc only, so that a cross compiler without the
 * libraries of its system can build the program for an emulator.
 *
 * usage: scan_alike [NAME]; NAME is the scanner that has to be the best. */
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/scan.h"

enum {
  MAX_LENGTH = 5 * KIN__BLOCK, /* whole blocks and a rest */
  ALIGNMENTS = KIN__BLOCK,
};

/* Two pages between closed ones. */
typedef struct page_area {
  char *begin;
  char *end;
} page_area;

/* A scanner in question, and where bytes are put for it. */
typedef struct scan_trial {
  const kin__scanner *portable;
  const kin__scanner *scanner;
  page_area area;
  size_t compared;
  size_t differences;
  size_t results[3]; /* how often a skip had each */
} scan_trial;

static bool open_area(page_area *area) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  size_t size = (MAX_LENGTH + ALIGNMENTS + page - 1) / page * page;
  char *all = mmap(NULL, size + 2 * page, PROT_NONE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (all == MAP_FAILED ||
      mprotect(all + page, size, PROT_READ | PROT_WRITE) != 0) {
    return false;
  }
  *area = (struct page_area){all + page, all + page + size};
  return true;
}

static uint64_t next_random(uint64_t *state) {
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return *state;
}

/* Bytes of which most mean something. Control characters are rare in half of
 * the texts, because they end a skip. */
static void fill(char *bytes, size_t length, uint64_t seed) {
  static const char special[] = "\"\"\\\\{}[]{[,: \x20\x7f\x80\xa2\xdc\xff";
  uint64_t state = seed * 2 + 1;
  bool has_controls = next_random(&state) % 2 == 0;
  uint64_t plain = next_random(&state) % 8;
  for (size_t i = 0; i < length; i++) {
    uint64_t random = next_random(&state) >> 20;
    bytes[i] = random % 8 < plain ? (char)(random >> 8)
                                  : special[(random >> 8) % sizeof special];
    if ((unsigned char)bytes[i] < 0x20 && !has_controls) {
      bytes[i] = 'x';
    }
  }
}

static void compare(scan_trial *trial, bool is_same) {
  trial->compared++;
  trial->differences += !is_same;
}

static void try_classify(scan_trial *trial, const char *block) {
  kin__block_masks expected;
  kin__block_masks masks;
  trial->portable->classify(&expected, block);
  trial->scanner->classify(&masks, block);
  compare(trial, memcmp(&masks, &expected, sizeof masks) == 0);
}

static void try_find_special(scan_trial *trial, const char *bytes,
                             size_t length) {
  compare(trial, trial->scanner->find_special(bytes, length) ==
                     trial->portable->find_special(bytes, length));
}

/* Begins in a state of the seed's. */
static void try_skip(scan_trial *trial, const char *bytes, size_t length,
                     uint64_t seed) {
  uint64_t state = seed * 2 + 1;
  kin__skip expected = {
      .in_string = 0 - next_random(&state) % 2,
      .escaped = next_random(&state) % 2,
      .depth = 1 + next_random(&state) % 40,
      .max_depth = 40 + next_random(&state) % 40,
  };
  kin__skip skip = expected;
  size_t expected_used = 0;
  size_t used = 0;
  kin__skip_result result = kin__scanner_skip(trial->portable, &expected, bytes,
                                              length, &expected_used);
  trial->results[result]++;
  bool is_same = kin__scanner_skip(trial->scanner, &skip, bytes, length,
                                   &used) == result &&
                 used == expected_used && skip.is_deep == expected.is_deep;
  if (result == KIN__SKIP_MORE) {
    is_same = is_same && skip.in_string == expected.in_string &&
              skip.escaped == expected.escaped &&
              skip.depth == expected.depth &&
              skip.max_depth == expected.max_depth;
  }
  compare(trial, is_same);
}

/* Every byte at every place of a block, among spaces. */
static void try_single_bytes(scan_trial *trial) {
  char *block = trial->area.end - KIN__BLOCK;
  for (unsigned place = 0; place < KIN__BLOCK; place++) {
    for (unsigned value = 0; value < 256; value++) {
      memset(block, ' ', KIN__BLOCK);
      block[place] = (char)value;
      try_classify(trial, block);
      try_find_special(trial, block, KIN__BLOCK);
    }
  }
}

/* A single special byte at every place of every length, or none. */
static void try_single_specials(scan_trial *trial) {
  static const char special[] = {'"', '\\', '\n', 0x1f};
  for (size_t length = 0; length <= 2 * KIN__BLOCK; length++) {
    char *bytes = trial->area.end - length;
    for (size_t at = 0; at <= length; at++) {
      memset(bytes, at % 2 == 0 ? ' ' : 0xff, length);
      if (at < length) {
        bytes[at] = special[(at + length) % sizeof special];
      }
      try_find_special(trial, bytes, length);
    }
  }
}

static void try_bytes(scan_trial *trial, char *bytes, size_t length,
                      uint64_t seed) {
  fill(bytes, length, seed);
  try_skip(trial, bytes, length, seed);
  try_find_special(trial, bytes, length);
  if (length >= KIN__BLOCK) {
    try_classify(trial, bytes);
    try_classify(trial, bytes + length - KIN__BLOCK);
  }
}

/* Every length at the end of the pages, and at every alignment. */
static void try_random_bytes(scan_trial *trial) {
  uint64_t seed = 0;
  for (size_t length = 0; length <= MAX_LENGTH; length++) {
    for (unsigned round = 0; round < 16; round++) {
      try_bytes(trial, trial->area.end - length, length, ++seed);
    }
    for (size_t offset = 0; offset < ALIGNMENTS; offset++) {
      try_bytes(trial, trial->area.begin + offset, length, ++seed);
    }
  }
}

static bool is_alike(scan_trial *trial) {
  trial->compared = 0;
  trial->differences = 0;
  try_single_bytes(trial);
  try_single_specials(trial);
  try_random_bytes(trial);
  printf("%s: %zu compared, %zu differ\n", trial->scanner->name,
         trial->compared, trial->differences);
  return trial->differences == 0;
}

/* Wrong scanners, which the comparison has to notice: each has one function
 * that goes wrong at the last byte only. */

static void wrong_classify(kin__block_masks *masks, const char *block) {
  kin__scanner_at(0)->classify(masks, block);
  masks->close &= UINT64_MAX >> 1;
}

static kin__skip_result wrong_skip(kin__skip *skip, const char *bytes,
                                   size_t length, size_t *used) {
  kin__skip_result result =
      kin__scanner_at(0)->skip_blocks(skip, bytes, length, used);
  skip->escaped = 0;
  return result;
}

static size_t wrong_find(const char *bytes, size_t length) {
  size_t at = kin__scanner_at(0)->find_special(bytes, length);
  return at + 1 == length ? length : at;
}

static bool are_wrong_ones_noticed(scan_trial *trial) {
  kin__scanner wrong[3];
  for (unsigned i = 0; i < 3; i++) {
    wrong[i] = *trial->portable;
    wrong[i].name = "wrong on purpose";
  }
  wrong[0].classify = wrong_classify;
  wrong[1].skip_blocks = wrong_skip;
  wrong[2].find_special = wrong_find;
  bool are_noticed = true;
  for (unsigned i = 0; i < 3; i++) {
    trial->scanner = &wrong[i];
    are_noticed = !is_alike(trial) && are_noticed;
  }
  return are_noticed;
}

/* Whether a read of the byte ends the process that reads. */
static bool is_closed(const char *byte) {
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    /* A sanitizer would explain, an emulator leave a core. */
    setrlimit(RLIMIT_CORE, &(struct rlimit){0});
    signal(SIGSEGV, SIG_DFL);
    signal(SIGBUS, SIG_DFL);
    _exit(*(const volatile char *)byte);
  }
  int status = 0;
  return child > 0 && waitpid(child, &status, 0) == child &&
         WIFSIGNALED(status);
}

static unsigned passed;
static unsigned failed;

static void report(const char *what, bool holds) {
  printf("%s: %s\n", holds ? "ok" : "FAIL", what);
  passed += holds;
  failed += !holds;
}

int main(int argc, char **argv) {
  scan_trial trial = {.portable = kin__scanner_at(0)};
  if (!open_area(&trial.area)) {
    perror("scan_alike: mmap");
    return 2;
  }
  report("the pages around are closed", is_closed(trial.area.end) &&
                                            is_closed(trial.area.begin - 1) &&
                                            !is_closed(trial.area.end - 1));
  report("wrong scanners are noticed", are_wrong_ones_noticed(&trial));
  for (size_t i = 0; kin__scanner_at(i) != NULL; i++) {
    trial.scanner = kin__scanner_at(i);
    report(trial.scanner->name, is_alike(&trial));
  }
  report("every result of a skip was met",
         trial.results[KIN__SKIP_MORE] > 1000 &&
             trial.results[KIN__SKIP_DONE] > 1000 &&
             trial.results[KIN__SKIP_CONTROL] > 1000);
  if (argc > 1) {
    printf("best: %s, wanted: %s\n", kin__scanner_best()->name, argv[1]);
    report("the best scanner", strcmp(kin__scanner_best()->name, argv[1]) == 0);
  }
  printf("%u passed, %u failed\n", passed, failed);
  return failed != 0;
}
