/* SPDX-License-Identifier: MIT */
#ifndef KIN_INFORMER_NAME_H
#define KIN_INFORMER_NAME_H

#include <stdbool.h>

#include <kin/allocator.h>
#include <kin/export.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Names under which a program publishes what it measures of its informers, so
 * that no two of them write the same time series. A program gives a name to a
 * factory; each informer of it then has an identifier, the name and the
 * resource, which is reserved if it is the first of that kind. Who publishes
 * asks for that each time, since a release takes it back.
 *
 * All of it belongs to one thread. */

/* A registry: within it a name is held by one owner at a time. A program has
 * one; a library that must not have globals leaves that to it. */
typedef struct kin_informer_names kin_informer_names;

/* `allocator` may be NULL: the C library's; copied. Errors: KIN_ENOMEM. */
KIN_EXTERN int kin_informer_names_new(kin_informer_names **out,
                                      const kin_allocator *allocator);

/* Releases all names that are held; they and their identifiers stay valid. NULL
 * is allowed. */
KIN_EXTERN void kin_informer_names_free(kin_informer_names *names);

/* A name, reference counted. */
typedef struct kin_informer_name kin_informer_name;

/* Holds a name until it is released; the first reference is the caller's.
 * `text` is copied. Errors: KIN_EINVAL (NULL, empty), KIN_ETOOBIG (more than
 * 1,024 bytes), KIN_EEXIST (held), KIN_ENOMEM; *out is NULL then. Cost: O(names
 * held). */
KIN_EXTERN int kin_informer_name_new(kin_informer_name **out,
                                     kin_informer_names *names,
                                     const char *text);

/* Returns `name`; NULL is allowed. */
KIN_EXTERN kin_informer_name *kin_informer_name_ref(kin_informer_name *name);

/* The last one releases the name and frees it. NULL is allowed. */
KIN_EXTERN void kin_informer_name_unref(kin_informer_name *name);

/* Gives the name back: another may hold it, and none of its identifiers is
 * reserved any more. May be called again; NULL is allowed. */
KIN_EXTERN void kin_informer_name_release(kin_informer_name *name);

/* The text; "" for NULL. Lives as long as the name. */
KIN_EXTERN const char *kin_informer_name_text(const kin_informer_name *name);

/* A name and a resource. */
typedef struct kin_informer_id kin_informer_id;

/* Makes the identifier of a resource under a name, which it keeps a reference
 * of. It is reserved if the name is held and has no other reserved one of that
 * group, version and plural. NULL for a name gives one that never is. Group may
 * be NULL or "", version NULL for "v1"; all are copied.
 * Errors: KIN_EINVAL (plural NULL or empty), KIN_ETOOBIG (more than 1,024 bytes
 * in one), KIN_ENOMEM; *out is NULL then. Cost: O(identifiers of the name). */
KIN_EXTERN int kin_informer_id_new(kin_informer_id **out,
                                   kin_informer_name *name, const char *group,
                                   const char *version, const char *plural);

/* If it was reserved, the next one that is made may be. NULL is allowed. */
KIN_EXTERN void kin_informer_id_free(kin_informer_id *id);

/* Whether it is the one that may publish, now. */
KIN_EXTERN bool kin_informer_id_is_reserved(const kin_informer_id *id);

/* Its parts; never NULL; live as long as it. The name is "" if it has none. */
KIN_EXTERN const char *kin_informer_id_name(const kin_informer_id *id);
KIN_EXTERN const char *kin_informer_id_group(const kin_informer_id *id);
KIN_EXTERN const char *kin_informer_id_version(const kin_informer_id *id);
KIN_EXTERN const char *kin_informer_id_plural(const kin_informer_id *id);

#ifdef __cplusplus
}
#endif

#endif /* KIN_INFORMER_NAME_H */
