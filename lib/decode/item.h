/* SPDX-License-Identifier: MIT */
#ifndef KIN_DECODE_ITEM_H
#define KIN_DECODE_ITEM_H

#include <stdbool.h>
#include <stdint.h>

#include <kin/allocator.h>

#include "base/buf.h"
#include "decode/cursor.h"
#include "decode/projection.h"
#include "decode/sink.h"
#include "object/object.h"

/* Follows one API object through a cursor. It takes identity and labels out of
 * metadata, notes what the projection drops, and has the object's bytes in one
 * piece at the end. The list and the watch decoder share it.
 *
 * An object over a limit, in bytes or in levels, is not held. The same strings
 * are taken out of it wherever they come, and the sink gets a small object made
 * of them. */

enum { KIN__ITEM_LEVELS = 66, KIN__ITEM_KEY_SIZE = 512 };

/* The parts of an object that a decoder asks for; bits. */
enum {
  KIN__ITEM_ASK = 1,         /* sink->known may be asked */
  KIN__ITEM_ANNOTATIONS = 2, /* look for k8s.io/initial-events-end */
  KIN__ITEM_OPAQUE = 4       /* the bytes only */
};

/* Bytes of an opaque item at most, if the limit of objects is not less. It is a
 * Status, which is parsed in one step. */
#define KIN__ITEM_OPAQUE_MAX (64u << 10)

/* The members that are read. First the strings: four of metadata, and two of
 * the object. */
typedef enum kin__item_field {
  KIN__ITEM_NAMESPACE,
  KIN__ITEM_NAME,
  KIN__ITEM_UID,
  KIN__ITEM_VERSION,
  KIN__ITEM_API_VERSION,
  KIN__ITEM_KIND,
  KIN__ITEM_STRINGS, /* the number of strings */
  KIN__ITEM_LABELS = KIN__ITEM_STRINGS,
  KIN__ITEM_ANNOTATION_MAP,
  KIN__ITEM_FIELDS,
  KIN__ITEM_INITIAL_EVENTS_END, /* a member of the annotations */
  KIN__ITEM_NO_FIELD
} kin__item_field;

/* The place of an entered container. */
typedef enum kin__item_place {
  KIN__ITEM_NOT_ENTERED,
  KIN__ITEM_AT_ROOT,
  KIN__ITEM_IN_METADATA,
  KIN__ITEM_IN_ANNOTATIONS,
  KIN__ITEM_ELSEWHERE
} kin__item_place;

/* An entered object and its current member, or an array and its current
 * element. Offsets are the cursor's. */
typedef struct kin__item_level {
  const struct kin__projection_node *node; /* NULL: everything is kept */
  const struct kin__projection_node *child;
  uint64_t value_end;  /* of the previous member */
  uint64_t drop_begin; /* if the member is or may be dropped */
  kin__item_place place;
  kin__item_place child_place;
  bool is_array;
  uint32_t next_index; /* in an array: the next element's */
  bool has_kept;       /* one of the members so far was kept */
  bool has_dropped;    /* one of the members so far was dropped */
  bool is_dropping;    /* the current member is dropped */
} kin__item_level;

typedef struct kin__item_string {
  kin__span span; /* in the object's bytes, or in `strings` */
  bool is_unescaped;
} kin__item_string;

