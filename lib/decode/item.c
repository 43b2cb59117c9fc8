/* SPDX-License-Identifier: MIT */

/* The current object lies in the bytes [begin, now) of the stream. If the
 * current span has all of it, nothing is copied: the parts point into the span.
 * If not, `carry` holds the object's bytes from earlier spans, and gets the
 * rest when the object ends.
 *
 * Invariants:
 *  - carry is a prefix of the object; the bytes after it are in the current
 *    span, up to needed_end;
 *  - a found string lies either in carry or in the span, never half in each:
 *    carrying starts at once or not at all;
 *  - `dropped` is ascending, and no two spans touch.
 *
 * Dropping a member also drops one comma: the one before, if an earlier member
 * is kept, else the one after. So the rest of the object stays valid, also when
 * no member is left; see begin_child and end_member.
 *
 * If a member occurs twice the first counts, here as in a parsed view. So the
 * sink can be asked before all of metadata has been seen. When nothing is
 * missing any more, the rest of the object is skipped, and of its grammar only
 * strings and the balance of brackets are checked.
 *
 * How the bytes are split decides when an object is found to be over the limit.
 * The split does not change the strings that are taken from the object. */
#include "decode/item.h"

#include <assert.h>
#include <string.h>

#include <kin/error.h>

#include "base/alloc.h"
#include "base/str.h"
#include "decode/item_core.h"
#include "decode/key_only.h"
#include "object/json.h"

enum {
  OBJECT_BYTES_DEFAULT = 16 << 20, /* WS-04 */
  OBJECT_BYTES_MAX = 1 << 30,
  WHOLE_IDENTITY = 1 << KIN__ITEM_NAMESPACE | 1 << KIN__ITEM_NAME |
                   1 << KIN__ITEM_UID | 1 << KIN__ITEM_VERSION,
  WHOLE_TYPE = 1 << KIN__ITEM_KIND | 1 << KIN__ITEM_API_VERSION
};

kin__decode_limits kin__item_limits(const kin__decode_limits *given) {
  kin__decode_limits limits = *given;
  if (limits.max_object_bytes == 0) {
    limits.max_object_bytes = OBJECT_BYTES_DEFAULT;
  }
  if (limits.max_object_bytes > OBJECT_BYTES_MAX) {
    limits.max_object_bytes = OBJECT_BYTES_MAX;
  }
  if (limits.max_depth == 0) {
    limits.max_depth = KIN__JSON_DEPTH_MAX;
  }
  if (limits.max_passed_bytes == 0 ||
      limits.max_passed_bytes > OBJECT_BYTES_MAX) {
    limits.max_passed_bytes = OBJECT_BYTES_MAX;
  }
  return limits;
}

void kin__item_init(kin__item *item, const kin_allocator *allocator,
                    const kin__decode_sink *sink) {
  *item = (kin__item){.sink = sink};
  kin__buf_init(&item->carry, allocator, 0);
  kin__buf_init(
      &item->strings, allocator,
      KIN__ITEM_TEXTS_MAX + KIN__ITEM_LABELS_MAX +
          kin__key_only_bound(KIN__ITEM_TEXTS_MAX, KIN__ITEM_LABELS_MAX));
}

void kin__item_serve(kin__item *item, const kin__decode_limits *limits,
                     const kin__projection *projection) {
  item->root = kin__projection_root(projection);
  item->max_bytes = limits->max_object_bytes;
  item->max_passed = limits->max_passed_bytes;
  item->max_depth = limits->max_depth;
  item->carry.max_length = item->max_bytes;
}

void kin__item_free_dropped(kin__item *item) {
  kin__free(item->carry.allocator, item->dropped);
  item->dropped = NULL;
  item->dropped_count = 0;
  item->dropped_capacity = 0;
}

void kin__item_finish(kin__item *item) {
  kin__item_free_dropped(item);
  kin__buf_finish(&item->carry);
  kin__buf_finish(&item->strings);
}

static void push(kin__item *item, kin__item_place place,
                 const struct kin__projection_node *node) {
  assert(item->depth < KIN__ITEM_LEVELS);
  item->levels[item->depth++] = (kin__item_level){.node = node, .place = place};
}

/* A member that the projection drops may come behind all members that are
 * wanted. */
static kin__item_place leave_point(const kin__item *item) {
  if ((item->wanted & KIN__ITEM_ANNOTATIONS) != 0) {
    return KIN__ITEM_ELSEWHERE;
  }
  if (item->root == NULL) {
    return KIN__ITEM_IN_METADATA;
  }
  return kin__projection_is_for_metadata(item->root) ? KIN__ITEM_AT_ROOT
                                                     : KIN__ITEM_ELSEWHERE;
}

