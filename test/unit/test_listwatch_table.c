/* SPDX-License-Identifier: MIT */

/* The listwatch's states: each change that the table allows is reached, what it
 * does not allow never happens, and stopping is possible everywhere. Proves
 * RF-10, RL-11, RW-12. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"
#include "support/listwatch_steps.h"

/* client-go TestRunUntil, TestReflectorHandleWatchStoppedBefore,
 * TestReflectorHandleWatchStoppedAfter; RF-10, RL-11, RW-12: stop from every
 * state cancels what is open, and nothing happens afterwards. */
static void test_stop_from_every_state(void **state) {
  (void)state;
  for (int depth = 0; depth < 7; depth++) {
    lw_begin(0);
    if (depth >= 1) {
      lw_input(KIN__INPUT_START);
    }
    if (depth >= 2) {
      lw_page("10", "");
    }
    if (depth >= 3) {
      lw_input(KIN__INPUT_APPLIED);
    }
    if (depth >= 4) {
      lw_input(KIN__INPUT_HEAD);
    }
    if (depth == 5) {
      lw.now_ms += 5000;
      lw_input(KIN__INPUT_WATCH_ENDED);
      assert_int_equal(lw.listwatch.state, KIN__LISTWATCH_VERIFYING);
    }
    if (depth == 6) {
      lw_fail(lw_broken());
      assert_int_equal(lw.listwatch.state, KIN__LISTWATCH_WAITING);
    }
    lw_input(KIN__INPUT_STOP);
    assert_int_equal(lw.listwatch.state, KIN__LISTWATCH_STOPPED);
    assert_true(lw.actions.cancel_request && lw.actions.stop_timer &&
                lw.actions.drop_stage);
    kin__failure failure = lw_broken();
    for (int type = 0; type < KIN__INPUT_TYPES; type++) {
      kin__listwatch_input in = {.type = (kin__listwatch_input_type)type,
                                 .version = "1",
                                 .token = "t",
                                 .failure = &failure};
      kin__listwatch_step(&lw.listwatch, &in, lw.now_ms, &lw.actions);
      kin__listwatch_actions none = {0};
      assert_memory_equal(&lw.actions, &none, sizeof none);
      assert_int_equal(lw.listwatch.state, KIN__LISTWATCH_STOPPED);
    }
  }
}

/* Any inputs in any order: the table is never broken (an assert), a request is
 * only asked for in the states that have one, and a wait always has a timer. */
static void test_random_inputs_keep_the_invariants(void **state) {
  (void)state;
  kin__random random = {99};
  const kin__failure failures[] = {
      lw_broken(), lw_too_large(), lw_status(410, "Expired"),
      lw_status(429, "TooManyRequests"), lw_status(500, "InternalError")};
  for (int run = 0; run < 2000; run++) {
    lw_begin(0);
    for (int i = 0; i < 60; i++) {
      kin__listwatch_input in = {
          .type = (kin__listwatch_input_type)kin__random_below(
              &random, KIN__INPUT_TYPES),
          .version = "5",
          .token = kin__random_below(&random, 2) ? "t" : "",
          .failure = &failures[kin__random_below(&random, 5)]};
      if (in.type == KIN__INPUT_STOP && kin__random_below(&random, 20) != 0) {
        continue;
      }
      lw.now_ms += kin__random_below(&random, 3000);
      kin__listwatch_step(&lw.listwatch, &in, lw.now_ms, &lw.actions);
      bool has_request = lw.listwatch.state == KIN__LISTWATCH_LISTING ||
                         lw.listwatch.state == KIN__LISTWATCH_OPENING ||
                         lw.listwatch.state == KIN__LISTWATCH_VERIFYING;
      if (lw.actions.request.kind != KIN__REQUEST_NONE) {
        assert_true(has_request);
      }
      if (lw.actions.start_timer) {
        assert_true(lw.listwatch.state == KIN__LISTWATCH_WAITING ||
                    lw.listwatch.state == KIN__LISTWATCH_WATCHING);
      }
    }
  }
}

/* --- The table ------------------------------------------------------------ */

static void step_with(kin__listwatch_input_type type, const char *version) {
  kin__listwatch_input in = {.type = type, .version = version, .token = ""};
  kin__listwatch_step(&lw.listwatch, &in, lw.now_ms, &lw.actions);
}

