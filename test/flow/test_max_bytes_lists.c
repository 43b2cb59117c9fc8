/* SPDX-License-Identifier: MIT */

/* Lists under max_bytes. Two lists of one informer that do not fit together,
 * though each alone does: the program is asked, however the bytes of the two
 * come. A list that comes as a watch: only its last states count. Lists that
 * are staged when the program decides. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/informer_world.h"

enum { PADDING = 1000, EACH = 6, MAX_BYTES = 10000, MAX_ROUNDS = 20 };

static iw_world w;

/* As one step of a connection: no task of the library runs after it. */
static void feed(const char *part, const char *bytes) {
  script_request *request = script_find(&w.script, part);
  if (request == NULL) {
    return; /* the list was given up */
  }
  if (!request->has_head) {
    kin__response_head head = {.status = 200,
                               .content_type = {"application/json", 16},
                               .retry_after_s = -1,
                               .is_identity = true,
                               .connection = 1};
    request->has_head = true;
    request->callbacks->on_head(request->ctx, &head);
  }
  request->callbacks->on_body(request->ctx, bytes, strlen(bytes));
}

static void feed_item(const char *namespace_, int i) {
  char text[PADDING + 400];
  char part[64];
  int length = snprintf(part, sizeof part, "/namespaces/%s/", namespace_);
  assert_true(length > 0 && (size_t)length < sizeof part);
  length = snprintf(
      text, sizeof text,
      "%s{\"metadata\":{\"name\":\"p%d\",\"namespace\":\"%s\",\"uid\":\"u%s%d\""
      ",\"resourceVersion\":\"%d\"},\"x\":\"%*s\"}",
      i == 0 ? "{\"kind\":\"PodList\",\"items\":[" : ",", i, namespace_,
      namespace_, i, i + 10, PADDING, "");
  assert_true(length > 0 && (size_t)length < sizeof text);
  feed(part, text);
}

static bool are_listing(void) {
  return script_find(&w.script, "/namespaces/even/") != NULL &&
         script_find(&w.script, "/namespaces/odd/") != NULL;
}

/* Both lists, object by object, with the library's tasks between them or not.
 * Returns how often both lists were begun. */
static int list_until_asked(bool has_turns_between) {
  int rounds = 0;
  while (w.asked == 0 && rounds < MAX_ROUNDS && are_listing()) {
    rounds++;
    for (int i = 0; i < EACH; i++) {
      feed_item("even", i);
      if (has_turns_between) {
        script_run(&w.script);
      }
      feed_item("odd", i);
      if (has_turns_between) {
        script_run(&w.script);
      }
    }
    script_run(&w.script);
    script_advance(&w.script, 1);
  }
  return rounds;
}

static void check(bool has_turns_between) {
  iw_init(&w, 0);
  w.server.withholds = "limit";
  kin_informer_options options = iw_even_and_odd(&w);
  options.max_bytes = MAX_BYTES;
  options.on_max_bytes = iw_on_max_bytes;
  options.no_watch_list = true;
  assert_int_equal(iw_open(&w, &options), 0);
  script_run(&w.script);
  assert_int_equal(list_until_asked(has_turns_between), 1);
  assert_int_equal(w.asked, 1);
  assert_true(w.question.needed_bytes >
              (uint64_t)EACH * PADDING); /* more than one list */

  /* With room for both, both are listed again. Then the bound is as before. */
  assert_int_equal(kin_informer_set_max_bytes(w.informer, 4 * MAX_BYTES), 0);
  script_run(&w.script);
  script_advance(&w.script, 1);
  assert_true(are_listing());
  w.asked = 0;
  assert_int_equal(kin_informer_set_max_bytes(w.informer, MAX_BYTES), 0);
  assert_int_equal(list_until_asked(has_turns_between), 1);
  assert_int_equal(w.asked, 1);
  iw_finish(&w);
}

static void test_in_different_turns(void **state) {
  (void)state;
  check(true);
}

/* Both are refused before the program can be asked. */
static void test_in_the_same_turn(void **state) {
  (void)state;
  check(false);
}

/* --- Lists and what the program decides ----------------------------------- */

static size_t bodies(void) {
  size_t count = 0;
  kin_cursor cursor = {0};
  const kin_object *object;
  kin_store *store = kin_informer_store(w.informer);
  while ((object = kin_store_next(store, &cursor)) != NULL) {
    count += !kin_object_is_key_only(object);
  }
  return count;
}

static void put(int object) {
  w.server.padding[object] = PADDING;
  mini_put(&w.server, object);
}

