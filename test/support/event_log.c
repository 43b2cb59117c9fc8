/* SPDX-License-Identifier: MIT */
#include "support/event_log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static void print(event_log *log, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void print(event_log *log, const char *format, ...) {
  va_list args;
  va_start(args, format);
  int n = vsnprintf(log->text + log->length, sizeof log->text - log->length,
                    format, args);
  va_end(args);
  if (n < 0 || (size_t)n >= sizeof log->text - log->length) {
    fprintf(stderr, "event_log: text is full\n");
    abort();
  }
  log->length += (size_t)n;
}

void event_log_clear(event_log *log) {
  log->text[0] = '\0';
  log->length = 0;
  log->count = 0;
}

static void print_object(event_log *log, char sign, const kin_object *object) {
  print(log, "%c" KIN_STR_FORMAT KIN_STR_FORMAT, sign,
        KIN_STR_ARG(kin_object_name(object)),
        KIN_STR_ARG(kin_object_resource_version(object)));
}

static void print_update(event_log *log, const kin_event *event) {
  print_object(log, '~', event->old_object);
  if (event->is_resync && event->object == event->old_object) {
    print(log, "=");
  } else {
    print(log, ">" KIN_STR_FORMAT "%s",
          KIN_STR_ARG(kin_object_resource_version(event->object)),
          event->is_resync ? "?resync" : "");
  }
}

void event_log_add(event_log *log, const kin_event *event) {
  print(log, "%s", log->count++ > 0 ? " " : "");
  switch (event->type) {
  case KIN_EVENT_ADD:
    print_object(log, '+', event->object);
    print(log, "%s", event->is_initial ? "!" : "");
    break;
  case KIN_EVENT_UPDATE:
    print_update(log, event);
    break;
  case KIN_EVENT_DELETE:
    print_object(log, '-', event->object);
    print(log, ":%s", kin_delete_reason_name(event->reason));
    break;
  case KIN_EVENT_SYNCED:
    print(log, "S:" KIN_STR_FORMAT "#%zu", KIN_STR_ARG(event->resource_version),
          event->objects);
    break;
  case KIN_EVENT_RELISTED:
    print(log, "R:" KIN_STR_FORMAT "@" KIN_STR_FORMAT "#%zu",
          KIN_STR_ARG(event->namespace_), KIN_STR_ARG(event->resource_version),
          event->objects);
    break;
  }
  if (event->type != KIN_EVENT_UPDATE) {
    print(log, "%s%s", event->old_object != NULL ? "?old" : "",
          event->is_resync ? "?resync" : "");
  }
}

void event_log_cb(struct kin_informer *informer, const kin_event *event,
                  void *data) {
  (void)informer;
  event_log_add(data, event);
}
