/* SPDX-License-Identifier: MIT */
#ifndef KIN_OBJECT_PACKED_H
#define KIN_OBJECT_PACKED_H

#include <stdbool.h>

#include "object/dictionary.h"
#include "object/object.h"

/* Objects with a packed body: the functions of object.c for these. Without zstd
 * there are none (packed_none.c).
 *
 * The body of a packed object is
 *
 *   dictionary | text, if inflated | length of the text | frame
 *
 * or what halves.h or binary.h keep in place of the frame, and uid, version and
 * labels are among the strings. A text that is asked for in place
 * (kin__object_text) is inflated once and belongs to the object. The informer
 * drops it when nobody can read it any more (kin__packed_drop_text). Otherwise
 * it goes with the object. */

/* Replaces a plain object of `memory` by a packed one. On any failure the
 * object stays as it is. The caller has the only reference, or all others are of
 * the same thread. Returns whether it was replaced. `before` is an earlier
 * state, packed or not, or NULL: what has not changed since is not packed
 * again. */
bool kin__object_pack(kin_object **object, const kin_object *before,
                      kin__memory *memory, kin__packer *packer);
/* The object cannot be packed with the packer's dictionary, and is not tried
 * with it again. kin__object_pack does this itself, unless memory ran out. */
void kin__packed_note_tried(kin_object *object, const kin__packer *packer);
/* The same in two steps. First an image of the packed object, on any thread:
 * writes it to `to`, which is aligned as malloc's. Returns its size; 0 if the
 * object cannot be packed, or not now (kin__packer_lacks_memory). Nothing is
 * written if the size is larger than `room`. The dictionary must live until the
 * second step. */
size_t kin__object_pack_to(char *to, size_t room, const kin_object *object,
                           kin__packer *packer);
/* Then the object, on the memory's thread. NULL if out of memory. */
kin_object *kin__object_of_image(kin__memory *memory, const char *image,
                                 size_t size);
bool kin__object_is_packed(const kin_object *object);

/* The length of the text, inflated. */
size_t kin__object_text_length(const kin_object *object);

/* The text of a packed object, in place. Errors: KIN_ENOMEM (also over
 * KIN__INFLATED_MAX_BYTES of texts), KIN_EUNEXPECTED (see
 * kin__dictionary_inflate). */
int kin__packed_text(const kin_object *object, kin_str *text);
/* The text of a packed object for one reader: a text in place, which is held, or
 * memory of the reader's own. *block ends with kin__packed_free. Errors:
 * KIN_ENOMEM, KIN_EUNEXPECTED. */
int kin__packed_open(const kin_object *object, kin_str *text, void **block);
void kin__packed_free(const kin_object *object, void *block);
bool kin__packed_label(const kin_object *object, kin_str name, kin_str *value);
/* The part of a packed body that never changes. */
kin_str kin__packed_frame(const kin_object *object);
/* A copy of an object's bytes becomes a packed object of its own. */
void kin__packed_copied(kin_object *copy);
/* The object goes. */
void kin__packed_release(const kin_object *object);

/* The program takes a reference, or gives one back. Its references are counted
 * apart from the library's, and keep the text in place. So does a reader that
 * has the text open (kin__packed_open). */
void kin__packed_hold(const kin_object *object);
void kin__packed_let_go(const kin_object *object);

/* The references to an object, of both. */
unsigned kin__object_holders(const kin_object *object);

/* For the owner of a noted text, while no callback of the program runs: frees
 * the text and the note, and leaves the object packed. If a reference of the
 * program or a reader may keep the text, returns false and does nothing. On the
 * owner's thread; another thread may take a reference meanwhile. */
bool kin__packed_drop_text(kin__inflated *inflated);
/* After kin__inflated_close, for a note whose object the owner has held
 * (kin__packed_hold): gives up the note and the hold. The text goes now, or with
 * the program's last reference. */
void kin__packed_disown(kin__inflated *inflated);

#endif /* KIN_OBJECT_PACKED_H */
