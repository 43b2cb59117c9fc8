/* SPDX-License-Identifier: MIT */
#include "printer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* A table for people. It is printed as it comes, so a column is as wide as its
 * widest cell so far. Whatever the server sent is made visible before it goes
 * to a terminal. */

enum {
  COLUMN_EVENT,
  COLUMN_NAMESPACE,
  COLUMN_NAME,
  COLUMN_VERSION,
  COLUMN_UID
};
enum { COLUMN_GAP = 2, WIDEST_COLUMN = 80, UID_SHOWN = 8 };

static const char *const titles[TABLE_COLUMNS] = {"EVENT", "NAMESPACE", "NAME",
                                                  "VERSION", "UID"};

/* Room from the start, so that most tables never shift. */
static const size_t first_widths[TABLE_COLUMNS] = {8, 12, 24, 8, UID_SHOWN};

#define RED "\033[31m"
#define GREEN "\033[32m"
#define YELLOW "\033[33m"
#define RESET "\033[0m"
#define OVERWRITE "\r\033[K"

static kin_str from_z(const char *s) {
  return (kin_str){s, strlen(s)};
}

/* Appends a cell of column `i`. */
static void append_cell(printer *p, size_t i, kin_str s, const char *color) {
  text *out = output_text(p->output);
  bool is_colored = p->has_color && color;
  if (is_colored) {
    text_append_string(out, color);
  }
  size_t width = text_append_visible(out, s);
  if (is_colored) {
    text_append_string(out, RESET);
  }
  if (i == TABLE_COLUMNS - 1) {
    text_append_char(out, '\n');
    return;
  }
  if (width > p->widths[i] && width <= WIDEST_COLUMN) {
    p->widths[i] = width;
  }
  size_t rest = p->widths[i] > width ? p->widths[i] - width : 0;
  text_append_spaces(out, rest + COLUMN_GAP);
}

static void append_row(printer *p, const kin_str cells[TABLE_COLUMNS],
                       const char *color) {
  for (size_t i = 0; i < TABLE_COLUMNS; i++) {
    append_cell(p, i, cells[i], i == COLUMN_EVENT ? color : NULL);
  }
}

/* Removes the progress display and, the first time, prints the header. */
static void begin_rows(printer *p) {
  if (p->has_progress) {
    text_append_string(output_text(p->output), OVERWRITE);
    p->has_progress = false;
  }
  if (!p->has_header) {
    p->has_header = true;
    memcpy(p->widths, first_widths, sizeof(p->widths));
    kin_str cells[TABLE_COLUMNS];
    for (size_t i = 0; i < TABLE_COLUMNS; i++) {
      cells[i] = from_z(titles[i]);
    }
    append_row(p, cells, NULL);
  }
}

static void print_object(printer *p, const char *event, const char *color,
                         const kin_object *object) {
  kin_str uid = kin_object_uid(object);
  if (uid.length > UID_SHOWN) {
    uid.length = UID_SHOWN;
  }
  kin_str cells[TABLE_COLUMNS] = {from_z(event), kin_object_namespace(object),
                                  kin_object_name(object),
                                  kin_object_resource_version(object), uid};
  begin_rows(p);
  append_row(p, cells, color);
}

static bool print_change(printer *p, const kin_event *event) {
  switch (event->type) {
  case KIN_EVENT_ADD:
    if (event->is_initial) {
      print_object(p, "initial", NULL, event->object);
    } else {
      print_object(p, "add", GREEN, event->object);
    }
    break;
  case KIN_EVENT_UPDATE:
    if (event->is_resync) {
      print_object(p, "resync", NULL, event->object);
    } else {
      print_object(p, "update", YELLOW, event->object);
    }
    break;
  default:
    print_object(p, "delete", RED, event->object);
    break;
  }
  return true;
}

/* Begins a line that is a sentence instead of cells. */
static text *begin_sentence(printer *p, const char *event, const char *color) {
  begin_rows(p);
  append_cell(p, COLUMN_EVENT, from_z(event), color);
  return output_text(p->output);
}

