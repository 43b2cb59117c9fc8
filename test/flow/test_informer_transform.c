/* SPDX-License-Identifier: MIT */

/* An informer's transform: where it runs, how often, and what becomes of
 * objects on which it fails. Proves CO-08, DF-10, QF-14, RF-16 and WL-10 for
 * informers, and that none of it loses an object or lists again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <kin/metrics.h>

#include "base/str.h"
#include "object/object.h"
#include "support/hand_source.h"
#include "support/informer_world.h"
#include "support/objects.h"

#define MAX_RUNS 256

/* A world whose informer transforms: spec.text goes, a label comes. */
typedef struct tw_world {
  iw_world w;
  char runs[MAX_RUNS][64]; /* "key version" of each call */
  int run_count;
  const char *failing;      /* "key version key version ": on these it fails */
  int failure;              /* with this */
  char last_message[512];   /* of an error event */
  int told;                 /* error events of the transform */
  kin_retry answer;         /* to them */
  bool is_closing_on_error; /* then the informer is closed */
} tw_world;

static int transform(const kin_object *in, kin_object_builder *out,
                     void *data) {
  tw_world *t = data;
  char run[64];
  snprintf(run, sizeof run, "%s " KIN_STR_FORMAT " ", kin_object_key(in).data,
           KIN_STR_ARG(kin_object_resource_version(in)));
  assert_true(t->run_count < MAX_RUNS);
  snprintf(t->runs[t->run_count++], sizeof t->runs[0], "%s", run);
  if (strstr(t->failing, run) != NULL) {
    return t->failure;
  }
  kin_object_builder_remove(out, "/spec/text");
  return kin_object_builder_set_string(out, "/metadata/labels/seen", "yes");
}

static void on_error(kin_informer *informer, kin_error_event *event,
                     void *data) {
  tw_world *t = data;
  iw_on_error(informer, event, data);
  if (strstr(event->message, "transform") == NULL) {
    return;
  }
  t->told++;
  assert_int_equal(event->error_class, KIN_CLASS_DECODE);
  assert_int_equal(event->code, t->failure);
  assert_int_equal(event->retry_in_ms, 0);
  assert_string_equal(event->namespace_, "");
  snprintf(t->last_message, sizeof t->last_message, "%s", event->message);
  event->answer = t->answer;
  if (t->is_closing_on_error) {
    assert_int_equal(kin_informer_close(informer, iw_on_closed, &t->w), 0);
  }
}

static kin_informer_options tw_init(tw_world *t) {
  memset(t, 0, sizeof *t);
  iw_init(&t->w, 0);
  t->failing = "";
  t->failure = KIN_ETYPE;
  kin_informer_options options = iw_options(&t->w);
  options.on_error = on_error;
  options.transform = transform;
  options.transform_data = t;
  return options;
}

static const kin_object *cached(const tw_world *t, const char *key) {
  return kin_store_get_key(kin_informer_store(t->w.informer), key);
}

static bool is_transformed(const kin_object *object) {
  kin_str value;
  kin_str body = kin__object_body(object);
  return kin_object_label(object, "seen", &value) && body.length > 0 &&
         memmem(body.data, body.length, "\"text\"", 6) == NULL;
}

/* All that is stored is transformed, and nothing was transformed twice. */
static void assert_transformed(const tw_world *t) {
  kin_cursor cursor = {0};
  const kin_object *object;
  while ((object = kin_store_next(kin_informer_store(t->w.informer),
                                  &cursor)) != NULL) {
    assert_true(is_transformed(object));
  }
  for (int i = 0; i < t->run_count; i++) {
    for (int k = 0; k < i; k++) {
      assert_string_not_equal(t->runs[i], t->runs[k]);
    }
  }
}

static void assert_version(const tw_world *t, const char *key,
                           const char *version) {
  const kin_object *object = cached(t, key);
  if (version == NULL) {
    assert_null(object);
    return;
  }
  assert_non_null(object);
  assert_true(is_transformed(object));
  assert_true(
      kin__str_equal(kin_object_resource_version(object), kin__cstr(version)));
}

static int handled;

