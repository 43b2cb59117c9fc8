/* SPDX-License-Identifier: MIT */

/* Lists that never end: pages in a circle, pages with ever new tokens, a body
 * without an end, a body that trickles. Each is told, takes bounded memory, and
 * is begun again; the same object then recovers. Lists that are only long or
 * slow are left alone. Proves PG-02, RL-07, CN-03. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "informer/scope.h"
#include "support/hand_source.h"
#include "support/informer_world.h"
#include "support/source_rig.h"

#define MINUTE_MS 60000u

typedef struct world {
  iw_world w;
  kin__log log;
  int warnings; /* of lists that are late */
  char last[512];
  unsigned pages; /* that were served */
} world;

static void on_log(kin_log_level level, const char *line, void *data) {
  world *f = data;
  if (level == KIN_LOG_WARN && strstr(line, "not complete after") != NULL) {
    f->warnings++;
    snprintf(f->last, sizeof f->last, "%s", line);
  }
}

static void init_world(world *f, size_t fail_at) {
  memset(f, 0, sizeof *f);
  iw_init(&f->w, fail_at);
  f->log = (kin__log){.cb = on_log, .data = f, .level = KIN_LOG_WARN};
  f->w.script.env.log = &f->log;
}

static void open_world(world *f) {
  init_world(f, 0);
  mini_put_first(&f->w.server, 6);
  kin_informer_options options = iw_options(&f->w);
  assert_int_equal(iw_open(&f->w, &options), 0);
}

/* With a list, and a watch that is lost: the next request is a list. */
static void relist(world *f) {
  mini_serve(&f->w.server);
  assert_int_equal(f->w.state, KIN_STATE_LIVE);
  mini_compact(&f->w.server);
  script_expire(&f->w.script, "pods");
  while (script_open_requests(&f->w.script) == 0) {
    script_advance(&f->w.script, 100);
  }
}

static void recover(world *f) {
  mini_pass(&f->w.server, 100000);
  assert_true(kin_informer_has_synced(f->w.informer));
  assert_int_equal(f->w.state, KIN_STATE_LIVE);
  iw_assert_truth(&f->w);
}

static void close_world(world *f) {
  iw_close(&f->w);
  iw_finish(&f->w);
}

static size_t staged(const world *f) {
  return iw_status(&f->w, "").staged;
}

/* --- Pages ---------------------------------------------------------------- */

/* A page with objects from `first` on, each with a kilobyte. */
static const char *page_of(unsigned first, unsigned count, const char *token) {
  static char page[1u << 20];
  size_t at = (size_t)snprintf(page, sizeof page, "{\"items\":[");
  for (unsigned i = 0; i < count; i++) {
    at += (size_t)snprintf(
        page + at, sizeof page - at,
        "%s{\"metadata\":{\"name\":\"x%u\",\"namespace\":\"even\",\"uid\":"
        "\"u%u\",\"resourceVersion\":\"7\"},\"spec\":\"%1000s\"}",
        i > 0 ? "," : "", first + i, first + i, "");
    assert_true(at < sizeof page - 200);
  }
  snprintf(page + at, sizeof page - at,
           "],\"metadata\":{\"resourceVersion\":\"200\",\"continue\":\"%s\"}}",
           token);
  return page;
}

typedef const char *(*make_page)(unsigned page);

/* Serves such pages until the list is given up. */
static void serve_pages(world *f, make_page make, unsigned at_most,
                        size_t staged_at_most) {
  int errors = f->w.errors;
  for (f->pages = 0; f->w.errors == errors; f->pages++) {
    assert_true(f->pages < at_most);
    script_respond(&f->w.script, "pods", 200, make(f->pages));
    assert_true(staged(f) <= staged_at_most);
    assert_true(f->w.memory.live_bytes < (4u << 20) + 2048u * staged_at_most);
  }
  assert_int_equal(f->w.last_code, KIN_EUNEXPECTED);
  assert_int_equal(f->w.last_class, KIN_CLASS_DECODE);
  assert_int_equal(staged(f), 0);
  assert_int_equal(script_open_requests(&f->w.script), 0);
  assert_true(f->w.last_retry_in_ms > 0);
  script_advance(&f->w.script, f->w.last_retry_in_ms);
  assert_null(strstr(script_expect(&f->w.script, "pods")->target, "continue"));
}

