/* SPDX-License-Identifier: MIT */
/* Stores: kin_store, kin_expiring_store, kin_push_store. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kin/error.h>
#include <kin/expiring_store.h>
#include <kin/push_store.h>

#include "subjects.h"

static bool is(const char *operation, const char *name) {
  return strcmp(operation, name) == 0;
}

void store_add_list(kin_object_list *list, text *to) {
  bag all = {0};
  for (size_t i = 0; i < list->count; i++) {
    text_add_object(bag_new(&all), list->objects[i]);
  }
  bag_finish(&all, to);
  kin_object_list_free(list);
}

static void emit(void *ctx, kin_str value) {
  kin_index_emit(ctx, value); /* the index fails by itself if this does */
}

static int index_values(const kin_object *object, kin_index_values *values,
                        void *data) {
  (void)data;
  object_values(object, emit, values);
  return 0;
}

int store_index(kin_store *store, const char *name) {
  kin_index_options options = KIN_INDEX_OPTIONS_INIT;
  options.name = name;
  if (is(name, "values")) {
    options.cb = index_values;
  } else {
    options.pointer = is(name, "name") ? "/metadata/name" : "/metadata/uid";
  }
  return kin_store_add_index(store, &options);
}

static void add_list(const kin_store *store, text *to) {
  kin_object_list *list;
  if (kin_store_list(store, &list) == 0) {
    store_add_list(list, to);
  }
}

static void add_keys(const kin_store *store, text *to) {
  bag all = {0};
  kin_cursor cursor = {0};
  const kin_object *object;
  while ((object = kin_store_next(store, &cursor)) != NULL) {
    text_add_encoded(bag_new(&all), kin_object_key(object));
  }
  bag_finish(&all, to);
}

static void add_by_index(const kin_store *store, const words *line, text *to) {
  bag all = {0};
  kin_index_cursor cursor;
  if (kin_store_by_index(store, word_raw(line, 0), word_str(line, 1),
                         &cursor) != 0) {
    text_add(to, "error");
    return;
  }
  const kin_object *object;
  while ((object = kin_store_by_index_next(store, &cursor)) != NULL) {
    text_add_object(bag_new(&all), object);
  }
  bag_finish(&all, to);
}

static void add_index_keys(const kin_store *store, const words *line,
                           text *to) {
  kin_object_list *list;
  if (kin_store_list_by_index(store, word_raw(line, 0), word_str(line, 1),
                              &list) != 0) {
    text_add(to, "error");
    return;
  }
  for (size_t i = 0; i < list->count; i++) {
    text_add(to, i > 0 ? " " : "");
    text_add_encoded(to, kin_object_key(list->objects[i]));
  }
  kin_object_list_free(list);
}

static void add_like(const kin_store *store, const words *line, text *to) {
  kin_object_list *list;
  kin_object *object = word_object(word_raw(line, 1));
  if (kin_store_list_like(store, word_raw(line, 0), object, &list) != 0) {
    text_add(to, "error");
  } else {
    store_add_list(list, to);
  }
  kin_object_unref(object);
}

static void add_values(const kin_store *store, const words *line, text *to) {
  bag all = {0};
  kin_cursor cursor = {0};
  kin_str value;
  while (
      kin_store_index_next_value(store, word_raw(line, 0), &cursor, &value)) {
    text_add_encoded(bag_new(&all), value);
  }
  bag_finish(&all, to);
}

static void add_indices(const kin_store *store, text *to) {
  bag all = {0};
  kin_cursor cursor = {0};
  const char *name;
  while ((name = kin_store_next_index(store, &cursor)) != NULL) {
    text_add(bag_new(&all), name);
  }
  bag_finish(&all, to);
}

bool store_read(const kin_store *store, const char *operation,
                const words *line, text *to) {
  if (is(operation, "get")) {
    const kin_object *object = kin_store_get(store, word_str(line, 0));
    if (object != NULL) {
      text_add_object(to, object);
    } else {
      text_add(to, "none");
    }
  } else if (is(operation, "list")) {
    add_list(store, to);
  } else if (is(operation, "keys")) {
    add_keys(store, to);
  } else if (is(operation, "version")) {
    text_add_encoded(to, kin_store_resource_version(store));
  } else if (is(operation, "index")) {
    add_by_index(store, line, to);
  } else if (is(operation, "indexkeys")) {
    add_index_keys(store, line, to);
  } else if (is(operation, "values")) {
    add_values(store, line, to);
  } else if (is(operation, "like")) {
    add_like(store, line, to);
  } else if (is(operation, "indexes")) {
    add_indices(store, to);
  } else {
    return false;
  }
  return true;
}

