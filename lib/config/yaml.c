/* SPDX-License-Identifier: MIT */
#include "config/yaml.h"

#include <stdio.h>
#include <string.h>

#include <openssl/crypto.h>
#include <yaml.h>

#include <kin/error.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/str.h"
#include "config/yaml_mask.h"

/* Releases 0.1 and 0.2 have the same ABI, that of libyaml-0.so.2. The parser is
 * a struct of ours, whose size another release may change. */
kin__library kin__yaml_library(void) {
  int major;
  int minor;
  int patch;
  yaml_get_version(&major, &minor, &patch);
  kin__library library = {.name = "libyaml",
                          .built_for = "0.1 or 0.2",
                          .fits = major == 0 && (minor == 1 || minor == 2)};
  snprintf(library.found, sizeof library.found, "%d.%d.%d", major, minor,
           patch);
  return library;
}

typedef struct yaml_anchor {
  kin_str name; /* aliases compare the lengths first */
  const kin__yaml_node *node;
  size_t nodes; /* of the tree below, aliases expanded */
  size_t bytes;
  size_t height; /* levels of that tree: a scalar has none */
  bool is_complete;
} yaml_anchor;

/* A list or map that is open. */
typedef struct yaml_level {
  kin__yaml_node *node;
  kin__yaml_item *last;
  kin__yaml_item *pending; /* of a map: has a key and no value yet */
  yaml_anchor *anchor;     /* NULL: it has none */
  size_t nodes;            /* those of the builder, at the beginning */
  size_t bytes;
  size_t height; /* of the highest tree below so far */
} yaml_level;

typedef struct yaml_builder {
  kin__vault *vault;
  kin__yaml_problem *problem;
  kin__yaml_mask mask;
  const kin__yaml_node *root;
  bool has_document;
  bool is_done;
  yaml_level levels[KIN__YAML_MAX_DEPTH];
  size_t depth;
  yaml_anchor anchors[KIN__YAML_MAX_ANCHORS];
  size_t anchor_count;
  size_t nodes; /* aliases expanded */
  size_t bytes;
} yaml_builder;

static int refuse(yaml_builder *builder, const yaml_event_t *event,
                  const char *what) {
  builder->problem->line = (uint32_t)event->start_mark.line + 1;
  builder->problem->what = what;
  return KIN_EINVAL;
}

/* --- Bounds and anchors --------------------------------------------------- */

static int count_up(yaml_builder *builder, const yaml_event_t *event,
                    size_t nodes, size_t bytes) {
  /* No sum overflows: all terms are bounded. */
  builder->nodes += nodes;
  builder->bytes += bytes;
  if (builder->nodes > KIN__YAML_MAX_NODES) {
    return refuse(builder, event, "too many values");
  }
  if (builder->bytes > KIN__YAML_MAX_TEXT_BYTES) {
    return refuse(builder, event, "too much text");
  }
  return 0;
}

/* Aliases count: a walk over the tree recurses as deep as they lead. */
static int check_depth(yaml_builder *builder, const yaml_event_t *event,
                       size_t height) {
  if (height > KIN__YAML_MAX_DEPTH - builder->depth) {
    return refuse(builder, event, "nested too deeply");
  }
  return 0;
}

/* A tree of that height stands in the level that is open. */
static void raise_level(yaml_builder *builder, size_t height) {
  if (builder->depth > 0) {
    yaml_level *level = &builder->levels[builder->depth - 1];
    level->height = height > level->height ? height : level->height;
  }
}

static kin_str event_text(const yaml_char_t *text) {
  return kin__cstr((const char *)text);
}

/* Errors: KIN_EINVAL, KIN_ENOMEM. */
static int add_anchor(yaml_builder *builder, const yaml_event_t *event,
                      const yaml_char_t *name, const kin__yaml_node *node,
                      yaml_anchor **out) {
  *out = NULL;
  if (name == NULL) {
    return 0;
  }
  if (builder->anchor_count == KIN__YAML_MAX_ANCHORS) {
    return refuse(builder, event, "too many anchors");
  }
  yaml_anchor *anchor = &builder->anchors[builder->anchor_count];
  kin_str whole = kin__yaml_unmask_name(&builder->mask, event_text(name));
  const char *copy = kin__vault_copy(builder->vault, whole);
  if (copy == NULL) {
    return KIN_ENOMEM;
  }
  anchor->name = kin__str(copy, whole.length);
  anchor->node = node;
  builder->anchor_count++;
  *out = anchor;
  return 0;
}

