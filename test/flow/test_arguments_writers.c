/* SPDX-License-Identifier: MIT */

/* NULL and wrong arguments, as in test_arguments.c: leader election, Events,
 * finalizers and owners. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <kin/controllers.h>
#include <kin/toolkit.h>

#include "support/idle_callbacks.h"
#include "support/objects.h"
#include "support/refused.h"

static void test_electors(void **state) {
  kin_client *client = *state;
  kin_leader_elector_options options = KIN_LEADER_ELECTOR_OPTIONS_INIT;
  options.namespace_ = "n";
  options.name = "l";
  options.on_started = on_started;
  options.on_stopped = on_stopped;
  REFUSED(kin_leader_elector_open(NULL, client, &options));
  REFUSED_OUT(kin_leader_elector *,
              kin_leader_elector_open(&out, NULL, &options));
  REFUSED_OUT(kin_leader_elector *,
              kin_leader_elector_open(&out, client, NULL));
  REFUSED(kin_leader_elector_start(NULL));
  REFUSED(kin_leader_elector_stop(NULL));
  REFUSED(kin_leader_elector_close(NULL, NULL, NULL));
  ZERO(kin_leader_elector_is_leader(NULL));
  EMPTY(kin_leader_elector_leader(NULL));
  assert_string_equal(kin_leader_elector_identity(NULL), "");
  assert_int_equal(kin_leader_elector_term(NULL), 0);
  ZERO(kin_leader_elector_check(NULL, 1)); /* none is healthy */
  kin_leader_elector *elector;
  assert_int_equal(kin_leader_elector_open(&elector, client, &options), 0);
  kin_leader_elector_metrics metrics = KIN_LEADER_ELECTOR_METRICS_INIT;
  REFUSED(kin_leader_elector_get_metrics(NULL, &metrics));
  REFUSED(kin_leader_elector_get_metrics(elector, NULL));
  assert_int_equal(kin_leader_elector_get_metrics(elector, &metrics), 0);
  assert_false(metrics.is_running);
  EMPTY(kin_leader_elector_leader(elector));
  assert_int_equal(kin_leader_elector_close(elector, NULL, NULL), 0);
}

static void test_candidates(void **state) {
  kin_client *client = *state;
  kin_lease_candidate_options options = KIN_LEASE_CANDIDATE_OPTIONS_INIT;
  options.namespace_ = options.name = options.lease_name = "n";
  options.binary_version = options.emulation_version = "1.0.0";
  REFUSED(kin_lease_candidate_open(NULL, client, &options));
  REFUSED_OUT(kin_lease_candidate *,
              kin_lease_candidate_open(&out, NULL, &options));
  REFUSED_OUT(kin_lease_candidate *,
              kin_lease_candidate_open(&out, client, NULL));
  REFUSED(kin_lease_candidate_close(NULL, NULL, NULL));
  assert_true(kin_lease_candidate_age_ms(NULL) == UINT64_MAX);
  kin_lease_candidate *candidate;
  assert_int_equal(kin_lease_candidate_open(&candidate, client, &options), 0);
  assert_true(kin_lease_candidate_age_ms(candidate) == UINT64_MAX);
  assert_int_equal(kin_lease_candidate_close(candidate, NULL, NULL), 0);
}

