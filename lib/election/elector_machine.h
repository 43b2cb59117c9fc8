/* SPDX-License-Identifier: MIT */
#ifndef KIN_ELECTION_ELECTOR_MACHINE_H
#define KIN_ELECTION_ELECTOR_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/random.h"

/* The decisions of a leader elector, without I/O: no request, no timer, no
 * string. Time is an argument: nanoseconds of a clock that counts suspended
 * time and never goes back. The caller puts inputs in, and then takes the next
 * step of kin__elector_next until that says to rest.
 *
 *             start                 a try succeeds
 *   IDLE ---------------> CANDIDATE ---------------> LEADER
 *    ^ ^                      |                        |
 *    | |                      | stop                   | stop, deadline, taken
 *    | |   nothing to release v                        v
 *    | +-------------------- LEAVING <-----------------+
 *    |                        | on_stopped was called
 *    +------------------- RELEASING
 *
 * A try is one to three requests (LE-04 to LE-06), one after the other:
 *
 *   RENEW with the lease in hand, if that is ours and has not expired; or else
 *   GET, and then CREATE (there is none), RENEW (it is ours) or TAKE (it is
 *   nobody's or has expired); or the try has failed.
 *
 * Why there are never two leaders. A leader counts from the moment before its
 * last successful write was sent, and stops counting `lead_ns` later. Another
 * one takes the lease `lease_ns` after it saw that write, so later than it was
 * sent. `lead_ns` is less than `lease_ns`, so this holds as long as no clock
 * runs faster than another by more than the factor lease_ns / lead_ns, and
 * nobody else edits the Lease. The server accepts one of two writes that begin
 * with the same version. */

typedef enum kin__elector_role {
  KIN__ELECTOR_IDLE,
  KIN__ELECTOR_CANDIDATE,
  KIN__ELECTOR_LEADER,
  KIN__ELECTOR_LEAVING, /* the run is over; on_stopped is to be called */
  KIN__ELECTOR_RELEASING
} kin__elector_role;

typedef enum kin__elector_request {
  KIN__ELECTOR_GET,
  KIN__ELECTOR_CREATE,
  KIN__ELECTOR_RENEW,  /* keeps acquireTime and leaseTransitions */
  KIN__ELECTOR_TAKE,   /* acquireTime now, one more transition */
  KIN__ELECTOR_RELEASE /* no holder */
} kin__elector_request;

typedef enum kin__lease_holder {
  KIN__HELD_BY_NOBODY,
  KIN__HELD_BY_ME,
  KIN__HELD_BY_OTHER
} kin__lease_holder;

typedef enum kin__elector_answer_kind {
  KIN__ANSWER_LEASE,     /* of GET: the lease, see below */
  KIN__ANSWER_NOT_FOUND, /* of GET */
  KIN__ANSWER_WRITTEN,   /* of a write */
  KIN__ANSWER_CONFLICT,  /* of a write: the lease has changed, or exists */
  KIN__ANSWER_REFUSED,   /* any other answer: nothing was written */
  KIN__ANSWER_NONE       /* no answer: a write may have happened */
} kin__elector_answer_kind;

typedef struct kin__elector_answer {
  kin__elector_answer_kind kind;
  /* Of a failure: the request was sent more than once, and an earlier time may
   * have written. */
  bool is_repeated;
  /* Of a lease. */
  bool is_changed; /* the spec differs from the last one that was seen */
  kin__lease_holder holder;
  uint32_t duration_s;
  bool has_preferred_holder;
} kin__elector_answer;

typedef enum kin__elector_end {
  KIN__ELECTOR_STOPPED,  /* by the program */
  KIN__ELECTOR_EXPIRED,  /* not renewed in time */
  KIN__ELECTOR_OVERTAKEN /* another holder was seen */
} kin__elector_end;

/* All in nanoseconds. */
typedef struct kin__elector_times {
  uint64_t lease_ns;
  uint64_t renew_deadline_ns;
  uint64_t retry_ns;
} kin__elector_times;

