/* SPDX-License-Identifier: MIT */

/* The informer watcher on a virtual clock. Proves TW-08. What an informer
 * survives and in which order its listeners are told is proved by the
 * informer's and the listeners' own tests. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <uv.h>

#include "base/str.h"
#include "informer/informer.h"
#include "support/client_world.h"
#include "support/objects.h"
#include "support/virtual_host.h"
#include "support/watch_log.h"
#include "toolkit/watch.h"

typedef struct world {
  virtual_host vh;
  kin_informer_options resource;
  kin_informer_watcher_options options;
  kin_informer_watcher *watcher;
  watch_log log;
} world;

static void init(world *w, size_t fail_at) {
  *w = (world){.resource = KIN_INFORMER_OPTIONS_INIT,
               .options = KIN_INFORMER_WATCHER_OPTIONS_INIT};
  vh_init(&w->vh, fail_at);
  w->resource.plural = "pods";
  w->options.resource = &w->resource;
  w->options.on_event = watch_log_on_event;
  w->options.on_closed = watch_log_on_closed;
  w->options.data = &w->log;
}

static int try_open(world *w) {
  return kin__informer_watcher_open(&w->watcher, &w->vh.host, &w->options);
}

static void serve(world *w) {
  mini_serve(&w->vh.server);
}

static void finish(world *w) {
  bool was_open = w->watcher != NULL && w->log.closed == 0;
  w->log.text[0] = '\0';
  w->log.is_over = true;
  vh_finish(&w->vh);
  assert_string_equal(w->log.text, was_open ? "closed " : "");
}

/* --- Events --------------------------------------------------------------- */

/* The watcher has told odd/p1@101. */
static void open_with_pod(world *w) {
  init(w, 0);
  mini_put(&w->vh.server, 1);
  assert_int_equal(try_open(w), 0);
  serve(w);
}

/* Changes the server during a break after which only a list can tell. */
static void relist_after(world *w, void (*change)(mini_server *, int)) {
  mini_break_watches(&w->vh.server);
  change(&w->vh.server, 1);
  mini_compact(&w->vh.server);
  mini_pass(&w->vh.server, 5000);
}

/* TW-08. client-go TestNewInformerWatcher: the list comes as ADDED events,
 * changes follow, and it may be closed while more of them have not been read.
 * There are no bookmarks, and here also none that ends a list. */
static void test_informer_watcher_events(void **state) {
  (void)state;
  world w;
  init(&w, 0);
  for (int i = 1; i <= 3; i++) {
    mini_put(&w.vh.server, i);
  }
  assert_int_equal(try_open(&w), 0);
  serve(&w);
  watch_log_expect(&w.log, "A:odd/p1@101 A:even/p2@102 A:odd/p3@103 ");
  mini_put(&w.vh.server, 4);
  mini_put(&w.vh.server, 2);
  mini_delete(&w.vh.server, 3);
  serve(&w);
  mini_bookmark(&w.vh.server);
  watch_log_expect(&w.log, "A:even/p4@104 M:even/p2@105 D:odd/p3@106 ");
  kin_store *store =
      kin_informer_store(kin_informer_watcher_informer(w.watcher));
  assert_int_equal(kin_store_count(store), 3);
  kin_informer_watcher_pause(w.watcher);
  mini_put(&w.vh.server, 4);
  mini_put(&w.vh.server, 5);
  serve(&w);
  w.log.is_over = true;
  assert_int_equal(kin_informer_watcher_close(w.watcher, NULL, NULL), 0);
  assert_int_equal(kin_informer_watcher_close(w.watcher, NULL, NULL),
                   KIN_EALREADY);
  kin_informer_watcher_resume(w.watcher);
  script_run(&w.vh.script);
  watch_log_expect(&w.log, "closed ");
  assert_int_equal(script_open_requests(&w.vh.script), 0);
  finish(&w);
}

/* SI-13, TW-08: an own write is an event, and the server's event of the same
 * state is none. */
