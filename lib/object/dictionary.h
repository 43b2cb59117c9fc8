/* SPDX-License-Identifier: MIT */
#ifndef KIN_OBJECT_DICTIONARY_H
#define KIN_OBJECT_DICTIONARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kin/allocator.h>
#include <kin/object.h>
#include <kin/str.h>

#include "base/library.h"

/* Compression of small texts that resemble each other (zstd). Their common
 * parts are in a dictionary, which is made of samples. A packed object
 * holds a reference to its dictionary. So dictionaries can be renewed while
 * older objects live. */

/* Texts that are packed: shorter ones gain nothing, longer ones would take more
 * than a millisecond of the loop. */
#define KIN__PACK_MIN_BYTES 128u
#define KIN__PACK_MAX_BYTES (128u << 10)
/* A packed text has at most three quarters of its length. */
#define KIN__PACK_BOUND(length) ((length) - (length) / 4)

#define KIN__SAMPLES_MAX 512u
#define KIN__SAMPLE_BYTES_MAX (4u << 20) /* of all samples */
#define KIN__DICTIONARY_BYTES (64u << 10)
#define KIN__LARGE_DICTIONARY_BYTES (112u << 10) /* if small and thorough */

/* Whether the library was built with zstd, and the zstd in use. */
bool kin__pack_is_supported(void);
kin__library kin__pack_library(void);

/* Shared by all dictionaries of one informer. Counted, atomically. */
typedef struct kin__packing kin__packing;
typedef struct kin__dictionary kin__dictionary;

/* NULL if out of memory. `on_noted` is called on the thread that has inflated a
 * text in place. `is_first`: nothing was noted since kin__inflated_take. See
 * kin__inflated_has_callers for the last call. */
kin__packing *kin__packing_new(const kin_allocator *allocator,
                               void (*on_noted)(void *ctx, bool is_first),
                               void *ctx);
void kin__packing_unref(kin__packing *packing);
/* Dictionaries that exist, retired ones included. */
unsigned kin__packing_dictionaries(const kin__packing *packing);

/* Texts for a dictionary, one behind the other. */
typedef struct kin__samples {
  char *bytes;
  size_t sizes[KIN__SAMPLES_MAX];
  unsigned count;
} kin__samples;

/* Makes a dictionary with one reference; on any thread, but one at a time for a
 * packing. It takes 2 ms for 64 samples, and 30 ms if it `is_thorough`: with a
 * selection of repeated parts, instead of the last samples as they are.
 * `is_small`: texts get a quarter smaller, for seven times the time; texts of
 * 16 KiB and more do not. The samples are stripped (strip.h). Errors:
 * KIN_ENOMEM. */
int kin__dictionary_new(kin__dictionary **out, kin__packing *packing,
                        kin__samples *samples, bool is_small, bool is_thorough);
kin__dictionary *kin__dictionary_ref(kin__dictionary *dictionary);
/* On any thread. O(1). NULL is allowed. */
void kin__dictionary_unref(kin__dictionary *dictionary);
kin__packing *kin__dictionary_packing(const kin__dictionary *dictionary);
/* From 1 on. Another dictionary of the packing has the same number only if 254
 * were made in between. */
uint8_t kin__dictionary_number(const kin__dictionary *dictionary);

/* Packs on one thread. NULL if out of memory. */
typedef struct kin__packer kin__packer;
kin__packer *kin__packer_new(const kin_allocator *allocator);
/* NULL is allowed. */
void kin__packer_free(kin__packer *packer);
/* Packs with this dictionary from now on, and keeps a reference. Retires the
 * one before, if no other packer uses it. */
void kin__packer_use(kin__packer *packer, kin__dictionary *dictionary);
/* NULL before the first kin__packer_use. */
kin__dictionary *kin__packer_dictionary(const kin__packer *packer);
/* KIN__PACK_MAX_BYTES for a text that will be packed. */
char *kin__packer_room(kin__packer *packer);
/* The frame, valid until the next call. Empty: the text is longer than
 * KIN__PACK_MAX_BYTES, or does not get to its bound, or memory ran out. What is
 * left of a stripped text may be shorter than KIN__PACK_MIN_BYTES. */
