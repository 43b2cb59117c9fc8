/* SPDX-License-Identifier: MIT */
#include "server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kin/error.h>

enum { MAX_OBJECTS = 64, MAX_HISTORY = 1024, STEP_MS = 100 };

typedef struct change {
  kin_watch_event_type type;
  kin_object *object;
  long version;
} change;

struct server {
  script_env *script;
  kin_object *objects[MAX_OBJECTS]; /* by key, ascending */
  size_t object_count;
  change history[MAX_HISTORY]; /* oldest first */
  size_t history_count;
  long version;
  long compacted; /* watches from before this version are refused */
  long uids;
  long refusals; /* so many requests are answered with `refusal` */
  int refusal;   /* an HTTP status */

  /* The request that is open. */
  kin_feed *feed;
  bool is_open;
  bool is_watch;
  bool is_answered; /* a watch is granted, and stays open */
  long from;        /* of a watch */
};

static int on_open(void *ctx, const kin_feed_request *request, kin_feed *feed,
                   void **out) {
  server *s = ctx;
  s->feed = feed;
  s->is_open = true;
  s->is_watch = request->is_watch;
  s->is_answered = false;
  s->from = strtol(request->resource_version, NULL, 10);
  *out = s;
  return 0;
}

static void on_cancel(void *ctx, void *answer) {
  (void)answer;
  ((server *)ctx)->is_open = false;
}

kin_lister_watcher server_source(server *s) {
  kin_lister_watcher source = KIN_LISTER_WATCHER_INIT;
  source.open = on_open;
  source.cancel = on_cancel;
  source.ctx = s;
  return source;
}

server *server_new(script_env *script) {
  server *s = must_allocate(sizeof *s);
  s->script = script;
  s->version = s->compacted = 10;
  return s;
}

static void forget_history(server *s) {
  for (size_t i = 0; i < s->history_count; i++) {
    kin_object_unref(s->history[i].object);
  }
  s->history_count = 0;
}

void server_free(server *s) {
  forget_history(s);
  for (size_t i = 0; i < s->object_count; i++) {
    kin_object_unref(s->objects[i]);
  }
  free(s);
}

static void fail(server *s, int status, bool is_event) {
  kin_feed_error error = KIN_FEED_ERROR_INIT;
  error.status = status;
  error.reason = status == 410 ? "Expired" : "";
  error.message = "asked for";
  s->is_open = false;
  kin_feed_fail(s->feed, &error, is_event);
}

static void answer_list(server *s) {
  char version[32];
  snprintf(version, sizeof version, "%ld", s->version);
  kin_feed_open(s->feed);
  for (size_t i = 0; i < s->object_count && s->is_open; i++) {
    kin_feed_item(s->feed, s->objects[i]);
  }
  if (s->is_open) {
    s->is_open = false;
    kin_feed_list_end(s->feed, version, NULL);
  }
}

static void answer_watch(server *s) {
  if (s->from < s->compacted) {
    fail(s, 410, false);
    return;
  }
  s->is_answered = true;
  kin_feed_open(s->feed);
  for (size_t i = 0; i < s->history_count && s->is_open; i++) {
    if (s->history[i].version > s->from) {
      kin_feed_event(s->feed, s->history[i].type, s->history[i].object);
    }
  }
}

void server_settle(server *s) {
  script_run(s->script);
  while (s->is_open && !s->is_answered) {
    if (s->refusals > 0) {
      s->refusals--;
      fail(s, s->refusal, false);
    } else if (s->is_watch) {
      answer_watch(s);
    } else {
      answer_list(s);
    }
    script_run(s->script);
  }
}

void server_run(server *s, uint64_t ms) {
  while (ms > 0) {
    uint64_t step = ms < STEP_MS ? ms : STEP_MS;
    script_advance(s->script, step);
    server_settle(s);
    ms -= step;
  }
}

static bool has_watch(const server *s) {
  return s->is_open && s->is_answered;
}

static void record(server *s, kin_watch_event_type type, kin_object *object) {
  if (s->history_count == MAX_HISTORY) {
    fprintf(stderr, "too many changes\n");
    exit(2);
  }
  s->history[s->history_count++] =
      (change){type, kin_object_ref(object), s->version};
  if (has_watch(s)) {
    kin_feed_event(s->feed, type, object);
  }
}

