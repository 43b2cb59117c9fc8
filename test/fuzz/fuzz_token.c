/* SPDX-License-Identifier: MIT */

/* Token files: what is in a file becomes the token or is refused. Oracles:
 *  - a token is one word of visible ASCII between white space, at most 64 KiB;
 *    everything else is refused (AU-01, AU-02)
 *  - the reason and the log never have the content
 *  - a file that became bad leaves the token in hand */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <kin/error.h>

#include "base/alloc.h"
#include "base/str.h"
#include "config/token.h"
#include "fuzz/fuzz.h"

static uint64_t now_ms;

static uint64_t now_ns(void *ctx) {
  (void)ctx;
  return now_ms * 1000000;
}

static kin_str secret;    /* never to be seen; short ones occur by chance */
static char refusal[160]; /* of any content; a part of this text is no secret */

static bool has_secret(const char *text) {
  return memmem(text, strlen(text), secret.data, secret.length) != NULL;
}

static void on_log(kin_log_level level, const char *message, void *data) {
  (void)level;
  (void)data;
  FUZZ_CHECK(secret.length < 16 || has_secret(refusal) || !has_secret(message));
}

static void on_served(kin__waiter *waiter) {
  (void)waiter;
}

static void on_closed(void *ctx) {
  *(bool *)ctx = true;
}

static bool is_blank(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

/* What the file says, by the words of token.h; length 0: nothing good. */
static kin_str expected_of(kin_str content) {
  while (content.length > 0 && is_blank(content.data[0])) {
    content.data++;
    content.length--;
  }
  while (content.length > 0 && is_blank(content.data[content.length - 1])) {
    content.length--;
  }
  for (size_t i = 0; i < content.length; i++) {
    if (content.data[i] <= 0x20 || content.data[i] >= 0x7f) {
      return KIN__LIT("");
    }
  }
  return content;
}

static void write_file(int fd, kin_str content) {
  FUZZ_CHECK(ftruncate(fd, 0) == 0);
  FUZZ_CHECK(pwrite(fd, content.data, content.length, 0) ==
             (ssize_t)content.length);
}

/* Asks as a request does. */
static int ask(uv_loop_t *loop, kin__token *token, kin__credential *out) {
  kin__credentials credentials = kin__token_credentials(token);
  kin__waiter waiter;
  kin__waiter_init(&waiter, on_served);
  int err = credentials.get(credentials.ctx, &waiter, out);
  if (err == KIN__PENDING) {
    uv_run(loop, UV_RUN_DEFAULT);
    FUZZ_CHECK(waiter.is_served);
    err = credentials.get(credentials.ctx, &waiter, out);
  }
  return err;
}

static void check_answer(int err, const kin__credential *credential,
                         kin_str expected) {
  if (expected.length == 0) {
    FUZZ_CHECK(err < 0 && credential->reason[0] != '\0');
    on_log(KIN_LOG_WARN, credential->reason, NULL);
    return;
  }
  FUZZ_CHECK(err == 0 && strncmp(credential->value, "Bearer ", 7) == 0);
  FUZZ_CHECK(kin__str_equal(kin__cstr(credential->value + 7), expected));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_input in = {data, size};
  size_t first_length = (size_t)fuzz_byte(&in);
  kin_str first = fuzz_take(&in, first_length);
  kin_str second = fuzz_rest(&in);
  if (second.length > KIN__TOKEN_MAX_BYTES / 2) {
    return 0;
  }
  int fd = memfd_create("token", MFD_CLOEXEC);
  FUZZ_CHECK(fd >= 0);
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  snprintf(refusal, sizeof refusal,
           "token file %s: it holds something else than a token; "
           "the token in hand stays in use",
           path);
  uv_loop_t loop;
  FUZZ_CHECK(uv_loop_init(&loop) == 0);
  kin__log log = {.cb = on_log, .level = KIN_LOG_DEBUG};
  kin__token_options options = {.loop = &loop,
                                .allocator = kin__default_allocator(),
                                .clock = {now_ns, NULL},
                                .log = &log,
                                .file = path};
  kin__token *token;
  FUZZ_CHECK(kin__token_new(&token, &options) == 0);
  kin__credential credential;
  kin_str in_hand = KIN__LIT("");
  kin_str contents[] = {first, second};
  for (int i = 0; i < 2; i++) {
    write_file(fd, contents[i]);
    secret = contents[i];
    now_ms += 60000;
    int err = ask(&loop, token, &credential);
    kin_str expected = expected_of(contents[i]);
    in_hand = expected.length > 0 ? expected : in_hand;
    check_answer(err, &credential, in_hand);
  }
  bool is_closed = false;
  kin__token_close(token, on_closed, &is_closed);
  uv_run(&loop, UV_RUN_DEFAULT);
  FUZZ_CHECK(is_closed && uv_loop_close(&loop) == 0);
  close(fd);
  return 0;
}
