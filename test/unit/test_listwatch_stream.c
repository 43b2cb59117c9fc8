/* SPDX-License-Identifier: MIT */

/* A list that comes as a watch, as a function: every input in STREAMING, and in
 * APPLYING while the stream is open, as a table of what follows. Proves WL-02
 * to WL-07, WL-11, RF-14, RF-15, CN-03. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "listwatch/listwatch.h"

typedef struct fixture {
  kin__listwatch listwatch;
  kin__random random;
  kin__listwatch_actions actions;
  uint64_t now_ms;
  bool refused;
} fixture;

static fixture f;

static void begin(void) {
  f = (fixture){.now_ms = 1000000, .random = {7}};
  kin__listwatch_options options = {
      .list_and_watch = {.stream_refused = &f.refused}};
  kin__listwatch_init(&f.listwatch, &options, kin__default_allocator(),
                      &f.random, f.now_ms);
}

static void finish(void) {
  kin__listwatch_finish(&f.listwatch);
}

/* --- Inputs --------------------------------------------------------------- */

static const kin__failure refused_400 = {
    .status = 400, .error_class = KIN_CLASS_SERVER, .retry_after_s = -1};
static const kin__failure refused_405 = {
    .status = 405, .error_class = KIN_CLASS_SERVER, .retry_after_s = -1};
static const kin__failure refused_406 = {
    .status = 406, .error_class = KIN_CLASS_SERVER, .retry_after_s = -1};
static const kin__failure refused_415 = {
    .status = 415, .error_class = KIN_CLASS_SERVER, .retry_after_s = -1};
static const kin__failure refused_422 = {
    .status = 422, .error_class = KIN_CLASS_SERVER, .retry_after_s = -1};
static const kin__failure refused_501 = {
    .status = 501, .error_class = KIN_CLASS_SERVER, .retry_after_s = -1};
static const kin__failure forbidden = {
    .status = 403, .error_class = KIN_CLASS_FORBIDDEN, .retry_after_s = -1};
static const kin__failure throttled = {
    .status = 429, .error_class = KIN_CLASS_THROTTLED, .retry_after_s = -1};
static const kin__failure timed_out = {
    .status = 504, .error_class = KIN_CLASS_SERVER, .retry_after_s = -1};
static const kin__failure expired = {.status = 410,
                                     .error_class = KIN_CLASS_SERVER,
                                     .reason = "Expired",
                                     .retry_after_s = -1,
                                     .is_expired = true};
static const kin__failure too_large = {.status = 504,
                                       .error_class = KIN_CLASS_SERVER,
                                       .reason = "Timeout",
                                       .retry_after_s = -1,
                                       .is_rv_too_large = true};
static const kin__failure undecodable = {
    .code = KIN_EJSON, .error_class = KIN_CLASS_DECODE, .retry_after_s = -1};
static const kin__failure no_json = {.code = KIN_ECONTENT,
                                     .error_class = KIN_CLASS_PROTOCOL,
                                     .retry_after_s = -1};
static const kin__failure broken = {
    .code = KIN_EEOF, .error_class = KIN_CLASS_CONNECT, .retry_after_s = -1};
static const kin__failure no_memory = {
    .code = KIN_ENOMEM, .error_class = KIN_CLASS_MEMORY, .retry_after_s = -1};

static void step(kin__listwatch_input_type type, const kin__failure *failure) {
  kin__listwatch_input in = {.type = type,
                             .version = "7",
                             .token = "",
                             .failure = failure,
                             .delay_ms = 5};
  kin__listwatch_step(&f.listwatch, &in, f.now_ms, &f.actions);
}

static void input(kin__listwatch_input_type type) {
  step(type, NULL);
}

static void saw_something(void) {
  kin__listwatch_saw(&f.listwatch, KIN__DECODED_ADDED, (kin_str){"6", 1});
}

/* --- States --------------------------------------------------------------- */

typedef enum start {
  ASKED,         /* STREAMING: no head yet */
  ASKED_AT_7,    /* the same, of a relist */
  ASKED_AGAIN,   /* STREAMING, after a stream that ended early */
  ASKED_CURRENT, /* STREAMING without a version, which is not to be had */
  GRANTED,       /* STREAMING: the head has come */
  FILLING,       /* and something more */
  HELD,          /* APPLYING, with the stream open */
  LET_GO         /* APPLYING, the stream has ended meanwhile */
} start;

