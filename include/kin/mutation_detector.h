/* SPDX-License-Identifier: MIT */
#ifndef KIN_MUTATION_DETECTOR_H
#define KIN_MUTATION_DETECTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kin/allocator.h>
#include <kin/export.h>
#include <kin/object.h>
#include <kin/str.h>

#ifdef __cplusplus
extern "C" {
#endif

/** @file
 * All readers share cached objects, so nothing may write to them. A cast or a
 * wild pointer in C can still write to one, and the damage is found much later.
 * The mutation check finds it sooner. It is meant for tests and debugging, and
 * costs nothing where it is off. */

/** The ways in which a client looks for writes: see
 * kin_client_options.mutation_check. */
typedef enum kin_mutation_check {
  KIN_MUTATION_CHECK_OFF = 0,
  KIN_MUTATION_CHECK_CHECKSUM, /**< compares all objects every second */
  KIN_MUTATION_CHECK_PROTECT   /**< also makes a write fault, where the system
                                * can */
} kin_mutation_check;

/** The part of an object that was written to. */
typedef enum kin_mutation_part {
  KIN_MUTATION_HEADER = 0, /**< lengths and offsets: do not read the object */
  KIN_MUTATION_STRINGS, /**< its key, or other strings kept besides its JSON */
  KIN_MUTATION_JSON     /**< the text of kin_object_view_json */
} kin_mutation_part;

/** Returns "header", "strings" or "json". Static. */
KIN_EXTERN const char *kin_mutation_part_name(kin_mutation_part part);

/** An object that has been written to. */
typedef struct kin_mutation {
  size_t size;              /**< see KIN_HAS */
  const kin_object *object; /**< the written object */
  /** As it is now: perhaps damaged itself, if part is not JSON. */
  kin_str key;
  kin_mutation_part part;
  /** The first changed bytes in that part, and those next to them: up to 64
   * that share a checksum, as they are now, not NUL-terminated. Empty for the
   * header. The bytes before the write are not known. */
  size_t offset;
  kin_str bytes;
} kin_mutation;

/** Remembers objects and reports which of them have been written to since:
 * client-go's CacheMutationDetector. It is for objects of any origin and in any
 * hands. The client's option mutation_check checks the objects in an informer's
 * store with less effort.
 *
 * An object costs a reference, 46 bytes, and, unless it is sealed already, 8
 * bytes for each 64 begun of its header, of its strings and of its JSON. An
 * object is forgotten two to four minutes after it was added last, as in
 * client-go, but not before it has been compared once more.
 *
 * Nothing runs in the background: add the objects of a handler's add and update
 * events, and call kin_mutation_detector_check every second or so. The detector
 * uses no loop; the clock is the caller's. One thread at a time. */
typedef struct kin_mutation_detector kin_mutation_detector;

/** Called once for each written object, from inside
 * kin_mutation_detector_check. The arguments are valid during the call.
 * client-go ends the process by default; a program that wants that calls
 * abort(). The callback may call kin_object_*, and add objects to the detector,
 * but neither check nor free it. */
typedef void (*kin_mutation_cb)(const kin_mutation *mutation, void *data);

/** Options of kin_mutation_detector_new. */
typedef struct kin_mutation_detector_options {
  size_t size;                    /**< set by the INIT macro */
  const kin_allocator *allocator; /**< NULL: the C library's */

  /** Required: milliseconds since any moment, monotonic; called with now_ctx by
   * _add and _check. */
  uint64_t (*now_ms)(void *ctx);
  void *now_ctx;

  kin_mutation_cb on_mutation; /**< required */
  void *data;                  /**< passed to on_mutation */

  /** Objects are forgotten after this long, at least, and twice that, at most,
   * if they are checked often; 0: 2 minutes. */
  uint64_t retain_ms;
} kin_mutation_detector_options;
/** Sets the size, and each member to its default. */
#define KIN_MUTATION_DETECTOR_OPTIONS_INIT                                     \
  { sizeof(kin_mutation_detector_options), NULL, NULL, NULL, NULL, NULL, 0 }

/** Makes an empty detector. Options are copied.
 * Errors: KIN_EINVAL (options, no clock or no callback), KIN_ENOTSUP (options
 * of a newer version, or a library that was built without the option `checks`),
 * KIN_ENOMEM. */
KIN_EXTERN int
kin_mutation_detector_new(kin_mutation_detector **out,
                          const kin_mutation_detector_options *options);

/** Frees a detector and drops all its references. NULL is allowed. Cost:
 * O(objects). */
KIN_EXTERN void kin_mutation_detector_free(kin_mutation_detector *detector);

/** Remembers an object as it is now, or, if a client sealed it, as it was made.
 * An object that is remembered already is kept for a new period, and still
 * compared with its first state.
 * Errors: KIN_EINVAL (NULL), KIN_ENOMEM: nothing has changed then.
 * Cost: O(bytes of the object), or O(1) if it is sealed or known. */
KIN_EXTERN int kin_mutation_detector_add(kin_mutation_detector *detector,
                                         const kin_object *object);

/** Compares up to `count` objects, continuing where the last call stopped.
 * Returns whether some are left before all have been compared once: then call
 * again soon, else after a while. An object is reported once, however often it
 * is written to.
 * Cost: O(bytes of these objects), a few GB a second. */
KIN_EXTERN bool kin_mutation_detector_check(kin_mutation_detector *detector,
                                            size_t count);

/** Number of objects remembered. */
KIN_EXTERN size_t
kin_mutation_detector_count(const kin_mutation_detector *detector);

#ifdef __cplusplus
}
#endif

#endif /* KIN_MUTATION_DETECTOR_H */
