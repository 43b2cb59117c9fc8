/* SPDX-License-Identifier: MIT */
#include "listwatch/listwatch_core.h"

#include <assert.h>
#include <string.h>

#include "listwatch/version.h"

/* Finds out whether the watch is up to date (KIN__INPUT_VERIFY). The watch is
 * ended, for there is one request at a time. A list of one item finds the
 * target version. Then short watches are opened. The states are the ordinary
 * ones, so failures are treated as ever; `verify.is_open` marks the verify.
 *
 * The first answer is an event or a bookmark at the target's version or later.
 * But a server sends a bookmark only if its watch cache has moved since the
 * watch began, and a quiet cache has not moved.
 *
 * So there is a second answer: a proof that nothing was left. A list "not older
 * than the target" is read from the watch cache (KIN__REQUEST_PROOF). The watch
 * is opened on the same connection, brings nothing, and is ended in good order
 * when its time is over. That server had all changes up to the target in memory
 * when the watch began, and a watch begins with the changes in memory. The
 * position does not move. If the proof is wrong, the next watch still brings
 * the missing events. A proof can be wrong behind a proxy that spreads one
 * connection over several servers, one of them stuck.
 *
 * The proving list has no limit but a selector that matches nothing. Up to
 * about version 1.31 a server reads a list with a limit from etcd, which proves
 * nothing about its watch cache. */

#define SHORT_WATCHES 2u
/* At a watch's timeout a server does not check that all events are sent. So a
 * watch that brought bytes in its last second proves nothing. */
#define QUIET_MS 1000u
/* Clocks differ. A watch that ends earlier than this has another reason. */
#define EARLY_MS 500u

void kin__listwatch_end_verify(kin__listwatch *listwatch, int code,
                               kin__listwatch_actions *actions) {
  kin__verify *verify = &listwatch->verify;
  if (verify->is_open) {
    verify->is_open = false;
    actions->verdict = (kin__verdict){
        .is_given = true, .code = code, .version = verify->target};
  }
}

bool kin__listwatch_has_reached(const kin__listwatch *listwatch) {
  const kin__verify *verify = &listwatch->verify;
  return verify->is_open && verify->target[0] != '\0' &&
         kin__version_reaches(listwatch->version, verify->target);
}

void kin__listwatch_on_verify(kin__listwatch *listwatch, const char *target,
                              uint64_t now_ms,
                              kin__listwatch_actions *actions) {
  kin__verify *verify = &listwatch->verify;
  if (listwatch->state != KIN__LISTWATCH_WATCHING || verify->is_open ||
      kin__listwatch_is(listwatch, KIN__WATCH_ONLY)) {
    return;
  }
  assert(strlen(target) < KIN__VERSION_SIZE);
  *verify = (kin__verify){.is_open = true};
  kin__listwatch_copy_version(verify->target, target);
  actions->cancel_request = true;
  actions->stop_timer = true;
  if (listwatch->is_unversioned) {
    kin__listwatch_end_verify(listwatch, KIN_ENOTSUP, actions);
    kin__listwatch_list_again(listwatch, now_ms, actions);
  } else {
    kin__listwatch_enter(listwatch, KIN__LISTWATCH_VERIFYING, now_ms, actions);
  }
}

/* The next list must not be older than the target, so it must not come from a
 * watch cache that is behind. */
static void lose_position(kin__listwatch *listwatch,
                          kin__listwatch_report report, uint64_t now_ms,
                          kin__listwatch_actions *actions) {
  listwatch->is_verify_lost = true;
  listwatch->version_unavailable = true;
  kin__listwatch_lose_position(listwatch, KIN_RELIST_VERIFY, actions);
  kin__listwatch_count_failure(listwatch, now_ms, actions);
  actions->report = report;
}

/* The newest version is before the position, as after a restored backup. */
static void go_back(kin__listwatch *listwatch, uint64_t now_ms,
                    kin__listwatch_actions *actions) {
  listwatch->versions_repeat = true;
  lose_position(listwatch, KIN__REPORT_WENT_BACK, now_ms, actions);
  kin__listwatch_enter(listwatch, KIN__LISTWATCH_LISTING, now_ms, actions);
}

