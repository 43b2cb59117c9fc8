/* SPDX-License-Identifier: MIT */
#include "support/queue_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <kin/error.h>

#include "base/str.h"
#include "support/objects.h"

#define MAX_LISTED 16

static int known_get(void *ctx, kin_str key, const kin_object **object) {
  queue_rig *rig = ctx;
  rig->lookups++;
  for (size_t i = 0; i < rig->known_count; i++) {
    if (kin__str_equal(kin__cstr(rig->known[i].key), key)) {
      *object = rig->known[i].object;
      return rig->known[i].fails ? rig->known_error : 0;
    }
  }
  return 0;
}

static bool known_next(void *ctx, uintptr_t *place, kin_str *key) {
  queue_rig *rig = ctx;
  if (*place == rig->known_count) {
    return false;
  }
  *key = kin__cstr(rig->known[(*place)++].key);
  return true;
}

/* How often the transform has seen an object. */
static int marks_of(const kin_object *object) {
  kin_str value;
  return kin_object_label(object, "marks", &value)
             ? (int)strtol(value.data, NULL, 10)
             : 0;
}

static int add_mark(const kin_object *in, kin_object_builder *out, void *data) {
  queue_rig *rig = data;
  rig->transforms++;
  if (rig->transform_error != 0) {
    return rig->transform_error;
  }
  char marks[16];
  snprintf(marks, sizeof marks, "%d", marks_of(in) + 1);
  return kin_object_builder_set_string(out, "/metadata/labels/marks", marks);
}

static void note_synced(kin_queue *queue, void *data) {
  queue_rig *rig = data;
  assert_ptr_equal(queue, rig->queue);
  assert_true(kin_queue_has_synced(queue));
  rig->told++;
}

void queue_rig_init(queue_rig *rig) {
  *rig = (queue_rig){.known_error = KIN_EINDEX};
  fail_alloc_init(&rig->memory, 0);
  fail_alloc_init(&rig->objects, 0);
  rig->options = (kin_queue_options)KIN_QUEUE_OPTIONS_INIT;
  rig->options.allocator = &rig->memory.allocator;
  rig->options.on_synced = note_synced;
  rig->options.data = rig;
}

kin_object *queue_rig_object(queue_rig *rig, const char *text, size_t length) {
  char key[64];
  unsigned version;
  if (length == 4 && memcmp(text, "NULL", 4) == 0) {
    return NULL;
  }
  assert_true(length < sizeof key);
  memcpy(key, text, length);
  key[length] = '\0';
  char *at = strchr(key, '@');
  assert_non_null(at);
  *at = '\0';
  version = (unsigned)strtoul(at + 1, NULL, 10);
  return object_keyed(&rig->objects.allocator, key, version);
}

static void forget(queue_rig *rig) {
  while (rig->known_count > 0) {
    kin_object_unref(rig->known[--rig->known_count].object);
  }
}

void queue_rig_know(queue_rig *rig, const char *objects) {
  forget(rig);
  for (const char *from = objects; *from != '\0';) {
    size_t length = strcspn(from, " ");
    const char *at = memchr(from, '@', length);
    assert_non_null(at);
    assert_true(rig->known_count < RIG_MAX_KNOWN);
    rig_known *known = &rig->known[rig->known_count++];
    *known = (rig_known){.fails = at[1] == '!'};
    memcpy(known->key, from, (size_t)(at - from));
    if (at[1] != '-' && at[1] != '!') {
      known->object = queue_rig_object(rig, from, length);
    }
    from += length;
    from += strspn(from, " ");
  }
  rig->options.known = (kin_known_objects){known_get, known_next, rig};
}

void queue_rig_transform(queue_rig *rig) {
  rig->options.transform = add_mark;
}

void queue_rig_open(queue_rig *rig, rig_kind kind) {
  int err = kind == RIG_FIFO ? kin_queue_new_fifo(&rig->queue, &rig->options)
            : kind == RIG_DELTA
                ? kin_queue_new_delta(&rig->queue, &rig->options)
                : kin_queue_new_in_order(&rig->queue, &rig->options);
  assert_int_equal(err, 0);
}

void queue_rig_open_simple(queue_rig *rig, rig_kind kind, const char *known) {
  queue_rig_init(rig);
  if (known != NULL) {
    queue_rig_know(rig, known);
  }
  queue_rig_open(rig, kind);
}

void queue_rig_open_in_order(queue_rig *rig, const char *known,
                             uint32_t batch_limit) {
  queue_rig_init(rig);
  if (known != NULL) {
    queue_rig_know(rig, known);
  }
  rig->options.emit_bookmarks = known == NULL;
  rig->options.batch_limit = batch_limit;
  queue_rig_open(rig, RIG_IN_ORDER);
}

