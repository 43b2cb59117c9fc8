/* SPDX-License-Identifier: MIT */
#include "support/change_log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <kin/error.h>

#include "base/str.h"

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static void
note(change_log *log, const char *format, ...) {
  if (log->is_terse) {
    return;
  }
  size_t length = strlen(log->text);
  va_list arguments;
  va_start(arguments, format);
  const char *blank = length > 0 ? " " : "";
  char word[256];
  vsnprintf(word, sizeof word, format, arguments);
  va_end(arguments);
  assert_true(length + strlen(word) + 2 < sizeof log->text);
  snprintf(log->text + length, sizeof log->text - length, "%s%s", blank, word);
}

static void end_call(change_log *log) {
  log->calls++;
  if (log->during != NULL) {
    log->during(log);
  }
}

static bool is_version(const kin_object *object, const kin_object *other) {
  return kin__str_equal(kin_object_resource_version(object),
                        kin_object_resource_version(other));
}

/* The store has it, or what its transform made of it. */
static void assert_stored(const change_log *log, const kin_object *object) {
  if (log->store == NULL || log->is_ahead) {
    return;
  }
  const kin_object *stored = kin_store_get(log->store, kin_object_key(object));
  assert_non_null(stored);
  assert_true(is_version(stored, object));
}

static void on_add(const kin_object *object, bool is_initial, void *data) {
  change_log *log = data;
  log->adds++;
  note(log, "%c:" KIN_STR_FORMAT "@" KIN_STR_FORMAT, is_initial ? 'I' : 'A',
       KIN_STR_ARG(kin_object_key(object)),
       KIN_STR_ARG(kin_object_resource_version(object)));
  assert_stored(log, object);
  assert_null(kin_store_get(log->told, kin_object_key(object)));
  assert_int_equal(kin_store_put(log->told, object), 0);
  end_call(log);
}

static void on_update(const kin_object *old_object, const kin_object *object,
                      void *data) {
  change_log *log = data;
  log->updates++;
  note(log, "U:" KIN_STR_FORMAT "@" KIN_STR_FORMAT ">" KIN_STR_FORMAT,
       KIN_STR_ARG(kin_object_key(object)),
       KIN_STR_ARG(kin_object_resource_version(old_object)),
       KIN_STR_ARG(kin_object_resource_version(object)));
  assert_stored(log, object);
  const kin_object *known = kin_store_get(log->told, kin_object_key(object));
  assert_non_null(known);
  assert_true(log->is_ahead || is_version(known, old_object));
  assert_int_equal(kin_store_put(log->told, object), 0);
  end_call(log);
}

static void on_delete(kin_str key, const kin_object *object, bool is_tombstone,
                      void *data) {
  change_log *log = data;
  log->deletes++;
  assert_true(object != NULL || is_tombstone);
  kin_str version =
      object != NULL ? kin_object_resource_version(object) : kin__cstr("-");
  note(log, "%c:" KIN_STR_FORMAT "@" KIN_STR_FORMAT, is_tombstone ? 'X' : 'D',
       KIN_STR_ARG(key), KIN_STR_ARG(version));
  if (log->store != NULL && !log->is_ahead) {
    assert_null(kin_store_get(log->store, key));
  }
  int err = kin_store_delete(log->told, key);
  assert_true(err == 0 || err == KIN_ENOENT);
  end_call(log);
}

void change_log_init(change_log *log, kin_store *store) {
  *log = (change_log){.handlers = {.size = sizeof log->handlers,
                                   .on_add = on_add,
                                   .on_update = on_update,
                                   .on_delete = on_delete,
                                   .data = log},
                      .store = store};
  assert_int_equal(kin_store_new(&log->told, NULL), 0);
}

void change_log_finish(change_log *log) {
  kin_store_free(log->told);
  log->told = NULL;
}

void change_log_expect(change_log *log, const char *text) {
  assert_string_equal(log->text, text);
  log->text[0] = '\0';
}

void change_log_assert_folds_to(const change_log *log, const kin_store *store) {
  assert_int_equal(kin_store_count(log->told), kin_store_count(store));
  kin_cursor cursor = {0};
  const kin_object *object;
  while ((object = kin_store_next(store, &cursor)) != NULL) {
    const kin_object *known = kin_store_get(log->told, kin_object_key(object));
    assert_non_null(known);
    assert_true(is_version(known, object));
  }
}