static void see_transformed(kin_informer *informer, const kin_event *event,
                            void *data) {
  (void)informer;
  (void)data;
  handled++;
  assert_true(is_transformed(event->object));
  assert_true(event->old_object == NULL || is_transformed(event->old_object));
}

/* client-go TestSharedInformerTransformer, TestTransformingInformer,
 * TestTransformingInformerRace; SI-04, CO-08: handlers see nothing else, in
 * lists, adds, updates, the last state of what is deleted. Neither a resync nor
 * a list of what is cached transforms again. */
static void test_transform_comes_before_all(void **state) {
  (void)state;
  tw_world t;
  kin_informer_options options = tw_init(&t);
  options.resync_ms = 10000;
  mini_put_first(&t.w.server, 4);
  assert_int_equal(iw_open(&t.w, &options), 0);
  handled = 0;
  kin_listener_options listener = KIN_LISTENER_OPTIONS_INIT;
  listener.on_add = listener.on_update = listener.on_delete = see_transformed;
  listener.relist_updates = true;
  assert_int_equal(kin_informer_listen(t.w.informer, &listener, NULL), 0);
  mini_serve(&t.w.server);
  assert_int_equal(t.run_count, 4);
  mini_put(&t.w.server, 0);
  mini_put(&t.w.server, 9);
  mini_delete(&t.w.server, 1);
  mini_recreate(&t.w.server, 2);
  mini_serve(&t.w.server);
  assert_int_equal(t.run_count, 9);
  assert_int_equal(handled, 4 + 5);
  mini_pass(&t.w.server, 25000); /* two resyncs */
  assert_int_equal(handled, 9 + 2 * 4);
  assert_int_equal(t.run_count, 9);
  mini_break_watches(&t.w.server);
  mini_put(&t.w.server, 3);
  mini_compact(&t.w.server);
  mini_pass(&t.w.server, 5000);
  assert_int_equal(t.w.rec.relisted, 1);
  assert_int_equal(t.run_count, 10);
  assert_transformed(&t);
  iw_assert_truth(&t.w);
  assert_int_equal(t.told, 0);
  iw_finish(&t.w);
}

/* A watch that begins again a little before where the last one ended. */
static void test_transform_of_what_comes_again(void **state) {
  (void)state;
  tw_world t;
  kin_informer_options options = tw_init(&t);
  mini_put(&t.w.server, 0);
  assert_int_equal(iw_open(&t.w, &options), 0);
  mini_serve(&t.w.server);
  static const char event[] =
      "{\"type\":\"MODIFIED\",\"object\":{\"metadata\":{\"name\":\"p0\","
      "\"namespace\":\"even\",\"uid\":\"uid-0-1\",\"resourceVersion\":\"101\","
      "\"labels\":{}}}}\n";
  int calls = t.w.rec.calls;
  assert_true(script_body(&t.w.script, "watch=true", event, sizeof event - 1));
  assert_int_equal(t.run_count, 1);
  assert_int_equal(t.w.rec.calls, calls);
  assert_version(&t, "even/p0", "101");
  iw_finish(&t.w);
}

/* The server's answer to an own write, put as the transform leaves it, stays:
 * the event of the write and a list change nothing and transform nothing. */
static void test_transform_of_own_writes(void **state) {
  (void)state;
  tw_world t;
  kin_informer_options options = tw_init(&t);
  mini_put(&t.w.server, 0); /* 101 */
  assert_int_equal(iw_open(&t.w, &options), 0);
  mini_serve(&t.w.server);
  mini_put(&t.w.server, 0); /* 102 */
  kin_object *answer = object_format(
      NULL, "{'metadata':{'name':'p0','namespace':'even','uid':'uid-0-1',"
            "'resourceVersion':'102'},'spec':{'text':1}}");
  kin_object *kept;
  assert_int_equal(kin_object_transform(answer, transform, &t, &kept), 0);
  kin_object_unref(answer);
  assert_int_equal(kin_store_put(kin_informer_store(t.w.informer), kept), 0);
  kin_object_unref(kept);
  for (int list = 0; list < 2; list++) {
    mini_serve(&t.w.server);
    assert_version(&t, "even/p0", "102");
    mini_break_watches(&t.w.server);
    mini_put(&t.w.server, 1); /* so that the version is new */
    mini_compact(&t.w.server);
    mini_pass(&t.w.server, 5000);
  }
  assert_int_equal(t.w.rec.relisted, 2);
  assert_transformed(&t);
  assert_int_equal(t.run_count, 2 + 2);
  iw_finish(&t.w);
}