static void relist(void) {
  input(KIN__INPUT_START);
  input(KIN__INPUT_HEAD);
  saw_something();
  input(KIN__INPUT_STREAMED);
  input(KIN__INPUT_APPLIED);
  step(KIN__INPUT_ERROR_EVENT, &expired);
  assert_int_equal(f.listwatch.state, KIN__LISTWATCH_WAITING);
  input(KIN__INPUT_TIMER);
}

static void reach(start from) {
  begin();
  if (from == ASKED_AT_7 || from == ASKED_CURRENT) {
    relist();
  } else {
    input(KIN__INPUT_START);
  }
  if (from == ASKED_CURRENT) {
    step(KIN__INPUT_FAILED, &too_large);
  }
  if (from >= GRANTED || from == ASKED_AGAIN) {
    input(KIN__INPUT_HEAD);
  }
  if (from >= FILLING || from == ASKED_AGAIN) {
    saw_something();
  }
  if (from == ASKED_AGAIN) {
    input(KIN__INPUT_WATCH_ENDED);
  }
  if (from >= HELD) {
    input(KIN__INPUT_STREAMED);
  }
  if (from == LET_GO) {
    input(KIN__INPUT_WATCH_ENDED);
  }
  assert_int_equal(f.listwatch.state, from >= HELD ? KIN__LISTWATCH_APPLYING
                                                   : KIN__LISTWATCH_STREAMING);
}

/* --- Actions as text ------------------------------------------------------ */

static void add(char *text, const char *word) {
  size_t length = strlen(text);
  snprintf(text + length, 256 - length, "%s%s", length > 0 ? " " : "", word);
}

static void add_request(char *text, const kin__listwatch_actions *actions) {
  static const char *const names[] = {
      [KIN__REQUEST_LIST] = "list",
      [KIN__REQUEST_WATCH] = "watch",
      [KIN__REQUEST_VERIFY] = "verify",
      [KIN__REQUEST_STREAM] = "stream",
  };
  char word[128];
  snprintf(word, sizeof word, "%s@%s", names[actions->request.kind],
           actions->request.version);
  add(text, word);
}

/* In the order in which they are carried out. Of a wait's timer, "wait" and
 * where to: the delay is random. */
static const char *describe(const kin__listwatch_actions *actions) {
  static char text[256];
  text[0] = '\0';
  const struct {
    bool is_set;
    const char *word;
  } words[] = {{actions->cancel_request, "cancel"},
               {actions->stop_timer, "stop"},
               {actions->drop_stage, "drop"},
               {actions->hold_request, "hold"},
               {actions->apply_stage, "apply"},
               {actions->continue_request, "continue"}};
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
    if (words[i].is_set) {
      add(text, words[i].word);
    }
  }
  if (actions->request.kind != KIN__REQUEST_NONE) {
    add_request(text, actions);
  }
  if (actions->start_timer) {
    bool is_wait = f.listwatch.state == KIN__LISTWATCH_WAITING;
    add(text, is_wait ? "wait" : "timer");
  }
  if (actions->report != KIN__REPORT_NONE) {
    add(text, "report");
  }
  assert_false(actions->ended);
  return text;
}

/* --- The table ------------------------------------------------------------ */

typedef struct row {
  start from;
  kin__listwatch_input_type type;
  const kin__failure *failure;
  uint64_t after_ms; /* in the first state */
  kin__listwatch_state to;
  const char *actions;
  bool refuses; /* no stream is asked for again */
} row;

#define STREAMING KIN__LISTWATCH_STREAMING
#define LISTING KIN__LISTWATCH_LISTING
#define APPLYING KIN__LISTWATCH_APPLYING
#define WAITING KIN__LISTWATCH_WAITING
#define OPENING KIN__LISTWATCH_OPENING
#define WATCHING KIN__LISTWATCH_WATCHING
#define STOPPED KIN__LISTWATCH_STOPPED

