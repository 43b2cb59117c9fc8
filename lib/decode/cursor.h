/* SPDX-License-Identifier: MIT */
#ifndef KIN_DECODE_CURSOR_H
#define KIN_DECODE_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kin/allocator.h>
#include <kin/str.h>

#include "base/buf.h"
#include "base/scan.h"

/* A walk over JSON text that arrives in spans of any size. The caller enters
 * the containers that it needs. The others are skipped at the scanner's speed.
 *
 *   kin__cursor_parse(&cursor, bytes, length);
 *   while ((token = kin__cursor_next(&cursor)) > 0) ...   0: feed more
 *
 * In entered containers the grammar is checked in full, with two exceptions:
 * escapes in strings that the caller does not want, and bytes beyond
 * KIN__CURSOR_TEXT_MAX. Inside skipped values only strings and the balance of
 * brackets are checked. UTF-8 is not checked. A byte order mark is not JSON. */
typedef enum kin__json_token {
  KIN__TOKEN_MORE = 0, /* the span is used up; errors are negative */
  KIN__TOKEN_OBJECT,   /* begins, and has been entered */
  KIN__TOKEN_ARRAY,    /* begins, and has been entered */
  KIN__TOKEN_END,      /* of the container entered last */
  KIN__TOKEN_SKIPPED,  /* the value of kin__cursor_skip has been skipped */
  KIN__TOKEN_NAME,     /* of a member; its value follows; see text */
  KIN__TOKEN_STRING,   /* see text if it was wanted */
  KIN__TOKEN_PRIMITIVE /* number, true, false or null; see text */
} kin__json_token;

enum {
  KIN__CURSOR_LEVELS = 128, /* of entered containers; beyond: KIN_EDEPTH */
  KIN__CURSOR_TEXT_MAX =
      65535, /* bytes of a name, number or wanted string, as written; a longer
              * text is cut to its first KIN__CURSOR_TEXT_MAX + 1 */
};

typedef struct kin__cursor {
  /* The last token. Offsets count from the first byte ever fed. */
  uint64_t begin; /* of its first byte (SKIPPED: of the bracket) */
  uint64_t end;   /* after its last byte */
  kin_str text;   /* valid until the next call of next or feed */
  bool escaped;   /* text was unescaped: it differs from the bytes */
  uint32_t depth; /* of entered containers */
  bool is_deep;   /* a value was below the limit of kin__cursor_bound */

  /* The rest belongs to cursor.c. */
  const kin__scanner *scanner;
  const char *bytes; /* the current span */
  size_t length;
  size_t at;     /* the next byte to look at */
  uint64_t base; /* offset of bytes[0] */
  int state;
  bool many;        /* top-level values may follow one another */
  bool is_name;     /* the string in progress is a member's name */
  bool is_wanted;   /* the text of the string in progress is wanted */
  bool want_string; /* the text of the next string is wanted */
  bool ends_in_backslash;
  uint64_t max_depth;   /* of containers that are open; UINT64_MAX: any */
  uint32_t skip_levels; /* open containers when skipping ends */
  kin__skip skip;
  /* bit set: the level is an object */
  uint64_t object_bits[KIN__CURSOR_LEVELS / 64];
  kin__buf buf; /* the text of a token that is split over spans */
} kin__cursor;

/* Allocates nothing. The allocator must outlive the cursor. `many`: the text is
 * a sequence of values, else one value. */
void kin__cursor_init(kin__cursor *cursor, const kin_allocator *allocator,
                      bool many);
void kin__cursor_finish(kin__cursor *cursor);

/* Prepares the cursor for another text. */
void kin__cursor_reset(kin__cursor *cursor);

/* Gives the next bytes; the last span must be used up. The bytes must stay in
 * place until kin__cursor_next has returned KIN__TOKEN_MORE. */
void kin__cursor_parse(kin__cursor *cursor, const char *bytes, size_t length);

/* The next token. After an error only a reset is legal. Errors: KIN_EJSON,
 * KIN_EDEPTH (over KIN__CURSOR_LEVELS are entered), KIN_ENOMEM. */
int kin__cursor_next(kin__cursor *cursor);

/* Call it right after KIN__TOKEN_OBJECT or KIN__TOKEN_ARRAY. From then on
 * is_deep says whether anything is nested over `levels` levels; that container
 * is the first level. Deeper values are still read. */
void kin__cursor_bound(kin__cursor *cursor, uint32_t levels);

/* Whether the text of the last token is only its beginning. */
static inline bool kin__cursor_is_cut(const kin__cursor *cursor) {
  return cursor->text.length > KIN__CURSOR_TEXT_MAX;
}

/* After KIN__TOKEN_NAME: the caller wants the text if the value is a string. */
void kin__cursor_want_string(kin__cursor *cursor);

/* Skips to the end of the `levels` containers entered last (at least 1). The
 * next token is KIN__TOKEN_SKIPPED. Right after KIN__TOKEN_OBJECT or
 * KIN__TOKEN_ARRAY, 1 skips that value. Not allowed after KIN__TOKEN_NAME. */
void kin__cursor_skip(kin__cursor *cursor, uint32_t levels);

/* Whether all values that began have ended. A single value must have been seen;
 * for `many`, true before the first, too. */
bool kin__cursor_is_complete(const kin__cursor *cursor);

/* The byte at an offset that lies in the current span. */
static inline const char *kin__cursor_at(const kin__cursor *cursor,
                                         uint64_t offset) {
  return cursor->bytes + (offset - cursor->base);
}

/* The offset of the first byte after the current span; the offset of the span's
 * first byte. */
static inline uint64_t kin__cursor_span_end(const kin__cursor *cursor) {
  return cursor->base + cursor->length;
}

#endif /* KIN_DECODE_CURSOR_H */
