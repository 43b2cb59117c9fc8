/* SPDX-License-Identifier: MIT */

/* Each way back of the listwatch, twice on the same one: fall-backs, deadlines,
 * flags and series begin anew, so the second time has the same requests, waits,
 * reports and verdicts as the first. What is remembered on purpose, that a
 * server does not do streams, is in test_listwatch_stream.c. Proves PG-03,
 * RD-01, RF-05, RF-06, RF-15, RL-05, RW-07, WL-06, WL-07. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/listwatch_steps.h"

typedef enum kind { LISTS, PAGES, STREAMS, INTERNAL, UNVERSIONED, KINDS } kind;

typedef struct story {
  kind what;
  const char *inputs; /* from WATCHING to WATCHING; see take() */
} story;

static const story stories[] = {
    /* Watches that end, and break. */
    {LISTS, "MEH"},
    {LISTS, "EPH"},
    {LISTS, "XPH"},
    {LISTS, "MXH"},
    {LISTS, "eTPH"},
    {LISTS, "MeTHeTPH"},
    {LISTS, "xTPH"},
    {LISTS, "DPH"},
    /* Servers that are away, and refuse. */
    {LISTS, "XxTxTxTxTPxTPH"},
    {LISTS, "XuTuTuTuTPuTH"},
    {LISTS, "XfTfTfTfTPfTH"},
    {LISTS, "XlTlTlTPlTH"},
    {LISTS, "XnTnTnTPH"},
    {LISTS, "XnFTPAH"},
    {LISTS, "MwTH"},
    /* Lost positions, and the lists that follow. */
    {LISTS, "gTPAH"},
    {LISTS, "gT=PAH"},
    {LISTS, "gT==AH"},
    {LISTS, "gTGPAH"},
    {LISTS, "gTGGTPAH"},
    {LISTS, "gTGuTPAH"},
    {LISTS, "gTmPAH"},
    {LISTS, "gTmuTPAH"},
    {LISTS, "gTtPAH"},
    {LISTS, "gTbbbAH"},
    {LISTS, "gTuTuTuTPAH"},
    {LISTS, "gTxTxTPAH"},
    {LISTS, "gTfTfTPAH"},
    {LISTS, "gTPaTPaTPAH"},
    {LISTS, "gTPAHgTPAHgTPAH"},
    {LISTS, "dTPAH"},
    {LISTS, "XtTPAH"},
    {LISTS, "XfTPGTPAH"},
    {PAGES, "gTNPAH"},
    {PAGES, "gTNGPAH"},
    {PAGES, "gTNGNGTPAH"},
    {PAGES, "gT;PAH"},
    {PAGES, "gTNuTNPAH"},
    /* Verifies, and proofs. */
    {LISTS, "VpHBEH"},
    {LISTS, "VpHEHBEH"},
    {LISTS, "VpHEHEPAH"},
    {LISTS, "VcqhEH"},
    {LISTS, "VcqHEqhEH"},
    {LISTS, "VcqHEqHEPAH"},
    {LISTS, "VcfHBEH"},
    {LISTS, "VmPH"},
    {LISTS, "VtPH"},
    {LISTS, "VfTfTpHBEH"},
    {LISTS, "VpHgTPAH"},
    {LISTS, "VbbAH"},
    {LISTS, "VpHeTHeTPAH"},
    /* Internal errors. */
    {INTERNAL, "iHiTHMEH"},
    {INTERNAL, "iHjTPAH"},
    {INTERNAL, "iHjTPAHiHjTPAH"},
    {INTERNAL, "VpHIHIPAH"},
    /* Streams. */
    {STREAMS, "gTHRA"},
    {STREAMS, "gTHrHRA"},
    {STREAMS, "gTHrHrA"},
    {STREAMS, "gTHEHRA"},
    {STREAMS, "gTHEHEPAH"},
    {STREAMS, "gTHxTHxTPAH"},
    {STREAMS, "gTHoTRA"},
    {STREAMS, "gTHTRA"},
    {STREAMS, "gTGHRA"},
    {STREAMS, "gTGGTHRA"},
    {STREAMS, "gTHdPAH"},
    {STREAMS, "gTlTlTHRA"},
    {STREAMS, "gTxTxTHRA"},
    {STREAMS, "gTHRXAH"},
    {STREAMS, "gTHRaTHRA"},
    {STREAMS, "VpHEHEHRA"},
    {STREAMS, "gTYTHRA"},
    /* No position. */
    {UNVERSIONED, "E0AH"},
    {UNVERSIONED, "X0AH"},
    {UNVERSIONED, "eT0AH"},
    {UNVERSIONED, "EuT0AH"},
    {UNVERSIONED, "V0AH"},
    {UNVERSIONED, "gT0AH"},
};

static unsigned base; /* the position that the story began with */
static uint64_t timer_ms;
static char told[8192];
static bool refused;

