/* SPDX-License-Identifier: MIT */
/* Which Events are written when: the correlator of the event recorder, with
 * time as a number. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"
#include "recorder/correlator.h"
#include "recorder/event_body.h"
#include "support/fail_alloc.h"

#define MINUTE UINT64_C(60000)

typedef struct rig {
  fail_alloc memory;
  kin__random random;
  kin__correlator correlator;
  uint64_t now_ms;
  kin_object_reference about;
} rig;

static kin__correlator_limits limits_of(uint32_t max_series,
                                        uint32_t max_queued, uint32_t burst) {
  return (kin__correlator_limits){.max_series = max_series,
                                  .max_queued = max_queued,
                                  .burst = burst,
                                  .interval_ms = 300000};
}

static void begin(rig *r, kin__correlator_limits limits) {
  memset(r, 0, sizeof *r);
  fail_alloc_init(&r->memory, 0);
  r->random.state = 1;
  r->now_ms = 1000000;
  r->about = (kin_object_reference){.api_version = KIN__LIT("v1"),
                                    .kind = KIN__LIT("Pod"),
                                    .namespace_ = KIN__LIT("n"),
                                    .name = KIN__LIT("web"),
                                    .uid = KIN__LIT("u")};
  assert_int_equal(kin__correlator_init(&r->correlator, &r->memory.allocator,
                                        &r->random, &limits),
                   0);
}

static void end(rig *r) {
  kin__correlator_finish(&r->correlator);
  assert_int_equal(r->memory.live_blocks, 0);
}

static int record(rig *r, const char *reason, const char *note) {
  const kin__occurrence occurrence = {
      .regarding = &r->about,
      .type = KIN__LIT("Normal"),
      .reason = kin__cstr(reason),
      .action = KIN__LIT("Acting"),
      .note = kin__cstr(note),
      .now_ms = r->now_ms,
      .wall = {.s = (int64_t)(r->now_ms / 1000), .ns = 5000}};
  return kin__correlator_record(&r->correlator, &occurrence);
}

static void pass(rig *r, uint64_t ms) {
  r->now_ms += ms;
  while (kin__correlator_run(&r->correlator, r->now_ms, 1)) {
  }
}

/* Takes the next request, which is "create 1", "patch 2" and so on. */
static kin__event_entry *expect(rig *r, const char *what) {
  char text[32] = "";
  kin__event_entry *entry = kin__correlator_next(&r->correlator);
  if (entry != NULL) {
    snprintf(text, sizeof text, "%s %u", entry->is_patch ? "patch" : "create",
             entry->sent_count);
  }
  assert_string_equal(text, what);
  return entry;
}

static void answer(rig *r, kin__event_entry *entry, kin__event_outcome how) {
  kin__correlator_answer(&r->correlator, entry, how, -1, r->now_ms);
}

/* --- Series --------------------------------------------------------------- */

/* The first occurrence is created, the second is a series, the others are
 * counted, and the count is written when the series is over. */
static void test_event_series(void **state) {
  (void)state;
  rig r;
  begin(&r, limits_of(10, 10, 25));
  assert_int_equal(record(&r, "Failed", "one"), 0);
  answer(&r, expect(&r, "create 1"), KIN__EVENT_WRITTEN);
  expect(&r, "");
  r.about.resource_version = KIN__LIT("7"); /* no difference */
  assert_int_equal(record(&r, "Failed", "two"), 0);
  answer(&r, expect(&r, "patch 2"), KIN__EVENT_WRITTEN);
  for (int i = 0; i < 8; i++) {
    pass(&r, MINUTE);
    assert_int_equal(record(&r, "Failed", "again"), 0);
    expect(&r, "");
  }
  pass(&r, 6 * MINUTE - 1);
  expect(&r, "");
  pass(&r, 1);
  answer(&r, expect(&r, "patch 10"), KIN__EVENT_WRITTEN);
  assert_int_equal(r.correlator.entries.count, 0);
  assert_int_equal(record(&r, "Failed", "anew"), 0);
  answer(&r, expect(&r, "create 1"), KIN__EVENT_WRITTEN);
  end(&r);
}

