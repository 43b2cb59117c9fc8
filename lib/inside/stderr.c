/* SPDX-License-Identifier: MIT */

/* For a shared library that holds an archive whose code is meant for programs,
 * as Debian's is. Such code takes the address of the C library's variable
 * `stderr` in a way that no shared library can offer. The linker's --wrap=stderr
 * gives zstd and llhttp the variable here, which has the same value. zstd prints
 * only if a notification level asks for it, llhttp in a function for debugging;
 * kinformer uses neither. */
#include <stdio.h>

extern FILE *__real_stderr;
extern FILE *__wrap_stderr __attribute__((visibility("hidden")));
FILE *__wrap_stderr;

__attribute__((constructor)) static void set_stderr(void) {
  __wrap_stderr = __real_stderr;
}
