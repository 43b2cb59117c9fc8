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
 * the containers it wants to look into and skips the others at the speed of the
 * scanner.
 *
 *   kin__cursor_parse(&cursor, bytes, length);
 *   while ((token = kin__cursor_next(&cursor)) > 0) ...   0: feed more
 *
 * Where values are entered the grammar is checked in full, but for escapes in
 * strings that nobody wants, and for what is beyond KIN__CURSOR_TEXT_MAX.
 * Inside skipped values only strings and the balance of brackets are. UTF-8 is
 * not checked; a byte order mark is no JSON. */
typedef enum kin__token {
  KIN__TOKEN_MORE = 0, /* the span is used up; errors are negative */
  KIN__TOKEN_OBJECT,   /* begins, and has been entered */
  KIN__TOKEN_ARRAY,    /* begins, and has been entered */
  KIN__TOKEN_END,      /* of the container entered last */
  KIN__TOKEN_SKIPPED,  /* what kin__cursor_skip was told has been skipped */
  KIN__TOKEN_NAME,     /* of a member; its value follows; see text */
  KIN__TOKEN_STRING,   /* see text if it was wanted */
  KIN__TOKEN_PRIMITIVE /* number, true, false or null; see text */
} kin__token;

enum {
  KIN__CURSOR_LEVELS = 128, /* of entered containers; more are KIN_EDEPTH */
  KIN__CURSOR_TEXT_MAX =
      65535, /* bytes of a name, number or wanted string, as written; of a
              * longer one there are only the first KIN__CURSOR_TEXT_MAX + 1 */
};

typedef struct kin__cursor {
  /* The last token. Offsets count from the first byte ever fed. */
  uint64_t begin; /* of its first byte (of the bracket for what was skipped) */
  uint64_t end;   /* after its last byte */
  kin_str text;   /* valid until the next call of next or feed */
  bool escaped;   /* text was unescaped: it is not what the bytes are */
  uint32_t depth; /* of entered containers */
  bool is_deep;   /* there was a value below kin__cursor_bound */

  /* The rest belongs to cursor.c. */
  const kin__scanner *scanner;
  const char *bytes; /* the span in hand */
  size_t length;
  size_t at;     /* the next byte to look at */
  uint64_t base; /* offset of bytes[0] */
  int state;
  bool many;        /* top-level values may follow one another */
  bool is_name;     /* the string being read is a member's name */
  bool is_wanted;   /* the string being read is */
  bool want_string; /* the next string will be */
  bool ends_in_backslash;
  uint64_t max_depth;   /* of containers that are open; UINT64_MAX: any */
  uint32_t skip_levels; /* containers that are left when skipping ends */
  kin__skip skip;
  uint64_t object_bits[KIN__CURSOR_LEVELS / 64]; /* which levels are objects */
  kin__buf buf; /* a token's text that spans do not hold in one piece */
} kin__cursor;

/* Allocates nothing. The allocator must outlive the cursor. `many`: the text is
 * a sequence of values, not one. */
void kin__cursor_init(kin__cursor *cursor, const kin_allocator *allocator,
                      bool many);
void kin__cursor_finish(kin__cursor *cursor);

/* Ready for another text. */
void kin__cursor_reset(kin__cursor *cursor);

/* The next bytes; the last span must be used up. They must stay in place until
 * kin__cursor_next has returned KIN__TOKEN_MORE. */
void kin__cursor_parse(kin__cursor *cursor, const char *bytes, size_t length);

/* The next token. Errors: KIN_EJSON, KIN_EDEPTH (over KIN__CURSOR_LEVELS are
 * entered), KIN_ENOMEM; the cursor is then dead until it is reset. */
int kin__cursor_next(kin__cursor *cursor);

/* Right after KIN__TOKEN_OBJECT or KIN__TOKEN_ARRAY: from here on is_deep says
 * whether anything has been nested over so many levels, of which that container
 * is the first. What is deeper is read all the same. */
void kin__cursor_bound(kin__cursor *cursor, uint32_t levels);

/* Whether the text of the last token is only its beginning. */
static inline bool kin__cursor_is_cut(const kin__cursor *cursor) {
  return cursor->text.length > KIN__CURSOR_TEXT_MAX;
}

/* After KIN__TOKEN_NAME: if the value is a string, its text is wanted. */
void kin__cursor_want_string(kin__cursor *cursor);

/* Skips to the end of the `levels` containers entered last (at least 1); the
 * next token is then KIN__TOKEN_SKIPPED. Right after KIN__TOKEN_OBJECT or
 * KIN__TOKEN_ARRAY, 1 skips that value. Not after KIN__TOKEN_NAME. */
void kin__cursor_skip(kin__cursor *cursor, uint32_t levels);

/* Whether all values that began have ended: for a single value whether it has
 * been seen, for many also before the first. */
bool kin__cursor_is_complete(const kin__cursor *cursor);

/* The byte at an offset that lies in the span in hand. */
static inline const char *kin__cursor_at(const kin__cursor *cursor,
                                         uint64_t offset) {
  return cursor->bytes + (offset - cursor->base);
}

/* Offset of the first byte after the span in hand, and of its first. */
static inline uint64_t kin__cursor_span_end(const kin__cursor *cursor) {
  return cursor->base + cursor->length;
}

#endif /* KIN_DECODE_CURSOR_H */
