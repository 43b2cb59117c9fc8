/* SPDX-License-Identifier: MIT */
#include "support/version_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"

void told_cb(kin_informer *informer, int code, const char *version,
             void *data) {
  told *t = data;
  const char *name = "?";
  if (code == 0) {
    name = "ok";
  } else if (code == KIN_ETIMEDOUT) {
    name = "timeout";
  } else if (code == KIN_ECLOSED) {
    name = "closed";
  } else if (code == KIN_ENOTSUP) {
    name = "unversioned";
  }
  const kin_object *a = kin_store_get_key(kin_informer_store(informer), "a");
  kin_str cached =
      a != NULL ? kin_object_resource_version(a) : kin__cstr("none");
  t->calls++;
  t->length +=
      (size_t)snprintf(t->text + t->length, sizeof t->text - t->length,
                       "%s%s:%s/a" KIN_STR_FORMAT, t->length > 0 ? " " : "",
                       name, version, KIN_STR_ARG(cached));
  assert_true(t->length < sizeof t->text);
}

void version_rig_wait(source_rig *rig, told *t, const char *version,
                      uint64_t timeout_ms) {
  int calls = t->calls;
  assert_int_equal(kin_informer_wait_version(rig->informer, NULL, version,
                                             timeout_ms, told_cb, t),
                   0);
  assert_int_equal(t->calls, calls); /* never inside the call */
}

void version_rig_verify(source_rig *rig, told *t, uint64_t timeout_ms) {
  int calls = t->calls;
  assert_int_equal(
      kin_informer_verify(rig->informer, "", timeout_ms, told_cb, t), 0);
  assert_int_equal(t->calls, calls);
}

void version_rig_run(source_rig *rig) {
  script_run(&rig->vh.script);
}

void version_rig_pass(source_rig *rig, uint64_t ms) {
  script_advance(&rig->vh.script, ms);
}

void version_rig_open_watch(source_rig *rig) {
  assert_true(rig->source.is_watch);
  assert_int_equal(kin_feed_open(rig->source.feed), 0);
  version_rig_run(rig);
}

void version_rig_change(source_rig *rig, const char *object) {
  hand_source_event(&rig->source, KIN_WATCH_MODIFIED, object);
}

int version_rig_setup(void **state) {
  static version_rig rig;
  memset(&rig, 0, sizeof rig);
  source_rig_open_watching(&rig.f);
  *state = &rig;
  return 0;
}

int version_rig_teardown(void **state) {
  version_rig *rig = *state;
  source_rig_close(&rig->f);
  return 0;
}