static void end_after_2_s(void) {
  lw.now_ms += 2000;
  lw_input(KIN__INPUT_WATCH_ENDED);
}

static void fail_after_2_s(void) {
  lw.now_ms += 2000;
  lw_fail(lw_broken());
}

static void apply_failed(void) {
  kin__failure failure = lw_broken();
  kin__listwatch_input in = {.type = KIN__INPUT_APPLY_FAILED,
                             .failure = &failure};
  kin__listwatch_step(&lw.listwatch, &in, lw.now_ms, &lw.actions);
}

/* One input by its letter; small ones are those of the same thing that go
 * wrong. */
static void take(char letter) {
  switch (letter) {
  case 'S':
    lw_input(KIN__INPUT_START);
    return;
  case 'Q':
    lw_input(KIN__INPUT_STOP);
    return;
  case 'H':
    lw_input(KIN__INPUT_HEAD);
    return;
  case 'P': /* a whole list */
    lw_page("10", "");
    return;
  case 'N': /* a page, of which there are more */
    lw_page("10", "more");
    return;
  case 'b': /* a list from before a restore */
    lw_page("5", "");
    return;
  case 'R':
    step_with(KIN__INPUT_STREAMED, "10");
    return;
  case 'A':
    lw_input(KIN__INPUT_APPLIED);
    return;
  case 'a':
    apply_failed();
    return;
  case 'M':
    lw_saw(KIN__DECODED_MODIFIED, "11");
    return;
  case 'E':
    end_after_2_s();
    return;
  case 'e':
    lw_input(KIN__INPUT_WATCH_ENDED);
    return;
  case 'x':
    lw_fail(lw_broken());
    return;
  case 'X':
    fail_after_2_s();
    return;
  case 'm': /* refused as malformed */
    lw_fail(lw_status(400, "BadRequest"));
    return;
  case 'u': /* unavailable */
    lw_fail(lw_status(503, "ServiceUnavailable"));
    return;
  case 'g':
    lw_error_event(lw_status(410, "Expired"));
    return;
  case 'T':
    lw_input(KIN__INPUT_TIMER);
    return;
  case 'L':
    lw_input(KIN__INPUT_RELIST);
    return;
  case 'V':
    lw_verify("30");
    return;
  case 'v':
    lw_verify("");
    return;
  default:
    fail_msg("no letter '%c'", letter);
  }
}

typedef enum kind { LISTS, STREAMS, ONLY_WATCHES, ONLY_LISTS } kind;

typedef struct row {
  kin__listwatch_state from;
  kin__listwatch_state to;
  kind what;
  const char *inputs; /* the last one makes the change */
} row;