static void test_informer_watcher_own_writes(void **state) {
  (void)state;
  world w;
  open_with_pod(&w);
  watch_log_expect(&w.log, "A:odd/p1@101 ");
  kin_store *store =
      kin_informer_store(kin_informer_watcher_informer(w.watcher));
  kin_object *mine = object_of(
      NULL, "{'metadata':{'name':'p2','namespace':'even','uid':'uid-2-1',"
            "'resourceVersion':'102'}}");
  assert_int_equal(kin_store_put(store, mine), 0);
  kin_object_unref(mine);
  script_run(&w.vh.script);
  watch_log_expect(&w.log, "A:even/p2@102 ");
  mini_put(&w.vh.server, 2);
  mini_put(&w.vh.server, 2);
  mini_delete(&w.vh.server, 2);
  serve(&w);
  watch_log_expect(&w.log, "M:even/p2@103 D:even/p2@104 ");
  assert_int_equal(kin_store_delete(store, KIN__LIT("odd/p1")), 0);
  mini_delete(&w.vh.server, 1);
  serve(&w);
  watch_log_expect(&w.log, "D:odd/p1@101 ");
  finish(&w);
}

/* TW-08. client-go TestInformerWatcherDeletedFinalStateUnknown: what a later
 * list lacks is deleted, with the object as it was last seen. */
static void test_informer_watcher_final_state_unknown(void **state) {
  (void)state;
  world w;
  open_with_pod(&w);
  watch_log_expect(&w.log, "A:odd/p1@101 ");
  relist_after(&w, mini_delete);
  assert_true(w.vh.server.lists >= 2);
  watch_log_expect(&w.log, "D:odd/p1@101 ");
  finish(&w);
}

/* What was replaced by another of its name between two lists is both. */
static void test_informer_watcher_recreated(void **state) {
  (void)state;
  world w;
  open_with_pod(&w);
  relist_after(&w, mini_recreate);
  watch_log_expect(&w.log, "A:odd/p1@101 D:odd/p1@101 A:odd/p1@103 ");
  finish(&w);
}

/* --- Order and bounds ----------------------------------------------------- */

/* Sends versions of one object, in one piece or one by one. */
static void send_versions(world *w, unsigned first, unsigned count,
                          bool is_one_piece) {
  static char frames[131072];
  size_t used = 0;
  for (unsigned i = 0; i < count; i++) {
    used += (size_t)snprintf(
        frames + used, sizeof frames - used,
        "{\"type\":\"MODIFIED\",\"object\":{\"metadata\":{\"name\":\"x\","
        "\"uid\":\"u\",\"resourceVersion\":\"%u\"}}}\n",
        first + i);
    if (!is_one_piece || i + 1 == count) {
      assert_true(script_body(&w->vh.script, "watch=true", frames, used));
      used = 0;
    }
  }
}

static void expect_versions(world *w, unsigned first, unsigned count) {
  static char expected[16384];
  size_t used = (size_t)snprintf(expected, sizeof expected, "A:x@%u ", first);
  for (unsigned i = 1; i < count; i++) {
    used += (size_t)snprintf(expected + used, sizeof expected - used, "M:x@%u ",
                             first + i);
  }
  watch_log_expect(&w->log, expected);
}

static void open_with_list(world *w) {
  assert_int_equal(try_open(w), 0);
  script_respond(&w->vh.script, "pods", 200,
                 "{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":"
                 "\"1000\"},\"items\":[]}");
  assert_true(script_head(&w->vh.script, "watch=true", 200));
}

/* TW-08. client-go TestEventProcessorOrdersEvents: a thousand events, all of
 * them, in order, whether they can be shown as they come or pile up. */
static void test_informer_watcher_orders_events(void **state) {
  (void)state;
  for (int piles_up = 0; piles_up < 2; piles_up++) {
    world w;
    init(&w, 0);
    open_with_list(&w);
    send_versions(&w, 1001, 1000, piles_up != 0);
    expect_versions(&w, 1001, 1000);
    finish(&w);
  }
}

/* Where client-go's buffer grows without a bound, of what piles up beyond a
 * limit each object's changes become one; there need not be a limit. */
static void test_informer_watcher_is_bounded(void **state) {
  (void)state;
  world w;
  init(&w, 0);
  w.options.exact_limit = 10;
  open_with_list(&w);
  send_versions(&w, 1001, 60, true); /* are applied in one step */
  assert_in_range(w.log.events, 1, 11);
  assert_non_null(strstr(w.log.text, "@1060 ")); /* never the newest */
  finish(&w);
  init(&w, 0);
  w.options.exact_limit = KIN_NEVER;
  open_with_list(&w);
  send_versions(&w, 1001, 1000, true);
  expect_versions(&w, 1001, 1000);
  finish(&w);
}

