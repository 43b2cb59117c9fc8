/* SPDX-License-Identifier: MIT */
#include "printer.h"

#include <stdlib.h>
#include <string.h>

/* https://no-color.org: any value but the empty one. */
static bool refuses_color(void) {
  const char *no_color = getenv("NO_COLOR");
  return no_color && *no_color;
}

/* A terminal that takes more than lines of text. */
static bool is_capable(const output *out) {
  const char *term = getenv("TERM");
  return out->is_terminal && term && strcmp(term, "dumb") != 0;
}

void printer_init(printer *p, const options *o, output *out) {
  bool is_table = o->format == FORMAT_TABLE ||
                  (o->format == FORMAT_AUTO && out->is_terminal);
  *p = (printer){
      .format = is_table ? &table_format : &jsonl_format,
      .options = o,
      .output = out,
      .has_color = is_capable(out) && !refuses_color(),
      .can_overwrite = is_capable(out),
  };
}

bool printer_has_scopes(const printer *p) {
  return p->options->namespace_count > 1;
}