/* Given up and begun again, twice before the first list and twice after it. */
static void check_pages(make_page make, unsigned at_most, size_t staged_at_most,
                        const char *message) {
  world f;
  open_world(&f);
  for (int round = 0; round < 2; round++) {
    for (unsigned times = 1; times <= 2; times++) {
      serve_pages(&f, make, at_most, staged_at_most);
      assert_string_equal(f.w.last_message, message);
      assert_true(iw_status(&f.w, "").failures >= times);
    }
    if (round == 0) {
      recover(&f);
      relist(&f);
    }
  }
  recover(&f);
  close_world(&f);
}

static const char *two_in_turns(unsigned page) {
  return page % 2 == 0 ? page_of(0, 150, "b") : page_of(150, 150, "a");
}

static void test_tokens_in_turns(void **state) {
  (void)state;
  check_pages(two_in_turns, 40, 300 * 9,
              "list of pods: the same objects come again and again");
}

static const char *same_with_new_token(unsigned page) {
  char token[16];
  snprintf(token, sizeof token, "t%u", page);
  return page_of(0, 1, token);
}

static void test_new_tokens(void **state) {
  (void)state;
  check_pages(same_with_new_token, 1100, 1100,
              "list of pods: the same objects come again and again");
}

/* New objects among those that come again. */
static const char *some_new(unsigned page) {
  char token[16];
  snprintf(token, sizeof token, "t%u", page);
  return page % 8 == 0 ? page_of(1000 + page, 1, token)
                       : page_of(page % 8 * 60, 60, token);
}

static void test_some_new(void **state) {
  (void)state;
  check_pages(some_new, 200, 9 * 500,
              "list of pods: the same objects come again and again");
}

static const char *empty_with_new_token(unsigned page) {
  static char text[128];
  snprintf(text, sizeof text,
           "{\"metadata\":{\"resourceVersion\":\"200\",\"continue\":\"%u\"},"
           "\"items\":[]}",
           page);
  return text;
}

static void test_empty_pages(void **state) {
  (void)state;
  check_pages(empty_with_new_token, 10001, 0,
              "list of pods: 10,000 pages in a row have no objects");
}

/* A server that selects after it has cut its pages: one object in ten thousand
 * pages is enough, and so is the end. */
static void test_few_objects(void **state) {
  (void)state;
  world f;
  open_world(&f);
  for (unsigned page = 1; page <= 25000; page++) {
    const char *text = page == 10000 || page == 15001
                           ? page_of(page, 1, "next")
                           : empty_with_new_token(page);
    script_respond(&f.w.script, "pods", 200, text);
  }
  script_respond(&f.w.script, "pods", 200, page_of(0, 0, ""));
  assert_int_equal(f.w.errors, 0);
  assert_true(kin_informer_has_synced(f.w.informer));
  assert_int_equal(kin_store_count(kin_informer_store(f.w.informer)), 2);
  close_world(&f);
}

/* A long list is no circle. */
static void test_long_list(void **state) {
  (void)state;
  world f;
  init_world(&f, 0);
  kin_informer_options options = iw_options(&f.w);
  iw_open_only(&f.w, &options);
  assert_int_equal(kin_informer_start(f.w.informer), 0);
  for (unsigned page = 0; page < 100; page++) {
    char token[16] = "";
    if (page < 99) {
      snprintf(token, sizeof token, "t%u", page);
    }
    script_respond(&f.w.script, "pods", 200, page_of(page * 100, 100, token));
  }
  assert_int_equal(f.w.errors, 0);
  assert_int_equal(kin_store_count(kin_informer_store(f.w.informer)), 10000);
  close_world(&f);
}

