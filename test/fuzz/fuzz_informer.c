/* SPDX-License-Identifier: MIT */

/* A whole informer: the bytes are a script of what its server answers, how the
 * answers are cut, how time passes, when memory is out and what the program
 * calls. A server that behaves (mini_server) may answer in between, so that a
 * script comes far. Oracles:
 *  - each event that a listener is told is legal, and in the end all of them
 *    together are what the store has, byte by byte (SI-11 to SI-13, SY-01)
 *  - whatever this informer meets, another one of the same client, whose server
 *    is healthy, syncs within OTHERS_SYNC_MS of virtual time
 *  - once its own server is healthy it syncs within OWN_SYNC_MS
 *  - after the close nothing is left: no memory, request, timer or task */

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/gate.h"
#include "base/str.h"
#include "fuzz/answers.h"
#include "fuzz/fold.h"
#include "fuzz/fuzz.h"
#include "informer/informer.h"
#include "object/dictionary.h"
#include "support/fail_alloc.h"
#include "support/mini_server.h"
#include "support/script_env.h"

/* Lists at a time. The scopes of the informer under test may take all of them
 * and wait for answers for ever; the other informer has to sync all the
 * same. */
#define MAX_LISTS 2
#define MAX_SCOPES 3
#define LIST_TURN_MS 5000u

#define OTHERS_SYNC_MS (5u * 60 * 1000)
#define OWN_SYNC_MS (15u * 60 * 1000)

#define LISTENERS 3
#define MAX_STEPS 150
#define MAX_CHANGES 80 /* of the behaving server: its history is bounded */

typedef struct world {
  fuzz_input in;
  fail_alloc memory;
  script_env script;
  kin__gate gate;
  bool stream_refused;
  mini_server server; /* of the informer under test */
  mini_server healthy;
  kin_informer *informer;
  kin_informer *other;
  fold folds[LISTENERS];
  fold other_fold;
  unsigned changes;
  unsigned waits; /* begun and not called back */
  unsigned closed;
  bool was_stopped; /* an error was answered with KIN_STOP */
  uint8_t answer;   /* to errors */
} world;

static void on_error(kin_informer *informer, kin_error_event *event,
                     void *data) {
  world *w = data;
  (void)informer;
  FUZZ_CHECK(event->code < 0 && event->message[0] != '\0');
  FUZZ_CHECK(event->error_class != KIN_CLASS_NONE);
  if (w->answer == 1) {
    event->answer = KIN_RETRY_AFTER;
    event->retry_after_ms = 2000;
  } else if (w->answer == 2) {
    event->answer = KIN_STOP;
    w->was_stopped = true;
  }
}

static void on_state(kin_informer *informer, const char *namespace_,
                     kin_state from, kin_state to, void *data) {
  (void)informer;
  (void)data;
  FUZZ_CHECK(namespace_ != NULL && from != to);
}

static void on_version(kin_informer *informer, int code, const char *version,
                       void *data) {
  world *w = data;
  (void)informer;
  FUZZ_CHECK(code <= 0 && (code != 0 || version != NULL));
  w->waits--;
}

static void on_closed(void *data) {
  ((world *)data)->closed++;
}

static int transform(const kin_object *in, kin_object_builder *out,
                     void *data) {
  (void)in;
  (void)data;
  return kin_object_builder_remove(out, "/spec/text");
}

/* Opening */

static void open_informer(world *w) {
  static const char *const names[] = {"even", "odd", "other"};
  uint8_t bits = fuzz_byte(&w->in);
  uint8_t more = fuzz_byte(&w->in);
  kin_informer_options options = KIN_INFORMER_OPTIONS_INIT;
  options.plural = "pods";
  options.on_error = on_error;
  options.on_state = on_state;
  options.data = w;
  options.namespaces = names;
  options.namespace_count = bits % 4 < MAX_SCOPES ? bits % 4 : MAX_SCOPES;
  options.page_size = (bits & 4) != 0 ? 3 : 0;
  options.no_watch_list = (bits & 8) != 0;
  options.resync_ms = (bits & 16) != 0 ? 5000 : 0;
  options.max_object_bytes = (bits & 32) != 0 ? 1024 : 0;
  options.keep_managed_fields = (bits & 64) != 0;
  options.transform = (bits & 128) != 0 ? transform : NULL;
  options.stale_after_ms = (more & 1) != 0 ? 20000 : 0;
  options.clear_when_absent = (more & 2) != 0;
  w->script.env.lists = (more & 4) != 0 ? NULL : &w->gate;
  w->script.env.check_watch_lists = (more & 8) != 0;
  w->script.env.stream_refused = (more & 16) != 0 ? NULL : &w->stream_refused;
  w->answer = more >> 5 & 1;
  w->script.env.compact_samples = 1;
  if ((more & 64) != 0 && kin__pack_is_supported()) {
    options.compact = (more & 128) != 0 ? KIN_COMPACT_SMALL : KIN_COMPACT_FAST;
  }
  FUZZ_CHECK(kin__informer_open(&w->informer, &w->script.env, &options) == 0);
  FUZZ_CHECK(fold_listen(&w->folds[0], w->informer, 0, 0, false) == 0);
  FUZZ_CHECK(kin_informer_start(w->informer) == 0);
}