void queue_rig_close(queue_rig *rig) {
  kin_queue_free(rig->queue);
  forget(rig);
  assert_int_equal(rig->memory.live_blocks, 0);
  assert_int_equal(rig->objects.live_blocks, 0);
}

static int replace(queue_rig *rig, const char *what) {
  const kin_object *objects[MAX_LISTED] = {0};
  size_t count = 0;
  size_t end = strcspn(what, "#");
  for (size_t from = 0; from < end;) {
    size_t length = strcspn(what + from, ",#");
    assert_true(count < MAX_LISTED);
    objects[count++] = queue_rig_object(rig, what + from, length);
    from += length + 1;
  }
  const char *version = what[end] == '#' ? what + end + 1 : "";
  int err = kin_queue_replace(rig->queue, objects, count, kin__cstr(version));
  while (count > 0) {
    kin_object_unref(objects[--count]);
  }
  return err;
}

static int tombstone(queue_rig *rig, const char *what) {
  size_t key = strcspn(what, "@");
  kin_object *object =
      what[key + 1] != '-' ? queue_rig_object(rig, what, strlen(what)) : NULL;
  int err = kin_queue_delete_tombstone(rig->queue, kin__str(what, key), object);
  kin_object_unref(object);
  return err;
}

static int with_object(queue_rig *rig, char letter, const char *what) {
  kin_object *object = queue_rig_object(rig, what, strlen(what));
  kin_delta delta = {.type = KIN_DELTA_ADDED, .object = object};
  kin_deltas deltas = {&delta, 1};
  int err = letter == 'A'   ? kin_queue_add(rig->queue, object)
            : letter == 'U' ? kin_queue_update(rig->queue, object)
            : letter == 'D' ? kin_queue_delete(rig->queue, object)
                            : kin_queue_add_if_not_present(rig->queue, &deltas);
  kin_object_unref(object);
  return err;
}

int queue_rig_try(queue_rig *rig, const char *operation) {
  const char *what = operation[1] == ':' ? operation + 2 : "";
  switch (operation[0]) {
  case 'R':
    return replace(rig, what);
  case 'X':
    return tombstone(rig, what);
  case 'S':
    return kin_queue_resync(rig->queue);
  case 'B':
    return kin_queue_bookmark(rig->queue, kin__cstr(what));
  case 'P':
    return kin_queue_pop(rig->queue, queue_rig_process, rig);
  case 'T':
    return kin_queue_pop_batch(rig->queue, queue_rig_process_batch,
                               queue_rig_process, rig);
  case 'C':
    kin_queue_close(rig->queue);
    return 0;
  default:
    assert_non_null(strchr("AUDI", operation[0]));
    return with_object(rig, operation[0], what);
  }
}

void queue_rig_do(queue_rig *rig, const char *operations) {
  char text[512];
  char *save;
  assert_true(strlen(operations) < sizeof text);
  strcpy(text, operations);
  for (char *one = strtok_r(text, " ", &save); one != NULL;
       one = strtok_r(NULL, " ", &save)) {
    int err = queue_rig_try(rig, one);
    if (err != 0) {
      fail_msg("%s: %s", one, kin_err_name(err));
    }
  }
}

__attribute__((format(printf, 3, 4))) static void
append(char *to, size_t size, const char *format, ...) {
  size_t length = strlen(to);
  va_list args;
  va_start(args, format);
  vsnprintf(to + length, size - length, format, args);
  va_end(args);
}

static void describe_object(char *to, size_t size, const kin_object *object) {
  kin_str key = kin_object_key(object);
  kin_str version = kin_object_resource_version(object);
  append(to, size, KIN_STR_FORMAT "@" KIN_STR_FORMAT, KIN_STR_ARG(key),
         KIN_STR_ARG(version));
  for (int i = marks_of(object); i > 0; i--) {
    append(to, size, "'");
  }
}

static void describe_list(char *to, size_t size, const kin_delta *d) {
  append(to, size, "R*(");
  for (size_t i = 0; i < d->object_count; i++) {
    append(to, size, i > 0 ? "," : "");
    describe_object(to, size, d->objects[i]);
  }
  append(to, size, ")#%s", d->resource_version.data);
}

static void describe_change(char *to, size_t size, const kin_delta *d) {
  switch (d->type) {
  case KIN_DELTA_REPLACED_ALL:
    describe_list(to, size, d);
    return;
  case KIN_DELTA_SYNC_ALL:
    append(to, size, "S*");
    return;
  case KIN_DELTA_BOOKMARK:
    append(to, size, "B:%s", d->resource_version.data);
    return;
  default:
    break;
  }
  append(to, size, "%c:", d->is_tombstone ? 'X' : "?AUDRS"[d->type]);
  if (d->object == NULL) {
    append(to, size, KIN_STR_FORMAT "@-", KIN_STR_ARG(d->key));
    return;
  }
  assert_true(kin__str_equal(kin_object_key(d->object), d->key));
  describe_object(to, size, d->object);
}