/* One body without an end, in which the same objects come again. */
static void test_endless_body(void **state) {
  (void)state;
  world f;
  open_world(&f);
  for (int round = 1; round <= 2; round++) {
    const char *text = page_of(0, 400, "");
    size_t length = (size_t)(strrchr(text, ']') - text);
    assert_true(script_head(&f.w.script, "pods", 200));
    assert_true(script_body(&f.w.script, "pods", text, length));
    unsigned times = 0;
    while (script_body(&f.w.script, "pods", ",", 1) &&
           script_body(&f.w.script, "pods", text + 10, length - 10)) {
      assert_true(times++ < 10);
    }
    assert_int_equal(f.w.errors, round);
    assert_int_equal(f.w.last_code, KIN_EUNEXPECTED);
    assert_int_equal(staged(&f), 0);
    script_advance(&f.w.script, f.w.last_retry_in_ms);
  }
  recover(&f);
  close_world(&f);
}

/* A source of the program's own may join lists, and give an object a few times;
 * again and again is an error, inside the call. */
static void test_own_source(void **state) {
  (void)state;
  source_rig f;
  source_rig_open(&f, 0);
  for (int round = 1; round <= 2; round++) {
    hand_source_expect(&f.source, "L:0/500");
    kin_object *object = hand_source_object("a@1");
    int err = 0;
    for (int i = 0; i < 1026; i++) {
      assert_int_equal(kin_feed_item(f.source.feed, object), 0);
    }
    err = kin_feed_item(f.source.feed, object);
    kin_object_unref(object);
    assert_int_equal(err, KIN_ECLOSED);
    hand_source_expect(&f.source, "x");
    f.source.is_open = false;
    script_run(&f.vh.script);
    assert_int_equal(f.errors, round);
    assert_int_equal(f.error.code, KIN_EUNEXPECTED);
    script_advance(&f.vh.script, 4000);
  }
  /* The sample is number 1,024; its key may come twice more. */
  for (int i = 0; i < 1024 + 3 * 200 - 1; i++) {
    char text[32];
    snprintf(text, sizeof text, "k%d@1", i % 200);
    hand_source_item(&f.source, text);
  }
  hand_source_list_end(&f.source, "5", "");
  assert_int_equal(f.errors, 2);
  assert_int_equal(kin_store_count(kin_informer_store(f.informer)), 200);
  source_rig_close(&f);
}

/* --- Bodies that trickle -------------------------------------------------- */

/* A byte every `gap_ms`, until the list is given up; returns for how long. */
static uint64_t trickle(world *f, uint64_t gap_ms) {
  int errors = f->w.errors;
  uint64_t begin_ns = f->w.script.now_ns;
  assert_true(script_head(&f->w.script, "pods", 200));
  assert_true(script_body(&f->w.script, "pods", "{", 1));
  while (f->w.errors == errors) {
    uint64_t passed_ms = (f->w.script.now_ns - begin_ns) / 1000000u;
    assert_true(passed_ms < 24 * 60 * MINUTE_MS);
    script_advance(&f->w.script, gap_ms);
    (void)script_body(&f->w.script, "pods", " ", 1);
  }
  assert_int_equal(f->w.last_code, KIN_ETIMEDOUT);
  assert_int_equal(f->w.last_class, KIN_CLASS_PROTOCOL);
  assert_string_equal(f->w.last_message,
                      "list of pods: less than 10 KiB have come in 10 minutes");
  assert_int_equal(script_open_requests(&f->w.script), 0);
  return (f->w.script.now_ns - begin_ns) / 1000000u;
}

static void test_trickling_list(void **state) {
  (void)state;
  world f;
  open_world(&f);
  for (int round = 1; round <= 2; round++) {
    assert_int_equal(trickle(&f, 1000), 10 * MINUTE_MS);
    assert_int_equal(f.warnings, round);
    assert_string_equal(
        f.last, "pods: a list is not complete after 60000 ms, 0 objects so "
                "far");
    assert_int_equal(iw_status(&f.w, "").state, KIN_STATE_SYNCING);
    script_advance(&f.w.script, f.w.last_retry_in_ms);
  }
  recover(&f);
  /* Twice in place of a list that is made again: STALE after a minute. */
  for (int round = 1; round <= 2; round++) {
    relist(&f);
    assert_int_equal(f.w.state, KIN_STATE_RECONNECTING);
    assert_int_equal(trickle(&f, 1000), 10 * MINUTE_MS);
    assert_int_equal(f.warnings, 2 + round);
    assert_int_equal(f.w.state, KIN_STATE_STALE);
    recover(&f);
  }
  close_world(&f);
}

