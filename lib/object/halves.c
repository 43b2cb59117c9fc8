/* SPDX-License-Identifier: MIT */
#include "object/halves.h"

#include <string.h>

#include <kin/error.h>

#include "base/str.h"

/* Behind both frames; not aligned. */
typedef struct tail {
  uint64_t hash;         /* of the front */
  uint32_t begin : 8;    /* of the front in the text */
  uint32_t length : 24;  /* of the front */
  uint32_t frame_length; /* of the front's frame */
} tail;

#define BEGIN_MAX 255u
/* A shorter front is packed about as fast as it is compared. */
#define FRONT_MIN_BYTES 512u

_Static_assert(KIN__PACK_MAX_BYTES < 1u << 24, "a length would not fit");

static const char metadata[] = "\"metadata\":{";
static const char status[] = ",\"status\":{";
#define METADATA_LENGTH (sizeof metadata - 1)
#define STATUS_LENGTH (sizeof status - 1)

/* False for an empty string. */
static bool read_tail(kin_str kept, tail *t) {
  if (kept.length < sizeof *t) {
    return false;
  }
  memcpy(t, kept.data + (kept.length - sizeof *t), sizeof *t);
  return t->frame_length <= kept.length - sizeof *t;
}

/* Where the mark is in the text: at `guess`, or else the first one. */
static const char *find(kin_str text, size_t guess, const char *mark,
                        size_t length) {
  if (guess <= text.length && text.length - guess >= length &&
      memcmp(text.data + guess, mark, length) == 0) {
    return text.data + guess;
  }
  return memmem(text.data, text.length, mark, length);
}

kin__halves_place kin__halves_find(kin_str text, kin_str before) {
  kin__halves_place place = {0};
  tail old = {0};
  (void)read_tail(before, &old);
  size_t within = BEGIN_MAX + METADATA_LENGTH;
  kin_str head =
      kin__str(text.data, text.length < within ? text.length : within);
  const char *begin = find(head, old.begin, metadata, METADATA_LENGTH);
  if (begin == NULL) {
    return place;
  }
  place.begin = (size_t)(begin - text.data);
  const char *end =
      find(kin__str_from(text, place.begin), old.length, status, STATUS_LENGTH);
  if (end != NULL && (size_t)(end - begin) >= FRONT_MIN_BYTES) {
    place.length = (size_t)(end - begin);
  }
  return place;
}

kin_str kin__halves_pack(kin__packer *packer, char *text, size_t length,
                         kin__halves_place place, kin_str before) {
  kin_str front = kin__str(text + place.begin, place.length);
  tail t = {.hash = kin__packer_hash(packer, front),
            .begin = (uint8_t)place.begin,
            .length = (uint32_t)place.length & 0xffffffu};
  tail old;
  bool is_same =
      read_tail(before, &old) && old.hash == t.hash && old.length == t.length;
  kin__packer_begin(packer);
  if (is_same) {
    t.frame_length = old.frame_length;
    kin__packer_put(packer, kin__str(before.data, old.frame_length));
  } else {
    t.frame_length = (uint32_t)kin__packer_put_frame(packer, front);
  }
  /* The rest in one piece, over the end of the front. */
  char *rest = text + place.length;
  memcpy(rest, text, place.begin);
  (void)kin__packer_put_frame(packer, kin__str(rest, length - place.length));
  kin__packer_put(packer, kin__str((const char *)&t, sizeof t));
  return kin__packer_end(packer, length);
}

int kin__halves_inflate(kin__dictionary *dictionary, kin_str kept, char *to,
                        size_t length) {
  tail t;
  if (!read_tail(kept, &t) || t.length > length ||
      t.begin > length - t.length || t.begin > t.length) {
    return KIN_EUNEXPECTED;
  }
  kin_str front = kin__str(kept.data, t.frame_length);
  kin_str rest = kin__str(kept.data + t.frame_length,
                          kept.length - sizeof t - t.frame_length);
  /* The rest comes to the end first. */
  int err = kin__dictionary_inflate(dictionary, rest, to + t.length,
                                    length - t.length);
  if (err == 0) {
    memcpy(to, to + t.length, t.begin);
    err = kin__dictionary_inflate(dictionary, front, to + t.begin, t.length);
  }
  return err;
}
