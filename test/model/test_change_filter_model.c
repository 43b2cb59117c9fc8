/* SPDX-License-Identifier: MIT */

/* Random stories against a simple model of a change filter, which keeps all
 * states and times of each key: the filter tells the same, of the same keys, at
 * the same millisecond; for each key by itself and for all together.
 *
 * usage: test_change_filter_model [SEEDS [FIRST]]; a failure names its seed. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "support/filter_rig.h"
#include "support/seeds.h"

#define KEYS 5
#define STEPS 60
#define VALUES 3
#define ABSENT (-1)

typedef struct value_state {
  int value; /* ABSENT: there is none */
  int uid;
} value_state;

typedef struct key {
  value_state now;
  value_state told;
  bool waits;
  uint64_t first_ms;
  uint64_t last_ms;
  unsigned changes;
} key;

typedef struct model {
  key keys[KEYS];
  uint64_t debounce_ms;
  uint64_t max_wait_ms;
  uint64_t now_ms;
  bool is_for_all;
  unsigned changes; /* for all: since the last call */
  uint64_t first_ms;
  uint64_t last_ms;
  char told[KEYS][1024]; /* what is expected of each key */
  char told_of_all[4096];
} model;

static filter_rig rig;
static model m;
static kin__random rng;
static char seen[KEYS][1024];
static unsigned long told_in_total;

static uint64_t due_ms(uint64_t first_ms, uint64_t last_ms) {
  uint64_t due = last_ms + m.debounce_ms;
  uint64_t latest = first_ms + m.max_wait_ms;
  return due < latest ? due : latest;
}

/* ' ' if nothing would be told. */
static char net(const value_state *told, const value_state *now) {
  if (told->value == ABSENT) {
    return now->value == ABSENT ? ' ' : 'A';
  }
  if (now->value == ABSENT) {
    return 'D';
  }
  if (told->uid != now->uid) {
    return 'R';
  }
  return told->value != now->value ? 'U' : ' ';
}

static void note(char *text, size_t size, const char *what, uint64_t ms,
                 unsigned long changes) {
  size_t length = strlen(text);
  snprintf(text + length, size - length, "%s x%lu @%u ", what, changes,
           (unsigned)ms);
}

static void expect_of_key(int i, char type, uint64_t ms, unsigned changes) {
  const key *k = &m.keys[i];
  char what[64];
  if (type == 'U' || type == 'R') {
    /* The told value; of a recreated object the last state counts, which this
     * model's source sends with the value 0. */
    snprintf(what, sizeof what, "%c>%d", type, k->now.value);
  } else {
    snprintf(what, sizeof what, "%c", type);
  }
  note(m.told[i], sizeof m.told[i], what, ms, changes);
  told_in_total++;
}

static void tell_key(int i, uint64_t ms) {
  key *k = &m.keys[i];
  char type = net(&k->told, &k->now);
  if (type != ' ') {
    expect_of_key(i, type, ms, k->changes);
  }
  k->told = k->now;
  k->waits = false;
  k->changes = 0;
}

static void tell_all(uint64_t ms) {
  unsigned added = 0;
  unsigned updated = 0;
  unsigned deleted = 0;
  for (int i = 0; i < KEYS; i++) {
    char type = net(&m.keys[i].told, &m.keys[i].now);
    added += type == 'A';
    updated += type == 'U' || type == 'R';
    deleted += type == 'D';
    m.keys[i].told = m.keys[i].now;
  }
  if (added + updated + deleted > 0) {
    char what[64];
    snprintf(what, sizeof what, "+%u~%u-%u", added, updated, deleted);
    note(m.told_of_all, sizeof m.told_of_all, what, ms, m.changes);
    told_in_total++;
  }
  m.changes = 0;
}

/* Time passes; each wait that ends is told in the millisecond of its end. */
static void pass_in_model(uint64_t ms) {
  for (; ms > 0; ms--) {
    m.now_ms++;
    for (int i = 0; !m.is_for_all && i < KEYS; i++) {
      const key *k = &m.keys[i];
      if (k->waits && due_ms(k->first_ms, k->last_ms) <= m.now_ms) {
        tell_key(i, m.now_ms);
      }
    }
    if (m.is_for_all && m.changes > 0 &&
        due_ms(m.first_ms, m.last_ms) <= m.now_ms) {
      tell_all(m.now_ms);
    }
  }
}

static void note_change(int i, unsigned changes) {
  key *k = &m.keys[i];
  if (m.is_for_all) {
    m.first_ms = m.changes == 0 ? m.now_ms : m.first_ms;
    m.last_ms = m.now_ms;
    m.changes += changes;
    return;
  }
  if (m.debounce_ms == 0) {
    k->changes = changes;
    tell_key(i, m.now_ms);
    return;
  }
  k->first_ms = k->waits ? k->first_ms : m.now_ms;
  k->waits = true;
  k->last_ms = m.now_ms;
  k->changes += changes;
}

