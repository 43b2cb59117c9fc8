/* SPDX-License-Identifier: MIT */
#ifndef KIN_CHECK_LIST_CHECK_H
#define KIN_CHECK_LIST_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "decode/item.h"
#include "feed/feed.h"
#include "feed/settings.h"
#include "store/store.h"

/* Whether a list that came as a watch is what the server lists at the same
 * version (WL-12), if the client asks for that (check_watch_lists). When such a
 * list is in the store, and before anything else comes in, a digest of each of
 * the feed's objects is taken; then the same is listed at exactly that version,
 * and each item looked up among them. What is left on either side is told.
 *
 * It needs 20 bytes for each object, from its first list on until the
 * comparison is done, and works in bounded steps. Whatever goes wrong with it,
 * memory included, is logged and concerns nobody else.
 *
 * A check that is NULL was not needed yet: all functions take it. */
typedef struct kin__list_check kin__list_check;

/* What is compared. All of it outlives the check. */
typedef struct kin__list_check_subject {
  kin_feed *feed; /* whose list came as a watch */
  const kin_store *store;
  uint32_t
      scope; /* objects of the store in slots of this scope are the feed's */
  const kin__settings *settings;
  const kin__decode_limits *limits;
  kin__memory *raw_memory; /* of objects before they are transformed */
} kin__list_check_subject;

/* A list is going to be applied: makes *check if there is none and one is
 * needed. Ends a check of an earlier list. */
void kin__list_check_begin(kin__list_check **check,
                           const kin__list_check_subject *of);
/* The list is in the store, or all of the scope has been deleted: does a part of
 * what has to be done before anything else happens. Returns whether there is
 * more. */
bool kin__list_check_step(kin__list_check *check);

/* Ends all work at once, and tells nothing any more. May come twice. */
void kin__list_check_close(kin__list_check *check);
/* After that: frees some. Returns whether there is more. */
bool kin__list_check_free_step(kin__list_check *check);
void kin__list_check_free(kin__list_check *check);

#endif /* KIN_CHECK_LIST_CHECK_H */
