/* SPDX-License-Identifier: MIT */
#ifndef KIN_TESTING_FAKE_SOURCE_H
#define KIN_TESTING_FAKE_SOURCE_H

/** @file
 * A fake API server for tests of programs. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kin/allocator.h>
#include <kin/lister_watcher.h>
#include <kin/object.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A fake API server in memory, for tests of programs that use informers,
 * reflectors or controllers (client-go's FakeControllerSource). It has objects,
 * a version that counts changes, and a lister-watcher that lists and watches
 * the objects. It is in a library of its own, kinformer-testing.
 *
 * The source feeds only inside kin_fake_source_run and kin_fake_source_step,
 * when the test calls them. A test with a loop calls kin_fake_source_run from
 * an idle or timer callback; `wake` says when there is something to do.
 *
 * The source honours the namespace of a request, its version and its limit, and
 * ignores selectors. It can serve any number of informers. */
typedef struct kin_fake_source kin_fake_source;

/** Options of kin_fake_source_new. */
typedef struct kin_fake_source_options {
  size_t size;                    /**< set by the INIT macro */
  const kin_allocator *allocator; /**< NULL: the C library's */

  /** Called when there is something for kin_fake_source_run to do: inside the
   * calls that cause it, and by informers. The callback may only note that.
   * NULL: not needed. */
  void (*wake)(void *data);

  /** Lists may come as watches (WatchList). By default they may not, as with
   * client-go's fake clients: a watch that is to begin with the current objects
   * fails with 422. */
  bool watch_list;
  void *data; /**< passed to wake */
} kin_fake_source_options;
/** Sets the size, and each member to its default. */
#define KIN_FAKE_SOURCE_OPTIONS_INIT                                           \
  { sizeof(kin_fake_source_options), NULL, NULL, false, NULL }

/** Makes an empty source, of version 0. `options` may be NULL.
 * Errors: KIN_EINVAL (size), KIN_ENOTSUP (options of a newer version),
 * KIN_ENOMEM. *out is NULL then. */
int kin_fake_source_new(kin_fake_source **out,
                        const kin_fake_source_options *options);

/** Frees a source. Informers that use the source must be closed before. NULL is
 * allowed. */
void kin_fake_source_free(kin_fake_source *source);

/** For kin_informer_options.source; valid as long as the source.
 *
 * A watch that begins with the current objects takes three steps at least.
 * First it is granted. Then it gets the objects of that moment. Then it gets
 * the changes since, and the end of the initial events. So a change that is
 * made between two calls of kin_fake_source_step lies inside or behind a list
 * that comes as a watch. */
kin_lister_watcher kin_fake_source_lister_watcher(kin_fake_source *source);

/** Change the objects. The version is counted up and put into the object's
 * metadata.resourceVersion. Adding and modifying differ only in the type of the
 * event. Deleting does not require that the object exists.
 * Errors: KIN_EINVAL (NULL), KIN_EKEY, KIN_ENOMEM; nothing has changed then. */
int kin_fake_source_add(kin_fake_source *source, const kin_object *object);
int kin_fake_source_modify(kin_fake_source *source, const kin_object *object);
int kin_fake_source_delete(kin_fake_source *source, const kin_object *object);

/** The same; if `is_dropped`, watches that are open now do not get the event
 * (client-go's AddDropWatch, ...). A watch that is opened later, from an older
 * version, gets it. Any other type than ADDED, MODIFIED and DELETED is
 * KIN_EINVAL. */
int kin_fake_source_change(kin_fake_source *source, kin_watch_event_type type,
                           const kin_object *object, bool is_dropped);

/** Sends all open watches a bookmark with the current version, after they have
 * got all changes. */
void kin_fake_source_bookmark(kin_fake_source *source);

/** Ends all watches normally, as after their timeout, once they have got all
 * changes (client-go's Shutdown). */
void kin_fake_source_end_watches(kin_fake_source *source);

/** Ends all watches and forgets the past. A watch from an older version, or the
 * next page of an earlier list, is answered with 410 (expired). */
void kin_fake_source_reset_watch(kin_fake_source *source);

/** Makes all later lists fail with this error; NULL ends that. The texts are
 * copied, and cut to 255 bytes.
 * Errors: KIN_EINVAL (size), KIN_ENOTSUP (an error of a newer version). */
int kin_fake_source_fail_lists(kin_fake_source *source,
                               const kin_feed_error *error);

/** Feeds one answer: a page of a list, or the events that a watch has not got.
 * Returns whether there was one to feed. Not from inside itself. */
bool kin_fake_source_step(kin_fake_source *source);

/** Feeds until there is nothing to do, also requests that arrive meanwhile.
 * Returns the number of steps. */
size_t kin_fake_source_run(kin_fake_source *source);

/** The objects: one by key, borrowed until the next change, or NULL; and their
 * number. */
const kin_object *kin_fake_source_get(const kin_fake_source *source,
                                      const char *key);
size_t kin_fake_source_count(const kin_fake_source *source);
/** The version: the number of changes so far. */
uint64_t kin_fake_source_version(const kin_fake_source *source);

/** Requests so far: pages of lists, watches, and the watches among these that
 * were to begin with the current objects; and the watches open now. */
size_t kin_fake_source_lists(const kin_fake_source *source);
size_t kin_fake_source_watches(const kin_fake_source *source);
size_t kin_fake_source_streams(const kin_fake_source *source);
size_t kin_fake_source_open_watches(const kin_fake_source *source);

#ifdef __cplusplus
}
#endif

#endif /* KIN_TESTING_FAKE_SOURCE_H */
