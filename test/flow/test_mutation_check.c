/* SPDX-License-Identifier: MIT */

/* An informer that looks for writes to its objects: by the timer, when an
 * object leaves, for objects of others, and by pages that cannot be written to.
 * Proves TS-14, MD-01, MD-02, CN-07. */

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/str.h"
#include "object/object.h"
#include "object/seal.h"
#include "support/informer_world.h"
#include "support/objects.h"
#include "support/signal_of_write.h"

typedef struct world {
  iw_world iw;
  kin__log log;
  char lines[1024];   /* of the log */
  char reports[1024]; /* "key part offset;" of each */
  int count;          /* of reports */
  int close_at;       /* closes in this report, from 1; 0: never */
} world;

static void on_log(kin_log_level level, const char *line, void *data) {
  world *w = data;
  size_t used = strlen(w->lines);
  snprintf(w->lines + used, sizeof w->lines - used, "%d %s\n", (int)level,
           line);
}

/* data is the iw_world, which is the first of the world. */
static void on_mutation(kin_informer *informer, const kin_mutation *mutation,
                        void *data) {
  world *w = data;
  assert_ptr_equal(informer, w->iw.informer);
  assert_true(w->close_at == 0 || w->count < w->close_at);
  size_t used = strlen(w->reports);
  snprintf(w->reports + used, sizeof w->reports - used,
           KIN_STR_FORMAT " %s %zu;", KIN_STR_ARG(mutation->key),
           kin_mutation_part_name(mutation->part), mutation->offset);
  if (++w->count == w->close_at) {
    assert_int_equal(kin_informer_close(informer, iw_on_closed, w), 0);
  }
}

static void init(world *w, kin_mutation_check check, size_t fail_at) {
  memset(w, 0, sizeof *w);
  iw_init(&w->iw, fail_at);
  kin__memory_use_seals(w->iw.script.memory, check);
  w->log = (kin__log){on_log, w, KIN_LOG_ERROR};
  w->iw.script.env.log = &w->log;
}

static int open_(world *w) {
  kin_informer_options options = iw_options(&w->iw);
  options.on_mutation = on_mutation;
  return iw_open(&w->iw, &options);
}

/* Objects 0 to count - 1 are cached. */
static void setup(world *w, kin_mutation_check check, int count) {
  init(w, check, 0);
  mini_put_first(&w->iw.server, count);
  assert_int_equal(open_(w), 0);
  mini_serve(&w->iw.server);
  assert_true(kin_informer_has_synced(w->iw.informer));
}

static const kin_object *cached(world *w, const char *key) {
  return kin_store_get_key(kin_informer_store(w->iw.informer), key);
}

/* A byte of an object's JSON, and the constness cast away. Memory may be out,
 * once. */
static char *byte_of(const kin_object *object, size_t offset) {
  kin_object_view *view;
  int err = kin_object_view_open(&view, object);
  if (err == KIN_ENOMEM) {
    err = kin_object_view_open(&view, object);
  }
  assert_int_equal(err, 0);
  kin_str json = kin_object_view_json(view);
  kin_object_view_close(view);
  assert_true(offset < json.length);
  return (char *)json.data + offset;
}

static void write_to(world *w, const char *key, size_t offset) {
  *byte_of(cached(w, key), offset) ^= 0x20;
}

/* client-go TestMutationDetector, MD-01, MD-02: within a second, once, with its
 * key and place; the others are not told of. */
static void test_mutation_check_by_timer(void **state) {
  (void)state;
  world w;
  setup(&w, KIN_MUTATION_CHECK_CHECKSUM, 5);
  mini_pass(&w.iw.server, 3000);
  assert_int_equal(w.count, 0);
  write_to(&w, "odd/p1", 70);
  script_advance(&w.iw.script, 1000);
  assert_string_equal(w.reports, "odd/p1 json 64;");
  assert_string_equal(
      w.lines, "1 pods: the cached odd/p1 was written to, at byte 64 of its "
               "json\n");
  script_advance(&w.iw.script, 30000);
  assert_int_equal(w.count, 1);
  write_to(&w, "odd/p1", 3);
  write_to(&w, "even/p4", 0);
  script_advance(&w.iw.script, 1000);
  assert_string_equal(w.reports, "odd/p1 json 64;even/p4 json 0;");
  iw_finish(&w.iw);
}

