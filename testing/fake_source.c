/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <inttypes.h>

#include <kin/error.h>
#include <kin/object_builder.h>

#include "source_state.h"

/* The content of a fake source and its changes. */

#define MAX_SNAPSHOTS 64u

/* --- Memory --------------------------------------------------------------- */

static void *libc_malloc(void *ctx, size_t size) {
  (void)ctx;
  return malloc(size);
}

static void *libc_realloc(void *ctx, void *ptr, size_t old_size, size_t size) {
  (void)ctx;
  (void)old_size;
  return realloc(ptr, size);
}

static void libc_free(void *ctx, void *ptr) {
  (void)ctx;
  free(ptr);
}

void *kin__fake_allocate(const kin_allocator *allocator, size_t size) {
  void *memory = allocator->malloc(allocator->ctx, size);
  return memory != NULL ? memset(memory, 0, size) : NULL;
}

void kin__fake_release(const kin_allocator *allocator, void *memory) {
  if (memory != NULL) {
    allocator->free(allocator->ctx, memory);
  }
}

void kin__fake_wake(const kin_fake_source *source) {
  if (source->wake != NULL) {
    source->wake(source->data);
  }
}

/* --- Snapshots ------------------------------------------------------------ */

void kin__fake_drop_snapshot(kin_fake_source *source,
                             kin__fake_snapshot **place) {
  kin__fake_snapshot *gone = *place;
  *place = gone->next;
  kin_object_list_free(gone->list);
  kin__fake_release(&source->allocator, gone);
}

static void drop_snapshots(kin_fake_source *source, size_t kept) {
  kin__fake_snapshot **place = &source->snapshots;
  for (; *place != NULL && kept > 0; kept--) {
    place = &(*place)->next;
  }
  while (*place != NULL) {
    kin__fake_drop_snapshot(source, place);
  }
}

kin__fake_snapshot **kin__fake_find_snapshot(kin_fake_source *source,
                                             uint64_t id) {
  kin__fake_snapshot **place = &source->snapshots;
  while (*place != NULL && (*place)->id != id) {
    place = &(*place)->next;
  }
  return *place != NULL ? place : NULL;
}

int kin__fake_take_snapshot(kin_fake_source *source, const char *namespace_) {
  kin__fake_snapshot *made =
      kin__fake_allocate(&source->allocator, sizeof *made);
  if (made == NULL) {
    return KIN_ENOMEM;
  }
  bool is_all = namespace_[0] == '\0';
  kin_str value = {namespace_, strlen(namespace_)};
  int err = kin_store_list_by_index(source->items, is_all ? "all" : "namespace",
                                    value, &made->list);
  if (err != 0) {
    kin__fake_release(&source->allocator, made);
    return err;
  }
  made->id = ++source->snapshot_ids;
  made->version = source->version;
  made->next = source->snapshots;
  source->snapshots = made;
  drop_snapshots(source, MAX_SNAPSHOTS);
  return 0;
}

/* --- Changes -------------------------------------------------------------- */

static int make_room(kin_fake_source *source) {
  if (source->change_count < source->change_capacity) {
    return 0;
  }
  size_t capacity =
      source->change_capacity > 0 ? 2 * source->change_capacity : 16;
  const kin_allocator *allocator = &source->allocator;
  kin__fake_change *grown = allocator->realloc(
      allocator->ctx, source->changes, source->change_capacity * sizeof *grown,
      capacity * sizeof *grown);
  if (grown == NULL) {
    return KIN_ENOMEM;
  }
  source->changes = grown;
  source->change_capacity = capacity;
  return 0;
}

static int stamp(const kin_fake_source *source, const kin_object *object,
                 kin_object **out) {
  char version[24];
  snprintf(version, sizeof version, "%" PRIu64, source->version + 1);
  kin_object_builder *builder;
  int err = kin_object_builder_new(&builder, &source->allocator, object);
  if (err != 0) {
    return err;
  }
  (void)kin_object_builder_set_string(builder, "/metadata/resourceVersion",
                                      version);
  return kin_object_builder_finish(builder, out);
}