typedef enum kin__elector_action {
  KIN__ELECTOR_CANCEL,  /* the request in flight; its answer must still come */
  KIN__ELECTOR_REPORT,  /* a try has ended: the holder may be another */
  KIN__ELECTOR_STARTED, /* call on_started */
  KIN__ELECTOR_ENDED,   /* call on_stopped; `end` and `had_led` say why */
  KIN__ELECTOR_SEND,    /* send `request` */
  KIN__ELECTOR_REST     /* until an input, or until `due_ns` */
} kin__elector_action;

typedef struct kin__elector_machine {
  kin__elector_times times;
  uint64_t lead_ns; /* see above */
  bool releases;
  bool is_coordinated;
  kin__random *random;

  kin__elector_role role;
  kin__elector_request request; /* the next one, or the one in flight */
  bool is_wanted;               /* the request is to be sent */
  bool is_in_flight;
  bool is_fast;     /* the try began with RENEW (LE-04) */
  bool is_dropped;  /* the answer of the one in flight does not count */
  uint64_t due_ns;  /* neither of these: the next try, of a release, too */
  uint64_t wait_ns; /* RELEASING: after the next conflict */

  uint64_t round_ns;      /* LEADER: when the round began; RELEASING: when the
                           * release did */
  uint64_t tick_ns;       /* LEADER: when the last try of the round was due */
  uint64_t sent_ns;       /* of the request in flight */
  uint64_t lead_until_ns; /* LEADER */

  kin__lease_holder holder; /* observed */
  uint64_t duration_ns;
  uint64_t observed_ns;

  bool must_cancel;
  bool must_report;
  bool must_tell_started;
  bool must_begin_release; /* its time begins when on_stopped has returned */
  /* We led or saw our lease, or a write without an answer may have made us
   * holder. */
  bool may_hold;
  bool starts_again; /* after the release */
  bool stops_again;  /* and ends at once */
  bool had_led;      /* in this run; the program was told */
  kin__elector_end end;

  uint64_t tries;
  uint64_t failures;
  uint64_t conflicts;
  uint64_t slow_paths;
  uint64_t renewals;
} kin__elector_machine;

/* lease_ns > renew_deadline_ns > 1.2 retry_ns > 0 (LE-01). */
void kin__elector_init(kin__elector_machine *machine,
                       const kin__elector_times *times, kin__random *random);

/* --- Inputs --------------------------------------------------------------- */

/* Begins a run. Returns whether there was none. */
bool kin__elector_start(kin__elector_machine *machine, uint64_t now_ns);
/* Ends the run. If `can_release` is false nothing more is sent. Returns whether
 * there was a run to end. */
bool kin__elector_stop(kin__elector_machine *machine, bool can_release);
/* Whether the answer to the request in flight counts. If not, its lease must not
 * be remembered: otherwise the machine would never learn that it has changed,
 * and would judge it by the time of the one before. */
bool kin__elector_wants_answer(const kin__elector_machine *machine);
/* The answer to the request in flight, also to a cancelled one. */
void kin__elector_answer_came(kin__elector_machine *machine,
                              const kin__elector_answer *answer,
                              uint64_t now_ns);

/* --- Outputs -------------------------------------------------------------- */

/* The next thing to do. The machine takes it for done. */
kin__elector_action kin__elector_next(kin__elector_machine *machine,
                                      uint64_t now_ns);
/* Nothing is left to do before the next start. */
bool kin__elector_is_idle(const kin__elector_machine *machine);
/* When kin__elector_next has something to do at the latest; UINT64_MAX: not
 * before an input. */
uint64_t kin__elector_due_ns(const kin__elector_machine *machine);
/* Whether the lease is ours beyond doubt at this moment. */
bool kin__elector_is_leader(const kin__elector_machine *machine,
                            uint64_t now_ns);
/* LE-11: whether a leader has not renewed for the lease's duration and
 * `tolerance_ns` more. */
bool kin__elector_is_stuck(const kin__elector_machine *machine, uint64_t now_ns,
                           uint64_t tolerance_ns);

#endif /* KIN_ELECTION_ELECTOR_MACHINE_H */