void kin__item_begin(kin__item *item, kin__cursor *cursor, unsigned wanted) {
  item->is_open = true;
  item->is_known = false;
  item->is_over = false;
  item->is_unfit = false;
  item->is_initial_events_end = false;
  item->bound = item->max_bytes;
  item->wanted = wanted;
  item->has_metadata = false;
  item->was_asked = false;
  item->begin = cursor->begin;
  item->needed_end = UINT64_MAX;
  item->seen = 0;
  item->leaves = leave_point(item);
  item->left_levels = 0;
  item->field = KIN__ITEM_NO_FIELD;
  memset(item->texts, 0, sizeof item->texts);
  item->labels = (kin__span){0, 0};
  item->labels_begin = UINT64_MAX;
  item->labels_held = 0;
  item->labels_are_passed = false;
  item->dropped_count = 0;
  item->depth = 0;
  push(item, KIN__ITEM_AT_ROOT, item->root);
  kin__cursor_bound(cursor, item->max_depth);
  if ((wanted & KIN__ITEM_OPAQUE) != 0) {
    if (item->bound > KIN__ITEM_OPAQUE_MAX) {
      item->bound = KIN__ITEM_OPAQUE_MAX;
    }
    kin__cursor_skip(cursor, 1);
  }
}

void kin__item_close(kin__item *item) {
  item->is_open = false;
  item->is_over = false; /* an ERROR event may have no item of its own */
  kin__buf_reset(&item->carry, KIN__ITEM_CARRY_KEPT);
  kin__buf_reset(&item->strings, KIN__ITEM_CARRY_KEPT);
  if (item->dropped_capacity > KIN__ITEM_SPANS_KEPT) {
    kin__item_free_dropped(item);
  }
}

/* The object's bytes. */

static int carry_to(kin__item *item, const kin__cursor *cursor, uint64_t end) {
  uint64_t from = item->begin + item->carry.length;
  if (end <= from) {
    return 0;
  }
  return kin__buf_append(&item->carry, kin__cursor_at(cursor, from),
                         (size_t)(end - from));
}

int kin__item_hold(kin__item *item, const kin__cursor *cursor) {
  uint64_t end = kin__cursor_span_end(cursor);
  if (item->is_over) {
    return kin__item_hold_labels(item, cursor, end);
  }
  if (item->needed_end < end) {
    end = item->needed_end;
  }
  return carry_to(item, cursor, end);
}

/* Dropping. */

static int add_dropped(kin__item *item, uint64_t begin, uint64_t end) {
  kin__span span = kin__item_span_of(item, begin, end);
  if (item->dropped_count > 0) {
    kin__span *last = &item->dropped[item->dropped_count - 1];
    if (last->offset + last->length == span.offset) {
      last->length += span.length;
      return 0;
    }
  }
  if (item->dropped_count == item->dropped_capacity) {
    size_t capacity = item->dropped_capacity * 2 + 4;
    kin__span *dropped =
        kin__realloc_array(item->carry.allocator, item->dropped,
                           item->dropped_capacity, capacity, sizeof *dropped);
    if (dropped == NULL) {
      return KIN_ENOMEM;
    }
    item->dropped = dropped;
    item->dropped_capacity = capacity;
  }
  item->dropped[item->dropped_count++] = span;
  return 0;
}

/* A member or element begins. As long as none is kept, the dropped span reaches
 * to the begin of the next one. */
static void begin_child(kin__item *item, kin__item_level *level,
                        const kin__cursor *cursor, kin__project project) {
  if (level->has_dropped && !level->has_kept) {
    kin__span *last = &item->dropped[item->dropped_count - 1];
    last->length = (uint32_t)(cursor->begin - item->begin) - last->offset;
  }
  level->is_dropping = project == KIN__DROP_ALL;
  if (project != KIN__KEEP_ALL) { /* see on_scalar */
    level->drop_begin = level->has_kept ? level->value_end : cursor->begin;
  }
  level->child_place =
      project == KIN__DESCEND ? KIN__ITEM_ELSEWHERE : KIN__ITEM_NOT_ENTERED;
}

static void begin_member(kin__item *item, kin__item_level *level,
                         const kin__cursor *cursor) {
  kin__project project =
      kin__projection_member(level->node, cursor->text, &level->child);
  begin_child(item, level, cursor, project);
}

