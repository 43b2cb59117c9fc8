/* SPDX-License-Identifier: MIT */
/* Three replicas compete for one Lease (LE-02 to LE-09), each with a clock of
 * its own: their offsets are random, and one may run up to 1.24 times as fast
 * as another (1.25 is the bound of <kin/leader_election.h> for the default
 * times). Requests and answers take up to 8 s or are lost; a request that its
 * sender has given up may still be carried out. Replicas are paused for up to
 * 40 s, as by SIGSTOP or a suspended machine: the clock goes on, and nothing
 * else does.
 *
 * At each moment is_leader is asked of all replicas, also of paused ones, and
 * is true in one at most. When the leader dies and the network is well, another
 * one leads within 25 s. Each run of a replica follows another run on the same
 * machine. Each seed is run twice, with the same result.
 *
 * usage: test_election_model [SEEDS [FIRST]]; a failure names its seed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "election/elector_machine.h"
#include "support/seeds.h"

#define REPLICAS 3
#define MESSAGES 64
#define MS UINT64_C(1000000)
#define S (1000 * MS)
#define CHAOS_S 240u
#define REPLACED_WITHIN_NS (25 * S)
#define TIMEOUT_NS (5 * S)

typedef struct lease {
  bool exists;
  unsigned version;
  int holder; /* -1: nobody */
  uint32_t duration_s;
} lease;

typedef struct message {
  bool is_used;
  bool has_arrived;
  bool is_request_lost;
  bool is_answer_lost;
  int from;
  unsigned number;
  kin__elector_request request;
  unsigned base; /* the version that is replaced */
  uint64_t arrives_ns;
  uint64_t answered_ns;
  kin__elector_answer answer;
  lease seen;
} message;

typedef struct replica {
  kin__elector_machine machine;
  kin__random random;
  uint64_t offset_ns;
  unsigned rate; /* thousandths */
  uint64_t paused_until_ns;
  bool is_dead;
  lease in_hand;
  unsigned waits_for; /* the number of a message; 0: none */
  uint64_t gives_up_ns;
  bool is_cancelled;
  unsigned runs;
  unsigned terms;
} replica;

static struct {
  uint64_t now_ns;
  kin__random random;
  lease lease;
  replica replicas[REPLICAS];
  message messages[MESSAGES];
  unsigned numbers;
  bool is_calm;
  unsigned max_rate;
  uint64_t hash;
  unsigned violations;
} w;

static struct {
  uint64_t terms;
  uint64_t expired;
  uint64_t overtaken;
  uint64_t released;
  uint64_t zombies; /* carried out after they were given up */
  uint64_t pauses_of_leaders;
  uint64_t second_runs;
} seen;

static unsigned below(unsigned bound) {
  return (unsigned)kin__random_below(&w.random, bound);
}

static bool chance(unsigned percent) {
  return below(100) < percent;
}

static void note(uint64_t value) {
  w.hash = (w.hash ^ value) * UINT64_C(1099511628211);
}

static uint64_t clock_of(const replica *r) {
  return r->offset_ns + w.now_ns / 1000 * r->rate;
}

static int number_of(const replica *r) {
  return (int)(r - w.replicas);
}

/* --- The server ----------------------------------------------------------- */

static bool is_write(kin__elector_request request) {
  return request != KIN__ELECTOR_GET;
}

static void write_lease(message *m) {
  bool is_release = m->request == KIN__ELECTOR_RELEASE;
  w.lease.exists = true;
  w.lease.version++;
  w.lease.holder = is_release ? -1 : m->from;
  w.lease.duration_s = is_release ? 1 : 15;
  m->answer.kind = KIN__ANSWER_WRITTEN;
  seen.released += is_release;
  seen.zombies += w.replicas[m->from].waits_for != m->number;
  note((uint64_t)m->request * 8 + (unsigned)m->from);
}

static void carry_out(message *m) {
  m->has_arrived = true;
  m->answer = (kin__elector_answer){.kind = KIN__ANSWER_CONFLICT};
  if (m->request == KIN__ELECTOR_GET) {
    m->answer.kind = w.lease.exists ? KIN__ANSWER_LEASE : KIN__ANSWER_NOT_FOUND;
  } else if (m->request == KIN__ELECTOR_CREATE) {
    if (!w.lease.exists) {
      write_lease(m);
    }
  } else if (w.lease.exists && w.lease.version == m->base) {
    write_lease(m);
  }
  m->seen = w.lease;
}

/* --- A replica ------------------------------------------------------------ */