void queue_rig_describe(char *to, size_t size, const kin_deltas *deltas) {
  to[0] = '\0';
  for (size_t i = 0; i < deltas->count; i++) {
    append(to, size, i > 0 ? " " : "");
    describe_change(to, size, &deltas->items[i]);
  }
}

static int note(kin_queue *queue, kin_queue_item *item, queue_rig *rig,
                bool is_batch) {
  char text[2048];
  assert_true(queue == rig->queue);
  queue_rig_describe(text, sizeof text, &item->deltas);
  append(rig->log, sizeof rig->log, is_batch ? "%s[%s]" : "%s%s",
         rig->log[0] != '\0' ? " | " : "", text);
  rig->was_initial = item->is_initial;
  rig->was_synced = kin_queue_has_synced(queue);
  rig->processed++;
  item->requeue = rig->requeue;
  if (rig->during != NULL) {
    rig->during(rig, item);
  }
  return rig->result;
}

int queue_rig_process(kin_queue *queue, kin_queue_item *item, void *data) {
  return note(queue, item, data, false);
}

int queue_rig_process_batch(kin_queue *queue, kin_queue_item *item,
                            void *data) {
  return note(queue, item, data, true);
}

void queue_rig_expect(queue_rig *rig, const char *item) {
  rig->log[0] = '\0';
  assert_int_equal(queue_rig_try(rig, "P"), 0);
  assert_string_equal(rig->log, item);
  rig->log[0] = '\0';
}

void queue_rig_expect_nothing(queue_rig *rig, int code) {
  unsigned processed = rig->processed;
  assert_int_equal(queue_rig_try(rig, "P"), code);
  assert_int_equal(queue_rig_try(rig, "T"), code);
  assert_int_equal(rig->processed, processed);
  assert_int_equal(kin_queue_count(rig->queue), 0);
}

static void drain(queue_rig *rig, const char *operation, const char *items) {
  rig->log[0] = '\0';
  int err;
  do {
    err = queue_rig_try(rig, operation);
  } while (err == 0);
  assert_string_equal(rig->log, items);
  bool is_closed = kin_queue_is_closed(rig->queue);
  queue_rig_expect_nothing(rig, is_closed ? KIN_ECLOSED : KIN_EAGAIN);
  assert_int_equal(err, is_closed ? KIN_ECLOSED : KIN_EAGAIN);
  rig->log[0] = '\0';
}

void queue_rig_drain(queue_rig *rig, const char *items) {
  drain(rig, "P", items);
}

void queue_rig_drain_batches(queue_rig *rig, const char *items) {
  drain(rig, "T", items);
}

void queue_rig_expect_list(queue_rig *rig, const char *changes) {
  char text[1024] = "";
  kin_queue_cursor cursor = {0};
  kin_delta delta;
  size_t count = 0;
  while (kin_queue_next(rig->queue, &cursor, &delta)) {
    append(text, sizeof text, count > 0 ? " " : "");
    describe_change(text, sizeof text, &delta);
    count++;
  }
  assert_false(kin_queue_next(rig->queue, &cursor, &delta)); /* stays there */
  assert_string_equal(text, changes);
  assert_int_equal(kin_queue_count(rig->queue), count);
}

void queue_rig_expect_synced(queue_rig *rig, const char *operations,
                             bool is_synced) {
  queue_rig_do(rig, operations);
  if (kin_queue_has_synced(rig->queue) != is_synced) {
    fail_msg("%s: %d", operations, !is_synced);
  }
  assert_int_equal(rig->told, is_synced);
  queue_rig_close(rig);
}

void queue_rig_requeue(queue_rig *rig, int result,
                       void (*during)(queue_rig *rig, kin_queue_item *item)) {
  rig->requeue = true;
  rig->result = result;
  rig->during = during;
  assert_int_equal(queue_rig_try(rig, "P"), result);
  rig->requeue = false;
  rig->result = 0;
}

void queue_rig_expect_order(queue_rig *rig, const char *second) {
  enum { COUNT = 500 };
  char text[64];
  for (unsigned i = 0; i < COUNT; i++) {
    snprintf(text, sizeof text, "A:a%u@%u A:%s%u@%u", i, i + 1, second, i,
             i + 1);
    queue_rig_do(rig, text);
  }
  assert_int_equal(kin_queue_count(rig->queue), 2 * COUNT);
  for (unsigned i = 0; i < COUNT; i++) {
    snprintf(text, sizeof text, "A:a%u@%u", i, i + 1);
    queue_rig_expect(rig, text);
    snprintf(text, sizeof text, "A:%s%u@%u", second, i, i + 1);
    queue_rig_expect(rig, text);
  }
  queue_rig_expect_nothing(rig, KIN_EAGAIN);
  queue_rig_close(rig);
}
