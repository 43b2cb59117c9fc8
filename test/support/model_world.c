/* SPDX-License-Identifier: MIT */
#include "support/model_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <kin/error.h>

#include "base/str.h"
#include "informer/informer.h"

const char *const model_names[MODEL_NAMES] = {"even", "odd", "none"};

void model_init(model_world *m, uint64_t seed) {
  memset(m, 0, sizeof *m);
  iw_init(&m->w, 0);
  m->random.state = seed;
  m->w.script.random.state = seed;
}

uint64_t model_below(model_world *m, uint64_t bound) {
  return kin__random_below(&m->random, bound);
}

void model_change_object(model_world *m) {
  mini_server *server = &m->w.server;
  int object = (int)model_below(m, MINI_OBJECTS);
  bool is_there = server->versions[object] != 0;
  uint64_t what = model_below(m, 4);
  if (is_there && what == 0) {
    mini_delete(server, object);
  } else if (is_there && what == 1) {
    mini_recreate(server, object);
  } else {
    mini_put(server, object);
  }
}

void model_run_out_of_memory(model_world *m) {
  fail_alloc *memory = &m->w.memory;
  memory->fail_at =
      atomic_load(&memory->calls) + 1 + (size_t)model_below(m, 30);
  memory->keeps_failing = model_below(m, 2) == 0;
}

/* --- Listeners ------------------------------------------------------------ */

static void on_call(recorder *rec, kin_informer *informer) {
  model_world *m = rec->data;
  (void)informer;
  assert_false(m->is_closed);
  if (!m->is_calm && model_below(m, 25) == 0) {
    model_change_namespaces(m);
  }
}

void model_listen(model_world *m, size_t listener) {
  recorder *rec = &m->listeners[listener];
  recorder_init(rec);
  rec->on_call = on_call;
  rec->data = m;
  kin_listener_options options = recorder_options(rec);
  options.exact_limit = model_below(m, 2) == 0 ? 1 : 0;
  m->is_listening[listener] =
      kin_informer_listen(m->w.informer, &options, &rec->listener) == 0;
  m->is_paused[listener] = false;
}

void model_change_listener(model_world *m) {
  size_t i = (size_t)model_below(m, MODEL_LISTENERS);
  recorder *rec = &m->listeners[i];
  if (!m->is_listening[i]) {
    model_listen(m, i);
  } else if (model_below(m, 3) == 0) {
    kin_listener_close(rec->listener);
    m->is_listening[i] = false;
  } else if (m->is_paused[i]) {
    kin_listener_resume(rec->listener);
    m->is_paused[i] = false;
  } else {
    kin_listener_pause(rec->listener);
    m->is_paused[i] = true;
  }
}

void model_check_listeners(const model_world *m) {
  for (size_t i = 0; i < MODEL_LISTENERS; i++) {
    if (m->is_listening[i]) {
      recorder_assert_folds_to(&m->listeners[i],
                               kin_informer_store(m->w.informer));
      assert_int_equal(m->listeners[i].synced, 1);
    }
  }
}

/* --- Namespaces ----------------------------------------------------------- */

void model_add(model_world *m, size_t name) {
  int err = kin_informer_add_namespace(m->w.informer, model_names[name]);
  if (m->has[name]) {
    assert_int_equal(err, KIN_EEXIST);
  } else if (err != 0) {
    assert_int_equal(err, KIN_ENOMEM);
    assert_true(fail_alloc_has_failed(&m->w.memory));
  } else {
    m->has[name] = true;
    m->is_stopped[name] = false;
  }
}

void model_drop(model_world *m, size_t name) {
  int err = kin_informer_remove_namespace(m->w.informer, model_names[name]);
  assert_int_equal(err, m->has[name] ? 0 : KIN_ENOENT);
  m->has[name] = false;
}

void model_change_namespaces(model_world *m) {
  if (!m->names_change || m->is_closed) {
    return;
  }
  if (m->may_close && model_below(m, 30) == 0) {
    m->is_closed = true;
    assert_int_equal(kin_informer_close(m->w.informer, iw_on_closed, &m->w), 0);
    return;
  }
  m->changes++;
  for (uint64_t n = 1 + model_below(m, 3); n > 0; n--) {
    size_t i = (size_t)model_below(m, MODEL_NAMES);
    if (model_below(m, 2) == 0) {
      model_add(m, i);
    } else {
      model_drop(m, i);
    }
  }
}

/* Asked by the scheduler after each step, and by steps themselves. */
static uint64_t between_steps(void *ctx) {
  model_world *m = ctx;
  bool is_between = !m->w.script.sched.is_stepping;
  if (is_between && m->act_in > 0 && --m->act_in == 0) {
    model_change_namespaces(m);
  }
  return m->w.script.now_ns;
}

void model_act_between_steps(model_world *m) {
  m->w.script.sched.now_ns = between_steps;
  m->w.script.sched.ctx = m;
}

