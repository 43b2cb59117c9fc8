/* SPDX-License-Identifier: MIT */
#ifndef KIN_TEST_VIRTUAL_HOST_H
#define KIN_TEST_VIRTUAL_HOST_H

#include "client/host.h"
#include "support/fail_alloc.h"
#include "support/mini_server.h"
#include "support/script_env.h"

/* What a client is, without a loop: a virtual clock, a server that answers any
 * resource with the same pods, and informers that end with it. Its log is kept,
 * but for changes of state: a line each, the level's first letter first. */
typedef struct virtual_host {
  fail_alloc memory;
  script_env script;
  mini_server server;
  kin__host host;
  kin__log log;
  char text[8192]; /* of the log */
  bool is_closed;  /* it was closed, and all members have left */
} virtual_host;

/* `fail_at`: see fail_alloc; 0 for never. */
void vh_init(virtual_host *vh, size_t fail_at);
/* As kin_client_close. */
void vh_close(virtual_host *vh);
/* Closes it if it is open, runs until all is gone, and fails the test if
 * anything is left. */
void vh_finish(virtual_host *vh);

/* How often the log has this text. */
int vh_count_logged(const virtual_host *vh, const char *wanted);

/* As kin_informer_open; it asks for lists. */
int vh_open_informer(virtual_host *vh, kin_informer **out, const char *plural);

#endif /* KIN_TEST_VIRTUAL_HOST_H */