/* What cannot be read any more, or not be printed, does no harm. */
static void test_mutation_check_damage(void **state) {
  (void)state;
  world w;
  setup(&w, KIN_MUTATION_CHECK_CHECKSUM, 3);
  *(char *)kin_object_key(cached(&w, "odd/p1")).data = '\n';
  script_advance(&w.iw.script, 1000);
  assert_string_equal(w.reports, "\ndd/p1 strings 0;");
  assert_non_null(strstr(w.lines, "?dd/p1"));
  const kin_object *object = cached(&w, "even/p2");
  kin_str header = kin__object_part(object, KIN_MUTATION_HEADER);
  char saved[64];
  memcpy(saved, header.data, header.length);
  memset((char *)header.data, 0xff, header.length);
  script_advance(&w.iw.script, 1000);
  memcpy((char *)header.data, saved, header.length);
  assert_non_null(strstr(w.reports, "even/p2 header 0;"));
  iw_finish(&w.iw);
}

/* An object that is replaced or deleted before the timer comes is looked at
 * when it goes, by itself. */
static void test_mutation_check_of_what_leaves(void **state) {
  (void)state;
  world w;
  setup(&w, KIN_MUTATION_CHECK_CHECKSUM, 5);
  write_to(&w, "even/p0", 1);
  write_to(&w, "odd/p1", 1);
  write_to(&w, "even/p2", 1);
  mini_put(&w.iw.server, 0);
  mini_delete(&w.iw.server, 1);
  mini_recreate(&w.iw.server, 2);
  mini_delete(&w.iw.server, 3);
  mini_put(&w.iw.server, 4);
  mini_serve(&w.iw.server);
  assert_string_equal(w.reports,
                      "even/p0 json 0;odd/p1 json 0;even/p2 json 0;");
  script_advance(&w.iw.script, 5000);
  assert_int_equal(w.count, 3);
  iw_assert_truth(&w.iw);
  iw_finish(&w.iw);
}

/* The same for an object that the program itself replaces or deletes; no object
 * leaves after the close has begun. */
static void test_mutation_check_of_own_writes(void **state) {
  (void)state;
  world w;
  setup(&w, KIN_MUTATION_CHECK_CHECKSUM, 4);
  kin_store *store = kin_informer_store(w.iw.informer);
  write_to(&w, "even/p0", 1);
  write_to(&w, "odd/p1", 1);
  write_to(&w, "odd/p3", 1);
  kin_object *mine = object_keyed(NULL, "even/p0", 9);
  assert_int_equal(kin_store_put(store, mine), 0);
  assert_int_equal(kin_store_put(store, mine), 0); /* its very self */
  kin_object_unref(mine);
  assert_int_equal(kin_store_delete(store, KIN__LIT("odd/p1")), 0);
  assert_int_equal(kin_store_delete(store, KIN__LIT("even/p2")), 0);
  assert_string_equal(w.reports, ""); /* never inside the call */
  script_run(&w.iw.script);
  assert_string_equal(w.reports, "even/p0 json 0;odd/p1 json 0;");
  assert_int_equal(kin_informer_close(w.iw.informer, iw_on_closed, &w.iw), 0);
  assert_int_equal(kin_store_delete(store, KIN__LIT("odd/p3")), KIN_ECLOSED);
  assert_null(w.iw.informer->mutation_check->found);
  script_run(&w.iw.script);
  assert_int_equal(w.count, 2);
  iw_finish(&w.iw);
}

