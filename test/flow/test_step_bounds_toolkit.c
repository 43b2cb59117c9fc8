/* SPDX-License-Identifier: MIT */

/* One step of any task of what is not an informer does a bounded piece of work:
 * controllers with their reflectors, stores and queues, and with queues of the
 * program's own; the pager; the retry watcher; the check of lists that came as
 * watches; change filters and lingering indices. See test_step_bounds.c. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <kin/lingering_index.h>

#include "cache/public_reflector_core.h"
#include "support/check_world.h"
#include "support/controller_world.h"
#include "support/filter_rig.h"
#include "support/pager_world.h"
#include "support/retry_world.h"
#include "support/step_meter.h"
#include "cache/controller.h"

#define OBJECTS 200u

static const step_bound bounds[] = {STEP_PIECES, STEP_TIME};

/* Pieces that may take long, in a step. */
static int64_t pieces_of(step_bound bound) {
  return bound == STEP_PIECES ? 2 : 1;
}

static int64_t live_blocks(const virtual_host *vh) {
  return (int64_t)atomic_load(&vh->memory.live_blocks);
}

/* An object is a block; an entry of a queue and the like are some more. */
static int64_t blocks_of(step_bound bound) {
  return 4 * pieces_of(bound) + 12;
}

/* --- Controllers ---------------------------------------------------------- */

enum { CALLS, STAGED, QUEUED, BLOCKS };

static void read_controller(void *ctx, int64_t *gauges) {
  const cw_world *w = ctx;
  gauges[CALLS] = w->calls;
  gauges[BLOCKS] = live_blocks(&w->vh);
  if (w->controller == NULL || w->on_closed > 0) {
    return;
  }
  const kin_controller *c = w->controller;
  gauges[QUEUED] = (int64_t)kin_queue_count(c->queue);
  if (!w->is_closing) {
    gauges[STAGED] = (int64_t)kin__stage_places(&c->reflector->feed.stage);
  }
}

static void list(script_env *script, unsigned first, unsigned count,
                 char version) {
  static char page[1 << 16];
  pw_page(page, sizeof page, first, count, "");
  *strchr(page, '7') = version; /* of the list, which comes first */
  script_respond(script, "/pods", 200, page);
}

/* A first list, one that takes half of the objects away, a resync, a third list
 * that is not processed when all is closed. */
static void run_controller(cw_world *w) {
  script_env *script = &w->vh.script;
  w->resource.no_watch_list = true;
  w->options.resync_ms = 1000;
  assert_int_equal(cw_open(w), 0);
  script_run(script);
  list(script, 1000, OBJECTS, '7');
  assert_int_equal(kin_store_count(w->store), OBJECTS);
  script_advance(script, 1500);
  script_respond(script, "watch=", 410, "{}");
  script_advance(script, 10000);
  list(script, 1000 + OBJECTS / 2, OBJECTS / 2, '8');
  assert_int_equal(kin_store_count(w->store), OBJECTS / 2);
}

static void check_controller(cw_kind kind, step_bound bound) {
  cw_world w;
  step_meter meter;
  cw_init(&w, kind, 0);
  step_meter_begin(&meter, &w.vh.script, bound, read_controller, &w);
  run_controller(&w);
  cw_finish(&w);
  int64_t pieces = pieces_of(bound);
  step_meter_expect(&meter, CALLS, "calls", pieces + 1, OBJECTS + OBJECTS / 2);
  step_meter_expect(&meter, STAGED, "stage", pieces, OBJECTS + OBJECTS / 2);
  if (kind == CW_QUEUE_DELTA) {
    return; /* what it queues at once is said in its header */
  }
  step_meter_expect(&meter, BLOCKS, "blocks", blocks_of(bound), OBJECTS / 2);
  if (kind == CW_DELTA) { /* in order a list is one item */
    step_meter_expect(&meter, QUEUED, "queue",
                      bound == STEP_PIECES ? 2 : KIN__CONTROLLER_LIST_STEP,
                      OBJECTS);
  }
}

static void test_controller_in_order(void **state) {
  (void)state;
  for (size_t i = 0; i < 2; i++) {
    check_controller(CW_IN_ORDER, bounds[i]);
  }
}

static void test_controller_by_key(void **state) {
  (void)state;
  for (size_t i = 0; i < 2; i++) {
    check_controller(CW_DELTA, bounds[i]);
  }
}

/* The queue is the program's own, as is what is done with an item. */
static void test_controller_with_a_queue(void **state) {
  (void)state;
  for (size_t i = 0; i < 2; i++) {
    check_controller(CW_QUEUE_DELTA, bounds[i]);
  }
}

/* --- The pager ------------------------------------------------------------ */

enum { ITEMS, PAGER_BLOCKS };