/* While it is paused, too; then it goes on with what there is. */
static void test_informer_watcher_pause(void **state) {
  (void)state;
  world w;
  init(&w, 0);
  open_with_list(&w);
  send_versions(&w, 1001, 1, true);
  kin_informer_watcher_pause(w.watcher);
  send_versions(&w, 1002, 100, false);
  watch_log_expect(&w.log, "A:x@1001 ");
  kin_informer_watcher_resume(w.watcher);
  script_run(&w.vh.script);
  watch_log_expect(&w.log, "M:x@1101 ");
  finish(&w);
}

/* --- The end -------------------------------------------------------------- */

/* TW-08. client-go TestEventProcessorExit: it ends although events wait, one or
 * two, and shows none of them. */
static void test_informer_watcher_exit(void **state) {
  (void)state;
  for (unsigned waiting = 1; waiting <= 2; waiting++) {
    world w;
    init(&w, 0);
    open_with_list(&w);
    kin_informer_watcher_pause(w.watcher);
    send_versions(&w, 1001, waiting, false);
    w.log.is_over = true;
    assert_int_equal(kin_informer_watcher_close(w.watcher, NULL, NULL), 0);
    script_run(&w.vh.script);
    watch_log_expect(&w.log, "closed ");
    finish(&w);
  }
}

/* It ends with its informer, whoever closes that, and then there is none. */
static void test_informer_watcher_ends_with_its_informer(void **state) {
  (void)state;
  for (int is_closed_too = 0; is_closed_too < 2; is_closed_too++) {
    world w;
    init(&w, 0);
    mini_put(&w.vh.server, 1);
    assert_int_equal(try_open(&w), 0);
    serve(&w);
    watch_log_expect(&w.log, "A:odd/p1@101 ");
    w.log.is_over = true;
    kin_informer *informer = kin_informer_watcher_informer(w.watcher);
    assert_int_equal(kin_informer_close(informer, NULL, NULL), 0);
    if (is_closed_too != 0) {
      assert_int_equal(
          kin_informer_watcher_close(w.watcher, watch_log_on_closed, &w.log),
          0);
    }
    script_run(&w.vh.script);
    watch_log_expect(&w.log, is_closed_too != 0 ? "closed closed " : "closed ");
    finish(&w);
  }
}

typedef struct closer {
  world *w;
  int at_call;
  int how; /* 0: the watcher, 1: its informer, 2: the host */
} closer;

static void close_at(watch_log *log) {
  closer *c = log->data;
  if (log->calls != c->at_call) {
    return;
  }
  log->is_over = true;
  kin_informer_watcher *watcher = c->w->watcher;
  if (c->how == 0) {
    assert_int_equal(kin_informer_watcher_close(watcher, NULL, NULL), 0);
  } else if (c->how == 1) {
    assert_int_equal(
        kin_informer_close(kin_informer_watcher_informer(watcher), NULL, NULL),
        0);
  } else {
    vh_close(&c->w->vh);
  }
}

/* A life with adds, updates, deletes and a relist. */
static void live(world *w) {
  mini_put(&w->vh.server, 1);
  mini_put(&w->vh.server, 2);
  serve(w);
  mini_put(&w->vh.server, 1);
  mini_put(&w->vh.server, 3);
  mini_delete(&w->vh.server, 2);
  serve(w);
  mini_break_watches(&w->vh.server);
  mini_recreate(&w->vh.server, 1);
  mini_delete(&w->vh.server, 3);
  mini_compact(&w->vh.server);
  mini_pass(&w->vh.server, 10000);
}

static void test_informer_watcher_close_in_each_callback(void **state) {
  (void)state;
  for (int how = 0; how < 3; how++) {
    int at_call = 1;
    for (;; at_call++) {
      world w;
      init(&w, 0);
      closer c = {&w, at_call, how};
      w.log.then = close_at;
      w.log.data = &c;
      assert_int_equal(try_open(&w), 0);
      live(&w);
      bool was_reached = w.log.calls == at_call;
      assert_int_equal(w.log.closed, was_reached);
      finish(&w);
      if (!was_reached) {
        break;
      }
    }
    assert_int_equal(at_call - 1, 8);
  }
}

/* --- Bad input and memory ------------------------------------------------- */

