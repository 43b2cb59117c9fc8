/* SPDX-License-Identifier: MIT */

/* What a program puts into its requests: parameters and a modifier, for every
 * kind of request. Proves LW-02, LW-05, RQ-04, FA-05 (tweaks), TD-03. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"
#include "feed/settings.h"
#include "support/hand_source.h"
#include "support/informer_world.h"
#include "support/reflector_rig.h"
#include "support/retry_world.h"

/* --- A modifier that notes what it is asked ------------------------------- */

typedef struct tweak {
  char log[8192];
  int calls;
  int fail_at;       /* this call fails, 0: none */
  int result;        /* so */
  bool is_ignored;   /* it also changes what it may not */
  const char *label; /* sets these, unless NULL and 0 */
  uint32_t limit;
  uint32_t timeout_s;
  bool has_no_timeout;     /* sets timeout_s to 0 */
  kin_parameter parameter; /* sets it alone, unless its name is NULL */
} tweak;

static const char *kind_of(const kin_request_options *options) {
  if (options->is_watch) {
    return options->send_initial_events ? "stream" : "watch";
  }
  if (options->continue_token[0] != '\0') {
    return "page";
  }
  return options->limit == 1 ? "verify" : "list";
}

static int on_modify(kin_request_options *options, void *data) {
  tweak *t = data;
  size_t length = strlen(t->log);
  snprintf(t->log + length, sizeof t->log - length, "%s ", kind_of(options));
  t->calls++;
  if (t->calls == t->fail_at) {
    return t->result;
  }
  if (t->label != NULL) {
    options->label_selector = t->label;
  }
  if (t->limit > 0) {
    options->limit = t->limit;
  }
  if (t->timeout_s > 0 || t->has_no_timeout) {
    options->timeout_s = t->timeout_s;
  }
  if (t->parameter.name != NULL) {
    options->parameters = &t->parameter;
    options->parameter_count = 1;
  }
  if (t->is_ignored) {
    options->is_watch = !options->is_watch;
    options->send_initial_events = false;
    options->namespace_ = "elsewhere";
    options->resource_version = "1234567";
    options->resource_version_match = "Exact";
    options->continue_token = "nonsense";
    options->label_selector = NULL;
    options->field_selector = NULL;
  }
  return 0;
}

static bool is_in(const iw_world *w, const char *part) {
  return strstr(w->script.last_target, part) != NULL;
}

static void assert_asks(const iw_world *w, const char *part) {
  if (!is_in(w, part)) {
    fail_msg("%s is not in %s", part, w->script.last_target);
  }
}

/* --- Parameters ----------------------------------------------------------- */

/* Everything that is asked has them: the list, its next page, the watch, and
 * the question whether a version is still there. RQ-04, LW-05. */
static void test_parameters_everywhere(void **state) {
  (void)state;
  static const char pair[] = "&tenant=a%20%26b&tenant=c&";
  iw_world w;
  iw_init(&w, 0);
  mini_put_first(&w.server, 4);
  char value[8] = "a &b";
  kin_parameter parameters[] = {{"tenant", value}, {"tenant", "c"}};
  kin_informer_options options = iw_options(&w);
  options.page_size = 3;
  options.parameters = parameters;
  options.parameter_count = 2;
  w.server.honours_limit = true;
  assert_int_equal(iw_open(&w, &options), 0);
  memset(value, 'X', sizeof value);
  memset(parameters, 0, sizeof parameters);
  assert_asks(&w, "limit=3&resourceVersion=0&tenant=a%20%26b&tenant=c");
  script_respond(&w.script, "limit=3", 200,
                 "{\"metadata\":{\"resourceVersion\":\"4\",\"continue\":"
                 "\"t\"},\"items\":[]}");
  assert_asks(&w, "?continue=t&limit=3&tenant=a%20%26b&tenant=c");
  script_respond(&w.script, "continue=t", 200,
                 "{\"metadata\":{\"resourceVersion\":\"4\"},\"items\":[]}");
  assert_asks(&w, "&resourceVersion=4&tenant=");
  assert_asks(&w, pair);
  assert_true(script_head(&w.script, "watch=true", 200));
  script_end(&w.script, "watch=true");
  script_advance(&w.script, 2000);
  assert_false(is_in(&w, "watch=true"));
  assert_asks(&w, "limit=1&");
  assert_asks(&w, "&tenant=a%20%26b&tenant=c");
  iw_finish(&w);
}

