/* SPDX-License-Identifier: MIT */
#ifndef KIN_DISPATCH_NOTIFICATION_H
#define KIN_DISPATCH_NOTIFICATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kin/allocator.h>
#include <kin/handler.h>

#include "object/object.h"

/* The content of SYNCED and RELISTED notifications, shared by all listeners.
 * The count of references is for one thread. */
typedef struct kin__marker {
  size_t refs;
  size_t objects;     /* in the store when it was made */
  kin_str namespace_; /* both strings are stored behind the struct */
  kin_str version;
} kin__marker;

/* An element of a listener's queue. Each object member is one reference. */
typedef struct kin__notification {
  kin_object *object; /* add, update: new; delete: last state */
  union {
    kin_object *old_object;   /* update */
    const kin_object *cached; /* delete: the stored object; NULL: it is
                               * `object`; borrowed, read only while the change
                               * is sent */
    kin__marker *marker;      /* synced, relisted; NULL only if never
                               * delivered */
  };
  uint8_t type;   /* kin_event_type */
  uint8_t reason; /* kin_delete_reason */
  bool is_initial;
  bool is_resync;
  bool is_gone; /* delete: the add was not delivered either */
} kin__notification;

/* One reference; copies the strings. NULL if out of memory. */
kin__marker *kin__marker_new(const kin_allocator *allocator, kin_str namespace_,
                             kin_str version, size_t objects);
/* Accepts NULL. The allocator must be kin__marker_new's. */
void kin__marker_unref(kin__marker *marker, const kin_allocator *allocator);

static inline bool
kin__notification_is_marker(const kin__notification *notification) {
  return notification->type >= KIN_EVENT_SYNCED;
}

/* Takes the references of a copy of the notification. */
static inline void
kin__notification_ref(const kin__notification *notification) {
  if (!kin__notification_is_marker(notification)) {
    kin__object_ref(notification->object);
    if (notification->type == KIN_EVENT_UPDATE) {
      kin__object_ref(notification->old_object);
    }
  } else if (notification->marker != NULL) {
    notification->marker->refs++;
  }
}

/* Drops the references that kin__notification_ref took. */
static inline void
kin__notification_unref(const kin__notification *notification,
                        const kin_allocator *allocator) {
  if (!kin__notification_is_marker(notification)) {
    kin__object_unref(notification->object);
    if (notification->type == KIN_EVENT_UPDATE) {
      kin__object_unref(notification->old_object);
    }
  } else {
    kin__marker_unref(notification->marker, allocator);
  }
}

#endif /* KIN_DISPATCH_NOTIFICATION_H */
