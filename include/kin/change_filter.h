/* SPDX-License-Identifier: MIT */
#ifndef KIN_CHANGE_FILTER_H
#define KIN_CHANGE_FILTER_H

/** @file
 * Change filters: told only of the changes that matter, and not too often. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kin/export.h>
#include <kin/handler.h>
#include <kin/informer.h>
#include <kin/object.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A change filter is a listener that is told only when one of some fields has
 * changed, and, if the program wants so, once for many changes: some time after
 * the last of them.
 *
 * What is a change:
 *
 *   add, delete   always
 *   update        if the uid differs, or the value of one of the fields; see
 *                 kin_change_filter_options.fields
 *   resync        never; a change filter has none
 *   relist        what differs from the cache is an add, update or delete like
 *                 any other; what does not differ is no change
 *   filter        as for a listener: what a change brings into
 *                 kin_change_filter_options.filter is an add, what a change
 *                 takes out is a delete
 *   recreation    (same name, new uid) a delete and an add
 *
 * Without debounce_ms each change is told at once, by itself. With debounce_ms
 * a change begins a wait for its key. Each further change of the key prolongs
 * the wait. When the wait ends, what the filter told last of the key is
 * compared with what the key is now, and the difference is told. If the wait
 * began with a delete, the last state that came with that delete stands for
 * what was told last.
 *
 *   told last    now          told
 *   ---------    ---          ----
 *   nothing      an object    add
 *   nothing      nothing      nothing
 *   an object    nothing      delete
 *   an object    new uid      update, is_recreated
 *   an object    fields differ  update
 *   an object    fields equal   nothing
 *
 * So all that is told of one key makes a story without gaps: an add, updates,
 * each of which changes a field or the uid, a delete, and again.
 *
 * The program may put an object into the informer's store under the uid and
 * version that are stored, see kin_store. Such an object is no update. It stands
 * for what was told last, so its differences from that are never told. */
typedef struct kin_change_filter kin_change_filter;

/** One told change, valid during the callback. */
typedef struct kin_change {
  size_t size;         /**< see KIN_HAS */
  kin_event_type type; /**< add, update or delete */

  /** add, update: the newest object that the filter knows; the store may have a
   * newer one. delete: the last state; never NULL. */
  const kin_object *object;
  /** Update: the object as it was before the first change that is told here.
   * Its fields and uid are those that were told last; other parts may be newer
   * than what was told last. If that first change was a delete: the last state
   * that came with the delete. Its fields and uid may differ from those that
   * were told last. Otherwise NULL. */
  const kin_object *old_object;

  bool is_initial;          /**< add: part of the initial state */
  bool is_recreated;        /**< update: the uids of the two objects differ */
  kin_delete_reason reason; /**< delete: of the last delete */

  uint32_t changes;   /**< that are told here; 1 without a wait */
  uint64_t waited_ms; /**< since the first of them */
} kin_change;

/** An event callback, and may close anything, also the filter. */
typedef void (*kin_change_cb)(kin_change_filter *filter,
                              const kin_change *change, void *data);

/** The changes of all keys since the last call; valid during the callback. */
typedef struct kin_changes {
  size_t size;     /**< see KIN_HAS */
  bool is_initial; /**< the first call: the initial state is complete */

  /** Number of keys of which something would be told, by the table above;
   * added + updated + deleted. Initial: the number of objects. */
  size_t keys;
  size_t added;   /**< keys; initial: all */
  size_t updated; /**< keys */
  size_t deleted; /**< keys */
  /** False: over max_waiting keys changed at once, or memory was out. The
   * changes of further keys were only counted, so keys may be counted more than
   * once, also if their fields are as they were. */
  bool is_exact;

  uint64_t changes;   /**< told here, at least `keys`; initial: 0 */
  uint64_t waited_ms; /**< since the first of them; initial: 0 */
} kin_changes;

/** An event callback, and may close anything, also the filter. */
typedef void (*kin_changes_cb)(kin_change_filter *filter,
                               const kin_changes *changes, void *data);

/** Called once, when the initial state has been told; an event callback.
 * `objects` is the number of objects in it. */
typedef void (*kin_change_synced_cb)(kin_change_filter *filter, size_t objects,
                                     void *data);

/** Called once when a change filter is gone. */
typedef void (*kin_change_filter_close_cb)(void *data);

