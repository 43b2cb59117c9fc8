/* SPDX-License-Identifier: MIT */
#ifndef KIN_TEST_ELECTION_WORLD_H
#define KIN_TEST_ELECTION_WORLD_H

#include <kin/leader_election.h>

#include "support/virtual_host.h"

/* Candidates for one Lease, n/l, and a server that keeps it, on a virtual host.
 * Two clocks go on together; only a suspension tells them apart. What the
 * candidates are told is a text: "leader(a) started stopped(0,led) ". The
 * requests that the server has answered are one, too: "GET=404 POST=201 ". */

#define EW_CANDIDATES 2
#define EW_PATH "/apis/coordination.k8s.io/v1/namespaces/n/leases"

struct election_world;

typedef struct ew_candidate {
  struct election_world *w;
  kin_leader_elector_options options; /* before ew_open */
  kin_leader_elector *elector;        /* NULL once it is gone */
  char told[2048];
  int calls;
  int code; /* of the last error, or end of a run */
  char message[600];
  uint32_t attempt;     /* of the last error */
  uint64_t retry_in_ms; /* of the last error */
  kin_retry answer;     /* to errors; `then` may set it */
  int closed;
} ew_candidate;

typedef struct election_world {
  virtual_host vh;
  kin__clock boot;
  uint64_t suspended_ns;
  ew_candidate candidates[EW_CANDIDATES];

  char lease[4096]; /* "": there is none */
  unsigned version;
  char asked[4096];
  char body[4096]; /* of the last write */
  bool is_silent;  /* the server does not answer */
  int refuse;      /* the status of the next answer; 0: as it should be; 503
                    * says when to come again */
  bool then_write; /* the refused request is carried out all the same */
  void (*before_answer)(struct election_world *w, const char *method);

  /* Called in each callback of a candidate, which it may close. */
  void (*then)(struct election_world *w, ew_candidate *candidate);
  int at_call;
  int how;
  int calls;
} election_world;

void ew_init(election_world *w, size_t fail_at);
/* Candidate 0 or 1, with the identity "a" or "b". Returns the open's code. */
int ew_open(election_world *w, int candidate);
/* Both of these; fails the test on an error. */
void ew_begin(election_world *w, int candidate);

/* Writes a lease: a spec, and more members of metadata, with ' for ". */
void ew_put_lease(election_world *w, const char *spec, const char *metadata);
/* Answers the requests that are open now. Returns whether there was one. */
bool ew_answer(election_world *w);
/* Lets time pass; the server answers within 10 ms. */
void ew_pass(election_world *w, uint64_t ms);
/* The machine is suspended: only the boot clock goes on. */
void ew_suspend(election_world *w, uint64_t ms);
/* The value of a string or number of the spec, as text; "" if absent. */
const char *ew_spec(election_world *w, const char *member);

/* Compares the text of a candidate's callbacks, or of the server's requests,
 * since the last call. */
void ew_expect(ew_candidate *candidate, const char *told);
void ew_expect_asked(election_world *w, const char *asked);
/* Closes all; fails the test if anything is left. */
void ew_finish(election_world *w);

/* A test's set-up and tear-down: its state is a world after ew_init. */
int ew_set_up(void **state);
int ew_tear_down(void **state);

#endif /* KIN_TEST_ELECTION_WORLD_H */