kin_str kin__packer_pack(kin__packer *packer, kin_str text);

/* The same of a text in pieces: begin, put, and end with the length of the whole
 * text. A piece that fails makes the result empty. */
void kin__packer_begin(kin__packer *packer);
/* Bytes as they are. */
void kin__packer_put(kin__packer *packer, kin_str bytes);
/* One frame; returns its length. */
size_t kin__packer_put_frame(kin__packer *packer, kin_str text);
kin_str kin__packer_end(kin__packer *packer, size_t text_length);
/* Whether memory ran out since kin__packer_begin. */
bool kin__packer_lacks_memory(const kin__packer *packer);
/* How texts should be packed. Not NULL: small, without the values of binary.h
 * but for these. NULL: fast, in the halves of halves.h. */
const struct kin__binary_known *kin__packer_known(const kin__packer *packer);
/* The hash of a half. */
uint64_t kin__packer_hash(const kin__packer *packer, kin_str text);

/* Writes the text, of `length` bytes, to `to`; on any thread. Errors:
 * KIN_ENOMEM, KIN_EUNEXPECTED (no frame of this length: never for a frame of
 * kin__packer_pack). */
int kin__dictionary_inflate(kin__dictionary *dictionary, kin_str frame,
                            char *to, size_t length);

/* --- Labels --------------------------------------------------------------- */

/* Names and values of labels that the samples repeat are kept once, in the
 * dictionary. A code of one or two bytes stands for one of them. Other strings
 * stand among the codes, as they are. */

/* Writes the codes of the labels, which are JSON text without escapes, to `to`.
 * Returns the bytes written; 0 if these would be more than `size`, or if the
 * labels cannot be coded. */
size_t kin__dictionary_encode_labels(const kin__dictionary *dictionary,
                                     kin_str labels, char *to, size_t size);
/* The table of the codes. */
const struct kin__label_table *
kin__dictionary_labels(const kin__dictionary *dictionary);
/* Looks a label up, as kin_object_label. */
bool kin__dictionary_label(const kin__dictionary *dictionary, kin_str codes,
                           kin_str name, kin_str *value);

/* --- Texts that are inflated and held by their objects -------------------- */

/* An inflated text belongs to its object, and is noted here, so that the owner
 * of the objects can take it away again. */
typedef struct kin__inflated {
  struct kin__inflated *next;
  kin_object *object;          /* a reference while the text is noted */
  struct kin__inflated *older; /* another text of the object, not noted */
  size_t length;
  char text[];
} kin__inflated;

/* Inflated texts of one informer at a time. */
#define KIN__INFLATED_MAX_BYTES (256u << 20)

kin__inflated *kin__inflated_new(kin__packing *packing, size_t length);
/* And the older ones. */
void kin__inflated_free(kin__packing *packing, kin__inflated *inflated);
/* On any thread. False if nobody takes notes any more. */
bool kin__inflated_note(kin__packing *packing, kin__inflated *inflated);
/* Whether kin__inflated_take has something to take. */
bool kin__inflated_is_noted(const kin__packing *packing);
/* All that were noted since the last call. */
kin__inflated *kin__inflated_take(kin__packing *packing);
/* Closes if nothing is noted, and returns NULL. Otherwise returns the notes, as
 * kin__inflated_take. After the close nothing is noted, and objects free their
 * texts themselves (kin__packed_let_go). So the owner first holds the object of
 * each note that is left (kin__packed_hold), and later disowns the note
 * (kin__packed_disown). */
kin__inflated *kin__inflated_close(kin__packing *packing);
bool kin__inflated_is_closed(const kin__packing *packing);
/* Once this is false after kin__inflated_close, nobody calls on_noted any
 * more. A forked child has none of the threads that were calling. */
bool kin__inflated_has_callers(const kin__packing *packing);

/* After kin__inflated_close, a text that nobody holds is no object's. It lives
 * until so many others are kept. */
#define KIN__LATE_TEXTS 16u
void kin__inflated_keep(kin__packing *packing, kin__inflated *inflated);

#endif /* KIN_OBJECT_DICTIONARY_H */