static void note(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void note(const char *format, ...) {
  size_t length = strlen(told);
  va_list args;
  va_start(args, format);
  int n = vsnprintf(told + length, sizeof told - length, format, args);
  va_end(args);
  assert_true(n >= 0 && (size_t)n < sizeof told - length);
}

/* A version beside the base. */
static void note_version(const char *version) {
  char *end;
  unsigned long number = strtoul(version, &end, 10);
  if (end == version || number == 0) {
    note("@%s", version);
  } else {
    note("@base%+ld", (long)number - (long)base);
  }
}

/* All that the last input had done. */
static void note_actions(char letter) {
  const kin__listwatch_actions *a = &lw.actions;
  note("%c %s%s%s%s%s%s%s%s%s%s", letter,
       kin__listwatch_state_name(lw.listwatch.state),
       a->cancel_request ? " cancel" : "", a->stop_timer ? " stop" : "",
       a->drop_stage ? " drop" : "", a->hold_request ? " hold" : "",
       a->apply_stage ? " apply" : "", a->continue_request ? " continue" : "",
       a->report != KIN__REPORT_NONE ? " report" : "",
       lw_has_lost_verify() ? " lost" : "",
       a->gave_up_stream != KIN__STREAM_NOT_GIVEN_UP ? " gave-up" : "");
  const kin__listwatch_request *request = &a->request;
  if (request->kind != KIN__REQUEST_NONE) {
    note(" request %d", (int)request->kind);
    note_version(request->version != NULL ? request->version : "");
    note(" %s %s /%u %us",
         request->version_match != NULL ? request->version_match : "",
         request->token != NULL ? request->token : "", request->limit,
         request->timeout_s);
  }
  if (a->start_timer) {
    note(" timer %llu", (unsigned long long)a->timer_ms);
    timer_ms = a->timer_ms;
  }
  int code = lw_verdict();
  if (code != LW_NO_VERDICT) {
    note(" verdict %d", code);
  }
  note(" failures %u\n", lw.listwatch.retries.failures);
}

static void step_with(kin__listwatch_input_type type, unsigned offset,
                      const char *token, uint64_t connection) {
  char version[16];
  snprintf(version, sizeof version, "%u", base + offset);
  kin__failure failure = lw_status(500, "");
  kin__listwatch_input in = {.type = type,
                             .version = version,
                             .token = token,
                             .failure = &failure,
                             .connection = connection};
  lw_step(&in);
}

static void saw(kin__decoded_type type, unsigned offset) {
  char version[16];
  snprintf(version, sizeof version, "%u", base + offset);
  lw_saw(type, version);
  lw.actions = (kin__listwatch_actions){0};
}

static kin__failure undecodable(void) {
  return (kin__failure){
      .code = KIN_EJSON, .error_class = KIN_CLASS_DECODE, .retry_after_s = -1};
}

static kin__failure put_off(void) {
  kin__failure failure = lw_status(429, "");
  failure.retry_after_s = 2;
  return failure;
}

static kin__failure no_http(void) {
  return (kin__failure){.code = KIN_EHTTP,
                        .error_class = KIN_CLASS_PROTOCOL,
                        .retry_after_s = -1};
}

static void take_failure(char letter) {
  switch (letter) {
  case 'X':
    lw.now_ms += 2000;
    lw_fail(lw_broken());
    return;
  case 'x':
    lw_fail(lw_broken());
    return;
  case 'u':
    lw_fail(lw_status(503, "ServiceUnavailable"));
    return;
  case 'f':
    lw_fail(lw_status(403, "Forbidden"));
    return;
  case 'l':
    lw_fail(lw_status(429, "TooManyRequests"));
    return;
  case 'w':
    lw_fail(put_off());
    return;
  case 'n':
    lw_fail(lw_status(404, "NotFound"));
    return;
  case 'm':
    lw_fail(lw_status(400, "BadRequest"));
    return;
  case 't':
    lw_fail(lw_too_large());
    return;
  case 'd':
    lw_fail(undecodable());
    return;
  case 'Y':
    lw_fail(no_http());
    return;
  case 'G':
    lw_fail(lw_status(410, "Expired"));
    return;
  case 'g':
    lw.now_ms += 10000;
    lw_error_event(lw_status(410, "Expired"));
    return;
  case 'I':
  case 'i':
  case 'j': /* after 2 s, 0 s, a minute less one second */
    lw.now_ms += letter == 'I' ? 2000 : letter == 'j' ? 59000 : 0;
    lw_error_event(lw_status(500, "InternalError"));
    return;
  default:
    fail_msg("no letter '%c'", letter);
  }
}

static void take(char letter) {
  switch (letter) {
  case 'H':
    lw_input(KIN__INPUT_HEAD);
    return;
  case 'h':
    lw_head_on(5);
    return;
  case 'P': /* the last page, of a newer list; '=' of the same, 'b' older */
    step_with(KIN__INPUT_PAGE, 5, "", 0);
    return;
  case '=':
    step_with(KIN__INPUT_PAGE, 0, "", 0);
    return;
  case 'b':
    step_with(KIN__INPUT_PAGE, (unsigned)-2, "", 0);
    return;
  case 'N': /* not the last page; ';' of the same */
    step_with(KIN__INPUT_PAGE, 5, "more", 0);
    return;
  case ';':
    step_with(KIN__INPUT_PAGE, 0, "more", 0);
    return;
  case '0':
    lw_page("", "");
    return;
  case 'p': /* of a verify; 'c' and 'q' on connections */
    step_with(KIN__INPUT_PAGE, 3, "", 0);
    return;
  case 'c':
    step_with(KIN__INPUT_PAGE, 3, "", 4);
    return;
  case 'q':
    step_with(KIN__INPUT_PAGE, 3, "", 5);
    return;
  case 'R':
    step_with(KIN__INPUT_STREAMED, 5, "", 0);
    return;
  case 'r':
    step_with(KIN__INPUT_STREAMED, 0, "", 0);
    return;
  case 'A':
    lw_input(KIN__INPUT_APPLIED);
    return;
  case 'a':
    step_with(KIN__INPUT_APPLY_FAILED, 0, "", 0);
    return;
  case 'M':
    saw(KIN__DECODED_MODIFIED, 1);
    return;
  case 'B':
    saw((kin__decoded_type)0, 3);
    return;
  case 'o':
    kin__listwatch_heard(&lw.listwatch, KIN__NEWS_OBJECT);
    lw.actions = (kin__listwatch_actions){0};
    return;
  case 'E':
    lw.now_ms += 3000;
    lw_watch_ends(3000);
    return;
  case 'D': /* the watch's deadline */
  case 'T':
    lw.now_ms += timer_ms;
    lw_input(KIN__INPUT_TIMER);
    return;
  case 'e':
    lw_watch_ends(0);
    return;
  case 'V':
    lw_verify("");
    return;
  case 'F':
    lw_input(KIN__INPUT_FORGET);
    return;
  default:
    take_failure(letter);
  }
}

static void begin(kind what) {
  refused = false;
  base = 10;
  if (what == STREAMS) {
    lw_begin_streams(&refused);
  } else if (what == INTERNAL) {
    lw_begin_internal(30000);
  } else {
    lw_begin(what == PAGES ? 10 : 0);
  }
  lw_input(KIN__INPUT_START);
  if (what == STREAMS) {
    lw_input(KIN__INPUT_HEAD);
    step_with(KIN__INPUT_STREAMED, 0, "", 0);
  } else {
    lw_page(what == UNVERSIONED ? "" : "10", "");
  }
  lw_input(KIN__INPUT_APPLIED);
  lw_input(KIN__INPUT_HEAD);
  assert_int_equal(lw.listwatch.state, KIN__LISTWATCH_WATCHING);
}

/* Once, after a long time, with the same random numbers. */
static const char *play(const story *s, char *out, size_t size) {
  lw.random = (kin__random){7};
  timer_ms = 430000; /* of a watch of 400 s */
  base = (unsigned)strtoul(lw.listwatch.position.version, NULL, 10);
  told[0] = '\0';
  for (const char *letter = s->inputs; *letter != '\0'; letter++) {
    take(*letter);
    note_actions(*letter);
  }
  if (lw.listwatch.state != KIN__LISTWATCH_WATCHING) {
    fail_msg("\"%s\" does not come back:\n%s", s->inputs, told);
  }
  snprintf(out, size, "%s", told);
  return out;
}

static void check(const story *s) {
  static char first[sizeof told];
  static char again[sizeof told];
  begin(s->what);
  for (int i = 0; i < 4; i++) {
    lw.now_ms += i % 2 == 0 ? 3600000 : 20000;
    lw.listwatch.in.watching.saw_anything = false;
    play(s, i == 0 ? first : again, sizeof first);
    if (i > 0 && strcmp(first, again) != 0) {
      fail_msg("\"%s\", time %d:\n%s\nis not\n%s", s->inputs, i + 1, again,
               first);
    }
  }
  lw_begin(0);
}

static void test_each_story_twice(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof stories / sizeof stories[0]; i++) {
    check(&stories[i]);
  }
}

/* A story that was told leaves nothing to another one: after each, each other
 * one is as it is alone. */
static void test_each_story_after_each(void **state) {
  (void)state;
  static char alone[sizeof told];
  static char after[sizeof told];
  size_t count = sizeof stories / sizeof stories[0];
  for (size_t i = 0; i < count; i++) {
    for (size_t k = 0; k < count; k++) {
      if (stories[i].what != stories[k].what) {
        continue;
      }
      for (int is_after = 0; is_after < 2; is_after++) {
        begin(stories[i].what);
        if (is_after) {
          lw.now_ms += 20000;
          play(&stories[k], after, sizeof after);
        }
        lw.now_ms += 20000;
        lw.listwatch.in.watching.saw_anything = false;
        play(&stories[i], is_after ? after : alone, sizeof after);
      }
      if (strcmp(alone, after) != 0) {
        fail_msg("\"%s\" after \"%s\":\n%s\nis not\n%s", stories[i].inputs,
                 stories[k].inputs, after, alone);
      }
    }
  }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, lw_setup, lw_teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(test_each_story_twice),
      TEST(test_each_story_after_each),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