/* Each word is put:OBJECT, delete:OBJECT or deletekey:KEY. */
static int transact(kin_store *store, const words *line) {
  kin_store_op *ops = must_allocate((line->count + 1) * sizeof *ops);
  for (size_t i = 0; i < line->count; i++) {
    char *of = strchr(line->at[i], ':');
    *of++ = '\0';
    ops[i].type = is(line->at[i], "put") ? KIN_STORE_PUT : KIN_STORE_DELETE;
    if (is(line->at[i], "deletekey")) {
      words key = {1, &of};
      ops[i].key = word_str(&key, 0);
    } else {
      ops[i].object = word_object(of);
    }
  }
  int err = kin_store_transact(store, ops, line->count, NULL);
  for (size_t i = 0; i < line->count; i++) {
    kin_object_unref(ops[i].object);
  }
  free(ops);
  return err;
}

/* What all stores can do, by the functions of each. */
typedef struct changes {
  int (*put)(void *store, const kin_object *object);
  int (*remove)(void *store, const kin_object *object);
  int (*remove_key)(void *store, kin_str key);
  int (*replace)(void *store, const kin_object *const *objects, size_t count,
                 kin_str version);
} changes;

static bool change(const changes *by, void *store, const char *operation,
                   const words *line, text *to) {
  int err;
  if (is(operation, "put") || is(operation, "delete")) {
    kin_object *object = word_object(word_raw(line, 0));
    err = (is(operation, "put") ? by->put : by->remove)(store, object);
    kin_object_unref(object);
  } else if (is(operation, "deletekey")) {
    err = by->remove_key(store, word_str(line, 0));
    if (err == KIN_ENOENT) {
      text_add(to, "absent");
      return true;
    }
  } else if (is(operation, "replace")) {
    size_t count;
    kin_object **objects = words_objects(line, 1, &count);
    err = by->replace(store, (const kin_object *const *)objects, count,
                      word_str(line, 0));
    objects_free(objects, count);
  } else {
    return false;
  }
  text_add_outcome(to, err);
  return true;
}

static int store_put(void *store, const kin_object *object) {
  return kin_store_put(store, object);
}
static int store_remove(void *store, const kin_object *object) {
  return kin_store_delete_object(store, object);
}
static int store_remove_key(void *store, kin_str key) {
  return kin_store_delete(store, key);
}
static int store_replace(void *store, const kin_object *const *objects,
                         size_t count, kin_str version) {
  return kin_store_replace(store, objects, count, version);
}
static const changes of_store = {store_put, store_remove, store_remove_key,
                                 store_replace};

bool store_run(kin_store *store, const char *operation, const words *line,
               text *to) {
  if (is(operation, "addindex")) {
    text_add_outcome(to, store_index(store, word_raw(line, 0)));
  } else if (is(operation, "bookmark")) {
    text_add_outcome(to, kin_store_bookmark(store, word_str(line, 0)));
  } else if (is(operation, "transact")) {
    text_add_outcome(to, transact(store, line));
  } else {
    return change(&of_store, store, operation, line, to) ||
           store_read(store, operation, line, to);
  }
  return true;
}

static void *store_open(const words *options) {
  kin_store *store;
  kin_store_options with = KIN_STORE_OPTIONS_INIT;
  with.transform = words_have(options, "transform") ? script_transform : NULL;
  return kin_store_new(&store, &with) == 0 ? store : NULL;
}
static bool store_do(void *ctx, const char *operation, const words *line,
                     text *to) {
  return store_run(ctx, operation, line, to);
}
static void store_close(void *ctx) {
  kin_store_free(ctx);
}
const subject store_subject = {"store", store_open, store_do, store_close};

/* --- with a clock */

static uint64_t now_ms;

uint64_t script_clock(void *ctx) {
  (void)ctx;
  return now_ms;
}
void script_clock_advance(uint64_t ms) {
  now_ms += ms;
}

