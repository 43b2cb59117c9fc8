/* SPDX-License-Identifier: MIT */
#include "support/yaml_twins.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <yaml.h>

#include "base/alloc.h"
#include "base/str.h"
#include "config/yaml_mask.h"

/* --- Comparison ----------------------------------------------------------- */

static bool same_mark(const yaml_mark_t *a, const yaml_mark_t *b) {
  return a->index == b->index && a->line == b->line && a->column == b->column;
}

static bool same_name(const kin__yaml_mask *mask, const yaml_char_t *plain,
                      const yaml_char_t *masked) {
  if (plain == NULL || masked == NULL) {
    return plain == masked;
  }
  return kin__str_equal(
      kin__cstr((const char *)plain),
      kin__yaml_unmask_name(mask, kin__cstr((const char *)masked)));
}

/* Whether kin__yaml_parse gives the tag a meaning. */
static bool is_known(const char *tag) {
  static const char *const known[] = {"!",
                                      "tag:yaml.org,2002:null",
                                      "tag:yaml.org,2002:bool",
                                      "tag:yaml.org,2002:int",
                                      "tag:yaml.org,2002:float",
                                      "tag:yaml.org,2002:str",
                                      "tag:yaml.org,2002:seq",
                                      "tag:yaml.org,2002:map"};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    if (strcmp(tag, known[i]) == 0) {
      return true;
    }
  }
  return false;
}

static bool same_tag(const yaml_char_t *plain, const yaml_char_t *masked) {
  if (plain == NULL || masked == NULL) {
    return plain == masked;
  }
  return strcmp((const char *)plain, (const char *)masked) == 0;
}

static const yaml_char_t *tag_of(const yaml_event_t *event) {
  switch (event->type) {
  case YAML_SCALAR_EVENT:
    return event->data.scalar.tag;
  case YAML_SEQUENCE_START_EVENT:
    return event->data.sequence_start.tag;
  case YAML_MAPPING_START_EVENT:
    return event->data.mapping_start.tag;
  default:
    return NULL;
  }
}

/* Whether kin__yaml_parse refuses the tag, whatever has it. */
static bool has_refused_tag(kin__yaml_mask *mask, const yaml_event_t *event) {
  const yaml_char_t *tag = tag_of(event);
  if (tag == NULL) {
    return false;
  }
  kin__yaml_mask_go_to(mask, event->start_mark.index);
  return !is_known((const char *)tag) || kin__yaml_has_tag_escape(mask);
}

static const char *scalar_difference(const kin__yaml_mask *mask,
                                     const yaml_event_t *plain,
                                     const yaml_event_t *masked) {
  kin_str value = kin__str((const char *)masked->data.scalar.value,
                           masked->data.scalar.length);
  yaml_scalar_style_t style = plain->data.scalar.style;
  if (style != masked->data.scalar.style) {
    return "style";
  }
  bool is_double = style == YAML_DOUBLE_QUOTED_SCALAR_STYLE;
  size_t length = kin__yaml_unmask(mask, value, is_double, NULL);
  char *text = malloc(length + 1);
  if (text == NULL) {
    return "no memory";
  }
  bool is_same_length =
      kin__yaml_unmask(mask, value, is_double, text) == length;
  bool is_same = is_same_length &&
                 kin__str_equal(kin__str(text, length),
                                kin__str((const char *)plain->data.scalar.value,
                                         plain->data.scalar.length));
  free(text);
  if (!is_same) {
    return "value";
  }
  if (plain->data.scalar.plain_implicit != masked->data.scalar.plain_implicit) {
    return "implicit type";
  }
  return NULL;
}

static const yaml_char_t *anchor_of(const yaml_event_t *event) {
  switch (event->type) {
  case YAML_ALIAS_EVENT:
    return event->data.alias.anchor;
  case YAML_SCALAR_EVENT:
    return event->data.scalar.anchor;
  case YAML_SEQUENCE_START_EVENT:
    return event->data.sequence_start.anchor;
  case YAML_MAPPING_START_EVENT:
    return event->data.mapping_start.anchor;
  default:
    return NULL;
  }
}

static const char *event_difference(kin__yaml_mask *mask,
                                    const yaml_event_t *plain,
                                    const yaml_event_t *masked) {
  if (plain->type != masked->type) {
    return "type of event";
  }
  if (!same_mark(&plain->start_mark, &masked->start_mark) ||
      !same_mark(&plain->end_mark, &masked->end_mark)) {
    return "place";
  }
  kin__yaml_mask_go_to(mask, masked->start_mark.index);
  if (!same_name(mask, anchor_of(plain), anchor_of(masked))) {
    return "anchor";
  }
  bool is_refused = has_refused_tag(mask, plain);
  if (is_refused != has_refused_tag(mask, masked) ||
      (!is_refused && !same_tag(tag_of(plain), tag_of(masked)))) {
    return "tag";
  }
  return plain->type == YAML_SCALAR_EVENT
             ? scalar_difference(mask, plain, masked)
             : NULL;
}

static const char *error_difference(const yaml_parser_t *plain,
                                    const yaml_parser_t *masked) {
  if (plain->error != masked->error) {
    return "class of error";
  }
  if (plain->error == YAML_READER_ERROR) {
    return plain->problem_offset == masked->problem_offset ? NULL
                                                           : "place of error";
  }
  if (plain->problem_mark.line != masked->problem_mark.line) {
    return "line of error";
  }
  return strcmp(plain->problem, masked->problem) == 0 ? NULL : "error";
}

/* --- Two readings --------------------------------------------------------- */

