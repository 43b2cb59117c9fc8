/* SPDX-License-Identifier: MIT */
#ifndef KIN_TEST_FUZZ_FOLD_H
#define KIN_TEST_FUZZ_FOLD_H

#include <kin/informer.h>

/* A listener that adds up what it is told, whatever the objects are, and stops
 * the run at the first event that does not follow from those before: an add of
 * what is there, an update or a delete of what is not, an update whose old
 * object is not the one told last, a resync that changes something, an initial
 * add after synced, synced twice (SI-11 to SI-13, SI-20, SY-01). */

enum { FOLD_OBJECTS = 512 };

typedef struct fold {
  const kin_object *told[FOLD_OBJECTS]; /* each with a reference */
  size_t count;
  unsigned synced;
  uint64_t events;
  kin_listener *listener; /* NULL: it does not listen */
  bool is_paused;
  bool filters; /* only objects whose label "app" is not "hidden" */
} fold;

/* `fold` is zero-initialized. 0 or the error of kin_informer_listen. */
int fold_listen(fold *f, kin_informer *informer, uint32_t resync_ms,
                uint32_t exact_limit, bool filters);
/* Closes the listener, if it listens, and forgets all. */
void fold_close(fold *f);
void fold_forget(fold *f);

/* Fails unless what was told is what the store has, byte by byte. */
void fold_check(const fold *f, const kin_store *store);

#endif /* KIN_TEST_FUZZ_FOLD_H */
