/* SPDX-License-Identifier: MIT */
#ifndef KIN_TEST_CANDIDATE_WORLD_H
#define KIN_TEST_CANDIDATE_WORLD_H

#include <kin/lease_candidate.h>

#include "support/virtual_host.h"

/* A lease candidate, n/A_1 for the Lease l, and a server that keeps its object,
 * on a virtual host. What the candidate is told is a text: "error(403) closed ".
 * The writes and the refused lists that the server has answered are one, too:
 * "LIST=404 POST=201 PUT=200 ". */

#define LW_PATH "/apis/coordination.k8s.io/v1beta1/namespaces/n/leasecandidates"
#define LW_EVENTS 64
#define LW_RENEW_MS 300000u

typedef struct candidate_world {
  virtual_host vh;
  kin_lease_candidate_options options; /* before lw_open */
  kin_lease_candidate *candidate;      /* NULL once it is gone */
  char told[2048];
  kin_error_event last; /* its strings are not valid */
  char message[600];    /* of the last error */
  char reason[64];
  int closed;

  char object[4096]; /* "": there is none */
  unsigned version;
  char events[LW_EVENTS][4200];
  unsigned event_versions[LW_EVENTS];
  int event_count;
  char asked[4096];
  char body[4096];   /* of the last write */
  bool is_silent;    /* writes are not answered */
  bool holds_events; /* watches are open, but silent */
  int refuse;        /* the status of the next write; 0: as it should be */
  int refuse_lists;  /* the status of all lists; 0: as it should be */
  bool is_absent;    /* refused as a server that does not know the resource */
  int64_t retry_after_s; /* of refusals; 0: none */
  bool then_write;       /* the refused write is carried out all the same */
  const char *garbage;   /* the body of the next answer to a write */
  void (*before_write)(struct candidate_world *w, const char *method);

  /* Called in each callback of the candidate, which it may close. */
  void (*then)(struct candidate_world *w, kin_error_event *event);
  int at_call;
  int how;
  int calls;
} candidate_world;

void lw_init(candidate_world *w, size_t fail_at);
/* Returns the open's code. */
int lw_open(candidate_world *w);
/* Opens the candidate, whose object is written then. */
void lw_open_written(candidate_world *w);

/* Another program writes the object: a spec, and more members of metadata, with
 * ' for ". */
void lw_put(candidate_world *w, const char *spec, const char *metadata);
/* Another program deletes the object, which is there. */
void lw_delete(candidate_world *w);
/* All watches break. */
void lw_cut(candidate_world *w);
/* Lets time pass; the server answers within 10 ms. */
void lw_pass(candidate_world *w, uint64_t ms);
/* The value of a string of the object, as text; "" if absent. */
const char *lw_value(candidate_world *w, const char *member);

/* Compares the text of the candidate's callbacks, or of the server's requests,
 * since the last call. */
void lw_expect(candidate_world *w, const char *told);
void lw_expect_asked(candidate_world *w, const char *asked);
/* Closes the candidate and the host; fails the test if anything is left. */
void lw_finish(candidate_world *w);

/* A test's set-up and tear-down: its state is a world after lw_init. */
int lw_set_up(void **state);
int lw_tear_down(void **state);

#endif /* KIN_TEST_CANDIDATE_WORLD_H */
