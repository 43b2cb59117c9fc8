/* SPDX-License-Identifier: MIT */
#ifndef KINFORMER_PRINTER_H
#define KINFORMER_PRINTER_H

#include <stdbool.h>
#include <stddef.h>

#include <kin/kin.h>

#include "options.h"
#include "output.h"

typedef struct printer printer;

/* An output format: one function for each kind of line. Each appends whole
 * lines to the output's text and leaves the commit to the caller. One that
 * cannot (a view cannot be opened) marks the text as failed. */
typedef struct printer_format {
  /* Add, update, delete. Returns whether the object could be shown; else an
   * error line follows. */
  bool (*change)(printer *p, const kin_event *event);
  void (*synced)(printer *p, const kin_event *event);
  void (*relisted)(printer *p, const kin_event *event);
  void (*error)(printer *p, const kin_error_event *event);
  void (*index)(printer *p, const kin_str *keys, size_t count);

  /* A line that the next one overwrites; NULL: the format has none. */
  void (*progress)(printer *p, size_t objects, uint64_t received_bytes,
                   uint64_t elapsed_ms);

  /* Before the last byte; NULL: nothing is due. */
  void (*end)(printer *p);
} printer_format;

extern const printer_format jsonl_format;
extern const printer_format table_format;

enum { TABLE_COLUMNS = 5 };

struct printer {
  const printer_format *format;
  const options *options;
  const kin_informer *informer;
  output *output;

  /* Of the table. */
  bool has_color;
  bool can_overwrite; /* a terminal that goes back to the start of its line */
  bool has_header;
  bool has_progress; /* the cursor is on the line of the progress display */
  size_t widths[TABLE_COLUMNS];
};

/* Chooses the format and what the terminal allows. The output is open. */
void printer_init(printer *p, const options *o, output *out);

/* Whether lines name the namespace they are about. */
bool printer_has_scopes(const printer *p);

#endif /* KINFORMER_PRINTER_H */
