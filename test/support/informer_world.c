/* SPDX-License-Identifier: MIT */
#include "support/informer_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"
#include "informer/scope.h"
#include "object/packed.h"

void iw_on_error(kin_informer *informer, kin_error_event *event, void *data) {
  iw_world *w = data;
  (void)informer;
  assert_true(event->code < 0);
  assert_true(event->message[0] != '\0');
  assert_true(event->attempt > 0 || event->error_class == KIN_CLASS_MEMORY);
  w->errors++;
  w->last_code = event->code;
  w->last_class = event->error_class;
  w->last_status = event->status;
  w->last_retry_in_ms = event->retry_in_ms;
  snprintf(w->last_reason, sizeof w->last_reason, "%s", event->reason);
  snprintf(w->last_message, sizeof w->last_message, "%s", event->message);
  event->answer = w->answer;
  event->retry_after_ms = w->retry_after_ms;
}

void iw_on_state(kin_informer *informer, const char *namespace_, kin_state from,
                 kin_state to, void *data) {
  iw_world *w = data;
  (void)informer;
  (void)namespace_;
  assert_int_not_equal(from, to);
  w->states++;
  w->state = to;
}

void iw_on_closed(void *data) {
  ((iw_world *)data)->closed++;
}

kin_memory_decision iw_on_max_bytes(kin_informer *informer,
                                    const kin_memory_event *event, void *data) {
  iw_world *w = data;
  (void)informer;
  w->asked++;
  w->question = *event;
  return w->decision;
}

static void on_call(script_env *script) {
  iw_world *w = KIN__CONTAINER_OF(script, iw_world, script);
  kin__member *member = &w->informer->member;
  if (w->closed == 0) {
    member->ops->on_news(member, KIN__NEWS_CALLED);
  }
}

void iw_init(iw_world *w, size_t fail_at) {
  memset(w, 0, sizeof *w);
  fail_alloc_init(&w->memory, 0);
  script_env_init(&w->script, &w->memory.allocator);
  w->script.on_call = on_call;
  mini_server_init(&w->server, &w->script);
  recorder_init(&w->rec);
  /* What comes before is the test's own. */
  atomic_store(&w->memory.calls, 0);
  w->memory.fail_at = fail_at;
}

kin_informer_options iw_options(iw_world *w) {
  kin_informer_options options = KIN_INFORMER_OPTIONS_INIT;
  options.plural = "pods";
  options.on_error = iw_on_error;
  options.on_state = iw_on_state;
  options.data = w;
  return options;
}

void iw_open_only(iw_world *w, const kin_informer_options *options) {
  assert_int_equal(kin__informer_open(&w->informer, &w->script.env, options),
                   0);
}

int iw_open(iw_world *w, const kin_informer_options *options) {
  int err = kin__informer_open(&w->informer, &w->script.env, options);
  if (err == 0) {
    err = recorder_listen(&w->rec, w->informer);
  }
  return err == 0 ? kin_informer_start(w->informer) : err;
}

void iw_open_objects(iw_world *w, int objects) {
  iw_init(w, 0);
  mini_put_first(&w->server, objects);
  kin_informer_options options = iw_options(w);
  assert_int_equal(iw_open(w, &options), 0);
}

void iw_close(iw_world *w) {
  if (w->informer != NULL && w->closed == 0) {
    int err = kin_informer_close(w->informer, iw_on_closed, w);
    assert_true(err == 0 || err == KIN_EALREADY);
    script_run(&w->script);
    assert_int_equal(w->closed, 1);
  }
}

void iw_finish(iw_world *w) {
  iw_close(w);
  script_env_finish(&w->script);
  assert_int_equal(atomic_load(&w->memory.live_blocks), 0);
}

kin_status iw_status(const iw_world *w, const char *namespace_) {
  kin_status status = KIN_STATUS_INIT;
  assert_int_equal(kin_informer_get_status(w->informer, namespace_, &status),
                   0);
  return status;
}

kin_informer_metrics iw_metrics(const iw_world *w) {
  kin_informer_metrics metrics = KIN_INFORMER_METRICS_INIT;
  assert_int_equal(kin_informer_get_metrics(w->informer, &metrics), 0);
  return metrics;
}

void iw_stream_again(iw_world *w) {
  kin__listwatch *reflector =
      &kin__scopes_only(&w->informer->scopes)->feed.listwatch;
  reflector->past.never_streams = false;
  bool *refused = reflector->options.list_and_watch.stream_refused;
  if (refused != NULL) {
    *refused = false;
  }
}

