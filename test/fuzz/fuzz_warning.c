/* SPDX-License-Identifier: MIT */

/* Warning header fields. Oracles: warnings that were read, written again, are
 * read the same; their text is fit for a terminal; what a client is told of is
 * bounded (RE-05). */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/str.h"
#include "fuzz/fuzz.h"
#include "transport/warning.h"

static void check_text(kin_str text) {
  for (size_t i = 0; i < text.length; i++) {
    unsigned char c = (unsigned char)text.data[i];
    FUZZ_CHECK(c >= 0x20 && c != 0x7f);
  }
}

static void write(kin__buf *out, const kin__warning *warning) {
  FUZZ_CHECK(kin__buf_printf(out, "%s%03d " KIN_STR_FORMAT " \"",
                             out->length > 0 ? ", " : "", warning->code,
                             KIN_STR_ARG(warning->agent)) == 0);
  for (size_t i = 0; i < warning->text.length; i++) {
    char c = warning->text.data[i];
    bool is_escaped = c == '"' || c == '\\';
    FUZZ_CHECK(kin__buf_printf(out, "%s%c", is_escaped ? "\\" : "", c) == 0);
  }
  FUZZ_CHECK(kin__buf_append(out, "\"", 1) == 0);
}

/* Reads a field and writes what there was. Returns how many there were. */
static unsigned rewrite(kin__buf *out, kin_str field) {
  kin__buf bytes;
  kin__buf_init(&bytes, kin__default_allocator(), 1 << 24);
  FUZZ_CHECK(kin__buf_append_str(&bytes, field) == 0);
  kin__warning_line line = {bytes.data, bytes.data + bytes.length};
  kin__warning warning;
  unsigned count = 0;
  while (kin__warning_next(&line, &warning)) {
    FUZZ_CHECK(warning.code >= 0 && warning.code <= 999);
    check_text(warning.agent);
    check_text(warning.text);
    write(out, &warning);
    count++;
  }
  kin__buf_finish(&bytes);
  return count;
}

static void check_field(kin_str field) {
  kin__buf once;
  kin__buf twice;
  kin__buf_init(&once, kin__default_allocator(), 1 << 24);
  kin__buf_init(&twice, kin__default_allocator(), 1 << 24);
  unsigned count = rewrite(&once, field);
  if (count > 0) {
    FUZZ_CHECK(rewrite(&twice, kin__str(once.data, once.length)) == count);
    FUZZ_CHECK(kin__str_equal(kin__str(once.data, once.length),
                              kin__str(twice.data, twice.length)));
  }
  kin__buf_finish(&once);
  kin__buf_finish(&twice);
}

/* The client's side: whatever comes, in any number. */

static unsigned told;

static void on_warning(const kin_warning *warning, void *data) {
  (void)data;
  told++;
  FUZZ_CHECK(warning->code >= 0 && warning->code <= 999);
  FUZZ_CHECK(strlen(warning->text) <= KIN__WARNING_MAX_TEXT);
  check_text(kin__cstr(warning->text));
}

static uint64_t now_ns(void *ctx) {
  (void)ctx;
  return 0;
}

static void on_log(kin_log_level level, const char *message, void *data) {
  (void)level;
  (void)data;
  check_text(kin__cstr(message));
}

static void check_client(kin_str fields, bool is_logged) {
  kin__sched sched;
  kin__sched_init(&sched, now_ns, NULL);
  kin__log log = {.cb = on_log, .level = KIN_LOG_DEBUG};
  kin__hash_seed seed = {1, 2};
  uint64_t handler_ns = 0;
  kin__warnings warnings;
  kin__warnings_init(&warnings, kin__default_allocator(), &sched, &log, &seed);
  if (!is_logged) {
    kin__warnings_tell(&warnings, on_warning, NULL, &handler_ns);
  }
  told = 0;
  for (int i = 0; i < 2; i++) {
    char *copy = malloc(fields.length + 1);
    FUZZ_CHECK(copy != NULL);
    if (fields.length > 0) {
      memcpy(copy, fields.data, fields.length);
    }
    kin__warnings_hear(&warnings, KIN__LIT("/api/v1/pods"), copy,
                       fields.length);
    free(copy);
  }
  FUZZ_CHECK(warnings.pending_count <= KIN__WARNING_MAX_PENDING);
  kin__sched_run(&sched, UINT64_MAX);
  kin__warnings_stop(&warnings);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_input in = {data, size};
  bool is_logged = fuzz_below(&in, 2) == 1;
  kin_str fields = fuzz_rest(&in);
  if (fields.length > 0) {
    check_field(fields);
    check_client(fields, is_logged);
  }
  return 0;
}