/* What the server does */

static script_request *any_request(world *w, bool has_head) {
  uint32_t skip = fuzz_below(&w->in, SCRIPT_MAX_REQUESTS);
  script_request *found = NULL;
  for (uint32_t i = 0; i < 2 * SCRIPT_MAX_REQUESTS; i++) {
    script_request *request = w->script.requests[i % SCRIPT_MAX_REQUESTS];
    if (request != NULL && !request->is_paused &&
        request->has_head == has_head) {
      found = request;
      if (skip-- == 0) {
        break;
      }
    }
  }
  return found;
}

static void give_body(world *w, script_request *request) {
  uint8_t bits = fuzz_byte(&w->in);
  kin__buf body;
  kin__buf_init(&body, kin__default_allocator(), 1 << 20);
  switch (bits % 6) {
  case 0:
    answers_status(&w->in, &body);
    break;
  case 1: {
    kin_str raw = fuzz_take(&w->in, fuzz_byte(&w->in));
    FUZZ_CHECK(kin__buf_append_str(&body, raw) == 0);
    break;
  }
  default:
    if (request->is_watch) {
      for (unsigned i = 0; i <= (bits >> 4) % 4u; i++) {
        answers_frame(&w->in, w->server.version, &body);
      }
    } else {
      answers_list(&w->in, w->server.version, &body);
    }
    break;
  }
  size_t length = body.length;
  if ((bits & 8) != 0 && length > 0) {
    length = (size_t)fuzz_byte(&w->in) * 7 % length; /* it is cut off */
  }
  bool is_open = length == 0 || script_request_body(request, body.data, length);
  if (is_open && (bits & 128) != 0) {
    script_request_end(request);
  }
  kin__buf_finish(&body);
}

static void give_head(world *w) {
  static const char *const types[] = {"application/json", "text/plain",
                                      "application/json;stream=watch", ""};
  script_request *request = any_request(w, false);
  if (request == NULL) {
    return;
  }
  int status = answers_code(&w->in);
  uint8_t bits = fuzz_byte(&w->in);
  const char *type = bits >= 240 ? types[bits % 4] : types[0];
  kin__response_head head = {
      .status = status != 0 ? status : 599,
      .content_type = kin__cstr(type),
      .retry_after_s = (bits & 3) == 3 ? bits >> 4 : -1,
      .is_identity = bits != 255,
      .connection = 1 + (bits & 4),
  };
  unsigned count = w->script.request_count;
  script_request_give_head(request, &head);
  bool is_same = w->script.request_count == count;
  request = any_request(w, true);
  if (is_same && request != NULL && (bits & 8) != 0) {
    give_body(w, request);
  }
}

static void end_request(world *w) {
  static const struct {
    int code;
    kin_error_class error_class;
  } breaks[] = {{KIN_EEOF, KIN_CLASS_CONNECT},
                {KIN_ETIMEDOUT, KIN_CLASS_PROTOCOL},
                {KIN_EHTTP, KIN_CLASS_PROTOCOL},
                {KIN_ETOKEN, KIN_CLASS_AUTH},
                {KIN_ENOMEM, KIN_CLASS_MEMORY}};
  uint8_t which = fuzz_byte(&w->in);
  script_request *request = any_request(w, which % 2 == 0);
  if (request == NULL) {
    return;
  }
  size_t i = which / 2 % (sizeof breaks / sizeof *breaks + 1);
  if (i < sizeof breaks / sizeof *breaks) {
    script_break_request(request, breaks[i].code, breaks[i].error_class);
  } else if (request->has_head) {
    script_request_end(request);
  }
}