/* The latest anchor of a name counts. */
static const yaml_anchor *find_anchor(const yaml_builder *builder,
                                      kin_str name) {
  for (size_t i = builder->anchor_count; i > 0; i--) {
    if (kin__str_equal(builder->anchors[i - 1].name, name)) {
      return &builder->anchors[i - 1];
    }
  }
  return NULL;
}

/* --- Types ---------------------------------------------------------------- */

/* Whether a tag is the core one of that name. */
static bool is_tag(const yaml_char_t *tag, const char *name) {
  const kin_str core = KIN__LIT("tag:yaml.org,2002:");
  kin_str text = event_text(tag);
  return text.length > core.length &&
         kin__str_equal(kin__str(text.data, core.length), core) &&
         strcmp(text.data + core.length, name) == 0;
}

static bool tag_allows(const yaml_char_t *tag, kin__yaml_type type) {
  switch (type) {
  case KIN__YAML_NULL:
    return is_tag(tag, "null");
  case KIN__YAML_BOOL:
    return is_tag(tag, "bool");
  case KIN__YAML_NUMBER:
    return is_tag(tag, "int") || is_tag(tag, "float");
  case KIN__YAML_LIST:
    return is_tag(tag, "seq");
  case KIN__YAML_MAP:
    return is_tag(tag, "map");
  default:
    return is_tag(tag, "str");
  }
}

/* A scalar's type; false if its tag does not fit. */
static bool set_type(const yaml_builder *builder, kin__yaml_node *node,
                     const yaml_event_t *event) {
  const yaml_char_t *tag = event->data.scalar.tag;
  if (tag != NULL && kin__yaml_has_tag_escape(&builder->mask)) {
    return false;
  }
  bool is_string_tag = tag != NULL && (is_tag(tag, "str") ||
                                       strcmp((const char *)tag, "!") == 0);
  node->is_quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
  node->type = KIN__YAML_STRING;
  if (is_string_tag || (tag == NULL && node->is_quoted)) {
    return true;
  }
  node->type = kin__yaml_plain_type(node->text, &node->truth);
  return tag == NULL || tag_allows(tag, node->type);
}

/* --- The tree ------------------------------------------------------------- */

static int new_node(yaml_builder *builder, const yaml_event_t *event,
                    size_t bytes, kin__yaml_node **out) {
  int err = count_up(builder, event, 1, bytes);
  if (err != 0) {
    return err;
  }
  kin__yaml_node *node = kin__vault_alloc(builder->vault, 1, sizeof *node);
  if (node == NULL) {
    return KIN_ENOMEM;
  }
  node->line = (uint32_t)event->start_mark.line + 1;
  *out = node;
  return 0;
}

static int take_key(yaml_builder *builder, const yaml_event_t *event,
                    const kin__yaml_node *key, yaml_level *level) {
  if (key->type == KIN__YAML_LIST || key->type == KIN__YAML_MAP) {
    return refuse(builder, event, "a key is a list or a map");
  }
  if (key->type == KIN__YAML_NULL) {
    return refuse(builder, event, "a key is null");
  }
  if (!key->is_quoted && kin__str_equal(key->text, KIN__LIT("<<"))) {
    return refuse(builder, event, "merge keys (<<) are not supported");
  }
  kin__yaml_item *item = kin__vault_alloc(builder->vault, 1, sizeof *item);
  if (item == NULL) {
    return KIN_ENOMEM;
  }
  item->key = key->text;
  item->is_odd_key =
      key->type == KIN__YAML_NUMBER && !kin__yaml_is_plain_integer(key->text);
  if (key->type == KIN__YAML_BOOL) {
    item->key = key->truth ? KIN__LIT("true") : KIN__LIT("false");
  }
  item->key_line = key->line;
  level->pending = item;
  return 0;
}

/* Puts a node where the document is now. */
static int place(yaml_builder *builder, const yaml_event_t *event,
                 const kin__yaml_node *node) {
  if (builder->depth == 0) {
    builder->root = node;
    return 0;
  }
  yaml_level *level = &builder->levels[builder->depth - 1];
  bool is_map = level->node->type == KIN__YAML_MAP;
  if (is_map && level->pending == NULL) {
    return take_key(builder, event, node, level);
  }
  kin__yaml_item *item = level->pending;
  level->pending = NULL;
  if (!is_map) {
    item = kin__vault_alloc(builder->vault, 1, sizeof *item);
    if (item == NULL) {
      return KIN_ENOMEM;
    }
  }
  item->value = node;
  if (level->last != NULL) {
    level->last->next = item;
  } else {
    level->node->first = item;
  }
  level->last = item;
  level->node->count++;
  return 0;
}

