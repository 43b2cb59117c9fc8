/* SPDX-License-Identifier: MIT */

/* Runs a fuzz target on all files of folders, without a fuzzer:
 * fuzz_TARGET FOLDER...
 * A file that is a find aborts the program; its name is the last one
 * printed. */

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"

static size_t count;

static void run_file(const char *path) {
  printf("%s\n", path);
  fflush(stdout);
  FILE *file = fopen(path, "rb");
  FUZZ_CHECK(file != NULL);
  FUZZ_CHECK(fseek(file, 0, SEEK_END) == 0);
  long size = ftell(file);
  FUZZ_CHECK(size >= 0);
  rewind(file);
  /* Exactly as long, so that the sanitizer sees every read beyond it. */
  uint8_t *data = malloc(size > 0 ? (size_t)size : 1);
  FUZZ_CHECK(data != NULL);
  FUZZ_CHECK(fread(data, 1, (size_t)size, file) == (size_t)size);
  fclose(file);
  LLVMFuzzerTestOneInput(data, (size_t)size);
  free(data);
  count++;
}

static int is_visible(const struct dirent *entry) {
  return entry->d_name[0] != '.';
}

static void run_folder(const char *folder) {
  struct dirent **entries;
  int entry_count = scandir(folder, &entries, is_visible, alphasort);
  if (entry_count < 0) {
    run_file(folder);
    return;
  }
  for (int i = 0; i < entry_count; i++) {
    char path[4096];
    int length =
        snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
    FUZZ_CHECK(length > 0 && (size_t)length < sizeof path);
    run_file(path);
    free(entries[i]);
  }
  free(entries);
}

int main(int argc, char **argv) {
  FUZZ_CHECK(LLVMFuzzerInitialize(&argc, &argv) == 0);
  for (int i = 1; i < argc; i++) {
    run_folder(argv[i]);
  }
  printf("%zu inputs\n", count);
  return count > 0 ? 0 : 1;
}
