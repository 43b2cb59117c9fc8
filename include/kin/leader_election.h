/* SPDX-License-Identifier: MIT */
#ifndef KIN_LEADER_ELECTION_H
#define KIN_LEADER_ELECTION_H

/** @file
 * Leader election: of several copies of a program, one acts. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kin/client.h>
#include <kin/error.h>
#include <kin/event_recorder.h>
#include <kin/export.h>
#include <kin/handler.h>
#include <kin/lister_watcher.h>
#include <kin/str.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A candidate for a Lease of coordination.k8s.io/v1 (client-go's
 * LeaderElector; it takes part in elections with programs that use client-go).
 *
 * A run begins with kin_leader_elector_start. The candidate tries to get the
 * lease, until it leads. A leader renews the lease every retry_period_ms. The
 * run ends with exactly one call of on_stopped: when the program stops or
 * closes the elector or closes the client, when the lease could not be renewed
 * in time, or when another holder is seen. The program may then start the next
 * run.
 *
 * There are never two leaders, in this sense: while
 * kin_leader_elector_is_leader returns true in one program, it returns false in
 * all others. This holds under three conditions.
 * - No clock runs faster than another by more than the factor
 *   lease_duration / D, where D is renew_deadline + the smaller of retry_period
 *   and half of (lease_duration - renew_deadline). With the defaults that is
 *   15 s / 12 s, so a clock may be a fourth faster. The times that the clocks
 *   show do not matter. Suspended time counts (CLOCK_BOOTTIME on Linux).
 * - Nobody else edits or deletes the Lease, and identities are unique.
 * - All programs obey the rules of client-go or are stricter.
 *
 * A leader that is paused between its question and its deed acts late all the
 * same: no election can prevent that. A write that must not come late needs a
 * precondition, such as the resourceVersion of the object. */
typedef struct kin_leader_elector kin_leader_elector;

/** The end of a run; valid during the callback. */
typedef struct kin_leader_stop {
  size_t size;  /**< see KIN_HAS */
  bool had_led; /**< on_started was called in this run */
  /** 0: the program stopped or closed the elector. KIN_ECLOSED: the client was
   * closed. KIN_ETIMEDOUT: the lease was not renewed in time, or the machine
   * was suspended. KIN_ECONFLICT: another holder has the lease. */
  int code;
  const char *message; /**< for people, on one line; never NULL */
} kin_leader_stop;

/** The program leads from now on. An event callback. */
typedef void (*kin_leader_started_cb)(kin_leader_elector *elector, void *data);

/** The run is over, also if the program never led. When the callback returns,
 * the lease may be released, so the program must have ended its work as a
 * leader by then. An event callback. */
typedef void (*kin_leader_stopped_cb)(kin_leader_elector *elector,
                                      const kin_leader_stop *stop, void *data);

/** The elector has seen another holder than before, which may be the program
 * itself; the first holder counts. `identity` is "" if nobody holds the lease,
 * and is valid during the call. An event callback. */
typedef void (*kin_leader_changed_cb)(kin_leader_elector *elector,
                                      kin_str identity, void *data);

/** Called for each request of the elector that fails, also if the same request
 * is sent again (see retry_period_ms); an event callback. A conflict with another
 * writer is no failure. Of the answers only KIN_STOP counts: it ends the run as
 * kin_leader_elector_stop does. */
typedef void (*kin_leader_error_cb)(kin_error_event *event, void *data);

/** An event callback; the elector is gone. */
typedef void (*kin_leader_close_cb)(void *data);

