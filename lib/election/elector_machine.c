/* SPDX-License-Identifier: MIT */
#include "election/elector_machine.h"

#define NS_PER_S UINT64_C(1000000000)
#define RELEASE_WAIT_NS UINT64_C(10000000)

void kin__elector_init(kin__elector_machine *machine,
                       const kin__elector_times *times, kin__random *random) {
  uint64_t spare_ns = times->lease_ns - times->renew_deadline_ns;
  uint64_t wait_ns =
      times->retry_ns < spare_ns / 2 ? times->retry_ns : spare_ns / 2;
  *machine =
      (kin__elector_machine){.times = *times,
                             .lead_ns = times->renew_deadline_ns + wait_ns,
                             .random = random,
                             .holder = KIN__HELD_BY_NOBODY};
}

/* --- Deadlines ------------------------------------------------------------ */

/* LE-03: a round has a deadline, and so has the lease itself. */
static uint64_t lead_deadline_ns(const kin__elector_machine *machine) {
  uint64_t round_end_ns = machine->round_ns + machine->times.renew_deadline_ns;
  return round_end_ns < machine->lead_until_ns ? round_end_ns
                                               : machine->lead_until_ns;
}

static uint64_t deadline_ns(const kin__elector_machine *machine) {
  if (machine->role == KIN__ELECTOR_LEADER) {
    return lead_deadline_ns(machine);
  }
  return machine->role == KIN__ELECTOR_RELEASING
             ? machine->round_ns + machine->times.renew_deadline_ns
             : UINT64_MAX;
}

static bool is_lease_valid(const kin__elector_machine *machine,
                           uint64_t now_ns) {
  return machine->observed_ns + machine->duration_ns > now_ns;
}

/* --- The end of a run ----------------------------------------------------- */

static void drop_request(kin__elector_machine *machine) {
  machine->is_wanted = false;
  if (machine->is_in_flight && !machine->is_dropped) {
    machine->must_cancel = true;
    machine->is_dropped = true;
  }
}

static void leave(kin__elector_machine *machine, kin__elector_end end) {
  bool may_write = machine->is_in_flight && !machine->is_dropped &&
                   machine->request != KIN__ELECTOR_GET;
  machine->may_hold |= machine->role == KIN__ELECTOR_LEADER || may_write ||
                       machine->holder == KIN__HELD_BY_ME;
  drop_request(machine);
  machine->must_tell_started = false;
  machine->must_report = true;
  machine->end = end;
  machine->role = KIN__ELECTOR_LEAVING;
}

static void want(kin__elector_machine *machine, kin__elector_request request) {
  machine->request = request;
  machine->is_wanted = true;
}

/* on_stopped is called next. */
static void leave_on(kin__elector_machine *machine) {
  if (machine->releases && machine->may_hold &&
      machine->end != KIN__ELECTOR_OVERTAKEN) {
    machine->role = KIN__ELECTOR_RELEASING;
    machine->must_begin_release = true;
    machine->wait_ns = 0;
    want(machine, KIN__ELECTOR_GET);
  } else {
    machine->role = KIN__ELECTOR_IDLE;
  }
}

static void end_release(kin__elector_machine *machine) {
  drop_request(machine);
  machine->role = KIN__ELECTOR_IDLE;
}

/* --- A try ---------------------------------------------------------------- */

static void begin_try(kin__elector_machine *machine, uint64_t now_ns) {
  machine->is_fast = !machine->is_coordinated &&
                     machine->holder == KIN__HELD_BY_ME &&
                     is_lease_valid(machine, now_ns); /* LE-04 */
  machine->tries++;
  want(machine, machine->is_fast ? KIN__ELECTOR_RENEW : KIN__ELECTOR_GET);
}

/* The first try of a round is due at once (LE-03). */
static void begin_round(kin__elector_machine *machine, uint64_t at_ns) {
  machine->round_ns = machine->tick_ns = machine->due_ns = at_ns;
}

