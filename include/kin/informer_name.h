/* SPDX-License-Identifier: MIT */
#ifndef KIN_INFORMER_NAME_H
#define KIN_INFORMER_NAME_H

#include <stdbool.h>

#include <kin/allocator.h>
#include <kin/export.h>

#ifdef __cplusplus
extern "C" {
#endif

/** @file
 * Names under which a program publishes metrics of its informers, so that no
 * two of them write the same time series. A program gives a name to a factory.
 * Each informer of the factory then has an identifier, the name and the
 * resource. The first identifier of a name and resource is reserved. The
 * publisher checks that before each use, since a release takes the reservation
 * back.
 *
 * All of these belong to one thread. */

/** A registry: in it a name has one owner at a time. A program makes one; the
 * library has no globals. */
typedef struct kin_informer_names kin_informer_names;

/** Makes a registry. `allocator` may be NULL: the C library's; copied. Errors:
 * KIN_ENOMEM. */
KIN_EXTERN int kin_informer_names_new(kin_informer_names **out,
                                      const kin_allocator *allocator);

/** Frees a registry and releases all its names; they and their identifiers stay
 * valid. NULL is allowed. Cost: O(names held), each released. */
KIN_EXTERN void kin_informer_names_free(kin_informer_names *names);

/** A name, reference counted. */
typedef struct kin_informer_name kin_informer_name;

/** Takes a name until it is released; the first reference is the caller's.
 * `text` is copied.
 * Errors: KIN_EINVAL (NULL, empty), KIN_ETOOBIG (more than 1,024 bytes),
 * KIN_EEXIST (the name has an owner), KIN_ENOMEM; *out is NULL then.
 * Cost: O(names held). */
KIN_EXTERN int kin_informer_name_new(kin_informer_name **out,
                                     kin_informer_names *names,
                                     const char *text);

/** Adds a reference and returns `name`; NULL is allowed. */
KIN_EXTERN kin_informer_name *kin_informer_name_ref(kin_informer_name *name);

/** Drops a reference; dropping the last one releases the name and frees it.
 * NULL is allowed. Dropping the last one costs what releasing costs. */
KIN_EXTERN void kin_informer_name_unref(kin_informer_name *name);

/** Gives the name back: another owner may take it, and its identifiers are no
 * longer reserved. May be called again; NULL is allowed.
 * Cost: O(identifiers of the name). */
KIN_EXTERN void kin_informer_name_release(kin_informer_name *name);

/** The text; "" for NULL. Lives as long as the name. */
KIN_EXTERN const char *kin_informer_name_text(const kin_informer_name *name);

/** An identifier: a name and a resource. */
typedef struct kin_informer_id kin_informer_id;

/** Makes the identifier of a resource under a name. The identifier keeps a
 * reference to the name. It is reserved if the name is held and has no other
 * reserved identifier of that group, version and plural. With NULL for the name
 * the identifier is never reserved. Group may be NULL or "", version NULL for
 * "v1"; all are copied.
 * Errors: KIN_EINVAL (plural NULL or empty), KIN_ETOOBIG (more than 1,024 bytes
 * in one), KIN_ENOMEM; *out is NULL then.
 * Cost: O(identifiers of the name). */
KIN_EXTERN int kin_informer_id_new(kin_informer_id **out,
                                   kin_informer_name *name, const char *group,
                                   const char *version, const char *plural);

/** Frees an identifier. If it was reserved, the next one that is made may be.
 * NULL is allowed. */
KIN_EXTERN void kin_informer_id_free(kin_informer_id *id);

/** Returns whether the identifier is reserved now, so that its informer may
 * publish. */
KIN_EXTERN bool kin_informer_id_is_reserved(const kin_informer_id *id);

/** The parts of an identifier; never NULL; they live as long as the identifier.
 * The name is "" if it has none. */
KIN_EXTERN const char *kin_informer_id_name(const kin_informer_id *id);
KIN_EXTERN const char *kin_informer_id_group(const kin_informer_id *id);
KIN_EXTERN const char *kin_informer_id_version(const kin_informer_id *id);
KIN_EXTERN const char *kin_informer_id_plural(const kin_informer_id *id);

#ifdef __cplusplus
}
#endif

#endif /* KIN_INFORMER_NAME_H */