static const row rows[] = {
    /* What does not fit changes nothing. */
    {ASKED, KIN__INPUT_START, NULL, 0, STREAMING, "", false},
    {ASKED, KIN__INPUT_PAGE, NULL, 0, STREAMING, "", false},
    {ASKED, KIN__INPUT_APPLIED, NULL, 0, STREAMING, "", false},
    {ASKED, KIN__INPUT_APPLY_FAILED, &no_memory, 0, STREAMING, "", false},
    {ASKED, KIN__INPUT_RETRY_AFTER, NULL, 0, STREAMING, "", false},
    {FILLING, KIN__INPUT_START, NULL, 0, STREAMING, "", false},
    {FILLING, KIN__INPUT_PAGE, NULL, 0, STREAMING, "", false},
    {FILLING, KIN__INPUT_APPLIED, NULL, 0, STREAMING, "", false},
    {FILLING, KIN__INPUT_APPLY_FAILED, &no_memory, 0, STREAMING, "", false},
    {FILLING, KIN__INPUT_RETRY_AFTER, NULL, 0, STREAMING, "", false},
    {HELD, KIN__INPUT_START, NULL, 0, APPLYING, "", false},
    {HELD, KIN__INPUT_HEAD, NULL, 0, APPLYING, "", false},
    {HELD, KIN__INPUT_PAGE, NULL, 0, APPLYING, "", false},
    {HELD, KIN__INPUT_STREAMED, NULL, 0, APPLYING, "", false},
    {HELD, KIN__INPUT_TIMER, NULL, 0, APPLYING, "", false},
    {HELD, KIN__INPUT_RETRY_AFTER, NULL, 0, APPLYING, "", false},
    {FILLING, KIN__INPUT_VERIFY, NULL, 0, STREAMING, "", false},
    {HELD, KIN__INPUT_VERIFY, NULL, 0, APPLYING, "", false},
    {FILLING, KIN__INPUT_FORGET, NULL, 0, STREAMING, "", false},
    {HELD, KIN__INPUT_FORGET, NULL, 0, APPLYING, "", false},
    {FILLING, KIN__INPUT_REACHED, NULL, 0, STREAMING, "", false},
    {HELD, KIN__INPUT_REACHED, NULL, 0, APPLYING, "", false},

    {ASKED, KIN__INPUT_STOP, NULL, 0, STOPPED, "cancel stop drop", false},
    {FILLING, KIN__INPUT_STOP, NULL, 0, STOPPED, "cancel stop drop", false},
    {HELD, KIN__INPUT_STOP, NULL, 0, STOPPED, "cancel stop drop", false},
    {LET_GO, KIN__INPUT_STOP, NULL, 0, STOPPED, "cancel stop drop", false},

    /* As it should be (WL-04). */
    {ASKED, KIN__INPUT_HEAD, NULL, 0, STREAMING, "timer", false},
    {GRANTED, KIN__INPUT_STREAMED, NULL, 0, APPLYING, "stop hold apply", false},
    {FILLING, KIN__INPUT_STREAMED, NULL, 0, APPLYING, "stop hold apply", false},
    {HELD, KIN__INPUT_APPLIED, NULL, 0, WATCHING, "continue timer", false},

    /* Something else is to be listed. */
    {ASKED, KIN__INPUT_RELIST, NULL, 0, STREAMING, "cancel stop drop stream@",
     false},
    {FILLING, KIN__INPUT_RELIST, NULL, 0, STREAMING, "cancel stop drop stream@",
     false},
    {HELD, KIN__INPUT_RELIST, NULL, 0, APPLYING, "", false},
    {LET_GO, KIN__INPUT_RELIST, NULL, 0, APPLYING, "", false},

    /* It ends before the list is complete (WL-06). */
    {GRANTED, KIN__INPUT_WATCH_ENDED, NULL, 500, LISTING, "stop drop list@0",
     false},
    {GRANTED, KIN__INPUT_WATCH_ENDED, NULL, 1000, STREAMING,
     "stop drop stream@", false},
    {FILLING, KIN__INPUT_WATCH_ENDED, NULL, 500, STREAMING, "stop drop stream@",
     false},
    {ASKED_AGAIN, KIN__INPUT_WATCH_ENDED, NULL, 1000, LISTING,
     "stop drop list@0", false},

    /* Nothing comes any more (CN-03). */
    {GRANTED, KIN__INPUT_TIMER, NULL, 5000, STREAMING, "timer", false},
    {FILLING, KIN__INPUT_TIMER, NULL, 5000, STREAMING, "timer", false},

    /* Refused: not told, and a list follows (WL-07). */
    {ASKED, KIN__INPUT_FAILED, &refused_400, 0, LISTING, "stop drop list@0",
     false},
    {ASKED, KIN__INPUT_FAILED, &refused_405, 0, LISTING, "stop drop list@0",
     false},
    {ASKED, KIN__INPUT_FAILED, &refused_406, 0, LISTING, "stop drop list@0",
     false},
    {ASKED, KIN__INPUT_FAILED, &refused_415, 0, LISTING, "stop drop list@0",
     false},
    {ASKED, KIN__INPUT_FAILED, &refused_422, 0, LISTING, "stop drop list@0",
     false},
    {ASKED, KIN__INPUT_FAILED, &refused_501, 0, LISTING, "stop drop list@0",
     false},
    {ASKED_AT_7, KIN__INPUT_FAILED, &refused_400, 0, LISTING,
     "stop drop list@7", false},
    {GRANTED, KIN__INPUT_ERROR_EVENT, &refused_422, 0, LISTING,
     "cancel stop drop list@0", false},

    /* To somebody else, while this one waited for its turn. */
    {ASKED, KIN__INPUT_REFUSED, NULL, 0, LISTING, "drop list@0", false},
    {HELD, KIN__INPUT_REFUSED, NULL, 0, APPLYING, "", false},

    /* The version is not to be had: at once without one, but once (RF-15). */
    {ASKED_AT_7, KIN__INPUT_FAILED, &expired, 0, STREAMING,
     "stop drop stream@ report", false},
    {ASKED_AT_7, KIN__INPUT_FAILED, &too_large, 0, STREAMING,
     "stop drop stream@ report", false},
    {FILLING, KIN__INPUT_ERROR_EVENT, &expired, 0, STREAMING,
     "cancel stop drop stream@ report", false},
    {ASKED_CURRENT, KIN__INPUT_FAILED, &too_large, 0, WAITING,
     "stop drop wait report", false},

    /* What a stream cannot bring, a list may. */
    {FILLING, KIN__INPUT_FAILED, &undecodable, 0, LISTING,
     "stop drop list@0 report", false},

    /* A list would suffer as well. */
    {ASKED, KIN__INPUT_FAILED, &broken, 0, WAITING, "stop drop wait report",
     false},
    {ASKED, KIN__INPUT_FAILED, &no_memory, 0, WAITING, "stop drop wait report",
     false},
    {ASKED, KIN__INPUT_FAILED, &forbidden, 0, WAITING, "stop drop wait report",
     false},
    {ASKED, KIN__INPUT_FAILED, &throttled, 0, WAITING, "stop drop wait report",
     false},
    {FILLING, KIN__INPUT_FAILED, &broken, 0, WAITING, "stop drop wait report",
     false},
    {FILLING, KIN__INPUT_ERROR_EVENT, &timed_out, 0, WAITING,
     "cancel stop drop wait report", false},

    /* While the list is applied nothing else is done (WL-11). */
    {HELD, KIN__INPUT_WATCH_ENDED, NULL, 0, APPLYING, "", false},
    {HELD, KIN__INPUT_FAILED, &broken, 0, APPLYING, "", false},
    {HELD, KIN__INPUT_ERROR_EVENT, &expired, 0, APPLYING, "cancel", false},
    {HELD, KIN__INPUT_APPLY_FAILED, &no_memory, 0, WAITING,
     "cancel drop wait report", false},
    {LET_GO, KIN__INPUT_APPLIED, NULL, 0, OPENING, "watch@7", false},
    {LET_GO, KIN__INPUT_APPLY_FAILED, &no_memory, 0, WAITING,
     "cancel drop wait report", false},
};

