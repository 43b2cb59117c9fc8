/* SPDX-License-Identifier: MIT */
#ifndef APISIM_REPLAY_DATA_H
#define APISIM_REPLAY_DATA_H

/* What a replay sends, rendered once and shared by all connections: every pod
 * as a list item in a chunk of its own, every event likewise.
 *
 * Chunks lie back to back in large slabs, so a list or a run of events is a
 * handful of segments however many objects it has. An object that changed since
 * the start has only a body here; its chunk is put together from pieces. */

#include <stdbool.h>
#include <stdint.h>

#include "blob.h"
#include "podgen.h"
#include "registry.h"

typedef struct replay_item {
  blob *owner;      // one of the slabs; not counted here
  const char *wire; // the chunk, NULL if it has to be put together
  const char *body; // "metadata":... up to the end of the object
  uint32_t wire_len;
  uint32_t body_len;
} replay_item;

typedef struct slabs {
  blob **items;
  size_t count;
  size_t used; // of the last
} slabs;

/* Objects in full, or their metadata only. */
typedef struct replay_form {
  bool partial;
  bool items_first;        // in lists, as custom resources have it
  buf list_kind;           // "kind":...,"apiVersion":...
  buf prefix;              // before the body of an object: {"kind":...,
  const char *item_prefix; // of a list item: prefix.data or {
  slabs slabs;
  replay_item *base; // the first list
  replay_item *now;  // the list as it is
  replay_item *events;
} replay_form;

typedef struct replay_plan {
  podgen gen;
  const resource *res; // what the pods are served as
  uint64_t pods;
  uint64_t events;
  uint64_t first_version; // of the first list; pod i was written at i + 1
} replay_plan;

/* The pod that event i changes. */
uint64_t replay_event_pod(const replay_plan *plan, uint64_t i);
void replay_form_render(replay_form *f, const replay_plan *plan, bool partial);
void replay_form_free(replay_form *f);
/* Makes pod index have changed once more, at version. */
void replay_form_change(replay_form *f, const replay_plan *plan, uint64_t index,
                        uint64_t version, uint64_t change);
/* Makes the list show all events. */
void replay_form_apply_events(replay_form *f, const replay_plan *plan);
/* Back to the first list. */
void replay_form_reset(replay_form *f, const replay_plan *plan);

/* Queues the whole list with its frames. */
void replay_put_list(const replay_form *f, const replay_plan *plan,
                     uint64_t version, segq *to);
/* Queues pod index as an ADDED event. */
void replay_put_added(const replay_form *f, uint64_t index, segq *to);
/* Queues event i. */
void replay_put_event(const replay_form *f, uint64_t i, segq *to);

#endif
