/* SPDX-License-Identifier: MIT */
#include "support/factory_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "toolkit/factory.h"

static void on_error(kin_informer *informer, kin_error_event *event,
                     void *data) {
  (void)informer;
  (void)event;
  ((factory_world *)data)->errors++;
}

static void on_state(kin_informer *informer, const char *namespace_,
                     kin_state from, kin_state to, void *data) {
  (void)informer;
  (void)namespace_;
  (void)from;
  (void)to;
  ((factory_world *)data)->states++;
}

void fw_on_informer_closed(void *data) {
  factory_world *w = data;
  assert_int_equal(w->factories_closed, 0); /* children first */
  w->informers_closed++;
}

void fw_on_factory_closed(void *data) {
  factory_world *w = data;
  assert_false(w->vh.is_closed);
  w->factories_closed++;
  w->factory = NULL;
}

void fw_ask_for_lists(kin_informer_options *options, void *data) {
  (void)data;
  options->no_watch_list = true;
}

kin_factory_options fw_options(factory_world *w) {
  kin_factory_options options = KIN_FACTORY_OPTIONS_INIT;
  options.on_error = on_error;
  options.on_state = on_state;
  options.data = w;
  options.tweak = fw_ask_for_lists;
  return options;
}

int fw_open(factory_world *w, const kin_factory_options *options) {
  kin_factory_options defaults = fw_options(w);
  return kin__factory_open(&w->factory, &w->vh.host,
                           options != NULL ? options : &defaults);
}

kin_informer *fw_informer(factory_world *w, const char *plural) {
  kin_informer *informer;
  assert_int_equal(
      kin_factory_informer(w->factory, NULL, NULL, plural, &informer), 0);
  return informer;
}

kin_informer *fw_informer_of(factory_world *w, const char *group,
                             const char *version, const char *plural,
                             bool metadata_only) {
  kin_informer_options options = KIN_INFORMER_OPTIONS_INIT;
  options.group = group;
  options.version = version;
  options.plural = plural;
  options.metadata_only = metadata_only;
  kin_informer *informer;
  assert_int_equal(kin_factory_informer_with(w->factory, &options, &informer),
                   0);
  assert_non_null(informer);
  return informer;
}

static void on_wait_end(const kin_wait_result *result, void *data) {
  factory_world *w = data;
  w->waits_ended++;
  w->wait_code = result->code;
  snprintf(w->wait_error, sizeof w->wait_error, "%s", result->error);
  size_t used = 0;
  w->wait_text[0] = '\0';
  for (size_t i = 0; i < result->count; i++) {
    used += (size_t)snprintf(w->wait_text + used, sizeof w->wait_text - used,
                             "%s%s%s", i > 0 ? " " : "",
                             result->items[i].is_done ? "" : "!",
                             result->items[i].name);
    assert_true(used < sizeof w->wait_text);
  }
}

int fw_wait(factory_world *w, uint64_t timeout_ms) {
  return kin_factory_wait(w->factory, timeout_ms, on_wait_end, w, NULL);
}

void fw_close(factory_world *w) {
  assert_int_equal(kin_factory_close(w->factory, fw_on_factory_closed, w), 0);
}

void fw_finish(factory_world *w) {
  vh_finish(&w->vh);
}