/* Where the object with that key is, or belongs. */
static size_t place_of(const server *s, const char *key, bool *is_there) {
  size_t i = 0;
  int order = -1;
  while (i < s->object_count &&
         (order = strcmp(kin_object_key(s->objects[i]).data, key)) < 0) {
    i++;
  }
  *is_there = i < s->object_count && order == 0;
  return i;
}

/* A state of the object with that uid, at a new version. */
static kin_object *make_state(server *s, const char *key, const char *uid,
                              const char *values) {
  char word[512];
  snprintf(word, sizeof word, "%s@%ld@%s@%s", key, ++s->version, uid, values);
  return word_object(word);
}

static void write_object(server *s, const char *key, const char *values) {
  bool is_there;
  size_t i = place_of(s, key, &is_there);
  char uid[64];
  if (is_there) {
    kin_str old = kin_object_uid(s->objects[i]);
    snprintf(uid, sizeof uid, KIN_STR_FORMAT, KIN_STR_ARG(old));
    kin_object_unref(s->objects[i]);
  } else {
    if (s->object_count == MAX_OBJECTS) {
      fprintf(stderr, "too many objects\n");
      exit(2);
    }
    snprintf(uid, sizeof uid, "u%ld", ++s->uids);
    memmove(&s->objects[i + 1], &s->objects[i],
            (s->object_count++ - i) * sizeof s->objects[0]);
  }
  s->objects[i] = make_state(s, key, uid, values);
  record(s, is_there ? KIN_WATCH_MODIFIED : KIN_WATCH_ADDED, s->objects[i]);
}

static void append_value(void *ctx, kin_str value) {
  text *all = ctx;
  text_add(all, all->length > 0 ? "+" : "");
  text_add_encoded(all, value);
}

static void remove_object(server *s, const char *key) {
  bool is_there;
  size_t i = place_of(s, key, &is_there);
  if (!is_there) {
    return;
  }
  kin_object *old = s->objects[i];
  memmove(&s->objects[i], &s->objects[i + 1],
          (--s->object_count - i) * sizeof s->objects[0]);
  char uid[64];
  snprintf(uid, sizeof uid, KIN_STR_FORMAT, KIN_STR_ARG(kin_object_uid(old)));
  text values = {0};
  text_add(&values, "");
  object_values(old, append_value, &values);
  kin_object *last = make_state(s, key, uid, values.data);
  record(s, KIN_WATCH_DELETED, last);
  text_free(&values);
  kin_object_unref(last);
  kin_object_unref(old);
}

static void send_event(server *s, const words *line) {
  const char *type = word_raw(line, 0);
  kin_object *object = word_object(word_raw(line, 1));
  if (has_watch(s)) {
    kin_feed_event(s->feed,
                   strcmp(type, "ADDED") == 0      ? KIN_WATCH_ADDED
                   : strcmp(type, "MODIFIED") == 0 ? KIN_WATCH_MODIFIED
                                                   : KIN_WATCH_DELETED,
                   object);
  }
  kin_object_unref(object);
}

static void mark(server *s) {
  char version[32];
  int length = snprintf(version, sizeof version, "%ld", s->version);
  if (has_watch(s)) {
    kin_feed_bookmark(s->feed, (kin_str){version, (size_t)length}, false);
  }
}

bool server_do(server *s, const char *operation, const words *line) {
  if (strcmp(operation, "write") == 0) {
    write_object(s, word_text(line, 0), word_text(line, 1));
  } else if (strcmp(operation, "remove") == 0) {
    remove_object(s, word_text(line, 0));
  } else if (strcmp(operation, "event") == 0) {
    send_event(s, line);
  } else if (strcmp(operation, "mark") == 0) {
    mark(s);
  } else if (strcmp(operation, "compact") == 0) {
    forget_history(s);
    s->compacted = s->version;
  } else if (strcmp(operation, "drop") == 0) {
    if (has_watch(s)) {
      s->is_open = false;
      kin_feed_watch_end(s->feed);
    }
  } else if (strcmp(operation, "error") == 0) {
    if (has_watch(s)) {
      fail(s, (int)word_number(line, 0), true);
    }
  } else if (strcmp(operation, "refuse") == 0) {
    s->refusals = word_number(line, 0);
    s->refusal = (int)word_number(line, 1);
  } else {
    return false;
  }
  return true;
}
