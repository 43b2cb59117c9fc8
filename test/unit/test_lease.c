/* SPDX-License-Identifier: MIT */
/* A Lease as an elector reads and writes it (LE-10). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <kin/error.h>

#include "base/str.h"
#include "election/lease.h"
#include "support/fail_alloc.h"

#define FULL                                                                   \
  "{'holderIdentity':'x','leaseDurationSeconds':15,'acquireTime':"             \
  "'2026-01-01T00:00:00.000000Z','renewTime':'2026-01-01T00:00:09.000000Z',"   \
  "'leaseTransitions':3,'strategy':'S','preferredHolder':'p'}"

static const kin_parameter label = {"a/b~c", "v"};

static kin__lease_terms terms_of(size_t label_count) {
  return (kin__lease_terms){.namespace_ = "n",
                            .name = "l",
                            .identity = "me",
                            .duration_s = 20,
                            .labels = &label,
                            .label_count = label_count};
}

/* A lease with that spec, and more members of metadata; ' is ". */
static int read_lease(kin__lease *lease, const kin_allocator *allocator,
                      const char *spec, const char *metadata) {
  char json[2048];
  kin_object *object;
  snprintf(json, sizeof json,
           "{'metadata':{'name':'l','namespace':'n','resourceVersion':'5'%s},"
           "'spec':%s}",
           metadata, spec);
  for (char *c = json; *c != '\0'; c++) {
    *c = *c == '\'' ? '"' : *c;
  }
  int err = kin_object_parse(&object, allocator, json, strlen(json));
  return err == 0 ? kin__lease_read(lease, object) : err;
}

/* The body of a write, with ' for ". */
static void compose(char *to, size_t size, const kin__lease *lease,
                    kin__elector_request request, size_t label_count) {
  fail_alloc memory;
  fail_alloc_init(&memory, 0);
  kin__buf out;
  kin__buf_init(&out, &memory.allocator, 1 << 20);
  kin__lease_terms terms = terms_of(label_count);
  assert_int_equal(kin__lease_compose(&out, &memory.allocator, lease, &terms,
                                      request,
                                      (kin__timestamp){1767225605, 1234567}),
                   0);
  (void)kin_str_copy(to, size, kin__str(out.data, out.length));
  for (char *c = to; *c != '\0'; c++) {
    *c = *c == '"' ? '\'' : *c;
  }
  kin__buf_finish(&out);
  assert_int_equal(memory.live_blocks, 0);
}

static void expect_body(const char *spec, const char *metadata,
                        kin__elector_request request, size_t label_count,
                        const char *expected) {
  char body[2048];
  kin__lease lease;
  assert_int_equal(read_lease(&lease, NULL, spec, metadata), 0);
  compose(body, sizeof body, &lease, request, label_count);
  assert_string_equal(body, expected);
  kin__lease_finish(&lease);
}

#define NOW "'2026-01-01T00:00:05.001234Z'"
#define META "'name':'l','namespace':'n','resourceVersion':'5'"

/* LE-10, TestGet, TestLeaseConversion: what an elector needs of a Lease. */
static void test_lease_read(void **state) {
  (void)state;
  kin__lease lease;
  assert_int_equal(read_lease(&lease, NULL, FULL, ""), 0);
  assert_true(kin_str_equal(lease.holder, KIN_STR("x")));
  assert_int_equal(lease.duration_s, 15);
  assert_true(lease.has_preferred_holder);
  assert_int_equal(lease.spec.length, strlen(FULL));
  kin__lease_finish(&lease);
  assert_int_equal(read_lease(&lease, NULL, "{}", ""), 0);
  assert_int_equal(lease.holder.length, 0);
  assert_int_equal(lease.duration_s, 0);
  assert_false(lease.has_preferred_holder);
  kin__lease_finish(&lease);
  assert_int_equal(read_lease(&lease, NULL, "{'leaseDurationSeconds':-1}", ""),
                   0);
  assert_int_equal(lease.duration_s, 0);
  kin__lease_finish(&lease);
  assert_int_equal(
      read_lease(&lease, NULL, "{'leaseDurationSeconds':99999999999}", ""), 0);
  assert_true(lease.duration_s == UINT32_MAX);
  kin__lease_finish(&lease);
}

/* LE-10, TestGetError: what is no Lease is told, and leaves nothing. */
static void test_read_odd(void **state) {
  (void)state;
  kin__lease lease;
  assert_int_equal(read_lease(&lease, NULL, "{'holderIdentity':1}", ""),
                   KIN_ETYPE);
  assert_null(lease.object);
  assert_int_equal(read_lease(&lease, NULL, "{'leaseDurationSeconds':1.5}", ""),
                   KIN_ETYPE);
  assert_int_equal(read_lease(&lease, NULL, "{'preferredHolder':{}}", ""),
                   KIN_ETYPE);
}

/* LE-10, TestLeaseSpecToLeaderElectionRecordRoundTrip: times have microseconds,
 * and each kind of write changes what it must. */