static void answer(replica *r, const message *m) {
  kin__elector_answer given = {.kind = KIN__ANSWER_NONE};
  if (m != NULL && kin__elector_wants_answer(&r->machine)) {
    given = m->answer;
    if (given.kind == KIN__ANSWER_LEASE) {
      given.is_changed =
          !r->in_hand.exists || r->in_hand.version != m->seen.version;
      given.holder = m->seen.holder < 0               ? KIN__HELD_BY_NOBODY
                     : m->seen.holder == number_of(r) ? KIN__HELD_BY_ME
                                                      : KIN__HELD_BY_OTHER;
      given.duration_s = m->seen.duration_s;
    }
    if (given.kind == KIN__ANSWER_LEASE || given.kind == KIN__ANSWER_WRITTEN ||
        given.kind == KIN__ANSWER_NOT_FOUND) {
      r->in_hand = m->seen;
    }
  }
  r->waits_for = 0;
  r->is_cancelled = false;
  kin__elector_answer_came(&r->machine, &given, clock_of(r));
}

static uint64_t delay_ns(void) {
  if (w.is_calm) {
    return below(50) * MS;
  }
  return chance(80) ? below(300) * MS : below(8000) * MS;
}

static void send(replica *r) {
  message *m = w.messages;
  while (m < w.messages + MESSAGES && m->is_used) {
    m++;
  }
  assert_true(m < w.messages + MESSAGES);
  *m = (message){.is_used = true,
                 .from = number_of(r),
                 .number = ++w.numbers,
                 .request = r->machine.request,
                 .base = r->in_hand.version,
                 .arrives_ns = w.now_ns + delay_ns(),
                 .is_request_lost = !w.is_calm && chance(10),
                 .is_answer_lost = !w.is_calm && chance(10)};
  m->answered_ns = m->arrives_ns + delay_ns();
  bool needs_lease = is_write(m->request) && m->request != KIN__ELECTOR_CREATE;
  assert_true(!needs_lease || r->in_hand.exists);
  r->waits_for = m->number;
  r->gives_up_ns = clock_of(r) + TIMEOUT_NS;
}

static void end_run(replica *r) {
  seen.expired += r->machine.end == KIN__ELECTOR_EXPIRED;
  seen.overtaken += r->machine.end == KIN__ELECTOR_OVERTAKEN;
  note(1000 + r->machine.end);
  assert_true(kin__elector_start(&r->machine, clock_of(r)));
  assert_false(kin__elector_start(&r->machine, clock_of(r)));
  r->runs++;
  seen.second_runs += r->runs == 2;
}

static void run(replica *r) {
  for (unsigned steps = 0;; steps++) {
    assert_true(steps < 20);
    switch (kin__elector_next(&r->machine, clock_of(r))) {
    case KIN__ELECTOR_CANCEL:
      r->is_cancelled = true;
      break;
    case KIN__ELECTOR_REPORT:
      break;
    case KIN__ELECTOR_STARTED:
      r->terms++;
      seen.terms++;
      note(100 + (unsigned)number_of(r));
      break;
    case KIN__ELECTOR_ENDED:
      assert_false(kin__elector_is_leader(&r->machine, clock_of(r)));
      end_run(r);
      break;
    case KIN__ELECTOR_SEND:
      assert_int_equal(r->waits_for, 0);
      send(r);
      break;
    case KIN__ELECTOR_REST:
      return;
    }
  }
}

static bool is_awake(const replica *r) {
  return !r->is_dead && r->paused_until_ns <= w.now_ns;
}

static void live(replica *r) {
  if (!is_awake(r)) {
    return;
  }
  for (unsigned i = 0; i < MESSAGES; i++) {
    message *m = &w.messages[i];
    if (m->is_used && m->has_arrived && m->number == r->waits_for &&
        m->answered_ns <= w.now_ns && !m->is_answer_lost) {
      m->is_used = false;
      answer(r, m);
    }
  }
  if (r->waits_for != 0 && (r->is_cancelled || clock_of(r) >= r->gives_up_ns)) {
    answer(r, NULL);
  }
  if (!w.is_calm && chance(1) && chance(30)) {
    (void)kin__elector_stop(&r->machine, true);
  }
  run(r);
}

/* --- The world ------------------------------------------------------------ */

static int leader(void) {
  int found = -1;
  for (int i = 0; i < REPLICAS; i++) {
    const replica *r = &w.replicas[i];
    if (kin__elector_is_leader(&r->machine, clock_of(r))) {
      w.violations += found >= 0;
      found = i;
    }
  }
  return found;
}

static void deliver(void) {
  for (unsigned i = 0; i < MESSAGES; i++) {
    message *m = &w.messages[i];
    if (m->is_used && !m->has_arrived && m->arrives_ns <= w.now_ns) {
      if (m->is_request_lost) {
        m->is_used = false;
      } else {
        carry_out(m);
      }
    }
    bool is_waited_for =
        m->is_used && w.replicas[m->from].waits_for == m->number;
    if (m->has_arrived && !is_waited_for) {
      m->is_used = false;
    }
  }
}