/* Namespaces of six objects each, in pages of two. */
static void open_paged(uint64_t max_bytes) {
  iw_init(&w, 0);
  w.decision = KIN_MEMORY_DROP_BODIES;
  w.server.honours_limit = true;
  for (int i = 0; i < 2 * EACH; i++) {
    put(i);
  }
  kin_informer_options options = iw_even_and_odd(&w);
  options.max_bytes = max_bytes;
  options.on_max_bytes = iw_on_max_bytes;
  options.no_watch_list = true;
  options.page_size = 2;
  assert_int_equal(iw_open(&w, &options), 0);
  mini_pass(&w.server, 5000);
  assert_true(kin_informer_has_synced(w.informer));
  assert_int_equal(bodies(), 2 * EACH);
}

/* Bodies are dropped while a list has arrived in part: what was staged before
 * is stored without its body, too, and no listener hears of a change. `is_new`:
 * the namespace is new. */
static void drop_while_listing(bool is_new) {
  open_paged(12 * 1300);
  w.server.withholds = "/odd/pods?continue=";
  if (is_new) {
    iw_drop_odd(&w);
    mini_pass(&w.server, 1000);
    iw_add_odd(&w);
  } else {
    mini_expire_watches(&w.server);
  }
  (void)mini_await(&w.server);
  int updates = w.rec.updates;
  for (int i = 2 * EACH; w.asked == 0; i += 2) {
    put(i);
    mini_pass(&w.server, 1000);
  }
  mini_pass(&w.server, 5000);
  w.server.withholds = NULL;
  mini_pass(&w.server, 60000);
  assert_int_equal(w.asked, 1);
  assert_int_equal(bodies(), 0);
  assert_int_equal(w.rec.updates, updates);
  iw_assert_truth(&w);
  /* From then on there are no bodies, either. */
  put(1);
  mini_pass(&w.server, 5000);
  assert_int_equal(bodies(), 0);
  iw_assert_truth(&w);
  iw_finish(&w);
}

static void test_bodies_are_dropped_in_a_relist(void **state) {
  (void)state;
  drop_while_listing(false);
}

static void test_bodies_are_dropped_in_a_first_list(void **state) {
  (void)state;
  drop_while_listing(true);
}

static char order[64];

static void wait_a_minute(kin_informer *informer, kin_error_event *event,
                          void *data) {
  iw_on_error(informer, event, data);
  strcat(order, "error ");
  event->answer = KIN_RETRY_AFTER;
  event->retry_after_ms = 60000;
}

static kin_memory_decision set_more(kin_informer *informer,
                                    const kin_memory_event *event, void *data) {
  (void)event;
  (void)data;
  strcat(order, "bound ");
  assert_int_equal(
      kin_informer_set_max_bytes(informer, (strlen(order) + 1) * MAX_BYTES), 0);
  return KIN_MEMORY_PAUSE;
}

/* The program hears of the failure first. So what it then decides counts, and a
 * greater bound goes on at once. */
static void test_a_greater_bound_goes_on_at_once(void **state) {
  (void)state;
  order[0] = '\0';
  iw_init(&w, 0);
  for (int i = 0; i < MINI_OBJECTS; i++) {
    put(i);
  }
  kin_informer_options options = iw_options(&w);
  options.max_bytes = 5 * PADDING;
  options.on_error = wait_a_minute;
  options.on_max_bytes = set_more;
  assert_int_equal(iw_open(&w, &options), 0);
  mini_pass(&w.server, 1000);
  assert_string_equal(order, "error bound ");
  iw_assert_truth(&w);
  assert_int_equal(kin_informer_set_max_bytes(w.informer, 5 * PADDING), 0);
  w.server.padding[0] = 2 * PADDING; /* and again, with an event */
  mini_put(&w.server, 0);
  mini_pass(&w.server, 1000);
  assert_string_equal(order, "error bound error bound ");
  iw_assert_truth(&w);
  iw_finish(&w);
}

static void send_event(const char *type, const char *object) {
  char frame[PADDING + 500];
  int length = snprintf(frame, sizeof frame,
                        "{\"type\":\"%s\",\"object\":%s}\n", type, object);
  assert_true(length > 0 && (size_t)length < sizeof frame);
  script_body(&w.script, "sendInitialEvents", frame, (size_t)length);
}

static void send_state(const char *type, const char *name, int version) {
  char object[PADDING + 300];
  int length =
      snprintf(object, sizeof object,
               "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"ns\","
               "\"uid\":\"u-%s\",\"resourceVersion\":\"%d\"},\"x\":\"%*s\"}",
               name, name, version, PADDING, "");
  assert_true(length > 0 && (size_t)length < sizeof object);
  send_event(type, object);
}

