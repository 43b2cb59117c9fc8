/* SPDX-License-Identifier: MIT */
#include "support/decoded.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <kin/error.h>

#include "base/alloc.h"
#include "base/str.h"
#include "object/object.h"

#define LOG(d, ...) assert_int_equal(kin__buf_printf(&(d)->log, __VA_ARGS__), 0)

static void log_identity(decoded *d, const kin__object_parts *parts) {
  LOG(d, "[" KIN_STR_FORMAT "/" KIN_STR_FORMAT "] ",
      KIN_STR_ARG(parts->namespace_), KIN_STR_ARG(parts->name));
  LOG(d, "uid " KIN_STR_FORMAT " version " KIN_STR_FORMAT " ",
      KIN_STR_ARG(parts->uid), KIN_STR_ARG(parts->version));
}

static bool on_known(void *ctx, const kin__object_parts *identity) {
  decoded *d = ctx;
  assert_null(identity->body.data);
  assert_int_equal(identity->labels.length, 0);
  assert_int_equal(identity->dropped_count, 0);
  d->questions++;
  bool is_known = false;
  for (size_t i = 0; i < d->known_count; i++) {
    is_known |= kin__str_equal(identity->name, kin__cstr(d->known[i]));
  }
  LOG(d, "known? ");
  log_identity(d, identity);
  LOG(d, "%s\n", is_known ? "yes" : "no");
  return is_known;
}

/* Whether this call is the one that is told to fail. */
static bool fails(decoded *d) {
  return ++d->calls == d->fail_at;
}

static int keep_object(decoded *d, const kin__object_parts *parts) {
  kin_object *object;
  int err = kin__object_new(&object, d->memory, parts);
  if (err != 0) {
    return err;
  }
  d->objects = realloc(d->objects, (d->count + 1) * sizeof *d->objects);
  assert_non_null(d->objects);
  d->objects[d->count++] = object;
  kin_str json = kin__object_body(object);
  LOG(d, KIN_STR_FORMAT "\n", KIN_STR_ARG(json));
  return 0;
}

static int on_object(void *ctx, kin__decoded_type type,
                     const kin__object_parts *parts) {
  static const char *const names[] = {"?", "listed", "added", "modified",
                                      "deleted"};
  decoded *d = ctx;
  LOG(d, "%s ", names[type]);
  log_identity(d, parts);
  if (fails(d)) {
    return d->fail_with;
  }
  if (parts->body.length == 0) {
    assert_null(parts->body.data);
    assert_int_equal(parts->labels.length, 0);
    assert_int_equal(parts->dropped_count, 0);
    LOG(d, "known\n");
    return 0;
  }
  if (parts->is_key_only) {
    LOG(d, "key-only of %u ", parts->received);
  }
  LOG(d, "labels " KIN_STR_FORMAT " ", KIN_STR_ARG(parts->labels));
  return keep_object(d, parts);
}

static int on_bookmark(void *ctx, kin_str version, bool initial_events_end) {
  decoded *d = ctx;
  LOG(d, "bookmark " KIN_STR_FORMAT "%s\n", KIN_STR_ARG(version),
      initial_events_end ? " end of initial events" : "");
  return fails(d) ? d->fail_with : 0;
}

static int on_error(void *ctx, const kin__status *status) {
  decoded *d = ctx;
  LOG(d, "error %d %s: %s%s%s\n", status->code, status->reason, status->message,
      status->is_failure ? " failure" : "",
      status->is_expired ? " expired" : "");
  return fails(d) ? d->fail_with : 0;
}

static int on_bad(void *ctx, int code, const kin__object_parts *identity) {
  decoded *d = ctx;
  if (!d->skips_bad) {
    return code;
  }
  LOG(d, "bad %s ", kin_err_name(code));
  log_identity(d, identity);
  LOG(d, "\n");
  return fails(d) ? d->fail_with : 0;
}

void decoded_init(decoded *d, const kin_allocator *allocator) {
  *d = (decoded){
      .sink = {d, on_known, on_object, on_bookmark, on_error, on_bad},
      .memory = kin__memory_new(allocator),
  };
  kin__buf_init(&d->log, kin__default_allocator(), (size_t)1 << 30);
}

void decoded_finish(decoded *d) {
  for (size_t i = 0; i < d->count; i++) {
    kin_object_unref(d->objects[i]);
  }
  free(d->objects);
  kin__memory_unref(d->memory);
  kin__buf_finish(&d->log);
}

const char *decoded_log(decoded *d) {
  assert_int_equal(kin__buf_append(&d->log, "", 1), 0);
  d->log.length--;
  return d->log.data;
}

void decoded_assert_same(decoded *d, decoded *expected, const char *what) {
  if (d->log.length != expected->log.length ||
      (d->log.length > 0 &&
       memcmp(d->log.data, expected->log.data, d->log.length) != 0)) {
    fail_msg("%s:\n%s\nexpected:\n%s", what, decoded_log(d),
             decoded_log(expected));
  }
}

char *decoded_exact(const char *bytes, size_t length) {
  char *copy = malloc(length > 0 ? length : 1);
  assert_non_null(copy);
  if (length > 0) {
    memcpy(copy, bytes, length);
  }
  return copy;
}
