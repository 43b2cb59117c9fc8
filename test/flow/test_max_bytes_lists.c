/* SPDX-License-Identifier: MIT */

/* Lists under max_bytes. Two lists of one informer that do not fit together,
 * though each alone does: the program is asked, however the bytes of the two
 * come. A list that comes as a watch: only its last states count. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/informer_world.h"

enum { PADDING = 1000, EACH = 6, MAX_BYTES = 10000, MAX_ROUNDS = 20 };

static iw_world w;
static int asked;
static uint64_t needed_bytes;

static kin_memory_decision on_max_bytes(kin_informer *informer,
                                        const kin_memory_event *event,
                                        void *data) {
  (void)informer;
  (void)data;
  asked++;
  needed_bytes = event->needed_bytes;
  return KIN_MEMORY_PAUSE;
}

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
  while (asked == 0 && rounds < MAX_ROUNDS && are_listing()) {
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
  asked = 0;
  iw_init(&w, 0);
  w.server.withholds = "limit";
  kin_informer_options options = iw_even_and_odd(&w);
  options.max_bytes = MAX_BYTES;
  options.on_max_bytes = on_max_bytes;
  options.no_watch_list = true;
  assert_int_equal(iw_open(&w, &options), 0);
  script_run(&w.script);
  assert_int_equal(list_until_asked(has_turns_between), 1);
  assert_int_equal(asked, 1);
  assert_true(needed_bytes > (uint64_t)EACH * PADDING); /* more than one list */

  /* With room for both, both are listed again. Then the bound is as before. */
  assert_int_equal(kin_informer_set_max_bytes(w.informer, 4 * MAX_BYTES), 0);
  script_run(&w.script);
  script_advance(&w.script, 1);
  assert_true(are_listing());
  asked = 0;
  assert_int_equal(kin_informer_set_max_bytes(w.informer, MAX_BYTES), 0);
  assert_int_equal(list_until_asked(has_turns_between), 1);
  assert_int_equal(asked, 1);
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
  asked = 0;
  iw_init(&w, 0);
  script_use_streams(&w.script);
  kin_informer_options options = iw_options(&w);
  options.max_bytes = MAX_BYTES;
  options.on_max_bytes = on_max_bytes;
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
  assert_int_equal(asked, 0);
  assert_true(kin_informer_has_synced(w.informer));
  assert_int_equal(kin_store_count(kin_informer_store(w.informer)), 2);
  iw_finish(&w);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_in_different_turns),
      cmocka_unit_test(test_in_the_same_turn),
      cmocka_unit_test(test_replaced_states_of_a_stream),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
