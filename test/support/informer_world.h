/* SPDX-License-Identifier: MIT */
#ifndef KIN_TEST_INFORMER_WORLD_H
#define KIN_TEST_INFORMER_WORLD_H

#include <kin/metrics.h>

#include "informer/informer.h"
#include "support/fail_alloc.h"
#include "support/mini_server.h"
#include "support/recorder.h"
#include "support/script_env.h"

/* An informer, the server it watches, a listener that checks what it is told,
 * and the memory all of it comes from. */
typedef struct iw_world {
  fail_alloc memory;
  script_env script;
  mini_server server;
  kin_informer *informer;
  recorder rec;
  int errors;
  int last_code; /* of the last error event, like the next five */
  kin_error_class last_class;
  int last_status;
  uint64_t last_retry_in_ms;
  char last_reason[64];
  char last_message[700];
  kin_retry answer; /* of iw_on_error */
  uint64_t retry_after_ms;
  int closed;
  int states;
  kin_state state;
  int asked;                 /* by iw_on_max_bytes */
  kin_memory_event question; /* the last */
  kin_memory_decision decision;
} iw_world;

/* `fail_at`: see fail_alloc; 0 for never. */
void iw_init(iw_world *w, size_t fail_at);
/* Closes the informer if it is open, and fails the test if anything is left. */
void iw_finish(iw_world *w);
void iw_close(iw_world *w);

/* Options for pods with the callbacks below, which count. */
kin_informer_options iw_options(iw_world *w);
void iw_on_error(kin_informer *informer, kin_error_event *event, void *data);
void iw_on_state(kin_informer *informer, const char *namespace_, kin_state from,
                 kin_state to, void *data);
void iw_on_closed(void *data);
/* Counts, keeps the question, and answers with the world's decision. */
kin_memory_decision iw_on_max_bytes(kin_informer *informer,
                                    const kin_memory_event *event, void *data);

/* Opens, and neither listens nor starts. */
void iw_open_only(iw_world *w, const kin_informer_options *options);
/* Opens, listens, starts. */
int iw_open(iw_world *w, const kin_informer_options *options);
/* iw_init, so many objects on the server, and iw_open with iw_options. */
void iw_open_objects(iw_world *w, int objects);

/* Of a scope; "" or NULL: the one of all namespaces. */
kin_status iw_status(const iw_world *w, const char *namespace_);
kin_informer_metrics iw_metrics(const iw_world *w);

/* Lists come as watches again, whatever the server has been found to do to
 * such. The informer has one scope. */
void iw_stream_again(iw_world *w);

/* The store equals the server, and what the listener saw folds to it. */
void iw_assert_truth(iw_world *w);

/* For fail_alloc_sweep: any one allocation of the story may fail. The story
 * returns the failure of opening; else it ends with the truth all the same. */
bool iw_run_without_memory(int (*story)(iw_world *w), size_t n);

/* Objects of the store that are packed. */
int iw_count_packed(const iw_world *w);

/* The store has everything up to that version in "even" or "odd", as after a
 * wait for it. `refused`: states whose version it divides may be missing; 0:
 * none. */
void iw_assert_reached(const iw_world *w, const char *namespace_,
                       uint64_t version, unsigned refused);

/* For tests of several scopes: the namespaces "even" and "odd", which have all
 * objects of the server. */
kin_informer_options iw_even_and_odd(iw_world *w);
/* iw_init and iw_open with these, and so many objects. */
void iw_open_even_and_odd(iw_world *w, int objects);
void iw_drop_odd(iw_world *w);
void iw_add_odd(iw_world *w);

#endif /* KIN_TEST_INFORMER_WORLD_H */