static void read_pager(void *ctx, int64_t *gauges) {
  const pager_world *w = ctx;
  gauges[ITEMS] = (int64_t)w->items;
  gauges[PAGER_BLOCKS] = live_blocks(&w->vh);
}

static void begin_pager(pager_world *w, step_meter *meter, step_bound bound) {
  pw_init(w, 0);
  step_meter_begin(meter, &w->vh.script, bound, read_pager, w);
  w->is_silent = true;
  assert_int_equal(pw_try_open(w), 0);
  script_run(&w->vh.script);
}

static void test_pager_gives_in_pieces(void **state) {
  (void)state;
  for (size_t i = 0; i < 2; i++) {
    pager_world w;
    step_meter meter;
    begin_pager(&w, &meter, bounds[i]);
    list(&w.vh.script, 1000, OBJECTS, '7');
    assert_int_equal(w.items, OBJECTS);
    pw_finish(&w);
    step_meter_expect(&meter, ITEMS, "items", pieces_of(bounds[i]), OBJECTS);
  }
}

static void test_pager_drops_in_pieces(void **state) {
  (void)state;
  for (size_t i = 0; i < 2; i++) {
    pager_world w;
    step_meter meter;
    begin_pager(&w, &meter, bounds[i]);
    kin_pager_pause(w.pager);
    list(&w.vh.script, 1000, OBJECTS, '7');
    assert_int_equal(w.items, 0);
    w.is_over = true;
    pw_finish(&w);
    step_meter_expect(&meter, PAGER_BLOCKS, "blocks", blocks_of(bounds[i]),
                      OBJECTS);
  }
}

/* --- The retry watcher ---------------------------------------------------- */

enum { EVENTS, WATCHER_BLOCKS };

static void read_watcher(void *ctx, int64_t *gauges) {
  const retry_world *w = ctx;
  gauges[EVENTS] = w->log.events;
  gauges[WATCHER_BLOCKS] = live_blocks(&w->vh);
}

/* Below what stops the reading. */
#define WATCHED 100u

static void begin_watcher(retry_world *w, step_meter *meter, step_bound bound,
                          bool is_paused) {
  static char frames[1 << 16];
  size_t length = 0;
  rw_init(w, "1000", 0);
  step_meter_begin(meter, &w->vh.script, bound, read_watcher, w);
  assert_int_equal(rw_try_open(w), 0);
  script_run(&w->vh.script);
  rw_head(w);
  if (is_paused) {
    kin_retry_watcher_pause(w->watcher);
  }
  for (unsigned i = 0; i < WATCHED; i++) {
    length += (size_t)snprintf(frames + length, sizeof frames - length,
                               RW_FRAME("MODIFIED", RW_OBJECT("%u")), 1001 + i);
  }
  assert_true(rw_send(w, frames));
  script_run(&w->vh.script);
}

static void test_retry_watcher_shows_in_pieces(void **state) {
  (void)state;
  for (size_t i = 0; i < 2; i++) {
    retry_world w;
    step_meter meter;
    begin_watcher(&w, &meter, bounds[i], false);
    assert_int_equal(w.log.events, WATCHED);
    w.log.text[0] = '\0';
    rw_finish(&w);
    step_meter_expect(&meter, EVENTS, "events", pieces_of(bounds[i]), WATCHED);
  }
}

static void test_retry_watcher_drops_in_pieces(void **state) {
  (void)state;
  for (size_t i = 0; i < 2; i++) {
    retry_world w;
    step_meter meter;
    begin_watcher(&w, &meter, bounds[i], true);
    assert_int_equal(w.log.events, 0);
    rw_finish(&w);
    step_meter_expect(&meter, WATCHER_BLOCKS, "blocks", blocks_of(bounds[i]),
                      WATCHED);
  }
}

/* --- The check of lists --------------------------------------------------- */

static void read_nothing(void *ctx, int64_t *gauges) {
  (void)ctx;
  (void)gauges;
}

/* Objects from `first` on, each text before and after; the last one is left out
 * on demand. */
static void append_objects(char *to, size_t size, const char *before,
                           const char *after, unsigned count) {
  size_t length = strlen(to);
  for (unsigned i = 0; i < count; i++) {
    length += (size_t)snprintf(
        to + length, size - length,
        "%s{\"metadata\":{\"name\":\"p%u\",\"namespace\":\"ns\",\"uid\":\"u%u"
        "\",\"resourceVersion\":\"%u\"}}%s",
        before[0] == ',' && i == 0 ? "" : before, i, i, 1 + i, after);
    assert_true(length < size);
  }
}

typedef struct check_steps {
  unsigned gather;
  unsigned fail;
  unsigned answer;
} check_steps;