static void test_lease_write(void **state) {
  (void)state;
  expect_body(FULL, "", KIN__ELECTOR_RENEW, 0,
              "{'metadata':{" META "},'spec':{'holderIdentity':'me',"
              "'leaseDurationSeconds':20,'acquireTime':"
              "'2026-01-01T00:00:00.000000Z','renewTime':" NOW
              ",'leaseTransitions':3,'strategy':'S','preferredHolder':'p'}}");
  expect_body(FULL, "", KIN__ELECTOR_TAKE, 0,
              "{'metadata':{" META "},'spec':{'holderIdentity':'me',"
              "'leaseDurationSeconds':20,'acquireTime':" NOW ",'renewTime':" NOW
              ",'leaseTransitions':4,'strategy':'S','preferredHolder':'p'}}");
  expect_body(FULL, "", KIN__ELECTOR_RELEASE, 0,
              "{'metadata':{" META "},'spec':{'holderIdentity':'',"
              "'leaseDurationSeconds':1,'acquireTime':" NOW ",'renewTime':" NOW
              ",'leaseTransitions':3,'strategy':'S','preferredHolder':'p'}}");
  expect_body("null", "", KIN__ELECTOR_TAKE, 0,
              "{'metadata':{" META "},'spec':{'holderIdentity':'me',"
              "'leaseDurationSeconds':20,'acquireTime':" NOW
              ",'leaseTransitions':1,'renewTime':" NOW "}}");
  expect_body(
      "{'leaseTransitions':2147483647}", "", KIN__ELECTOR_TAKE, 0,
      "{'metadata':{" META "},'spec':{'leaseTransitions':2147483647,"
      "'holderIdentity':'me','leaseDurationSeconds':20,'acquireTime':" NOW
      ",'renewTime':" NOW "}}");
}

static void test_lease_create(void **state) {
  (void)state;
  char body[2048];
  const kin__lease none = {.object = NULL};
  compose(body, sizeof body, &none, KIN__ELECTOR_CREATE, 1);
  assert_string_equal(
      body, "{'apiVersion':'coordination.k8s.io/v1','kind':'Lease','metadata':{"
            "'name':'l','namespace':'n','labels':{'a/b~c':'v'}},'spec':{"
            "'holderIdentity':'me','leaseDurationSeconds':20,'acquireTime':" NOW
            ",'leaseTransitions':0,'renewTime':" NOW "}}");
}

#define SPEC                                                                   \
  "'spec':{'holderIdentity':'me','leaseDurationSeconds':20,'renewTime':" NOW   \
  "}}"

/* LE-10, TestLabelUpdate: only our own labels are overwritten. */
static void test_lease_labels(void **state) {
  (void)state;
  expect_body("{}", ",'labels':{'k':'1','a/b~c':'old'}", KIN__ELECTOR_RENEW, 1,
              "{'metadata':{" META ",'labels':{'k':'1','a/b~c':'v'}}," SPEC);
}

/* LE-10, TestUpdateWithNilLabelsOnLease, TestUpdateWithNilLabelsOnLeaseLock:
 * neither side needs labels. */
static void test_lease_without_labels(void **state) {
  (void)state;
  expect_body("{}", "", KIN__ELECTOR_RENEW, 1,
              "{'metadata':{" META ",'labels':{'a/b~c':'v'}}," SPEC);
  expect_body("{}", ",'labels':null", KIN__ELECTOR_RENEW, 1,
              "{'metadata':{" META ",'labels':{'a/b~c':'v'}}," SPEC);
  expect_body("{}", ",'labels':{'k':'1'}", KIN__ELECTOR_RENEW, 0,
              "{'metadata':{" META ",'labels':{'k':'1'}}," SPEC);
  expect_body("{}", "", KIN__ELECTOR_RENEW, 0, "{'metadata':{" META "}," SPEC);
}

static bool read_and_write(size_t fail_at) {
  fail_alloc memory;
  fail_alloc_init(&memory, fail_at);
  kin__lease lease;
  kin__buf out;
  kin__buf_init(&out, &memory.allocator, 1 << 20);
  int err = read_lease(&lease, &memory.allocator, FULL, "");
  if (err == 0) {
    kin__lease_terms terms = terms_of(1);
    err = kin__lease_compose(&out, &memory.allocator, &lease, &terms,
                             KIN__ELECTOR_TAKE, (kin__timestamp){0, 0});
    kin__lease_finish(&lease);
  }
  kin__buf_finish(&out);
  bool has_failed = fail_alloc_has_failed(&memory);
  assert_int_equal(err, has_failed ? KIN_ENOMEM : 0);
  assert_int_equal(memory.live_blocks, 0);
  return has_failed;
}

static void test_lease_allocations_fail(void **state) {
  (void)state;
  fail_alloc_sweep(read_and_write, 8);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_lease_read),
      cmocka_unit_test(test_read_odd),
      cmocka_unit_test(test_lease_write),
      cmocka_unit_test(test_lease_create),
      cmocka_unit_test(test_lease_labels),
      cmocka_unit_test(test_lease_without_labels),
      cmocka_unit_test(test_lease_allocations_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
