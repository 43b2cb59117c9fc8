/* SPDX-License-Identifier: MIT */
#ifndef KIN_TEST_FACTORY_WORLD_H
#define KIN_TEST_FACTORY_WORLD_H

#include <kin/factory.h>

#include "support/virtual_host.h"

/* A factory on a virtual host, and what its callbacks have said. */
typedef struct factory_world {
  virtual_host vh;
  kin_factory *factory; /* NULL once it is gone */
  int errors;
  int states;
  int informers_closed;
  int factories_closed;

  int waits_ended;
  int wait_code;
  char wait_text[1024]; /* "name" of each that is done, "!name" otherwise */
  char wait_error[1024];
} factory_world;

/* A kin_factory_tweak_cb: lists, then watches. */
void fw_ask_for_lists(kin_informer_options *options, void *data);
/* Options whose callbacks count, and whose tweak is the one above. */
kin_factory_options fw_options(factory_world *w);
/* Opens the factory; options may be NULL for fw_options. */
int fw_open(factory_world *w, const kin_factory_options *options);
/* The informer of a resource of the core group; fails the test on an error. */
kin_informer *fw_informer(factory_world *w, const char *plural);
/* The same of any resource, with all fields or metadata only. */
kin_informer *fw_informer_of(factory_world *w, const char *group,
                             const char *version, const char *plural,
                             bool metadata_only);
/* Begins to wait; the result is noted. */
int fw_wait(factory_world *w, uint64_t timeout_ms);
void fw_close(factory_world *w);
/* Closes host and all, and fails the test if anything is left. */
void fw_finish(factory_world *w);

void fw_on_informer_closed(void *data);
void fw_on_factory_closed(void *data);

#endif /* KIN_TEST_FACTORY_WORLD_H */