/* Of a large one only the first 64 KiB, header and strings included. */
static void test_mutation_check_of_large_ones_that_leave(void **state) {
  (void)state;
  static const size_t places[] = {(64 << 10) - 512, 64 << 10};
  static const char gone[] =
      "{\"type\":\"DELETED\",\"object\":{\"metadata\":{\"name\":\"a\","
      "\"resourceVersion\":\"6\"}}}\n";
  for (int i = 0; i < 2; i++) {
    static char list[80 << 10];
    world w;
    init(&w, KIN_MUTATION_CHECK_CHECKSUM, 0);
    assert_int_equal(open_(&w), 0);
    int length =
        snprintf(list, sizeof list,
                 "{\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[{"
                 "\"metadata\":{\"name\":\"a\"},\"x\":\"%070000d\"}]}",
                 0);
    assert_in_range(length, 70000, sizeof list - 1);
    script_respond(&w.iw.script, "/pods?", 200, list);
    script_head(&w.iw.script, "watch=true", 200);
    write_to(&w, "a", places[i]);
    script_body(&w.iw.script, "watch=true", gone, sizeof gone - 1);
    assert_null(cached(&w, "a"));
    script_run(&w.iw.script);
    assert_int_equal(w.count, i == 0);
    iw_finish(&w.iw);
  }
}

/* Objects that the program made have no seal; they are remembered when a pass
 * meets them, as long as they are in the store and two minutes longer. */
static void test_mutation_check_of_foreign_objects(void **state) {
  (void)state;
  world w;
  setup(&w, KIN_MUTATION_CHECK_CHECKSUM, 3);
  kin_store *store = kin_informer_store(w.iw.informer);
  kin_object *mine = object_keyed(NULL, "mine/a", 1);
  kin_object *other = object_keyed(NULL, "mine/b", 1);
  assert_int_equal(kin_store_put(store, mine), 0);
  assert_int_equal(kin_store_put(store, other), 0);
  script_advance(&w.iw.script, 1000000);
  *byte_of(mine, 5) ^= 1;
  script_advance(&w.iw.script, 1000);
  assert_string_equal(w.reports, "mine/a json 0;");
  assert_int_equal(kin_store_delete(store, KIN__LIT("mine/a")), 0);
  assert_int_equal(kin_store_delete(store, KIN__LIT("mine/b")), 0);
  *byte_of(other, 5) ^= 1;
  script_advance(&w.iw.script, 1000);
  assert_string_equal(w.reports, "mine/a json 0;mine/b json 0;");
  kin_mutation_detector *detector = w.iw.informer->mutation_check->detector;
  script_advance(&w.iw.script, 118000);
  assert_int_equal(kin_mutation_detector_count(detector), 2);
  script_advance(&w.iw.script, 122000);
  assert_int_equal(kin_mutation_detector_count(detector), 0);
  assert_int_equal(kin_store_put(store, mine), 0);
  script_advance(&w.iw.script, 1000);
  kin_object_unref(mine);
  kin_object_unref(other);
  iw_finish(&w.iw); /* with one remembered */
}

/* Even ones are changed, odd ones are kept as they are. */
static int transform(const kin_object *in, kin_object_builder *out,
                     void *data) {
  (void)data;
  return kin_object_namespace(in).data[0] == 'e'
             ? kin_object_builder_remove(out, "/spec/text")
             : 0;
}

/* What a transform has made is the client's own, like what it let pass. */
static void test_mutation_check_of_transformed_objects(void **state) {
  (void)state;
  world w;
  init(&w, KIN_MUTATION_CHECK_CHECKSUM, 0);
  mini_put_first(&w.iw.server, 2);
  kin_informer_options options = iw_options(&w.iw);
  options.on_mutation = on_mutation;
  options.transform = transform;
  assert_int_equal(iw_open(&w.iw, &options), 0);
  mini_serve(&w.iw.server);
  assert_non_null(kin__object_seal(cached(&w, "even/p0")));
  assert_non_null(kin__object_seal(cached(&w, "odd/p1")));
  mini_pass(&w.iw.server, 2000);
  assert_int_equal(w.count, 0);
  write_to(&w, "even/p0", 1);
  write_to(&w, "odd/p1", 1);
  script_advance(&w.iw.script, 1000);
  assert_string_equal(w.reports, "even/p0 json 0;odd/p1 json 0;");
  iw_finish(&w.iw);
}

