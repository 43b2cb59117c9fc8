/* SPDX-License-Identifier: MIT */
#include "informer/response.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"

/* A decoder callback that returns this ends the body on purpose: an ERROR event
 * came. Internal; never leaves this file. */
#define STOP_READING (-6000)

/* Items of a list of a built-in type lack kind and apiVersion, which the next
 * event of the object brings: `"kind":"Pod","apiVersion":"v1",`. */
#define KIND_BYTES 32u

/* "list of pods in ns", for messages. */
static void describe(const kin__scope *scope, char *buffer, size_t size) {
  const kin__resource *resource = &scope->informer->settings.resource;
  bool is_watch = scope->request == KIN__REQUEST_WATCH;
  bool has_namespace = scope->namespace_[0] != '\0';
  snprintf(buffer, size, "%s of %s%s%s%s%s", is_watch ? "watch" : "list",
           resource->plural, resource->group[0] != '\0' ? "." : "",
           resource->group, has_namespace ? " in " : "",
           has_namespace ? scope->namespace_ : "");
}

/* --- The sink -------------------------------------------------------------- */

/* "namespace/name" or "name"; empty if it does not fit, which no valid name
 * does. */
static kin_str make_key(char *buffer, size_t size,
                        const kin__object_parts *identity) {
  kin_str namespace_ = identity->namespace_;
  kin_str name = identity->name;
  if (namespace_.length + 1 + name.length > size) {
    return kin__str(NULL, 0);
  }
  size_t at = 0;
  if (namespace_.length > 0) {
    memcpy(buffer, namespace_.data, namespace_.length);
    buffer[namespace_.length] = '/';
    at = namespace_.length + 1;
  }
  memcpy(buffer + at, name.data, name.length);
  return kin__str(buffer, at + name.length);
}

/* Is this object cached as it is? What is still in the queue comes first, so a
 * key with changes there is not known. */
static bool sink_known(void *ctx, const kin__object_parts *identity) {
  kin__scope *scope = ctx;
  kin_informer *informer = scope->informer;
  char buffer[1024];
  kin_str key = make_key(buffer, sizeof buffer, identity);
  if (key.length == 0 || identity->uid.length == 0 ||
      identity->version.length == 0) {
    return false;
  }
  const kin_object *cached = kin_store_get(&informer->store, key);
  if (cached == NULL ||
      !kin__str_equal(identity->uid, kin_object_uid(cached)) ||
      !kin__str_equal(identity->version, kin_object_resource_version(cached)) ||
      kin__delta_fifo_has(&informer->fifo, key)) {
    return false;
  }
  kin_object_unref(scope->known);
  scope->known = kin_object_ref(cached);
  return true;
}

static bool lacks_kind(const kin__object_parts *parts) {
  static const char start[] = "{\"metadata\"";
  size_t length = sizeof start - 1;
  return parts->body.length >= length &&
         memcmp(parts->body.data, start, length) == 0;
}

/* The object of a sink call, with a reference: the cached one if it is known. */
static int take_object(kin__scope *scope, kin__decoded_type type,
                       const kin__object_parts *parts, kin_object **object) {
  if (parts->body.data == NULL) {
    *object = scope->known;
    scope->known = NULL;
    return 0;
  }
  kin__object_parts sized = *parts;
  bool will_grow = type == KIN__DECODED_LISTED && lacks_kind(parts);
  sized.headroom = will_grow ? KIND_BYTES : 0;
  return kin__object_new(object, scope->informer->env->memory, &sized);
}

static kin__delta_type delta_of(kin__decoded_type type) {
  switch (type) {
  case KIN__DECODED_ADDED:
    return KIN__DELTA_ADDED;
  case KIN__DECODED_DELETED:
    return KIN__DELTA_DELETED;
  default:
    return KIN__DELTA_UPDATED;
  }
}

