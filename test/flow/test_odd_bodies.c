/* SPDX-License-Identifier: MIT */

/* RE-01, RE-02, RE-03, RL-10, RW-08, WS-05: a body in which any value is of
 * another JSON type, repeated or missing, in each place where an informer reads
 * a body, costs at most that request. The same informer gets one after the
 * other, and has the truth after each. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/informer_world.h"
#include "support/json_mutations.h"
#include "support/odd_bodies.h"

/* Where a body goes. */
typedef struct place {
  const char *request; /* a part of its target */
  int status;
  bool is_watch;
  bool streams; /* lists come as watches */
  bool ends;    /* watches do, so that they are verified */
  bool pages;
} place;

static const place first_list = {"/pods", 200, false, false, false, false};
static const place second_page = {"continue=", 200, false, false, false, true};
static const place verify = {"limit=1&", 200, false, false, true, false};
static const place watch = {"watch=true", 200, true, false, false, false};
static const place stream = {
    "sendInitialEvents", 200, true, true, false, false};

typedef struct odd_world {
  iw_world w;
  const place *place;
} odd_world;

static const char *const pointers[] = {"/metadata/labels/app", "/spec/nodeName",
                                       "/metadata/*", "/metadata/labels/*",
                                       "/*/*/*"};

static void add_indices(odd_world *o) {
  kin_store *store = kin_informer_store(o->w.informer);
  for (size_t i = 0; i < sizeof pointers / sizeof *pointers; i++) {
    kin_index_options index = KIN_INDEX_OPTIONS_INIT;
    index.name = pointers[i];
    index.pointer = pointers[i];
    assert_int_equal(kin_store_add_index(store, &index), 0);
  }
}

static void odd_open(odd_world *o, const place *where) {
  memset(o, 0, sizeof *o);
  o->place = where;
  iw_init(&o->w, 0);
  if (where->streams) {
    script_use_streams(&o->w.script);
  }
  kin_informer_options options = iw_options(&o->w);
  if (where->pages) {
    o->w.server.honours_limit = true;
    options.page_size = 2;
  }
  mini_put_first(&o->w.server, 5);
  assert_int_equal(iw_open(&o->w, &options), 0);
  add_indices(o);
  if (where->ends) {
    mini_serve(&o->w.server);
  }
}

/* Sends the body in place of what was asked for. */
static void answer_odd(odd_world *o, const char *body) {
  script_request *request = mini_await(&o->w.server);
  request->position = o->w.server.version;
  request->is_streaming = o->place->streams;
  bool is_open = script_request_head(request, o->place->status) &&
                 script_request_body(request, body, strlen(body));
  if (is_open && o->place->is_watch && o->place->status == 200) {
    script_request_body(request, "\n", 1);
  } else if (is_open) {
    script_request_end(request);
  }
}

static void pass(odd_world *o) {
  for (int i = 0; i < 12; i++) {
    mini_serve(&o->w.server);
    script_advance(&o->w.script, 5000);
  }
  mini_serve(&o->w.server);
}

/* Twice: the second time finds what the first one left behind. */
static void run_body(odd_world *o, const char *body) {
  for (int i = 0; i < 2; i++) {
    o->w.server.withholds = o->place->request;
    o->w.server.withholds_watches = o->place->is_watch;
    if (o->place->streams) {
      iw_stream_again(&o->w);
    }
    if (o->place->ends) {
      mini_end_watches(&o->w.server);
    } else {
      mini_expire_watches(&o->w.server);
    }
    answer_odd(o, body);
    o->w.server.withholds = NULL;
    pass(o);
    /* Whatever was taken for a list is not believed any longer. */
    mini_expire_watches(&o->w.server);
    pass(o);
    o->w.rec.used = 0;
    iw_assert_truth(&o->w);
    assert_int_equal(o->w.state, KIN_STATE_LIVE);
  }
}

/* All that is one change away from the document, of one informer. */
static void run_document(const place *where, const char *document) {
  json_mutations m;
  odd_world o;
  json_mutations_init(&m, document);
  odd_open(&o, where);
  for (size_t i = 0; i < m.count; i++) {
    run_body(&o, json_mutation(&m, i));
  }
  iw_finish(&o.w);
  json_mutations_finish(&m);
}