/* The steps that are taken from an event until nothing is left to do. */
static check_steps count_steps(bool is_checked, bool is_asked_twice,
                               unsigned listed) {
  static char text[1 << 17];
  check_steps steps = {0};
  check_world c;
  step_meter meter;
  ck_init(&c, 0);
  script_env *script = &c.w.script;
  step_meter_begin(&meter, script, STEP_PIECES, read_nothing, NULL);
  script->env.check_watch_lists = is_checked;
  assert_int_equal(kin__informer_open(&c.w.informer, &script->env, &c.options),
                   0);
  assert_int_equal(kin_informer_start(c.w.informer), 0);
  script_run(script);
  text[0] = '\0';
  append_objects(text, sizeof text, "{\"type\":\"ADDED\",\"object\":", "}\n",
                 OBJECTS);
  snprintf(text + strlen(text), sizeof text - strlen(text), "%s", CK_END("9"));
  meter.steps = 0;
  ck_stream(&c, text);
  steps.gather = meter.steps;
  if (is_asked_twice) {
    meter.steps = 0;
    ck_answer(&c, 500, "{}");
    script_advance(script, 30000);
    steps.fail = meter.steps;
  }
  if (is_checked) {
    snprintf(text, sizeof text,
             "{\"metadata\":{\"resourceVersion\":\"9\"},\"items\":[");
    append_objects(text, sizeof text, ",", "", listed);
    snprintf(text + strlen(text), sizeof text - strlen(text), "]}");
    meter.steps = 0;
    ck_answer(&c, 200, text);
    steps.answer = meter.steps;
    ck_expect_counts(&c, 1, listed < OBJECTS);
  }
  iw_finish(&c.w);
  return steps;
}

#define WALK (OBJECTS / 2) /* steps over all, at two a step */

static void test_list_check_gathers_in_pieces(void **state) {
  (void)state;
  check_steps without = count_steps(false, false, 0);
  check_steps with = count_steps(true, false, OBJECTS);
  assert_in_range(with.gather, without.gather + WALK,
                  without.gather + 2 * WALK);
}

static void test_list_check_compares_in_pieces(void **state) {
  (void)state;
  check_steps steps = count_steps(true, false, OBJECTS);
  assert_in_range(steps.answer, WALK, 2 * WALK);
}

/* The last object is not listed, so all are looked at for its name. */
static void test_list_check_names_in_pieces(void **state) {
  (void)state;
  check_steps alike = count_steps(true, false, OBJECTS);
  check_steps unlike = count_steps(true, false, OBJECTS - 1);
  assert_in_range(unlike.answer, alike.answer + WALK - 2,
                  alike.answer + 2 * WALK);
}

static void test_list_check_begins_again_in_pieces(void **state) {
  (void)state;
  check_steps steps = count_steps(true, true, OBJECTS);
  assert_in_range(steps.fail, WALK, 2 * WALK);
}

/* --- Tables of many keys -------------------------------------------------- */

/* Tables get segments of 1,024, of which there are several. */
#define KEYS 5000u

static void read_bytes(void *ctx, int64_t *gauges) {
  const filter_rig *rig = ctx;
  gauges[0] = (int64_t)atomic_load(&rig->vh.memory.live_bytes);
}

static void change_all(filter_rig *rig, kin_watch_event_type type, int value) {
  for (unsigned i = 0; i < KEYS; i++) {
    char name[16];
    snprintf(name, sizeof name, "k%u", i);
    filter_rig_change(rig, type, name, "u", value);
  }
  filter_rig_run(rig);
}

static void count_change(const kin_change *change, void *data) {
  (void)change;
  ++*(unsigned *)data;
}

/* After a burst two segments of the map and its directory stay, besides the
 * filter and its listener. */
static void check_little_is_left(filter_rig *rig) {
  enum { LITTLE = 2 * 1024 * sizeof(uint32_t) + (5 << 10) };
  size_t before = atomic_load(&rig->vh.memory.live_bytes);
  assert_int_equal(kin_change_filter_close(rig->filter, NULL, NULL), 0);
  filter_rig_run(rig);
  assert_true(before - atomic_load(&rig->vh.memory.live_bytes) <= LITTLE);
}

/* A step tells or drops two waits with an object each, or frees two segments of
 * the slots. Besides, a segment of the map and a directory may go. */
