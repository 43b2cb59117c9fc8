/* SPDX-License-Identifier: MIT */
#ifndef KIN_INFORMER_CONSISTENCY_H
#define KIN_INFORMER_CONSISTENCY_H

#include <stdbool.h>

struct kin__scope;

/* Whether a list that came as a watch is what the server lists at the same
 * version (WL-12), if the client asks for that (check_watch_lists). When such a
 * list is in the store, and before anything else comes in, a digest of each of
 * the scope's objects is taken; then the same is listed at exactly that
 * version, and each item looked up among them. What is left on either side is
 * told.
 *
 * It needs 20 bytes for each object, from its first list on until the
 * comparison is done, and works in bounded steps. Whatever goes wrong with it,
 * memory included, is logged and concerns nobody else. */
struct kin__list_check;

/* A list is going to be applied. Ends a check of an earlier one. */
void kin__list_check_begin(struct kin__scope *scope);
/* It is in the store, or all of the scope has been deleted: does a part of what
 * has to be done before anything else happens. Returns whether there is more.
 */
bool kin__list_check_step(struct kin__scope *scope);

/* Ends all work at once, and tells nothing any more. May come twice. */
void kin__list_check_close(struct kin__scope *scope);
/* After that: frees some. Returns whether there is more. */
bool kin__list_check_free_step(struct kin__scope *scope);
void kin__list_check_finish(struct kin__scope *scope);

#endif /* KIN_INFORMER_CONSISTENCY_H */
