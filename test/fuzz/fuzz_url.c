/* SPDX-License-Identifier: MIT */

/* Addresses of servers. Oracles: what was parsed, written again, is parsed to
 * the same; nothing gets through that could break a request line (RQ-01). */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kin/error.h>

#include "base/alloc.h"
#include "base/str.h"
#include "fuzz/fuzz.h"
#include "transport/url.h"

static void check_plain(const char *text) {
  for (; *text != '\0'; text++) {
    FUZZ_CHECK(*text > 0x20 && *text < 0x7f);
    FUZZ_CHECK(strchr("?#\\\"<>", *text) == NULL);
  }
}

static void check_again(const kin__url *url) {
  char text[8192];
  snprintf(text, sizeof text, "%s://%s%s", url->is_tls ? "https" : "http",
           url->host_header, url->prefix);
  kin__url again;
  FUZZ_CHECK(kin__url_parse(&again, kin__default_allocator(), text) == 0);
  FUZZ_CHECK(strcmp(again.host, url->host) == 0);
  FUZZ_CHECK(strcmp(again.host_header, url->host_header) == 0);
  FUZZ_CHECK(strcmp(again.prefix, url->prefix) == 0);
  FUZZ_CHECK(again.port == url->port && again.is_tls == url->is_tls);
  kin__url_finish(&again, kin__default_allocator());
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_input in = {data, size};
  char *text = fuzz_string(fuzz_rest(&in));
  kin__url url;
  int err = kin__url_parse(&url, kin__default_allocator(), text);
  FUZZ_CHECK(err == 0 || err == KIN_EURL);
  if (err == 0 && kin__url_is_unix(&url)) {
    FUZZ_CHECK(strcmp(text + strlen("unix://"), url.host) == 0);
    FUZZ_CHECK(!url.is_tls && url.port == 0 && url.prefix[0] == '\0');
    kin__url_finish(&url, kin__default_allocator());
  } else if (err == 0) {
    FUZZ_CHECK(url.host[0] != '\0' && url.port != 0);
    FUZZ_CHECK(strchr(url.host_header, '@') == NULL);
    FUZZ_CHECK(strchr(url.host_header, '/') == NULL);
    check_plain(url.host);
    check_plain(url.host_header);
    check_plain(url.prefix);
    check_again(&url);
    kin__url_finish(&url, kin__default_allocator());
  }
  free(text);
  return 0;
}