static void test_informer_watcher_refuses(void **state) {
  (void)state;
  world w;
  init(&w, 0);
  w.options.on_event = NULL;
  assert_int_equal(try_open(&w), KIN_EINVAL);
  w.options.on_event = watch_log_on_event;
  w.resource.resync_ms = 1;
  assert_int_equal(try_open(&w), KIN_EINVAL);
  w.resource.resync_ms = 0;
  w.resource.on_closed = watch_log_on_closed;
  assert_int_equal(try_open(&w), KIN_EINVAL);
  w.resource.on_closed = NULL;
  w.resource.plural = "..";
  assert_int_equal(try_open(&w), KIN_EINVAL);
  w.resource.plural = "pods";
  w.options.resource = NULL;
  assert_int_equal(try_open(&w), KIN_EINVAL);
  w.options.resource = &w.resource;
  w.options.size--;
  assert_int_equal(try_open(&w), KIN_EINVAL);
  w.options.size++;
  vh_close(&w.vh);
  assert_int_equal(try_open(&w), KIN_ECLOSED);
  assert_null(w.watcher);
  finish(&w);
}

static void on_error(kin_informer *informer, kin_error_event *event,
                     void *data) {
  (void)informer;
  (void)event;
  ++*(int *)data;
}

/* The informer's own callbacks are the program's, with their own data. */
static void test_informer_watcher_errors_of_the_informer(void **state) {
  (void)state;
  world w;
  init(&w, 0);
  int errors = 0;
  w.resource.on_error = on_error;
  w.resource.data = &errors;
  assert_int_equal(try_open(&w), 0);
  script_respond(&w.vh.script, "pods", 403, "");
  assert_int_equal(errors, 1);
  watch_log_expect(&w.log, "");
  finish(&w);
}

/* Whichever allocation fails, what is shown in the end is the truth; if it
 * cannot be opened, nothing is left and nobody is told. */
static void test_informer_watcher_fails_cleanly(void **state) {
  (void)state;
  bool has_failed = true;
  size_t refused = 0;
  for (size_t n = 1; has_failed; n++) {
    world w;
    init(&w, n);
    mini_put(&w.vh.server, 1);
    int err = try_open(&w);
    if (err != 0) {
      assert_int_equal(err, KIN_ENOMEM);
      assert_null(w.watcher);
      script_run(&w.vh.script);
      assert_int_equal(w.log.calls + w.log.closed, 0);
      refused++;
    } else {
      mini_pass(&w.vh.server, 10000);
      mini_put(&w.vh.server, 1);
      mini_pass(&w.vh.server, 10000);
      assert_non_null(strstr(w.log.text, ":odd/p1@102 "));
    }
    has_failed = fail_alloc_has_failed(&w.vh.memory);
    finish(&w);
  }
  assert_in_range(refused, 3, 20);
}

/* --- A real client -------------------------------------------------------- */

static void close_client(watch_log *log) {
  assert_int_equal(client_world_close(log->data), 0);
}

static void test_informer_watcher_in_a_client(void **state) {
  (void)state;
  static const loop_reply reply = {
      .bytes = ANSWER_TO_END ANSWER_PODS("5", ANSWER_POD("x", "1", "4")),
      .then = LOOP_CLOSE};
  client_world w;
  client_world_serve(&w, &reply, 1);
  assert_int_equal(client_world_open_client(&w), 0);
  watch_log log = {.then = close_client, .data = &w};
  kin_informer_options resource = KIN_INFORMER_OPTIONS_INIT;
  resource.plural = "pods";
  kin_informer_watcher_options options = KIN_INFORMER_WATCHER_OPTIONS_INIT;
  options.resource = &resource;
  options.on_event = watch_log_on_event;
  options.on_closed = watch_log_on_closed;
  options.data = &log;
  kin_informer_watcher *watcher;
  assert_int_equal(kin_informer_watcher_open(&watcher, w.client, &options), 0);
  CLIENT_UNTIL(&w, w.client == NULL);
  client_world_finish(&w);
  watch_log_expect(&log, "A:n/x@4 closed ");
}

/* --- In an until ---------------------------------------------------------- */

/* Closes the informer as soon as it has synced, in the same iteration. */
typedef struct spoiler {
  kin__sync_watch sync;
  kin__task task;
  kin__sched *sched;
  kin_informer *informer;
  int asked;
  int code;
} spoiler;

static bool close_informer(kin__task *task) {
  spoiler *c = KIN__CONTAINER_OF(task, spoiler, task);
  assert_int_equal(kin_informer_close(c->informer, NULL, NULL), 0);
  return false;
}

static void on_sync(kin__sync_watch *watch, int result) {
  spoiler *c = KIN__CONTAINER_OF(watch, spoiler, sync);
  assert_int_equal(result, 0);
  kin__sched_add(c->sched, &c->task);
}