static void append_objects(text *out, size_t objects) {
  text_append_u64(out, objects);
  text_append_string(out, objects == 1 ? " object" : " objects");
}

static void print_synced(printer *p, const kin_event *event) {
  text *out = begin_sentence(p, "synced", NULL);
  append_objects(out, event->objects);
  if (printer_has_scopes(p)) {
    text_append_string(out, " in ");
    text_append_u64(out, p->options->namespace_count);
    text_append_string(out, " namespaces");
  } else {
    text_append_string(out, " at version ");
    text_append_visible(out, event->resource_version);
  }
  text_append_char(out, '\n');
}

static void print_relisted(printer *p, const kin_event *event) {
  text *out = begin_sentence(p, "relisted", NULL);
  append_objects(out, event->objects);
  text_append_string(out, " at version ");
  text_append_visible(out, event->resource_version);
  if (printer_has_scopes(p)) {
    text_append_string(out, ", namespace ");
    text_append_visible(out, event->namespace_);
  }
  text_append_char(out, '\n');
}

static void print_error(printer *p, const kin_error_event *event) {
  text *out = begin_sentence(p, "error", RED);
  text_append_string(out, kin_error_class_name(event->error_class));
  if (event->status > 0) {
    text_append_char(out, ' ');
    text_append_u64(out, (uint64_t)event->status);
  }
  if (*event->reason) {
    text_append_char(out, ' ');
    text_append_visible(out, from_z(event->reason));
  }
  text_append_string(out, ": ");
  text_append_visible(out, from_z(event->message));
  if (event->retry_in_ms > 0) { /* else at once, or never */
    char retry[64];
    snprintf(retry, sizeof(retry),
             "; next attempt in %" PRIu64 ".%" PRIu64 " s",
             event->retry_in_ms / 1000, event->retry_in_ms % 1000 / 100);
    text_append_string(out, retry);
  }
  text_append_char(out, '\n');
}

static void print_index(printer *p, const kin_str *keys, size_t count) {
  text *out = begin_sentence(p, "index", NULL);
  append_objects(out, count);
  text_append_string(out, " with ");
  text_append_visible(out, from_z(p->options->index_pointer));
  text_append_string(out, " = ");
  text_append_visible(out, from_z(p->options->index_value));
  text_append_char(out, '\n');
  for (size_t i = 0; i < count; i++) {
    out = begin_sentence(p, "index", NULL);
    text_append_visible(out, keys[i]);
    text_append_char(out, '\n');
  }
}

/* Cut at the terminal's width, because a line that wraps cannot be overwritten.
 * `objects` counts what is staged, too. */
static void print_progress(printer *p, size_t objects, uint64_t received_bytes,
                           uint64_t elapsed_ms) {
  char line[160];
  double elapsed_s = (double)elapsed_ms / 1e3;
  int length = received_bytes == 0
                   ? snprintf(line, sizeof(line),
                              "waiting for the server: %.1f s", elapsed_s)
                   : snprintf(line, sizeof(line), "listing: %.1f MB in %.1f s",
                              (double)received_bytes / 1e6, elapsed_s);
  if (objects > 0) {
    length += snprintf(line + length, sizeof(line) - (size_t)length,
                       ", %zu objects so far", objects);
  }
  size_t columns = output_columns(p->output);
  text *out = output_text(p->output);
  text_append_string(out, OVERWRITE);
  text_append(out, line,
              (size_t)length < columns ? (size_t)length : columns - 1);
  p->has_progress = true;
}

static void print_end(printer *p) {
  if (p->has_progress) {
    text_append_string(output_text(p->output), OVERWRITE);
    p->has_progress = false;
  }
}

const printer_format table_format = {
    .change = print_change,
    .synced = print_synced,
    .relisted = print_relisted,
    .error = print_error,
    .index = print_index,
    .progress = print_progress,
    .end = print_end,
};