/* A list that the owner asked for has no failure before it; it is STALE all the
 * same, and told while it comes, until it is applied. */
static void test_late_list_is_stale(void **state) {
  (void)state;
  world f;
  open_world(&f);
  mini_serve(&f.w.server);
  for (int round = 1; round <= 2; round++) {
    assert_int_equal(f.w.state, KIN_STATE_LIVE);
    kin__feed_relist(&kin__scopes_only(&f.w.informer->scopes)->feed);
    script_run(&f.w.script);
    for (int page = 0; page < 7; page++) {
      script_advance(&f.w.script, 9999);
      char token[2] = {(char)('a' + page), '\0'};
      script_respond(&f.w.script, "pods", 200, page_of(0, 0, token));
      assert_int_equal(f.w.errors, 0);
      bool is_late = page == 6;
      assert_int_equal(f.w.state,
                       is_late ? KIN_STATE_STALE : KIN_STATE_RECONNECTING);
      assert_int_equal(f.warnings, round - 1 + is_late);
    }
    int states = f.w.states;
    script_respond(&f.w.script, "pods", 200, page_of(0, 0, "and more"));
    assert_int_equal(f.w.states, states);
    recover(&f);
  }
  close_world(&f);
}

/* Seventeen bytes a second are a slow server's, not an endless one's. */
static void test_slow_list(void **state) {
  (void)state;
  world f;
  open_world(&f);
  const char *text = page_of(0, 60, "");
  size_t length = strlen(text);
  assert_true(script_head(&f.w.script, "pods", 200));
  for (size_t at = 0; at < length; at += 18) {
    script_advance(&f.w.script, 1000);
    size_t left = length - at;
    assert_true(
        script_body(&f.w.script, "pods", text + at, left < 18 ? left : 18));
  }
  assert_true(f.w.script.now_ns > UINT64_C(3600000000000));
  script_end(&f.w.script, "pods");
  assert_int_equal(f.w.errors, 0);
  assert_int_equal(kin_store_count(kin_informer_store(f.w.informer)), 60);
  close_world(&f);
}

/* response_timeout_ms decides how long nothing may come, and a process that was
 * stopped is not the server's fault: a long time counts as five seconds. */
static void test_long_gaps(void **state) {
  (void)state;
  world f;
  open_world(&f);
  assert_int_equal(trickle(&f, 25000), 120 * 25000);
  script_advance(&f.w.script, f.w.last_retry_in_ms);
  assert_true(script_head(&f.w.script, "pods", 200));
  assert_true(script_body(&f.w.script, "pods", "{", 1));
  script_advance(&f.w.script, 60 * MINUTE_MS);
  const char *rest = "\"items\":[],\"metadata\":{\"resourceVersion\":\"200\"}}";
  assert_true(script_body(&f.w.script, "pods", rest, strlen(rest)));
  script_end(&f.w.script, "pods");
  assert_int_equal(f.w.errors, 1);
  assert_true(kin_informer_has_synced(f.w.informer));
  close_world(&f);
}

/* A check of the position that trickles does not stay LIVE, nor for ever. */
static void test_trickling_check(void **state) {
  (void)state;
  world f;
  open_world(&f);
  mini_serve(&f.w.server);
  for (int round = 1; round <= 2; round++) {
    assert_int_equal(f.w.state, KIN_STATE_LIVE);
    mini_pass(&f.w.server, 2000);
    mini_end_watches(&f.w.server); /* silent: the position is verified */
    assert_non_null(script_find(&f.w.script, "limit=1&"));
    for (int times = 1; times <= 2; times++) {
      assert_int_equal(trickle(&f, 1000), 10 * MINUTE_MS);
      assert_int_equal(f.w.state, KIN_STATE_STALE);
      script_advance(&f.w.script, f.w.last_retry_in_ms);
      assert_non_null(script_find(&f.w.script, "limit=1&"));
    }
    assert_int_equal(f.warnings, 2 * round);
    recover(&f);
  }
  close_world(&f);
}

/* --- Sweeps --------------------------------------------------------------- */

static int close_at;
static int calls_so_far;