typedef struct kin__item {
  /* The results; see also kin__item_parts. */
  bool is_open;  /* between begin and close */
  bool is_known; /* the sink has the object; its bytes are gone */
  bool is_over;  /* over a limit: carry and dropped are no longer used; all
                  * strings and the labels are in `strings` */
  bool is_unfit; /* a string of metadata is longer than any API object may
                  * have */
  bool is_initial_events_end;

  /* The rest belongs to item.c. */
  const kin__decode_sink *sink;
  const struct kin__projection_node *root;
  uint32_t max_bytes;
  uint32_t max_passed;
  uint32_t max_depth;
  uint32_t bound;    /* the bound in force: the first, then the second */
  unsigned wanted;   /* bits: KIN__ITEM_ASK and others */
  bool has_metadata; /* metadata was seen, or is being read */
  bool was_asked;
  uint64_t begin;         /* cursor's offset of the object's first byte */
  uint64_t needed_end;    /* bytes from here on are not needed; UINT64_MAX until
                          * the object has ended or is known */
  uint32_t seen;          /* bits: fields that have begun */
  kin__item_place leaves; /* where the rest is skipped when nothing more is
                           * wanted: IN_METADATA, AT_ROOT (behind metadata), or
                           * nowhere */
  uint32_t left_levels;  /* whose rest is being skipped, because nothing more is
                          * wanted of it; 0: none */
  kin__item_field field; /* of the current member */
  kin__item_string texts[KIN__ITEM_STRINGS];
  kin__span labels;
  uint64_t labels_begin;  /* begin of labels being skipped, else UINT64_MAX */
  size_t labels_held;     /* is_over: bytes of the labels in `strings` so far */
  bool labels_are_passed; /* is_over: the labels are too long to keep */
  kin__item_level levels[KIN__ITEM_LEVELS];
  uint32_t depth; /* levels in use */
  kin__span *dropped;
  size_t dropped_count;
  size_t dropped_capacity;
  kin__buf carry;   /* the object's bytes from earlier spans */
  kin__buf strings; /* strings that had escapes; see is_over */
  char key[KIN__ITEM_KEY_SIZE];
} kin__item;

/* The limits; 0 becomes the default: 16 MiB (WS-04), KIN__JSON_DEPTH_MAX
 * levels, and 1 GiB. */
kin__decode_limits kin__item_limits(const kin__decode_limits *given);

/* Allocates nothing. Allocator and sink must outlive the item. */
void kin__item_init(kin__item *item, const kin_allocator *allocator,
                    const kin__decode_sink *sink);
/* Sets the limits (of kin__item_limits) and the projection, which must outlive
 * its use, for the objects to come. The item must not be open. */
void kin__item_serve(kin__item *item, const kin__decode_limits *limits,
                     const kin__projection *projection);
void kin__item_finish(kin__item *item);

/* The cursor's last token must be the KIN__TOKEN_OBJECT that begins the
 * object. */
void kin__item_begin(kin__item *item, kin__cursor *cursor, unsigned wanted);

/* Takes tokens. Returns 1 when the object has ended. Returns 0 when the cursor
 * needs more bytes; the needed part of the span has then been saved. Errors:
 * the cursor's, KIN_ETOOBIG (over max_passed_bytes; over max_object_bytes or
 * KIN__ITEM_OPAQUE_MAX if opaque), KIN_ENOMEM. */
int kin__item_run(kin__item *item, kin__cursor *cursor);

/* Saves the needed part of the current span before the span goes: for an object
 * that has ended and is not given to the sink yet. Errors: KIN_ETOOBIG,
 * KIN_ENOMEM. */
int kin__item_hold(kin__item *item, const kin__cursor *cursor);

/* Asks the sink whether it has the object. Does nothing if the sink was asked
 * or cannot be asked. */
void kin__item_ask(kin__item *item, const kin__cursor *cursor);

/* The parts of an object that has ended, borrowed until the next call of run,
 * hold, parts or close. The name is empty if the object is no API object: see
 * kin__item_refuse. Errors: KIN_ENOMEM. */
int kin__item_parts(kin__item *item, const kin__cursor *cursor,
                    kin__object_parts *parts);

/* Namespace, name, uid and version alone; borrowed likewise. */
void kin__item_identify(const kin__item *item, const kin__cursor *cursor,
                        kin__object_parts *identity);

/* Whether an object that has ended is a Table of meta.k8s.io (RL-10, RW-08). */
bool kin__item_is_table(const kin__item *item, const kin__cursor *cursor);

/* Tells the sink of an object that cannot be given. Returns 0 to skip the
 * object, else `code` or the sink's result. */
int kin__item_refuse(const kin__item *item, const kin__cursor *cursor,
                     int code);

/* Ends the work on the object. */
void kin__item_close(kin__item *item);

/* Writes the key of the current object, as far as it was seen, to item->key
 * (cut); "" if there is none. The current span must still be there. */
void kin__item_note_key(kin__item *item, const kin__cursor *cursor);

#endif /* KIN_DECODE_ITEM_H */