static void pass(void) {
  w.now_ns += 1 + below(w.is_calm ? 50 : 400) * MS;
  deliver();
  (void)leader();
  for (int i = 0; i < REPLICAS; i++) {
    replica *r = &w.replicas[i];
    if (!w.is_calm && is_awake(r) && chance(1)) {
      r->paused_until_ns = w.now_ns + below(40000) * MS;
      seen.pauses_of_leaders +=
          kin__elector_is_leader(&r->machine, clock_of(r));
    }
    if (w.is_calm || chance(90)) {
      live(r);
    }
    (void)leader();
  }
}

/* From now on requests and answers come, and nobody is paused. */
static void calm_down(void) {
  w.is_calm = true;
  for (unsigned i = 0; i < MESSAGES; i++) {
    message *m = &w.messages[i];
    bool is_done = w.replicas[m->from].waits_for != m->number;
    if (m->is_used && is_done) {
      m->is_used = false;
    } else if (m->is_used) {
      m->is_request_lost = m->is_answer_lost = false;
      m->arrives_ns = m->answered_ns = w.now_ns;
    }
  }
  for (int i = 0; i < REPLICAS; i++) {
    w.replicas[i].paused_until_ns = 0;
    if (w.replicas[i].waits_for != 0) {
      w.replicas[i].gives_up_ns = 0; /* its message may be lost already */
    }
  }
}

static void expect_leader_within(uint64_t ns) {
  uint64_t end_ns = w.now_ns + ns;
  while (leader() < 0) {
    assert_true(w.now_ns < end_ns);
    pass();
  }
}

static void begin(uint64_t seed, uint64_t lead_factor) {
  memset(&w, 0, sizeof w);
  w.random.state = seed;
  w.now_ns = 1000 * S;
  w.hash = UINT64_C(14695981039346656037);
  w.lease.holder = -1;
  const kin__elector_times times = {
      .lease_ns = 15 * S, .renew_deadline_ns = 10 * S, .retry_ns = 2 * S};
  for (int i = 0; i < REPLICAS; i++) {
    replica *r = &w.replicas[i];
    r->random.state = kin__random_next(&w.random);
    r->offset_ns = kin__random_below(&w.random, 1000000) * S;
    r->rate = 1000 + below(241);
    kin__elector_init(&r->machine, &times, &r->random);
    r->machine.releases = chance(50);
    r->machine.lead_ns *= lead_factor;
    assert_true(kin__elector_start(&r->machine, clock_of(r)));
    r->runs = 1;
  }
}

static void chaos(void) {
  uint64_t end_ns = w.now_ns + CHAOS_S * S;
  while (w.now_ns < end_ns) {
    pass();
  }
}

static void story(uint64_t seed) {
  begin(seed, 1);
  chaos();
  calm_down();
  expect_leader_within(REPLACED_WITHIN_NS);
  w.replicas[leader()].is_dead = true;
  while (leader() >= 0) { /* it still counts until its time is over */
    pass();
  }
  expect_leader_within(REPLACED_WITHIN_NS);
  assert_int_equal(w.violations, 0);
}

static void run_seed(uint64_t seed) {
  story(seed);
  uint64_t hash = w.hash;
  story(seed);
  assert_true(hash == w.hash);
}

/* LE-02, LE-03, LE-04, LE-05, LE-06, LE-07, LE-09. */
static void test_election_random_runs(void **state) {
  (void)state;
  seeds_run(run_seed);
  assert_int_equal(seen.overtaken, 0); /* a leader gives up before */
  if (seeds_count >= 100) {            /* the runs are not idle */
    assert_true(seen.terms >= seeds_count * 6);
    assert_true(seen.expired >= seeds_count);
    assert_true(seen.released >= seeds_count / 10);
    assert_true(seen.zombies >= seeds_count / 2);
    assert_true(seen.pauses_of_leaders >= seeds_count);
    assert_true(seen.second_runs >= seeds_count);
  }
}

/* A leader that counts for longer than the lease is found out. */
static void test_election_model_finds_two_leaders(void **state) {
  (void)state;
  unsigned found = 0;
  for (uint64_t seed = 1; seed <= 20; seed++) {
    begin(seed, 4);
    chaos();
    found += w.violations > 0;
  }
  assert_true(found > 0);
}

int main(int argc, char **argv) {
  seeds_take(argc, argv, 400, 0);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_teardown(test_election_random_runs, seeds_tell),
      cmocka_unit_test(test_election_model_finds_two_leaders)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