static int take_event(kin__scope *scope, kin__decoded_type type,
                      kin_object *object, bool is_known) {
  scope->counters.events++;
  scope->last_event_ms = scope->last_byte_ms;
  int err = 0;
  if (is_known) {
    scope->counters.unchanged++;
  } else {
    err = kin__scope_push(scope, delta_of(type), object, false);
  }
  if (err == 0) {
    kin__reflector_saw(&scope->reflector, type,
                       kin_object_resource_version(object));
  }
  kin_object_unref(object);
  return err;
}

static int sink_object(void *ctx, kin__decoded_type type,
                       const kin__object_parts *parts) {
  kin__scope *scope = ctx;
  if (scope->request == KIN__REQUEST_VERIFY) {
    return 0;
  }
  bool is_known = parts->body.data == NULL;
  kin_object *object;
  int err = take_object(scope, type, parts, &object);
  if (err != 0) {
    return err;
  }
  if (type == KIN__DECODED_LISTED) {
    return kin__stage_push(&scope->stage, object);
  }
  return take_event(scope, type, object, is_known);
}

static int sink_bookmark(void *ctx, kin_str version, bool initial_events_end) {
  kin__scope *scope = ctx;
  (void)initial_events_end;
  scope->counters.bookmarks++;
  scope->last_bookmark_ms = scope->last_byte_ms;
  kin__reflector_saw(&scope->reflector, (kin__decoded_type)0, version);
  return 0;
}

static int sink_error(void *ctx, const kin__status *status) {
  kin__scope *scope = ctx;
  scope->error_event = *status;
  return STOP_READING;
}

/* --- The response ---------------------------------------------------------- */

static bool is_json(kin_str content_type) {
  static const char json[] = "application/json";
  size_t length = sizeof json - 1;
  if (content_type.length == 0) {
    return true; /* WS-02 */
  }
  if (content_type.length < length ||
      !kin__str_equal_nocase(kin__str(content_type.data, length),
                             kin__str(json, length))) {
    return false;
  }
  return content_type.length == length || content_type.data[length] == ';' ||
         content_type.data[length] == ' ';
}

static void give_up(kin__scope *scope, int code, const char *key) {
  kin__failure failure;
  char what[256];
  describe(scope, what, sizeof what);
  kin__failure_from_code(&failure, code, what, key);
  kin__scope_drop_request(scope);
  kin__scope_failed(scope, KIN__INPUT_FAILED, &failure);
}

static void on_head(void *ctx, const kin__response_head *head) {
  kin__scope *scope = ctx;
  scope->http_status = head->status;
  scope->retry_after_s = head->retry_after_s;
  scope->last_byte_ms = kin__env_now_ms(scope->informer->env);
  kin__buf_reset(&scope->error_body, 0);
  if (head->status != 200) {
    return;
  }
  if (!is_json(head->content_type) || !head->is_identity) {
    give_up(scope, KIN_ECONTENT, "");
    return;
  }
  if (scope->request == KIN__REQUEST_WATCH) {
    scope->counters.watches++;
  }
  kin__reflector_input input = {.type = KIN__INPUT_HEAD};
  kin__scope_step(scope, &input);
}

static void on_error_event(kin__scope *scope) {
  kin__failure failure;
  char what[256];
  describe(scope, what, sizeof what);
  kin__failure_from_status(&failure, &scope->error_event, -1, what);
  kin__scope_failed(scope, KIN__INPUT_ERROR_EVENT, &failure);
}

static void on_body(void *ctx, const char *bytes, size_t length) {
  kin__scope *scope = ctx;
  scope->last_byte_ms = kin__env_now_ms(scope->informer->env);
  scope->counters.received_bytes += length;
  if (scope->http_status != 200) {
    size_t room = KIN__MAX_ERROR_BODY - scope->error_body.length;
    /* Without memory the message stays short. */
    (void)kin__buf_append(&scope->error_body, bytes,
                          length < room ? length : room);
    return;
  }
  bool is_watch = scope->request == KIN__REQUEST_WATCH;
  int err = is_watch
                ? kin__watch_decoder_feed(scope->watch_decoder, bytes, length)
                : kin__list_decoder_feed(scope->list_decoder, bytes, length);
  if (err == STOP_READING) {
    on_error_event(scope);
  } else if (err != 0) {
    give_up(scope, err,
            is_watch ? kin__watch_decoder_key_in_hand(scope->watch_decoder)
                     : kin__list_decoder_key_in_hand(scope->list_decoder));
  }
}