/* A single event is forgotten, without a request. */
static void test_single(void **state) {
  (void)state;
  rig r;
  begin(&r, limits_of(10, 10, 25));
  assert_int_equal(record(&r, "Scaled", ""), 0);
  answer(&r, expect(&r, "create 1"), KIN__EVENT_WRITTEN);
  pass(&r, 6 * MINUTE);
  expect(&r, "");
  assert_int_equal(r.correlator.entries.count, 0);
  assert_true(kin__correlator_due_ms(&r.correlator) == UINT64_MAX);
  end(&r);
}

/* A series whose count is on the server ends without a request. */
static void test_series_of_two(void **state) {
  (void)state;
  rig r;
  begin(&r, limits_of(10, 10, 25));
  assert_int_equal(record(&r, "Scaled", ""), 0);
  assert_int_equal(record(&r, "Scaled", ""), 0); /* before it was sent */
  answer(&r, expect(&r, "create 2"), KIN__EVENT_WRITTEN);
  pass(&r, 6 * MINUTE);
  expect(&r, "");
  assert_int_equal(r.correlator.entries.count, 0);
  end(&r);
}

/* The second occurrence comes while the first is being written. */
static void test_series_in_flight(void **state) {
  (void)state;
  rig r;
  begin(&r, limits_of(10, 10, 25));
  assert_int_equal(record(&r, "Scaled", ""), 0);
  kin__event_entry *entry = expect(&r, "create 1");
  assert_int_equal(record(&r, "Scaled", ""), 0);
  assert_int_equal(record(&r, "Scaled", ""), 0);
  expect(&r, "");
  answer(&r, entry, KIN__EVENT_WRITTEN);
  answer(&r, expect(&r, "patch 3"), KIN__EVENT_WRITTEN);
  expect(&r, "");
  end(&r);
}

/* The server forgets events after an hour, so a long series is written every
 * half hour, and made again if it is gone. */
static void test_event_refresh(void **state) {
  (void)state;
  rig r;
  begin(&r, limits_of(10, 10, 25));
  assert_int_equal(record(&r, "Failed", ""), 0);
  assert_int_equal(record(&r, "Failed", ""), 0);
  answer(&r, expect(&r, "create 2"), KIN__EVENT_WRITTEN);
  for (int i = 0; i < 6; i++) {
    expect(&r, "");
    pass(&r, 5 * MINUTE);
    if (i < 5) {
      assert_int_equal(record(&r, "Failed", ""), 0);
    }
  }
  kin__event_entry *entry = expect(&r, "patch 7");
  answer(&r, entry, KIN__EVENT_MISSING);
  answer(&r, expect(&r, "create 7"), KIN__EVENT_WRITTEN);
  end(&r);
}

/* An occurrence while a refresh is being written is not part of it. The
 * end of the series writes it. */
static void test_occurrence_during_a_refresh(void **state) {
  (void)state;
  rig r;
  begin(&r, limits_of(10, 10, 25));
  assert_int_equal(record(&r, "Failed", ""), 0);
  assert_int_equal(record(&r, "Failed", ""), 0);
  answer(&r, expect(&r, "create 2"), KIN__EVENT_WRITTEN);
  for (int i = 0; i < 6; i++) {
    assert_int_equal(record(&r, "Failed", ""), 0);
    pass(&r, 5 * MINUTE);
  }
  kin__event_entry *entry = expect(&r, "patch 8");
  assert_int_equal(record(&r, "Failed", ""), 0);
  answer(&r, entry, KIN__EVENT_WRITTEN);
  pass(&r, 6 * MINUTE);
  answer(&r, expect(&r, "patch 9"), KIN__EVENT_WRITTEN);
  end(&r);
}