/** Options of kin_leader_elector_open. The library copies everything. */
typedef struct kin_leader_elector_options {
  size_t size; /**< set by the INIT macro */

  /** The Lease. Both are required, of at most 253 lower-case letters, digits,
   * '-' and '.'. The Lease is created if there is none, and what others write
   * into it is kept. */
  const char *namespace_;
  const char *name; /**< see namespace_ */

  /** The candidate's identity, at most 1,024 bytes of UTF-8. It must differ
   * from that of all other candidates: two programs of one identity both lead.
   * NULL: the name of the machine, '_' and 16 random hexadecimal digits. */
  const char *identity;

  /** Labels that the Lease gets with each write; other labels stay. At most
   * 64. */
  const kin_parameter *labels;
  size_t label_count; /**< see labels */

  /** The leaseDurationSeconds that this program writes when it leads: other
   * candidates take the lease when they have seen no change for that time. This
   * program, too, waits for what the Lease has, not for this option. 0: 15 s;
   * at most a day. */
  uint32_t lease_duration_s;
  /** A leader that cannot renew gives up after this time from the beginning of
   * a round; see also the conditions above. 0: 10 s. Must be less than
   * lease_duration_s.
   *
   * With qps_milli of the client each try waits for its turn behind the requests
   * of all informers, so many first lists may delay a renewal until the lead is
   * lost. Give the elector a client of its own then, or leave enough room in
   * qps_milli and burst. */
  uint32_t renew_deadline_ms;
  /** The time between two tries. A candidate adds up to 1.2 times of it at
   * random. 0: 2 s. 1.2 times of it must be less than renew_deadline_ms.
   *
   * A request is sent again within its try, or within the release, if the server
   * says when (429 or 5xx with Retry-After), and a GET also 1 s after its
   * connection broke: as kin_request does. */
  uint32_t retry_period_ms;

  /** Write an empty holder into the Lease at the end of a run, so that another
   * candidate need not wait for lease_duration_s. The release comes after
   * on_stopped, and takes at most renew_deadline_ms. A conflict with another
   * writer repeats it: once at once, then after 10 ms, 20 ms and so on.
   * A write that was under way when the run ended may reach the server after
   * the release. The lease then stays held, and the others wait for
   * lease_duration_s. A client that closes sends nothing: close the elector
   * first, and the client in its close callback. */
  bool release_on_stop;

  /** Coordinated leader election (beta in Kubernetes, off by default): the
   * server gives the lease to a candidate, and the elector only renews a lease
   * that is its own. The server knows the candidates by their objects: see
   * kin_lease_candidate. */
  bool coordinated;

  /** Records "<identity> became leader" and "<identity> stopped leading" about
   * the Lease; the reason is LeaderElection. NULL: nothing is recorded.
   * The recorder must stay open until the elector is gone. */
  kin_event_recorder *recorder;

  kin_leader_started_cb on_started;    /**< required */
  kin_leader_stopped_cb on_stopped;    /**< required */
  kin_leader_changed_cb on_new_leader; /**< may be NULL */
  kin_leader_error_cb on_error;        /**< may be NULL */
  kin_leader_close_cb on_closed; /**< may be NULL; comes after the callback
                                        * of kin_leader_elector_close */
  void *data;                    /**< passed to the callbacks */
} kin_leader_elector_options;
/** Sets the size, and each member to its default. */
#define KIN_LEADER_ELECTOR_OPTIONS_INIT                                        \
  {                                                                            \
    sizeof(kin_leader_elector_options), NULL, NULL, NULL, NULL, 0, 0, 0, 0,    \
        false, false, NULL, NULL, NULL, NULL, NULL, NULL, NULL                 \
  }

/** Opens an elector; no run begins, and nothing is sent.
 * Errors: KIN_EINVAL (a name, an identity that is no UTF-8 or too long, labels,
 * times, a callback that is missing; kin_client_problem says which), KIN_ENOTSUP
 * (members of a newer version), KIN_ECLOSED (client), KIN_ENOMEM. *out is NULL
 * then. */
KIN_EXTERN int
kin_leader_elector_open(kin_leader_elector **out, kin_client *client,
                        const kin_leader_elector_options *options);

/** Begins a run; callbacks come from later loop iterations. If the last run is
 * still being released, the new one begins after the release. After
 * kin_leader_elector_stop the next run may be asked for at once: it begins after
 * on_stopped and the release. Legal in every event callback, also in on_stopped.
 * Errors: KIN_EALREADY (a run has not been stopped and is not over, or the next
 * one has been asked for), KIN_ECLOSED (the elector). */