static int touch_nothing(const kin_object *in, kin_object_builder *out,
                         void *data) {
  (void)in;
  (void)out;
  ++*(int *)data;
  return 0;
}

/* What is kept as it is lies where an informer's objects lie, and is whole. */
static void test_transform_that_changes_nothing(void **state) {
  (void)state;
  iw_world w;
  iw_init(&w, 0);
  int runs = 0;
  kin_informer_options options = iw_options(&w);
  options.transform = touch_nothing;
  options.transform_data = &runs;
  mini_put(&w.server, 0);
  assert_int_equal(iw_open(&w, &options), 0);
  mini_serve(&w.server);
  mini_put(&w.server, 2);
  mini_serve(&w.server);
  assert_int_equal(runs, 2);
  iw_assert_truth(&w);
  for (int i = 0; i < 4; i += 2) {
    char key[16];
    snprintf(key, sizeof key, "even/p%d", i);
    const kin_object *object =
        kin_store_get_key(kin_informer_store(w.informer), key);
    assert_ptr_equal(kin__object_allocator(object), w.script.env.allocator);
    kin_str value;
    assert_true(kin_object_label(object, "app", &value));
    kin_object_view *view;
    assert_int_equal(kin_object_view_open(&view, object), 0);
    assert_int_equal(kin_object_view_string(view, "/spec/text", &value), 0);
    kin_object_view_close(view);
  }
  iw_finish(&w);
}

/* --- Failures ------------------------------------------------------------- */

/* The state before stays, or there is none; told once; nothing is asked
 * again. */
static void test_transform_fails_on_states(void **state) {
  (void)state;
  tw_world t;
  kin_informer_options options = tw_init(&t);
  t.failing = "even/p0 101 odd/p1 104 even/p4 106 ";
  mini_put(&t.w.server, 0); /* 101: never seen */
  mini_put(&t.w.server, 1); /* 102 */
  mini_put(&t.w.server, 2); /* 103 */
  assert_int_equal(iw_open(&t.w, &options), 0);
  mini_serve(&t.w.server);
  assert_true(kin_informer_has_synced(t.w.informer));
  assert_int_equal(t.told, 1);
  assert_non_null(strstr(t.last_message, "even/p0"));
  assert_version(&t, "even/p0", NULL);
  assert_version(&t, "odd/p1", "102");

  mini_put(&t.w.server, 1); /* 104: an update */
  mini_pass(&t.w.server, 1000);
  assert_int_equal(t.told, 2);
  assert_non_null(strstr(t.last_message, "odd/p1"));
  assert_version(&t, "odd/p1", "102");
  mini_put(&t.w.server, 2); /* 105: others go on */
  mini_put(&t.w.server, 4); /* 106: new, by a watch */
  mini_pass(&t.w.server, 1000);
  assert_version(&t, "even/p2", "105");
  assert_version(&t, "even/p4", NULL);
  assert_int_equal(t.told, 3);

  /* Lists of the same: silent, and what is kept is not swept. */
  for (int i = 0; i < 3; i++) {
    mini_break_watches(&t.w.server);
    mini_put(&t.w.server, 7); /* so that the version is new */
    mini_compact(&t.w.server);
    mini_pass(&t.w.server, 40000);
  }
  assert_int_equal(t.w.rec.relisted, 3);
  assert_int_equal(t.told, 3);
  assert_version(&t, "odd/p1", "102");

  mini_put_first(&t.w.server, 2);
  mini_serve(&t.w.server);
  assert_transformed(&t);
  kin_status status = iw_status(&t.w, "");
  assert_int_equal(status.transform_failures, 3);
  kin_informer_metrics metrics = iw_metrics(&t.w);
  assert_int_equal(metrics.transform_failures, 3);
  assert_int_equal(status.failures, 0);
  assert_int_equal(status.state, KIN_STATE_LIVE);
  assert_int_equal(t.run_count, 3 + 3 + 3 + 2);
  assert_int_equal(kin_store_count(kin_informer_store(t.w.informer)), 4);
  recorder_assert_folds_to(&t.w.rec, kin_informer_store(t.w.informer));
  iw_finish(&t.w);
}