/* Elements have no names, so the first token of each comes here. */
static void begin_element(kin__item *item, const kin__cursor *cursor,
                          int token) {
  kin__item_level *level = &item->levels[item->depth - 1];
  bool is_element =
      level->is_array && token != KIN__TOKEN_END && token != KIN__TOKEN_SKIPPED;
  if (is_element) {
    kin__project project = kin__projection_element(
        level->node, level->next_index++, &level->child);
    begin_child(item, level, cursor, project);
  }
}

static int end_member(kin__item *item, kin__item_level *level,
                      const kin__cursor *cursor) {
  level->value_end = cursor->end;
  if (level->is_dropping) {
    level->has_dropped = true;
    return add_dropped(item, level->drop_begin, cursor->end);
  }
  level->has_kept = true;
  return 0;
}

/* Metadata. */

static kin__item_field field_named(kin_str name) {
  static const kin_str names[KIN__ITEM_FIELDS] = {
      [KIN__ITEM_NAMESPACE] = {"namespace", 9},
      [KIN__ITEM_NAME] = {"name", 4},
      [KIN__ITEM_UID] = {"uid", 3},
      [KIN__ITEM_VERSION] = {"resourceVersion", 15},
      [KIN__ITEM_LABELS] = {"labels", 6},
      [KIN__ITEM_ANNOTATION_MAP] = {"annotations", 11},
  };
  for (kin__item_field field = 0; field < KIN__ITEM_FIELDS; field++) {
    /* Those that metadata does not have are empty here. */
    if (name.length > 0 && kin__str_equal(name, names[field])) {
      return field;
    }
  }
  return KIN__ITEM_NO_FIELD;
}

static void begin_root_member(kin__item *item, kin__item_level *level,
                              kin__cursor *cursor) {
  if (kin__str_equal(cursor->text, KIN__LIT("metadata"))) {
    if (!item->has_metadata) {
      item->has_metadata = true;
      level->child_place = KIN__ITEM_IN_METADATA;
    }
    return;
  }
  kin__item_field field = KIN__ITEM_NO_FIELD;
  if (kin__str_equal(cursor->text, KIN__LIT("kind"))) {
    field = KIN__ITEM_KIND;
  } else if (kin__str_equal(cursor->text, KIN__LIT("apiVersion"))) {
    field = KIN__ITEM_API_VERSION;
  }
  if (field != KIN__ITEM_NO_FIELD && (item->seen >> field & 1) == 0) {
    item->seen |= 1u << field;
    item->field = field;
    kin__cursor_want_string(cursor);
  }
}

/* Behind the limit no level knows the projection. */
static bool keeps_labels(const kin__item *item) {
  const struct kin__projection_node *node;
  (void)kin__projection_member(item->root, KIN__LIT("metadata"), &node);
  return kin__projection_member(node, KIN__LIT("labels"), &node) ==
         KIN__KEEP_ALL;
}

static void begin_field(kin__item *item, kin__item_level *level,
                        kin__cursor *cursor) {
  kin__item_field field = field_named(cursor->text);
  if (field == KIN__ITEM_NO_FIELD || (item->seen >> field & 1) != 0) {
    return;
  }
  if (field == KIN__ITEM_LABELS && !keeps_labels(item)) {
    return;
  }
  item->seen |= 1u << field;
  item->field = field;
  if (field < KIN__ITEM_STRINGS) {
    kin__cursor_want_string(cursor);
  } else if (field == KIN__ITEM_ANNOTATION_MAP &&
             (item->wanted & KIN__ITEM_ANNOTATIONS) != 0) {
    level->child_place = KIN__ITEM_IN_ANNOTATIONS;
  }
}

static void on_name(kin__item *item, kin__cursor *cursor) {
  kin__item_level *level = &item->levels[item->depth - 1];
  begin_member(item, level, cursor);
  item->field = KIN__ITEM_NO_FIELD;
  switch (level->place) {
  case KIN__ITEM_AT_ROOT:
    begin_root_member(item, level, cursor);
    break;
  case KIN__ITEM_IN_METADATA:
    begin_field(item, level, cursor);
    break;
  case KIN__ITEM_IN_ANNOTATIONS:
    if (kin__str_equal(cursor->text, KIN__LIT("k8s.io/initial-events-end"))) {
      item->field = KIN__ITEM_INITIAL_EVENTS_END;
      kin__cursor_want_string(cursor);
    }
    break;
  default:
    break;
  }
}