static void check(const row *r) {
  reach(r->from);
  f.now_ms += r->after_ms;
  step(r->type, r->failure);
  const char *actions = describe(&f.actions);
  if (f.listwatch.state != r->to || strcmp(actions, r->actions) != 0 ||
      f.refused != r->refuses) {
    fail_msg("row %d: %s, \"%s\", refused %d", (int)(r - rows),
             kin__listwatch_state_name(f.listwatch.state), actions, f.refused);
  }
  if (r->to == WAITING) {
    assert_int_equal(f.listwatch.in.waiting.after, LISTING);
  }
  finish();
}

static void test_table(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    check(&rows[i]);
  }
}

/* WL-07: the refusal of a stream is the server's when a list is granted in its
 * place; after a 405, when a watch is, too. It is not if the list is refused as
 * well, or if the stream was granted. */
static void test_refusals(void **state) {
  (void)state;
  static const struct {
    const kin__failure *stream;
    bool was_granted;
    const kin__failure *list; /* NULL: granted at once */
    bool is_relisted;         /* before the list is granted */
    bool refuses_listed;
    bool refuses_watched;
  } cases[] = {{&refused_400, false, NULL, false, true, true},
               {&refused_400, false, NULL, true, true, true},
               {&refused_405, false, NULL, false, false, true},
               {&refused_405, false, NULL, true, false, true},
               {&refused_400, true, NULL, false, false, false},
               {&refused_400, true, NULL, true, false, false},
               {&refused_405, true, NULL, false, false, false},
               {&refused_400, false, &refused_400, false, false, false},
               {&refused_400, false, &timed_out, false, false, false}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    reach(cases[i].was_granted ? GRANTED : ASKED);
    step(cases[i].was_granted ? KIN__INPUT_ERROR_EVENT : KIN__INPUT_FAILED,
         cases[i].stream);
    if (cases[i].list != NULL) {
      step(KIN__INPUT_FAILED, cases[i].list);
      input(KIN__INPUT_TIMER);
    }
    if (cases[i].is_relisted) {
      input(KIN__INPUT_RELIST);
    }
    assert_int_equal(f.listwatch.state, KIN__LISTWATCH_LISTING);
    assert_false(f.refused);
    input(KIN__INPUT_HEAD);
    assert_int_equal(f.refused, cases[i].refuses_listed);
    input(KIN__INPUT_PAGE);
    input(KIN__INPUT_APPLIED);
    input(KIN__INPUT_HEAD);
    assert_int_equal(f.listwatch.state, KIN__LISTWATCH_WATCHING);
    assert_int_equal(f.refused, cases[i].refuses_watched);
    finish();
  }
}

