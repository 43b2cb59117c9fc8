/* SPDX-License-Identifier: MIT */

/* kin_informer_verify over a source that is fed by hand. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"
#include "support/version_rig.h"

/* A server that was restored from a backup: the versions that were seen are of
 * no history any more. */
static void test_a_restored_server(void **state) {
  version_rig *v = *state;
  version_rig_verify(&v->f, &v->t, 0);
  version_rig_run(&v->f);
  hand_source_expect(&v->f.source, "x L:/1");
  hand_source_list_end(&v->f.source, "3", "");
  version_rig_wait(&v->f, &v->t, "4", 0);
  version_rig_run(&v->f);
  told_expect(&v->t, "");
  hand_source_expect(&v->f.source, "L:/500");
  hand_source_list(&v->f.source, "a@2", "3");
  told_expect(&v->t, "ok:3/a2");
  hand_source_expect(&v->f.source, "W:3");
  version_rig_open_watch(&v->f);
  version_rig_change(&v->f, "a@4");
  told_expect(&v->t, "ok:4/a4");
}

static void test_verify_finds_nothing_new(void **state) {
  version_rig *v = *state;
  version_rig_verify(&v->f, &v->t, 1000);
  version_rig_verify(&v->f, &v->t, 1000);
  hand_source_expect(&v->f.source, "");
  version_rig_run(&v->f);
  hand_source_expect(&v->f.source, "x L:/1");
  /* This one needs a list of its own: the one that is open may be older. */
  version_rig_verify(&v->f, &v->t, 1000);
  hand_source_item(&v->f.source, "b@4");
  hand_source_list_end(&v->f.source, "5", "more");
  told_expect(&v->t, "ok:5/a1 ok:5/a1");
  hand_source_expect(&v->f.source, "W:5");
  version_rig_open_watch(&v->f);
  version_rig_pass(&v->f, 500);
  hand_source_expect(&v->f.source, "x L:/1");
  hand_source_list_end(&v->f.source, "5", "");
  told_expect(&v->t, "ok:5/a1");
  assert_int_equal(source_rig_status(&v->f).relists, 0);
  assert_int_equal(kin_store_count(kin_informer_store(v->f.informer)), 1);
}

static void test_verify_of_a_lively_resource(void **state) {
  version_rig *v = *state;
  version_rig_verify(&v->f, &v->t, 0);
  version_rig_run(&v->f);
  hand_source_list_end(&v->f.source, "8", "");
  version_rig_open_watch(&v->f);
  version_rig_change(&v->f, "a@7");
  told_expect(&v->t, "");
  version_rig_change(&v->f, "a@9");
  told_expect(&v->t, "ok:8/a9");
  hand_source_expect(&v->f.source, "x L:/1 W:5");
}

static void test_verify_of_a_quiet_resource(void **state) {
  version_rig *v = *state;
  version_rig_verify(&v->f, &v->t, 0);
  version_rig_wait(&v->f, &v->t, "20", 0);
  version_rig_wait(&v->f, &v->t, "30", 0);
  version_rig_run(&v->f);
  hand_source_list_end(&v->f.source, "20", "");
  version_rig_open_watch(&v->f);
  version_rig_pass(&v->f, 3000);
  hand_source_bookmark(&v->f.source, "20");
  hand_source_watch_end(&v->f.source);
  told_expect(&v->t, "ok:20/a1 ok:20/a1");
  hand_source_expect(&v->f.source, "x L:/1 W:5 W:20");
  assert_int_equal(source_rig_status(&v->f).relists, 0);
}

/* A watch that has become deaf, as behind a proxy that lost its other end: what
 * was missed comes with a list, and then it is up to date. */
static void test_verify_of_a_deaf_watch(void **state) {
  version_rig *v = *state;
  event_log_clear(&v->f.log);
  version_rig_verify(&v->f, &v->t, 0);
  version_rig_run(&v->f);
  hand_source_list_end(&v->f.source, "8", "");
  for (int i = 0; i < 2; i++) {
    version_rig_open_watch(&v->f);
    version_rig_pass(&v->f, 3000);
    hand_source_watch_end(&v->f.source);
    version_rig_run(&v->f);
  }
  hand_source_expect(&v->f.source, "x L:/1 W:5 W:5 L:/500");
  told_expect(&v->t, "");
  hand_source_list(&v->f.source, "a@7", "8");
  told_expect(&v->t, "ok:8/a7");
  event_log_expect(&v->f.log, "~a1>7 R:@8#1");
  assert_int_equal(v->f.errors, 1);
  assert_int_equal(v->f.error.code, KIN_EGONE);
  assert_int_equal(v->f.error.error_class, KIN_CLASS_SERVER);
  assert_string_equal(v->f.message, "watch has not come to version 8");
  hand_source_expect(&v->f.source, "W:8");
}