typedef struct twin_readers {
  yaml_parser_t plain;
  yaml_parser_t masked;
  /* libyaml decodes `%41` in a tag. It refuses a wrong one, and the tag that
   * stands for it is refused later. */
  bool has_tag_escapes;
} twin_readers;

/* Whether a reading that the other one did not follow is refused, too: by
 * libyaml, or for a tag without a meaning. */
static bool is_refused_later(yaml_parser_t *parser, kin__yaml_mask *mask,
                             yaml_event_t *event) {
  while (!has_refused_tag(mask, event)) {
    if (event->type == YAML_STREAM_END_EVENT) {
      return false;
    }
    yaml_event_delete(event);
    if (!yaml_parser_parse(parser, event)) {
      return true;
    }
  }
  return true;
}

/* NULL and *is_done, if the texts have ended alike. */
static const char *next_difference(twin_readers *readers, kin__yaml_mask *mask,
                                   bool *is_done) {
  yaml_event_t a;
  yaml_event_t b;
  bool is_read = yaml_parser_parse(&readers->plain, &a) != 0;
  bool is_twin_read = yaml_parser_parse(&readers->masked, &b) != 0;
  const char *difference = NULL;
  *is_done = true;
  if (is_read && is_twin_read) {
    difference = event_difference(mask, &a, &b);
    *is_done = a.type == YAML_STREAM_END_EVENT || has_refused_tag(mask, &a);
  } else if (is_read) {
    difference = is_refused_later(&readers->plain, mask, &a)
                     ? NULL
                     : "only the mask is refused";
  } else if (is_twin_read) {
    difference = is_refused_later(&readers->masked, mask, &b)
                     ? NULL
                     : "only the text is refused";
  } else if (!readers->has_tag_escapes) {
    difference = error_difference(&readers->plain, &readers->masked);
  }
  yaml_event_delete(&a);
  yaml_event_delete(&b);
  return difference;
}

static const char *difference_of(twin_readers *readers, kin__yaml_mask *mask) {
  kin_str text = mask->source;
  readers->has_tag_escapes = text.length > 0 &&
                             memchr(text.data, '!', text.length) != NULL &&
                             memchr(text.data, '%', text.length) != NULL;
  yaml_parser_set_input_string(
      &readers->plain,
      (const unsigned char *)(text.length > 0 ? text.data : ""), text.length);
  yaml_parser_set_input_string(&readers->masked,
                               (const unsigned char *)mask->copy, text.length);
  const char *difference = NULL;
  bool is_done = false;
  while (difference == NULL && !is_done) {
    difference = next_difference(readers, mask, &is_done);
  }
  return difference;
}

const char *yaml_twins_difference(kin_str text) {
  kin__yaml_mask mask;
  twin_readers readers;
  if (!yaml_parser_initialize(&readers.plain)) {
    return "no memory";
  }
  const char *difference = "no memory";
  if (yaml_parser_initialize(&readers.masked)) {
    if (kin__yaml_mask_init(&mask, kin__default_allocator(), text) == 0) {
      difference = difference_of(&readers, &mask);
    }
    kin__yaml_mask_finish(&mask);
    yaml_parser_delete(&readers.masked);
  }
  yaml_parser_delete(&readers.plain);
  return difference;
}

/* --- Composition ---------------------------------------------------------- */

static const char *const pieces[] = {
    "\n",
    "\n",
    "\n  ",
    "\n  ",
    "\n    ",
    " ",
    " ",
    ": ",
    ": ",
    "- ",
    "- ",
    "? ",
    ", ",
    "[",
    "]",
    "{",
    "}",
    "\"",
    "\"",
    "'",
    "'",
    "''",
    "#",
    " # ",
    "|",
    ">",
    "|2",
    "|-",
    ">+1",
    "&",
    "*",
    "!",
    "!!",
    "!!str ",
    "!!int ",
    "!!integer ",
    "!<tag:yaml.org,2002:seq> ",
    "!<",
    ">",
    "&a1 ",
    "*a1 ",
    "&a-b_c ",
    "*a-b_c ",
    "%YAML 1.1\n",
    "%YAML",
    "%TAG ! tag:x,1:\n",
    "%a",
    "---",
    "\n--- ",
    "...",
    "\n...\n",
    "a",
    "b1",
    "0",
    "00",
    "-1",
    "1.5e3",
    "true",
    "~",
    "<<",
    "key: ",
    "\nkey: ",
    "token: c2VjcmV0Lw+3f==",
    "\n  - name: x",
    "https://h:1/p#f",
    "\\",
    "\\x41",
    "\\x4",
    "\\u00e4",
    "\\U0001F600",
    "\\ud83d",
    "\\0",
    "\\n",
    "\\_",
    "\\N",
    "\\\n",
    "\\\"",
    "@",
    "`",
    "$",
    "/",
    "(",
    ";",
    "^",
    "~",
    "=",
    "+",
    ".",
    "\t",
    "\r\n",
    "\r",
    "\xc3\xa4",
    "\xe9\xa6\xac",
    "\xf0\x9f\x90\xb4",
    "\xc2\x85",
    "\xe2\x80\xa8",
    "\xe2\x80\xa9",
    "\xef\xbb\xbf",
    "\xc2\xa0",
    "\xc4\x80",
    "\xee\x80\x80",
    "\xf0\x90\x80\x80",
    "\xff",
    "\xc3",
    "\xed\xa0\x80",
    "\x01",
    "\x7f",
};

int yaml_twins_compose(kin__buf *out, const unsigned char *choices,
                       size_t count) {
  int err = 0;
  for (size_t i = 0; i < count && err == 0; i++) {
    size_t at = choices[i] % (sizeof pieces / sizeof *pieces);
    err = kin__buf_append_cstr(out, pieces[at]);
  }
  return err;
}