/* The behaving server. */
static void change(world *w) {
  uint8_t which = fuzz_byte(&w->in);
  mini_server *server = &w->server;
  int object = which % 8;
  if (w->changes++ >= MAX_CHANGES) {
    return;
  }
  if (which >= 248) {
    mini_compact(server);
  } else if (which >= 192 && server->versions[object] != 0) {
    mini_delete(server, object);
  } else if (which >= 160 && server->versions[object] != 0) {
    mini_recreate(server, object);
  } else {
    mini_put(server, object);
  }
}

static void serve(world *w) {
  uint8_t which = fuzz_byte(&w->in);
  w->server.honours_limit = (which & 1) != 0;
  w->server.refuses_streams = (which & 2) != 0;
  w->server.holds_bookmark = (which & 12) == 12;
  switch (which >> 4) {
  case 0:
    mini_end_watches(&w->server);
    break;
  case 1:
    mini_break_watches(&w->server);
    break;
  case 2:
    mini_bookmark(&w->server);
    break;
  default:
    mini_serve(&w->server);
    break;
  }
}

static void pass_time(world *w) {
  static const uint32_t times_ms[] = {0,    1,     50,    1000,  1000,  5000,
                                      5000, 10000, 30000, 61000, 300000};
  uint32_t i = fuzz_below(&w->in, sizeof times_ms / sizeof *times_ms);
  script_advance(&w->script, times_ms[i]);
}

/* What the program does */

static void change_listener(world *w) {
  uint8_t which = fuzz_byte(&w->in);
  fold *f = &w->folds[which % LISTENERS];
  which /= LISTENERS;
  if (f->listener == NULL) {
    if (fold_listen(f, w->informer, (which & 1) != 0 ? 3000 : 0,
                    (which & 2) != 0 ? 1 : 0, (which & 4) != 0) != 0) {
      FUZZ_CHECK(f->listener == NULL);
    }
  } else if (which % 4 == 0) {
    fold_close(f);
  } else if (f->is_paused) {
    kin_listener_resume(f->listener);
    f->is_paused = false;
  } else {
    kin_listener_pause(f->listener);
    f->is_paused = true;
  }
}

static void call(world *w) {
  static const char *const names[] = {"even", "odd", "other", "", "x y"};
  static const char *const versions[] = {"100", "105", "", "x",
                                         "99999999999999999999"};
  uint8_t which = fuzz_byte(&w->in);
  const char *name = names[which % 5];
  switch (which / 5 % 5) {
  case 0:
    if (which % 5 < MAX_SCOPES) {
      (void)kin_informer_add_namespace(w->informer, name);
    }
    break;
  case 1:
    (void)kin_informer_remove_namespace(w->informer, name);
    break;
  case 2:
    w->waits +=
        kin_informer_verify(w->informer, name, 60000, on_version, w) == 0;
    break;
  case 3:
    w->waits +=
        kin_informer_wait_version(w->informer, name, versions[which / 25 % 5],
                                  60000, on_version, w) == 0;
    break;
  default: {
    kin_status status = KIN_STATUS_INIT;
    (void)kin_informer_get_status(w->informer, name, &status);
    break;
  }
  }
  script_run(&w->script);
}

static void lose_memory(world *w) {
  uint8_t which = fuzz_byte(&w->in);
  w->memory.fail_at =
      which % 64 == 0 ? 0 : atomic_load(&w->memory.calls) + which % 64;
  w->memory.keeps_failing = which >= 192;
}

static void step(world *w) {
  switch (fuzz_below(&w->in, 16)) {
  case 0:
  case 1:
  case 2:
    give_head(w);
    break;
  case 3:
  case 4:
  case 5: {
    script_request *request = any_request(w, true);
    if (request != NULL) {
      give_body(w, request);
    }
    break;
  }
  case 6:
    end_request(w);
    break;
  case 7:
    change_listener(w);
    break;
  case 8:
    call(w);
    break;
  case 9:
    lose_memory(w);
    break;
  case 10:
    w->script.split = fuzz_byte(&w->in);
    break;
  case 11:
    w->script.fail_start = (int)fuzz_below(&w->in, 3);
    break;
  case 12:
    change(w);
    break;
  case 13:
    pass_time(w);
    break;
  default:
    serve(w);
    break;
  }
}

/* The ends */

