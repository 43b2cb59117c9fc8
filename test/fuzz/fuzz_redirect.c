/* SPDX-License-Identifier: MIT */

/* Where a redirect leads, as it is shown. Oracles: whatever a server writes,
 * what is shown is one of three phrases or a host with a port, without user
 * info, path or query, which may be secret. */

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "fuzz/fuzz.h"
#include "transport/redirect.h"

static bool is_phrase(const char *shown) {
  return strcmp(shown, "nowhere") == 0 || strcmp(shown, "another path") == 0 ||
         strcmp(shown, "another host") == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_input in = {data, size};
  size_t room = 16 + fuzz_byte(&in);
  kin_str text = fuzz_rest(&in);
  char *location = malloc(text.length + 1);
  char *shown = malloc(room);
  FUZZ_CHECK(location != NULL && shown != NULL);
  if (text.length > 0) {
    memcpy(location, text.data, text.length);
  }
  kin__redirect_host(kin__str(location, text.length), shown, room);
  FUZZ_CHECK(strnlen(shown, room) < room);
  if (!is_phrase(shown)) {
    FUZZ_CHECK(strspn(shown, "abcdefghijklmnopqrstuvwxyz"
                             "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_:[]") ==
               strlen(shown));
    /* The text has it, after "//" or an '@'. */
    const char *at = memmem(location, text.length, shown, strlen(shown));
    FUZZ_CHECK(shown[0] != '\0' && at != NULL);
    const char *end = location + text.length;
    size_t length = strlen(shown);
    bool is_found = false;
    for (; at != NULL && !is_found;
         at = memmem(at + 1, (size_t)(end - at - 1), shown, length)) {
      bool begins = at > location && (at[-1] == '/' || at[-1] == '@');
      bool ends = at + length == end || strchr("/?#\\", at[length]) != NULL;
      is_found = begins && ends;
    }
    FUZZ_CHECK(is_found);
  }
  free(location);
  free(shown);
  return 0;
}
