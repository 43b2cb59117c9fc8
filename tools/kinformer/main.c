/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "app.h"

/* A standard descriptor that is closed would be given to the next file or
 * socket that is opened, and messages would go there. */
static bool have_standard_descriptors(void) {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
    if (fcntl(fd, F_GETFD) != -1) {
      continue;
    }
    if (fd == STDOUT_FILENO || open("/dev/null", O_RDWR) != fd) {
      return false;
    }
  }
  return true;
}

/* kinformer RESOURCE [options]: follows a resource and prints every change. See
 * README.md for its lines and exit statuses. */
int main(int argc, char **argv) {
  if (!have_standard_descriptors()) {
    fputs("kinformer: standard output is closed\n", stderr);
    return EXIT_FAILED;
  }
  options o;
  int exit_status;
  if (options_parse(&o, argc, argv, &exit_status)) {
    exit_status = app_run(&o);
  }
  options_finish(&o);
  return exit_status;
}