/* WL-03: states that are replaced while a list comes as a watch, and
 * deleted ones, need no room. */
static void test_replaced_states_of_a_stream(void **state) {
  (void)state;
  iw_init(&w, 0);
  script_use_streams(&w.script);
  kin_informer_options options = iw_options(&w);
  options.max_bytes = MAX_BYTES;
  options.on_max_bytes = iw_on_max_bytes;
  assert_int_equal(iw_open(&w, &options), 0);
  script_head(&w.script, "sendInitialEvents", 200);
  send_state("ADDED", "a", 1);
  send_state("ADDED", "b", 2);
  for (int i = 3; i < 90; i += 3) {
    send_state("MODIFIED", "a", i);
    send_state("ADDED", "c", i + 1);
    send_state("DELETED", "c", i + 2);
  }
  send_event("BOOKMARK",
             "{\"metadata\":{\"resourceVersion\":\"100\",\"annotations\":{"
             "\"k8s.io/initial-events-end\":\"true\"}}}");
  assert_int_equal(w.asked, 0);
  assert_true(kin_informer_has_synced(w.informer));
  assert_int_equal(kin_store_count(kin_informer_store(w.informer)), 2);
  iw_finish(&w);
}

static size_t add_frame(char *to, const char *type, const char *name,
                        int padding) {
  return (size_t)sprintf(
      to,
      "{\"type\":\"%s\",\"object\":{\"metadata\":{\"name\":\"%s\","
      "\"namespace\":\"even\",\"uid\":\"u-%s\",\"resourceVersion\":\"9\"},"
      "\"x\":\"%*s\"}}\n",
      type, name, name, padding, "");
}

/* An event that comes with the end of a list does not fit. The list is applied
 * whatever is decided, so its bytes are not needed a second time: the pause
 * ends as soon as the event fits. */
static void test_event_behind_a_whole_list(void **state) {
  (void)state;
  static char frames[16 * PADDING];
  iw_init(&w, 0);
  w.server.serves = "/odd/";
  for (int i = 1; i < 2 * 3; i += 2) {
    put(i);
  }
  script_use_streams(&w.script);
  kin_informer_options options = iw_even_and_odd(&w);
  options.max_bytes = MAX_BYTES;
  options.on_max_bytes = iw_on_max_bytes;
  assert_int_equal(iw_open(&w, &options), 0);
  mini_pass(&w.server, 1000);
  static const char *const names[] = {"a", "b", "c", "d"};
  size_t length = 0;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    length += add_frame(frames + length, "ADDED", names[i], PADDING);
  }
  length += (size_t)sprintf(frames + length,
                            "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{"
                            "\"resourceVersion\":\"10\",\"annotations\":{"
                            "\"k8s.io/initial-events-end\":\"true\"}}}}\n");
  length += add_frame(frames + length, "ADDED", "e", 2 * PADDING);
  script_head(&w.script, "/even/", 200);
  script_body(&w.script, "/even/", frames, length);
  mini_pass(&w.server, 1000);
  assert_int_equal(w.asked, 1);
  assert_true(w.question.needed_bytes < 3 * PADDING);
  assert_int_equal(kin_store_count(kin_informer_store(w.informer)), 3 + 4);
  assert_int_equal(iw_status(&w, "even").memory_state, KIN_MEMORY_STATE_PAUSED);
  iw_drop_odd(&w);
  mini_pass(&w.server, 60000);
  assert_int_equal(iw_status(&w, "even").memory_state, KIN_MEMORY_STATE_WHOLE);
  assert_non_null(script_find(&w.script, "/even/"));
  iw_finish(&w);
}

/* --- What did not fit is not wanted any more ------------------------------ */

static bool removes_at_once;
static bool stops;

static void remove_or_stop(kin_informer *informer, kin_error_event *event,
                           void *data) {
  iw_on_error(informer, event, data);
  if (strcmp(event->namespace_, "odd") == 0) {
    event->answer = stops ? KIN_STOP : KIN_RETRY;
    if (removes_at_once) {
      removes_at_once = false;
      iw_drop_odd(&w);
    }
  }
}

/* The even namespace has two objects, which fit. The odd one has ten, which do
 * not. */