static bool is_change(kin_watch_event_type type) {
  return type == KIN_WATCH_ADDED || type == KIN_WATCH_MODIFIED ||
         type == KIN_WATCH_DELETED;
}

int kin_fake_source_change(kin_fake_source *source, kin_watch_event_type type,
                           const kin_object *object, bool is_dropped) {
  if (source == NULL || object == NULL || !is_change(type)) {
    return KIN_EINVAL;
  }
  kin_object *stamped;
  int err = make_room(source);
  if (err == 0) {
    err = stamp(source, object, &stamped);
  }
  if (err != 0) {
    return err;
  }
  if (type != KIN_WATCH_DELETED) {
    err = kin_store_put(source->items, stamped);
  } else {
    err = kin_store_delete(source->items, kin_object_key(stamped));
    err = err == KIN_ENOENT ? 0 : err;
  }
  if (err != 0) {
    kin_object_unref(stamped);
    return err;
  }
  source->version++;
  source->changes[source->change_count++] = (kin__fake_change){
      .type = type, .object = stamped, .is_dropped = is_dropped};
  kin__fake_wake(source);
  return 0;
}

int kin_fake_source_add(kin_fake_source *source, const kin_object *object) {
  return kin_fake_source_change(source, KIN_WATCH_ADDED, object, false);
}

int kin_fake_source_modify(kin_fake_source *source, const kin_object *object) {
  return kin_fake_source_change(source, KIN_WATCH_MODIFIED, object, false);
}

int kin_fake_source_delete(kin_fake_source *source, const kin_object *object) {
  return kin_fake_source_change(source, KIN_WATCH_DELETED, object, false);
}

void kin_fake_source_bookmark(kin_fake_source *source) {
  if (source == NULL) {
    return;
  }
  for (kin__fake_answer *a = source->first; a != NULL; a = a->next) {
    a->owes_bookmark = a->is_watch;
  }
  kin__fake_wake(source);
}

void kin_fake_source_end_watches(kin_fake_source *source) {
  if (source == NULL) {
    return;
  }
  for (kin__fake_answer *a = source->first; a != NULL; a = a->next) {
    a->is_ending = a->is_watch;
  }
  kin__fake_wake(source);
}

static void forget_changes(kin_fake_source *source) {
  for (size_t i = 0; i < source->change_count; i++) {
    kin_object_unref(source->changes[i].object);
  }
  source->change_count = 0;
  source->first_version = source->version;
}

void kin_fake_source_reset_watch(kin_fake_source *source) {
  if (source == NULL) {
    return;
  }
  for (kin__fake_answer *a = source->first; a != NULL; a = a->next) {
    if (a->is_watch && a->is_granted) {
      a->is_reset = a->is_ending = true;
    }
  }
  forget_changes(source);
  drop_snapshots(source, 0);
  kin__fake_wake(source);
}

/* The rule for the library's own structs: a program may be newer, as long as it
 * sets no field that is not known here. */
static int check_size(const void *options, size_t known) {
  size_t size;
  memcpy(&size, options, sizeof size);
  if (size < known) {
    return KIN_EINVAL;
  }
  const unsigned char *bytes = options;
  for (size_t i = known; i < size; i++) {
    if (bytes[i] != 0) {
      return KIN_ENOTSUP;
    }
  }
  return 0;
}

int kin_fake_source_fail_lists(kin_fake_source *source,
                               const kin_feed_error *error) {
  if (source == NULL) {
    return KIN_EINVAL;
  }
  int err = error != NULL ? check_size(error, sizeof *error) : 0;
  if (err != 0) {
    return err;
  }
  source->is_failing = error != NULL;
  if (error != NULL) {
    source->list_error = *error;
    source->list_error.size = sizeof source->list_error; /* all that is here */
    snprintf(source->reason, sizeof source->reason, "%s",
             error->reason != NULL ? error->reason : "");
    snprintf(source->message, sizeof source->message, "%s",
             error->message != NULL ? error->message : "");
    source->list_error.reason = source->reason;
    source->list_error.message = source->message;
  }
  return 0;
}