/* What makes another event, and what does not. */
static void test_event_keys(void **state) {
  (void)state;
  rig r;
  kin_str other = KIN__LIT("x");
  begin(&r, limits_of(10, 10, 25));
  kin_str *const members[] = {&r.about.api_version, &r.about.kind,
                              &r.about.namespace_,  &r.about.name,
                              &r.about.uid,         &r.about.field_path};
  assert_int_equal(record(&r, "A", ""), 0);
  for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
    kin_str was = *members[i];
    *members[i] = other;
    assert_int_equal(record(&r, "A", ""), 0);
    *members[i] = was;
    assert_int_equal(r.correlator.entries.count, i + 2);
  }
  assert_int_equal(record(&r, "B", ""), 0);
  assert_int_equal(r.correlator.entries.count, 8);
  r.about.resource_version = other;
  assert_int_equal(record(&r, "A", "other note"), 0);
  assert_int_equal(r.correlator.entries.count, 8);
  end(&r);
}

/* Texts that lie differently between two members differ. */
static void test_key_borders(void **state) {
  (void)state;
  rig r;
  begin(&r, limits_of(10, 10, 25));
  r.about.uid = KIN__LIT("ab");
  r.about.field_path = KIN__LIT("c");
  assert_int_equal(record(&r, "A", ""), 0);
  r.about.uid = KIN__LIT("a");
  r.about.field_path = KIN__LIT("bc");
  assert_int_equal(record(&r, "A", ""), 0);
  assert_int_equal(r.correlator.entries.count, 2);
  end(&r);
}

/* --- Failures ------------------------------------------------------------- */

/* Twelve tries, ten seconds and at most a quarter more apart. */
static void test_tries(void **state) {
  (void)state;
  rig r;
  begin(&r, limits_of(10, 10, 25));
  assert_int_equal(record(&r, "A", ""), 0);
  for (int i = 1; i <= 12; i++) {
    answer(&r, expect(&r, "create 1"), KIN__EVENT_FAILED);
    expect(&r, "");
    if (i < 12) {
      assert_in_range(r.correlator.last_wait_ms, 10000, 12500);
      pass(&r, 9999);
      expect(&r, "");
      pass(&r, 2501);
    }
  }
  assert_int_equal(r.correlator.last_wait_ms, 0);
  assert_int_equal(r.correlator.given_up, 1);
  assert_int_equal(r.correlator.retries, 11);
  assert_int_equal(r.correlator.busy, 0);
  pass(&r, 6 * MINUTE);
  expect(&r, "");
  assert_int_equal(r.correlator.entries.count, 0);
  end(&r);
}

/* An outage does not make a series that goes on try for ever. */
static void test_tries_of_a_series(void **state) {
  (void)state;
  rig r;
  unsigned sent = 0;
  begin(&r, limits_of(10, 10, 25));
  for (int i = 0; i < 59 * 60; i++) { /* one refresh, after half an hour */
    assert_int_equal(record(&r, "A", ""), 0);
    kin__event_entry *entry = kin__correlator_next(&r.correlator);
    if (entry != NULL) {
      sent++;
      answer(&r, entry, KIN__EVENT_FAILED);
    }
    pass(&r, 1000);
  }
  assert_in_range(sent, 24, 36);
  end(&r);
}

/* A series that may be created and not patched: a refresh is tried once in half
 * an hour, as one that is written. */
static void test_rejected_refresh_waits(void **state) {
  (void)state;
  rig r;
  begin(&r, limits_of(10, 10, 25));
  assert_int_equal(record(&r, "A", ""), 0);
  answer(&r, expect(&r, "create 1"), KIN__EVENT_WRITTEN);
  assert_int_equal(record(&r, "A", ""), 0);
  answer(&r, expect(&r, "patch 2"), KIN__EVENT_REJECTED);
  for (int refresh = 0; refresh < 2; refresh++) {
    for (int i = 0; i < 29; i++) {
      pass(&r, MINUTE);
      assert_int_equal(record(&r, "A", ""), 0);
      expect(&r, "");
    }
    unsigned sent = 0;
    pass(&r, MINUTE);
    for (int i = 0; i < 100; i++) {
      kin__event_entry *entry = kin__correlator_next(&r.correlator);
      if (entry != NULL) {
        sent++;
        answer(&r, entry, KIN__EVENT_REJECTED);
      }
      pass(&r, 1);
    }
    assert_int_equal(sent, 1);
  }
  end(&r);
}

