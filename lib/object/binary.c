/* SPDX-License-Identifier: MIT */
#include "object/binary.h"

#include <string.h>

#include <kin/error.h>

#include "base/str.h"

/* In a text, a mark and what follows the mark; neither is in a JSON text:
 *
 *   MARK 'h' bytes     a hash of so many bytes
 *   MARK 'u'           a UUID
 *   MARK 'a'           an address
 *   MARK 't'           a time
 *   MARK 'l' seconds   a time that is so much later than the one before
 *   MARK 'r' place     the next letter's value is in the side at this place
 */
#define MARK '\x02'
enum { LATER = 'l', REPEATED = 'r' };

#define SIDE_MAX_BYTES 4095u
/* So many values of a text are looked at. More would take milliseconds of the
 * loop, and find the side full. */
#define VALUES_MAX 1024u

/* Behind the side; not aligned. */
typedef struct tail {
  uint32_t side : 12;
  uint32_t saved : 20; /* of the text, by marks */
} tail;

_Static_assert(KIN__PACK_MAX_BYTES < 1u << 20, "a length would not fit");

/* --- Without values --------------------------------------------------------- */

typedef struct side {
  char bytes[SIDE_MAX_BYTES];
  size_t length;
  uint32_t time; /* the last one; 0 at first, as the reader's */
} side;

#define PLACES 256u /* of a value that is found again */

/* Whether the side has the bytes already. */
static bool find_place(const side *s, const kin__binary_value *v,
                       size_t *place) {
  size_t within = PLACES - 1 + v->length;
  const char *found = memmem(s->bytes, s->length < within ? s->length : within,
                             v->bytes, v->length);
  *place = found != NULL ? (size_t)(found - s->bytes) : 0;
  return found != NULL;
}

/* Returns what comes behind the mark, at most 4 bytes; 0 if there is no room. */
static size_t put_value(side *s, const kin__binary_value *v, char to[4]) {
  size_t length = 0;
  size_t place;
  if (v->kind == KIN__BINARY_TIME) {
    uint32_t time = kin__binary_seconds(v);
    if (time >= s->time && time - s->time <= UINT8_MAX) {
      to[0] = LATER;
      to[1] = (char)(unsigned char)(time - s->time);
      s->time = time;
      return 2;
    }
  }
  if (find_place(s, v, &place)) {
    to[length++] = REPEATED;
    to[length++] = (char)(unsigned char)place;
  } else if (v->length <= sizeof s->bytes - s->length) {
    memcpy(s->bytes + s->length, v->bytes, v->length);
    s->length += v->length;
  } else {
    return 0;
  }
  if (v->kind == KIN__BINARY_TIME) {
    s->time = kin__binary_seconds(v);
  }
  to[length++] = (char)v->kind;
  if (v->kind == KIN__BINARY_HASH) {
    to[length++] = (char)(unsigned char)v->length;
  }
  return length;
}

/* Returns the length without values. A text with a mark stays as it is. */
static size_t shorten(char *text, size_t length, side *s,
                      const kin__binary_known *known) {
  const char *from = text;
  const char *end = text + length;
  const char *at = kin__binary_first(text, length);
  kin__binary_value v;
  s->length = 0;
  s->time = 0;
  if (length == 0 || memchr(text, MARK, length) != NULL) {
    return length;
  }
  for (unsigned i = 0; i < VALUES_MAX && kin__binary_next(&at, end, &v); i++) {
    char behind[4];
    size_t bytes =
        kin__binary_is_known(known, &v) ? 0 : put_value(s, &v, behind);
    if (bytes > 0) {
      size_t before = (size_t)(v.begin - from);
      memmove(text, from, before);
      text += before;
      *text++ = MARK;
      memcpy(text, behind, bytes);
      text += bytes;
      from = v.end;
    }
  }
  memmove(text, from, (size_t)(end - from));
  return length - (size_t)(from - text);
}

void kin__binary_shorten_samples(kin__samples *samples,
                                 const kin__binary_known *known) {
  const char *from = samples->bytes;
  char *to = samples->bytes;
  side s;
  for (unsigned i = 0; i < samples->count; i++) {
    size_t length = samples->sizes[i];
    memmove(to, from, length);
    from += length;
    samples->sizes[i] = shorten(to, length, &s, known);
    to += samples->sizes[i];
  }
}