/* LW-05: a stream has them, too, and a retry watcher, and a reflector. */
static void test_parameters_of_streams_and_others(void **state) {
  (void)state;
  kin_parameter parameter = {"tenant", "t"};
  iw_world w;
  iw_init(&w, 0);
  script_use_streams(&w.script);
  kin_informer_options options = iw_options(&w);
  options.parameters = &parameter;
  options.parameter_count = 1;
  assert_int_equal(iw_open(&w, &options), 0);
  assert_asks(&w, "&sendInitialEvents=true&tenant=t&timeoutSeconds=");
  iw_finish(&w);

  tweak t = {.label = "a=b"};
  retry_world r;
  rw_init(&r, "5", 0);
  r.resource.parameters = &parameter;
  r.resource.parameter_count = 1;
  r.resource.modify = on_modify;
  r.resource.modify_data = &t;
  assert_int_equal(rw_try_open(&r), 0);
  script_run(&r.vh.script);
  assert_non_null(strstr(r.vh.script.last_target, "&tenant=t"));
  assert_non_null(strstr(r.vh.script.last_target, "labelSelector=a%3Db&"));
  assert_string_equal(t.log, "watch ");
  rw_finish(&r);
}

/* Options that a retry watcher has no use for. */
static void test_retry_watcher_refuses(void **state) {
  (void)state;
  for (int i = 0; i < 6; i++) {
    retry_world r;
    rw_init(&r, "5", 0);
    r.resource.stale_after_ms = i == 0;
    r.resource.internal_error_retry_ms = i == 1;
    r.resource.clear_when_absent = i == 2;
    r.resource.page_size = i == 3;
    if (i == 4) {
      r.resource.consistency = KIN_CONSISTENCY_MOST_RECENT;
    }
    assert_int_equal(rw_try_open(&r), i < 5 ? KIN_EINVAL : 0);
    if (i == 5) {
      script_run(&r.vh.script);
    }
    rw_finish(&r);
  }
}

/* --- The modifier --------------------------------------------------------- */

static int open_tweaked(iw_world *w, tweak *t) {
  kin_informer_options options = iw_options(w);
  options.page_size = 3;
  options.label_selector = "x=y";
  options.field_selector = "f=g";
  options.modify = on_modify;
  options.modify_data = t;
  return iw_open(w, &options);
}

/* LW-02, LW-05: it sees and changes each request, of each kind, anew. */
static void test_modifier_on_every_request(void **state) {
  (void)state;
  iw_world w;
  iw_init(&w, 0);
  tweak t = {.label = "m in (n)", .limit = 7, .parameter = {"p q", "r/s"}};
  assert_int_equal(open_tweaked(&w, &t), 0);
  assert_asks(&w, "/api/v1/pods?fieldSelector=f%3Dg&labelSelector="
                  "m%20in%20%28n%29&limit=7&p%20q=r%2Fs&resourceVersion=0");
  script_respond(&w.script, "limit=7", 200,
                 "{\"metadata\":{\"resourceVersion\":\"4\",\"continue\":"
                 "\"t\"},\"items\":[]}");
  assert_asks(&w, "continue=t&fieldSelector=f%3Dg&labelSelector="
                  "m%20in%20%28n%29&limit=7&p%20q=r%2Fs");
  script_respond(&w.script, "continue=t", 200,
                 "{\"metadata\":{\"resourceVersion\":\"4\"},\"items\":[]}");
  assert_asks(&w, "&labelSelector=m%20in%20%28n%29&p%20q=r%2Fs&");
  assert_asks(&w, "&watch=true");
  assert_false(is_in(&w, "limit="));
  assert_true(script_head(&w.script, "watch=true", 200));
  script_end(&w.script, "watch=true");
  script_advance(&w.script, 2000);
  assert_asks(&w, "labelSelector=m%20in%20%28n%29&limit=7&");
  assert_string_equal(t.log, "list page watch verify ");
  assert_int_equal(w.script.request_count, t.calls);
  iw_finish(&w);
}

/* LW-02: a timeout can be made shorter, or given to a list, but a watch's not
 * made longer than it is waited for. */