static const char *const even_and_odd[] = {"even", "odd"};

kin_informer_options iw_even_and_odd(iw_world *w) {
  kin_informer_options options = iw_options(w);
  options.namespaces = even_and_odd;
  options.namespace_count = 2;
  return options;
}

void iw_open_even_and_odd(iw_world *w, int objects) {
  iw_init(w, 0);
  mini_put_first(&w->server, objects);
  kin_informer_options options = iw_even_and_odd(w);
  assert_int_equal(iw_open(w, &options), 0);
}

void iw_drop_odd(iw_world *w) {
  assert_int_equal(kin_informer_remove_namespace(w->informer, "odd"), 0);
}

void iw_add_odd(iw_world *w) {
  assert_int_equal(kin_informer_add_namespace(w->informer, "odd"), 0);
}

static kin_str cached_version(const kin_store *store, const char *key) {
  const kin_object *object = kin_store_get_key(store, key);
  return object != NULL ? kin_object_resource_version(object) : kin__cstr("0");
}

void iw_assert_truth(iw_world *w) {
  const kin_store *store = kin_informer_store(w->informer);
  for (int i = 0; i < MINI_OBJECTS; i++) {
    char key[32];
    char version[32];
    snprintf(key, sizeof key, "%s/p%d", i % 2 == 0 ? "even" : "odd", i);
    snprintf(version, sizeof version, "%llu",
             (unsigned long long)w->server.versions[i]);
    kin_str cached = cached_version(store, key);
    if (!kin__str_equal(cached, kin__cstr(version))) {
      fail_msg("%s is cached at " KIN_STR_FORMAT ", the server has %s\n%s", key,
               KIN_STR_ARG(cached), version, w->rec.log);
    }
  }
  assert_int_equal(kin_store_count(store), mini_count(&w->server, ""));
  recorder_assert_folds_to(&w->rec, store);
}

static uint64_t number_of(const kin_object *object) {
  return strtoull(kin_object_resource_version(object).data, NULL, 10);
}

static void assert_has(const iw_world *w, const mini_event *event,
                       unsigned refused) {
  char key[32];
  snprintf(key, sizeof key, "%s/p%d", event->object % 2 == 0 ? "even" : "odd",
           event->object);
  const kin_object *object =
      kin_store_get_key(kin_informer_store(w->informer), key);
  uint64_t cached = object != NULL ? number_of(object) : 0;
  bool is_newer = cached > event->version;
  if (is_newer || (refused != 0 && event->version % refused == 0)) {
    return;
  }
  bool was_changed = w->server.versions[event->object] != event->version;
  bool is_gone = cached == 0 && (event->type == 'D' || was_changed);
  bool is_it = cached == event->version && event->type != 'D';
  if (!is_gone && !is_it && refused == 0) {
    fail_msg("%s is cached at %llu, but %c %llu was reached", key,
             (unsigned long long)cached, event->type,
             (unsigned long long)event->version);
  }
}

void iw_assert_reached(const iw_world *w, const char *namespace_,
                       uint64_t version, unsigned refused) {
  const mini_event *last[MINI_OBJECTS] = {0};
  for (int i = 0; i < w->server.event_count; i++) {
    const mini_event *event = &w->server.events[i];
    bool is_in =
        strcmp(namespace_, event->object % 2 == 0 ? "even" : "odd") == 0;
    if (is_in && event->version <= version) {
      last[event->object] = event;
    }
  }
  for (int i = 0; i < MINI_OBJECTS; i++) {
    if (last[i] != NULL) {
      assert_has(w, last[i], refused);
    }
  }
}

bool iw_run_without_memory(int (*story)(iw_world *w), size_t n) {
  iw_world w;
  iw_init(&w, n);
  int err = story(&w);
  bool has_failed = fail_alloc_has_failed(&w.memory);
  if (err != 0) {
    assert_int_equal(err, KIN_ENOMEM);
  } else {
    iw_assert_truth(&w);
  }
  iw_finish(&w);
  return has_failed;
}

int iw_count_packed(const iw_world *w) {
  int count = 0;
  kin_cursor cursor = {0};
  const kin_object *object;
  while ((object = kin_store_next(kin_informer_store(w->informer), &cursor)) !=
         NULL) {
    count += kin__object_is_packed(object);
  }
  return count;
}