/* The table has every input in STREAMING, and in APPLYING with the stream
 * open. */
static void test_table_is_complete(void **state) {
  (void)state;
  for (int type = 0; type < KIN__INPUT_TYPES; type++) {
    bool has_streaming = false;
    bool has_held = false;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
      bool is_it = (int)rows[i].type == type;
      has_streaming |= is_it && rows[i].from < HELD;
      has_held |= is_it && rows[i].from == HELD;
    }
    if (!has_streaming || !has_held) {
      fail_msg("no row for input %d", type);
    }
  }
}

/* A program that was stopped finds its timer before the bytes that wait: one
 * silent tick is not silence, two in a row are. */
static void test_silence(void **state) {
  (void)state;
  begin();
  input(KIN__INPUT_START);
  input(KIN__INPUT_HEAD);
  for (int i = 0; i < 3; i++) {
    input(KIN__INPUT_TIMER);
    assert_int_equal(f.listwatch.state, KIN__LISTWATCH_STREAMING);
    saw_something();
    input(KIN__INPUT_TIMER);
    assert_int_equal(f.listwatch.state, KIN__LISTWATCH_STREAMING);
  }
  input(KIN__INPUT_TIMER);
  assert_int_equal(f.listwatch.state, KIN__LISTWATCH_STREAMING);
  assert_false(f.refused);
  input(KIN__INPUT_TIMER);
  assert_int_equal(f.listwatch.state, KIN__LISTWATCH_LISTING);
  assert_true(f.actions.cancel_request);
  assert_true(f.refused);
}

/* Ticks: '.' nothing, 'b'ytes of an object, 'o'ld keys, 'n'ew ones, 'x' both.
 * Given up for a list after two without progress. */
