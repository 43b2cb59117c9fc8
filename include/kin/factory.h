/* SPDX-License-Identifier: MIT */
#ifndef KIN_FACTORY_H
#define KIN_FACTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kin/client.h>
#include <kin/export.h>
#include <kin/informer.h>
#include <kin/informer_name.h>
#include <kin/wait.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The informers that the parts of a program share: whoever needs a resource
 * asks the factory for its informer, and all who ask get the same one, opened
 * for the first of them. They are started, waited for and closed together. Any
 * resource will do, of built-in or custom types; with all of its fields, or
 * metadata only (client-go's typed, dynamic and metadata factories in one; FA
 * rows).
 *
 * What it opens are informers like others: listen to them, index their stores,
 * and list them with kin_lister_of(kin_informer_store(informer)). One that is
 * closed by itself leaves the factory, and the next who asks gets a new one. */
typedef struct kin_factory kin_factory;

/* A resource with a resync period of its own. */
typedef struct kin_factory_resync {
  const char *group;   /* NULL or "": the core group */
  const char *version; /* NULL: "v1" */
  const char *plural;
  uint32_t resync_ms; /* 0: none */
} kin_factory_resync;

/* Changes the options of an informer that is about to be opened: selectors, for
 * instance, which then hold for lists and watches alike. Any of them but group,
 * version, plural and metadata_only; what it lets them point to must live until
 * the factory's call returns. Pure. */
typedef void (*kin_factory_tweak_cb)(kin_informer_options *options, void *data);

/* Called once when a factory is gone. */
typedef void (*kin_factory_close_cb)(void *data);

typedef struct kin_factory_options {
  size_t size;

  /* What informers are opened with, as in kin_informer_options. Copied. */
  const char *const *namespaces; /* none: all */
  size_t namespace_count;
  uint32_t resync_ms;
  bool metadata_only;
  kin_error_cb on_error;
  kin_state_cb on_state;
  void *data; /* passed to on_error, on_state, tweak and on_closed */
  kin_transform_cb transform;
  void *transform_data;

  /* Periods instead of resync_ms; at most 4,096, the first that fits holds.
   * Copied. */
  const kin_factory_resync *resyncs;
  size_t resync_count;

  kin_factory_tweak_cb tweak; /* may be NULL; has the last word */

  /* Stores get an index of "/metadata/namespace", called "namespace", which
   * listers of one namespace use, unless there is just one namespace or this is
   * set. */
  bool no_namespace_index;

  /* Under this name each informer gets an identifier. The factory keeps a
   * reference, and releases the name when it closes. NULL: none. */
  kin_informer_name *name;

  /* Called once when the factory is gone, whoever closed it; may be NULL. */
  kin_factory_close_cb on_closed;
} kin_factory_options;
#define KIN_FACTORY_OPTIONS_INIT                                               \
  {                                                                            \
    sizeof(kin_factory_options), NULL, 0, 0, false, NULL, NULL, NULL, NULL,    \
        NULL, NULL, 0, NULL, false, NULL, NULL                                 \
  }

/* Opens a factory without informers. The client closes it if it is still open
 * then. Errors: KIN_EINVAL (options, namespaces, resyncs), KIN_ETOOBIG
 * (resyncs), KIN_ENOTSUP (options of a newer version), KIN_ECLOSED (client),
 * KIN_ENOMEM. *out is NULL then. */
KIN_EXTERN int kin_factory_open(kin_factory **out, kin_client *client,
                                const kin_factory_options *options);

/* The informer of a resource, opened if this is the first time that it is asked
 * for. Group NULL or "" is the core group, version NULL is "v1". It belongs to
 * the factory, but may be started and closed by itself. Errors: those of
 * kin_informer_open, KIN_ECLOSED (factory), KIN_ETOOBIG (more than 4,096
 * informers). *out is NULL then. Cost: O(informers of the factory). */
KIN_EXTERN int kin_factory_informer(kin_factory *factory, const char *group,
                                    const char *version, const char *plural,
                                    kin_informer **out);

/* The same, with options of its own for the first time. Resource and
 * metadata_only say which informer is meant: with all fields and with metadata
 * only are two. What else is zero is as the factory has it: namespaces,
 * resync_ms, transform and its data if there is no transform, and on_error,
 * on_state and data if no callback and no data is set.
 * Further errors: KIN_EINVAL, KIN_ENOTSUP (options). */
KIN_EXTERN int kin_factory_informer_with(kin_factory *factory,
                                         const kin_informer_options *options,
                                         kin_informer **out);

/* The identifier of one of its informers, borrowed until that is closed; NULL
 * if the factory has no name or the informer is not its. If another informer of
 * this name has the resource already, it is not reserved, and a warning is
 * logged. */
KIN_EXTERN const kin_informer_id *
kin_factory_informer_id(const kin_factory *factory,
                        const kin_informer *informer);

/* Starts all informers that have not been started; call it again after asking
 * for more. Errors: KIN_ECLOSED (closing: none is started). */
KIN_EXTERN int kin_factory_start(kin_factory *factory);

/* Waits until all informers that are started and open now have synced; see
 * kin_wait_open, also for errors. timeout_ms 0: none. The result has an item
 * for each, called "deployments.v1.apps", or "deployments.v1.apps (metadata)";
 * its error begins with "failed to sync all caches: ". If the factory is
 * closed, its code is KIN_ECLOSED. `out` may be NULL. */
KIN_EXTERN int kin_factory_wait(kin_factory *factory, uint64_t timeout_ms,
                                kin_wait_cb cb, void *data, kin_wait **out);

/* Closes its informers, each with its own on_closed; then releases the name,
 * and calls cb (may be NULL) from a later loop iteration, when nothing of it is
 * left. Nothing can be asked for or started from now on. Legal in every event
 * callback. Errors: KIN_EALREADY (closing; cb is not called). */
KIN_EXTERN int kin_factory_close(kin_factory *factory, kin_factory_close_cb cb,
                                 void *data);

#ifdef __cplusplus
}
#endif

#endif /* KIN_FACTORY_H */
