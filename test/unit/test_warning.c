/* SPDX-License-Identifier: MIT */

/* RE-05: what is a warning and what is not, and where warnings go. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"
#include "support/fail_alloc.h"
#include "transport/warning.h"

/* --- One field ------------------------------------------------------------ */

/* What a field holds: "299,-,text;299,agent,more;". In a block of its own, so
 * that the sanitizer sees a parser that reads on. */
static void parse(const char *field, size_t length, char *out, size_t size) {
  char *copy = malloc(length > 0 ? length : 1);
  assert_non_null(copy);
  memcpy(copy, field, length);
  kin__warning_line line = {copy, copy + length};
  kin__warning warning;
  size_t at = 0;
  out[0] = '\0';
  while (kin__warning_next(&line, &warning)) {
    at += (size_t)snprintf(
        out + at, size - at, "%03d," KIN_STR_FORMAT "," KIN_STR_FORMAT ";",
        warning.code, KIN_STR_ARG(warning.agent), KIN_STR_ARG(warning.text));
    assert_true(at < size);
  }
  assert_false(kin__warning_next(&line, &warning));
  free(copy);
}

typedef struct row {
  const char *field;
  const char *warnings;
} row;

static void check_rows(const row *rows, size_t count) {
  for (size_t i = 0; i < count; i++) {
    char out[256];
    parse(rows[i].field, strlen(rows[i].field), out, sizeof out);
    if (strcmp(out, rows[i].warnings) != 0) {
      fail_msg("%s: %s", rows[i].field, out);
    }
  }
}

#define CHECK_ROWS(rows) check_rows(rows, sizeof rows / sizeof *rows)

#define DATE "\"Tue, 15 Nov 1994 08:12:31 GMT\""

/* What apimachinery's parser takes (ParseWarningHeaders). */
static void test_warning_well_formed(void **state) {
  (void)state;
  static const row rows[] = {
      {"299 - \"text\"", "299,-,text;"},
      {"299 - \"\"", "299,-,;"},
      {"  299 - \"text\"  ", "299,-,text;"},
      {"\t299 - \"text\"\t", "299,-,text;"},
      {"321 agent \"some text\"", "321,agent,some text;"},
      {"000 - \"x\"", "000,-,x;"},
      {"299 - \"text\\\"\\\\\\a\\b\\c\"", "299,-,text\"\\abc;"},
      {"299 - \"text\" " DATE, "299,-,text;"},
      {"299 - \"text\"" DATE "  ", "299,-,text;"},
      {"299 - \"text\" \"no date, but quoted\"", "299,-,text;"},
      {"299 host:80 \"t\xc3\xa4xt \xe2\x82\xac \xf0\x9f\x90\x8e\"",
       "299,host:80,t\xc3\xa4xt \xe2\x82\xac \xf0\x9f\x90\x8e;"},
      {"299 \xc3\xa4 \"x\"", "299,\xc3\xa4,x;"},
      {"299 - \"a, b\", 299 - \"c\"", "299,-,a, b;299,-,c;"},
      {"299 - \"a\",299 - \"b\" " DATE ",  199 x \"c\"",
       "299,-,a;299,-,b;199,x,c;"},
      {"299 - \"a\",", "299,-,a;"},
      /* RFC 7234 has done away with encoded words. */
      {"299 - \"=?utf-8?q?a=20b?=\"", "299,-,=?utf-8?q?a=20b?=;"},
  };
  CHECK_ROWS(rows);
}

/* What it refuses; a malformed one ends its field, and what came before it
 * counts. */
