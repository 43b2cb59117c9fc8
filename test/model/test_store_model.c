/* SPDX-License-Identifier: MIT */
/* Random runs against a naive store, which is an array: whatever is put,
 * deleted, indexed, scanned and fails in whatever order, content, indices and
 * scans are what the array says (TS-01 to TS-04, TS-06, TS-07, TS-09).
 *
 * usage: test_store_model [SEEDS [FIRST]]; a failure names its seed. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <kin/error.h>

#include "base/random.h"
#include "base/str.h"
#include "store/index.h"
#include "store/store.h"
#include "support/fail_alloc.h"
#include "support/objects.h"

#define MAX_KEYS 3000u
#define TAGS 6u  /* "a" to "f": several values of one object */
#define NODES 4u /* "n1" to "n3", or none */
#define SPACES 3u
#define SCANS 3u

/* What the naive store has for a key. */
typedef struct row {
  kin_object *object;      /* NULL: not there */
  char tags[2 * TAGS + 1]; /* in any order, some twice */
  unsigned node;           /* 0: none */
} row;

/* A scan, and what is known of each key since it began. */
typedef struct scan {
  kin_cursor cursor;
  bool is_open;
  bool stays[MAX_KEYS];
  uint8_t met[MAX_KEYS];
} scan;

/* The indices, of which some exist. */
enum { BY_TAG, BY_NODE, BY_SPACE, BY_NAME, INDICES };
static const char *const index_names[] = {"tag", "node", "space", "name"};

static struct {
  fail_alloc memory;  /* the store's */
  fail_alloc objects; /* the objects' */
  kin_store store;
  row rows[MAX_KEYS];
  unsigned keys; /* of this run */
  unsigned count;
  bool has_index[INDICES];
  bool callback_fails;
  unsigned added; /* calls of index_added */
  scan scans[SCANS];
} m;

static kin__random rng;
static uint64_t seeds = 300;
static uint64_t first_seed;
static uint64_t current_seed;
static uint64_t total_failures;
static uint64_t total_scans;

static unsigned below(unsigned bound) {
  return (unsigned)kin__random_below(&rng, bound);
}

static bool chance(unsigned percent) {
  return below(100) < percent;
}

static const char *name_of(unsigned key) {
  static char name[16];
  snprintf(name, sizeof name, "k%u", key);
  return name;
}

static const char *key_of(unsigned key) {
  static char text[24];
  snprintf(text, sizeof text, "s%u/k%u", key % SPACES, key);
  return text;
}

static unsigned number_of(const kin_object *object) {
  unsigned key = MAX_KEYS;
  assert_int_equal(sscanf(kin_object_name(object).data, "k%u", &key), 1);
  assert_true(key < m.keys);
  assert_string_equal(kin_object_key(object).data, key_of(key));
  return key;
}

/* Emits each letter of the label "tags". */
static int emit_tags(const kin_object *object, kin_index_values *values,
                     void *data) {
  (void)data;
  kin_str tags = {NULL, 0};
  int err = 0;
  kin_object_label(object, "tags", &tags);
  for (size_t i = 0; i < tags.length && err == 0; i++) {
    err = kin_index_emit(values, kin__str(tags.data + i, 1));
  }
  return err == 0 && m.callback_fails ? -1 : err;
}

static void change_tags(row *r) {
  size_t length = below(2 * TAGS + 1);
  for (size_t i = 0; i < length; i++) {
    r->tags[i] = (char)('a' + below(TAGS));
  }
  r->tags[length] = '\0';
}

static kin_object *make_object(unsigned key, const row *r) {
  char node[32] = "";
  if (r->node > 0) {
    snprintf(node, sizeof node, "'nodeName':'n%u'", r->node);
  }
  return object_format(
      &m.objects.allocator,
      "{'metadata':{'name':'%s','namespace':'s%u','labels':{'tags':'%s'},"
      "'resourceVersion':'%u'},'spec':{%s}}",
      name_of(key), key % SPACES, r->tags, below(1000), node);
}

static void forget_in_scans(unsigned key) {
  for (unsigned i = 0; i < SCANS; i++) {
    m.scans[i].stays[key] = false;
  }
}

/* Lets a near allocation of store or parser fail, or the callback. */
static void arm(void) {
  if (chance(20)) {
    m.memory.fail_at = m.memory.calls + 1 + below(4);
  }
  if (chance(10)) {
    m.objects.fail_at = m.objects.calls + 1 + below(3);
  }
  m.callback_fails = chance(5);
}

static void disarm(void) {
  m.memory.fail_at = m.objects.fail_at = 0;
  m.callback_fails = false;
}

static void check_error(int err) {
  assert_true(err == KIN_ENOMEM || err == KIN_EINDEX);
  total_failures++;
}

