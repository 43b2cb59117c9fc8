/* SPDX-License-Identifier: MIT */
#ifndef KIN_MAX_BYTES_H
#define KIN_MAX_BYTES_H

/** @file
 * The bound of the objects' memory: max_bytes of kin_informer_options and of
 * kin_client_options. An object that the program itself puts into an informer's
 * store, or deletes there, counts from the informer's next event or request on;
 * a paused informer's tries count as requests. Such a put is never refused. */

#include <stddef.h>
#include <stdint.h>

#include <kin/export.h>

#ifdef __cplusplus
extern "C" {
#endif

struct kin_informer;

/** An informer's objects under kin_informer_options.max_bytes. */
typedef enum kin_memory_state {
  KIN_MEMORY_STATE_WHOLE = 0, /**< stored as they come */
  KIN_MEMORY_STATE_KEYS_ONLY, /**< stored with their keys only, after
                               * KIN_MEMORY_DROP_BODIES */
  KIN_MEMORY_STATE_PAUSED,    /**< no request is made before there is room, or
                               * the program will be asked */
  KIN_MEMORY_STATE_STOPPED    /**< after KIN_MEMORY_STOP */
} kin_memory_state;

/** Returns "whole", "keys_only", "paused", "stopped". Static. */
KIN_EXTERN const char *kin_memory_state_name(kin_memory_state state);

/** The library's action when an object does not fit into max_bytes. */
typedef enum kin_memory_decision {
  /** The informer makes no request until there is room, or the program calls
   * kin_informer_set_max_bytes or kin_informer_set_shard. Cached objects stay,
   * and get older. A scope tries again with the waits of a failed request, at
   * most a minute each; nothing is sent to the server. There is room when, with
   * the object and with the list that it belonged to, an eighth of the bound that
   * was reached stays free, and the other bound allows it: after namespaces were
   * removed, or, with the client's bound, after other informers have shrunk or
   * closed. If the namespace is removed or stopped whose object did not fit, a
   * free eighth is enough.
   *
   * The new states of a list come beside the cached ones that they replace. So a
   * list in which all has changed needs a bound of twice the objects; with less
   * the informer stays paused. Then set a larger bound, or answer
   * KIN_MEMORY_DROP_BODIES. The default. */
  KIN_MEMORY_PAUSE = 0,

  /** From here on, objects are stored with their keys only
   * (kin_object_is_key_only): key, uid, resourceVersion and labels (none with
   * drop_labels). Listeners get all events. The bodies of cached objects are
   * dropped in bounded steps. Listeners are not told: an event would hold the
   * old body, and nothing has changed in the cluster. A listener whose filter
   * reads the body gets an add or a delete when the filter's answer changes. An
   * index loses the values that it read in bodies. Then the informer goes on. A
   * second answer drops the bodies of objects that the program itself has put
   * since; if there are none, the informer pauses. */
  KIN_MEMORY_DROP_BODIES,

  /** Every scope stops as after KIN_STOP. The cache stays readable. No scope
   * starts again. A namespace that is added later is told KIN_EMAXBYTES once, and
   * stops, too. */
  KIN_MEMORY_STOP
} kin_memory_decision;

/** The bound that was reached. */
typedef enum kin_memory_bound {
  KIN_MEMORY_BOUND_INFORMER = 0, /**< kin_informer_options.max_bytes */
  KIN_MEMORY_BOUND_CLIENT        /**< kin_client_options.max_bytes */
} kin_memory_bound;

/** An object that does not fit. */
typedef struct kin_memory_event {
  size_t size;           /**< see KIN_HAS */
  uint64_t bytes;        /**< counted now; without the object, and without the
                          * informer's lists that are not complete */
  uint64_t needed_bytes; /**< more: for the object, and for the informer's lists
                          * that are not complete */
  uint64_t max_bytes;    /**< the bound */
  kin_memory_bound bound; /**< if it is the client's, `bytes` are those of all
                           * its informers */
  kin_memory_state
      state; /**< WHOLE, or KEYS_ONLY: bodies are dropped already */
} kin_memory_event;

/** Called when an object does not fit into max_bytes, of the informer or of its
 * client; an event callback. Before, the request has ended: on_error gets
 * KIN_EMAXBYTES, class memory. A watch keeps its position, so the server sends
 * the event again. A list has been dropped. Nothing is requested before the
 * answer. `event` is valid during the call. The callback may close the informer,
 * or set another bound; then its answer does not count. */
typedef kin_memory_decision (*kin_max_bytes_cb)(struct kin_informer *informer,
                                                const kin_memory_event *event,
                                                void *data);

/** Changes kin_informer_options.max_bytes, before the start or later; 0: no
 * bound. A paused informer goes on at once, whatever the new bound is. If bodies
 * were dropped, objects are stored whole again, and each namespace is listed
 * again: cached objects with their keys only become whole, and listeners are
 * told of that as updates. An object whose newest state the transform refuses
 * stays as it is. If the objects do not fit, the program is asked again. More
 * bytes than a lower bound allows stay, those of lists under way included. A
 * stopped informer stays stopped.
 *
 * Legal in every event callback.
 * Errors: KIN_ECLOSED.
 * Cost: O(namespaces); then a list, if bodies were dropped. */
KIN_EXTERN int kin_informer_set_max_bytes(struct kin_informer *informer,
                                          uint64_t max_bytes);

#ifdef __cplusplus
}
#endif

#endif /* KIN_MAX_BYTES_H */