KIN_EXTERN int kin_leader_elector_start(kin_leader_elector *elector);

/** Ends the run: kin_leader_elector_is_leader returns false from now on,
 * on_stopped comes from a later loop iteration, and then the release.
 * Errors: KIN_EALREADY (there is no run). */
KIN_EXTERN int kin_leader_elector_stop(kin_leader_elector *elector);

/** Ends the run as kin_leader_elector_stop does, and then the elector. `cb`
 * comes after the release, and so within renew_deadline_ms of on_stopped.
 * Errors: KIN_EALREADY (closing; cb is not called). */
KIN_EXTERN int kin_leader_elector_close(kin_leader_elector *elector,
                                        kin_leader_close_cb cb, void *data);

/** Returns whether the program leads at this moment. Each call reads the clock
 * that counts suspended time. So a machine that wakes up after a suspension
 * does not lead, even before the loop has run; on_stopped then follows from the
 * next loop iteration. May be true shortly before on_started. Legal in every
 * callback. Cost: O(1), one reading of a clock. */
KIN_EXTERN bool kin_leader_elector_is_leader(kin_leader_elector *elector);

/** The holder that was seen last; "" if there is none. It may have changed
 * since. Borrowed until the next loop iteration. */
KIN_EXTERN kin_str kin_leader_elector_leader(const kin_leader_elector *elector);

/** The identity of this candidate. Borrowed until the elector is gone. */
KIN_EXTERN const char *
kin_leader_elector_identity(const kin_leader_elector *elector);

/** The number of the term: leaseTransitions of the Lease that was seen last, 0
 * without one. While the candidate leads, the number is that of its own term: a
 * term that begins later with another holder has a higher number. A candidate
 * that did not renew in time, and does so before anybody else takes the lease,
 * keeps its number. Written into objects, the number tells which leader is the
 * newer one (a fencing token). A Lease that was deleted begins at 0 again. */
KIN_EXTERN int64_t kin_leader_elector_term(const kin_leader_elector *elector);

/** For a health check (client-go's HealthzAdaptor). Returns 0 (healthy), or
 * KIN_ETIMEDOUT: the elector leads, but the last renewal is longer ago than
 * lease_duration_s and `tolerance_ms`. That happens only if the loop does not
 * run. A NULL elector is healthy. Cost: O(1). */
KIN_EXTERN int kin_leader_elector_check(const kin_leader_elector *elector,
                                        uint64_t tolerance_ms);

/** Counters of an elector, for metrics; may be read at any time. */
typedef struct kin_leader_elector_metrics {
  size_t size; /**< set by the INIT macro */

  bool is_running;     /**< a run is not over */
  bool is_leader;      /**< as kin_leader_elector_is_leader says
                        * (leader_election_master_status) */
  uint64_t terms;      /**< runs in which the program led */
  uint64_t lost;       /**< of these, ended by KIN_ETIMEDOUT or KIN_ECONFLICT */
  uint64_t tries;      /**< to get or renew the lease */
  uint64_t renewals;   /**< successful ones */
  uint64_t slow_paths; /**< renewals that read the Lease first
                        * (leader_election_slowpath_total) */
  uint64_t conflicts;  /**< writes that met another writer */
  uint64_t failures;   /**< requests that failed otherwise, each time that they
                        * were sent */
  uint64_t observed_age_ms; /**< since the last change of the Lease was seen */
} kin_leader_elector_metrics;
/** Sets the size, and each member to its default. */
#define KIN_LEADER_ELECTOR_METRICS_INIT                                        \
  { sizeof(kin_leader_elector_metrics), false, false, 0, 0, 0, 0, 0, 0, 0, 0 }

/** Copies the counters. `metrics` begins as KIN_LEADER_ELECTOR_METRICS_INIT.
 * Errors: KIN_EINVAL (the size); nothing is written then. Cost: O(1). */
KIN_EXTERN int
kin_leader_elector_get_metrics(const kin_leader_elector *elector,
                               kin_leader_elector_metrics *metrics);

#ifdef __cplusplus
}
#endif

#endif /* KIN_LEADER_ELECTION_H */