static void close_when_due(kin_informer *informer, iw_world *w) {
  if (calls_so_far++ == close_at) {
    assert_int_equal(kin_informer_close(informer, iw_on_closed, w), 0);
  }
}

static void close_on_error(kin_informer *informer, kin_error_event *event,
                           void *data) {
  iw_on_error(informer, event, data);
  close_when_due(informer, data);
}

static void close_on_state(kin_informer *informer, const char *namespace_,
                           kin_state from, kin_state to, void *data) {
  iw_on_state(informer, namespace_, from, to, data);
  close_when_due(informer, data);
}

/* A circle, and a body that trickles, in place of a list that is made again.
 * `fail_at`: of the allocations from the circle's end on. */
static bool run_story(size_t fail_at, size_t split) {
  world f;
  init_world(&f, 0);
  mini_put_first(&f.w.server, 6);
  kin_informer_options options = iw_options(&f.w);
  options.on_error = close_on_error;
  options.on_state = close_on_state;
  assert_int_equal(iw_open(&f.w, &options), 0);
  mini_serve(&f.w.server);
  if (f.w.closed == 0) {
    mini_compact(&f.w.server);
    script_expire(&f.w.script, "pods");
    script_advance(&f.w.script, 3000);
  }
  f.w.script.split = split;
  for (unsigned page = 0; page < 4 && f.w.closed == 0; page++) {
    script_respond(&f.w.script, "pods", 200,
                   page_of(0, 256, page % 2 ? "a" : "b"));
  }
  atomic_store(&f.w.memory.calls, 0);
  f.w.memory.fail_at = fail_at;
  if (f.w.closed == 0 && script_find(&f.w.script, "continue") != NULL) {
    for (int i = 0; i < 3 && script_find(&f.w.script, "continue"); i++) {
      char token[8];
      snprintf(token, sizeof token, "c%d", i);
      script_respond(&f.w.script, "continue", 200, page_of(255, 1, token));
    }
  }
  script_advance(&f.w.script, 40000);
  if (f.w.closed == 0 && script_head(&f.w.script, "pods", 200)) {
    bool is_open = script_body(&f.w.script, "pods", "{", 1);
    for (int i = 0; i < 130 && is_open && f.w.closed == 0; i++) {
      script_advance(&f.w.script, 5000);
      is_open = script_body(&f.w.script, "pods", " ", 1);
    }
  }
  if (f.w.closed == 0) {
    mini_pass(&f.w.server, 150000);
  }
  if (f.w.closed == 0) {
    iw_assert_truth(&f.w);
    assert_true(f.w.errors >= 3);
  }
  bool has_failed = fail_alloc_has_failed(&f.w.memory);
  close_world(&f);
  return has_failed;
}

static void test_sweep_allocations(void **state) {
  (void)state;
  close_at = -1;
  size_t n = 1;
  while (run_story(n, 0)) {
    n++;
  }
  assert_true(n > 20);
}

static void test_sweep_closes(void **state) {
  (void)state;
  for (close_at = 0;; close_at++) {
    calls_so_far = 0;
    (void)run_story(0, 0);
    if (calls_so_far <= close_at) {
      assert_true(close_at > 6);
      break;
    }
  }
}

static void test_sweep_splits(void **state) {
  (void)state;
  close_at = -1;
  for (size_t split = 1; split < 3000;
       split = split < 8 ? split + 1 : split * 2 + 1) {
    (void)run_story(0, split);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_tokens_in_turns),
      cmocka_unit_test(test_new_tokens),
      cmocka_unit_test(test_some_new),
      cmocka_unit_test(test_empty_pages),
      cmocka_unit_test(test_few_objects),
      cmocka_unit_test(test_long_list),
      cmocka_unit_test(test_endless_body),
      cmocka_unit_test(test_own_source),
      cmocka_unit_test(test_trickling_list),
      cmocka_unit_test(test_late_list_is_stale),
      cmocka_unit_test(test_slow_list),
      cmocka_unit_test(test_long_gaps),
      cmocka_unit_test(test_trickling_check),
      cmocka_unit_test(test_sweep_allocations),
      cmocka_unit_test(test_sweep_closes),
      cmocka_unit_test(test_sweep_splits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