static void test_warning_malformed(void **state) {
  (void)state;
  static const row rows[] = {
      {"", ""},
      {"   ", ""},
      {"299", ""},
      {"299 -", ""},
      {"299 - ", ""},
      {"A B", ""},
      {"A - \"text\"", ""},
      {"1 - \"text\"", ""},
      {"29 - \"text\"", ""},
      {"2999 - \"text\"", ""},
      {"29x - \"text\"", ""},
      {"-99 - \"text\"", ""},
      {"299- \"text\"", ""},
      {"299\t-\t\"text\"", ""},
      {"299  - \"text\"", ""}, /* an empty agent */
      {"299 -  \"text\"", ""}, /* no quote where it must be */
      {"299 - text", ""},
      {"299 - \"text", ""},
      {"299 - \"text\\\"", ""},
      {"299 - \"text\\", ""},
      {"299 - \"text\" \"Tue, 15 Nov 1994 08:12:31 GMT", ""},
      {"299 - \"text\" " DATE " other", ""},
      {"299 - \"text\" other", ""},
      {"299 - \"a\x01"
       "b\"",
       ""},
      {"299 - \"a\tb\"", ""},
      {"299 - \"a\x7f"
       "b\"",
       ""},
      {"299 - \"a\\\x1b[31m\"", ""},
      {"299 - \"a\xc2\x85"
       "b\"",
       ""}, /* U+0085 */
      {"299 a\x01"
       "b \"text\"",
       ""},
      {"299 - \"text\xc5\"", ""},
      {"299 - \"text\x80\"", ""},
      {"299 - \"\xc0\xaf\"", ""}, /* overlong */
      {"299 - \"\xe0\x80\xaf\"", ""},
      {"299 - \"\xed\xa0\x80\"", ""},     /* half a surrogate pair */
      {"299 - \"\xf4\x90\x80\x80\"", ""}, /* over U+10FFFF */
      {"299 - \"\xf8\x88\x80\x80\x80\"", ""},
      {"299 a\xc5"
       "b \"text\"",
       ""},
      {"299 - \"a\", nonsense, 299 - \"b\"", "299,-,a;"},
      {"299 - \"a\" 299 - \"b\"", ""},
      {"299 - \"a\", 299 - \"b", "299,-,a;"},
      {",299 - \"a\"", ""},
  };
  CHECK_ROWS(rows);
  char out[64];
  parse("299 - \"a\0b\"", 11, out, sizeof out);
  assert_string_equal(out, "");
  parse("299 a\0b \"text\"", 14, out, sizeof out);
  assert_string_equal(out, "");
}

/* Every beginning of a field is one or none, and is not read beyond its end. */
static void test_warning_every_beginning(void **state) {
  (void)state;
  static const char field[] =
      " 299 - \"a \\\"\xf0\x9f\x90\x8e\" " DATE " , 199 x \"b\" ";
  static const char first[] = "299,-,a \"\xf0\x9f\x90\x8e;";
  char out[128];
  int changes = 0;
  char last[128] = "";
  for (size_t n = 0; n < sizeof field; n++) {
    parse(field, n, out, sizeof out);
    assert_true(out[0] == '\0' || strncmp(out, first, strlen(first)) == 0);
    changes += strcmp(out, last) != 0;
    snprintf(last, sizeof last, "%s", out);
  }
  /* There without its date, not with half of it, there with all of it. */
  assert_int_equal(changes, 4);
  assert_string_equal(out, "299,-,a \"\xf0\x9f\x90\x8e;199,x,b;");
}

/* --- Where they go -------------------------------------------------------- */

typedef struct rig {
  fail_alloc memory;
  kin__sched sched;
  kin__log log;
  kin__warnings warnings;
  uint64_t now_ns;
  uint64_t handler_ns;
  char text[4096]; /* what was logged, or told */
  unsigned count;
  bool stops; /* inside the callback */
} rig;

static uint64_t rig_now_ns(void *ctx) {
  return ((rig *)ctx)->now_ns;
}

static void on_log(kin_log_level level, const char *line, void *data) {
  rig *r = data;
  size_t length = strlen(r->text);
  assert_int_equal(level, KIN_LOG_WARN);
  snprintf(r->text + length, sizeof r->text - length, "%s\n", line);
  r->count++;
}

static void on_warning(const kin_warning *warning, void *data) {
  rig *r = data;
  size_t length = strlen(r->text);
  assert_int_equal(warning->size, sizeof *warning);
  snprintf(r->text + length, sizeof r->text - length, "%d|%s|%s|%s\n",
           warning->code, warning->agent, warning->text, warning->path);
  r->count++;
  r->now_ns += 5;
  if (r->stops) {
    kin__warnings_stop(&r->warnings);
  }
}

static void rig_init(rig *r, bool tells) {
  static const kin__hash_seed seed = {1, 2};
  memset(r, 0, sizeof *r);
  fail_alloc_init(&r->memory, 0);
  kin__sched_init(&r->sched, rig_now_ns, r);
  r->log = (kin__log){on_log, r, KIN_LOG_WARN};
  kin__warnings_init(&r->warnings, &r->memory.allocator, &r->sched, &r->log,
                     &seed);
  if (tells) {
    kin__warnings_tell(&r->warnings, on_warning, r, &r->handler_ns);
  }
}

