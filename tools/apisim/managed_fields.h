/* SPDX-License-Identifier: MIT */
#ifndef APISIM_MANAGED_FIELDS_H
#define APISIM_MANAGED_FIELDS_H

/* metadata.managedFields: which manager set which fields, by which operation.
 * An object has them from its create on if that named a fieldManager, else from
 * its first apply on: as on a real server with objects that are older than
 * managedFields, other writes add none to an object that has none. */

#include "call.h"
#include "fields.h"

typedef struct manager_id {
  const char *name;
  const char *operation; // "Apply" or "Update"
  const char *api_version;
  const char *sub; // subresource; "" = none
} manager_id;

/* The entries of an object as a new array of doc, each with a set in the form
 * of fields.h; entries that are none are left out. */
yyjson_mut_val *managed_read(yyjson_mut_doc *doc, yyjson_mut_val *object);
/* Sets the object's entries, in the real server's order, without those that
 * own nothing. */
void managed_write(yyjson_mut_doc *doc, yyjson_mut_val *object,
                   yyjson_mut_val *entries);

/* The entry, or NULL. */
yyjson_mut_val *managed_find(yyjson_mut_val *entries, const manager_id *id);
yyjson_mut_val *managed_ensure(yyjson_mut_doc *doc, yyjson_mut_val *entries,
                               const manager_id *id);
/* The fields of an entry. After managed_put() the pointer shows the new ones.
 */
fields *managed_set(yyjson_mut_val *entry);
void managed_put(yyjson_mut_doc *doc, yyjson_mut_val *entry, fields *set,
                 bool now);
/* What all entries own. */
fields *managed_all(yyjson_mut_doc *doc, yyjson_mut_val *entries);
/* Takes the fields from every entry but one (NULL = from all). */
void managed_take(yyjson_mut_doc *doc, yyjson_mut_val *entries,
                  yyjson_mut_val *except, fields *set);
/* The set without what the server itself owns: kind, name, uid, ... */
fields *managed_strip(yyjson_mut_doc *doc, fields *set);

/* The manager that a request names, or else the first word of its User-Agent.
 * Free with free(). */
char *managed_name(const api_call *call);
/* After a create: its manager owns the object's fields if the request names the
 * manager, as kubectl's do; else the object has no managedFields. */
void managed_record_new(const api_call *call, yyjson_mut_doc *doc);
/* After an update or a patch: doc owns what it changed, if the old object has
 * managedFields. */
void managed_record(const api_call *call, yyjson_mut_doc *old_doc,
                    yyjson_mut_doc *doc);
/* Gives the fields of an object without managedFields to
 * "before-first-apply". */
void managed_begin(yyjson_mut_doc *doc, schema s, const char *api_version,
                   yyjson_mut_val *object, yyjson_mut_val *entries);

#endif
