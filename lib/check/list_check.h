/* SPDX-License-Identifier: MIT */
#ifndef KIN_CHECK_LIST_CHECK_H
#define KIN_CHECK_LIST_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "decode/item.h"
#include "feed/feed.h"
#include "feed/settings.h"
#include "store/store.h"

/* Checks that a list that came as a watch equals the server's list at the same
 * version (WL-12), if the client asks for checks (check_watch_lists). First the
 * streamed list is applied. Before other events come in, the check takes a
 * digest of each of the feed's objects. Then it lists at exactly that version,
 * and looks each item up. Differences are reported.
 *
 * A check needs 20 bytes for each object until the comparison is done, and
 * works in bounded steps. Its own failures, lack of memory included, are logged
 * and have no other effect.
 *
 * A NULL check was never needed; all functions accept NULL. */
typedef struct kin__list_check kin__list_check;

/* The compared feed and its surroundings. All pointers outlive the check. */
typedef struct kin__list_check_subject {
  kin_feed *feed; /* its list came as a watch */
  const kin_store *store;
  uint32_t scope; /* of the feed: its objects are in slots with this scope */
  const kin__settings *settings;
  kin__memory *raw_memory; /* for objects before their transform */
} kin__list_check_subject;

/* A list is about to be applied. Makes *check if it is NULL and needed. Ends a
 * check of an earlier list. */
void kin__list_check_begin(kin__list_check **check,
                           const kin__list_check_subject *of);
/* The list is in the store, or all objects of the scope are deleted. Does a
 * part of the work that must precede other events. Returns whether there is
 * more. */
bool kin__list_check_step(kin__list_check *check);

/* Ends the check without a result, and frees its memory in steps. A result that
 * is already known is still reported. `why` is logged; NULL: nothing is. */
void kin__list_check_end(kin__list_check *check, const char *why);
/* Ends all work and reports at once. May be called twice. */
void kin__list_check_close(kin__list_check *check);
/* After kin__list_check_close: frees a part. Returns whether there is more. */
bool kin__list_check_free_step(kin__list_check *check);
void kin__list_check_free(kin__list_check *check);

#endif /* KIN_CHECK_LIST_CHECK_H */
