/* SPDX-License-Identifier: MIT */
#ifndef KIN_TEST_REFLECTOR_RIG_H
#define KIN_TEST_REFLECTOR_RIG_H

#include <kin/reflector.h>

#include "support/hand_source.h"
#include "support/virtual_host.h"

/* A public reflector over a source that is fed by hand, into a store of
 * functions that note their calls (client-go's FakeCustomStore), or into
 * another one:
 *
 *   R(a@1,b@2)#5 replace     +a@1 add   ~a@2 update   -a@2 delete
 *   S resync                 B7 bookmark              V7 update_version
 *
 * with blanks in between. */
typedef struct reflector_rig {
  virtual_host vh;
  hand_source source;
  kin_reflector *reflector;
  kin_reflector_store store; /* of noting functions; change it before open */
  kin_reflector_options options;
  kin_informer_options resource;
  char log[4096];
  int result;   /* what the noting functions return, */
  int failures; /* so many times if > 0, else always */
  bool is_full;
  void (*during)(struct reflector_rig *rig); /* called by each of them */

  int errors;
  int last_code;
  uint32_t last_attempt;
  char last_message[256];
  uint64_t last_retry_ms;
  kin_retry answer; /* to errors */
  uint64_t answer_after_ms;
  char states[512]; /* "syncing live " */
  int closed;       /* close callbacks: 1 of on_closed, 10 of close */
} reflector_rig;

/* Sets defaults: the noting store, the hand source, pods, callbacks that
 * count. */
void reflector_rig_init(reflector_rig *rig, size_t fail_at);
/* The same, with lists that come as watches. */
void reflector_rig_init_streaming(reflector_rig *rig, size_t fail_at);
/* Opens and starts. */
int reflector_rig_open(reflector_rig *rig);
/* Opens, lists "a@1" as of version 5, and grants the watch; expects that. */
void reflector_rig_open_watching(reflector_rig *rig);
/* Closes it with the host, if it is open, and fails the test if anything is
 * left. */
void reflector_rig_finish(reflector_rig *rig);

/* Asserts what the store was told since the last time. */
void reflector_rig_expect(reflector_rig *rig, const char *calls);

/* A kin_reflector_close_cb: counts as "of close". */
void reflector_rig_on_close(void *data);

#endif /* KIN_TEST_REFLECTOR_RIG_H */