/* A tick that passed during a try is made up for, but only one. */
static uint64_t next_tick_ns(kin__elector_machine *machine, uint64_t now_ns) {
  uint64_t retry_ns = machine->times.retry_ns;
  uint64_t passed =
      now_ns > machine->round_ns ? (now_ns - machine->round_ns) / retry_ns : 0;
  uint64_t last_ns = machine->round_ns + passed * retry_ns;
  machine->tick_ns =
      last_ns > machine->tick_ns ? last_ns : machine->tick_ns + retry_ns;
  return machine->tick_ns > now_ns ? machine->tick_ns : now_ns;
}

/* LE-02, LE-03. */
static void fail_try(kin__elector_machine *machine, uint64_t now_ns) {
  uint64_t retry_ns = machine->times.retry_ns;
  machine->must_report = true;
  machine->due_ns =
      machine->role == KIN__ELECTOR_LEADER
          ? next_tick_ns(machine, now_ns)
          : now_ns + retry_ns +
                kin__random_below(machine->random, retry_ns / 5 * 6);
}

/* The lease is ours as of the moment at which the write was sent. An answer may
 * be too late for that to count: who asked before it came may know by then that
 * the program does not lead. */
static void succeed(kin__elector_machine *machine, uint64_t now_ns) {
  machine->holder = KIN__HELD_BY_ME;
  machine->duration_ns = machine->times.lease_ns;
  machine->observed_ns = machine->sent_ns;
  uint64_t lead_until_ns = machine->sent_ns + machine->lead_ns;
  if (now_ns >= lead_until_ns || now_ns >= deadline_ns(machine)) {
    machine->may_hold = true;
    machine->failures++;
    fail_try(machine, now_ns);
    return;
  }
  machine->must_report = true;
  machine->lead_until_ns = lead_until_ns;
  machine->renewals++;
  if (machine->role == KIN__ELECTOR_CANDIDATE) {
    machine->role = KIN__ELECTOR_LEADER;
    machine->must_tell_started = true;
    begin_round(machine, now_ns);
  } else {
    begin_round(machine, now_ns + machine->times.retry_ns);
  }
}

/* --- Answers -------------------------------------------------------------- */

static void observe(kin__elector_machine *machine,
                    const kin__elector_answer *answer, uint64_t now_ns) {
  if (answer->is_changed) { /* LE-05 */
    machine->holder = answer->holder;
    machine->duration_ns = answer->duration_s * NS_PER_S;
    machine->observed_ns = now_ns;
  }
}

/* LE-12. */
static void judge_coordinated(kin__elector_machine *machine,
                              const kin__elector_answer *answer,
                              uint64_t now_ns) {
  bool is_mine = machine->holder == KIN__HELD_BY_ME &&
                 is_lease_valid(machine, now_ns) &&
                 !answer->has_preferred_holder;
  if (is_mine) {
    machine->slow_paths++;
    want(machine, KIN__ELECTOR_RENEW);
  } else {
    fail_try(machine, now_ns);
  }
}

static void judge_lease(kin__elector_machine *machine,
                        const kin__elector_answer *answer, uint64_t now_ns) {
  observe(machine, answer, now_ns);
  bool is_others = machine->holder == KIN__HELD_BY_OTHER;
  if (is_others && machine->role == KIN__ELECTOR_LEADER) {
    leave(machine, KIN__ELECTOR_OVERTAKEN);
  } else if (machine->is_coordinated) {
    judge_coordinated(machine, answer, now_ns);
  } else if (is_others && is_lease_valid(machine, now_ns)) { /* LE-06 */
    fail_try(machine, now_ns);
  } else if (machine->holder == KIN__HELD_BY_ME) {
    machine->slow_paths++;
    want(machine, KIN__ELECTOR_RENEW);
  } else {
    want(machine, KIN__ELECTOR_TAKE);
  }
}

static void take_try_answer(kin__elector_machine *machine,
                            const kin__elector_answer *answer,
                            uint64_t now_ns) {
  switch (answer->kind) {
  case KIN__ANSWER_WRITTEN:
    succeed(machine, now_ns);
    break;
  case KIN__ANSWER_LEASE:
    judge_lease(machine, answer, now_ns);
    break;
  case KIN__ANSWER_NOT_FOUND:
    if (machine->is_coordinated) {
      fail_try(machine, now_ns);
    } else {
      want(machine, KIN__ELECTOR_CREATE);
    }
    break;
  default:
    if (machine->is_fast) {
      machine->is_fast = false;
      want(machine, KIN__ELECTOR_GET);
    } else {
      fail_try(machine, now_ns);
    }
  }
}