static int take_scalar(yaml_builder *builder, const yaml_event_t *event) {
  kin_str value = kin__str((const char *)event->data.scalar.value,
                           event->data.scalar.length);
  bool is_double = event->data.scalar.style == YAML_DOUBLE_QUOTED_SCALAR_STYLE;
  size_t length = kin__yaml_unmask(&builder->mask, value, is_double, NULL);
  kin__yaml_node *node;
  int err = new_node(builder, event, length, &node);
  if (err != 0) {
    return err;
  }
  char *text = kin__vault_alloc(builder->vault, length + 1, 1);
  if (text == NULL) {
    return KIN_ENOMEM;
  }
  (void)kin__yaml_unmask(&builder->mask, value, is_double, text);
  node->text = kin__str(text, length);
  if (!set_type(builder, node, event)) {
    return refuse(builder, event, "the tag does not fit the value");
  }
  yaml_anchor *anchor;
  err = add_anchor(builder, event, event->data.scalar.anchor, node, &anchor);
  if (err == 0 && anchor != NULL) {
    anchor->nodes = 1;
    anchor->bytes = length;
    anchor->is_complete = true;
  }
  return err == 0 ? place(builder, event, node) : err;
}

static int take_alias(yaml_builder *builder, const yaml_event_t *event) {
  const yaml_anchor *anchor = find_anchor(
      builder, kin__yaml_unmask_name(&builder->mask,
                                     event_text(event->data.alias.anchor)));
  if (anchor == NULL) {
    return refuse(builder, event, "an alias has no anchor before it");
  }
  if (!anchor->is_complete) {
    return refuse(builder, event, "an alias stands inside its own anchor");
  }
  int err = check_depth(builder, event, anchor->height);
  if (err == 0) {
    err = count_up(builder, event, anchor->nodes, anchor->bytes);
  }
  if (err == 0) {
    raise_level(builder, anchor->height);
    err = place(builder, event, anchor->node);
  }
  return err;
}

static int begin_level(yaml_builder *builder, const yaml_event_t *event,
                       kin__yaml_type type, const yaml_char_t *anchor,
                       const yaml_char_t *tag) {
  int err = check_depth(builder, event, 1);
  if (err != 0) {
    return err;
  }
  bool is_right_tag =
      tag == NULL ||
      (!kin__yaml_has_tag_escape(&builder->mask) &&
       (strcmp((const char *)tag, "!") == 0 || tag_allows(tag, type)));
  if (!is_right_tag) {
    return refuse(builder, event, "the tag does not fit the value");
  }
  yaml_level level = {.nodes = builder->nodes, .bytes = builder->bytes};
  err = new_node(builder, event, 0, &level.node);
  if (err != 0) {
    return err;
  }
  level.node->type = type;
  err = add_anchor(builder, event, anchor, level.node, &level.anchor);
  if (err == 0) {
    err = place(builder, event, level.node);
  }
  if (err == 0) {
    builder->levels[builder->depth++] = level;
  }
  return err;
}

/* A hash table finds keys that are there twice. Errors: KIN_EINVAL,
 * KIN_ENOMEM. */
static int check_keys(yaml_builder *builder, const kin__yaml_node *map) {
  size_t capacity = 4;
  while (capacity < 2 * map->count) {
    capacity *= 2;
  }
  const kin_allocator *allocator = builder->vault->allocator;
  const kin__yaml_item **table =
      kin__calloc(allocator, capacity, sizeof *table);
  if (table == NULL) {
    return KIN_ENOMEM;
  }
  kin__hash_seed seed = kin__hash_make_seed(table);
  int err = 0;
  for (const kin__yaml_item *item = map->first; item != NULL && err == 0;
       item = item->next) {
    size_t at = kin__hash(&seed, item->key) & (capacity - 1);
    while (table[at] != NULL && err == 0) {
      if (kin__str_equal(table[at]->key, item->key)) {
        builder->problem->line = item->key_line;
        builder->problem->what = "a key is there twice in one map";
        err = KIN_EINVAL;
      }
      at = (at + 1) & (capacity - 1);
    }
    table[at] = item;
  }
  kin__free(allocator, table);
  return err;
}

static int end_level(yaml_builder *builder) {
  yaml_level *level = &builder->levels[--builder->depth];
  raise_level(builder, level->height + 1);
  if (level->anchor != NULL) {
    level->anchor->nodes = builder->nodes - level->nodes;
    level->anchor->bytes = builder->bytes - level->bytes;
    level->anchor->height = level->height + 1;
    level->anchor->is_complete = true;
  }
  bool has_keys = level->node->type == KIN__YAML_MAP && level->node->count > 1;
  return has_keys ? check_keys(builder, level->node) : 0;
}