static kin_informer_options one_too_large(kin__byte_bound *clients) {
  removes_at_once = false;
  stops = false;
  iw_init(&w, 0);
  for (int i = 1; i < 20; i += 2) {
    put(i);
  }
  put(0);
  put(2);
  kin_informer_options options = iw_even_and_odd(&w);
  options.on_max_bytes = iw_on_max_bytes;
  options.on_error = remove_or_stop;
  if (clients != NULL) {
    *clients = (kin__byte_bound){.max = 8 * PADDING};
    w.script.env.object_bytes = clients;
  } else {
    options.max_bytes = 8 * PADDING;
  }
  return options;
}

static void expect_even_lives(void) {
  kin_status even = iw_status(&w, "even");
  assert_int_equal(even.memory_state, KIN_MEMORY_STATE_WHOLE);
  assert_int_equal(even.state, KIN_STATE_LIVE);
  assert_int_equal(kin_store_count(kin_informer_store(w.informer)), 2);
}

/* The pause ends with the namespace that did not fit, however many bytes it
 * needed. */
static void test_removed_while_paused(void **state) {
  (void)state;
  for (int i = 0; i < 2; i++) {
    kin__byte_bound clients;
    kin_informer_options options = one_too_large(i == 1 ? &clients : NULL);
    assert_int_equal(iw_open(&w, &options), 0);
    mini_pass(&w.server, 5000);
    assert_int_equal(w.asked, 1);
    assert_int_equal(iw_status(&w, "even").memory_state,
                     KIN_MEMORY_STATE_PAUSED);
    iw_drop_odd(&w);
    mini_pass(&w.server, 60000);
    expect_even_lives();
    assert_int_equal(w.asked, 1);
    iw_finish(&w);
  }
}

/* Then there is nothing to ask. */
static void test_removed_before_the_question(void **state) {
  (void)state;
  kin_informer_options options = one_too_large(NULL);
  removes_at_once = true;
  assert_int_equal(iw_open(&w, &options), 0);
  mini_pass(&w.server, 5000);
  expect_even_lives();
  assert_int_equal(w.asked, 0);
  iw_finish(&w);
}

static void test_stopped_before_the_question(void **state) {
  (void)state;
  kin_informer_options options = one_too_large(NULL);
  stops = true;
  assert_int_equal(iw_open(&w, &options), 0);
  mini_pass(&w.server, 60000);
  expect_even_lives();
  assert_int_equal(w.asked, 0);
  iw_finish(&w);
}

/* A namespace that fitted has nothing to do with the pause. */
static void test_another_is_removed(void **state) {
  (void)state;
  kin_informer_options options = one_too_large(NULL);
  w.server.padding[1] = 7 * PADDING;
  mini_put(&w.server, 1);
  assert_int_equal(iw_open(&w, &options), 0);
  mini_pass(&w.server, 5000);
  int lists = w.server.lists;
  assert_int_equal(kin_informer_remove_namespace(w.informer, "even"), 0);
  mini_pass(&w.server, 120000);
  assert_int_equal(w.server.lists, lists);
  assert_int_equal(w.asked, 1);
  assert_int_equal(iw_status(&w, "odd").memory_state, KIN_MEMORY_STATE_PAUSED);
  iw_finish(&w);
}

/* Another shard may fit: it is listed at once. */
static void test_shard_is_set_while_paused(void **state) {
  (void)state;
  for (int i = 0; i < 2; i++) {
    kin__byte_bound clients;
    kin_informer_options options = one_too_large(i == 1 ? &clients : NULL);
    w.server.knows_shards = true;
    assert_int_equal(iw_open(&w, &options), 0);
    mini_pass(&w.server, 5000);
    assert_int_equal(w.asked, 1);
    assert_int_equal(kin_informer_set_shard(w.informer, 0, 4), 0);
    mini_pass(&w.server, 1);
    assert_int_equal(w.asked, 1);
    assert_true(kin_informer_has_synced(w.informer));
    assert_int_equal(iw_status(&w, "odd").memory_state, KIN_MEMORY_STATE_WHOLE);
    assert_int_equal(iw_status(&w, "odd").state, KIN_STATE_LIVE);
    iw_finish(&w);
  }
}

/* The shard stays the same: the paused informer lists at once, and meets its bound
 * again. An informer that is not paused makes no request. */