kin_str kin__binary_pack(kin__packer *packer, const kin__binary_known *known,
                         char *text, size_t length, bool *is_whole) {
  side s;
  size_t shortened = shorten(text, length, &s, known);
  tail t = {.side = (uint16_t)(s.length & SIDE_MAX_BYTES),
            .saved = (uint32_t)(length - shortened) & 0xfffffu};
  *is_whole = shortened == length;
  kin__packer_begin(packer);
  (void)kin__packer_put_frame(packer, kin__str(text, shortened));
  if (!*is_whole) {
    kin__packer_put(packer, kin__str(s.bytes, s.length));
    kin__packer_put(packer, kin__str((const char *)&t, sizeof t));
  }
  return kin__packer_end(packer, length);
}

/* --- With values ------------------------------------------------------------ */

typedef struct reader {
  const char *from; /* the text without values */
  const char *end;
  char *to;
  kin_str side;
  size_t used;   /* of the side */
  uint32_t time; /* the last one */
} reader;

static bool take_byte(reader *r, unsigned char *byte) {
  bool has_one = r->from < r->end;
  if (has_one) {
    *byte = (unsigned char)*r->from++;
  }
  return has_one;
}

/* Sets the value's bytes: from `place`, or the side's next. */
static bool take_side(reader *r, kin__binary_value *v,
                      const unsigned char *place) {
  size_t at = place != NULL ? *place : r->used;
  if (v->length > sizeof v->bytes || at > r->side.length ||
      v->length > r->side.length - at) {
    return false;
  }
  memcpy(v->bytes, r->side.data + at, v->length);
  r->used += place != NULL ? 0 : v->length;
  return true;
}

static bool take_value(reader *r, kin__binary_value *v) {
  unsigned char letter;
  unsigned char place;
  unsigned char byte = 0;
  bool is_repeated = false;
  if (!take_byte(r, &letter)) {
    return false;
  }
  if (letter == REPEATED) {
    is_repeated = true;
    if (!take_byte(r, &place) || !take_byte(r, &letter)) {
      return false;
    }
  }
  if ((letter == KIN__BINARY_HASH || letter == LATER) && !take_byte(r, &byte)) {
    return false;
  }
  v->kind = (kin__binary_kind)letter;
  switch (letter) {
  case KIN__BINARY_HASH:
    v->length = byte;
    break;
  case KIN__BINARY_UUID:
    v->length = KIN__BINARY_UUID_BYTES;
    break;
  case KIN__BINARY_ADDRESS:
    v->length = KIN__BINARY_ADDRESS_BYTES;
    break;
  case KIN__BINARY_TIME:
    v->length = KIN__BINARY_TIME_BYTES;
    break;
  case LATER:
    kin__binary_set_seconds(v, r->time + byte);
    return true;
  default:
    return false;
  }
  return take_side(r, v, is_repeated ? &place : NULL);
}

/* A value is longer than its mark and what follows the mark. So what is written
 * never passes what is read. */
static bool put_back(reader *r) {
  while (r->from < r->end) {
    const char *mark = memchr(r->from, MARK, (size_t)(r->end - r->from));
    size_t before = (size_t)((mark != NULL ? mark : r->end) - r->from);
    memmove(r->to, r->from, before);
    r->to += before;
    r->from += before;
    if (mark == NULL) {
      break;
    }
    r->from++;
    kin__binary_value v;
    char written[KIN__BINARY_WRITTEN_BYTES];
    if (!take_value(r, &v)) {
      return false;
    }
    size_t its = kin__binary_write(written, &v);
    if (its > (size_t)(r->from - r->to)) {
      return false;
    }
    memcpy(r->to, written, its);
    r->to += its;
    r->time = v.kind == KIN__BINARY_TIME ? kin__binary_seconds(&v) : r->time;
  }
  return r->to == r->end && r->used == r->side.length;
}

int kin__binary_inflate(kin__dictionary *dictionary, kin_str kept, char *to,
                        size_t length) {
  tail t;
  if (kept.length < sizeof t) {
    return KIN_EUNEXPECTED;
  }
  kept.length -= sizeof t;
  memcpy(&t, kept.data + kept.length, sizeof t);
  if (t.side > kept.length || t.saved > length) {
    return KIN_EUNEXPECTED;
  }
  kin_str frame = kin__str(kept.data, kept.length - t.side);
  reader r = {.from = to + t.saved,
              .end = to + length,
              .to = to,
              .side = kin__str(frame.data + frame.length, t.side)};
  int err = kin__dictionary_inflate(dictionary, frame, to + t.saved,
                                    length - t.saved);
  return err != 0 || put_back(&r) ? err : KIN_EUNEXPECTED;
}