static void test_progress(void **state) {
  (void)state;
  static const struct {
    const char *ticks;
    bool gives_up;
    bool refuses; /* for all */
    bool is_endless;
  } cases[] = {
      {"..", true, true, false},         {"b.b.b.b.b", false, false, false},
      {"bbbbbbbb", false, false, false}, {"oo", true, false, true},
      {"nonononoo", true, false, true},  {"xoxoxox", false, false, false},
      {"no.", true, false, true},        {"nb..", true, true, false},
      {"o.", true, false, true},         {".o", true, false, true},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    begin();
    input(KIN__INPUT_START);
    input(KIN__INPUT_HEAD);
    for (const char *tick = cases[i].ticks; *tick != '\0'; tick++) {
      assert_int_equal(f.listwatch.state, KIN__LISTWATCH_STREAMING);
      if (*tick != '.') {
        kin__listwatch_heard(&f.listwatch, KIN__NEWS_BYTES);
      }
      if (*tick == 'o' || *tick == 'x') {
        kin__listwatch_heard(&f.listwatch, KIN__NEWS_OBJECT);
      }
      if (*tick == 'n' || *tick == 'x') {
        kin__listwatch_heard(&f.listwatch, KIN__NEWS_KEY);
      }
      f.now_ms += 5000;
      input(KIN__INPUT_TIMER);
    }
    assert_int_equal(f.listwatch.state == KIN__LISTWATCH_LISTING,
                     cases[i].gives_up);
    assert_int_equal(f.refused, cases[i].refuses);
    assert_int_equal(f.actions.gave_up_stream != KIN__STREAM_NOT_GIVEN_UP,
                     cases[i].gives_up);
    assert_int_equal(f.actions.gave_up_stream == KIN__STREAM_ENDLESS,
                     cases[i].is_endless);
    finish();
  }
}

/* New keys for ever: it ends when the server should have ended the watch. */
static void test_new_keys_for_ever(void **state) {
  (void)state;
  begin();
  input(KIN__INPUT_START);
  uint64_t timeout_ms = f.actions.request.timeout_s * UINT64_C(1000);
  input(KIN__INPUT_HEAD);
  while (f.listwatch.state == KIN__LISTWATCH_STREAMING) {
    kin__listwatch_heard(&f.listwatch, KIN__NEWS_KEY);
    f.now_ms += 5000;
    input(KIN__INPUT_TIMER);
  }
  timeout_ms += 30000 + 1000000; /* when it began */
  assert_in_range(f.now_ms, timeout_ms, timeout_ms + 5000);
  assert_string_equal(describe(&f.actions), "cancel drop list@0");
  assert_false(f.refused);
  finish();
}

/* The next list of a listwatch that has given up is a list, and the one after
 * it. */
static void test_given_up_for_good(void **state) {
  (void)state;
  for (int way = 0; way < 2; way++) {
    begin();
    input(KIN__INPUT_START);
    if (way == 0) {
      input(KIN__INPUT_HEAD);
      for (int i = 0; i < 2; i++) {
        kin__listwatch_heard(&f.listwatch, KIN__NEWS_OBJECT);
        input(KIN__INPUT_TIMER);
      }
    } else { /* its head has not come */
      kin__failure failure = {.code = KIN_ETIMEDOUT,
                              .error_class = KIN_CLASS_PROTOCOL,
                              .retry_after_s = -1};
      step(KIN__INPUT_FAILED, &failure);
      assert_in_range(f.actions.timer_ms, 800, 1599);
      input(KIN__INPUT_TIMER);
    }
    for (int i = 0; i < 2; i++) {
      assert_int_equal(f.listwatch.state, KIN__LISTWATCH_LISTING);
      input(KIN__INPUT_PAGE);
      input(KIN__INPUT_APPLIED);
      input(KIN__INPUT_HEAD);
      f.now_ms += 60000;
      step(KIN__INPUT_ERROR_EVENT, &expired);
      input(KIN__INPUT_TIMER);
    }
    assert_false(f.refused);
    finish();
  }
}

/* That the server cannot be reached says nothing about streams. */
static void test_unreached_is_no_refusal(void **state) {
  (void)state;
  begin();
  input(KIN__INPUT_START);
  kin__failure failure = broken;
  failure.code = KIN_ETIMEDOUT;
  for (int i = 0; i < 5; i++) {
    step(KIN__INPUT_FAILED, &failure);
    input(KIN__INPUT_TIMER);
    assert_int_equal(f.actions.request.kind, KIN__REQUEST_STREAM);
  }
  finish();
}

/* --- Versions, times, ends ------------------------------------------------ */

/* WL-02, WL-04, WL-05, RF-13: the stream is asked for without a version as long
 * as there is none; the position is its bookmark's, once the list is in the
 * store. */