/* Of what is deleted the cached state is the last one; what never was there
 * goes unnoticed. */
static void test_transform_fails_on_deletions(void **state) {
  (void)state;
  tw_world t;
  kin_informer_options options = tw_init(&t);
  t.failing = "even/p0 103 odd/p1 102 odd/p1 104 ";
  mini_put(&t.w.server, 0); /* 101 */
  mini_put(&t.w.server, 1); /* 102 */
  assert_int_equal(iw_open(&t.w, &options), 0);
  handled = 0;
  kin_listener_options listener = KIN_LISTENER_OPTIONS_INIT;
  listener.on_delete = see_transformed;
  assert_int_equal(kin_informer_listen(t.w.informer, &listener, NULL), 0);
  mini_serve(&t.w.server);
  mini_delete(&t.w.server, 0); /* 103 */
  mini_delete(&t.w.server, 1); /* 104 */
  mini_serve(&t.w.server);
  assert_string_equal(t.w.rec.log, "add even/p0 101 initial\n"
                                   "synced 1\n"
                                   "delete even/p0 watch\n");
  assert_int_equal(handled, 1);
  iw_assert_truth(&t.w);
  /* The position is behind them. */
  mini_end_watches(&t.w.server);
  mini_pass(&t.w.server, 2000);
  assert_int_equal(t.w.server.lists, 1);
  assert_non_null(strstr(t.w.script.last_target, "resourceVersion=104"));
  iw_finish(&t.w);
}

/* A state of another object of that name takes the old object away. */
static void test_transform_fails_on_recreated(void **state) {
  (void)state;
  tw_world t;
  kin_informer_options options = tw_init(&t);
  t.failing = "even/p0 104 odd/p1 107 ";
  mini_put(&t.w.server, 0); /* 101 */
  mini_put(&t.w.server, 1); /* 102 */
  assert_int_equal(iw_open(&t.w, &options), 0);
  mini_serve(&t.w.server);
  mini_break_watches(&t.w.server);
  mini_recreate(&t.w.server, 0); /* 103, 104: seen in a list */
  mini_compact(&t.w.server);
  mini_pass(&t.w.server, 5000);
  assert_version(&t, "even/p0", NULL);
  /* By a watch, whose deletion is lost. */
  static const char event[] =
      "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"p1\","
      "\"namespace\":\"odd\",\"uid\":\"another\",\"resourceVersion\":\"107\"}}}"
      "\n";
  assert_true(script_body(&t.w.script, "watch=true", event, sizeof event - 1));
  assert_version(&t, "odd/p1", NULL);
  assert_string_equal(t.w.rec.log, "add even/p0 101 initial\n"
                                   "add odd/p1 102 initial\n"
                                   "synced 2\n"
                                   "delete even/p0 relist\n"
                                   "relisted  104 1\n"
                                   "delete odd/p1 watch\n");
  iw_finish(&t.w);
}

/* The failures of a transform that the log has told of. */
static void on_line(kin_log_level level, const char *line, void *data) {
  char *lines = data;
  if (strstr(line, "transform of pods") != NULL) {
    strcat(lines, level == KIN_LOG_WARN ? "! " : "");
    strcat(lines, strstr(line, "object ") + strlen("object "));
    strcat(lines, " ");
  }
}

/* Many at once are one event that counts them, and those of the next second are
 * another one; the log names each. Twice. */