/* A count that the server rejected is written once more when the series is
 * over. */
static void test_rejected_count_at_the_end(void **state) {
  (void)state;
  rig r;
  begin(&r, limits_of(10, 10, 25));
  assert_int_equal(record(&r, "A", ""), 0);
  answer(&r, expect(&r, "create 1"), KIN__EVENT_WRITTEN);
  assert_int_equal(record(&r, "A", ""), 0);
  answer(&r, expect(&r, "patch 2"), KIN__EVENT_REJECTED);
  pass(&r, 6 * MINUTE);
  answer(&r, expect(&r, "patch 2"), KIN__EVENT_WRITTEN);
  assert_int_equal(r.correlator.entries.count, 0);
  end(&r);
}

static void test_event_rejected(void **state) {
  (void)state;
  rig r;
  begin(&r, limits_of(10, 10, 25));
  assert_int_equal(record(&r, "A", ""), 0);
  answer(&r, expect(&r, "create 1"), KIN__EVENT_REJECTED);
  expect(&r, "");
  assert_int_equal(record(&r, "A", ""), 0);
  answer(&r, expect(&r, "create 2"), KIN__EVENT_REJECTED);
  assert_int_equal(record(&r, "A", ""), 0);
  expect(&r, "");
  assert_int_equal(r.correlator.rejected, 2);
  end(&r);
}

/* An earlier try has arrived. A series is then patched, at once. */
static void test_exists(void **state) {
  (void)state;
  rig r;
  begin(&r, limits_of(10, 10, 25));
  assert_int_equal(record(&r, "A", ""), 0);
  answer(&r, expect(&r, "create 1"), KIN__EVENT_EXISTS);
  expect(&r, "");
  assert_int_equal(record(&r, "B", ""), 0);
  assert_int_equal(record(&r, "B", ""), 0);
  answer(&r, expect(&r, "create 2"), KIN__EVENT_EXISTS);
  answer(&r, expect(&r, "patch 2"), KIN__EVENT_WRITTEN);
  expect(&r, "");
  end(&r);
}

/* A server to which an Event exists and is missing by turns. */
static void test_exists_and_is_missing(void **state) {
  (void)state;
  rig r;
  begin(&r, limits_of(10, 10, 25));
  assert_int_equal(record(&r, "A", ""), 0);
  assert_int_equal(record(&r, "A", ""), 0);
  for (int i = 1; i <= 12; i++) {
    answer(&r, expect(&r, "create 2"), KIN__EVENT_EXISTS);
    if (i < 12) {
      answer(&r, expect(&r, "patch 2"), KIN__EVENT_MISSING);
    }
  }
  expect(&r, "");
  assert_int_equal(r.correlator.given_up, 1);
  assert_int_equal(r.correlator.busy, 0);
  end(&r);
}

/* --- Limits --------------------------------------------------------------- */

/* tools/record: 25 events about one object, then one each five minutes. */
static void test_spam_filter(void **state) {
  (void)state;
  rig r;
  char reason[16];
  begin(&r, limits_of(1000, 1000, 25));
  for (int i = 0; i < 30; i++) {
    snprintf(reason, sizeof reason, "R%d", i);
    assert_int_equal(record(&r, reason, ""), i < 25 ? 0 : KIN_EAGAIN);
  }
  assert_int_equal(r.correlator.spam, 5);
  assert_int_equal(record(&r, "R3", ""), 0); /* it is known */
  r.about.uid = KIN__LIT("another");
  assert_int_equal(record(&r, "R99", ""), 0);
  r.about.uid = KIN__LIT("u");
  pass(&r, 300000 - 1);
  assert_int_equal(record(&r, "R99", ""), KIN_EAGAIN);
  pass(&r, 1);
  assert_int_equal(record(&r, "R99", ""), 0);
  assert_int_equal(record(&r, "R98", ""), KIN_EAGAIN);
  end(&r);
}