static int take_string(kin__item *item, const kin__cursor *cursor) {
  if (item->field == KIN__ITEM_INITIAL_EVENTS_END) {
    item->is_initial_events_end =
        kin__str_equal(cursor->text, KIN__LIT("true"));
    return 0;
  }
  if (item->field >= KIN__ITEM_STRINGS) {
    return 0;
  }
  if (kin__cursor_is_cut(cursor)) {
    item->is_unfit = item->is_unfit || (WHOLE_IDENTITY >> item->field & 1) != 0;
    return 0;
  }
  kin__item_string text = {
      .span = kin__item_span_of(item, cursor->begin + 1, cursor->end - 1)};
  int err = 0;
  if (cursor->escaped || item->is_over) {
    text.is_unescaped = true;
    text.span = (kin__span){(uint32_t)item->strings.length,
                            (uint32_t)cursor->text.length};
    err = kin__buf_append_str(&item->strings, cursor->text);
  } else if (item->carry.length > 0) {
    err = carry_to(item, cursor, cursor->end);
  }
  if (err == 0) {
    item->texts[item->field] = text;
  }
  return err;
}

void kin__item_identify(const kin__item *item, const kin__cursor *cursor,
                        kin__object_parts *identity) {
  *identity = (kin__object_parts){
      .namespace_ = kin__item_text_of(item, cursor, KIN__ITEM_NAMESPACE),
      .name = kin__item_text_of(item, cursor, KIN__ITEM_NAME),
      .uid = kin__item_text_of(item, cursor, KIN__ITEM_UID),
      .version = kin__item_text_of(item, cursor, KIN__ITEM_VERSION),
  };
}

void kin__item_ask(kin__item *item, const kin__cursor *cursor) {
  const kin__decode_sink *sink = item->sink;
  if (item->was_asked || sink->known == NULL || item->is_unfit ||
      item->texts[KIN__ITEM_NAME].span.length == 0) {
    return;
  }
  item->was_asked = true;
  kin__object_parts identity;
  kin__item_identify(item, cursor, &identity);
  item->is_known = sink->known(sink->ctx, &identity);
}

/* Metadata has ended, or its needed members have all been seen. The rest of a
 * known object is skipped. */
static void ask_early(kin__item *item, kin__cursor *cursor) {
  if ((item->wanted & KIN__ITEM_ASK) == 0) {
    return;
  }
  kin__item_ask(item, cursor);
  if (item->is_known) {
    item->needed_end = cursor->end;
    kin__cursor_skip(cursor, item->depth);
  }
}

/* Leaves the object, or metadata alone, if nothing more is wanted of it. */
static void leave_early(kin__item *item, kin__cursor *cursor,
                        kin__item_place place) {
  const uint32_t wanted = WHOLE_IDENTITY | 1 << KIN__ITEM_LABELS;
  bool has_type = (item->seen & WHOLE_TYPE) == WHOLE_TYPE;
  bool may_leave =
      item->leaves == place && (place == KIN__ITEM_IN_METADATA || has_type);
  if (may_leave && (item->seen & wanted) == wanted && !item->is_known) {
    item->left_levels = has_type ? item->depth : 1;
    kin__cursor_skip(cursor, item->left_levels);
  }
}

/* Tokens. */

static int on_value_end(kin__item *item, kin__cursor *cursor) {
  kin__item_level *level = &item->levels[item->depth - 1];
  int err = end_member(item, level, cursor);
  if (err != 0 || level->place != KIN__ITEM_IN_METADATA) {
    return err;
  }
  if (!item->was_asked && (item->seen & WHOLE_IDENTITY) == WHOLE_IDENTITY) {
    ask_early(item, cursor);
  }
  leave_early(item, cursor, KIN__ITEM_IN_METADATA);
  return 0;
}

/* A scalar on the way to a stored field is dropped, since no field can be inside
 * of it. On the way to a dropped field it stays. An element keeps its place. */
static int on_scalar(kin__item *item, kin__cursor *cursor) {
  kin__item_level *level = &item->levels[item->depth - 1];
  if (level->child != NULL && !level->is_array) {
    level->is_dropping = !kin__projection_keeps_scalar(level->child);
  }
  return on_value_end(item, cursor);
}