/* Nothing of it is there when it is off, and objects are as large. */
static void test_mutation_check_off(void **state) {
  (void)state;
  uint64_t bytes[3];
  for (int check = KIN_MUTATION_CHECK_OFF; check <= KIN_MUTATION_CHECK_PROTECT;
       check++) {
    world w;
    setup(&w, (kin_mutation_check)check, 5);
    const kin_object *object = cached(&w, "odd/p1");
    bytes[check] = kin_store_bytes(kin_informer_store(w.iw.informer));
    assert_true((kin__object_seal(object) == NULL) ==
                (check == KIN_MUTATION_CHECK_OFF));
    const kin__mutation_check *passes = w.iw.informer->mutation_check;
    assert_true((passes != NULL) == (check != KIN_MUTATION_CHECK_OFF));
    assert_true(passes == NULL || passes->timer.is_active);
    if (check == KIN_MUTATION_CHECK_OFF) {
      write_to(&w, "odd/p1", 1);
      mini_put(&w.iw.server, 1);
      mini_pass(&w.iw.server, 10000);
      assert_int_equal(w.count, 0);
    }
    iw_finish(&w.iw);
  }
  assert_int_equal(bytes[0], bytes[1]);
  assert_int_equal(bytes[0], bytes[2]);
}

/* The guilty instruction itself is caught; everybody else reads on, and objects
 * come and go. */
static void test_mutation_check_protects(void **state) {
  (void)state;
  world w;
  setup(&w, KIN_MUTATION_CHECK_PROTECT, 7);
  const kin_object *object = kin_object_ref(cached(&w, "odd/p1"));
  assert_int_equal(signal_of_write(byte_of(object, 0)), SIGSEGV);
  assert_int_equal(signal_of_write((char *)kin_object_key(object).data),
                   SIGSEGV);
  mini_put_first(&w.iw.server, 7);
  mini_delete(&w.iw.server, 2);
  mini_recreate(&w.iw.server, 4);
  mini_serve(&w.iw.server);
  mini_pass(&w.iw.server, 5000);
  iw_assert_truth(&w.iw);
  assert_int_equal(w.count, 0);
  atomic_size_t *protected_cells = &w.iw.script.memory->protected_cells;
  assert_int_equal(atomic_load(protected_cells), 7); /* 6 and the old p1 */
  assert_int_equal(signal_of_write(byte_of(object, 0)), SIGSEGV);
  iw_close(&w.iw);
  assert_int_equal(atomic_load(protected_cells), 1);
  assert_true(kin__str_equal(kin_object_key(object), KIN__LIT("odd/p1")));
  kin_object_unref(object);
  assert_int_equal(atomic_load(protected_cells), 0);
  iw_finish(&w.iw);
}

static kin_object *make(world *w, unsigned i, size_t padding) {
  char name[32];
  snprintf(name, sizeof name, "p%u", i);
  char *body = calloc(1, padding + 64);
  assert_non_null(body);
  int length =
      snprintf(body, padding + 64, "{\"metadata\":{\"name\":\"%s\"}}", name);
  memset(body + length, ' ', padding);
  kin__object_parts parts = {.name = kin__cstr(name),
                             .body = kin__str(body, (size_t)length + padding)};
  kin_object *object;
  assert_int_equal(kin__object_new(&object, w->iw.script.memory, &parts), 0);
  free(body);
  return object;
}

/* Runs a pass task by task and returns the number of steps. */
static unsigned count_steps(world *w) {
  script_env *script = &w->iw.script;
  const kin__mutation_check *check = w->iw.informer->mutation_check;
  script->now_ns += UINT64_C(1000000000);
  kin__timers_run(&script->timers, script->now_ns / 1000000, 10);
  assert_int_equal(check->phase, KIN__MUTATION_SEALED);
  unsigned steps = 0;
  while (check->phase != KIN__MUTATION_WAITING) {
    uint32_t slot = check->slot;
    size_t block = check->block;
    kin__sched_run(&script->sched, 0); /* one step */
    steps++;
    assert_true(check->slot - slot <= 256);
    assert_true(check->slot != slot || check->block <= block + 4096);
  }
  return steps;
}

