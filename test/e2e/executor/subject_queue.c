/* SPDX-License-Identifier: MIT */
/* The three queues of kin/queue.h. */
#include <stdlib.h>
#include <string.h>

#include <kin/error.h>
#include <kin/queue.h>

#include "subjects.h"

enum { MAX_KNOWN = 64 };

/* What the consumer has, in an order that the script gives. */
typedef struct known {
  char *key;
  kin_object *object; /* NULL: told as a key, and absent */
  bool fails;         /* a look-up of it does */
} known;

typedef struct queue_subject {
  kin_queue *queue;
  bool is_fifo;
  known known[MAX_KNOWN];
  size_t known_count;
  int result;  /* what the callback answers */
  text popped; /* what it was given */
  bool is_batch;
} queue_subject;

static bool is(const char *operation, const char *name) {
  return strcmp(operation, name) == 0;
}

static known *find_known(queue_subject *q, kin_str key) {
  for (size_t i = 0; i < q->known_count; i++) {
    if (strlen(q->known[i].key) == key.length &&
        memcmp(q->known[i].key, key.data, key.length) == 0) {
      return &q->known[i];
    }
  }
  return NULL;
}

static int known_get(void *ctx, kin_str key, const kin_object **object) {
  known *k = find_known(ctx, key);
  *object = k != NULL ? k->object : NULL;
  return k != NULL && k->fails ? KIN_EINVAL : 0;
}

static bool known_next(void *ctx, uintptr_t *place, kin_str *key) {
  queue_subject *q = ctx;
  if (*place >= q->known_count) {
    return false;
  }
  const char *data = q->known[(*place)++].key;
  *key = (kin_str){data, strlen(data)};
  return true;
}

static void know(queue_subject *q, kin_str key, const char *what) {
  known *k = find_known(q, key);
  if (k == NULL) {
    k = &q->known[q->known_count++];
    *k = (known){.key = must_allocate(key.length + 1)};
    memcpy(k->key, key.data, key.length);
  }
  kin_object_unref(k->object);
  k->fails = is(what, "!");
  k->object = k->fails || is(what, "-") ? NULL : word_object(what);
}

static void forget(queue_subject *q, kin_str key) {
  known *k = find_known(q, key);
  if (k != NULL) {
    kin_object_unref(k->object);
    free(k->key);
    q->known_count--;
    memmove(k, k + 1, (size_t)(&q->known[q->known_count] - k) * sizeof *k);
  }
}

static queue_subject *open_queue(const words *options,
                                 int (*make)(kin_queue **out,
                                             const kin_queue_options *options),
                                 bool is_fifo) {
  queue_subject *q = must_allocate(sizeof *q);
  kin_queue_options with = KIN_QUEUE_OPTIONS_INIT;
  q->is_fifo = is_fifo;
  with.emit_replaced = words_have(options, "replaced");
  with.emit_bookmarks = words_have(options, "bookmarks");
  with.transform = words_have(options, "transform") ? script_transform : NULL;
  if (words_have(options, "known")) {
    with.known = (kin_known_objects){known_get, known_next, q};
  }
  return make(&q->queue, &with) == 0 ? q : NULL;
}

static void *open_fifo(const words *options) {
  return open_queue(options, kin_queue_new_fifo, true);
}
static void *open_delta(const words *options) {
  return open_queue(options, kin_queue_new_delta, false);
}
static void *open_in_order(const words *options) {
  return open_queue(options, kin_queue_new_in_order, false);
}

static void close_queue(void *ctx) {
  queue_subject *q = ctx;
  kin_queue_free(q->queue);
  while (q->known_count > 0) {
    const char *key = q->known[0].key;
    forget(q, (kin_str){key, strlen(key)});
  }
  free(q);
}

static int process(kin_queue *queue, kin_queue_item *item, void *data) {
  (void)queue;
  queue_subject *q = data;
  text_add(&q->popped, q->is_batch ? "batch " : "");
  text_add_bool(&q->popped, item->is_initial);
  for (size_t i = 0; i < item->deltas.count; i++) {
    text_add(&q->popped, " ");
    if (q->is_fifo) {
      text_add_object(&q->popped, item->deltas.items[i].object);
    } else {
      text_add_delta(&q->popped, &item->deltas.items[i]);
    }
  }
  return q->result;
}