/* --- Life ----------------------------------------------------------------- */

static int emit_nothing(const kin_object *object, kin_index_values *values,
                        void *data) {
  (void)object;
  (void)data;
  return kin_index_emit(values, (kin_str){"", 0});
}

static int make_items(kin_fake_source *source) {
  kin_store_options options = KIN_STORE_OPTIONS_INIT;
  options.allocator = &source->allocator;
  kin_index_options all = KIN_INDEX_OPTIONS_INIT;
  all.name = "all";
  all.cb = emit_nothing;
  kin_index_options namespace_ = KIN_INDEX_OPTIONS_INIT;
  namespace_.name = "namespace";
  namespace_.pointer = "/metadata/namespace";
  int err = kin_store_new(&source->items, &options);
  if (err == 0) {
    err = kin_store_add_index(source->items, &all);
  }
  return err == 0 ? kin_store_add_index(source->items, &namespace_) : err;
}

int kin_fake_source_new(kin_fake_source **out,
                        const kin_fake_source_options *options) {
  if (out == NULL) {
    return KIN_EINVAL;
  }
  static const kin_fake_source_options defaults = KIN_FAKE_SOURCE_OPTIONS_INIT;
  static const kin_allocator libc = {NULL, libc_malloc, libc_realloc,
                                     libc_free};
  *out = NULL;
  options = options != NULL ? options : &defaults;
  int err = check_size(options, sizeof *options);
  if (err != 0) {
    return err;
  }
  const kin_allocator *allocator =
      options->allocator != NULL ? options->allocator : &libc;
  kin_fake_source *source = kin__fake_allocate(allocator, sizeof *source);
  if (source == NULL) {
    return KIN_ENOMEM;
  }
  source->allocator = *allocator;
  source->wake = options->wake;
  source->data = options->data;
  source->watch_list = options->watch_list;
  err = make_items(source);
  if (err != 0) {
    kin_fake_source_free(source);
    return err;
  }
  *out = source;
  return 0;
}

void kin_fake_source_free(kin_fake_source *source) {
  if (source == NULL) {
    return;
  }
  kin_allocator allocator = source->allocator;
  while (source->first != NULL) {
    kin__fake_forget(source->first);
  }
  forget_changes(source);
  drop_snapshots(source, 0);
  kin_store_free(source->items);
  kin__fake_release(&allocator, source->changes);
  kin__fake_release(&allocator, source);
}

/* --- Use ------------------------------------------------------------------ */

const kin_object *kin_fake_source_get(const kin_fake_source *source,
                                      const char *key) {
  if (source == NULL || key == NULL) {
    return NULL;
  }
  return kin_store_get_key(source->items, key);
}

size_t kin_fake_source_count(const kin_fake_source *source) {
  return source != NULL ? kin_store_count(source->items) : 0;
}

uint64_t kin_fake_source_version(const kin_fake_source *source) {
  return source != NULL ? source->version : 0;
}

size_t kin_fake_source_lists(const kin_fake_source *source) {
  return source != NULL ? source->lists : 0;
}

size_t kin_fake_source_watches(const kin_fake_source *source) {
  return source != NULL ? source->watches : 0;
}

size_t kin_fake_source_streams(const kin_fake_source *source) {
  return source != NULL ? source->streams : 0;
}

size_t kin_fake_source_open_watches(const kin_fake_source *source) {
  if (source == NULL) {
    return 0;
  }
  size_t count = 0;
  for (const kin__fake_answer *a = source->first; a != NULL; a = a->next) {
    count += a->is_watch;
  }
  return count;
}
