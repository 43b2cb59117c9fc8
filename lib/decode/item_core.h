/* SPDX-License-Identifier: MIT */
#ifndef KIN_DECODE_ITEM_CORE_H
#define KIN_DECODE_ITEM_CORE_H

#include "base/str.h"
#include "decode/item.h"

/* Shared by the two files of an item: item.c follows the object; item_over.c
 * handles an object over a limit, and the object's end. */

enum {
  KIN__ITEM_LABELS_MAX = KIN__CURSOR_TEXT_MAX, /* of an object over the limit */
  KIN__ITEM_TEXTS_MAX = KIN__ITEM_STRINGS * KIN__CURSOR_TEXT_MAX,
  KIN__ITEM_CARRY_KEPT = 64 * 1024, /* of a buffer, kept between objects */
  KIN__ITEM_SPANS_KEPT = KIN__ITEM_CARRY_KEPT / sizeof(kin__span)
};

void kin__item_free_dropped(kin__item *item);

/* The offsets fit an uint32_t: the object's length so far was checked against a
 * bound. */
static inline kin__span kin__item_span_of(const kin__item *item, uint64_t begin,
                                          uint64_t end) {
  return (kin__span){(uint32_t)(begin - item->begin), (uint32_t)(end - begin)};
}

static inline kin_str kin__item_bytes_of(const kin__item *item,
                                         const kin__cursor *cursor,
                                         kin__span span) {
  if (span.offset < item->carry.length) {
    return kin__str(item->carry.data + span.offset, span.length);
  }
  return kin__str(kin__cursor_at(cursor, item->begin + span.offset),
                  span.length);
}

static inline kin_str kin__item_text_of(const kin__item *item,
                                        const kin__cursor *cursor,
                                        kin__item_field field) {
  const kin__item_string *text = &item->texts[field];
  if (text->span.length == 0) {
    return kin__str(NULL, 0);
  }
  return text->is_unescaped ? kin__str(item->strings.data + text->span.offset,
                                       text->span.length)
                            : kin__item_bytes_of(item, cursor, text->span);
}

/* The object is `length` bytes long, which is over its bound, or is too deep.
 * From here on it is not held, up to the next bound. Errors: KIN_ETOOBIG (it
 * must be held, or that was the last bound), KIN_ENOMEM. */
int kin__item_pass_bound(kin__item *item, const kin__cursor *cursor,
                         uint64_t length);

/* For an object over the limit. hold_labels: keeps the labels that are being
 * skipped, if any, up to `end` in the current span. end_labels: the labels have
 * ended. over_parts: as kin__item_parts. */
int kin__item_hold_labels(kin__item *item, const kin__cursor *cursor,
                          uint64_t end);
int kin__item_end_labels(kin__item *item, const kin__cursor *cursor);
int kin__item_over_parts(kin__item *item, const kin__cursor *cursor,
                         kin__object_parts *parts);

#endif /* KIN_DECODE_ITEM_CORE_H */
