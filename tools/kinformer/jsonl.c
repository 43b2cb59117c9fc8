/* SPDX-License-Identifier: MIT */
#include "printer.h"

#include <string.h>

#include "json.h"

/* JSON lines for programs: the members and their order are a contract, see
 * README.md. */

static json_writer begin_line(printer *p, const char *event) {
  json_writer w = {.out = output_text(p->output)};
  json_open(&w, '{');
  json_member_z(&w, "event", event);
  return w;
}

static void end_line(json_writer *w) {
  json_close(w, '}');
  text_append_char(w->out, '\n');
}

/* Returns whether the object is JSON. */
static bool member_object(json_writer *w, const kin_object *object) {
  kin_object_view *view;
  if (kin_object_view_open(&view, object) != 0) {
    w->out->failed = true;
    return true;
  }
  json_key(w, (kin_str){"object", strlen("object")});
  bool is_json = json_raw(w, kin_object_view_json(view));
  kin_object_view_close(view);
  return is_json;
}

/* Scope and message come beside the event: a string of the server's may have a
 * NUL inside. */
static void print_error_line(printer *p, const kin_error_event *event,
                             kin_str scope, kin_str message) {
  json_writer w = begin_line(p, "error");
  if (printer_has_scopes(p)) {
    json_member_string(&w, "namespace", scope);
  }
  json_member_z(&w, "class", kin_error_class_name(event->error_class));
  json_member_u64(&w, "status",
                  event->status > 0 ? (uint64_t)event->status : 0);
  json_member_z(&w, "reason", event->reason);
  json_member_string(&w, "message", message);
  json_member_u64(&w, "retryInMs", event->retry_in_ms);
  end_line(&w);
}

static void print_error(printer *p, const kin_error_event *event) {
  print_error_line(p, event, kin_str_of(event->namespace_),
                   kin_str_of(event->message));
}

static void print_bad_object(printer *p, const kin_object *object) {
  const kin_error_event error = {
      .code = KIN_EJSON, .error_class = KIN_CLASS_DECODE, .reason = ""};
  kin_str key = kin_object_key(object);
  text message = {0};
  text_append(&message, key.data, key.length);
  text_append_string(&message, ": the object is no JSON");
  if (message.failed) {
    output_text(p->output)->failed = true;
  }
  print_error_line(p, &error, kin_object_namespace(object),
                   (kin_str){message.data, message.length});
  text_finish(&message);
}

static bool print_change(printer *p, const kin_event *event) {
  const kin_object *object = event->object;
  json_writer w = begin_line(p, event->type == KIN_EVENT_ADD      ? "add"
                                : event->type == KIN_EVENT_UPDATE ? "update"
                                                                  : "delete");
  json_member_bool(&w, "initial", event->is_initial);
  json_member_string(&w, "key", kin_object_key(object));
  json_member_string(&w, "uid", kin_object_uid(object));
  json_member_string(&w, "resourceVersion",
                     kin_object_resource_version(object));
  if (event->type == KIN_EVENT_UPDATE) {
    json_member_string(&w, "oldResourceVersion",
                       kin_object_resource_version(event->old_object));
    if (event->is_resync) {
      json_member_bool(&w, "resync", true);
    }
  } else if (event->type == KIN_EVENT_DELETE) {
    json_member_z(&w, "reason", kin_delete_reason_name(event->reason));
  }
  bool is_json = !p->options->show_object || member_object(&w, object);
  end_line(&w);
  if (!is_json) {
    print_bad_object(p, object);
  }
  return is_json;
}

/* Each scope has a version of its own. */
static void member_versions(json_writer *w, const printer *p) {
  json_key(w, (kin_str){"resourceVersions", strlen("resourceVersions")});
  json_open(w, '{');
  for (size_t i = 0; i < p->options->namespace_count; i++) {
    const char *name = p->options->namespaces[i];
    kin_status status = KIN_STATUS_INIT;
    kin_informer_get_status(p->informer, name, &status);
    json_member_z(w, name, status.resource_version);
  }
  json_close(w, '}');
}

static void print_synced(printer *p, const kin_event *event) {
  json_writer w = begin_line(p, "synced");
  if (printer_has_scopes(p)) {
    member_versions(&w, p);
  } else {
    json_member_string(&w, "resourceVersion", event->resource_version);
  }
  json_member_u64(&w, "objects", event->objects);
  end_line(&w);
}

static void print_relisted(printer *p, const kin_event *event) {
  json_writer w = begin_line(p, "relisted");
  if (printer_has_scopes(p)) {
    json_member_string(&w, "namespace", event->namespace_);
  }
  json_member_string(&w, "resourceVersion", event->resource_version);
  json_member_u64(&w, "objects", event->objects);
  end_line(&w);
}

static void print_index(printer *p, const kin_str *keys, size_t count) {
  json_writer w = begin_line(p, "index");
  json_member_z(&w, "path", p->options->index_pointer);
  json_member_z(&w, "value", p->options->index_value);
  json_key(&w, (kin_str){"keys", strlen("keys")});
  json_open(&w, '[');
  for (size_t i = 0; i < count; i++) {
    json_string(&w, keys[i]);
  }
  json_close(&w, ']');
  end_line(&w);
}

const printer_format jsonl_format = {
    .change = print_change,
    .synced = print_synced,
    .relisted = print_relisted,
    .error = print_error,
    .index = print_index,
};