static void test_modified_timeouts(void **state) {
  (void)state;
  static const char frame[] =
      "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{"
      "\"resourceVersion\":\"5\"}}}\n";
  iw_world w;
  iw_init(&w, 0);
  tweak t = {.timeout_s = 17};
  assert_int_equal(open_tweaked(&w, &t), 0);
  assert_asks(&w, "&timeoutSeconds=17");
  t.timeout_s = 100000;
  script_respond(&w.script, "limit=3", 200,
                 "{\"metadata\":{\"resourceVersion\":\"4\"},\"items\":[]}");
  assert_asks(&w, "&watch=true");
  assert_false(is_in(&w, "100000"));
  t.timeout_s = 18;
  assert_true(script_head(&w.script, "watch=true", 200));
  script_body(&w.script, "watch=true", frame, sizeof frame - 1);
  script_end(&w.script, "watch=true");
  script_advance(&w.script, 2000);
  assert_asks(&w, "&timeoutSeconds=18&watch=true");
  iw_finish(&w);
}

/* LW-02: the timeout of a watch cannot be taken away, nor be 0. */
static void test_watch_keeps_its_timeout(void **state) {
  (void)state;
  iw_world w;
  iw_init(&w, 0);
  tweak t = {.has_no_timeout = true};
  assert_int_equal(open_tweaked(&w, &t), 0);
  script_respond(&w.script, "limit=3", 200,
                 "{\"metadata\":{\"resourceVersion\":\"4\"},\"items\":[]}");
  assert_asks(&w, "&watch=true");
  assert_asks(&w, "&timeoutSeconds=");
  assert_false(is_in(&w, "timeoutSeconds=0"));
  assert_string_equal(t.log, "list watch ");
  iw_finish(&w);
}

/* What would ask another question than the one that is answered is left
 * alone. */
static void test_modifier_breaks_nothing(void **state) {
  (void)state;
  iw_world w;
  iw_init(&w, 0);
  mini_put_first(&w.server, 5);
  w.server.honours_limit = true;
  tweak t = {.is_ignored = true};
  assert_int_equal(open_tweaked(&w, &t), 0);
  assert_asks(&w, "/api/v1/pods?limit=3&resourceVersion=0");
  mini_serve(&w.server);
  mini_put(&w.server, 1);
  mini_serve(&w.server);
  iw_assert_truth(&w);
  assert_int_equal(w.errors, 0);
  assert_string_equal(t.log, "list page watch ");
  iw_finish(&w);
}

/* Any of its calls may fail, whatever with: it is told, and asked again after
 * the backoff. */
static void test_failing_modifier(void **state) {
  (void)state;
  static const int results[] = {KIN_ENOMEM, KIN_ETIMEDOUT, KIN_EGONE, 1};
  for (size_t r = 0; r < sizeof results / sizeof results[0]; r++) {
    for (int n = 1; n <= 5; n++) {
      iw_world w;
      iw_init(&w, 0);
      mini_put_first(&w.server, 5);
      w.server.honours_limit = true;
      tweak t = {.fail_at = n, .result = results[r]};
      assert_int_equal(open_tweaked(&w, &t), 0);
      mini_serve(&w.server);
      mini_end_watches(&w.server);
      mini_pass(&w.server, 3000);
      mini_put(&w.server, 6);
      mini_end_watches(&w.server);
      mini_pass(&w.server, 100000);
      assert_true(t.calls > n);
      assert_int_equal(w.errors, 1);
      iw_assert_truth(&w);
      iw_finish(&w);
    }
  }
}

/* What it sets has the limits of the options. */
static void test_invalid_modifications(void **state) {
  (void)state;
  static char long_text[(64u << 10) + 2];
  memset(long_text, 'a', sizeof long_text - 1);
  const tweak cases[] = {{.label = long_text},
                         {.parameter = {"watch", "true"}},
                         {.parameter = {"", "true"}},
                         {.parameter = {"x", long_text}}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    iw_world w;
    iw_init(&w, 0);
    tweak t = cases[i];
    assert_int_equal(open_tweaked(&w, &t), 0);
    script_run(&w.script);
    assert_int_equal(w.script.request_count, 0);
    assert_int_equal(w.errors, 1);
    t.label = "fine";
    t.parameter.name = NULL;
    mini_pass(&w.server, 3000);
    assert_true(kin_informer_has_synced(w.informer));
    iw_finish(&w);
  }
}

