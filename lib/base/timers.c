/* SPDX-License-Identifier: MIT */
#include "base/timers.h"

#include <stddef.h>

/* A timer that is later than this begins again for as long. */
#define DELAY_MS 100u

void kin__timers_init(kin__timers *timers) {
  *timers = (kin__timers){0};
}

void kin__timer_init(kin__timer *timer, void (*cb)(kin__timer *timer)) {
  *timer = (kin__timer){.cb = cb};
}

/* A leftist heap: the shortest way down from a node leads to the right, and
 * `rank` is its length. So any way to the right has at most log2(n) nodes.
 * Joining two heaps walks only such ways, so a join takes O(log n). (In a heap
 * that is only fast on average a single pop may walk over all timers.) */

static unsigned rank_of(const kin__timer *timer) {
  return timer != NULL ? timer->rank : 0;
}

static void set_parent(kin__timer *timer, kin__timer *parent) {
  if (timer != NULL) {
    timer->parent = parent;
  }
}

/* Puts the longer child to the left. Returns whether the rank has changed. */
static bool settle(kin__timer *timer) {
  if (rank_of(timer->left) < rank_of(timer->right)) {
    kin__timer *left = timer->left;
    timer->left = timer->right;
    timer->right = left;
  }
  unsigned rank = rank_of(timer->right) + 1;
  bool has_changed = rank != timer->rank;
  timer->rank = rank;
  return has_changed;
}

/* If both are due at the same time, `a` goes first. */
static kin__timer *meld(kin__timer *a, kin__timer *b) {
  kin__timer *parent = NULL;
  kin__timer *root = NULL;
  while (a != NULL && b != NULL) {
    if (b->due_ms < a->due_ms) {
      kin__timer *t = a;
      a = b;
      b = t;
    }
    a->parent = parent;
    if (parent != NULL) {
      parent->right = a;
    } else {
      root = a;
    }
    parent = a;
    a = a->right;
  }
  kin__timer *rest = a != NULL ? a : b;
  set_parent(rest, parent);
  if (parent == NULL) {
    return rest;
  }
  parent->right = rest;
  for (; parent != NULL; parent = parent->parent) {
    settle(parent);
  }
  return root;
}

static void detach(kin__timers *timers, kin__timer *timer) {
  kin__timer *parent = timer->parent;
  kin__timer *rest = meld(timer->left, timer->right);
  set_parent(rest, parent);
  if (parent == NULL) {
    timers->root = rest;
  } else if (parent->left == timer) {
    parent->left = rest;
  } else {
    parent->right = rest;
  }
  while (parent != NULL && settle(parent)) {
    parent = parent->parent;
  }
  timer->left = timer->right = timer->parent = NULL;
  timer->rank = 0;
  timer->is_active = false;
}

static void notify(kin__timers *timers) {
  if (timers->changed != NULL) {
    timers->changed(timers);
  }
}

void kin__timer_start(kin__timers *timers, kin__timer *timer, uint64_t due_ms) {
  if (timer->is_active) {
    detach(timers, timer);
  }
  timer->due_ms = due_ms;
  timer->is_active = true;
  timer->is_delayed = false;
  timer->rank = 1;
  timers->root = meld(timers->root, timer);
  notify(timers);
}

bool kin__timer_delay(kin__timers *timers, kin__timer *timer) {
  bool is_delayed =
      !timer->is_delayed && timers->now_ms > timer->due_ms + DELAY_MS;
  if (is_delayed) {
    kin__timer_start(timers, timer, timers->now_ms + DELAY_MS);
    timer->is_delayed = true;
  }
  return is_delayed;
}

void kin__timer_stop(kin__timers *timers, kin__timer *timer) {
  if (timer->is_active) {
    detach(timers, timer);
    notify(timers);
  }
}

uint64_t kin__timers_next_ms(const kin__timers *timers) {
  return timers->root != NULL ? timers->root->due_ms : UINT64_MAX;
}

bool kin__timers_run(kin__timers *timers, uint64_t now_ms, unsigned limit) {
  timers->now_ms = now_ms;
  while (timers->root != NULL && timers->root->due_ms <= now_ms) {
    if (limit-- == 0) {
      return true;
    }
    kin__timer *timer = timers->root;
    detach(timers, timer);
    timer->cb(timer);
  }
  return false;
}