static void rig_finish(rig *r) {
  kin__warnings_stop(&r->warnings);
  assert_false(kin__sched_has_work(&r->sched));
  assert_int_equal(atomic_load(&r->memory.live_blocks), 0);
}

static void hear_bytes(rig *r, const char *path, const char *fields,
                       size_t length) {
  char *copy = malloc(length);
  assert_non_null(copy);
  memcpy(copy, fields, length);
  kin__warnings_hear(&r->warnings, kin__cstr(path), copy, length);
  free(copy);
}

static void hear(rig *r, const char *path, const char *fields) {
  hear_bytes(r, path, fields, strlen(fields));
}

/* client-go TestDefaultWarningHandler; RE-05: code 299 with a text is logged,
 * nothing else is; and each text once. */
static void test_warnings_are_logged_once(void **state) {
  (void)state;
  rig r;
  rig_init(&r, false);
  hear(&r, "/api/v1/pods",
       "299 - \"old\"\n199 - \"other code\"\n299 - \"\"\nnonsense\n"
       "299 - \"older\", 299 - \"old\"\n");
  hear(&r, "/api/v1/nodes", "299 - \"old\"\n");
  assert_string_equal(r.text, "the server warns about /api/v1/pods: old\n"
                              "the server warns about /api/v1/pods: older\n");
  assert_int_equal(r.warnings.heard, 6);
  assert_int_equal(atomic_load(&r.memory.calls), 0);
  rig_finish(&r);
}

/* The set of texts is bounded: the oldest is forgotten. */
static void test_warnings_memory_is_bounded(void **state) {
  (void)state;
  rig r;
  rig_init(&r, false);
  char field[64];
  for (unsigned i = 0; i < KIN__WARNING_MEMORY; i++) {
    snprintf(field, sizeof field, "299 - \"text %u\"\n", i);
    hear(&r, "/", field);
    hear(&r, "/", "299 - \"text 0\"\n");
  }
  assert_int_equal(r.count, KIN__WARNING_MEMORY);
  hear(&r, "/", "299 - \"one more\"\n");
  hear(&r, "/", "299 - \"text 1\"\n");
  assert_int_equal(r.count, KIN__WARNING_MEMORY + 1);
  hear(&r, "/", "299 - \"text 0\"\n"); /* the first one is forgotten */
  assert_int_equal(r.count, KIN__WARNING_MEMORY + 2);
  rig_finish(&r);
}

/* A line of the log has an end, and not in the middle of a character. */
static void test_warnings_long_line(void **state) {
  (void)state;
  rig r;
  rig_init(&r, false);
  char field[KIN__WARNING_MAX_BYTES];
  size_t at = (size_t)snprintf(field, sizeof field, "299 - \"");
  for (int i = 0; i < 400; i++) {
    memcpy(field + at, "\xe2\x82\xac", 3);
    at += 3;
  }
  field[at++] = '"';
  hear_bytes(&r, "/p", field, at);
  static const char prefix[] = "the server warns about /p: ";
  size_t length = strlen(r.text);
  assert_int_equal(r.count, 1);
  assert_int_equal(length, sizeof prefix - 1 + 106 * 3 + 1);
  rig_finish(&r);
}

/* client-go TestRequestWarningHandler, TestConfigWarningHandler; RE-05: a
 * handler of the program's gets all of them, each time, and the log none. */
static void test_warnings_are_told(void **state) {
  (void)state;
  rig r;
  rig_init(&r, true);
  hear(&r, "/api/v1/pods", "299 - \"old\"\n199 me \"\"\nnonsense\n");
  hear(&r, "/version", "299 - \"old\"\n");
  assert_string_equal(r.text, ""); /* never inside */
  kin__sched_run(&r.sched, UINT64_MAX);
  assert_string_equal(r.text, "299|-|old|/api/v1/pods\n"
                              "199|me||/api/v1/pods\n"
                              "299|-|old|/version\n");
  assert_int_equal(r.handler_ns, 15);
  rig_finish(&r);
}