/* The queue is full: new events are dropped, known ones are counted. */
static void test_full_queue(void **state) {
  (void)state;
  rig r;
  begin(&r, limits_of(10, 2, 25));
  assert_int_equal(record(&r, "A", ""), 0);
  assert_int_equal(record(&r, "B", ""), 0);
  assert_int_equal(record(&r, "C", ""), KIN_EAGAIN);
  assert_int_equal(record(&r, "A", ""), 0);
  assert_int_equal(r.correlator.overflown, 1);
  answer(&r, expect(&r, "create 2"), KIN__EVENT_WRITTEN);
  assert_int_equal(record(&r, "C", ""), 0);
  /* An Event that becomes a series while it is written keeps its place. */
  kin__event_entry *entry = expect(&r, "create 1");
  assert_int_equal(record(&r, "B", ""), 0);
  answer(&r, entry, KIN__EVENT_WRITTEN);
  answer(&r, expect(&r, "create 1"), KIN__EVENT_WRITTEN);
  answer(&r, expect(&r, "patch 2"), KIN__EVENT_WRITTEN);
  end(&r);
}

/* "A" has been written and rests. "Other" fills the queue, and "A" occurs
 * again. */
static void begin_with_full_queue(rig *r) {
  begin(r, limits_of(10, 1, 25));
  assert_int_equal(record(r, "A", ""), 0);
  answer(r, expect(r, "create 1"), KIN__EVENT_WRITTEN);
  assert_int_equal(record(r, "Other", ""), 0);
  assert_int_equal(record(r, "A", ""), 0);
}

/* An event that rests does not enter a full queue, neither as a series
 * nor at its end. It does as soon as there is room. */
static void test_full_queue_of_another(void **state) {
  (void)state;
  rig r;
  begin_with_full_queue(&r);
  assert_int_equal(r.correlator.queued, 1);
  pass(&r, 7 * MINUTE);
  assert_int_equal(r.correlator.queued, 1);
  answer(&r, expect(&r, "create 1"), KIN__EVENT_WRITTEN);
  expect(&r, "");
  pass(&r, MINUTE);
  answer(&r, expect(&r, "patch 2"), KIN__EVENT_WRITTEN);
  end(&r);
}

/* The queue is full at the second occurrence: the next one makes the series. */
static void test_series_after_a_full_queue(void **state) {
  (void)state;
  rig r;
  begin_with_full_queue(&r);
  answer(&r, expect(&r, "create 1"), KIN__EVENT_WRITTEN);
  expect(&r, "");
  assert_int_equal(record(&r, "A", ""), 0);
  answer(&r, expect(&r, "patch 3"), KIN__EVENT_WRITTEN);
  assert_int_equal(record(&r, "A", ""), 0);
  expect(&r, "");
  end(&r);
}

/* The oldest event that rests makes room. */
static void test_full_memory(void **state) {
  (void)state;
  rig r;
  begin(&r, limits_of(2, 10, 25));
  assert_int_equal(record(&r, "A", ""), 0);
  assert_int_equal(record(&r, "B", ""), 0);
  assert_int_equal(record(&r, "C", ""), KIN_EAGAIN); /* both are waiting */
  answer(&r, expect(&r, "create 1"), KIN__EVENT_WRITTEN);
  answer(&r, expect(&r, "create 1"), KIN__EVENT_WRITTEN);
  assert_int_equal(record(&r, "A", ""), 0); /* now B is the oldest */
  answer(&r, expect(&r, "patch 2"), KIN__EVENT_WRITTEN);
  assert_int_equal(record(&r, "C", ""), 0);
  assert_int_equal(r.correlator.entries.count, 2);
  answer(&r, expect(&r, "create 1"), KIN__EVENT_WRITTEN);
  assert_int_equal(record(&r, "A", ""), 0);
  expect(&r, "");
  assert_int_equal(record(&r, "B", ""), 0);
  answer(&r, expect(&r, "create 1"), KIN__EVENT_WRITTEN);
  assert_int_equal(r.correlator.overflown, 1);
  assert_int_equal(record(&r, "A", ""), 0);
  assert_int_equal(record(&r, "B", ""), 0);
  answer(&r, expect(&r, "patch 2"), KIN__EVENT_WRITTEN);
  /* Of the four of A two were written. The others go with A. */
  assert_int_equal(record(&r, "C", ""), 0);
  assert_int_equal(r.correlator.overflown, 3);
  end(&r);
}

