/* SPDX-License-Identifier: MIT */
#include "support/find_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

void find_world_init(find_world *w, size_t fail_at) {
  memset(w, 0, sizeof *w);
  vh_init(&w->vh, fail_at);
}

typedef struct step_counter {
  find_world *world;
  int steps;
  int close_at;
} step_counter;

static void on_step(void *ctx, bool is_before) {
  step_counter *counter = ctx;
  if (!is_before && ++counter->steps == counter->close_at) {
    vh_close(&counter->world->vh);
  }
}

bool find_world_close_after_step(find_world *w, int n,
                                 void (*story)(find_world *w)) {
  step_counter counter = {.world = w, .close_at = n};
  find_world_init(w, 0);
  w->vh.script.sched.max_pieces = 1;
  w->vh.script.on_step = on_step;
  w->vh.script.on_step_ctx = &counter;
  story(w);
  w->vh.script.on_step = NULL;
  return counter.steps >= n;
}

void find_world_on_found(const kin_discovery_result *result, void *data) {
  find_world *w = data;
  assert_int_equal(result->size, sizeof *result);
  assert_true(result->resources != NULL || result->resource_count == 0);
  w->ended++;
  w->code = result->code;
  w->error_class = result->error_class;
  snprintf(w->reason, sizeof w->reason, "%s", result->reason);
  w->status = result->status;
  w->is_category = result->is_category;
  w->resource_count = result->resource_count;
  snprintf(w->message, sizeof w->message, "%s", result->message);
  snprintf(w->word, sizeof w->word, "%s", result->word);
  snprintf(w->name, sizeof w->name, "%s", result->name);
  w->found[0] = w->near[0] = '\0';
  for (size_t i = 0; i < result->resource_count; i++) {
    const kin_api_resource *found = result->resources[i];
    size_t length = strlen(w->found);
    assert_int_equal(found->size, sizeof *found);
    if (length > sizeof w->found / 2) {
      continue; /* a large list: its number is enough */
    }
    snprintf(w->found + length, sizeof w->found - length, "%s.%s.%s ",
             found->plural, found->version, found->group);
  }
  for (size_t i = 0; i < result->near_count; i++) {
    size_t length = strlen(w->near);
    snprintf(w->near + length, sizeof w->near - length, "%s ",
             result->near_words[i]);
  }
  /* A list of all resources has a message if it is not complete. */
  assert_true((result->code == 0) == (result->message[0] == '\0') ||
              (result->code == 0 && result->word[0] == '\0'));
  if (w->then != NULL) {
    w->then(w, result);
  }
}

/* After the call that begins a look-up. */
static int note_begun(find_world *w, int ended, int err) {
  assert_int_equal(w->ended, ended); /* none inside the call */
  assert_true((err == 0) == (w->finds[w->begun] != NULL));
  w->begun += err == 0;
  return err;
}

int find_world_try_find(find_world *w, const char *word) {
  int ended = w->ended;
  return note_begun(w, ended,
                    kin__discovery_find(&w->finds[w->begun], &w->vh.host, word,
                                        find_world_on_found, w));
}

void find_world_find(find_world *w, const char *word) {
  assert_int_equal(find_world_try_find(w, word), 0);
  script_run(&w->vh.script);
}

int find_world_try_list(find_world *w, kin_discovery_versions versions) {
  int ended = w->ended;
  return note_begun(w, ended,
                    kin__discovery_list(&w->finds[w->begun], &w->vh.host,
                                        versions, find_world_on_found, w));
}

void find_world_list(find_world *w, kin_discovery_versions versions) {
  assert_int_equal(find_world_try_list(w, versions), 0);
  script_run(&w->vh.script);
}

void find_world_answer(find_world *w, const char *core, const char *groups) {
  assert_non_null(
      strstr(script_expect(&w->vh.script, API)->accept, "apidiscovery"));
  script_respond(&w->vh.script, API, 200, core);
  script_respond(&w->vh.script, APIS, 200, groups);
}

void find_world_respond_if_open(find_world *w, const char *part, int status,
                                const char *body) {
  if (script_find(&w->vh.script, part) != NULL) {
    script_respond(&w->vh.script, part, status, body);
  }
}

void find_world_expect(const find_world *w, int code, const char *found) {
  assert_int_equal(w->ended, w->begun);
  if (w->code != code) {
    fail_msg("%s: %s", kin_err_name(w->code), w->message);
  }
  assert_string_equal(w->found, found);
}

unsigned find_world_requests(const find_world *w) {
  return w->vh.script.request_count;
}

void find_world_finish(find_world *w) {
  vh_finish(&w->vh);
  assert_int_equal(w->ended, w->begun);
}

void find_world_begin_with_table(find_world *w) {
  find_world_init(w, 0);
  find_world_find(w, "pods");
  find_world_answer(w, CORE, APPS);
  find_world_expect(w, 0, "pods.v1. ");
  assert_int_equal(find_world_requests(w), 2);
}