/* --- Sources of the program's own ----------------------------------------- */

static kin_feed_request seen;
static char seen_text[256];

static int open_and_note(void *ctx, const kin_feed_request *request,
                         kin_feed *feed, void **out) {
  (void)ctx;
  (void)feed;
  seen = *request;
  snprintf(seen_text, sizeof seen_text, "%s|%s|", request->label_selector,
           request->field_selector);
  for (size_t i = 0; i < request->parameter_count; i++) {
    size_t length = strlen(seen_text);
    snprintf(seen_text + length, sizeof seen_text - length, "%s=%s;",
             request->parameters[i].name, request->parameters[i].value);
  }
  *out = &seen;
  return 0;
}

static void cancel_noted(void *ctx, void *answer) {
  (void)ctx;
  (void)answer;
}

/* A source gets parameters and selectors as they are, in the given order, or as
 * the modifier has made them. */
static void test_own_source(void **state) {
  (void)state;
  kin_lister_watcher source = KIN_LISTER_WATCHER_INIT;
  source.open = open_and_note;
  source.cancel = cancel_noted;
  const kin_parameter parameters[] = {{"z", "1 2"}, {"a", NULL}};
  for (int is_modified = 0; is_modified < 2; is_modified++) {
    iw_world w;
    iw_init(&w, 0);
    tweak t = {.label = "m=n", .limit = 2, .parameter = {"only", "this"}};
    kin_informer_options options = iw_options(&w);
    options.source = &source;
    options.label_selector = "k in (v)";
    options.parameters = parameters;
    options.parameter_count = 2;
    options.modify = is_modified ? on_modify : NULL;
    options.modify_data = &t;
    assert_int_equal(iw_open(&w, &options), 0);
    script_run(&w.script);
    assert_string_equal(seen_text, is_modified ? "m=n||only=this;"
                                               : "k in (v)||z=1 2;a=;");
    assert_int_equal(seen.limit, is_modified ? 2 : 500);
    iw_finish(&w);
  }
}

/* --- Options -------------------------------------------------------------- */

typedef void (*spoil_fn)(kin_informer_options *options);

static void no_parameters(kin_informer_options *options) {
  options->parameter_count = 1;
}
static void own_name(kin_informer_options *options) {
  static const kin_parameter limit = {"limit", "1"};
  options->parameters = &limit;
  options->parameter_count = 1;
}
static void too_stale(kin_informer_options *options) {
  options->stale_after_ms = 3600001;
}
static void too_long_retry(kin_informer_options *options) {
  options->internal_error_retry_ms = 86400001;
}
static void unknown_consistency(kin_informer_options *options) {
  options->consistency = (kin_consistency)3;
}
static void least_of_nothing(kin_informer_options *options) {
  options->consistency = KIN_CONSISTENCY_AT_LEAST;
}
static void least_of_empty(kin_informer_options *options) {
  options->consistency = KIN_CONSISTENCY_AT_LEAST;
  options->start_version = "";
}
static void least_of_zero(kin_informer_options *options) {
  options->consistency = KIN_CONSISTENCY_AT_LEAST;
  options->start_version = "0";
}
static void least_of_too_long(kin_informer_options *options) {
  options->consistency = KIN_CONSISTENCY_AT_LEAST;
  options->start_version = "1234567890123456789012345678901234567890"
                           "123456789012345678901234";
}
static void any_of_a_version(kin_informer_options *options) {
  options->start_version = "5";
}
static void newest_of_a_version(kin_informer_options *options) {
  options->consistency = KIN_CONSISTENCY_MOST_RECENT;
  options->start_version = "5";
}

static void test_refused_options(void **state) {
  (void)state;
  static const spoil_fn spoils[] = {
      no_parameters,       own_name,         too_stale,          too_long_retry,
      unknown_consistency, least_of_nothing, least_of_empty,     least_of_zero,
      least_of_too_long,   any_of_a_version, newest_of_a_version};
  for (size_t i = 0; i < sizeof spoils / sizeof spoils[0]; i++) {
    iw_world w;
    iw_init(&w, 0);
    kin_informer_options options = iw_options(&w);
    spoils[i](&options);
    assert_int_equal(kin__informer_open(&w.informer, &w.script.env, &options),
                     KIN_EINVAL);
    assert_null(w.informer);
    iw_finish(&w);
  }
}

