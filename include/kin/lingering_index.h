/* SPDX-License-Identifier: MIT */
#ifndef KIN_LINGERING_INDEX_H
#define KIN_LINGERING_INDEX_H

/** @file
 * Lingering indices: what is gone stays readable for a while. */

#include <stddef.h>
#include <stdint.h>

#include <kin/export.h>
#include <kin/informer.h>
#include <kin/object.h>
#include <kin/str.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A lingering index extends one index of an informer's store into the past. An
 * object that is deleted stays readable under its values for a while; so does
 * the last state of an object that lost a value by an update, under the values
 * that it lost. Example: log lines and packets of a pod arrive when the pod is
 * gone already, and its address may belong to another pod by then.
 *
 * There is no gap: an object leaves the store's index and lingers within one
 * step of the library, whatever its listeners have been told by then. Objects
 * linger for every reason to delete, also if they are recreated, or if their
 * namespace is no longer watched.
 *
 * For an object of over 64 values only its deletion counts. If memory is out,
 * an object does not linger; the log says so. Dropped bodies
 * (KIN_MEMORY_DROP_BODIES) do not linger, and neither do their values. */
typedef struct kin_lingering_index kin_lingering_index;

/** Called once when a lingering index is gone. */
typedef void (*kin_lingering_index_close_cb)(void *data);

/** Options of kin_lingering_index_open. */
typedef struct kin_lingering_index_options {
  size_t size; /**< set by the INIT macro */

  /** Required: the name of an index of the informer's store
   * (kin_store_add_index). */
  const char *name;

  /** Required: an object lingers for this long; at most a day. */
  uint32_t linger_ms;

  /** Up to this many objects linger; 0: 4,096, at most 1,048,576. When one more
   * leaves, the one that has lingered longest is dropped. Each costs about 150
   * bytes and its values, and holds its object. */
  uint32_t max_objects;

  kin_lingering_index_close_cb on_closed; /**< may be NULL */
  void *data;                             /**< passed to on_closed */
} kin_lingering_index_options;
/** Sets the size, and each member to its default. */
#define KIN_LINGERING_INDEX_OPTIONS_INIT                                       \
  { sizeof(kin_lingering_index_options), NULL, 0, 0, NULL, NULL }

/** Opens a lingering index, before or after the informer's start, from any
 * event callback. Nothing lingers that left before. It ends with its informer.
 * Errors: KIN_EINVAL (NULL, or a number over its limit or 0; the log says
 * which), KIN_ENOENT (no index of that name), KIN_ENOTSUP (options of a newer
 * version), KIN_ECLOSED (informer or client), KIN_ENOMEM; *out is NULL then.
 * Cost: O(1) here. Each update then costs the index function twice, and each
 * delete once, in addition to what the index itself costs. */
KIN_EXTERN int
kin_lingering_index_open(kin_lingering_index **out, kin_informer *informer,
                         const kin_lingering_index_options *options);

/** Ends a lingering index; cb (may be NULL) and then on_closed come from a later
 * loop iteration. No look-up is allowed after this call. Legal in every event
 * callback.
 * Errors: KIN_EINVAL (NULL), KIN_EALREADY (closing; cb is not called). */
KIN_EXTERN int kin_lingering_index_close(kin_lingering_index *index,
                                         kin_lingering_index_close_cb cb,
                                         void *data);

/** A scan over what has a value, and what had it. A scan must not be continued
 * after the loop has run. */
typedef struct kin_lingering_cursor {
  uint32_t posting; /**< private */
  uint32_t part;    /**< private */
} kin_lingering_cursor;

/** Begins a scan. A value that no object has or had is no error: the scan is
 * empty.
 * Errors: KIN_EINVAL (NULL). */
KIN_EXTERN int kin_lingering_index_find(const kin_lingering_index *index,
                                        kin_str value,
                                        kin_lingering_cursor *cursor);

/** Returns the next object, borrowed until the loop runs, or NULL. First come
 * the objects that have the value now: the one that got it last is the first
 * (of those that came in one list, any). Then come those that had the value:
 * the one that left last is the first. *gone_ms, unless NULL, gets the time
 * since the object was deleted or lost the value; UINT64_MAX: it has the value
 * now. An object that got a value back may come twice.
 * Cost: a whole scan costs O(objects found). */
KIN_EXTERN const kin_object *
kin_lingering_index_next(const kin_lingering_index *index,
                         kin_lingering_cursor *cursor, uint64_t *gone_ms);

/** The object that had a value `age_ms` ago: for a line or packet of that age,
 * 0 for one of now. Borrowed until the loop runs; NULL: none is known.
 * *gone_ms as above. For a value that one object has at a time, such as the
 * address of a pod. Of those that left since then, the first one that left; else
 * the one that has it now; else the one that left last.
 *
 * The times are those at which this informer saw the changes. An object that got
 * the value after that time, when nobody had it, is found all the same.
 * Cost: O(objects that linger under the value). */
KIN_EXTERN const kin_object *
kin_lingering_index_owner(const kin_lingering_index *index, kin_str value,
                          uint64_t age_ms, uint64_t *gone_ms);

/** Number of objects that linger; those of which the time is over count until
 * they are dropped in the next loop iterations. */
KIN_EXTERN size_t kin_lingering_index_count(const kin_lingering_index *index);

#ifdef __cplusplus
}
#endif

#endif /* KIN_LINGERING_INDEX_H */