/* --- The story ------------------------------------------------------------ */

static void change_to(int i, int value, int uid) {
  key *k = &m.keys[i];
  char name[8];
  char uids[2][8];
  snprintf(name, sizeof name, "k%d", i);
  snprintf(uids[0], sizeof uids[0], "u%d", k->now.uid);
  snprintf(uids[1], sizeof uids[1], "u%d", uid);
  const value_state before = k->now;
  if (value == ABSENT) {
    filter_rig_change(&rig, KIN_WATCH_DELETED, name, uids[0], before.value);
  } else {
    filter_rig_change(&rig, KIN_WATCH_MODIFIED, name, uids[1], value);
  }
  k->now = (value_state){value, value == ABSENT ? before.uid : uid};
  if (before.value != value) {
    note_change(i, 1);
  }
  filter_rig_run(&rig);
}

static void act(void) {
  int i = (int)kin__random_below(&rng, KEYS);
  key *k = &m.keys[i];
  if (k->now.value == ABSENT) {
    /* Again with the same uid, as when a filter lets it in, or with a new. */
    int uid = k->now.uid + (int)kin__random_below(&rng, 2);
    change_to(i, (int)kin__random_below(&rng, VALUES), uid);
  } else if (kin__random_below(&rng, 4) == 0) {
    change_to(i, ABSENT, k->now.uid);
  } else {
    change_to(i, (int)kin__random_below(&rng, VALUES), k->now.uid);
  }
}

static void on_told(const kin_change *change, void *data) {
  (void)data;
  int i = kin_object_name(change->object).data[1] - '0';
  char what[64];
  if (change->type == KIN_EVENT_UPDATE) {
    snprintf(what, sizeof what, "%c>%d", change->is_recreated ? 'R' : 'U',
             filter_rig_value(change->object));
    assert_true(change->is_recreated || filter_rig_value(change->old_object) !=
                                            filter_rig_value(change->object));
  } else {
    snprintf(what, sizeof what, "%c",
             change->type == KIN_EVENT_ADD ? 'A' : 'D');
  }
  note(seen[i], sizeof seen[i], what, kin__env_now_ms(&rig.vh.script.env),
       change->changes);
}

static char seen_of_all[4096];

static void on_told_of_all(kin_change_filter *filter,
                           const kin_changes *changes, void *data) {
  (void)filter;
  (void)data;
  if (!changes->is_initial) {
    char what[64];
    snprintf(what, sizeof what, "+%zu~%zu-%zu", changes->added,
             changes->updated, changes->deleted);
    assert_true(changes->is_exact);
    note(seen_of_all, sizeof seen_of_all, what,
         kin__env_now_ms(&rig.vh.script.env), (unsigned long)changes->changes);
  }
}

static void run(uint64_t seed) {
  rng.state = seed;
  memset(&m, 0, sizeof m);
  memset(seen, 0, sizeof seen);
  seen_of_all[0] = '\0';
  m.is_for_all = seed % 3 == 0;
  m.debounce_ms = m.is_for_all ? 1 + kin__random_below(&rng, 30)
                               : kin__random_below(&rng, 30);
  m.max_wait_ms = m.debounce_ms + kin__random_below(&rng, 60);
  for (int i = 0; i < KEYS; i++) {
    m.keys[i].now.value = m.keys[i].told.value = ABSENT;
  }
  filter_rig_init(&rig, 0);
  if (m.is_for_all) {
    filter_rig_for_all(&rig, 1, 0);
    rig.options.on_changes = on_told_of_all;
  }
  rig.options.debounce_ms = (uint32_t)m.debounce_ms;
  rig.options.max_wait_ms = m.debounce_ms > 0 ? (uint32_t)m.max_wait_ms : 0;
  rig.on_change = on_told;
  filter_rig_open(&rig);
  m.now_ms = kin__env_now_ms(&rig.vh.script.env);
  rig.vh.script.sched.max_pieces = seed % 2 == 0 ? 1 : UINT32_MAX;
  for (int step = 0; step < STEPS; step++) {
    if (kin__random_below(&rng, 2) == 0) {
      act();
    } else {
      uint64_t ms = kin__random_below(&rng, 20);
      filter_rig_pass(&rig, ms);
      pass_in_model(ms);
    }
    rig.log[0] = '\0';
  }
  filter_rig_pass(&rig, 1000);
  pass_in_model(1000);
  for (int i = 0; i < KEYS; i++) {
    assert_string_equal(seen[i], m.told[i]);
  }
  assert_string_equal(seen_of_all, m.told_of_all);
  assert_int_equal(kin_change_filter_waiting(rig.filter), 0);
  filter_rig_close(&rig);
}

static void test_model(void **state) {
  (void)state;
  seeds_run(run);
  assert_true(told_in_total >= seeds_count);
}

int main(int argc, char **argv) {
  seeds_take(argc, argv, 1000, 1);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_teardown(test_model, seeds_tell),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