/* 100,000 objects and one of 4 MiB do not keep the loop. */
static void test_mutation_check_bounded_steps(void **state) {
  (void)state;
  enum { COUNT = 100000, LARGE = 4 << 20 };
  world w;
  setup(&w, KIN_MUTATION_CHECK_CHECKSUM, 0);
  kin_listener_close(w.iw.rec.listener); /* its steps would be counted */
  script_run(&w.iw.script);
  kin_store *store = kin_informer_store(w.iw.informer);
  for (unsigned i = 0; i < COUNT; i++) {
    kin_object *object = make(&w, i, i == 777 ? LARGE : 0);
    assert_int_equal(kin_store_put(store, object), 0);
    kin_object_unref(object);
  }
  unsigned steps = count_steps(&w);
  assert_true(steps >= COUNT / 256 + LARGE / (256 << 10));
  assert_true(steps <= COUNT / 256 + LARGE / (256 << 10) + 4);
  write_to(&w, "p777", LARGE);
  write_to(&w, "p99999", 0);
  count_steps(&w);
  assert_string_equal(w.reports, "p777 json 4194304;p99999 json 0;");
  iw_finish(&w.iw);
}

/* Nor do large objects of the program's own, neither when they are met first
 * nor later on. */
static void test_mutation_check_bounded_steps_of_foreign(void **state) {
  (void)state;
  enum { COUNT = 64, LARGE = 128 << 10 };
  world w;
  setup(&w, KIN_MUTATION_CHECK_CHECKSUM, 0);
  for (unsigned i = 0; i < COUNT; i++) {
    kin_object *object = object_format(
        NULL, "{'metadata':{'name':'f%u'},'x':'%0*d'}", i, LARGE, 0);
    assert_int_equal(kin_store_put(kin_informer_store(w.iw.informer), object),
                     0);
    kin_object_unref(object);
  }
  const unsigned pass = COUNT * LARGE / (256 << 10);
  assert_in_range(count_steps(&w), 2 * pass, 2 * pass + COUNT + 4);
  assert_in_range(count_steps(&w), pass, pass + COUNT + 4);
  write_to(&w, "f63", LARGE);
  count_steps(&w);
  assert_int_equal(w.count, 1);
  iw_finish(&w.iw);
}

/* An object is replaced while it is being compared: the new one is compared
 * from its beginning. */
static void test_mutation_check_changes_between_steps(void **state) {
  (void)state;
  world w;
  setup(&w, KIN_MUTATION_CHECK_CHECKSUM, 0);
  kin_store *store = kin_informer_store(w.iw.informer);
  kin_object *first = make(&w, 0, 1 << 20);
  kin_object *second = make(&w, 0, 1 << 20);
  assert_int_equal(kin_store_put(store, first), 0);
  script_env *script = &w.iw.script;
  script->now_ns += UINT64_C(1000000000);
  kin__timers_run(&script->timers, script->now_ns / 1000000, 10);
  kin__sched_run(&script->sched, 0);
  kin__sched_run(&script->sched, 0);
  assert_true(w.iw.informer->mutation_check->block > 0);
  assert_int_equal(kin_store_put(store, second), 0);
  kin_object_unref(first);
  *byte_of(second, 2) ^= 1;
  kin_object_unref(second);
  script_run(script);
  assert_string_equal(w.reports, "p0 json 0;");
  iw_finish(&w.iw);
}

/* Everything that is found, and a close in the k-th report. */
static int run_story(world *w) {
  mini_put_first(&w->iw.server, 8);
  int err = open_(w);
  if (err != 0) {
    return err;
  }
  mini_serve(&w->iw.server);
  mini_pass(&w->iw.server, 1000); /* memory may have been out */
  kin_object *mine = object_keyed(NULL, "mine/a", 1);
  if (kin_store_put(kin_informer_store(w->iw.informer), mine) == 0) {
    mini_pass(&w->iw.server, 2000);
  }
  *byte_of(mine, 5) ^= 1;
  kin_object_unref(mine); /* the detector and the store have theirs */
  write_to(w, "even/p0", 1);
  write_to(w, "odd/p1", 1);
  mini_put(&w->iw.server, 0);
  mini_serve(&w->iw.server);
  if (w->iw.closed == 0) {
    write_to(w, "even/p2", 1);
    mini_pass(&w->iw.server, 3000);
  }
  if (w->iw.closed == 0) {
    kin_store_delete(kin_informer_store(w->iw.informer), KIN__LIT("mine/a"));
    write_to(w, "odd/p3", 1);
    mini_pass(&w->iw.server, 3000);
  }
  return 0;
}