static int process_batch(kin_queue *queue, kin_queue_item *item, void *data) {
  ((queue_subject *)data)->is_batch = true;
  return process(queue, item, data);
}

static int pop(queue_subject *q, bool in_batches, text *to) {
  q->is_batch = false;
  int err = in_batches
                ? kin_queue_pop_batch(q->queue, process_batch, process, q)
                : kin_queue_pop(q->queue, process, q);
  if (err == KIN_EAGAIN) {
    text_add(to, "empty");
  } else if (err == KIN_ECLOSED) {
    text_add(to, "closed");
  } else {
    text_add_outcome(to, err);
    text_add(to, " ");
    text_add(to, q->popped.data);
  }
  text_free(&q->popped);
  return err;
}

/* Pops everything; the order is not told. */
static void drain(queue_subject *q, text *to) {
  bag all = {0};
  q->result = 0;
  while (kin_queue_count(q->queue) > 0) {
    text *one = bag_new(&all);
    text_add(one, "[");
    pop(q, false, one);
    text_add(one, "]");
  }
  bag_finish(&all, to);
}

static int put(queue_subject *q, const char *operation, const words *line) {
  kin_object *object = word_object(word_raw(line, 0));
  int err;
  if (is(operation, "add")) {
    err = kin_queue_add(q->queue, object);
  } else if (is(operation, "update")) {
    err = kin_queue_update(q->queue, object);
  } else {
    err = kin_queue_delete(q->queue, object);
  }
  kin_object_unref(object);
  return err;
}

static int tombstone(queue_subject *q, const words *line) {
  const char *what = word_raw(line, 1);
  kin_object *object = is(what, "-") ? NULL : word_object(what);
  int err = kin_queue_delete_tombstone(q->queue, word_str(line, 0), object);
  kin_object_unref(object);
  return err;
}

static int replace(queue_subject *q, const words *line) {
  size_t count;
  kin_object **objects = words_objects(line, 1, &count);
  int err = kin_queue_replace(q->queue, (const kin_object *const *)objects,
                              count, word_str(line, 0));
  objects_free(objects, count);
  return err;
}

static bool change(queue_subject *q, const char *operation, const words *line,
                   text *to) {
  if (is(operation, "add") || is(operation, "update") ||
      is(operation, "delete")) {
    text_add_outcome(to, put(q, operation, line));
  } else if (is(operation, "tombstone")) {
    text_add_outcome(to, tombstone(q, line));
  } else if (is(operation, "replace")) {
    text_add_outcome(to, replace(q, line));
  } else if (is(operation, "resync")) {
    text_add_outcome(to, kin_queue_resync(q->queue));
  } else if (is(operation, "bookmark")) {
    text_add_outcome(to, kin_queue_bookmark(q->queue, word_str(line, 0)));
  } else {
    return false;
  }
  return true;
}

static bool run(void *ctx, const char *operation, const words *line, text *to) {
  queue_subject *q = ctx;
  if (is(operation, "pop") || is(operation, "popbatch")) {
    q->result = is(word_raw(line, 0), "fail") ? KIN_EINVAL : 0;
    pop(q, is(operation, "popbatch"), to);
  } else if (is(operation, "drain")) {
    drain(q, to);
  } else if (is(operation, "synced")) {
    text_add_bool(to, kin_queue_has_synced(q->queue));
  } else if (is(operation, "close")) {
    kin_queue_close(q->queue);
    text_add(to, "ok");
  } else if (is(operation, "know")) {
    know(q, word_str(line, 0), word_raw(line, 1));
    text_add(to, "ok");
  } else if (is(operation, "forget")) {
    forget(q, word_str(line, 0));
    text_add(to, "ok");
  } else {
    return change(q, operation, line, to);
  }
  return true;
}

const subject fifo_subject = {"fifo", open_fifo, run, close_queue};
const subject delta_subject = {"delta", open_delta, run, close_queue};
const subject in_order_subject = {"inorder", open_in_order, run, close_queue};
