/* SPDX-License-Identifier: MIT */

/* kin_informer_follow: an informer that is opened, listened to and started by
 * one call, or not there at all. Proves SI-01 and EH-01 for that call. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <kin/error.h>

#include "informer/informer.h"
#include "support/virtual_host.h"

typedef struct counts {
  int adds;
  int synced;
  int closed;
} counts;

static void on_add(kin_informer *informer, const kin_event *event, void *data) {
  (void)informer;
  (void)event;
  ((counts *)data)->adds++;
}

static void on_synced(kin_informer *informer, const kin_event *event,
                      void *data) {
  (void)informer;
  (void)event;
  ((counts *)data)->synced++;
}

static void on_closed(void *data) {
  ((counts *)data)->closed++;
}

static kin_informer_options informer_options(counts *c) {
  kin_informer_options options = KIN_INFORMER_OPTIONS_INIT;
  options.plural = "pods";
  options.no_watch_list = true;
  options.on_closed = on_closed;
  options.data = c;
  return options;
}

static kin_listener_options listener_options(counts *c) {
  kin_listener_options options = KIN_LISTENER_OPTIONS_INIT;
  options.on_add = on_add;
  options.on_synced = on_synced;
  options.data = c;
  return options;
}

static void test_follows(void **state) {
  (void)state;
  virtual_host vh;
  vh_init(&vh, 0);
  counts c = {0};
  kin_informer_options options = informer_options(&c);
  kin_listener_options listener = listener_options(&c);
  kin_informer *informer;
  mini_put(&vh.server, 0);
  assert_int_equal(
      kin__informer_follow(&informer, &vh.host, &options, &listener), 0);
  assert_int_equal(kin_informer_start(informer), KIN_EALREADY);
  assert_int_equal(c.adds + c.synced, 0); /* from later iterations only */
  mini_pass(&vh.server, 5000);
  assert_int_equal(c.adds, 1);
  assert_int_equal(c.synced, 1);
  mini_put(&vh.server, 1);
  mini_pass(&vh.server, 5000);
  assert_int_equal(c.adds, 2);
  vh_finish(&vh);
  assert_int_equal(c.closed, 1);
}

/* A refused listener leaves no informer behind and makes no callback. Twice. */
static void test_refused(void **state) {
  (void)state;
  virtual_host vh;
  vh_init(&vh, 0);
  counts c = {0};
  char name[257];
  memset(name, 'n', sizeof name - 1);
  name[sizeof name - 1] = '\0';
  kin_informer_options options = informer_options(&c);
  kin_listener_options listener = listener_options(&c);
  listener.name = name;
  for (int i = 0; i < 2; i++) {
    kin_informer *informer = (kin_informer *)&c;
    assert_int_equal(
        kin__informer_follow(&informer, &vh.host, &options, &listener),
        KIN_EINVAL);
    assert_null(informer);
    assert_true(kin__members_is_empty(&vh.host.members));
  }
  listener.name = NULL;
  options.plural = "Pods";
  kin_informer *informer = (kin_informer *)&c;
  assert_int_equal(
      kin__informer_follow(&informer, &vh.host, &options, &listener),
      KIN_EINVAL);
  assert_null(informer);
  options.plural = "pods";
  vh_close(&vh);
  assert_int_equal(
      kin__informer_follow(&informer, &vh.host, &options, &listener),
      KIN_ECLOSED);
  assert_null(informer);
  vh_finish(&vh);
  assert_int_equal(c.adds + c.synced + c.closed, 0);
}

/* Every allocation fails once: all of it, or nothing. */
static void test_without_memory(void **state) {
  (void)state;
  bool is_over = false;
  for (size_t n = 1; !is_over; n++) {
    virtual_host vh;
    vh_init(&vh, 0);
    counts c = {0};
    kin_informer_options options = informer_options(&c);
    kin_listener_options listener = listener_options(&c);
    size_t failures = atomic_load(&vh.memory.failures);
    vh.memory.fail_at = atomic_load(&vh.memory.calls) + n;
    kin_informer *informer;
    int err = kin__informer_follow(&informer, &vh.host, &options, &listener);
    is_over = atomic_load(&vh.memory.failures) == failures;
    vh.memory.fail_at = 0;
    if (err != 0) {
      assert_int_equal(err, KIN_ENOMEM);
      assert_null(informer);
      assert_true(kin__members_is_empty(&vh.host.members));
    } else {
      mini_pass(&vh.server, 60000);
      assert_int_equal(c.synced, 1);
    }
    vh_finish(&vh);
    assert_int_equal(c.closed, err == 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_follows),
      cmocka_unit_test(test_refused),
      cmocka_unit_test(test_without_memory),
  };
  return cmocka_run_group_tests_name("informers by one call", tests, NULL,
                                     NULL);
}