static int expiring_put(void *store, const kin_object *object) {
  return kin_expiring_store_put(store, object);
}
static int expiring_remove(void *store, const kin_object *object) {
  return kin_expiring_store_delete_object(store, object);
}
static int expiring_remove_key(void *store, kin_str key) {
  return kin_expiring_store_delete(store, key);
}
static int expiring_replace(void *store, const kin_object *const *objects,
                            size_t count, kin_str version) {
  return kin_expiring_store_replace(store, objects, count, version);
}
static const changes of_expiring = {expiring_put, expiring_remove,
                                    expiring_remove_key, expiring_replace};

static void *expiring_open(const words *options) {
  kin_expiring_store *store;
  kin_expiring_store_options with = KIN_EXPIRING_STORE_OPTIONS_INIT;
  with.now_ms = script_clock;
  with.ttl_ms = (uint64_t)words_option(options, "ttl");
  return kin_expiring_store_new(&store, &with) == 0 ? store : NULL;
}

static void expiring_get(kin_expiring_store *store, const words *line,
                         text *to) {
  const kin_object *object = kin_expiring_store_get(store, word_str(line, 0));
  if (object != NULL) {
    text_add_object(to, object);
  } else {
    text_add(to, "none");
  }
}

static bool expiring_do(void *store, const char *operation, const words *line,
                        text *to) {
  bag all = {0};
  kin_cursor cursor = {0};
  if (is(operation, "advance")) {
    script_clock_advance((uint64_t)word_number(line, 0));
    text_add(to, "ok");
  } else if (is(operation, "get")) {
    expiring_get(store, line, to);
  } else if (is(operation, "list")) {
    const kin_object *object;
    while ((object = kin_expiring_store_next(store, &cursor)) != NULL) {
      text_add_object(bag_new(&all), object);
    }
    bag_finish(&all, to);
  } else if (is(operation, "keys")) {
    kin_str key;
    while (kin_expiring_store_next_key(store, &cursor, &key)) {
      text_add_encoded(bag_new(&all), key);
    }
    bag_finish(&all, to);
  } else if (is(operation, "version")) {
    text_add_encoded(to, kin_expiring_store_resource_version(store));
  } else if (is(operation, "bookmark")) {
    text_add_outcome(to, kin_expiring_store_bookmark(store, word_str(line, 0)));
  } else {
    return change(&of_expiring, store, operation, line, to);
  }
  return true;
}
static void expiring_close(void *ctx) {
  kin_expiring_store_free(ctx);
}
const subject expiring_subject = {"expiring", expiring_open, expiring_do,
                                  expiring_close};

/* --- with a push */

typedef struct pusher {
  kin_push_store *store;
  text pushed;
} pusher;

static void on_push(const kin_object_list *objects, void *data) {
  pusher *p = data;
  bag all = {0};
  for (size_t i = 0; i < objects->count; i++) {
    text_add_object(bag_new(&all), objects->objects[i]);
  }
  text_add(&p->pushed, " [");
  bag_finish(&all, &p->pushed);
  text_add(&p->pushed, "]");
}

static int push_put(void *p, const kin_object *object) {
  return kin_push_store_put(((pusher *)p)->store, object);
}
static int push_remove(void *p, const kin_object *object) {
  return kin_push_store_delete_object(((pusher *)p)->store, object);
}
static int push_remove_key(void *p, kin_str key) {
  return kin_push_store_delete(((pusher *)p)->store, key);
}
static int push_replace(void *p, const kin_object *const *objects, size_t count,
                        kin_str version) {
  return kin_push_store_replace(((pusher *)p)->store, objects, count, version);
}
static const changes of_push = {push_put, push_remove, push_remove_key,
                                push_replace};

static void *push_open(const words *options) {
  (void)options;
  pusher *p = must_allocate(sizeof *p);
  kin_push_store_options with = KIN_PUSH_STORE_OPTIONS_INIT;
  with.push = on_push;
  with.data = p;
  return kin_push_store_new(&p->store, &with) == 0 ? p : NULL;
}
static bool push_do(void *ctx, const char *operation, const words *line,
                    text *to) {
  pusher *p = ctx;
  bool is_known =
      change(&of_push, p, operation, line, to) ||
      store_read(kin_push_store_content(p->store), operation, line, to);
  text_add(to, p->pushed.data != NULL ? p->pushed.data : "");
  text_free(&p->pushed);
  return is_known;
}
static void push_close(void *ctx) {
  pusher *p = ctx;
  kin_push_store_free(p->store);
  free(p);
}
const subject push_subject = {"push", push_open, push_do, push_close};