static void on_container(kin__item *item, kin__cursor *cursor, int token) {
  kin__item_level *level = &item->levels[item->depth - 1];
  if (token == KIN__TOKEN_OBJECT &&
      level->child_place != KIN__ITEM_NOT_ENTERED) {
    push(item, level->child_place, level->child);
    return;
  }
  if (token == KIN__TOKEN_ARRAY && level->child != NULL) {
    item->field = KIN__ITEM_NO_FIELD;
    push(item, KIN__ITEM_ELSEWHERE, level->child);
    item->levels[item->depth - 1].is_array = true;
    return;
  }
  if (token == KIN__TOKEN_ARRAY) {
    item->field = KIN__ITEM_NO_FIELD;
  } else if (item->field == KIN__ITEM_LABELS) {
    item->labels_begin = cursor->begin;
  }
  kin__cursor_skip(cursor, 1);
}

static int on_end(kin__item *item, kin__cursor *cursor) {
  kin__item_place place = item->levels[--item->depth].place;
  if (item->depth == 0) {
    item->needed_end = cursor->end;
    return 1;
  }
  int err = on_value_end(item, cursor);
  if (err == 0 && place == KIN__ITEM_IN_METADATA) {
    ask_early(item, cursor);
    leave_early(item, cursor, KIN__ITEM_AT_ROOT);
  }
  return err;
}

static int on_skipped(kin__item *item, kin__cursor *cursor) {
  if (item->is_known) {
    return 1;
  }
  if ((item->wanted & KIN__ITEM_OPAQUE) != 0) {
    item->needed_end = cursor->end;
    return 1;
  }
  if (item->left_levels > 0) {
    item->depth -= item->left_levels - 1;
    item->left_levels = 0;
    return on_end(item, cursor);
  }
  if (item->field == KIN__ITEM_LABELS) {
    if (item->is_over) {
      int err = kin__item_end_labels(item, cursor);
      return err == 0 ? on_value_end(item, cursor) : err;
    }
    item->labels = kin__item_span_of(item, cursor->begin, cursor->end);
    item->labels_begin = UINT64_MAX;
  }
  return on_value_end(item, cursor);
}

static int on_token(kin__item *item, kin__cursor *cursor, int token) {
  int err;
  begin_element(item, cursor, token);
  switch (token) {
  case KIN__TOKEN_NAME:
    on_name(item, cursor);
    return 0;
  case KIN__TOKEN_OBJECT:
  case KIN__TOKEN_ARRAY:
    on_container(item, cursor, token);
    return 0;
  case KIN__TOKEN_STRING:
    err = take_string(item, cursor);
    return err == 0 ? on_scalar(item, cursor) : err;
  case KIN__TOKEN_END:
    return on_end(item, cursor);
  case KIN__TOKEN_SKIPPED:
    return on_skipped(item, cursor);
  default:
    return on_scalar(item, cursor);
  }
}

/* Checks the bounds of the object, whose bytes so far end at `end`. */
static int check_bounds(kin__item *item, const kin__cursor *cursor,
                        uint64_t end) {
  uint64_t length = end - item->begin;
  bool is_in_bounds =
      length <= item->bound && (!cursor->is_deep || item->is_over);
  return is_in_bounds ? 0 : kin__item_pass_bound(item, cursor, length);
}

int kin__item_run(kin__item *item, kin__cursor *cursor) {
  int token;
  while ((token = kin__cursor_next(cursor)) > 0) {
    int result = check_bounds(item, cursor, cursor->end);
    if (result == 0) {
      result = on_token(item, cursor, token);
    }
    if (result != 0) {
      return result;
    }
  }
  if (token < 0) {
    return token;
  }
  int err = check_bounds(item, cursor, kin__cursor_span_end(cursor));
  return err == 0 ? kin__item_hold(item, cursor) : err;
}

int kin__item_parts(kin__item *item, const kin__cursor *cursor,
                    kin__object_parts *parts) {
  int err = 0;
  if (item->carry.length > 0) {
    err = carry_to(item, cursor, item->needed_end);
  }
  kin__item_identify(item, cursor, parts);
  if (item->is_unfit) {
    parts->name = kin__str(NULL, 0);
  }
  if (err != 0 || item->is_known) {
    return err;
  }
  if (item->is_over && parts->name.length == 0) {
    return 0; /* nothing to make */
  }
  if (item->is_over) {
    return kin__item_over_parts(item, cursor, parts);
  }
  kin__span whole = kin__item_span_of(item, item->begin, item->needed_end);
  parts->body = kin__item_bytes_of(item, cursor, whole);
  if (item->labels.length > 0) {
    parts->labels =
        kin__str(parts->body.data + item->labels.offset, item->labels.length);
  }
  parts->dropped = item->dropped;
  parts->dropped_count = item->dropped_count;
  return 0;
}
