/* SPDX-License-Identifier: MIT */
#ifndef KIN_OWNERSHIP_H
#define KIN_OWNERSHIP_H

/** @file
 * Finalizers and owners of objects, as every controller writes them. The owners
 * that an object has are read with meta.h. */

#include <stdbool.h>
#include <stddef.h>

#include <kin/allocator.h>
#include <kin/export.h>
#include <kin/object.h>
#include <kin/object_reference.h>
#include <kin/str.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- Finalizers ----------------------------------------------------------- */

/** Returns whether metadata.finalizers has `finalizer`. False for an object of
 * which only the key is known, and for a compact object whose text cannot be
 * read (KIN_ENOMEM of kin_object_at). Cost: O(bytes). */
KIN_EXTERN bool kin_object_has_finalizer(const kin_object *object,
                                         const char *finalizer);

/** Returns whether the object is being deleted: it has a
 * metadata.deletionTimestamp, and stays until it has no finalizer. False for a
 * compact object whose text cannot be read. Cost: O(bytes). */
KIN_EXTERN bool kin_object_is_terminating(const kin_object *object);

/** Writes the body of a KIN_VERB_PATCH_MERGE that adds or removes a finalizer,
 * NUL-terminated, into the `size` bytes at `to`. *length gets the body's length
 * without the NUL, also with KIN_ETOOBIG; `size` must be greater. With an error
 * the bytes at `to` are undefined.
 *
 * The body has the whole list and the object's resourceVersion. So the server
 * answers KIN_ECONFLICT if anybody has changed the object since it was read,
 * and nobody's finalizer is lost. A JSON patch that tests the version would be
 * answered with KIN_EREJECTED instead, as a patch that is wrong; a strategic
 * merge patch is not for custom resources.
 * Errors: KIN_EALREADY (the object is as wanted already: send nothing),
 * KIN_ETOOBIG (`size`), KIN_EINVAL (the finalizer is empty, or has a byte that
 * is no printable ASCII, a quote or a backslash; `to` is NULL and `size` is not
 * 0), KIN_EKEY (the object has no resourceVersion), KIN_ETYPE
 * (metadata.finalizers is no list of strings), KIN_EUNEXPECTED (only the
 * object's key is known), KIN_ENOMEM (compact objects only, see kin_compact).
 * Cost: O(bytes). */
KIN_EXTERN int kin_object_add_finalizer_patch(const kin_object *object,
                                              const char *finalizer, char *to,
                                              size_t size, size_t *length);
KIN_EXTERN int kin_object_remove_finalizer_patch(const kin_object *object,
                                                 const char *finalizer,
                                                 char *to, size_t size,
                                                 size_t *length);

/* --- Owners --------------------------------------------------------------- */

/** The kind of an owner. */
typedef enum kin_owner_kind {
  /** One of several owners; deleting it does not wait for the object. */
  KIN_OWNER = 0,
  /** The same, but with blockOwnerDeletion: a deletion of the owner in the
   * foreground waits until the object is gone. */
  KIN_OWNER_BLOCKS_DELETION,
  /** The controller, of which there is at most one; with
   * blockOwnerDeletion. */
  KIN_OWNER_CONTROLLER
} kin_owner_kind;

/** Makes an object that is owned by `owner` besides: the garbage collector
 * deletes an object when its last owner is gone (controllerutil's
 * SetOwnerReference and SetControllerReference). An owner of the same group,
 * kind and name is replaced; if the object has it several times, one entry
 * stays. `object` is usually one that the program is about
 * to create. `allocator` may be NULL. On success *out is a new reference.
 *
 * `owner` needs api_version, kind, name and uid, and a namespace if it has one.
 * Errors: KIN_EEXIST (another controller owns the object; only for
 * KIN_OWNER_CONTROLLER), KIN_EINVAL (a member is missing or no UTF-8; all of them
 * over 64 KiB as JSON; an owner with a namespace, and an object in another one
 * or in none; `kind`), KIN_ETYPE (metadata.ownerReferences is no list),
 * KIN_EUNEXPECTED (only the object's key is known), KIN_ENOMEM, and those of
 * kin_object_builder. *out is NULL then.
 * Cost: O(bytes). */
KIN_EXTERN int kin_object_set_owner(kin_object **out,
                                    const kin_allocator *allocator,
                                    const kin_object *object,
                                    const kin_object_reference *owner,
                                    kin_owner_kind kind);

#ifdef __cplusplus
}
#endif

#endif /* KIN_OWNERSHIP_H */
