/* SPDX-License-Identifier: MIT */
#ifndef KIN_COMPACT_H
#define KIN_COMPACT_H

/** @file
 * Compact storage: compact of kin_informer_options. */

#ifdef __cplusplus
extern "C" {
#endif

/** Compact storage: objects are kept compressed, with a dictionary that is made
 * of the informer's own objects. Everything works as without it. Key, uid,
 * version and labels are read as before; every other part is inflated first,
 * which takes some microseconds. Views inflate into memory of their own. The
 * document "compact storage" (doc/compact.md) has the gain and the cost.
 *
 * kin_object_at and kin_fields_read need the text in place, and may fail with
 * KIN_ENOMEM. Their values live as long as the program holds a reference to the
 * object (kin_object_ref, kin_deltas_copy). Without one, on the thread of the
 * informer's loop, they live until the program returns to the loop.
 *
 * On another thread the program needs such a reference before it reads, or uses
 * a view: the loop may free the text at any moment. The reference of a store or
 * of another cache (kin_store_put, kin_expiring_store_put) is not enough.
 *
 * After the informer's close the same holds for every thread. Texts that are
 * read without such a reference make room for one another then.
 *
 * At most 256 MiB of such texts exist for an informer at a time: also then
 * KIN_ENOMEM.
 *
 * An object is packed in one step. If its text hardly compresses, that takes 1
 * to 2 ms from 10 to 16 KB with KIN_COMPACT_SMALL, and about 1 ms from 100 KB
 * on with both. */
typedef enum kin_compact {
  KIN_COMPACT_OFF = 0, /**< JSON text */
  KIN_COMPACT_FAST,    /**< compressed when an object comes */
  KIN_COMPACT_SMALL    /**< the same; all memory is a sixth to a quarter
                        * smaller, and an event takes five to eight times as
                        * long */
} kin_compact;

#ifdef __cplusplus
}
#endif

#endif /* KIN_COMPACT_H */