/* Without memory the filter lets as many pass as before. */
static void test_spam_filter_without_memory(void **state) {
  (void)state;
  rig r;
  begin(&r, limits_of(10, 10, 2));
  assert_int_equal(record(&r, "A", ""), 0); /* the source is known now */
  r.memory.fail_at = atomic_load(&r.memory.calls) + 1;
  r.memory.keeps_failing = true;
  for (int i = 0; i < 3; i++) {
    assert_int_equal(record(&r, "B", ""), KIN_ENOMEM);
  }
  r.memory.fail_at = 0;
  r.memory.keeps_failing = false;
  assert_int_equal(record(&r, "B", ""), 0);
  assert_int_equal(record(&r, "C", ""), KIN_EAGAIN);
  end(&r);
}

/* The filter remembers the sources that were seen last. */
static void test_many_sources(void **state) {
  (void)state;
  rig r;
  char uid[16];
  begin(&r, limits_of(8, 8, 1));
  for (unsigned i = 0; i < KIN__EVENT_MAX_SOURCES + 10; i++) {
    snprintf(uid, sizeof uid, "%u", i);
    r.about.uid = kin__cstr(uid);
    assert_int_equal(record(&r, "A", ""), 0);
    answer(&r, expect(&r, "create 1"), KIN__EVENT_WRITTEN);
  }
  assert_int_equal(r.correlator.sources.count, KIN__EVENT_MAX_SOURCES);
  r.about.uid = KIN__LIT("20");
  assert_int_equal(record(&r, "B", ""), KIN_EAGAIN);
  r.about.uid = KIN__LIT("0"); /* forgotten */
  assert_int_equal(record(&r, "B", ""), 0);
  end(&r);
}

/* A source whose events are all dropped is seen, too: other sources do not push
 * it out of the memory. */
static void test_source_of_spam_stays(void **state) {
  (void)state;
  rig r;
  char uid[16];
  begin(&r, limits_of(8, 8, 1));
  assert_int_equal(record(&r, "A", ""), 0);
  answer(&r, expect(&r, "create 1"), KIN__EVENT_WRITTEN);
  for (unsigned i = 0; i < KIN__EVENT_MAX_SOURCES; i++) {
    snprintf(uid, sizeof uid, "%u", i);
    r.about.uid = kin__cstr(uid);
    assert_int_equal(record(&r, "A", ""), 0);
    answer(&r, expect(&r, "create 1"), KIN__EVENT_WRITTEN);
    r.about.uid = KIN__LIT("u");
    assert_int_equal(record(&r, "B", ""), KIN_EAGAIN);
  }
  end(&r);
}

/* --- Names and texts ------------------------------------------------------ */

static void expect_name(rig *r, const char *object, const char *beginning) {
  r->about.name = kin__cstr(object);
  assert_int_equal(record(r, "A", ""), 0);
  kin__event_entry *entry = kin__correlator_next(&r->correlator);
  char name[300];
  (void)kin_str_copy(name, sizeof name, entry->texts[KIN__EVENT_NAME]);
  if (strncmp(name, beginning, strlen(beginning)) != 0) {
    fail_msg("%s: %s", object, name);
  }
  assert_in_range(strlen(name), 1, 253);
  answer(r, entry, KIN__EVENT_WRITTEN);
}

/* Names that no Event can have are replaced. */
static void test_event_names(void **state) {
  (void)state;
  static const char *const bad[] = {"Web", "web_0", "web.", ".web", "w..b",
                                    "-w",  "w-",    "w-.b", "w:b",  "\xc3\xa4"};
  static char name[254];
  rig r;
  begin(&r, limits_of(100, 100, 25));
  expect_name(&r, "web-0.a", "web-0.a.");
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    expect_name(&r, bad[i], "event-");
  }
  memset(name, 'a', 253);
  expect_name(&r, name, "event-");
  name[230] = '\0';
  expect_name(&r, name, "aaa");
  end(&r);
}

