/* SPDX-License-Identifier: MIT */
#include "decode/item_core.h"

#include <string.h>

#include <kin/error.h>

#include "decode/key_only.h"
#include "object/json.h"

/* An object over a limit is not held. The strings found so far are moved to
 * `strings`; later ones go there directly. Labels are the only value that is
 * collected in parts while the cursor skips it. */

enum { LEVELS_AROUND_LABELS = 2 };

/* Labels. */

int kin__item_hold_labels(kin__item *item, const kin__cursor *cursor,
                          uint64_t end) {
  uint64_t from = item->labels_begin + item->labels_held;
  if (item->labels_begin == UINT64_MAX || item->labels_are_passed ||
      end <= from) {
    return 0;
  }
  if (end - item->labels_begin > KIN__ITEM_LABELS_MAX) {
    item->labels_are_passed = true;
    item->strings.length -= item->labels_held;
    return 0;
  }
  size_t length = (size_t)(end - from);
  item->labels_held += length;
  return kin__buf_append(&item->strings, kin__cursor_at(cursor, from), length);
}

int kin__item_end_labels(kin__item *item, const kin__cursor *cursor) {
  int err = kin__item_hold_labels(item, cursor, cursor->end);
  if (err == 0 && !item->labels_are_passed) {
    item->labels =
        (kin__span){(uint32_t)(item->strings.length - item->labels_held),
                    (uint32_t)item->labels_held};
  }
  item->labels_begin = UINT64_MAX;
  return err;
}

/* Going over. */

static int move_text(kin__item *item, const kin__cursor *cursor,
                     kin__item_string *text) {
  if (text->is_unescaped || text->span.length == 0) {
    return 0;
  }
  kin__span to = {(uint32_t)item->strings.length, text->span.length};
  int err = kin__buf_append_str(&item->strings,
                                kin__item_bytes_of(item, cursor, text->span));
  if (err == 0) {
    *text = (kin__item_string){.span = to, .is_unescaped = true};
  }
  return err;
}

static int move_labels(kin__item *item, const kin__cursor *cursor) {
  kin__span *labels = &item->labels;
  if (labels->length > KIN__ITEM_LABELS_MAX) {
    *labels = (kin__span){0, 0};
  }
  if (labels->length > 0) {
    item->labels_begin = item->begin + labels->offset;
  }
  if (item->labels_begin == UINT64_MAX) {
    return 0;
  }
  /* The labels' bytes so far, or a part of them: first carried bytes, then the
   * span. */
  uint64_t offset = item->labels_begin - item->begin;
  size_t carried =
      offset < item->carry.length ? item->carry.length - (size_t)offset : 0;
  if (labels->length > 0 && labels->length < carried) {
    carried = labels->length;
  }
  if (carried > KIN__ITEM_LABELS_MAX) {
    item->labels_are_passed = true;
    return 0;
  }
  item->labels_held = carried;
  int err = carried > 0 ? kin__buf_append(&item->strings,
                                          item->carry.data + offset, carried)
                        : 0;
  if (err == 0 && labels->length > 0) {
    err = kin__item_hold_labels(item, cursor,
                                item->labels_begin + labels->length);
    labels->offset = (uint32_t)(item->strings.length - labels->length);
    item->labels_begin = UINT64_MAX;
  }
  return err;
}

/* From here on the object is not held. Found strings are copied out of its
 * bytes, which are freed. Nothing is dropped from then on. */
static int go_over(kin__item *item, const kin__cursor *cursor) {
  int err = 0;
  for (size_t i = 0; i < KIN__ITEM_STRINGS && err == 0; i++) {
    err = move_text(item, cursor, &item->texts[i]);
  }
  if (err == 0) {
    err = move_labels(item, cursor);
  }
  if (err != 0) {
    return err;
  }
  item->is_over = true;
  kin__buf_reset(&item->carry, KIN__ITEM_CARRY_KEPT);
  kin__item_free_dropped(item);
  for (uint32_t i = 0; i < item->depth; i++) {
    kin__item_level *level = &item->levels[i];
    level->node = NULL;
    level->child = NULL;
    level->has_dropped = false;
    level->is_dropping = false;
  }
  return 0;
}

int kin__item_pass_bound(kin__item *item, const kin__cursor *cursor,
                         uint64_t length) {
  bool is_opaque = (item->wanted & KIN__ITEM_OPAQUE) != 0;
  if (length > (is_opaque ? item->bound : item->max_passed)) {
    return KIN_ETOOBIG;
  }
  if (is_opaque) {
    return 0; /* too deep: the reader of its body reports that */
  }
  item->bound = item->max_passed;
  return item->is_known ? 0 : go_over(item, cursor);
}

/* The end. */

bool kin__item_is_table(const kin__item *item, const kin__cursor *cursor) {
  static const char group[] = "meta.k8s.io/";
  kin_str kind = kin__item_text_of(item, cursor, KIN__ITEM_KIND);
  kin_str version = kin__item_text_of(item, cursor, KIN__ITEM_API_VERSION);
  return kin__str_equal(kind, KIN__LIT("Table")) &&
         version.length >= sizeof group - 1 &&
         memcmp(version.data, group, sizeof group - 1) == 0;
}

int kin__item_refuse(const kin__item *item, const kin__cursor *cursor,
                     int code) {
  const kin__decode_sink *sink = item->sink;
  if (sink->bad == NULL) {
    return code;
  }
  kin__object_parts identity;
  kin__item_identify(item, cursor, &identity);
  return sink->bad(sink->ctx, code, &identity);
}

/* Makes a small object of `strings`, and appends its body there. */
int kin__item_over_parts(kin__item *item, const kin__cursor *cursor,
                         kin__object_parts *parts) {
  /* This object is no deeper than one that is kept whole: deep labels go. */
  kin_str labels =
      kin__str(item->strings.data + item->labels.offset, item->labels.length);
  if (kin__json_depth(labels) + LEVELS_AROUND_LABELS > item->max_depth) {
    item->labels.length = 0;
  }
  size_t length = item->strings.length;
  int err = kin__buf_reserve(
      &item->strings,
      kin__key_only_bound(length - item->labels.length, item->labels.length));
  if (err != 0) {
    return err;
  }
  kin__item_identify(item, cursor, parts);
  if (item->labels.length > 0) {
    parts->labels =
        kin__str(item->strings.data + item->labels.offset, item->labels.length);
  }
  parts->is_key_only = true;
  parts->received = (uint32_t)(item->needed_end - item->begin);
  kin__key_only_write(item->strings.data + length, parts,
                      kin__item_text_of(item, cursor, KIN__ITEM_API_VERSION),
                      kin__item_text_of(item, cursor, KIN__ITEM_KIND));
  return 0;
}

static size_t copy_cut(char *to, size_t room, kin_str s) {
  size_t length = s.length < room ? s.length : room;
  if (length > 0) {
    memcpy(to, s.data, length);
  }
  return length;
}

void kin__item_note_key(kin__item *item, const kin__cursor *cursor) {
  size_t room = sizeof item->key - 1;
  size_t at = 0;
  if (item->is_open) {
    at = copy_cut(item->key, room,
                  kin__item_text_of(item, cursor, KIN__ITEM_NAMESPACE));
    kin_str name = kin__item_text_of(item, cursor, KIN__ITEM_NAME);
    if (at > 0 && name.length > 0) {
      at += copy_cut(item->key + at, room - at, KIN__LIT("/"));
    }
    at += copy_cut(item->key + at, room - at, name);
  }
  item->key[at] = '\0';
}
