/* SPDX-License-Identifier: MIT */
#include "printer.h"

#include <stdlib.h>
#include <string.h>

/* https://no-color.org: any value but the empty one. */
static bool wants_color(const output *out) {
  const char *no_color = getenv("NO_COLOR");
  return out->is_terminal && !(no_color && *no_color);
}

static bool is_dumb_terminal(void) {
  const char *term = getenv("TERM");
  return !term || strcmp(term, "dumb") == 0;
}

void printer_init(printer *p, const options *o, output *out) {
  bool is_table = o->format == FORMAT_TABLE ||
                  (o->format == FORMAT_AUTO && out->is_terminal);
  *p = (printer){
      .format = is_table ? &table_format : &jsonl_format,
      .options = o,
      .output = out,
      .has_color = wants_color(out) && !is_dumb_terminal(),
  };
}

bool printer_has_scopes(const printer *p) {
  return p->options->namespace_count > 1;
}
