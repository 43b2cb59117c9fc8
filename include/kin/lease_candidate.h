/* SPDX-License-Identifier: MIT */
#ifndef KIN_LEASE_CANDIDATE_H
#define KIN_LEASE_CANDIDATE_H

/** @file
 * Coordinated leader election: the object by which the server knows a
 * candidate. */

#include <stddef.h>
#include <stdint.h>

#include <kin/client.h>
#include <kin/error.h>
#include <kin/export.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Keeps one LeaseCandidate of coordination.k8s.io on the server, for as long
 * as the handle is open (client-go's leaderelection.LeaseCandidate). The server
 * elects one candidate of a Lease, writes its name into the Lease, and the
 * elector of that candidate leads (kin_leader_elector_options.coordinated). The
 * feature is beta in Kubernetes and off by default: the API server needs the
 * feature gate CoordinatedLeaderElection and the API
 * coordination.k8s.io/v1beta1.
 *
 * The object is written when the handle has been opened and its first list has
 * come, when the object is deleted, and every five minutes. A deleted object is
 * made again at once. If that one is deleted, too, less than five minutes after
 * its creation, the next one waits 100 ms, and each one after that twice as
 * long, up to 30 s.
 *
 * Before an election the server asks each candidate whether it is alive
 * (spec.pingTime), and leaves out a candidate that has not renewed its object
 * (spec.renewTime) within five seconds. Such a question is answered at once, or
 * as soon as a write that is under way has ended, which takes 10 s at most.
 *
 * A write changes the options' members and the renewTime; what others have
 * written into the object is kept. The handle costs a watch of one object. The
 * rights that it needs are list, watch, create and update of leasecandidates. A
 * close leaves the object on the server, which deletes it after half an
 * hour. */
typedef struct kin_lease_candidate kin_lease_candidate;

/** Called for each failure to write, list or watch; an event callback. The
 * callback may close the candidate, or answer: KIN_STOP closes the candidate,
 * KIN_RETRY_AFTER changes the time of the next try. A question of the server
 * does not wait for that time. A write that meets another writer is no
 * failure: it is repeated with the newest object. From the fifth try in a row
 * such a write is told, too: a watch that is silent does not bring that object.
 *
 * Example: a server that does not have the resource answers 404
 * (KIN_CLASS_ABSENT). A leaseName cannot be changed: if another program's
 * candidate has the name, the server finds the write invalid (422). */
typedef void (*kin_lease_candidate_error_cb)(kin_error_event *event,
                                             void *data);

/** An event callback; the candidate is gone. */
typedef void (*kin_lease_candidate_close_cb)(void *data);

/** Options of kin_lease_candidate_open. The library copies everything. */
typedef struct kin_lease_candidate_options {
  size_t size; /**< set by the INIT macro */

  /** The namespace of the LeaseCandidate and of its Lease. Required, of at most
   * 253 lower-case letters, digits, '-' and '.'. */
  const char *namespace_;
  /** The name of the LeaseCandidate: the identity of the elector, see
   * kin_leader_elector_identity, because the server writes this name into the
   * Lease as its holder. Required, of at most 253 letters, digits, '-', '_' and
   * '.'. */
  const char *name;
  /** The name of the Lease, as kin_leader_elector_options.name. Required. */
  const char *lease_name;

  /** The version of the program, such as "1.30.0" (semantic versioning, checked
   * by the server). Required. */
  const char *binary_version;
  /** The version as which the program behaves; not above binary_version. The
   * server elects the lowest one, so that an upgrade does not change how the
   * leader behaves before all copies have it. Required for the strategy
   * "OldestEmulationVersion"; NULL or "" otherwise: none. */
  const char *emulation_version;
  /** How the server chooses. NULL or "": "OldestEmulationVersion", which is the
   * only strategy of Kubernetes itself. Another one, such as
   * "example.com/oldest", needs a controller that elects. */
  const char *strategy;

  /** The API version of the resource. NULL or "": "v1beta1". */
  const char *version;

  kin_lease_candidate_error_cb on_error;  /**< may be NULL */
  kin_lease_candidate_close_cb on_closed; /**< may be NULL; comes after the
                                           * callback of
                                           * kin_lease_candidate_close */
  void *data;                             /**< passed to the callbacks */
} kin_lease_candidate_options;
/** Sets the size, and each member to its default. */
#define KIN_LEASE_CANDIDATE_OPTIONS_INIT                                       \
  {                                                                            \
    sizeof(kin_lease_candidate_options), NULL, NULL, NULL, NULL, NULL, NULL,   \
        NULL, NULL, NULL, NULL                                                 \
  }

/** Opens a candidate, which begins at once; callbacks come from later loop
 * iterations (client-go's NewCandidate and LeaseCandidate.Run). Open it after the
 * elector of the same Lease, whose identity is the name; with an identity that
 * the program has chosen the order does not matter. A failed write is repeated
 * after 100 ms, then after twice as long each time, up to 30 s. A server that
 * asks for a longer wait (Retry-After) gets it, up to an hour. A write without
 * an answer fails after 10 s.
 * Errors: KIN_EINVAL (a name, a version or a strategy that is missing or not
 * valid; kin_client_problem says which), KIN_ENOTSUP (members of a newer version),
 * KIN_ECLOSED (client), KIN_ENOMEM. *out is NULL then. */
KIN_EXTERN int
kin_lease_candidate_open(kin_lease_candidate **out, kin_client *client,
                         const kin_lease_candidate_options *options);

/** Closes a candidate at once: nothing more is sent. A write that is under way
 * may happen all the same. No callback comes after this call except `cb` (may
 * be NULL) and on_closed, from a later loop iteration. Legal in every event
 * callback. Closing the client closes its candidates.
 * Errors: KIN_EALREADY (closing; cb is not called). */
KIN_EXTERN int kin_lease_candidate_close(kin_lease_candidate *candidate,
                                         kin_lease_candidate_close_cb cb,
                                         void *data);

/** Milliseconds since the last successful write, for a health check; UINT64_MAX:
 * there was none. The server no longer counts a candidate after half an
 * hour. */
KIN_EXTERN uint64_t
kin_lease_candidate_age_ms(const kin_lease_candidate *candidate);

#ifdef __cplusplus
}
#endif

#endif /* KIN_LEASE_CANDIDATE_H */