static void do_put(unsigned key) {
  row *r = &m.rows[key];
  row next = *r;
  if (chance(50)) {
    change_tags(&next);
  }
  if (chance(50)) {
    next.node = below(NODES);
  }
  bool is_same = r->object != NULL && chance(10);
  if (is_same) {
    next = *r;
    kin_object_ref(next.object);
  } else {
    next.object = make_object(key, &next);
  }
  arm();
  int err = kin_store_put(&m.store, next.object);
  disarm();
  if (err != 0) {
    check_error(err);
    kin_object_unref(next.object);
    return;
  }
  m.count += r->object == NULL ? 1 : 0;
  kin_object_unref(r->object);
  *r = next;
}

static void do_delete(unsigned key) {
  row *r = &m.rows[key];
  int err = kin_store_delete(&m.store, kin__cstr(key_of(key)));
  assert_int_equal(err, r->object != NULL ? 0 : KIN_ENOENT);
  if (r->object != NULL) {
    kin_object_unref(r->object);
    r->object = NULL;
    m.count--;
    forget_in_scans(key);
  }
}

static void do_add_index(unsigned which) {
  static const char *const pointers[] = {
      [BY_NODE] = "/spec/nodeName",
      [BY_SPACE] = "/metadata/namespace",
      [BY_NAME] = "/metadata/name",
  };
  kin_index_options options = KIN_INDEX_OPTIONS_INIT;
  options.name = index_names[which];
  if (which == BY_TAG) {
    options.cb = emit_tags;
  } else {
    options.pointer = pointers[which];
  }
  unsigned added = m.added;
  arm();
  int err = kin_store_add_index(&m.store, &options);
  disarm();
  if (m.has_index[which]) {
    assert_int_equal(err, KIN_EEXIST);
  } else if (err != 0) {
    check_error(err);
  } else {
    m.has_index[which] = true;
    bool is_ready = kin_store_index_ready(&m.store, index_names[which]);
    assert_true(is_ready || m.store.is_managed);
    assert_int_equal(m.added - added, is_ready ? 0 : 1);
  }
}

static void do_build(void) {
  int err;
  arm();
  bool has_more = kin__store_index_step(&m.store, below(m.keys) + 1, &err);
  disarm();
  if (err != 0) {
    check_error(err);
    assert_true(has_more);
  }
  bool is_ready = true;
  for (unsigned i = 0; i < INDICES; i++) {
    is_ready = is_ready && (!m.has_index[i] ||
                            kin_store_index_ready(&m.store, index_names[i]));
  }
  assert_int_equal(has_more, !is_ready);
}

static void do_scan(scan *s) {
  if (!s->is_open) {
    *s = (scan){.is_open = true};
    for (unsigned key = 0; key < m.keys; key++) {
      s->stays[key] = m.rows[key].object != NULL;
    }
  }
  for (unsigned left = 1 + below(m.keys / 4 + 2); left > 0; left--) {
    const kin_object *object = kin_store_next(&m.store, &s->cursor);
    if (object == NULL) {
      for (unsigned key = 0; key < m.keys; key++) {
        assert_true(!s->stays[key] || s->met[key] == 1);
      }
      s->is_open = false;
      total_scans++;
      return;
    }
    unsigned key = number_of(object);
    assert_ptr_equal(object, m.rows[key].object);
    s->met[key]++;
    assert_true(!s->stays[key] || s->met[key] == 1);
  }
}

static void check_content(void) {
  uint64_t bytes = 0;
  for (unsigned key = 0; key < m.keys; key++) {
    const kin_object *object = m.rows[key].object;
    assert_ptr_equal(kin_store_get_key(&m.store, key_of(key)), object);
    bytes += object != NULL ? kin_object_memory(object) : 0;
  }
  assert_int_equal(kin_store_count(&m.store), m.count);
  assert_int_equal(m.store.slots.live, m.count);
  assert_int_equal(kin_store_bytes(&m.store), bytes);
}

static bool row_has(const row *r, unsigned which, unsigned key,
                    const char *value) {
  switch (which) {
  case BY_TAG:
    return strchr(r->tags, value[0]) != NULL;
  case BY_NODE:
    return r->node > 0 && r->node == (unsigned)(value[1] - '0');
  case BY_SPACE:
    return key % SPACES == (unsigned)(value[1] - '0');
  default:
    return strcmp(value, name_of(key)) == 0;
  }
}

static uint32_t slot_of(unsigned key) {
  kin_str text = kin__cstr(key_of(key));
  return kin__store_find(&m.store, text, kin__store_hash(&m.store, text));
}

/* Compares what one value finds with what the rows say; returns how many. */
static unsigned check_value(const kin__index *index, unsigned which,
                            const char *value) {
  static bool is_found[MAX_KEYS];
  memset(is_found, 0, sizeof is_found);
  kin_index_cursor cursor;
  kin_str text = kin__cstr(value);
  assert_int_equal(kin_store_by_index(&m.store, index->name, text, &cursor), 0);
  const kin_object *object;
  unsigned found = 0;
  while ((object = kin_store_by_index_next(&m.store, &cursor)) != NULL) {
    unsigned key = number_of(object);
    assert_ptr_equal(object, m.rows[key].object);
    assert_false(is_found[key]);
    is_found[key] = true;
    found++;
  }
  for (unsigned key = 0; key < m.keys; key++) {
    const row *r = &m.rows[key];
    bool is_expected = r->object != NULL && row_has(r, which, key, value) &&
                       kin__index_covers(index, slot_of(key));
    assert_int_equal(is_found[key], is_expected);
  }
  assert_int_equal(kin_store_index_count(&m.store, index->name, text), found);
  return found;
}