/* The list that follows comes from a cache that is behind: it is no answer. */
static void test_verify_and_a_list_that_is_old(void **state) {
  version_rig *v = *state;
  version_rig_verify(&v->f, &v->t, 0);
  version_rig_run(&v->f);
  hand_source_list_end(&v->f.source, "8", "");
  version_rig_open_watch(&v->f);
  hand_source_fail(&v->f.source, 410, "Expired", true);
  version_rig_pass(&v->f, 5000);
  hand_source_expect(&v->f.source, "x L:/1 W:5 L:5>");
  hand_source_list(&v->f.source, "a@6", "6");
  version_rig_open_watch(&v->f);
  told_expect(&v->t, "");
  version_rig_pass(&v->f, 500);
  hand_source_expect(&v->f.source, "W:6 x L:/1");
  hand_source_list_end(&v->f.source, "8", "");
  version_rig_open_watch(&v->f);
  version_rig_change(&v->f, "a@8");
  told_expect(&v->t, "ok:8/a8");
}

/* Without a watch there is nothing to verify: it waits until there is one. */
static void test_verify_without_a_watch(void **state) {
  version_rig *v = *state;
  hand_source_fail(&v->f.source, 403, "Forbidden", false);
  assert_int_equal(source_rig_status(&v->f).state, KIN_STATE_DENIED);
  version_rig_verify(&v->f, &v->t, 3000);
  version_rig_verify(&v->f, &v->t, 0);
  version_rig_wait(&v->f, &v->t, "6", 2999);
  for (int i = 0; i < 60; i++) {
    version_rig_pass(&v->f, 50);
    if (v->f.source.is_open) {
      hand_source_fail(&v->f.source, 403, "Forbidden", false);
    }
  }
  told_expect(&v->t, "timeout:6/a1 timeout:/a1");
  while (!v->f.source.is_open) {
    version_rig_pass(&v->f, 50);
  }
  v->f.source.log[0] = '\0';
  if (!v->f.source.is_watch) {
    hand_source_list_end(&v->f.source, "5", "");
  }
  v->f.source.log[0] = '\0';
  version_rig_open_watch(&v->f);
  /* It is asked as soon as there is one. */
  hand_source_expect(&v->f.source, "x L:/1");
  hand_source_list_end(&v->f.source, "5", "");
  told_expect(&v->t, "ok:5/a1");
}

/* The head and the end of each watch come in one read. So there is never a watch
 * when the wish is looked at, only the wait after one. */
static void test_verify_between_short_watches(void **state) {
  version_rig *v = *state;
  hand_source *source = &v->f.source;
  hand_source_bookmark(source, "5");
  hand_source_watch_end(source);
  version_rig_verify(&v->f, &v->t, 0);
  version_rig_wait(&v->f, &v->t, "7", 0);
  for (int i = 0; i < 400 && v->t.calls < 2; i++) {
    version_rig_pass(&v->f, 50);
    if (source->is_open && source->is_watch) {
      assert_int_equal(kin_feed_open(source->feed), 0);
      hand_source_bookmark(source, i < 60 ? "5" : "7");
      hand_source_watch_end(source);
    } else if (source->is_open) {
      hand_source_list_end(source, i < 60 ? "5" : "7", "");
    }
  }
  told_expect(&v->t, "ok:5/a1 ok:7/a1");
  assert_int_equal(v->f.errors, 0);
}

/* The list that asks is refused: it is asked again. */
static void test_verify_is_refused(void **state) {
  version_rig *v = *state;
  version_rig_verify(&v->f, &v->t, 60000);
  version_rig_run(&v->f);
  hand_source_expect(&v->f.source, "x L:/1");
  hand_source_fail(&v->f.source, 500, "InternalError", false);
  told_expect(&v->t, "");
  for (int i = 0; i < 1000 && v->t.calls == 0; i++) {
    version_rig_pass(&v->f, 50);
    if (v->f.source.is_open && !v->f.source.is_watch) {
      hand_source_list_end(&v->f.source, "5", "");
    } else if (v->f.source.is_open) {
      (void)kin_feed_open(v->f.source.feed);
      version_rig_run(&v->f);
    }
  }
  told_expect(&v->t, "ok:5/a1");
  assert_int_equal(source_rig_status(&v->f).relists, 0);
}

/* Answers what is open: refuses questions, and grants all else. Returns whether
 * a question was open. */
