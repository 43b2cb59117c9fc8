/* SPDX-License-Identifier: MIT */
#ifndef KIN_TESTING_SOURCE_STATE_H
#define KIN_TESTING_SOURCE_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kin/store.h>
#include <kin/testing/fake_source.h>

/* What a fake source is made of. Objects lie in a store; all changes since the
 * last reset in an array, where each open watch has a place. A list in pages is
 * a copy of the content that lives until its last page. */

#define KIN__FAKE_TEXT_MAX 255u

typedef struct kin__fake_change {
  kin_watch_event_type type;
  kin_object *object;
  bool is_dropped; /* not for watches that were open then */
} kin__fake_change;

/* The rest of a list. */
typedef struct kin__fake_snapshot {
  struct kin__fake_snapshot *next;
  uint64_t id;
  uint64_t version;
  kin_object_list *list;
} kin__fake_snapshot;

typedef struct kin__fake_answer {
  struct kin__fake_answer *prev;
  struct kin__fake_answer *next;
  kin_fake_source *source;
  kin_feed *feed;
  bool is_watch;
  bool is_stream;  /* a watch that begins with what there is */
  bool is_granted; /* it has begun */
  bool is_paused;
  bool owes_bookmark;
  bool owes_initial_end;
  bool is_ending;    /* once everything has been told */
  bool is_reset;     /* end at once */
  size_t place;      /* watch: the next change to tell */
  size_t replay_end; /* watch: changes before this one were there first */
  uint32_t limit;
  /* List: of the snapshot; 0: the first page. Stream: of what there was when it
   * was granted; 0: none yet, or it has been told. */
  uint64_t list_id;
  uint64_t list_place;
  uint64_t page_end; /* list, once granted */
  char version[64];
  char match[32];
  char namespace_[];
} kin__fake_answer;

struct kin_fake_source {
  kin_allocator allocator;
  void (*wake)(void *data);
  void *data;
  bool watch_list;
  kin_store *items;
  uint64_t version;
  uint64_t first_version; /* changes[0] is the one after it */
  kin__fake_change *changes;
  size_t change_count;
  size_t change_capacity;
  kin__fake_snapshot *snapshots; /* the newest first */
  uint64_t snapshot_ids;
  kin__fake_answer *first;
  kin__fake_answer *last;
  kin__fake_answer *current; /* being fed */
  bool is_failing;
  kin_feed_error list_error;
  char reason[KIN__FAKE_TEXT_MAX + 1];
  char message[KIN__FAKE_TEXT_MAX + 1];
  size_t lists;
  size_t watches;
  size_t streams;
};

/* Zeroed, or NULL. */
void *kin__fake_allocate(const kin_allocator *allocator, size_t size);
/* NULL is allowed. */
void kin__fake_release(const kin_allocator *allocator, void *memory);

/* There is something to do. */
void kin__fake_wake(const kin_fake_source *source);

/* Copies the content, of a namespace or "", as the newest snapshot.
 * Errors: KIN_ENOMEM. */
int kin__fake_take_snapshot(kin_fake_source *source, const char *namespace_);
/* Where the pointer to it is, or NULL. */
kin__fake_snapshot **kin__fake_find_snapshot(kin_fake_source *source,
                                             uint64_t id);
void kin__fake_drop_snapshot(kin_fake_source *source,
                             kin__fake_snapshot **place);

/* Takes an answer out and frees it. */
void kin__fake_forget(kin__fake_answer *answer);

#endif /* KIN_TESTING_SOURCE_STATE_H */