/* The same, each to an informer that has nothing yet. */
static void run_document_first(const place *where, const char *document) {
  json_mutations m;
  json_mutations_init(&m, document);
  for (size_t i = 0; i < m.count; i++) {
    odd_world o;
    odd_open(&o, where);
    run_body(&o, json_mutation(&m, i));
    iw_finish(&o.w);
  }
  json_mutations_finish(&m);
}

static void run_statuses(const place *like, int status) {
  place where = *like;
  where.status = status;
  for (size_t i = 0; odd_statuses[i] != NULL; i++) {
    run_document(&where, odd_statuses[i]);
  }
}

/* --- Errors --------------------------------------------------------------- */

static void test_error_of_a_list(void **state) {
  (void)state;
  run_statuses(&first_list, 500);
  run_statuses(&first_list, 410);
}

static void test_error_of_a_page(void **state) {
  (void)state;
  run_statuses(&second_page, 410);
}

static void test_error_of_a_verify(void **state) {
  (void)state;
  run_statuses(&verify, 504);
}

static void test_error_of_a_watch(void **state) {
  (void)state;
  run_statuses(&watch, 403);
  run_statuses(&watch, 410);
}

static void test_error_of_a_stream(void **state) {
  (void)state;
  run_statuses(&stream, 429);
  run_statuses(&stream, 422);
}

/* RE-03: with status 200, where something else was to come. */
static void test_error_in_place_of_a_list(void **state) {
  (void)state;
  run_statuses(&first_list, 200);
  run_statuses(&verify, 200);
}

static void test_error_in_place_of_a_watch(void **state) {
  (void)state;
  run_statuses(&watch, 200);
  run_statuses(&stream, 200);
}

/* The frame around it, too. */
static void test_error_event(void **state) {
  (void)state;
  char frame[1024];
  for (size_t i = 0; odd_statuses[i] != NULL; i++) {
    snprintf(frame, sizeof frame, ODD_FRAME("ERROR", "%s"), odd_statuses[i]);
    run_document(&watch, frame);
    run_document(&stream, frame);
  }
}

/* --- Lists and events ----------------------------------------------------- */

static void test_list(void **state) {
  (void)state;
  run_document(&first_list, ODD_LIST(""));
  run_document(&first_list, ODD_TABLE);
}

static void test_list_of_pages(void **state) {
  (void)state;
  run_document(&second_page, ODD_LIST("t4"));
}

static void test_list_of_a_verify(void **state) {
  (void)state;
  run_document(&verify, ODD_LIST("t1"));
}

static void test_watch_event(void **state) {
  (void)state;
  run_document(&watch, ODD_FRAME("ADDED", ODD_POD));
  run_document(&watch, ODD_FRAME("DELETED", ODD_POD));
  run_document(&watch, ODD_FRAME("MODIFIED", ODD_TABLE));
}

static void test_stream_event(void **state) {
  (void)state;
  run_document(&stream, ODD_FRAME("ADDED", ODD_POD));
  run_document(&stream, ODD_FRAME("ADDED", ODD_TABLE));
}

static void test_bookmark(void **state) {
  (void)state;
  run_document(&watch, ODD_FRAME("BOOKMARK", ODD_BOOKMARK));
  run_document(&stream, ODD_FRAME("BOOKMARK", ODD_BOOKMARK));
}

/* --- The first answer of all ---------------------------------------------- */

static void test_first_list(void **state) {
  (void)state;
  run_document_first(&first_list, ODD_LIST(""));
}

static void test_first_stream(void **state) {
  (void)state;
  run_document_first(&stream, ODD_FRAME("ADDED", ODD_POD));
  run_document_first(&stream, ODD_FRAME("BOOKMARK", ODD_BOOKMARK));
  run_document_first(&stream, odd_statuses[0]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_error_of_a_list),
      cmocka_unit_test(test_error_of_a_page),
      cmocka_unit_test(test_error_of_a_verify),
      cmocka_unit_test(test_error_of_a_watch),
      cmocka_unit_test(test_error_of_a_stream),
      cmocka_unit_test(test_error_in_place_of_a_list),
      cmocka_unit_test(test_error_in_place_of_a_watch),
      cmocka_unit_test(test_error_event),
      cmocka_unit_test(test_list),
      cmocka_unit_test(test_list_of_pages),
      cmocka_unit_test(test_list_of_a_verify),
      cmocka_unit_test(test_watch_event),
      cmocka_unit_test(test_stream_event),
      cmocka_unit_test(test_bookmark),
      cmocka_unit_test(test_first_list),
      cmocka_unit_test(test_first_stream),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
