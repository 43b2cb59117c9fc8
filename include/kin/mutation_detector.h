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

/* Cached objects are shared by everybody who reads them, and must not be
 * written to. C lets a program do it all the same, through a cast or a wild
 * pointer, and what it breaks is found much later. What follows finds it
 * sooner; it is meant for tests and for hunting, and costs nothing where it is
 * off. */

/* What a client does about it: see kin_client_options.mutation_check. */
typedef enum kin_mutation_check {
  KIN_MUTATION_CHECK_OFF = 0,
  KIN_MUTATION_CHECK_CHECKSUM, /* compares all objects every second */
  KIN_MUTATION_CHECK_PROTECT   /* and a write faults, where the system can */
} kin_mutation_check;

/* Where an object was written to. */
typedef enum kin_mutation_part {
  KIN_MUTATION_HEADER = 0, /* lengths and offsets: do not read the object */
  KIN_MUTATION_STRINGS,    /* its key, or what else is kept besides its JSON */
  KIN_MUTATION_JSON        /* the text that kin_object_view_json gives */
} kin_mutation_part;

/* Returns "header", "strings" or "json". Static. */
KIN_EXTERN const char *kin_mutation_part_name(kin_mutation_part part);

/* An object that is no longer what it was. */
typedef struct kin_mutation {
  const kin_object *object;
  kin_str key; /* as it is now: itself damaged, maybe, if part is not JSON */
  kin_mutation_part part;
  /* The first bytes in that part that have changed, or are next to such: up to
   * 64 that share a checksum, as they are now, not NUL-terminated. Empty for
   * the header. What was there before is not known. */
  size_t offset;
  kin_str bytes;
} kin_mutation;

/* Remembers objects and tells which of them have been written to since: client-
 * go's CacheMutationDetector. It is for objects of any origin and in any hands;
 * what an informer has in its store is checked with less effort by the option
 * mutation_check of its client.
 *
 * An object costs a reference, 45 bytes, and, unless it is sealed already, 8
 * for each 64 begun of its header, of its strings and of its JSON. It is
 * forgotten two to four minutes after it was added last, as in client-go, but
 * not before it has been compared once more.
 *
 * Nothing runs in the background: give it the objects of a handler's add and
 * update events, and call kin_mutation_detector_check every second or so. It
 * uses no loop; the clock is the caller's. One thread at a time. */
typedef struct kin_mutation_detector kin_mutation_detector;

/* Told once of each object, from inside kin_mutation_detector_check. What it
 * gets is valid during the call. client-go ends the process by default; a
 * program that wants that calls abort(). It may call kin_object_*, and add
 * objects to the detector, but neither check nor free it. */
typedef void (*kin_mutation_cb)(const kin_mutation *mutation, void *data);

typedef struct kin_mutation_detector_options {
  size_t size;
  const kin_allocator *allocator; /* NULL: the C library's */

  /* Required: milliseconds since any moment, monotonic; called with now_ctx by
   * _add and _check. */
  uint64_t (*now_ms)(void *ctx);
  void *now_ctx;

  kin_mutation_cb on_mutation; /* required */
  void *data;                  /* passed to on_mutation */

  /* Objects are forgotten after this long, at least, and twice that, at most,
   * if they are checked often; 0: 2 minutes. */
  uint64_t retain_ms;
} kin_mutation_detector_options;
#define KIN_MUTATION_DETECTOR_OPTIONS_INIT                                     \
  { sizeof(kin_mutation_detector_options), NULL, NULL, NULL, NULL, NULL, 0 }

/* Options are copied. Errors: KIN_EINVAL (options, no clock or no callback),
 * KIN_ENOTSUP (options of a newer version), KIN_ENOMEM. */
KIN_EXTERN int
kin_mutation_detector_new(kin_mutation_detector **out,
                          const kin_mutation_detector_options *options);

/* Drops all references. NULL is allowed. Cost: O(objects). */
KIN_EXTERN void kin_mutation_detector_free(kin_mutation_detector *detector);

/* Remembers an object as it is now, or, if it was sealed by a client, as it was
 * made. One that is remembered already begins a new time, with what it was the
 * first time. Errors: KIN_EINVAL (NULL), KIN_ENOMEM: nothing has changed.
 * Cost: O(bytes of the object), or O(1) if it is sealed or known. */
KIN_EXTERN int kin_mutation_detector_add(kin_mutation_detector *detector,
                                         const kin_object *object);

/* Compares up to `count` objects, going on where the last call stopped, and
 * returns whether some are left before all have been compared once: then call
 * again soon, else after a while. An object is reported once, however often it
 * is written to. Cost: O(bytes of these objects), a few GB a second. */
KIN_EXTERN bool kin_mutation_detector_check(kin_mutation_detector *detector,
                                            size_t count);

/* Number of objects remembered. */
KIN_EXTERN size_t
kin_mutation_detector_count(const kin_mutation_detector *detector);

#ifdef __cplusplus
}
#endif

#endif /* KIN_MUTATION_DETECTOR_H */