static void test_recorders(void **state) {
  kin_client *client = *state;
  kin_event_recorder_options options = KIN_EVENT_RECORDER_OPTIONS_INIT;
  options.controller = "c";
  REFUSED(kin_event_recorder_open(NULL, client, &options));
  REFUSED_OUT(kin_event_recorder *,
              kin_event_recorder_open(&out, NULL, &options));
  REFUSED_OUT(kin_event_recorder *,
              kin_event_recorder_open(&out, client, NULL));
  kin_event_recorder *recorder;
  assert_int_equal(kin_event_recorder_open(&recorder, client, &options), 0);
  const kin_object_reference pod = {.kind = KIN_STR("Pod"),
                                    .name = KIN_STR("web")};
  const kin_object_reference no_bytes = {.kind = {NULL, 3}, .name = {NULL, 3}};
  REFUSED(kin_event_recorder_record(NULL, &pod, NULL, "Normal", "R", "A", "n"));
  REFUSED(
      kin_event_recorder_record(recorder, NULL, NULL, "Normal", "R", "A", "n"));
  REFUSED(kin_event_recorder_record(recorder, &no_bytes, NULL, "Normal", "R",
                                    "A", "n"));
  REFUSED(kin_event_recorder_record(recorder, &pod, NULL, NULL, "R", "A", "n"));
  REFUSED(kin_event_recorder_record(recorder, &pod, NULL, "Normal", NULL, "A",
                                    "n"));
  REFUSED(kin_event_recorder_record(recorder, &pod, NULL, "Normal", "R", NULL,
                                    "n"));
  assert_int_equal(
      kin_event_recorder_record(recorder, &pod, NULL, "Normal", "R", "A", NULL),
      0);
  kin_event_recorder_metrics metrics = KIN_EVENT_RECORDER_METRICS_INIT;
  REFUSED(kin_event_recorder_get_metrics(NULL, &metrics));
  REFUSED(kin_event_recorder_get_metrics(recorder, NULL));
  REFUSED(kin_event_recorder_close(NULL, NULL, NULL));
  assert_int_equal(kin_event_recorder_close(recorder, NULL, NULL), 0);
}

static void test_ownership(void **state) {
  (void)state;
  char patch[128];
  size_t length;
  kin_object *object =
      object_of(NULL, "{'metadata':{'name':'a','resourceVersion':'1'}}");
  kin_object_reference owner;
  kin_object_reference_of(NULL, object, "v1", "Pod");
  kin_object_reference_of(&owner, NULL, NULL, NULL);
  EMPTY(owner.name);
  EMPTY(owner.kind);
  EMPTY(owner.api_version);
  ZERO(kin_object_has_finalizer(NULL, "f"));
  ZERO(kin_object_has_finalizer(object, NULL));
  ZERO(kin_object_is_terminating(NULL));
  REFUSED(kin_object_add_finalizer_patch(NULL, "f", patch, 9, &length));
  REFUSED(kin_object_add_finalizer_patch(object, NULL, patch, 9, &length));
  REFUSED(kin_object_add_finalizer_patch(object, "f", NULL, 9, &length));
  REFUSED(kin_object_add_finalizer_patch(object, "f", patch, 9, NULL));
  REFUSED(kin_object_remove_finalizer_patch(NULL, "f", patch, 9, &length));
  REFUSED(kin_object_remove_finalizer_patch(object, NULL, patch, 9, &length));
  REFUSED(kin_object_remove_finalizer_patch(object, "f", NULL, 9, &length));
  REFUSED(kin_object_remove_finalizer_patch(object, "f", patch, 9, NULL));
  REFUSED(kin_object_set_owner(NULL, NULL, object, &owner, KIN_OWNER));
  REFUSED_OUT(kin_object *,
              kin_object_set_owner(&out, NULL, NULL, &owner, KIN_OWNER));
  REFUSED_OUT(kin_object *,
              kin_object_set_owner(&out, NULL, object, NULL, KIN_OWNER));
  owner.uid = (kin_str){NULL, 3};
  REFUSED_OUT(kin_object *,
              kin_object_set_owner(&out, NULL, object, &owner, KIN_OWNER));
  kin_object_unref(object);
}

static uv_loop_t loop;

static int set_up(void **state) {
  kin_client_options options = KIN_CLIENT_OPTIONS_INIT;
  kin_client *client;
  options.server = "http://127.0.0.1"; /* never asked */
  assert_int_equal(uv_loop_init(&loop), 0);
  assert_int_equal(kin_client_open(&client, &loop, &options), 0);
  *state = client;
  return 0;
}

static int tear_down(void **state) {
  assert_int_equal(kin_client_close(*state, NULL, NULL), 0);
  assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
  assert_int_equal(uv_loop_close(&loop), 0);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_electors, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_candidates, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_recorders, set_up, tear_down),
      cmocka_unit_test(test_ownership),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