static void on_error_response(kin__scope *scope, const char *what) {
  kin__status status;
  kin_str body = kin__str(scope->error_body.data, scope->error_body.length);
  if (!kin__status_parse(&status, scope->informer->env->allocator, body) ||
      !status.is_failure) {
    kin__status_from_response(&status, scope->http_status, body);
  }
  if (status.code == 0) {
    status.code = scope->http_status;
  }
  kin__failure failure;
  kin__failure_from_status(&failure, &status, scope->retry_after_s, what);
  kin__scope_failed(scope, KIN__INPUT_FAILED, &failure);
}

static void on_list_end(kin__scope *scope, const char *what) {
  kin__list_result result;
  int err = kin__list_decoder_end(scope->list_decoder, &result);
  if (err != 0) {
    kin__failure failure;
    kin__failure_from_code(&failure, err, what, "");
    kin__scope_failed(scope, KIN__INPUT_FAILED, &failure);
    return;
  }
  kin__reflector_input input = {.type = KIN__INPUT_PAGE,
                                .version = result.version,
                                .token = result.token};
  kin__scope_step(scope, &input);
}

/* A body that ends inside a frame was cut off; the frame is sent again by the
 * next watch (WS-05). */
static void on_watch_end(kin__scope *scope, const char *what) {
  if (kin__watch_decoder_is_between(scope->watch_decoder)) {
    kin__reflector_input input = {.type = KIN__INPUT_WATCH_ENDED};
    kin__scope_step(scope, &input);
    return;
  }
  kin__failure failure;
  kin__failure_from_code(&failure, KIN_EEOF, what, "");
  kin__scope_failed(scope, KIN__INPUT_FAILED, &failure);
}

static void on_end(void *ctx, const kin__exchange_error *error) {
  kin__scope *scope = ctx;
  bool is_watch = scope->request == KIN__REQUEST_WATCH;
  char what[256];
  describe(scope, what, sizeof what);
  kin__scope_request_ended(scope);
  if (error != NULL) {
    kin__failure failure;
    kin__failure_from_exchange(&failure, error);
    kin__scope_failed(scope, KIN__INPUT_FAILED, &failure);
  } else if (scope->http_status != 200) {
    on_error_response(scope, what);
  } else if (is_watch) {
    on_watch_end(scope, what);
  } else {
    on_list_end(scope, what);
  }
}

const kin__exchange_callbacks kin__response_callbacks = {
    .on_head = on_head, .on_body = on_body, .on_end = on_end};

int kin__response_prepare(kin__scope *scope, bool is_watch) {
  kin_informer *informer = scope->informer;
  kin__decode_sink sink = {.ctx = scope,
                           .known = sink_known,
                           .object = sink_object,
                           .bookmark = sink_bookmark,
                           .error = sink_error};
  if (is_watch && scope->watch_decoder != NULL) {
    kin__watch_decoder_reset(scope->watch_decoder);
    return 0;
  }
  if (!is_watch && scope->list_decoder != NULL) {
    kin__list_decoder_reset(scope->list_decoder);
    return 0;
  }
  const kin_allocator *allocator = informer->env->allocator;
  return is_watch ? kin__watch_decoder_new(&scope->watch_decoder, allocator,
                                           &informer->limits,
                                           informer->settings.projection, &sink)
                  : kin__list_decoder_new(&scope->list_decoder, allocator,
                                          &informer->limits,
                                          informer->settings.projection, &sink);
}