static void test_transform_failures_at_once(void **state) {
  (void)state;
  tw_world t;
  kin_informer_options options = tw_init(&t);
  t.failing = "even/p0 101 odd/p1 102 even/p2 103 ";
  mini_put_first(&t.w.server, 5);
  char lines[1024] = "";
  kin__log log = {on_line, lines, KIN_LOG_DEBUG, NULL};
  t.w.script.env.log = &log;
  assert_int_equal(iw_open(&t.w, &options), 0);
  mini_serve(&t.w.server);
  assert_int_equal(t.told, 1);
  assert_string_equal(lines, "even/p0 odd/p1 even/p2 ! even/p0; and 2 more ");
  assert_non_null(strstr(t.last_message, "even/p0; and 2 more"));
  assert_int_equal(kin_store_count(kin_informer_store(t.w.informer)), 2);
  for (int round = 0; round < 2; round++) {
    lines[0] = '\0';
    t.failing =
        round == 0 ? "even/p4 106 odd/p3 107 " : "even/p4 108 odd/p3 109 ";
    mini_put(&t.w.server, 4);
    mini_serve(&t.w.server);
    mini_put(&t.w.server, 3);
    mini_serve(&t.w.server);
    assert_int_equal(t.told, 1 + round);
    mini_pass(&t.w.server, 1000);
    assert_int_equal(t.told, 2 + round);
    assert_string_equal(lines, "even/p4 odd/p3 ! even/p4; and 1 more ");
  }
  assert_int_equal(iw_status(&t.w, "").transform_failures, 7);
  iw_finish(&t.w);
}

/* A resource vanishes and comes back, from a backup: the same uid and version,
 * with a state that the transform takes. Twice. */
static void test_refused_until_cleared(void **state) {
  (void)state;
  tw_world t;
  kin_informer_options options = tw_init(&t);
  options.clear_when_absent = true;
  mini_put_first(&t.w.server, 2);
  t.failing = "odd/p1 102 ";
  assert_int_equal(iw_open(&t.w, &options), 0);
  const kin_store *store = kin_informer_store(t.w.informer);
  mini_pass(&t.w.server, 1500);
  for (int round = 0; round < 2; round++) {
    assert_int_equal(kin_store_count(store), 1);
    t.w.server.is_absent = true;
    mini_break_watches(&t.w.server);
    mini_pass(&t.w.server, 5000);
    assert_int_equal(kin_store_count(store), 0);
    t.failing = round == 0 ? "even/p0 101 " : "";
    t.w.server.is_absent = false;
    mini_pass(&t.w.server, 60000);
  }
  assert_int_equal(kin_store_count(store), 2);
  assert_int_equal(t.told, 2);
  iw_finish(&t.w);
}

/* Want of memory is none of the object's: the request is repeated. */
static void test_transform_without_memory(void **state) {
  (void)state;
  tw_world t;
  kin_informer_options options = tw_init(&t);
  t.failing = "even/p2 102 ";
  t.failure = KIN_ENOMEM;
  mini_put(&t.w.server, 0);
  mini_put(&t.w.server, 2);
  assert_int_equal(iw_open(&t.w, &options), 0);
  mini_serve(&t.w.server);
  assert_false(kin_informer_has_synced(t.w.informer));
  assert_int_equal(t.w.last_class, KIN_CLASS_MEMORY);
  assert_int_equal(t.told, 0);
  t.failing = "even/p0 103 ";
  mini_pass(&t.w.server, 5000);
  assert_true(kin_informer_has_synced(t.w.informer));
  mini_put(&t.w.server, 0);
  mini_serve(&t.w.server);
  assert_version(&t, "even/p0", "101");
  t.failing = "";
  mini_pass(&t.w.server, 5000);
  iw_assert_truth(&t.w);
  assert_int_equal(t.w.rec.relisted, 0);
  iw_finish(&t.w);
}

static void test_transform_failure_can_stop(void **state) {
  (void)state;
  tw_world t;
  kin_informer_options options = tw_init(&t);
  t.failing = "even/p0 102 ";
  t.answer = KIN_STOP;
  mini_put(&t.w.server, 0);
  assert_int_equal(iw_open(&t.w, &options), 0);
  mini_serve(&t.w.server);
  mini_put(&t.w.server, 0);
  mini_serve(&t.w.server);
  assert_int_equal(t.told, 1);
  assert_int_equal(t.w.state, KIN_STATE_IDLE);
  assert_int_equal(script_open_requests(&t.w.script), 0);
  assert_version(&t, "even/p0", "101");
  iw_finish(&t.w);
}