/* Two Events of one object within one tick of the clock, and after it was set
 * back: no answer "exists" is about somebody else's Event. */
static void test_names_differ(void **state) {
  (void)state;
  char names[3][300];
  rig r;
  begin(&r, limits_of(10, 10, 25));
  for (int i = 0; i < 3; i++) {
    const char *const reasons[] = {"A", "B", "C"};
    r.now_ms -= i == 2 ? 1 : 0;
    assert_int_equal(record(&r, reasons[i], ""), 0);
    kin__event_entry *entry = expect(&r, "create 1");
    (void)kin_str_copy(names[i], sizeof names[i],
                       entry->texts[KIN__EVENT_NAME]);
    answer(&r, entry, KIN__EVENT_WRITTEN);
  }
  assert_string_not_equal(names[0], names[1]);
  assert_string_not_equal(names[0], names[2]);
  assert_string_not_equal(names[1], names[2]);
  end(&r);
}

static void expect_clean(const char *from, size_t max, const char *expected) {
  char to[64];
  size_t length = kin__utf8_clean(to, kin__cstr(from), max);
  assert_int_equal(length, strlen(expected));
  assert_memory_equal(to, expected, length);
}

/* A note is cut between two characters. */
static void test_utf8(void **state) {
  (void)state;
  expect_clean("plain", 60, "plain");
  expect_clean("plain", 3, "pla");
  expect_clean("a\xc3\xa4z", 2, "a");
  expect_clean("a\xc3\xa4z", 3, "a\xc3\xa4");
  expect_clean("\xe2\x82\xac\xf0\x9f\x98\x80", 6, "\xe2\x82\xac");
  expect_clean("\xe2\x82\xac\xf0\x9f\x98\x80", 7,
               "\xe2\x82\xac\xf0\x9f\x98\x80");
  expect_clean("\xff\xc3", 60, "??");
  expect_clean("\xc0\x80", 60, "??"); /* too long for its value */
  expect_clean("\xe0\x80\x80", 60, "???");
  expect_clean("\xf0\x80\x80\x80", 60, "????");
  expect_clean("\xed\xa0\x80", 60, "???");      /* half a pair */
  expect_clean("\xf4\x90\x80\x80", 60, "????"); /* beyond U+10FFFF */
  expect_clean("\xf5\x80\x80\x80", 60, "????");
  expect_clean("\xe2\x82", 60, "??");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_event_series),
      cmocka_unit_test(test_single),
      cmocka_unit_test(test_series_of_two),
      cmocka_unit_test(test_series_in_flight),
      cmocka_unit_test(test_event_refresh),
      cmocka_unit_test(test_occurrence_during_a_refresh),
      cmocka_unit_test(test_event_keys),
      cmocka_unit_test(test_key_borders),
      cmocka_unit_test(test_tries),
      cmocka_unit_test(test_tries_of_a_series),
      cmocka_unit_test(test_rejected_refresh_waits),
      cmocka_unit_test(test_rejected_count_at_the_end),
      cmocka_unit_test(test_event_rejected),
      cmocka_unit_test(test_exists),
      cmocka_unit_test(test_exists_and_is_missing),
      cmocka_unit_test(test_spam_filter),
      cmocka_unit_test(test_spam_filter_without_memory),
      cmocka_unit_test(test_full_queue),
      cmocka_unit_test(test_full_queue_of_another),
      cmocka_unit_test(test_series_after_a_full_queue),
      cmocka_unit_test(test_full_memory),
      cmocka_unit_test(test_many_sources),
      cmocka_unit_test(test_source_of_spam_stays),
      cmocka_unit_test(test_event_names),
      cmocka_unit_test(test_names_differ),
      cmocka_unit_test(test_utf8),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
