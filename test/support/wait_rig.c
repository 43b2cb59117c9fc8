/* SPDX-License-Identifier: MIT */
#include "support/wait_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "toolkit/wait.h"

uint64_t wait_rig_now_ms(const virtual_host *vh) {
  return vh->script.now_ns / 1000000;
}

static void on_end(const kin_wait_result *result, void *data) {
  wait_ending *ending = data;
  ending->calls++;
  ending->code = result->code;
  ending->at_ms = wait_rig_now_ms(ending->vh);
  ending->count = result->count;
  assert_true(result->count < sizeof ending->done);
  for (size_t i = 0; i < result->count; i++) {
    const kin_wait_item *item = &result->items[i];
    assert_false(item->is_done && item->is_closed);
    ending->done[i] = item->is_done ? 'y' : item->is_closed ? 'c' : 'n';
  }
  ending->done[result->count] = '\0';
  snprintf(ending->error, sizeof ending->error, "%s", result->error);
  assert_int_equal(result->code == 0, result->error[0] == '\0');
  if (ending->then != NULL) {
    ending->then(ending);
  }
}

int wait_rig_open(virtual_host *vh, kin_wait **out, const kin_wait_for *things,
                  size_t count, const char *what, uint64_t timeout_ms,
                  wait_ending *ending) {
  kin_wait_options options = KIN_WAIT_OPTIONS_INIT;
  options.things = things;
  options.count = count;
  options.what = what;
  options.timeout_ms = timeout_ms;
  options.cb = on_end;
  options.data = ending;
  ending->vh = vh;
  return kin__wait_open(out, &vh->host, &options, "failed to wait for all");
}

bool wait_timed_is_due(void *data) {
  wait_timed *timed = data;
  timed->asked++;
  return wait_rig_now_ms(timed->vh) >= timed->at_ms;
}

void wait_ending_expect(const wait_ending *ending, int code, const char *done) {
  assert_int_equal(ending->calls, 1);
  assert_int_equal(ending->code, code);
  if (done != NULL) {
    assert_string_equal(ending->done, done);
  }
}
