/* SPDX-License-Identifier: MIT */
#ifndef KIN_TESTING_FAKE_SOURCE_H
#define KIN_TESTING_FAKE_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kin/allocator.h>
#include <kin/lister_watcher.h>
#include <kin/object.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An API server in a variable, for tests of programs that use informers,
 * reflectors or controllers (client-go's FakeControllerSource): objects, a
 * version that counts changes, and a lister-watcher that lists and watches
 * them. It lies in a library of its own, kinformer-testing.
 *
 * Nothing is fed by itself: kin_fake_source_run does it, whenever the test
 * wants it to. A test with a loop calls it from an idle or timer callback;
 * `wake` says when there is something to do.
 *
 * It honours the namespace of a request, its version and its limit, and ignores
 * selectors. It can serve any number of informers. */
typedef struct kin_fake_source kin_fake_source;

typedef struct kin_fake_source_options {
  size_t size;
  const kin_allocator *allocator; /* NULL: the C library's */

  /* There is something for kin_fake_source_run to do. Called inside the calls
   * that make it so, and by informers: may note it only. NULL: not needed. */
  void (*wake)(void *data);

  /* Lists may come as watches (WatchList). By default they may not, as it is
   * with client-go's fake clients: a watch that is to begin with what there is
   * fails with 422. */
  bool watch_list;
  void *data; /* passed to wake */
} kin_fake_source_options;
#define KIN_FAKE_SOURCE_OPTIONS_INIT                                           \
  { sizeof(kin_fake_source_options), NULL, NULL, false, NULL }

/* Makes an empty source, of version 0. `options` may be NULL. Errors:
 * KIN_EINVAL (size), KIN_ENOTSUP (options of a newer version), KIN_ENOMEM. *out
 * is NULL then. */
int kin_fake_source_new(kin_fake_source **out,
                        const kin_fake_source_options *options);

/* Whoever asks it must be closed before. NULL is allowed. */
void kin_fake_source_free(kin_fake_source *source);

/* For kin_informer_options.source; valid as long as the source.
 *
 * A watch that begins with what there is takes three steps at least: it is
 * granted; it is told what there is then; it is told what has changed since,
 * and that this was all. So a change that is made between two calls of
 * kin_fake_source_step lies inside or behind a list that comes as a watch. */
kin_lister_watcher kin_fake_source_lister_watcher(kin_fake_source *source);

/* Changes: the version is counted up and put into the object's
 * metadata.resourceVersion. Adding and modifying are the same but for the type
 * of the event; deleting needs no object to be there. Errors: KIN_EINVAL
 * (NULL), KIN_EKEY, KIN_ENOMEM; nothing has changed then. */
int kin_fake_source_add(kin_fake_source *source, const kin_object *object);
int kin_fake_source_modify(kin_fake_source *source, const kin_object *object);
int kin_fake_source_delete(kin_fake_source *source, const kin_object *object);

/* The same; if `is_dropped`, watches that are open now are not told
 * (client-go's AddDropWatch, ...). One that is opened later, from an older
 * version, is. */
int kin_fake_source_change(kin_fake_source *source, kin_watch_event_type type,
                           const kin_object *object, bool is_dropped);

/* Has all open watches told the current version when they have been told all
 * changes. */
void kin_fake_source_bookmark(kin_fake_source *source);

/* Ends all watches, as they end after their timeout (client-go's Shutdown),
 * once they have been told all changes. */
void kin_fake_source_end_watches(kin_fake_source *source);

/* Ends them and forgets the past: who watches from an older version, or goes on
 * with a list that was begun, is told that it has expired (410). */
void kin_fake_source_reset_watch(kin_fake_source *source);

/* From now on lists fail so; with NULL they do not any more. The texts are
 * copied, and cut to 255 bytes. Errors: KIN_EINVAL (size), KIN_ENOTSUP (an
 * error of a newer version). */
int kin_fake_source_fail_lists(kin_fake_source *source,
                               const kin_feed_error *error);

/* Feeds one answer: a page of a list, or what a watch has not been told.
 * Returns whether there was one to feed. Not from inside itself. */
bool kin_fake_source_step(kin_fake_source *source);

/* Feeds until there is nothing to do; also what comes to be asked meanwhile.
 * Returns the number of steps. */
size_t kin_fake_source_run(kin_fake_source *source);

/* What is there: by key, borrowed until the next change, or NULL. */
const kin_object *kin_fake_source_get(const kin_fake_source *source,
                                      const char *key);
size_t kin_fake_source_count(const kin_fake_source *source);
/* As of this many changes. */
uint64_t kin_fake_source_version(const kin_fake_source *source);

/* Requests so far: pages of lists, watches, and of these the ones that were to
 * begin with what there is; and watches open now. */
size_t kin_fake_source_lists(const kin_fake_source *source);
size_t kin_fake_source_watches(const kin_fake_source *source);
size_t kin_fake_source_streams(const kin_fake_source *source);
size_t kin_fake_source_open_watches(const kin_fake_source *source);

#ifdef __cplusplus
}
#endif

#endif /* KIN_TESTING_FAKE_SOURCE_H */
