/* SPDX-License-Identifier: MIT */
#ifndef KIN_TEST_FILTER_RIG_H
#define KIN_TEST_FILTER_RIG_H

#include <kin/change_filter.h>
#include <kin/testing/fake_source.h>

#include "informer/informer.h"
#include "support/virtual_host.h"

/* A change filter on an informer over a fake source, and a virtual clock. What
 * is told is noted, with a blank behind each:
 *
 *   A:k1=5  added, with 5 in the field "/spec/a"; i:k1=5 if it is initial
 *   U:k1=5>6  updated; R:k1=5>6 if it is recreated
 *   D:k1=6  deleted
 *   x3  behind these: three changes in one
 *   all(+1~2-3)  for all keys; first(7) the initial state; ? if it is inexact
 *   synced(7)  closed
 */
typedef struct filter_rig {
  virtual_host vh;
  kin_fake_source *source;
  kin_informer *informer;
  kin_change_filter *filter;
  kin_change_filter_options options;
  char log[16384];
  int calls;
  bool is_closed;
  /* Called last in each callback but the close callback; may be NULL. */
  void (*then)(struct filter_rig *rig);
  void (*on_change)(const kin_change *change, void *data); /* may be NULL */
  void *data;
} filter_rig;

/* The options have on_change and the field "/spec/a". */
void filter_rig_init(filter_rig *rig, size_t fail_at);
/* Opens and starts an informer of pods over the source. */
int filter_rig_open_informer(filter_rig *rig);
int filter_rig_open_filter(filter_rig *rig);
/* Both must succeed; runs until all is quiet. */
void filter_rig_open(filter_rig *rig);
/* Closes the host and fails the test if anything is left. */
void filter_rig_close(filter_rig *rig);

/* For all keys together. */
void filter_rig_for_all(filter_rig *rig, uint32_t debounce_ms,
                        uint32_t max_wait_ms);

/* Changes at the source, which nobody has seen yet. Each has a new version, so
 * what the filter does not compare differs, too. */
void filter_rig_change(filter_rig *rig, kin_watch_event_type type,
                       const char *name, const char *uid, int value);
/* The same, and runs. */
void filter_rig_put(filter_rig *rig, const char *name, int value);
void filter_rig_delete(filter_rig *rig, const char *name);
/* Deletes it and makes it again with this uid, before the next run. */
void filter_rig_recreate(filter_rig *rig, const char *name, const char *uid,
                         int value);
/* Runs source and tasks until nothing is left to do now. */
void filter_rig_run(filter_rig *rig);
void filter_rig_pass(filter_rig *rig, uint64_t ms);
/* Asserts what was told since the last time. */
void filter_rig_expect(filter_rig *rig, const char *told);

/* The value of "/spec/a". */
int filter_rig_value(const kin_object *object);

#endif /* KIN_TEST_FILTER_RIG_H */