static void test_same_shard_while_paused(void **state) {
  (void)state;
  kin_informer_options options = one_too_large(NULL);
  assert_int_equal(iw_open(&w, &options), 0);
  mini_pass(&w.server, 5000);
  assert_int_equal(w.asked, 1);
  assert_int_equal(kin_informer_set_shard(w.informer, 0, 1), 0);
  mini_pass(&w.server, 1);
  assert_int_equal(w.asked, 2);
  assert_int_equal(iw_status(&w, "odd").memory_state, KIN_MEMORY_STATE_PAUSED);

  assert_int_equal(kin_informer_set_max_bytes(w.informer, 0), 0);
  mini_pass(&w.server, 1);
  assert_int_equal(iw_status(&w, "odd").state, KIN_STATE_LIVE);
  unsigned requests = w.script.request_count;
  assert_int_equal(kin_informer_set_shard(w.informer, 0, 1), 0);
  mini_pass(&w.server, 5000);
  assert_int_equal(w.script.request_count, requests);
  iw_finish(&w);
}

/* --- Another list that was under way --------------------------------------- */

enum { EVENS = 4 };

/* The odd namespace's first object does not fit beside what the even one has
 * staged. Then the even list completes, or breaks. */
static void exceed_beside_a_list(kin__byte_bound *clients, bool completes) {
  iw_init(&w, 0);
  w.server.withholds = "limit";
  w.script.env.object_bytes = clients;
  kin_informer_options options = iw_even_and_odd(&w);
  options.on_max_bytes = iw_on_max_bytes;
  options.no_watch_list = true;
  assert_int_equal(iw_open(&w, &options), 0);
  script_run(&w.script);
  *clients = (kin__byte_bound){.max = MAX_BYTES};
  for (int i = 0; i < EVENS; i++) {
    feed_item("even", i);
  }
  clients->used += MAX_BYTES / 2; /* of another informer */
  feed_item("odd", 0);
  if (completes) {
    feed("/namespaces/even/", "],\"metadata\":{\"resourceVersion\":\"99\"}}");
    script_end(&w.script, "/namespaces/even/");
  } else {
    script_break(&w.script, "/namespaces/even/", KIN_EEOF, KIN_CLASS_CONNECT);
  }
  script_run(&w.script);
  assert_int_equal(w.asked, 1);
  script_advance(&w.script, 60000);
  assert_int_equal(iw_status(&w, "odd").memory_state, KIN_MEMORY_STATE_PAUSED);
}

/* The bytes of a list that is complete are not needed a second time. */
static void test_another_list_completes(void **state) {
  (void)state;
  kin__byte_bound clients = {0};
  exceed_beside_a_list(&clients, true);
  assert_true(w.question.needed_bytes < 2 * PADDING);
  assert_int_equal(kin_store_count(kin_informer_store(w.informer)), EVENS);
  clients.used -= MAX_BYTES / 2; /* the other informer has closed */
  clients.max = clients.used * 2;
  script_advance(&w.script, 60000);
  assert_int_equal(iw_status(&w, "odd").memory_state, KIN_MEMORY_STATE_WHOLE);
  assert_non_null(script_find(&w.script, "/namespaces/odd/"));
  iw_finish(&w);
}

/* A list that broke will come again, so the pause is for it, too, until its
 * namespace is removed. */
static void test_another_list_breaks(void **state) {
  (void)state;
  kin__byte_bound clients = {0};
  exceed_beside_a_list(&clients, false);
  assert_true(w.question.needed_bytes > EVENS * PADDING);
  clients.max = MAX_BYTES / 2 + 2 * PADDING * 8 / 7;
  script_advance(&w.script, 60000);
  assert_int_equal(iw_status(&w, "odd").memory_state, KIN_MEMORY_STATE_PAUSED);
  clients.max = MAX_BYTES;
  assert_int_equal(kin_informer_remove_namespace(w.informer, "even"), 0);
  script_advance(&w.script, 60000);
  assert_int_equal(iw_status(&w, "odd").memory_state, KIN_MEMORY_STATE_WHOLE);
  iw_finish(&w);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_in_different_turns),
      cmocka_unit_test(test_in_the_same_turn),
      cmocka_unit_test(test_bodies_are_dropped_in_a_relist),
      cmocka_unit_test(test_bodies_are_dropped_in_a_first_list),
      cmocka_unit_test(test_a_greater_bound_goes_on_at_once),
      cmocka_unit_test(test_replaced_states_of_a_stream),
      cmocka_unit_test(test_event_behind_a_whole_list),
      cmocka_unit_test(test_removed_while_paused),
      cmocka_unit_test(test_removed_before_the_question),
      cmocka_unit_test(test_stopped_before_the_question),
      cmocka_unit_test(test_another_is_removed),
      cmocka_unit_test(test_shard_is_set_while_paused),
      cmocka_unit_test(test_same_shard_while_paused),
      cmocka_unit_test(test_another_list_completes),
      cmocka_unit_test(test_another_list_breaks),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