#define ROW(from, to, what, inputs)                                            \
  { KIN__LISTWATCH_##from, KIN__LISTWATCH_##to, what, inputs }

static const row rows[] = {
    ROW(IDLE, LISTING, LISTS, "S"),
    ROW(IDLE, STREAMING, STREAMS, "S"),
    ROW(IDLE, OPENING, ONLY_WATCHES, "S"),
    ROW(IDLE, STOPPED, LISTS, "Q"),

    ROW(LISTING, LISTING, LISTS, "SN"),
    ROW(LISTING, LISTING, LISTS, "SL"),
    ROW(LISTING, LISTING, STREAMS, "SHeL"),
    ROW(LISTING, APPLYING, LISTS, "SP"),
    ROW(LISTING, WAITING, LISTS, "Sx"),
    ROW(LISTING, STOPPED, LISTS, "SQ"),

    ROW(STREAMING, STREAMING, STREAMS, "SHE"),
    ROW(STREAMING, STREAMING, STREAMS, "SHL"),
    ROW(STREAMING, LISTING, STREAMS, "Sm"),
    ROW(STREAMING, APPLYING, STREAMS, "SHR"),
    ROW(STREAMING, WAITING, STREAMS, "Sx"),
    ROW(STREAMING, STOPPED, STREAMS, "SQ"),

    ROW(APPLYING, LISTING, ONLY_LISTS, "SNA"),
    ROW(APPLYING, LISTING, LISTS, "SPLA"),
    ROW(APPLYING, STREAMING, STREAMS, "SHRLA"),
    ROW(APPLYING, OPENING, LISTS, "SPA"),
    ROW(APPLYING, WATCHING, STREAMS, "SHRA"),
    ROW(APPLYING, WAITING, LISTS, "SPa"),
    ROW(APPLYING, STOPPED, LISTS, "SPQ"),

    ROW(OPENING, OPENING, ONLY_WATCHES, "SX"),
    ROW(OPENING, LISTING, LISTS, "SPAL"),
    ROW(OPENING, STREAMING, STREAMS, "SHREAL"),
    ROW(OPENING, WATCHING, LISTS, "SPAH"),
    ROW(OPENING, WAITING, LISTS, "SPAx"),
    ROW(OPENING, STOPPED, LISTS, "SPAQ"),

    ROW(WATCHING, OPENING, LISTS, "SPAHME"),
    ROW(WATCHING, VERIFYING, LISTS, "SPAHE"),
    ROW(WATCHING, VERIFYING, LISTS, "SPAHV"),
    ROW(WATCHING, LISTING, LISTS, "SPAHVPHEHE"),
    ROW(WATCHING, STREAMING, STREAMS, "SHRAVPHEHE"),
    ROW(WATCHING, LISTING, LISTS, "SPAHL"),
    ROW(WATCHING, STREAMING, STREAMS, "SHRAL"),
    ROW(WATCHING, WAITING, LISTS, "SPAHg"),
    ROW(WATCHING, STOPPED, LISTS, "SPAHQ"),

    ROW(VERIFYING, VERIFYING, LISTS, "SPAHVm"),
    ROW(VERIFYING, OPENING, LISTS, "SPAHEP"),
    ROW(VERIFYING, OPENING, LISTS, "SPAHVP"),
    ROW(VERIFYING, LISTING, LISTS, "SPAHvb"),
    ROW(VERIFYING, STREAMING, STREAMS, "SHRAvb"),
    ROW(VERIFYING, LISTING, LISTS, "SPAHVL"),
    ROW(VERIFYING, WAITING, LISTS, "SPAHVx"),
    ROW(VERIFYING, STOPPED, LISTS, "SPAHVQ"),

    ROW(WAITING, LISTING, LISTS, "SxT"),
    ROW(WAITING, STREAMING, STREAMS, "SxT"),
    ROW(WAITING, LISTING, LISTS, "SPAuLT"),
    ROW(WAITING, OPENING, LISTS, "SPAuT"),
    ROW(WAITING, VERIFYING, LISTS, "SPAxT"),
    ROW(WAITING, STOPPED, LISTS, "SxQ"),
};

static void begin_as(kind what, bool *refused) {
  static const kin__listwatch_options once = {
      .mode = KIN__LIST_ONCE,
      .list_once = {.version = "", .version_match = ""}};
  if (what == STREAMS) {
    lw_begin_streams(refused);
  } else if (what == ONLY_WATCHES) {
    lw_begin_watch_only("1");
  } else if (what == ONLY_LISTS) {
    lw_begin_with(&once);
  } else {
    lw_begin(0);
  }
}

static void check(const row *r) {
  bool refused = false;
  begin_as(r->what, &refused);
  size_t last = strlen(r->inputs) - 1;
  for (size_t i = 0; i < last; i++) {
    take(r->inputs[i]);
  }
  kin__listwatch_state from = lw.listwatch.state;
  take(r->inputs[last]);
  if (from != r->from || lw.listwatch.state != r->to) {
    fail_msg("\"%s\": %s -> %s", r->inputs, kin__listwatch_state_name(from),
             kin__listwatch_state_name(lw.listwatch.state));
  }
  lw_begin(0);
}

static bool has_row(int from, int to) {
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    if ((int)rows[i].from == from && (int)rows[i].to == to) {
      return true;
    }
  }
  return false;
}

/* The table, as doc/architecture.md and listwatch.h have it: each of its
 * changes is made by the row, and there is no other. */
static void test_transition_table(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    check(&rows[i]);
  }
  for (int from = 0; from <= KIN__LISTWATCH_STOPPED; from++) {
    for (int to = 0; to <= KIN__LISTWATCH_STOPPED; to++) {
      bool may = kin__listwatch_may((kin__listwatch_state)from,
                                    (kin__listwatch_state)to);
      if (may != has_row(from, to)) {
        fail_msg("%s -> %s",
                 kin__listwatch_state_name((kin__listwatch_state)from),
                 kin__listwatch_state_name((kin__listwatch_state)to));
      }
    }
  }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, lw_setup, lw_teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(test_stop_from_every_state),
      TEST(test_random_inputs_keep_the_invariants),
      TEST(test_transition_table),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