static void test_versions(void **state) {
  (void)state;
  begin();
  input(KIN__INPUT_START);
  assert_int_equal(f.actions.request.kind, KIN__REQUEST_STREAM);
  assert_string_equal(f.actions.request.version, "");
  assert_string_equal(f.actions.request.version_match, "NotOlderThan");
  assert_in_range(f.actions.request.timeout_s, 300, 599);
  input(KIN__INPUT_HEAD);
  assert_int_equal(f.actions.timer_ms, 5000);
  saw_something();
  assert_string_equal(f.listwatch.position.version, "");
  input(KIN__INPUT_STREAMED);
  assert_string_equal(f.listwatch.position.version, "");
  input(KIN__INPUT_APPLIED);
  assert_string_equal(f.listwatch.position.version, "7");
  kin__listwatch_saw(&f.listwatch, KIN__DECODED_ADDED, (kin_str){"9", 1});
  assert_string_equal(f.listwatch.position.version, "9");
  finish();
}

/* The server counts its timeout from the request, which may have waited for its
 * turn for longer than that; what is left of it is the watch's. */
static void test_deadline_counts_from_the_head(void **state) {
  (void)state;
  begin();
  input(KIN__INPUT_START);
  uint64_t timeout_ms = f.actions.request.timeout_s * UINT64_C(1000);
  f.now_ms += 3600 * 1000; /* for its turn */
  input(KIN__INPUT_HEAD);
  f.now_ms += 4000;
  input(KIN__INPUT_STREAMED);
  f.now_ms += 3000;
  input(KIN__INPUT_APPLIED);
  assert_int_equal(f.actions.timer_ms, timeout_ms + 30000 - 7000);
  finish();
}

/* The same for what is a short stream. */
static void test_short_counts_from_the_head(void **state) {
  (void)state;
  begin();
  input(KIN__INPUT_START);
  f.now_ms += 3600 * 1000;
  input(KIN__INPUT_HEAD);
  f.now_ms += 10;
  input(KIN__INPUT_WATCH_ENDED);
  assert_string_equal(describe(&f.actions), "stop drop list@0");
  finish();
}

/* A list that is older than the position is not applied, but made again,
 * once. */
static void test_list_goes_back(void **state) {
  (void)state;
  reach(ASKED_AT_7);
  input(KIN__INPUT_HEAD);
  kin__listwatch_input old = {.type = KIN__INPUT_STREAMED, .version = "6"};
  kin__listwatch_step(&f.listwatch, &old, f.now_ms, &f.actions);
  assert_string_equal(describe(&f.actions), "cancel stop drop list@");
  assert_string_equal(f.listwatch.position.version, "7");
  kin__listwatch_input page = {
      .type = KIN__INPUT_PAGE, .version = "6", .token = ""};
  kin__listwatch_step(&f.listwatch, &page, f.now_ms, &f.actions);
  assert_string_equal(describe(&f.actions), "apply");
  input(KIN__INPUT_APPLIED);
  assert_string_equal(describe(&f.actions), "watch@6");
  finish();
}

/* A watch that goes on after its list and says nothing is verified, like any
 * other; its deadline never lies in the past. */
static void test_silent_after_the_list(void **state) {
  (void)state;
  reach(HELD);
  f.now_ms += 3600 * 1000;
  input(KIN__INPUT_APPLIED);
  assert_int_equal(f.actions.timer_ms, 0);
  input(KIN__INPUT_TIMER);
  assert_string_equal(describe(&f.actions), "cancel verify@7");
  finish();
}

static const char *third_request(const kin__failure *failure, bool is_granted,
                                 bool is_filling) {
  begin();
  input(KIN__INPUT_START);
  for (int i = 0; i < 2; i++) {
    assert_int_equal(f.listwatch.state, KIN__LISTWATCH_STREAMING);
    if (is_granted) {
      input(KIN__INPUT_HEAD);
    }
    if (is_filling) {
      saw_something();
      f.now_ms += 10000;
      input(KIN__INPUT_TIMER);
      f.now_ms += 5000; /* nothing more comes, and then */
    }
    step(KIN__INPUT_FAILED, failure);
    assert_int_equal(f.listwatch.state, KIN__LISTWATCH_WAITING);
    f.now_ms += f.actions.timer_ms;
    input(KIN__INPUT_TIMER);
  }
  finish();
  return f.listwatch.state == KIN__LISTWATCH_LISTING ? "list" : "stream";
}

