/* SPDX-License-Identifier: MIT */
#include "listwatch/listwatch.h"

/* The table of transitions, and what a state means. */

#define BIT(state) (1u << (state))

static const unsigned transitions[] = {
    [KIN__LISTWATCH_IDLE] =
        BIT(KIN__LISTWATCH_LISTING) | BIT(KIN__LISTWATCH_STREAMING) |
        BIT(KIN__LISTWATCH_OPENING) | BIT(KIN__LISTWATCH_STOPPED),
    [KIN__LISTWATCH_LISTING] =
        BIT(KIN__LISTWATCH_LISTING) | BIT(KIN__LISTWATCH_APPLYING) |
        BIT(KIN__LISTWATCH_WAITING) | BIT(KIN__LISTWATCH_STOPPED),
    [KIN__LISTWATCH_STREAMING] =
        BIT(KIN__LISTWATCH_STREAMING) | BIT(KIN__LISTWATCH_LISTING) |
        BIT(KIN__LISTWATCH_APPLYING) | BIT(KIN__LISTWATCH_WAITING) |
        BIT(KIN__LISTWATCH_STOPPED),
    [KIN__LISTWATCH_APPLYING] =
        BIT(KIN__LISTWATCH_LISTING) | BIT(KIN__LISTWATCH_OPENING) |
        BIT(KIN__LISTWATCH_WATCHING) | BIT(KIN__LISTWATCH_WAITING) |
        BIT(KIN__LISTWATCH_STOPPED),
    [KIN__LISTWATCH_OPENING] =
        BIT(KIN__LISTWATCH_OPENING) | BIT(KIN__LISTWATCH_WATCHING) |
        BIT(KIN__LISTWATCH_WAITING) | BIT(KIN__LISTWATCH_STOPPED),
    [KIN__LISTWATCH_WATCHING] =
        BIT(KIN__LISTWATCH_OPENING) | BIT(KIN__LISTWATCH_VERIFYING) |
        BIT(KIN__LISTWATCH_LISTING) | BIT(KIN__LISTWATCH_STREAMING) |
        BIT(KIN__LISTWATCH_WAITING) | BIT(KIN__LISTWATCH_STOPPED),
    [KIN__LISTWATCH_VERIFYING] =
        BIT(KIN__LISTWATCH_VERIFYING) | BIT(KIN__LISTWATCH_OPENING) |
        BIT(KIN__LISTWATCH_LISTING) | BIT(KIN__LISTWATCH_STREAMING) |
        BIT(KIN__LISTWATCH_WAITING) | BIT(KIN__LISTWATCH_STOPPED),
    [KIN__LISTWATCH_WAITING] =
        BIT(KIN__LISTWATCH_LISTING) | BIT(KIN__LISTWATCH_STREAMING) |
        BIT(KIN__LISTWATCH_OPENING) | BIT(KIN__LISTWATCH_VERIFYING) |
        BIT(KIN__LISTWATCH_STOPPED),
    [KIN__LISTWATCH_STOPPED] = 0,
};

bool kin__listwatch_may(kin__listwatch_state from, kin__listwatch_state to) {
  return (transitions[from] & BIT(to)) != 0;
}

bool kin__listwatch_is_between_lists(const kin__listwatch *listwatch) {
  switch (listwatch->state) {
  case KIN__LISTWATCH_OPENING:
  case KIN__LISTWATCH_WATCHING:
  case KIN__LISTWATCH_VERIFYING:
    return true;
  case KIN__LISTWATCH_WAITING:
    return listwatch->in.waiting.after != KIN__LISTWATCH_LISTING;
  default:
    return false;
  }
}

const char *kin__listwatch_state_name(kin__listwatch_state state) {
  static const char *const names[] = {
      [KIN__LISTWATCH_IDLE] = "IDLE",
      [KIN__LISTWATCH_LISTING] = "LISTING",
      [KIN__LISTWATCH_STREAMING] = "STREAMING",
      [KIN__LISTWATCH_APPLYING] = "APPLYING",
      [KIN__LISTWATCH_OPENING] = "OPENING",
      [KIN__LISTWATCH_WATCHING] = "WATCHING",
      [KIN__LISTWATCH_VERIFYING] = "VERIFYING",
      [KIN__LISTWATCH_WAITING] = "WAITING",
      [KIN__LISTWATCH_STOPPED] = "STOPPED",
  };
  return names[state];
}