static void check_filter(bool is_for_all, bool is_flushed, step_bound bound) {
  enum { SEGMENT_BYTES = 17 << 10, OTHER_BYTES = 8 << 10 };
  filter_rig rig;
  step_meter meter;
  unsigned told = 0;
  filter_rig_init(&rig, 0);
  rig.options.debounce_ms = 100;
  if (is_for_all) {
    filter_rig_for_all(&rig, 100, 0);
  } else {
    rig.on_change = count_change;
    rig.data = &told;
  }
  filter_rig_open(&rig);
  change_all(&rig, KIN_WATCH_ADDED, 1);
  assert_int_equal(kin_change_filter_waiting(rig.filter), KEYS);
  step_meter_begin(&meter, &rig.vh.script, bound, read_bytes, &rig);
  rig.log[0] = '\0';
  if (is_flushed) {
    kin_change_filter_flush(rig.filter);
    filter_rig_run(&rig);
    assert_int_equal(kin_change_filter_waiting(rig.filter), 0);
    assert_int_equal(told, is_for_all ? 0 : KEYS);
  } else {
    assert_int_equal(kin_change_filter_close(rig.filter, NULL, NULL), 0);
    filter_rig_run(&rig);
  }
  step_meter_expect(&meter, 0, "bytes",
                    pieces_of(bound) * SEGMENT_BYTES + OTHER_BYTES,
                    KEYS * (int64_t)sizeof(void *));
  rig.log[0] = '\0';
  if (is_flushed) {
    check_little_is_left(&rig);
  }
  filter_rig_close(&rig);
}

static void test_change_filter_frees_in_pieces(void **state) {
  (void)state;
  for (size_t i = 0; i < 8; i++) {
    check_filter((i & 1) != 0, (i & 2) != 0, bounds[i / 4]);
  }
}

static void open_lingering(filter_rig *rig, kin_lingering_index **out) {
  filter_rig_init(rig, 0);
  assert_int_equal(filter_rig_open_informer(rig), 0);
  kin_index_options index = KIN_INDEX_OPTIONS_INIT;
  index.name = "name";
  index.pointer = "/metadata/name";
  kin_store *store = kin_informer_store(rig->informer);
  assert_int_equal(kin_store_add_index(store, &index), 0);
  kin_lingering_index_options options = KIN_LINGERING_INDEX_OPTIONS_INIT;
  options.name = "name";
  options.linger_ms = 1000;
  options.max_objects = KEYS;
  assert_int_equal(kin_lingering_index_open(out, rig->informer, &options), 0);
}

static void linger_all(filter_rig *rig, const kin_lingering_index *index) {
  change_all(rig, KIN_WATCH_ADDED, 1);
  change_all(rig, KIN_WATCH_DELETED, 1);
  assert_int_equal(kin_lingering_index_count(index), KEYS);
}

/* A step drops two objects, or frees two segments of the tables. */
static void check_lingering(bool is_closed, step_bound bound) {
  enum { SEGMENT_BYTES = 60 << 10, OTHER_BYTES = 1 << 10, ENTRY_BYTES = 100 };
  filter_rig rig;
  step_meter meter;
  kin_lingering_index *index;
  open_lingering(&rig, &index);
  /* After the expiry the new tables do what the old ones did. */
  for (int round = 0; round < (is_closed ? 1 : 2); round++) {
    linger_all(&rig, index);
    size_t before = atomic_load(&rig.vh.memory.live_bytes);
    step_meter_begin(&meter, &rig.vh.script, bound, read_bytes, &rig);
    if (is_closed) {
      assert_int_equal(kin_lingering_index_close(index, NULL, NULL), 0);
      filter_rig_run(&rig);
    } else {
      filter_rig_pass(&rig, 1000);
      assert_int_equal(kin_lingering_index_count(index), 0);
    }
    rig.vh.script.sched.max_pieces = UINT32_MAX;
    rig.vh.script.on_step = NULL;
    size_t after = atomic_load(&rig.vh.memory.live_bytes);
    assert_true(before - after > KEYS * ENTRY_BYTES);
    step_meter_expect(&meter, 0, "bytes",
                      pieces_of(bound) * SEGMENT_BYTES + OTHER_BYTES,
                      KEYS * ENTRY_BYTES);
  }
  filter_rig_close(&rig);
}

static void test_lingering_index_frees_in_pieces(void **state) {
  (void)state;
  for (size_t i = 0; i < 4; i++) {
    check_lingering((i & 1) != 0, bounds[i / 2]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_controller_in_order),
      cmocka_unit_test(test_controller_by_key),
      cmocka_unit_test(test_controller_with_a_queue),
      cmocka_unit_test(test_pager_gives_in_pieces),
      cmocka_unit_test(test_pager_drops_in_pieces),
      cmocka_unit_test(test_retry_watcher_shows_in_pieces),
      cmocka_unit_test(test_retry_watcher_drops_in_pieces),
      cmocka_unit_test(test_list_check_gathers_in_pieces),
      cmocka_unit_test(test_list_check_compares_in_pieces),
      cmocka_unit_test(test_list_check_names_in_pieces),
      cmocka_unit_test(test_list_check_begins_again_in_pieces),
      cmocka_unit_test(test_change_filter_frees_in_pieces),
      cmocka_unit_test(test_lingering_index_frees_in_pieces),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