static void on_proof(kin__listwatch *listwatch,
                     const kin__listwatch_input *input) {
  kin__verify *verify = &listwatch->verify;
  if (kin__version_reaches(input->version, verify->target)) {
    verify->proof_connection = input->connection;
  }
}

void kin__listwatch_on_verified_list(kin__listwatch *listwatch,
                                     const kin__listwatch_input *input,
                                     uint64_t now_ms,
                                     kin__listwatch_actions *actions) {
  kin__verify *verify = &listwatch->verify;
  listwatch->failures = 0;
  if (verify->is_open && verify->is_proving) {
    on_proof(listwatch, input);
    kin__listwatch_to_opening(listwatch, now_ms, actions);
    return;
  }
  if (verify->is_open && verify->target[0] == '\0') {
    if (kin__listwatch_is_any_version(input->version)) {
      /* There is no version to compare. */
      kin__listwatch_end_verify(listwatch, KIN_ENOTSUP, actions);
    } else if (kin__version_is_before(input->version, listwatch->version)) {
      kin__listwatch_copy_version(verify->target, input->version);
      go_back(listwatch, now_ms, actions);
      return;
    } else {
      kin__listwatch_copy_version(verify->target, input->version);
    }
  }
  if (kin__listwatch_has_reached(listwatch)) {
    kin__listwatch_end_verify(listwatch, 0, actions);
  }
  /* A proof needs a connection that the watch can share. */
  verify->is_proving = verify->is_open && input->connection != 0 &&
                       strcmp(verify->target, "0") != 0;
  kin__listwatch_enter(listwatch,
                       verify->is_proving ? KIN__LISTWATCH_VERIFYING
                                          : KIN__LISTWATCH_OPENING,
                       now_ms, actions);
}

bool kin__listwatch_verify_list_failed(kin__listwatch *listwatch,
                                       const kin__failure *failure,
                                       uint64_t now_ms,
                                       kin__listwatch_actions *actions) {
  kin__verify *verify = &listwatch->verify;
  bool is_refused = failure->is_rv_too_large || failure->status == 400 ||
                    failure->status == 422;
  if (!verify->is_open) {
    return false;
  }
  if (verify->is_proving && (is_refused || failure->status == 403)) {
    /* The watch cache is behind, or the selector is forbidden. */
    kin__listwatch_to_opening(listwatch, now_ms, actions);
    return true;
  }
  if (!is_refused) {
    return false;
  }
  kin__listwatch_end_verify(listwatch, failure->code, actions);
  kin__listwatch_enter(listwatch, KIN__LISTWATCH_VERIFYING, now_ms, actions);
  return true;
}

void kin__listwatch_on_short_head(kin__listwatch *listwatch,
                                  uint64_t connection) {
  kin__verify *verify = &listwatch->verify;
  verify->is_same_server =
      connection != 0 && connection == verify->proof_connection;
  verify->proof_connection = 0;
}

bool kin__listwatch_proves_verify(kin__listwatch *listwatch, uint64_t quiet_ms,
                                  uint64_t now_ms) {
  const kin__verify *verify = &listwatch->verify;
  uint64_t age_ms = now_ms - listwatch->watch_began_ms;
  return verify->is_open && verify->is_same_server && quiet_ms >= QUIET_MS &&
         age_ms + EARLY_MS >= KIN__SHORT_TIMEOUT_S * 1000u;
}

kin__listwatch_state
kin__listwatch_after_short_watch(kin__listwatch *listwatch, uint64_t now_ms,
                                 kin__listwatch_actions *actions) {
  kin__verify *verify = &listwatch->verify;
  if (++verify->watches < SHORT_WATCHES) {
    return verify->is_proving ? KIN__LISTWATCH_VERIFYING
                              : KIN__LISTWATCH_OPENING;
  }
  lose_position(listwatch, KIN__REPORT_NOT_REACHED, now_ms, actions);
  return KIN__LISTWATCH_LISTING;
}
