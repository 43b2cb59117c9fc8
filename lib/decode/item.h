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

/* Follows one API object through a cursor: takes its identity and labels out of
 * metadata, notes what the projection drops, and sees to it that its bytes are
 * in one piece when it ends. Shared by the list and the watch decoder.
 *
 * An object that turns out to be over a limit, in bytes or in levels, goes by
 * without being held; the same strings are taken out of it, wherever they come,
 * and what is given is a small object made of them. */

enum { KIN__ITEM_LEVELS = 66, KIN__ITEM_KEY_SIZE = 512 };

/* What a decoder wants of an object; bits. */
enum {
  KIN__ITEM_ASK = 1,         /* sink->known may be asked */
  KIN__ITEM_ANNOTATIONS = 2, /* look for the end of initial events */
  KIN__ITEM_OPAQUE = 4       /* nothing but the bytes */
};

/* The members that mean something; first the strings: four of metadata, and two
 * of the object. */
typedef enum kin__item_field {
  KIN__ITEM_NAMESPACE,
  KIN__ITEM_NAME,
  KIN__ITEM_UID,
  KIN__ITEM_VERSION,
  KIN__ITEM_API_VERSION,
  KIN__ITEM_KIND,
  KIN__ITEM_STRINGS, /* how many strings there are */
  KIN__ITEM_LABELS = KIN__ITEM_STRINGS,
  KIN__ITEM_ANNOTATION_MAP,
  KIN__ITEM_FIELDS,
  KIN__ITEM_INITIAL_EVENTS_END, /* a member of the annotations */
  KIN__ITEM_NO_FIELD
} kin__item_field;

/* Where an entered container lies. */
typedef enum kin__item_place {
  KIN__ITEM_NOT_ENTERED,
  KIN__ITEM_AT_ROOT,
  KIN__ITEM_IN_METADATA,
  KIN__ITEM_IN_ANNOTATIONS,
  KIN__ITEM_ELSEWHERE
} kin__item_place;

/* An entered object and its member in hand, or an array and its element.
 * Offsets are the cursor's. */
typedef struct kin__item_level {
  const struct kin__projection_node *node; /* NULL: all of it is kept */
  const struct kin__projection_node *child;
  uint64_t value_end;  /* of the member before */
  uint64_t drop_begin; /* if is_dropping */
  kin__item_place place;
  kin__item_place child_place;
  bool is_array;
  uint32_t next_index; /* of an array: the next element's */
  bool has_kept;       /* a member, of those so far */
  bool has_dropped;    /* likewise */
  bool is_dropping;    /* the member in hand */
} kin__item_level;

typedef struct kin__item_string {
  kin__span span; /* of the object's bytes, or of `strings` */
  bool is_unescaped;
} kin__item_string;

typedef struct kin__item {
  /* What has been found; see also kin__item_parts. */
  bool is_open;  /* between begin and close: an object is in hand */
  bool is_known; /* the sink has it; its bytes are gone */
  bool is_over;  /* a limit: neither carry nor dropped is used any more, all
                  * strings are in `strings`, as are the labels */
  bool is_unfit; /* one of the four strings of metadata is longer than any of an
                  * object of an API */
  bool is_initial_events_end;

  /* The rest belongs to item.c. */
  const kin__decode_sink *sink;
  const struct kin__projection_node *root;
  uint32_t max_bytes;
  uint32_t max_passed;
  uint32_t max_depth;
  uint32_t bound;    /* that applies now: the first, then the second */
  unsigned wanted;   /* bits, see above */
  bool has_metadata; /* or is in it */
  bool was_asked;
  uint64_t begin;        /* cursor's offset of the object's first byte */
  uint64_t needed_end;   /* bytes from here on are not needed; UINT64_MAX while
                         * the object has not ended and is not known */
  uint32_t seen;         /* bits of the fields that have begun */
  kin__item_field field; /* of the member in hand */
  kin__item_string texts[KIN__ITEM_STRINGS];
  kin__span labels;
  uint64_t labels_begin;  /* while they are skipped, else UINT64_MAX */
  size_t labels_held;     /* is_over: bytes of them in `strings` so far */
  bool labels_are_passed; /* is_over: they are too long */
  kin__item_level levels[KIN__ITEM_LEVELS];
  uint32_t depth; /* of levels in use */
  kin__span *dropped;
  size_t dropped_count;
  size_t dropped_capacity;
  kin__buf carry;   /* the object's bytes of spans that are gone */
  kin__buf strings; /* those that had escapes; see is_over */
  char key[KIN__ITEM_KEY_SIZE];
} kin__item;

/* The limits with 0 replaced by the defaults, 16 MiB (WS-04),
 * KIN__JSON_DEPTH_MAX levels and 1 GiB. */
kin__decode_limits kin__item_limits(const kin__decode_limits *given);

/* Allocates nothing. Allocator, projection and sink must outlive the item. */
void kin__item_init(kin__item *item, const kin_allocator *allocator,
                    const kin__decode_limits *limits,
                    const kin__projection *projection,
                    const kin__decode_sink *sink);
void kin__item_finish(kin__item *item);

/* The cursor's last token is the KIN__TOKEN_OBJECT that begins it. */
void kin__item_begin(kin__item *item, kin__cursor *cursor, unsigned wanted);

/* Takes tokens. Returns 1 when the object has ended, 0 when the cursor needs
 * more bytes (what is needed of the span has then been held), or an error of
 * the cursor, KIN_ETOOBIG (over max_passed_bytes; over max_object_bytes if it
 * is opaque) or KIN_ENOMEM. */
int kin__item_run(kin__item *item, kin__cursor *cursor);

/* Saves what is needed of the span in hand before it goes: for an object that
 * has ended and is not given away yet. Errors: KIN_ETOOBIG, KIN_ENOMEM. */
int kin__item_hold(kin__item *item, const kin__cursor *cursor);

/* Asks the sink whether it has the object, unless it was asked or cannot be. */
void kin__item_ask(kin__item *item, const kin__cursor *cursor);

/* The parts of an object that has ended: borrowed until the next call of run,
 * hold, parts or close. The name is empty if the object is none of an API: see
 * kin__item_refuse. Errors: KIN_ENOMEM. */
int kin__item_parts(kin__item *item, const kin__cursor *cursor,
                    kin__object_parts *parts);

/* Its namespace, name, uid and version alone; borrowed the same. */
void kin__item_identify(const kin__item *item, const kin__cursor *cursor,
                        kin__object_parts *identity);

/* Whether an object that has ended is a Table of meta.k8s.io (RL-10, RW-08). */
bool kin__item_is_table(const kin__item *item, const kin__cursor *cursor);

/* Tells the sink of an object that cannot be given. Returns 0 if it is to be
 * skipped, else `code` or what the sink returned. */
int kin__item_refuse(const kin__item *item, const kin__cursor *cursor,
                     int code);

/* The object is done with. */
void kin__item_close(kin__item *item);

/* Writes the key of the object in hand, as far as it was seen, to item->key
 * (cut); "" if there is none. The span in hand must still be there. */
void kin__item_note_key(kin__item *item, const kin__cursor *cursor);

#endif /* KIN_DECODE_ITEM_H */