static void test_mutation_check_sweep_closes(void **state) {
  (void)state;
  world w;
  init(&w, KIN_MUTATION_CHECK_CHECKSUM, 0);
  assert_int_equal(run_story(&w), 0);
  int reports = w.count;
  assert_int_equal(reports, 5);
  iw_finish(&w.iw);
  for (int at = 1; at <= reports; at++) {
    init(&w, KIN_MUTATION_CHECK_CHECKSUM, 0);
    w.close_at = at;
    assert_int_equal(run_story(&w), 0);
    assert_int_equal(w.count, at);
    assert_int_equal(w.iw.closed, 1);
    iw_finish(&w.iw);
  }
}

/* Any one allocation may fail: nothing is told that did not happen, everything
 * of the client's own is found all the same. */
static bool run_mutation_check_without_memory(size_t n) {
  world w;
  init(&w, KIN_MUTATION_CHECK_CHECKSUM, n);
  int err = run_story(&w);
  bool has_failed = fail_alloc_has_failed(&w.iw.memory);
  if (err != 0) {
    assert_int_equal(err, KIN_ENOMEM);
  } else {
    static const char *const keys[] = {"even/p0 json 0;", "odd/p1 json 0;",
                                       "even/p2 json 0;", "odd/p3 json 0;"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
      assert_non_null(strstr(w.reports, keys[i]));
    }
    assert_true(w.count <= 5);
  }
  iw_finish(&w.iw);
  return has_failed;
}

static void test_mutation_check_sweep_allocations(void **state) {
  (void)state;
  fail_alloc_sweep(run_mutation_check_without_memory, 40);
}

/* The options of a client: what is no check, or too long, is refused. */
static void test_mutation_check_options(void **state) {
  (void)state;
  uv_loop_t loop;
  assert_int_equal(uv_loop_init(&loop), 0);
  kin_client_options options = KIN_CLIENT_OPTIONS_INIT;
  options.server = "http://127.0.0.1:1";
  kin_client *client;
  for (int check = KIN_MUTATION_CHECK_OFF; check <= KIN_MUTATION_CHECK_PROTECT;
       check++) {
    options.mutation_check = (kin_mutation_check)check;
    options.mutation_check_ms = 3600000;
    assert_int_equal(kin_client_open(&client, &loop, &options), 0);
    assert_int_equal(kin_client_close(client, NULL, NULL), 0);
    uv_run(&loop, UV_RUN_DEFAULT);
  }
  options.mutation_check_ms++;
  assert_int_equal(kin_client_open(&client, &loop, &options), KIN_EINVAL);
  options.mutation_check_ms = 0;
  options.mutation_check = (kin_mutation_check)3;
  assert_int_equal(kin_client_open(&client, &loop, &options), KIN_EINVAL);
  assert_null(client);
  assert_int_equal(uv_loop_close(&loop), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_mutation_check_by_timer),
      cmocka_unit_test(test_mutation_check_damage),
      cmocka_unit_test(test_mutation_check_of_what_leaves),
      cmocka_unit_test(test_mutation_check_of_own_writes),
      cmocka_unit_test(test_mutation_check_of_large_ones_that_leave),
      cmocka_unit_test(test_mutation_check_of_foreign_objects),
      cmocka_unit_test(test_mutation_check_of_transformed_objects),
      cmocka_unit_test(test_mutation_check_off),
      cmocka_unit_test(test_mutation_check_protects),
      cmocka_unit_test(test_mutation_check_bounded_steps),
      cmocka_unit_test(test_mutation_check_bounded_steps_of_foreign),
      cmocka_unit_test(test_mutation_check_changes_between_steps),
      cmocka_unit_test(test_mutation_check_sweep_closes),
      cmocka_unit_test(test_mutation_check_sweep_allocations),
      cmocka_unit_test(test_mutation_check_options),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