/* --- Sources of the program's own ----------------------------------------- */

typedef struct own_source {
  kin_feed *feed;
  bool is_watch;
} own_source;

static int own_open(void *ctx, const kin_feed_request *request, kin_feed *feed,
                    void **out) {
  own_source *source = ctx;
  *source = (own_source){feed, request->is_watch};
  *out = source;
  return 0;
}

static void own_cancel(void *ctx, void *answer) {
  (void)answer;
  ((own_source *)ctx)->feed = NULL;
}

/* Objects that the program makes are transformed like any others. */
static void test_transform_of_a_source(void **state) {
  (void)state;
  tw_world t;
  kin_informer_options options = tw_init(&t);
  own_source own = {0};
  kin_lister_watcher source = KIN_LISTER_WATCHER_INIT;
  source.open = own_open;
  source.cancel = own_cancel;
  source.ctx = &own;
  options.source = &source;
  t.failing = "b 2 ";
  assert_int_equal(iw_open(&t.w, &options), 0);
  script_run(&t.w.script);
  for (unsigned i = 0; i < 3; i++) {
    kin_object *object = object_format(
        NULL,
        "{'metadata':{'name':'%c','uid':'u%u','resourceVersion':'%u'},"
        "'spec':{'text':1}}",
        (int)('a' + i), i, i + 1);
    assert_int_equal(kin_feed_item(own.feed, object), 0);
    kin_object_unref(object);
  }
  assert_int_equal(kin_feed_list_end(own.feed, "3", NULL), 0);
  script_run(&t.w.script);
  assert_string_equal(t.w.rec.log, "add a 1 initial\n"
                                   "add c 3 initial\n"
                                   "synced 2\n");
  assert_transformed(&t);
  assert_int_equal(t.told, 1);
  assert_true(own.is_watch);
  iw_finish(&t.w);
}

static int refuse(const kin_object *in, kin_object_builder *out, void *data) {
  (void)in;
  (void)out;
  ((tw_world *)data)->run_count++;
  return KIN_ETYPE;
}

/* A transform that refuses hundreds of objects runs once for each, however often
 * they are listed. */
static void test_transform_refuses_many(void **state) {
  (void)state;
  enum { MANY = 1000, LISTS = 4 };
  tw_world t;
  kin_informer_options options = tw_init(&t);
  hand_source source;
  hand_source_init(&source, &t.w.script);
  options.source = &source.lister_watcher;
  options.transform = refuse;
  assert_int_equal(iw_open(&t.w, &options), 0);
  script_run(&t.w.script);
  for (int list = 0; list < LISTS; list++) {
    for (int i = 0; i < MANY; i++) {
      char text[32];
      snprintf(text, sizeof text, "p%d@%d", i, i + 1);
      hand_source_item(&source, text);
    }
    hand_source_list_end(&source, "1000", NULL);
    assert_int_equal(t.run_count, MANY);
    assert_int_equal(iw_status(&t.w, "").transform_failures, MANY);
    assert_int_equal(kin_feed_open(source.feed), 0);
    hand_source_fail(&source, 410, "Expired", true);
    script_advance(&t.w.script, 60000);
  }
  iw_finish(&t.w);
}

/* Lists that come as watches: what is gathered is transformed, and was once. */
static void test_transform_of_streams(void **state) {
  (void)state;
  tw_world t;
  kin_informer_options options = tw_init(&t);
  script_use_streams(&t.w.script);
  t.failing = "odd/p1 102 even/p2 106 ";
  mini_put_first(&t.w.server, 5);
  t.w.server.holds_bookmark = true;
  assert_int_equal(iw_open(&t.w, &options), 0);
  mini_serve(&t.w.server);
  mini_put(&t.w.server, 2);    /* 106: the state before stays */
  mini_delete(&t.w.server, 3); /* 107 */
  mini_serve(&t.w.server);
  assert_int_equal(t.w.rec.calls, 0);
  t.w.server.holds_bookmark = false;
  mini_serve(&t.w.server);
  assert_true(kin_informer_has_synced(t.w.informer));
  assert_int_equal(t.w.server.lists, 0);
  assert_version(&t, "odd/p1", NULL);
  assert_version(&t, "even/p2", "103");
  assert_version(&t, "odd/p3", NULL);
  assert_int_equal(t.run_count, 7);
  mini_break_watches(&t.w.server);
  mini_put(&t.w.server, 0); /* 108 */
  mini_compact(&t.w.server);
  mini_pass(&t.w.server, 5000);
  assert_int_equal(t.w.server.streams, 2);
  assert_int_equal(t.run_count, 8);
  assert_version(&t, "even/p0", "108");
  assert_version(&t, "even/p2", "103");
  assert_transformed(&t);
  assert_int_equal(kin_store_count(kin_informer_store(t.w.informer)), 3);
  recorder_assert_folds_to(&t.w.rec, kin_informer_store(t.w.informer));
  iw_finish(&t.w);
}

