/* SPDX-License-Identifier: MIT */
#ifndef KIN_FACTORY_H
#define KIN_FACTORY_H

/** @file
 * Informers that the parts of a program share. */

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

/** The informers that the parts of a program share. A part asks the factory for
 * the informer of a resource; all parts get the same one, opened when the first
 * asks. Informers of a factory are started, waited for and closed together. A
 * resource may be of a built-in or custom type, with all of its fields or
 * metadata only (client-go's typed, dynamic and metadata factories in one).
 *
 * The factory's informers are ordinary informers: listen to them, index their
 * stores, and list them with kin_lister_of(kin_informer_store(informer)). An
 * informer that is closed by itself leaves the factory, and the next request
 * for its resource opens a new one. */
typedef struct kin_factory kin_factory;

/** A resource with a resync period of its own. */
typedef struct kin_factory_resync {
  const char *group;   /**< NULL or "": the core group */
  const char *version; /**< NULL: "v1" */
  const char *plural;  /**< required */
  uint32_t resync_ms;  /**< 0: none */
} kin_factory_resync;

/** Changes the options of an informer that is about to be opened: selectors,
 * for instance, which then hold for lists and watches alike. The callback may
 * change any option but group, version, plural and metadata_only. Values that
 * the options point to must live until the factory's call returns. Pure. */
typedef void (*kin_factory_tweak_cb)(kin_informer_options *options, void *data);

/** Called once when a factory is gone. */
typedef void (*kin_factory_close_cb)(void *data);

/** Options of kin_factory_open. */
typedef struct kin_factory_options {
  size_t size; /**< set by the INIT macro */

  /** The options with which informers are opened, as in kin_informer_options.
   * Copied. */
  const char *const *namespaces; /**< none: all */
  size_t namespace_count;
  uint32_t resync_ms;
  bool metadata_only;
  kin_error_cb on_error;
  kin_state_cb on_state;
  void *data; /**< passed to on_error, on_state, tweak and on_closed */
  kin_transform_cb transform;
  void *transform_data;

  /** Periods instead of resync_ms for single resources; at most 4,096, the
   * first that fits holds. Copied. */
  const kin_factory_resync *resyncs;
  size_t resync_count;

  /** May be NULL; runs last, so its changes hold. */
  kin_factory_tweak_cb tweak;

  /** Set: stores get no index of "/metadata/namespace". By default they get
   * one, called "namespace", unless the informer has exactly one namespace.
   * Listers of one namespace use this index. */
  bool no_namespace_index;

  /** Each informer gets an identifier under this name. The factory keeps a
   * reference, and releases the name when it closes. NULL: no identifiers. */
  kin_informer_name *name;

  /** Called once when the factory is gone, also if the client closed it; may be
   * NULL. */
  kin_factory_close_cb on_closed;
} kin_factory_options;
/** Sets the size, and each member to its default. */
#define KIN_FACTORY_OPTIONS_INIT                                               \
  {                                                                            \
    sizeof(kin_factory_options), NULL, 0, 0, false, NULL, NULL, NULL, NULL,    \
        NULL, NULL, 0, NULL, false, NULL, NULL                                 \
  }

/** Opens a factory without informers. The client closes the factory if it is
 * still open when the client is closed.
 * Errors: KIN_EINVAL (options, namespaces, resyncs), KIN_ETOOBIG (resyncs),
 * KIN_ENOTSUP (options of a newer version), KIN_ECLOSED (client), KIN_ENOMEM.
 * *out is NULL then. */
KIN_EXTERN int kin_factory_open(kin_factory **out, kin_client *client,
                                const kin_factory_options *options);

/** The informer of a resource, opened at the first request. Group NULL or "" is
 * the core group, version NULL is "v1". The informer belongs to the factory,
 * but may be started and closed by itself.
 * Errors: those of kin_informer_open, KIN_ECLOSED (factory), KIN_ETOOBIG (more
 * than 4,096 informers). *out is NULL then.
 * Cost: O(informers of the factory). */
KIN_EXTERN int kin_factory_informer(kin_factory *factory, const char *group,
                                    const char *version, const char *plural,
                                    kin_informer **out);

/** The same, with options of the caller if this is the first request. The
 * resource and metadata_only select the informer: one with all fields and one
 * with metadata only are two informers. These fields have the factory's values
 * if they are zero: namespaces, resync_ms, transform and its data if there is
 * no transform, and on_error, on_state and data if no callback and no data is
 * set.
 * Further errors: KIN_EINVAL, KIN_ENOTSUP (options). */
KIN_EXTERN int kin_factory_informer_with(kin_factory *factory,
                                         const kin_informer_options *options,
                                         kin_informer **out);

/** The identifier of one of the factory's informers, borrowed until the
 * informer is closed. NULL if the factory has no name or the informer is not
 * the factory's. If another informer of this name already has the resource, the
 * identifier is not reserved, and a warning is logged.
 * Cost: O(informers of the factory). */
KIN_EXTERN const kin_informer_id *
kin_factory_informer_id(const kin_factory *factory,
                        const kin_informer *informer);

/** Starts all informers that have not been started. Call it again after
 * requests for more informers.
 * Errors: KIN_ECLOSED (closing: none is started).
 * Cost: O(informers of the factory). */
KIN_EXTERN int kin_factory_start(kin_factory *factory);

/** Waits until all informers that are started and open at this call have
 * synced; see kin_wait_open, also for errors. timeout_ms 0: none. The result
 * has an item for each informer, called "deployments.v1.apps", or
 * "deployments.v1.apps (metadata)"; the result's error begins with "failed to
 * sync all caches: ". If the factory is closed, the result's code is
 * KIN_ECLOSED. `out` may be NULL.
 * Cost: O(n log n) for n informers. */
KIN_EXTERN int kin_factory_wait(kin_factory *factory, uint64_t timeout_ms,
                                kin_wait_cb cb, void *data, kin_wait **out);

/** Closes the factory's informers, each with its own on_closed. Then releases
 * the name and calls cb (may be NULL) from a later loop iteration, when nothing
 * of the factory is left. From this call on, requests and starts fail. Legal in
 * every event callback.
 * Errors: KIN_EALREADY (closing; cb is not called).
 * Cost: O(informers of the factory). */
KIN_EXTERN int kin_factory_close(kin_factory *factory, kin_factory_close_cb cb,
                                 void *data);

#ifdef __cplusplus
}
#endif

#endif /* KIN_FACTORY_H */