/* --- Events --------------------------------------------------------------- */

static int take_event(yaml_builder *builder, const yaml_event_t *event) {
  kin__yaml_mask_go_to(&builder->mask, event->start_mark.index);
  switch (event->type) {
  case YAML_DOCUMENT_START_EVENT:
    if (builder->has_document) {
      return refuse(builder, event, "there is more than one document");
    }
    builder->has_document = true;
    return 0;
  case YAML_SCALAR_EVENT:
    return take_scalar(builder, event);
  case YAML_ALIAS_EVENT:
    return take_alias(builder, event);
  case YAML_SEQUENCE_START_EVENT:
    return begin_level(builder, event, KIN__YAML_LIST,
                       event->data.sequence_start.anchor,
                       event->data.sequence_start.tag);
  case YAML_MAPPING_START_EVENT:
    return begin_level(builder, event, KIN__YAML_MAP,
                       event->data.mapping_start.anchor,
                       event->data.mapping_start.tag);
  case YAML_SEQUENCE_END_EVENT:
  case YAML_MAPPING_END_EVENT:
    return end_level(builder);
  case YAML_STREAM_END_EVENT:
    builder->is_done = true;
    return 0;
  default:
    return 0;
  }
}

static void wipe_range(void *start, const void *end) {
  if (start != NULL) {
    OPENSSL_cleanse(start, (size_t)((const char *)end - (char *)start));
  }
}

static void delete_event(yaml_event_t *event) {
  if (event->type == YAML_SCALAR_EVENT) {
    OPENSSL_cleanse(event->data.scalar.value, event->data.scalar.length);
  }
  yaml_event_delete(event);
}

/* Wipes what libyaml still holds of the text. */
static void delete_parser(yaml_parser_t *parser) {
  for (yaml_token_t *token = parser->tokens.head;
       token != NULL && token != parser->tokens.tail; token++) {
    if (token->type == YAML_SCALAR_TOKEN) {
      OPENSSL_cleanse(token->data.scalar.value, token->data.scalar.length);
    }
  }
  wipe_range(parser->raw_buffer.start, parser->raw_buffer.end);
  wipe_range(parser->buffer.start, parser->buffer.end);
  yaml_parser_delete(parser);
}

static int parser_error(const yaml_parser_t *parser,
                        kin__yaml_problem *problem) {
  if (parser->error == YAML_MEMORY_ERROR) {
    return KIN_ENOMEM;
  }
  /* A reader error has an offset only: the scanner's place is close. */
  bool has_mark = parser->error != YAML_READER_ERROR;
  const yaml_mark_t *mark = has_mark ? &parser->problem_mark : &parser->mark;
  problem->line = (uint32_t)mark->line + 1;
  problem->what = kin__or_default(parser->problem, "malformed");
  return KIN_EINVAL;
}

static int run_parser(yaml_parser_t *parser, yaml_builder *builder) {
  int err = 0;
  while (err == 0 && !builder->is_done) {
    yaml_event_t event;
    if (!yaml_parser_parse(parser, &event)) {
      return parser_error(parser, builder->problem);
    }
    err = take_event(builder, &event);
    delete_event(&event);
  }
  return err;
}

int kin__yaml_parse(kin__vault *vault, kin_str text,
                    const kin__yaml_node **root, kin__yaml_problem *problem) {
  *root = NULL;
  *problem = (kin__yaml_problem){.line = 1, .what = ""};
  if (text.length > KIN__YAML_MAX_BYTES) {
    problem->what = "too large";
    return KIN_EINVAL;
  }
  yaml_builder *builder = kin__calloc(vault->allocator, 1, sizeof *builder);
  if (builder == NULL) {
    return KIN_ENOMEM;
  }
  builder->vault = vault;
  builder->problem = problem;
  int err = kin__yaml_mask_init(&builder->mask, vault->allocator, text);
  if (err == 0 && builder->mask.tag_lines > KIN__YAML_MAX_TAG_LINES) {
    problem->what = "too many lines begin with %TAG";
    err = KIN_EINVAL;
  }
  yaml_parser_t parser;
  if (err == 0 && !yaml_parser_initialize(&parser)) {
    err = KIN_ENOMEM;
  } else if (err == 0) {
    yaml_parser_set_input_string(
        &parser, (const unsigned char *)builder->mask.copy, text.length);
    err = run_parser(&parser, builder);
    delete_parser(&parser);
  }
  kin__yaml_mask_finish(&builder->mask);
  *root = err == 0 ? builder->root : NULL;
  kin__free(vault->allocator, builder);
  return err;
}