/* What waits to be told is bounded, and so is what one response can bring. */
static void test_warnings_are_bounded(void **state) {
  (void)state;
  rig r;
  rig_init(&r, true);
  char fields[KIN__WARNING_MAX_BYTES];
  size_t at = 0;
  for (unsigned i = 0; i < KIN__WARNING_MAX_COUNT + 5; i++) {
    at += (size_t)snprintf(fields + at, sizeof fields - at,
                           "299 - \"a\", 299 - \"b\"\n");
  }
  hear_bytes(&r, "/", fields, at);
  assert_int_equal(r.warnings.heard, KIN__WARNING_MAX_COUNT);
  for (int i = 0; i < 4; i++) {
    hear_bytes(&r, "/", fields, at);
  }
  assert_int_equal(r.warnings.heard, 5 * KIN__WARNING_MAX_COUNT);
  kin__sched_run(&r.sched, UINT64_MAX);
  assert_int_equal(r.count, KIN__WARNING_MAX_PENDING);
  rig_finish(&r);
}

static void test_warnings_long_text(void **state) {
  (void)state;
  rig r;
  rig_init(&r, true);
  char field[KIN__WARNING_MAX_TEXT + 100];
  memset(field, 'x', sizeof field);
  memcpy(field, "299 - \"", 7);
  memcpy(field + 7 + KIN__WARNING_MAX_TEXT - 1, "\xc3\xa4", 2);
  field[sizeof field - 1] = '"';
  hear_bytes(&r, "/", field, sizeof field);
  kin__sched_run(&r.sched, UINT64_MAX);
  assert_int_equal(strlen(r.text),
                   sizeof "299|-||/" + KIN__WARNING_MAX_TEXT - 1);
  rig_finish(&r);
}

/* A path may be long, so the warnings of a response have one copy. */
static void test_warnings_share_the_path(void **state) {
  (void)state;
  enum { PATH_BYTES = 100000 };
  rig r;
  rig_init(&r, true);
  char *path = malloc(PATH_BYTES + 1);
  assert_non_null(path);
  memset(path, 'p', PATH_BYTES);
  path[PATH_BYTES] = '\0';
  hear(&r, path, "299 - \"a\", 299 - \"b\"\n299 - \"c\"\n");
  hear(&r, "/", "299 - \"d\"\n");
  assert_in_range(atomic_load(&r.memory.live_bytes), PATH_BYTES,
                  PATH_BYTES + 1000);
  kin__sched_run(&r.sched, UINT64_MAX);
  assert_int_equal(r.count, 4);
  assert_int_equal(atomic_load(&r.memory.live_blocks), 0);
  hear(&r, path, "299 - \"a\", 299 - \"b\"\n");
  free(path);
  rig_finish(&r); /* frees also untold ones */
}

/* Nothing is told after a stop, also inside a callback. */
static void test_warnings_stop(void **state) {
  (void)state;
  rig r;
  rig_init(&r, true);
  r.stops = true;
  hear(&r, "/", "299 - \"a\", 299 - \"b\"\n");
  kin__sched_run(&r.sched, UINT64_MAX);
  hear(&r, "/", "299 - \"c\"\n");
  kin__sched_run(&r.sched, UINT64_MAX);
  assert_string_equal(r.text, "299|-|a|/\n");
  rig_finish(&r);
}

/* What there is no memory for is lost, and nothing else. */
static void test_warnings_without_memory(void **state) {
  (void)state;
  static const char *const told[] = {
      "299|-|b|/\n299|-|c|/\n", /* the first warning, then its path */
      "299|-|b|/\n299|-|c|/\n", "299|-|a|/\n299|-|c|/\n",
      "299|-|a|/\n299|-|b|/\n"};
  for (size_t n = 0; n < 4; n++) {
    rig r;
    rig_init(&r, true);
    r.memory.fail_at = n + 1;
    hear(&r, "/", "299 - \"a\", 299 - \"b\"\n299 - \"c\"\n");
    kin__sched_run(&r.sched, UINT64_MAX);
    assert_string_equal(r.text, told[n]);
    assert_int_equal(r.warnings.heard, 3);
    rig_finish(&r);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_warning_well_formed),
      cmocka_unit_test(test_warning_malformed),
      cmocka_unit_test(test_warning_every_beginning),
      cmocka_unit_test(test_warnings_are_logged_once),
      cmocka_unit_test(test_warnings_memory_is_bounded),
      cmocka_unit_test(test_warnings_long_line),
      cmocka_unit_test(test_warnings_are_told),
      cmocka_unit_test(test_warnings_are_bounded),
      cmocka_unit_test(test_warnings_long_text),
      cmocka_unit_test(test_warnings_share_the_path),
      cmocka_unit_test(test_warnings_stop),
      cmocka_unit_test(test_warnings_without_memory),
  };
  return cmocka_run_group_tests_name("warning", tests, NULL, NULL);
}