static void give_memory_back(world *w) {
  w->memory.fail_at = 0;
  w->memory.keeps_failing = false;
  w->script.fail_start = 0;
  w->script.split = 0;
}

/* The informer under test stays as it is, and its server too. */
static void check_others(world *w) {
  mini_server_init(&w->healthy, &w->script);
  w->healthy.serves = "/nodes";
  mini_put_first(&w->healthy, 2);
  kin_informer_options options = KIN_INFORMER_OPTIONS_INIT;
  options.plural = "nodes";
  FUZZ_CHECK(kin__informer_open(&w->other, &w->script.env, &options) == 0);
  FUZZ_CHECK(fold_listen(&w->other_fold, w->other, 0, 0, false) == 0);
  FUZZ_CHECK(kin_informer_start(w->other) == 0);
  for (unsigned ms = 0;
       ms < OTHERS_SYNC_MS && !kin_informer_has_synced(w->other); ms += 1000) {
    mini_serve(&w->healthy);
    script_advance(&w->script, 1000);
  }
  mini_serve(&w->healthy);
  FUZZ_CHECK(kin_informer_has_synced(w->other));
  FUZZ_CHECK(kin_store_count(kin_informer_store(w->other)) == 2);
  fold_check(&w->other_fold, kin_informer_store(w->other));
}

/* Whatever others have begun to answer is broken off, and the server is well
 * from now on. */
static void calm_down(world *w) {
  w->server.honours_limit = false;
  w->server.refuses_streams = false;
  w->server.holds_bookmark = false;
  for (int i = 0; i < SCRIPT_MAX_REQUESTS; i++) {
    script_request *request = w->script.requests[i];
    if (request != NULL && request->has_head && request->position == 0) {
      script_break_request(request, KIN_ETIMEDOUT, KIN_CLASS_PROTOCOL);
    }
  }
  for (size_t i = 0; i < LISTENERS; i++) {
    if (w->folds[i].listener != NULL && w->folds[i].is_paused) {
      kin_listener_resume(w->folds[i].listener);
    }
  }
  for (unsigned ms = 0; ms < OWN_SYNC_MS; ms += 5000) {
    mini_serve(&w->server);
    mini_serve(&w->healthy);
    script_advance(&w->script, 5000);
    if (ms >= 120000 && kin_informer_has_synced(w->informer)) {
      break;
    }
  }
  mini_serve(&w->server);
  FUZZ_CHECK(kin_informer_has_synced(w->informer) || w->was_stopped);
  FUZZ_CHECK(w->waits == 0);
  for (size_t i = 0; i < LISTENERS; i++) {
    if (w->folds[i].listener != NULL) {
      fold_check(&w->folds[i], kin_informer_store(w->informer));
      FUZZ_CHECK(w->folds[i].synced == 1 || w->was_stopped);
    }
  }
}

static void close_all(world *w) {
  FUZZ_CHECK(kin_informer_close(w->informer, on_closed, w) == 0);
  unsigned expected = 1;
  if (w->other != NULL) {
    FUZZ_CHECK(kin_informer_close(w->other, on_closed, w) == 0);
    expected++;
  }
  script_run(&w->script);
  FUZZ_CHECK(w->closed == expected && w->waits == 0);
  for (size_t i = 0; i < LISTENERS; i++) {
    fold_forget(&w->folds[i]);
  }
  fold_forget(&w->other_fold);
  FUZZ_CHECK(w->gate.inside == 0);
  kin__gate_finish(&w->gate);
  script_env_finish(&w->script);
  FUZZ_CHECK(atomic_load(&w->memory.live_blocks) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static world w;
  memset(&w, 0, sizeof w);
  w.in = (fuzz_input){data, size};
  fail_alloc_init(&w.memory, 0);
  script_env_init(&w.script, &w.memory.allocator);
  kin__gate_init(&w.gate, &w.script.sched, &w.script.timers, MAX_LISTS,
                 LIST_TURN_MS);
  mini_server_init(&w.server, &w.script);
  w.server.serves = "/pods";
  uint8_t ending = fuzz_byte(&w.in);
  mini_put_first(&w.server, 5);
  open_informer(&w);
  for (int i = 0; i < MAX_STEPS && w.in.left > 0; i++) {
    step(&w);
  }
  give_memory_back(&w);
  if (ending % 4 != 0) { /* else it is closed in the middle */
    check_others(&w);
    calm_down(&w);
  }
  close_all(&w);
  return 0;
}