/* At their limits they are fine, and copied. */
static void test_copied_options(void **state) {
  (void)state;
  fail_alloc memory;
  for (size_t n = 1;; n++) {
    fail_alloc_init(&memory, n);
    char version[] = "12345678901234567890123456789012345678901234567890"
                     "1234567890123";
    char name[] = "name";
    kin_parameter parameters[] = {{name, "v"}, {"w", NULL}};
    kin_informer_options options = KIN_INFORMER_OPTIONS_INIT;
    options.plural = "pods";
    options.parameters = parameters;
    options.parameter_count = 2;
    options.consistency = KIN_CONSISTENCY_AT_LEAST;
    options.start_version = version;
    options.stale_after_ms = 3600000;
    options.internal_error_retry_ms = 86400000;
    kin__settings settings;
    kin_informer_options given;
    int err = kin__settings_init(&settings, &memory.allocator, NULL, &options,
                                 KIN__SETTINGS_REFLECTOR, &given);
    bool has_failed = fail_alloc_has_failed(&memory);
    assert_int_equal(err, has_failed ? KIN_ENOMEM : 0);
    if (err == 0) {
      name[0] = version[0] = '-';
      memset(parameters, 0, sizeof parameters);
      assert_int_equal(settings.resource.parameter_count, 2);
      assert_string_equal(settings.resource.parameters[0].name, "name");
      assert_string_equal(settings.resource.parameters[0].value, "v");
      assert_string_equal(settings.resource.parameters[1].name, "w");
      assert_string_equal(settings.resource.parameters[1].value, "");
      assert_int_equal(strlen(settings.start_version), 63);
      assert_int_equal(settings.start_version[0], '1');
      kin__settings_finish(&settings, &memory.allocator);
      assert_int_equal(kin__settings_init(&settings, &memory.allocator, NULL,
                                          &options, KIN__SETTINGS_WATCHER,
                                          &given),
                       KIN_EINVAL);
    }
    assert_int_equal(atomic_load(&memory.live_blocks), 0);
    if (!has_failed) {
      assert_true(n > 1);
      break;
    }
  }
}

/* --- Sweep ---------------------------------------------------------------- */

/* Any one allocation may fail. */
static bool run_without_memory(size_t n) {
  static const kin_parameter parameter = {"a long enough name", "and a value"};
  iw_world w;
  iw_init(&w, n);
  mini_put_first(&w.server, 5);
  w.server.honours_limit = true;
  tweak t = {.label = "a label selector that takes some room"};
  kin_informer_options options = iw_options(&w);
  options.page_size = 2;
  options.parameters = &parameter;
  options.parameter_count = 1;
  options.modify = on_modify;
  options.modify_data = &t;
  int err = iw_open(&w, &options);
  if (err == 0) {
    mini_serve(&w.server);
    mini_put(&w.server, 7);
    mini_pass(&w.server, 100000);
    iw_assert_truth(&w);
  } else {
    assert_int_equal(err, KIN_ENOMEM);
  }
  bool has_failed = fail_alloc_has_failed(&w.memory);
  iw_finish(&w);
  return has_failed;
}

static void test_sweep_allocations(void **state) {
  (void)state;
  fail_alloc_sweep(run_without_memory, 20);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_parameters_everywhere),
      cmocka_unit_test(test_parameters_of_streams_and_others),
      cmocka_unit_test(test_retry_watcher_refuses),
      cmocka_unit_test(test_modifier_on_every_request),
      cmocka_unit_test(test_modified_timeouts),
      cmocka_unit_test(test_watch_keeps_its_timeout),
      cmocka_unit_test(test_modifier_breaks_nothing),
      cmocka_unit_test(test_failing_modifier),
      cmocka_unit_test(test_invalid_modifications),
      cmocka_unit_test(test_own_source),
      cmocka_unit_test(test_refused_options),
      cmocka_unit_test(test_copied_options),
      cmocka_unit_test(test_sweep_allocations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
