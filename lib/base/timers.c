/* SPDX-License-Identifier: MIT */
#include "base/timers.h"

#include <stddef.h>

void kin__timers_init(kin__timers *timers) {
  *timers = (kin__timers){0};
}

void kin__timer_init(kin__timer *timer, void (*cb)(kin__timer *timer)) {
  *timer = (kin__timer){.cb = cb};
}

/* Joins two heaps; the later root becomes the first child of the earlier. */
static kin__timer *meld(kin__timer *a, kin__timer *b) {
  if (a == NULL) {
    return b;
  }
  if (b == NULL) {
    return a;
  }
  if (b->due_ms < a->due_ms) {
    kin__timer *t = a;
    a = b;
    b = t;
  }
  b->sibling = a->child;
  if (b->sibling != NULL) {
    b->sibling->prev = b;
  }
  b->prev = a;
  a->child = b;
  return a;
}

/* Joins a list of siblings in two passes. */
static kin__timer *meld_siblings(kin__timer *first) {
  kin__timer *pairs = NULL;
  while (first != NULL) {
    kin__timer *a = first;
    kin__timer *b = a->sibling;
    first = b != NULL ? b->sibling : NULL;
    a->sibling = a->prev = NULL;
    if (b != NULL) {
      b->sibling = b->prev = NULL;
    }
    kin__timer *pair = meld(a, b);
    pair->sibling = pairs;
    pairs = pair;
  }
  kin__timer *root = NULL;
  while (pairs != NULL) {
    kin__timer *next = pairs->sibling;
    pairs->sibling = NULL;
    root = meld(root, pairs);
    pairs = next;
  }
  return root;
}

static void detach(kin__timers *timers, kin__timer *timer) {
  kin__timer *rest = meld_siblings(timer->child);
  if (timer == timers->root) {
    timers->root = rest;
  } else {
    if (timer->prev->child == timer) {
      timer->prev->child = timer->sibling;
    } else {
      timer->prev->sibling = timer->sibling;
    }
    if (timer->sibling != NULL) {
      timer->sibling->prev = timer->prev;
    }
    timers->root = meld(timers->root, rest);
  }
  timer->child = timer->sibling = timer->prev = NULL;
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
  timers->root = meld(timers->root, timer);
  notify(timers);
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
