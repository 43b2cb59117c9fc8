/* SPDX-License-Identifier: MIT */
#include "support/wire.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static kin_str read_file(const char *file) {
  const char *folder = getenv("KIN_WIRE_DIR");
  char path[1024];
  snprintf(path, sizeof path, "%s/%s", folder != NULL ? folder : "test/wire",
           file);
  FILE *f = fopen(path, "rb");
  if (f == NULL) {
    fail_msg("cannot open %s", path);
  }
  char *data = NULL;
  size_t length = 0;
  size_t got;
  do {
    data = realloc(data, length + 65536);
    assert_non_null(data);
    got = fread(data + length, 1, 65536, f);
    length += got;
  } while (got > 0);
  fclose(f);
  data[length] = '\0';
  return (kin_str){data, length};
}

/* Moves the chunks of a body together. Returns its length. */
static size_t join_chunks(char *body) {
  char *to = body;
  char *from = body;
  for (;;) {
    char *line_end;
    size_t size = strtoul(from, &line_end, 16);
    if (size == 0) {
      return (size_t)(to - body);
    }
    from = line_end + 2;
    memmove(to, from, size);
    to += size;
    from += size + 2;
  }
}

kin_str wire_body(const char *file) {
  kin_str response = read_file(file);
  char *data = (char *)response.data;
  char *head_end = strstr(data, "\r\n\r\n");
  assert_non_null(head_end);
  char *body = head_end + 4;
  size_t length = response.length - (size_t)(body - data);
  *head_end = '\0';
  if (strstr(data, "Transfer-Encoding: chunked") != NULL) {
    length = join_chunks(body);
  }
  memmove(data, body, length);
  data[length] = '\0';
  return (kin_str){data, length};
}