/* The first repetition comes at once, and each later one after twice the time of
 * the one before. So their number is small within the deadline. */
static void repeat_release(kin__elector_machine *machine, uint64_t now_ns) {
  machine->due_ns = now_ns + machine->wait_ns;
  machine->wait_ns =
      machine->wait_ns == 0 ? RELEASE_WAIT_NS : 2 * machine->wait_ns;
}

/* LE-09. Only a lease that is ours on the server is released. */
static void take_release_answer(kin__elector_machine *machine,
                                const kin__elector_answer *answer,
                                uint64_t now_ns) {
  if (answer->kind == KIN__ANSWER_LEASE) {
    observe(machine, answer, now_ns);
    if (answer->holder == KIN__HELD_BY_ME) {
      want(machine, KIN__ELECTOR_RELEASE);
      return;
    }
  } else if (answer->kind == KIN__ANSWER_CONFLICT) {
    repeat_release(machine, now_ns);
    return;
  } else if (answer->kind == KIN__ANSWER_WRITTEN) {
    machine->holder = KIN__HELD_BY_NOBODY;
    machine->may_hold = false;
    machine->must_report = true;
  }
  end_release(machine);
}

static void count(kin__elector_machine *machine,
                  const kin__elector_answer *answer) {
  if (answer->kind == KIN__ANSWER_CONFLICT) {
    machine->conflicts++;
  } else if (answer->kind == KIN__ANSWER_REFUSED ||
             answer->kind == KIN__ANSWER_NONE) {
    machine->failures++;
  }
}

bool kin__elector_wants_answer(const kin__elector_machine *machine) {
  return !machine->is_dropped;
}

void kin__elector_answer_came(kin__elector_machine *machine,
                              const kin__elector_answer *answer,
                              uint64_t now_ns) {
  machine->is_in_flight = false;
  machine->must_cancel = false;
  if (machine->is_dropped) {
    machine->is_dropped = false;
    return;
  }
  count(machine, answer);
  if (answer->kind == KIN__ANSWER_NOT_FOUND) {
    machine->holder = KIN__HELD_BY_NOBODY;
  }
  if (machine->role == KIN__ELECTOR_RELEASING) {
    take_release_answer(machine, answer, now_ns);
    return;
  }
  machine->may_hold |=
      machine->request != KIN__ELECTOR_GET &&
      (answer->kind == KIN__ANSWER_NONE || answer->is_repeated);
  take_try_answer(machine, answer, now_ns);
}

/* --- Inputs --------------------------------------------------------------- */

/* A run that was stopped before it began ends all the same. */
static void begin_run(kin__elector_machine *machine, uint64_t now_ns) {
  machine->role = KIN__ELECTOR_CANDIDATE;
  machine->starts_again = false;
  machine->had_led = false;
  machine->may_hold = false;
  machine->due_ns = now_ns;
  if (machine->stops_again) {
    machine->stops_again = false;
    leave(machine, KIN__ELECTOR_STOPPED);
  }
}

bool kin__elector_start(kin__elector_machine *machine, uint64_t now_ns) {
  if (machine->starts_again) {
    return false; /* also while that run could begin already */
  }
  if (machine->role == KIN__ELECTOR_IDLE && !machine->is_in_flight) {
    begin_run(machine, now_ns);
    return true;
  }
  bool is_ending = machine->role == KIN__ELECTOR_IDLE ||
                   machine->role == KIN__ELECTOR_LEAVING ||
                   machine->role == KIN__ELECTOR_RELEASING;
  machine->starts_again = is_ending;
  return is_ending;
}

