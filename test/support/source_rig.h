/* SPDX-License-Identifier: MIT */
#ifndef KIN_TEST_SOURCE_RIG_H
#define KIN_TEST_SOURCE_RIG_H

#include "informer/informer.h"
#include "support/event_log.h"
#include "support/hand_source.h"
#include "support/virtual_host.h"

/* An informer over a source that is fed by hand, and a listener that notes what
 * it is told. */
typedef struct source_rig {
  virtual_host vh;
  hand_source source;
  kin_informer *informer;
  kin_listener *listener;
  event_log log;
  int errors;
  kin_error_event error; /* the last; its strings are below */
  char reason[64];
  char message[256];
} source_rig;

/* Opens, listens, starts. */
void source_rig_open(source_rig *rig, uint32_t page_size);
/* `watch_list`: as kin_lister_watcher.watch_list. */
void source_rig_open_with(source_rig *rig, uint32_t page_size, bool watch_list);
/* Opened, with one object and a watch. */
void source_rig_open_watching(source_rig *rig);
/* Closes the host, and fails the test if anything is left. */
void source_rig_close(source_rig *rig);

kin_status source_rig_status(const source_rig *rig);

#endif /* KIN_TEST_SOURCE_RIG_H */
