/* SPDX-License-Identifier: MIT */
#ifndef KIN_TEST_VERSION_RIG_H
#define KIN_TEST_VERSION_RIG_H

#include "support/source_rig.h"

/* What waits for versions and verifications are told, and the version of "a" in
 * the store by then: "ok:7/a7 timeout:9/a7". */
typedef struct told {
  char text[65536];
  size_t length;
  int calls;
} told;

/* A kin_version_cb; data: told. */
void told_cb(kin_informer *informer, int code, const char *version, void *data);

/* Compares the text and clears it. */
#define told_expect(t, expected)                                               \
  do {                                                                         \
    assert_string_equal((t)->text, (expected));                                \
    (t)->text[0] = '\0';                                                       \
    (t)->length = 0;                                                           \
  } while (0)

/* One watching informer, for cmocka_unit_test_setup_teardown: *state. */
typedef struct version_rig {
  source_rig f;
  told t;
} version_rig;

int version_rig_setup(void **state);
int version_rig_teardown(void **state);

/* Begin, asserting that cb does not come inside the call. */
void version_rig_wait(source_rig *rig, told *t, const char *version,
                      uint64_t timeout_ms);
void version_rig_verify(source_rig *rig, told *t, uint64_t timeout_ms);

void version_rig_run(source_rig *rig);
void version_rig_pass(source_rig *rig, uint64_t ms);
/* The watch that was asked for is granted. */
void version_rig_open_watch(source_rig *rig);
/* A MODIFIED event. */
void version_rig_change(source_rig *rig, const char *object);

#endif /* KIN_TEST_VERSION_RIG_H */