/* Every value is checked, so the index holds no others if the sums agree. */
static void check_index(const kin__index *index) {
  unsigned which = 0;
  while (strcmp(index_names[which], index->name) != 0) {
    which++;
  }
  unsigned bounds[] = {TAGS, NODES - 1, SPACES, m.keys};
  unsigned postings = 0;
  unsigned values = 0;
  for (unsigned i = 0; i < bounds[which]; i++) {
    char value[16];
    switch (which) {
    case BY_TAG:
      snprintf(value, sizeof value, "%c", 'a' + i);
      break;
    case BY_NODE:
      snprintf(value, sizeof value, "n%u", i + 1);
      break;
    case BY_SPACE:
      snprintf(value, sizeof value, "s%u", i);
      break;
    default:
      snprintf(value, sizeof value, "k%u", i);
      break;
    }
    unsigned found = check_value(index, which, value);
    postings += found;
    values += found > 0 ? 1 : 0;
  }
  assert_int_equal(index->postings.live, postings);
  assert_int_equal(index->values.live, values);
  kin_cursor cursor = {0};
  kin_str value;
  while (kin_store_index_next_value(&m.store, index->name, &cursor, &value)) {
    assert_true(kin_store_index_count(&m.store, index->name, value) > 0);
    values--;
  }
  assert_int_equal(values, 0);
}

/* A unique index of many keys takes quadratic time to check. */
static void check_all(void) {
  check_content();
  for (const kin__index *i = m.store.indices; i != NULL; i = i->next) {
    if (m.keys < 100 || strcmp(i->name, index_names[BY_NAME]) != 0) {
      check_index(i);
    }
  }
}

static void do_step(void) {
  unsigned what = below(100);
  unsigned key = below(m.keys);
  if (what < 45) {
    do_put(key);
  } else if (what < 75) {
    do_delete(key);
  } else if (what < 80) {
    do_add_index(below(INDICES));
  } else if (what < 88) {
    do_build();
  } else {
    do_scan(&m.scans[below(SCANS)]);
  }
}

/* Swings between full and empty, so that slots are reused in any order. */
static void do_burst(void) {
  bool is_put = chance(55);
  for (unsigned i = below(m.keys / 2); i > 0; i--) {
    unsigned key = below(m.keys);
    if (is_put) {
      do_put(key);
    } else {
      do_delete(key);
    }
  }
}

static void count_added(void *ctx) {
  (*(unsigned *)ctx)++;
}

static void begin_run(void) {
  memset(&m, 0, sizeof m);
  fail_alloc_init(&m.memory, 0);
  fail_alloc_init(&m.objects, 0);
  static const unsigned sizes[] = {3, 12, 40};
  bool is_large = current_seed % 50 == 0;
  m.keys = is_large ? MAX_KEYS : sizes[below(3)];
  kin__memory *memory = kin__memory_new(&m.memory.allocator);
  kin__store_init(&m.store, memory, kin__random_hash_seed(&rng), chance(70));
  kin__memory_unref(memory);
  m.store.index_added = count_added;
  m.store.index_ctx = &m.added;
}

static void end_run(void) {
  if (chance(50)) {
    while (kin__store_clear_step(&m.store, 1 + below(m.keys))) {
    }
  }
  kin__store_finish(&m.store);
  assert_int_equal(m.memory.live_blocks, 0);
  for (unsigned key = 0; key < m.keys; key++) {
    kin_object_unref(m.rows[key].object);
  }
  assert_int_equal(m.objects.live_blocks, 0);
}

static void run_seed(void) {
  rng = (kin__random){current_seed};
  begin_run();
  bool is_large = m.keys == MAX_KEYS;
  unsigned steps = is_large ? 100 : 250;
  for (unsigned step = 0; step < steps; step++) {
    if (is_large || chance(2)) {
      do_burst();
    }
    do_step();
    if (!is_large || step % 10 == 0) {
      check_all();
    }
  }
  check_all();
  end_run();
}

static void test_store_random_runs(void **state) {
  (void)state;
  for (; current_seed < first_seed + seeds; current_seed++) {
    run_seed();
  }
  if (seeds >= 100) { /* the runs are not idle */
    assert_true(total_failures >= seeds);
    assert_true(total_scans >= seeds);
  }
}

static int tell_seed(void **state) {
  (void)state;
  if (current_seed < first_seed + seeds) {
    print_error("failed with seed %" PRIu64 "\n", current_seed);
  }
  return 0;
}

int main(int argc, char **argv) {
  if (argc > 1) {
    seeds = strtoull(argv[1], NULL, 10);
  }
  if (argc > 2) {
    first_seed = strtoull(argv[2], NULL, 10);
  }
  current_seed = first_seed;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_teardown(test_store_random_runs, tell_seed)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