/* Whoever stands between may break off, or answer for, what lasts: it gets a
 * list the third time. What is no fault of streams is tried again as one. */
static void test_given_up_streams(void **state) {
  (void)state;
  assert_string_equal(third_request(&broken, true, true), "list");
  assert_string_equal(third_request(&broken, true, false), "list");
  assert_string_equal(third_request(&timed_out, false, false), "list");
  assert_string_equal(third_request(&no_json, false, false), "list");
  assert_string_equal(third_request(&broken, false, false), "stream");
  assert_string_equal(third_request(&throttled, false, false), "stream");
  assert_string_equal(third_request(&forbidden, false, false), "stream");
  assert_string_equal(third_request(&no_memory, false, false), "stream");
}

/* Any inputs in any order: whoever waits has a timer, whoever asks a request
 * that is open, and an open stream belongs to STREAMING or APPLYING. */
static void test_random_inputs_never_hang(void **state) {
  (void)state;
  kin__random random = {4711};
  const kin__failure *failures[] = {&broken,    &too_large,  &expired,
                                    &throttled, &timed_out,  &undecodable,
                                    &no_memory, &refused_400};
  for (int run = 0; run < 2000; run++) {
    begin();
    bool is_open = false;
    bool has_timer = false;
    input(KIN__INPUT_START);
    for (int i = 0; i < 60; i++) {
      is_open = (is_open && !f.actions.cancel_request) ||
                f.actions.request.kind != KIN__REQUEST_NONE;
      has_timer = (has_timer && !f.actions.stop_timer) || f.actions.start_timer;
      kin__listwatch_state now = f.listwatch.state;
      bool is_waiting = now == KIN__LISTWATCH_WAITING;
      bool is_applying = now == KIN__LISTWATCH_APPLYING;
      assert_true(is_applying || is_open == !is_waiting);
      assert_true(!is_waiting || has_timer);
      assert_true(!is_applying ||
                  is_open == f.listwatch.in.applying.is_stream_open);
      kin__listwatch_input_type type =
          (kin__listwatch_input_type)(KIN__INPUT_HEAD +
                                      kin__random_below(&random, 9));
      bool is_end = type == KIN__INPUT_PAGE || type == KIN__INPUT_FAILED ||
                    type == KIN__INPUT_WATCH_ENDED ||
                    type == KIN__INPUT_ERROR_EVENT;
      bool is_list =
          now == KIN__LISTWATCH_LISTING || now == KIN__LISTWATCH_VERIFYING;
      bool fits_not = (is_end && !is_open) ||
                      (type == KIN__INPUT_TIMER && !has_timer) ||
                      (type == KIN__INPUT_PAGE && !is_list) ||
                      (type == KIN__INPUT_WATCH_ENDED &&
                       (is_list || now == KIN__LISTWATCH_OPENING)) ||
                      (type == KIN__INPUT_ERROR_EVENT &&
                       (is_list || now == KIN__LISTWATCH_OPENING));
      if (fits_not) {
        f.actions = (kin__listwatch_actions){0};
        continue;
      }
      f.now_ms += kin__random_below(&random, 3000);
      is_open = is_open && !is_end;
      has_timer = has_timer && type != KIN__INPUT_TIMER;
      step(type, failures[kin__random_below(&random, 8)]);
    }
    finish();
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_table),
      cmocka_unit_test(test_table_is_complete),
      cmocka_unit_test(test_refusals),
      cmocka_unit_test(test_silence),
      cmocka_unit_test(test_progress),
      cmocka_unit_test(test_new_keys_for_ever),
      cmocka_unit_test(test_given_up_for_good),
      cmocka_unit_test(test_unreached_is_no_refusal),
      cmocka_unit_test(test_versions),
      cmocka_unit_test(test_deadline_counts_from_the_head),
      cmocka_unit_test(test_short_counts_from_the_head),
      cmocka_unit_test(test_list_goes_back),
      cmocka_unit_test(test_silent_after_the_list),
      cmocka_unit_test(test_given_up_streams),
      cmocka_unit_test(test_random_inputs_never_hang),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
