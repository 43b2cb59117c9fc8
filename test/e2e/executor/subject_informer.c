/* SPDX-License-Identifier: MIT */
/* An informer, its handlers, and a server that lists and watches, in virtual
 * time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "informer/informer.h"
#include "server.h"
#include "subjects.h"
#include "support/virtual_host.h"

enum { MAX_HANDLERS = 16, MAX_KEYS = 64 };

/* What a handler is told of one key: +OBJECT, with ! if it is initial,
 * ~OLD>NEW, -OBJECT, with ? if its last state is unknown. */
typedef struct note {
  char *key;
  text changes;
  bool has_resync;
} note;

typedef struct handler {
  char *name; /* NULL: none */
  kin_listener *listener;
  note notes[MAX_KEYS];
  size_t note_count;
} handler;

typedef struct informer_state {
  virtual_host vh;
  server *server;
  kin_informer *informer;
  handler handlers[MAX_HANDLERS];
} informer_state;

static bool is(const char *operation, const char *name) {
  return strcmp(operation, name) == 0;
}

static note *note_of(handler *h, const kin_object *object) {
  kin_str key = kin_object_key(object);
  for (size_t i = 0; i < h->note_count; i++) {
    if (strcmp(h->notes[i].key, key.data) == 0) {
      return &h->notes[i];
    }
  }
  assert_true(h->note_count < MAX_KEYS);
  note *made = &h->notes[h->note_count++];
  *made = (note){.key = must_allocate(key.length + 1)};
  memcpy(made->key, key.data, key.length);
  return made;
}

static void on_event(kin_informer *informer, const kin_event *event,
                     void *data) {
  (void)informer;
  note *n = note_of(data, event->object);
  text *to = &n->changes;
  if (event->type == KIN_EVENT_ADD) {
    text_add(to, "|+");
    text_add_object(to, event->object);
    text_add(to, event->is_initial ? "!" : "");
  } else if (event->type == KIN_EVENT_DELETE) {
    text_add(to, "|-");
    text_add_object(to, event->object);
    text_add(to, event->reason == KIN_DELETE_RELIST ||
                         event->reason == KIN_DELETE_RECREATED
                     ? "?"
                     : "");
  } else {
    kin_str old = kin_object_resource_version(event->old_object);
    kin_str new = kin_object_resource_version(event->object);
    if (old.length == new.length &&
        memcmp(old.data, new.data, new.length) == 0) {
      n->has_resync = true;
      return;
    }
    text_add(to, "|~");
    text_add_object(to, event->old_object);
    text_add(to, ">");
    text_add_object(to, event->object);
  }
}

/* Takes the notes: KEY and the changes, key by key. */
static void take_notes(handler *h, text *to) {
  bag all = {0};
  for (size_t i = 0; i < h->note_count; i++) {
    note *n = &h->notes[i];
    text *line = bag_new(&all);
    text_add_encoded(line, (kin_str){n->key, strlen(n->key)});
    text_add(line, n->changes.data != NULL ? n->changes.data : "|");
    text_add(line, n->has_resync ? "|=" : "");
    text_free(&n->changes);
    free(n->key);
  }
  h->note_count = 0;
  bag_finish(&all, to);
}

/* NULL if there is none of that name. */
static handler *find_handler(informer_state *s, const char *name) {
  for (size_t i = 0; i < MAX_HANDLERS; i++) {
    if (s->handlers[i].name != NULL && is(s->handlers[i].name, name)) {
      return &s->handlers[i];
    }
  }
  return NULL;
}

static bool has_x(const kin_object *object, void *data) {
  (void)data;
  return object_has_value(object, "x");
}

static int join(informer_state *s, const words *line) {
  handler *h = s->handlers;
  while (h->name != NULL) {
    h++;
    assert_true(h < s->handlers + MAX_HANDLERS);
  }
  const char *name = word_raw(line, 0);
  h->name = must_allocate(strlen(name) + 1);
  memcpy(h->name, name, strlen(name));
  kin_listener_options options = KIN_LISTENER_OPTIONS_INIT;
  options.on_add = options.on_update = options.on_delete = on_event;
  options.filter = words_have(line, "filter") ? has_x : NULL;
  options.relist_updates = true;
  options.data = h;
  return kin_informer_listen(s->informer, &options, &h->listener);
}

static void leave(handler *h) {
  text unused = {0};
  kin_listener_close(h->listener);
  take_notes(h, &unused);
  text_free(&unused);
  free(h->name);
  h->name = NULL;
}

static void ask_handler(handler *h, const char *operation, text *to) {
  if (h == NULL) {
    text_add(to, "none");
  } else if (is(operation, "leave")) {
    leave(h);
    text_add(to, "ok");
  } else if (is(operation, "log")) {
    take_notes(h, to);
  } else {
    text_add_bool(to, kin_listener_has_synced(h->listener));
  }
}

static void *open_informer(const words *options) {
  informer_state *s = must_allocate(sizeof *s);
  vh_init(&s->vh, 0);
  s->server = server_new(&s->vh.script);
  kin_lister_watcher source = server_source(s->server);
  kin_informer_options with = KIN_INFORMER_OPTIONS_INIT;
  with.plural = "things";
  with.source = &source;
  with.page_size = KIN_NEVER;
  with.resync_ms = (uint32_t)words_option(options, "resync");
  with.transform = words_have(options, "transform") ? script_transform : NULL;
  assert_int_equal(kin__informer_open_on(&s->informer, &s->vh.host, &with), 0);
  assert_int_equal(store_index(kin_informer_store(s->informer), "values"), 0);
  return s;
}

static void close_informer(void *ctx) {
  informer_state *s = ctx;
  for (size_t i = 0; i < MAX_HANDLERS; i++) {
    if (s->handlers[i].name != NULL) {
      leave(&s->handlers[i]);
    }
  }
  vh_finish(&s->vh);
  server_free(s->server);
  free(s);
}

static void add_version(informer_state *s, text *to) {
  kin_status status = KIN_STATUS_INIT;
  assert_int_equal(kin_informer_get_status(s->informer, "", &status), 0);
  text_add_encoded(
      to, (kin_str){status.resource_version, strlen(status.resource_version)});
}

static bool run(void *ctx, const char *operation, const words *line, text *to) {
  informer_state *s = ctx;
  bool is_known = true;
  if (server_do(s->server, operation, line)) {
    text_add(to, "ok");
  } else if (is(operation, "start")) {
    text_add_outcome(to, kin_informer_start(s->informer));
  } else if (is(operation, "run")) {
    server_run(s->server, (uint64_t)word_number(line, 0));
    text_add(to, "ok");
  } else if (is(operation, "join")) {
    text_add_outcome(to, join(s, line));
  } else if (is(operation, "leave") || is(operation, "log") ||
             is(operation, "handlersynced")) {
    ask_handler(find_handler(s, word_raw(line, 0)), operation, to);
  } else if (is(operation, "synced")) {
    text_add_bool(to, kin_informer_has_synced(s->informer));
  } else if (is(operation, "version")) {
    add_version(s, to);
  } else {
    is_known = store_read(kin_informer_store(s->informer), operation, line, to);
  }
  server_settle(s->server);
  return is_known;
}

const subject informer_subject = {"informer", open_informer, run,
                                  close_informer};