void model_open(model_world *m, kin_informer_options *options) {
  options->namespaces = model_names;
  options->namespace_count = 1 + (size_t)model_below(m, MODEL_NAMES);
  for (size_t i = 0; i < options->namespace_count; i++) {
    m->has[i] = true;
  }
  m->names_change = true;
  assert_int_equal(
      kin__informer_open(&m->w.informer, &m->w.script.env, options), 0);
  model_listen(m, 0);
  if (model_below(m, 4) == 0) {
    model_change_namespaces(m);
  }
  assert_int_equal(kin_informer_start(m->w.informer), 0);
}

void model_check_namespaces(const model_world *m, bool may_be_stale) {
  uint32_t count = 0;
  for (size_t i = 0; i < MODEL_NAMES; i++) {
    kin_status status = KIN_STATUS_INIT;
    int err = kin_informer_get_status(m->w.informer, model_names[i], &status);
    assert_int_equal(err, m->has[i] ? 0 : KIN_ENOENT);
    if (m->has[i]) {
      assert_true(status.state == KIN_STATE_LIVE ||
                  (may_be_stale && status.state == KIN_STATE_STALE));
      assert_true(status.has_synced);
      count++;
    }
  }
  assert_int_equal(m->w.informer->scopes.count, count);
  assert_int_equal(m->w.informer->scopes.synced, count);
}

/* --- The end -------------------------------------------------------------- */

static void break_request(model_world *m) {
  script_request *request = m->w.script.requests[model_below(m, 3)];
  if (request != NULL) {
    script_break_request(request, KIN_EEOF, KIN_CLASS_CONNECT);
  }
}

void model_make(model_world *m, model_move move) {
  mini_server *server = &m->w.server;
  switch (move) {
  case MODEL_BREAK_WATCHES:
    mini_break_watches(server);
    break;
  case MODEL_END_WATCHES:
    mini_end_watches(server);
    break;
  case MODEL_BREAK_REQUEST:
    break_request(m);
    break;
  case MODEL_COMPACT:
    mini_compact(server);
    break;
  case MODEL_BOOKMARK:
    mini_bookmark(server);
    break;
  case MODEL_SPLIT:
    m->w.script.split =
        model_below(m, 3) == 0 ? 1 + (size_t)model_below(m, 90) : 0;
    break;
  case MODEL_LIMIT:
    server->honours_limit = model_below(m, 2) == 0;
    break;
  case MODEL_CHANGE_LISTENER:
    model_change_listener(m);
    break;
  case MODEL_CHANGE_NAMESPACES:
    model_change_namespaces(m);
    break;
  case MODEL_ACT:
    m->act_in = 1 + (unsigned)model_below(m, 40);
    break;
  case MODEL_LOSE_MEMORY:
    if (model_below(m, 4) == 0) {
      model_run_out_of_memory(m);
    }
    break;
  case MODEL_CHANGE_OBJECT:
    model_change_object(m);
    break;
  case MODEL_MOVES:
    fail_msg("no move");
    break;
  }
}

void model_rest(model_world *m) {
  if (model_below(m, 2) == 0) {
    mini_pass(&m->w.server, model_below(m, 1500));
  }
}

void model_calm_down(model_world *m) {
  m->is_calm = true;
  m->act_in = 0;
  m->w.memory.fail_at = 0;
  m->w.memory.keeps_failing = false;
  m->w.script.split = 0;
  m->w.server.is_absent = false;
  for (size_t i = 0; i < MODEL_LISTENERS; i++) {
    if (m->is_listening[i] && m->is_paused[i]) {
      kin_listener_resume(m->listeners[i].listener);
    }
  }
}

void model_pass(model_world *m) {
  for (int i = 0; i < 16; i++) {
    script_advance(&m->w.script, 50000);
    mini_serve(&m->w.server);
  }
}

void model_check_store(const model_world *m, uint64_t refused) {
  const kin_store *store = kin_informer_store(m->w.informer);
  size_t count = 0;
  for (int i = 0; i < MINI_OBJECTS; i++) {
    char key[32];
    char version[32];
    char uid[32];
    snprintf(key, sizeof key, "%s/p%d", model_names[i % 2], i);
    snprintf(uid, sizeof uid, "uid-%d-%d", i, m->w.server.incarnations[i]);
    snprintf(version, sizeof version, "%llu",
             (unsigned long long)m->w.server.versions[i]);
    const kin_object *object = kin_store_get_key(store, key);
    bool is_due = m->has[i % 2] && m->w.server.versions[i] != 0 &&
                  kin__shard_has(&m->shard, kin__cstr(uid));
    if (is_due && refused != 0 && m->w.server.versions[i] % refused == 0) {
      count += object != NULL;
      continue;
    }
    if ((object != NULL) != is_due) {
      fail_msg("%s is %scached, the server has version %s", key,
               object != NULL ? "" : "not ", version);
    }
    if (object != NULL) {
      assert_true(kin__str_equal(kin_object_resource_version(object),
                                 kin__cstr(version)));
    }
    count += is_due;
  }
  assert_int_equal(kin_store_count(store), count);
}