static bool refuse_questions(version_rig *v) {
  hand_source *source = &v->f.source;
  bool is_question = strstr(source->log, "L:/1") != NULL;
  source->log[0] = '\0';
  if (!source->is_open) {
    return false;
  }
  if (is_question) {
    hand_source_fail(source, 400, "BadRequest", false);
    hand_source_expect(source, "L:5>/1");
    hand_source_list_end(source, "5", "");
    source->log[0] = '\0';
    version_rig_open_watch(&v->f);
  }
  return is_question;
}

/* A question that is refused for good is asked after growing pauses, and each
 * refusal is reported. A new question does not wait for the old one's pause. */
static void test_verify_is_always_refused(void **state) {
  version_rig *v = *state;
  version_rig_verify(&v->f, &v->t, 0);
  int questions = 0;
  for (int i = 0; i < 600; i++) {
    version_rig_pass(&v->f, 100);
    questions += refuse_questions(v);
  }
  assert_in_range(questions, 6, 10);
  assert_int_equal(v->f.errors, questions);
  version_rig_verify(&v->f, &v->t, 0);
  version_rig_pass(&v->f, 500);
  hand_source_expect(&v->f.source, "x L:/1");
  hand_source_list_end(&v->f.source, "5", "");
  told_expect(&v->t, "ok:5/a1 ok:5/a1");
}

/* Nothing says how far anything has come, and that is told, also to those that
 * wait; what was deleted unseen goes with the list that follows. */
static void test_verify_without_versions(void **state) {
  (void)state;
  source_rig f;
  source_rig_open(&f, 0);
  hand_source_expect(&f.source, "L:0/500");
  hand_source_list(&f.source, "a@1 b@2", "");
  for (int i = 0; i < 2; i++) {
    told t = {0};
    told waits = {0};
    version_rig_open_watch(&f);
    version_rig_pass(&f, 6000);
    version_rig_wait(&f, &waits, "7", 0);
    version_rig_verify(&f, &t, 0);
    version_rig_pass(&f, 500);
    told_expect(&t, i == 0 ? "unversioned:/a1" : "unversioned:/anone");
    told_expect(&waits, i == 0 ? "unversioned:7/a1" : "unversioned:7/anone");
    hand_source_expect(&f.source, "W: x L:/500");
    hand_source_list(&f.source, "b@2", "");
    assert_int_equal(kin_store_count(kin_informer_store(f.informer)), 1);
  }
  source_rig_close(&f);
}

/* One that ends before what was found is stored has found nothing. */
static void test_verify_closed_before_it_is_stored(void **state) {
  (void)state;
  unsigned closed = 0;
  for (unsigned at = 0; at < 12; at++) {
    source_rig f;
    told t = {0};
    source_rig_open_watching(&f);
    version_rig_verify(&f, &t, 0);
    version_rig_run(&f);
    hand_source_list_end(&f.source, "8", "");
    version_rig_open_watch(&f);
    for (int i = 0; i < 300; i++) {
      char text[32];
      snprintf(text, sizeof text, "b%d@%d", i, 9 + i);
      kin_object *object = hand_source_object(text);
      assert_int_equal(kin_feed_event(f.source.feed, KIN_WATCH_ADDED, object),
                       0);
      kin_object_unref(object);
    }
    for (unsigned i = 0; i < at; i++) {
      (void)kin__sched_run(&f.vh.script.sched, 0);
    }
    bool is_told = t.calls > 0;
    assert_int_equal(kin_informer_close(f.informer, NULL, NULL), 0);
    version_rig_run(&f);
    assert_int_equal(t.calls, 1);
    if (!is_told && strncmp(t.text, "closed:", 7) == 0) {
      assert_memory_equal(t.text, "closed:/", 8);
      closed++;
    }
    source_rig_close(&f);
  }
  assert_true(closed > 3);
}

#define WATCHING(test)                                                         \
  cmocka_unit_test_setup_teardown(test, version_rig_setup, version_rig_teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      WATCHING(test_verify_finds_nothing_new),
      WATCHING(test_verify_of_a_lively_resource),
      WATCHING(test_verify_of_a_quiet_resource),
      WATCHING(test_verify_of_a_deaf_watch),
      WATCHING(test_verify_and_a_list_that_is_old),
      WATCHING(test_verify_without_a_watch),
      WATCHING(test_verify_between_short_watches),
      WATCHING(test_verify_is_refused),
      WATCHING(test_verify_is_always_refused),
      cmocka_unit_test(test_verify_without_versions),
      cmocka_unit_test(test_verify_closed_before_it_is_stored),
      WATCHING(test_a_restored_server),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