static void watch_informer(kin_informer *informer, const char *namespace_,
                           kin_state from, kin_state to, void *data) {
  (void)namespace_;
  (void)from;
  (void)to;
  spoiler *c = data;
  if (c->informer == NULL) {
    c->informer = informer;
    kin__link_push(&informer->dispatcher.sync_watches, &c->sync.node);
  }
}

static int ask_store(kin_store *store, void *data) {
  ((spoiler *)data)->asked++;
  return kin_store_count(store) == 0;
}

static void note_result(const kin_until_result *result, void *data) {
  ((spoiler *)data)->code = result->code;
}

/* TW-07: the precondition is asked about a cache that is complete, so not of
 * one whose informer is being taken down. */
static void test_until_precondition_of_a_closed_informer(void **state) {
  (void)state;
  virtual_host vh;
  vh_init(&vh, 0);
  spoiler c = {.sync.notify = on_sync, .sched = &vh.script.sched, .code = 1};
  kin__task_init(&c.task, close_informer);
  kin_informer_options resource = KIN_INFORMER_OPTIONS_INIT;
  resource.plural = "pods";
  resource.on_state = watch_informer;
  resource.data = &c;
  kin_until_options options = KIN_UNTIL_OPTIONS_INIT;
  options.resource = &resource;
  options.precondition = ask_store;
  options.precondition_data = &c;
  options.cb = note_result;
  options.data = &c;
  mini_put(&vh.server, 1);
  kin_until *until;
  assert_int_equal(kin__until_open(&until, &vh.host, &options, true), 0);
  script_run(&vh.script);
  assert_non_null(c.informer);
  mini_serve(&vh.server);
  assert_int_equal(c.asked, 0);
  assert_int_equal(c.code, KIN_ECLOSED);
  vh_finish(&vh);
}

static int close_host_in_open(void *ctx, const kin_feed_request *request,
                              kin_feed *feed, void **out) {
  (void)request;
  (void)feed;
  vh_close(ctx);
  *out = ctx;
  return 0;
}

static void cancel_nothing(void *ctx, void *answer) {
  assert_ptr_equal(ctx, answer);
}

/* A source that closes the client as soon as it is asked: inside the call that
 * opens. */
static void test_until_client_closes_in_open(void **state) {
  (void)state;
  virtual_host vh;
  vh_init(&vh, 0);
  spoiler c = {.code = 1};
  kin_lister_watcher source = KIN_LISTER_WATCHER_INIT;
  source.open = close_host_in_open;
  source.cancel = cancel_nothing;
  source.ctx = &vh;
  kin_informer_options resource = KIN_INFORMER_OPTIONS_INIT;
  resource.plural = "pods";
  resource.source = &source;
  kin_until_options options = KIN_UNTIL_OPTIONS_INIT;
  options.resource = &resource;
  options.precondition = ask_store;
  options.precondition_data = &c;
  options.cb = note_result;
  options.data = &c;
  kin_until *until;
  assert_int_equal(kin__until_open(&until, &vh.host, &options, true), 0);
  assert_int_equal(c.code, 1); /* from a later iteration */
  script_run(&vh.script);
  assert_int_equal(c.code, KIN_ECLOSED);
  assert_int_equal(c.asked, 0);
  vh_finish(&vh);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_informer_watcher_events),
      cmocka_unit_test(test_informer_watcher_own_writes),
      cmocka_unit_test(test_informer_watcher_final_state_unknown),
      cmocka_unit_test(test_informer_watcher_recreated),
      cmocka_unit_test(test_informer_watcher_orders_events),
      cmocka_unit_test(test_informer_watcher_is_bounded),
      cmocka_unit_test(test_informer_watcher_pause),
      cmocka_unit_test(test_informer_watcher_exit),
      cmocka_unit_test(test_informer_watcher_ends_with_its_informer),
      cmocka_unit_test(test_informer_watcher_close_in_each_callback),
      cmocka_unit_test(test_informer_watcher_refuses),
      cmocka_unit_test(test_informer_watcher_errors_of_the_informer),
      cmocka_unit_test(test_informer_watcher_fails_cleanly),
      cmocka_unit_test(test_informer_watcher_in_a_client),
      cmocka_unit_test(test_until_precondition_of_a_closed_informer),
      cmocka_unit_test(test_until_client_closes_in_open),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
