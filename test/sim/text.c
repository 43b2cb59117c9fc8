/* SPDX-License-Identifier: MIT */
#include "sim/text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bits of api_write.style. */
#define STYLE_INDENTED 1u
#define STYLE_SPEC_FIRST 2u
#define STYLE_ESCAPES 4u
#define STYLE_STATUS 8u
#define STYLE_LABELS_LAST 16u

void sim_text_free(sim_text *text) {
  free(text->data);
  *text = (sim_text){0};
}

static void reserve(sim_text *text, size_t room) {
  if (text->capacity - text->length >= room) {
    return;
  }
  size_t capacity = text->capacity < 512 ? 512 : text->capacity;
  while (capacity - text->length < room) {
    capacity *= 2;
  }
  text->data = realloc(text->data, capacity);
  if (text->data == NULL) {
    abort();
  }
  text->capacity = capacity;
}

void sim_text_add(sim_text *text, const char *format, ...) {
  for (;;) {
    size_t room = text->capacity - text->length;
    va_list args;
    va_start(args, format);
    int length =
        vsnprintf(text->data != NULL ? text->data + text->length : NULL, room,
                  format, args);
    va_end(args);
    if ((size_t)length < room) {
      text->length += (size_t)length;
      return;
    }
    reserve(text, (size_t)length + 1);
  }
}

static void add_padding(sim_text *text, size_t length) {
  static const char filling[] = "}{][,:x ";
  reserve(text, length + 1);
  for (size_t i = 0; i < length; i++) {
    text->data[text->length++] = filling[i % (sizeof filling - 1)];
  }
  text->data[text->length] = '\0';
}

static const char *space_of(const api_write *write) {
  return (write->style & STYLE_INDENTED) != 0 ? "\n   " : "";
}

static void add_labels(sim_text *text, const api_write *write, int number) {
  const char *a = (write->style & STYLE_ESCAPES) != 0 ? "\\u0061" : "a";
  sim_text_add(text, ",%s\"labels\":{\"app\":\"%s%d\",\"w\":\"%d\"}",
               space_of(write), a, write->app, number);
}

static void add_metadata(sim_text *text, const api_write *write, int number,
                         uint64_t revision, sim_form form) {
  char key[16];
  char uid[24];
  api_key(write->object, key);
  api_uid(write, uid);
  int namespace_ = api_namespace_of(write->object);
  const char *name = namespace_ == API_NONE ? key : key + 2;
  const char *space = space_of(write);
  sim_text_add(text, "\"metadata\":{%s\"name\":\"%s\"", space, name);
  if (namespace_ != API_NONE) {
    sim_text_add(text, ",\"namespace\":\"%s\"", api_namespace(namespace_));
  }
  bool is_last = (write->style & STYLE_LABELS_LAST) != 0;
  if (!is_last) {
    add_labels(text, write, number);
  }
  if (form == SIM_FORM_FULL || form == SIM_FORM_METADATA) {
    sim_text_add(text,
                 ",\"managedFields\":[{\"manager\":\"x\\\"]\",%s"
                 "\"fieldsV1\":{\"f:metadata\":{}}}]",
                 space);
  }
  sim_text_add(text, ",%s\"uid\":\"%s\",\"resourceVersion\":\"%" PRIu64 "\"",
               space, uid, revision);
  if (form != SIM_FORM_NODE && form != SIM_FORM_KEY) {
    sim_text_add(text, ",\"annotations\":{\"note\":\"\\u00e9 \\\"}\\\\\"}");
  }
  if (is_last) {
    add_labels(text, write, number);
  }
  sim_text_add(text, "}");
}

static void add_spec(sim_text *text, const api_write *write, sim_form form) {
  const char *n = (write->style & STYLE_ESCAPES) != 0 ? "\\u006e" : "n";
  const char *space = space_of(write);
  sim_text_add(text, "\"spec\":{%s\"nodeName\":\"%s%d\"", space, n,
               write->node);
  if (form != SIM_FORM_NODE) {
    sim_text_add(text, ",%s\"containers\":[", space);
    bool is_first = true;
    for (unsigned i = 0; i < API_IMAGES; i++) {
      if ((write->images & (1u << i)) != 0) {
        sim_text_add(text, "%s{\"image\":\"i%u\"}", is_first ? "" : ", ", i);
        is_first = false;
      }
    }
    sim_text_add(text, "]");
  }
  if (form == SIM_FORM_FULL || form == SIM_FORM_KEPT) {
    sim_text_add(text, ",\"text\":\"");
    add_padding(text, write->padding);
    sim_text_add(text, "\"");
  }
  sim_text_add(text, "}");
}

void sim_text_object(sim_text *text, const api_write *write, int number,
                     uint64_t revision, sim_form form, bool has_kind) {
  bool is_metadata =
      form == SIM_FORM_METADATA || form == SIM_FORM_METADATA_KEPT;
  const char *kind = is_metadata                 ? "PartialObjectMetadata"
                     : write->object < API_NODES ? "Node"
                                                 : "Pod";
  bool has_spec = !is_metadata && form != SIM_FORM_KEY;
  bool is_spec_first = (write->style & STYLE_SPEC_FIRST) != 0 && has_spec;
  sim_text_add(text, "{%s", space_of(write));
  if (has_kind) {
    sim_text_add(text, "\"kind\":\"%s\",\"apiVersion\":\"%s\",", kind,
                 is_metadata ? "meta.k8s.io/v1" : "v1");
  }
  if (is_spec_first) {
    add_spec(text, write, form);
    sim_text_add(text, ",");
  }
  add_metadata(text, write, number, revision, form);
  if (has_spec && !is_spec_first) {
    sim_text_add(text, ",");
    add_spec(text, write, form);
  }
  bool has_status = (write->style & STYLE_STATUS) != 0;
  if (has_status && has_spec && form != SIM_FORM_NODE) {
    sim_text_add(text, ",%s\"status\":{\"phase\":null,\"n\":-1.5e3}",
                 space_of(write));
  }
  sim_text_add(text, "%s}", space_of(write));
}

void sim_text_event(sim_text *text, const char *type, const api_write *write,
                    int number, uint64_t revision, bool is_metadata) {
  bool is_type_last = (write->style & 32u) != 0;
  sim_text_add(text, "{");
  if (!is_type_last) {
    sim_text_add(text, "\"type\":\"%s\",", type);
  }
  sim_text_add(text, "\"object\":");
  sim_text_object(text, write, number, revision,
                  is_metadata ? SIM_FORM_METADATA : SIM_FORM_FULL, true);
  if (is_type_last) {
    sim_text_add(text, ",\"type\":\"%s\"", type);
  }
  sim_text_add(text, "}\n");
}

void sim_text_bookmark(sim_text *text, uint64_t revision, bool is_initial_end) {
  sim_text_add(text,
               "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"Pod\","
               "\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":"
               "\"%" PRIu64 "\"%s},\"spec\":{\"containers\":null}}}\n",
               revision,
               is_initial_end
                   ? ",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}"
                   : "");
}

void sim_text_status(sim_text *text, int code, const char *reason,
                     const char *message, const char *more) {
  sim_text_add(text,
               "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},"
               "\"status\":\"Failure\",\"message\":\"%s\",\"reason\":\"%s\",%s"
               "\"code\":%d}",
               message, reason, more, code);
}