/** Options of kin_change_filter_open. */
typedef struct kin_change_filter_options {
  size_t size; /**< set by the INIT macro */

  /* --- Callbacks: exactly one of the first two --- */

  /** For each key by itself. The objects of the initial state are told at once,
   * one by one and without a wait. */
  kin_change_cb on_change;

  /** For all keys together: one call for any number of changes. The first call
   * comes when the initial state is complete, at once, also if it is empty.
   * From then on a wait begins with the first change of any key, and each
   * further change of any key prolongs the wait. At its end there is no call
   * if all keys are as they were. Requires debounce_ms. */
  kin_changes_cb on_changes;

  kin_change_synced_cb on_synced;       /**< may be NULL; only with on_change */
  kin_change_filter_close_cb on_closed; /**< may be NULL */
  void *data; /**< passed to all callbacks and to `filter` */

  /* --- What is a change --- */

  /** The fields whose changes count, as JSON Pointers: at most 64, each of at
   * most 64 tokens: "/data", "/status/podIPs", "/spec/containers/0/image".
   * None: each update counts whose JSON text differs, the resourceVersion
   * included. The token `*` is refused: name the whole array or object. Copied.
   *
   * A pointer may name any value; no value, and null, are a value of their own.
   * Two values are equal if their JSON text is. Otherwise objects are equal if
   * they have the same members, in any order unless names have escapes, arrays
   * if they have the same elements in this order; white space does not count;
   * strings are equal whether written with escapes or without, but two that are
   * both written with escapes, in different ways, differ; numbers are compared
   * as written, so 1 and 1.0 differ. A comparison reads at most 32 times the
   * bytes of the two values, and goes 64 levels deep. All comparisons of two
   * objects read at most 512 KiB together, or 4 times the bytes of the objects
   * if these have over 512 KiB together. Values that need more differ: an
   * update that only changes the order of members is told then. So do fields
   * that cannot be read, because the object's text is malformed before their
   * end.
   *
   * The informer must store something of each: kin_informer_options.fields,
   * drop_labels and metadata_only decide. What is not stored would not change,
   * so it is refused; with a transform or a source of the program's nothing is.
   * An object that is kept with its key only (kin_object_is_key_only) has none
   * of them. */
  const char *const *fields;
  size_t field_count;

  kin_filter_cb filter; /**< as in kin_listener_options; NULL: all objects */

  /* --- When it is told --- */

  /** A change is told when nothing has changed for this long: the same key with
   * on_change, any key with on_changes. 0: at once. At most a day. */
  uint32_t debounce_ms;
  /** A change is told at the latest this long after the first change that was
   * not told; 0: ten times debounce_ms, KIN_NEVER: no such limit. Not less than
   * debounce_ms; at most ten days. */
  uint32_t max_wait_ms;

  /** Up to this many keys wait at once; 0: 65,536, at most 262,144. A waiting
   * key costs about 200 bytes and holds up to two objects. With on_change the
   * change of a further key is told at once, without a wait; the same happens
   * if memory is out. For on_changes see kin_changes.is_exact. */
  uint32_t max_waiting;

  /** Name of the listener in the log, as in kin_listener_options. */
  const char *name;
} kin_change_filter_options;
/** Sets the size, and each member to its default. */
#define KIN_CHANGE_FILTER_OPTIONS_INIT                                         \
  {                                                                            \
    sizeof(kin_change_filter_options), NULL, NULL, NULL, NULL, NULL, NULL, 0,  \
        NULL, 0, 0, 0, NULL                                                    \
  }

/** Opens a change filter on an informer, before or after its start, from any
 * event callback; any number of filters may be open on one. Options are copied.
 * Callbacks come from later loop iterations. The filter ends with its informer:
 * what waits is dropped then. `out` may be NULL if there is no need to close.
 * Errors: KIN_EINVAL (options; the log says which), KIN_ENOTSUP (options of a
 * newer version), KIN_ECLOSED (informer or client), KIN_ENOMEM; *out is NULL
 * then.
 * Cost: O(bytes of the fields) here. Each update costs O(bytes of the two
 * objects), without making a document of them; each change O(log n) for n
 * waiting keys. */
KIN_EXTERN int kin_change_filter_open(kin_change_filter **out,
                                      kin_informer *informer,
                                      const kin_change_filter_options *options);

/** Ends a change filter. No callback comes after this call but cb (may be NULL)
 * and then on_closed, from a later loop iteration. Changes that wait are
 * dropped; a program that wants them calls kin_change_filter_flush and closes
 * when kin_change_filter_waiting is 0. Legal in every event callback.
 * Errors: KIN_EINVAL (NULL), KIN_EALREADY (closing; cb is not called). */
KIN_EXTERN int kin_change_filter_close(kin_change_filter *filter,
                                       kin_change_filter_close_cb cb,
                                       void *data);

/** Ends the waits of all keys that wait now: they are told in later loop
 * iterations, in bounded steps. NULL is allowed. */
KIN_EXTERN void kin_change_filter_flush(kin_change_filter *filter);

/** Number of keys that wait, also those that have come back to what was told
 * last. With on_changes: number of keys that changed since the last call. */
KIN_EXTERN size_t kin_change_filter_waiting(const kin_change_filter *filter);

#ifdef __cplusplus
}
#endif

#endif /* KIN_CHANGE_FILTER_H */