bool kin__elector_stop(kin__elector_machine *machine, bool can_release) {
  bool is_trying = machine->role == KIN__ELECTOR_CANDIDATE ||
                   machine->role == KIN__ELECTOR_LEADER;
  bool was_running =
      is_trying || (machine->starts_again && !machine->stops_again);
  machine->stops_again = machine->starts_again;
  if (is_trying) {
    leave(machine, KIN__ELECTOR_STOPPED);
  }
  if (!can_release) {
    machine->releases = false;
    if (machine->role == KIN__ELECTOR_RELEASING) {
      end_release(machine);
    }
  }
  return was_running;
}

/* --- Outputs -------------------------------------------------------------- */

/* Between two tries, or two tries of a release. */
static bool is_resting(const kin__elector_machine *machine) {
  bool is_trying = machine->role == KIN__ELECTOR_CANDIDATE ||
                   machine->role == KIN__ELECTOR_LEADER ||
                   machine->role == KIN__ELECTOR_RELEASING;
  return is_trying && !machine->is_wanted && !machine->is_in_flight;
}

/* Ends a role whose deadline has passed: of a leader without a renewal, or of a
 * release without an answer. */
static void look_at_clock(kin__elector_machine *machine, uint64_t now_ns) {
  if (now_ns >= deadline_ns(machine)) {
    if (machine->role == KIN__ELECTOR_LEADER) {
      leave(machine, KIN__ELECTOR_EXPIRED);
    } else {
      end_release(machine);
    }
  }
  if (machine->role == KIN__ELECTOR_IDLE && machine->starts_again &&
      !machine->is_in_flight) {
    begin_run(machine, now_ns);
  }
  if (is_resting(machine) && !machine->must_tell_started &&
      now_ns >= machine->due_ns) {
    if (machine->role == KIN__ELECTOR_RELEASING) {
      want(machine, KIN__ELECTOR_GET);
    } else {
      begin_try(machine, now_ns);
    }
  }
}

static bool take(bool *flag) {
  bool was_set = *flag;
  *flag = false;
  return was_set;
}

kin__elector_action kin__elector_next(kin__elector_machine *machine,
                                      uint64_t now_ns) {
  if (take(&machine->must_begin_release)) {
    machine->round_ns = now_ns; /* on_stopped has returned */
  }
  look_at_clock(machine, now_ns);
  if (take(&machine->must_cancel)) {
    return KIN__ELECTOR_CANCEL;
  }
  if (take(&machine->must_report)) {
    return KIN__ELECTOR_REPORT;
  }
  if (take(&machine->must_tell_started)) {
    machine->had_led = true;
    return KIN__ELECTOR_STARTED;
  }
  if (machine->role == KIN__ELECTOR_LEAVING) {
    leave_on(machine);
    return KIN__ELECTOR_ENDED;
  }
  if (machine->is_wanted && !machine->is_in_flight) {
    machine->is_wanted = false;
    machine->is_in_flight = true;
    machine->is_dropped = false;
    machine->sent_ns = now_ns;
    return KIN__ELECTOR_SEND;
  }
  return KIN__ELECTOR_REST;
}

bool kin__elector_is_idle(const kin__elector_machine *machine) {
  return machine->role == KIN__ELECTOR_IDLE && !machine->is_in_flight &&
         !machine->starts_again && !machine->must_report;
}

uint64_t kin__elector_due_ns(const kin__elector_machine *machine) {
  uint64_t due_ns = deadline_ns(machine);
  return is_resting(machine) && machine->due_ns < due_ns ? machine->due_ns
                                                         : due_ns;
}

bool kin__elector_is_leader(const kin__elector_machine *machine,
                            uint64_t now_ns) {
  return machine->role == KIN__ELECTOR_LEADER &&
         now_ns < lead_deadline_ns(machine);
}

bool kin__elector_is_stuck(const kin__elector_machine *machine, uint64_t now_ns,
                           uint64_t tolerance_ns) {
  uint64_t age_ns =
      now_ns > machine->observed_ns ? now_ns - machine->observed_ns : 0;
  return machine->role == KIN__ELECTOR_LEADER &&
         age_ns > machine->times.lease_ns &&
         age_ns - machine->times.lease_ns > tolerance_ns;
}