/* --- Sweeps --------------------------------------------------------------- */

static int run_story(tw_world *t, size_t fail_at) {
  kin_informer_options options = tw_init(t);
  t->w.memory.fail_at = fail_at;
  t->failing = "odd/p1 102 even/p2 105 odd/p3 107 ";
  mini_put_first(&t->w.server, 4);
  int err = iw_open(&t->w, &options);
  if (err != 0) {
    return err;
  }
  mini_serve(&t->w.server);
  mini_put(&t->w.server, 2);    /* 105 */
  mini_put(&t->w.server, 2);    /* 106 */
  mini_delete(&t->w.server, 3); /* 107 */
  mini_pass(&t->w.server, 1000);
  mini_break_watches(&t->w.server);
  mini_put(&t->w.server, 1); /* 108 */
  mini_compact(&t->w.server);
  mini_pass(&t->w.server, 200000);
  return 0;
}

/* Every allocation fails once: the truth is reached all the same. */
static bool run_transform_without_memory(size_t n) {
  tw_world t;
  int err = run_story(&t, n);
  bool has_failed = fail_alloc_has_failed(&t.w.memory);
  if (err != 0) {
    assert_int_equal(err, KIN_ENOMEM);
  } else {
    iw_assert_truth(&t.w);
  }
  iw_finish(&t.w);
  if (!has_failed) {
    assert_int_equal(t.told, 2); /* of the list, and of the events */
  }
  return has_failed;
}

static void test_transform_sweep_allocations(void **state) {
  (void)state;
  fail_alloc_sweep(run_transform_without_memory, 30);
}

/* Closed by the first, the second, the third error. */
static void test_transform_sweep_closes(void **state) {
  (void)state;
  for (int n = 0; n < 3; n++) {
    tw_world t;
    kin_informer_options options = tw_init(&t);
    t.failing = "even/p0 101 even/p0 102 even/p0 103 ";
    mini_put(&t.w.server, 0);
    assert_int_equal(iw_open(&t.w, &options), 0);
    for (int i = 0; i < 3 && t.w.closed == 0; i++) {
      t.is_closing_on_error = i == n;
      mini_pass(&t.w.server, 1000);
      mini_put(&t.w.server, 0);
    }
    mini_serve(&t.w.server);
    assert_int_equal(t.w.closed, 1);
    assert_int_equal(t.told, n + 1);
    iw_finish(&t.w);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_transform_comes_before_all),
      cmocka_unit_test(test_transform_of_what_comes_again),
      cmocka_unit_test(test_transform_of_own_writes),
      cmocka_unit_test(test_transform_that_changes_nothing),
      cmocka_unit_test(test_transform_fails_on_states),
      cmocka_unit_test(test_transform_fails_on_deletions),
      cmocka_unit_test(test_transform_fails_on_recreated),
      cmocka_unit_test(test_transform_failures_at_once),
      cmocka_unit_test(test_transform_without_memory),
      cmocka_unit_test(test_transform_failure_can_stop),
      cmocka_unit_test(test_transform_of_a_source),
      cmocka_unit_test(test_transform_refuses_many),
      cmocka_unit_test(test_transform_of_streams),
      cmocka_unit_test(test_transform_sweep_allocations),
      cmocka_unit_test(test_refused_until_cleared),
      cmocka_unit_test(test_transform_sweep_closes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
