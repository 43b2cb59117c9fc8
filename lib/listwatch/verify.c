/* SPDX-License-Identifier: MIT */
#include "listwatch/listwatch_core.h"

#include <string.h>

#include "listwatch/version.h"

/* Finds out whether the watch is up to date (KIN__INPUT_VERIFY). The watch is
 * ended, for there is one request at a time. A list of one item finds the
 * target version. Then short watches are opened. The states are the ordinary
 * ones, so failures are treated as ever; `verify.phase` marks the verify.
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
  if (verify->phase != KIN__VERIFY_NONE) {
    verify->phase = KIN__VERIFY_NONE;
    actions->verdict = (kin__verdict){
        .is_given = true, .code = code, .version = listwatch->verify_target};
  }
}

bool kin__listwatch_has_reached(const kin__listwatch *listwatch) {
  return kin__listwatch_is_verifying(listwatch) &&
         listwatch->verify_target[0] != '\0' &&
         kin__version_reaches(listwatch->position.version,
                              listwatch->verify_target);
}

/* A server may send each watch's head and end in one piece. Then the owner sees
 * only the waits between the watches. Such a wait stands for the watch, unless a
 * list is to follow. */
static bool is_between_watches(const kin__listwatch *listwatch) {
  return listwatch->state == KIN__LISTWATCH_WAITING &&
         listwatch->retries.failures == 0 &&
         (listwatch->in.waiting.after != KIN__LISTWATCH_LISTING ||
          listwatch->position.is_unversioned);
}

bool kin__listwatch_can_verify(const kin__listwatch *listwatch) {
  return (listwatch->state == KIN__LISTWATCH_WATCHING ||
          is_between_watches(listwatch)) &&
         listwatch->verify.phase == KIN__VERIFY_NONE &&
         listwatch->options.mode != KIN__WATCH_ONLY;
}

void kin__listwatch_begin_verify(kin__listwatch *listwatch, const char *target,
                                 bool needs_answer) {
  assert(strlen(target) < KIN__VERSION_SIZE);
  listwatch->verify =
      (kin__verify){.phase = KIN__VERIFY_ASKING, .needs_answer = needs_answer};
  kin__listwatch_copy_version(listwatch->verify_target, target);
}

/* Nothing is shortened: a wait without a failure keeps watches that end at once
 * from being a storm. */
static void verify_after_wait(kin__listwatch *listwatch,
                              kin__listwatch_actions *actions) {
  if (listwatch->position.is_unversioned) {
    kin__listwatch_end_verify(listwatch, KIN_ENOTSUP, actions);
  } else {
    kin__listwatch_waiting(listwatch)->after = KIN__LISTWATCH_VERIFYING;
  }
}

void kin__listwatch_on_verify(kin__listwatch *listwatch,
                              const kin__listwatch_input *input,
                              uint64_t now_ms,
                              kin__listwatch_actions *actions) {
  if (!kin__listwatch_can_verify(listwatch)) {
    return;
  }
  kin__listwatch_begin_verify(listwatch, input->version, input->needs_answer);
  if (listwatch->state == KIN__LISTWATCH_WAITING) {
    verify_after_wait(listwatch, actions);
    return;
  }
  actions->cancel_request = true;
  actions->stop_timer = true;
  if (listwatch->position.is_unversioned) {
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
  kin__listwatch_doubt(listwatch, KIN__DOUBT_UNAVAILABLE);
  kin__listwatch_lose_position(listwatch, KIN_RELIST_VERIFY, actions);
  kin__listwatch_count_failure(listwatch, now_ms, actions);
  actions->report = report;
  actions->verdict.version = listwatch->verify_target;
}

/* The newest version is before the position, as after a restored backup. A
 * server that ignores resourceVersionMatch shows it in any verify. */
static void go_back(kin__listwatch *listwatch, const char *newest,
                    uint64_t now_ms, kin__listwatch_actions *actions) {
  kin__listwatch_copy_version(listwatch->verify_target, newest);
  kin__listwatch_doubt(listwatch, KIN__DOUBT_REPEAT);
  lose_position(listwatch, KIN__REPORT_WENT_BACK, now_ms, actions);
  kin__listwatch_enter(listwatch, KIN__LISTWATCH_LISTING, now_ms, actions);
}

static void on_proof(kin__listwatch *listwatch,
                     const kin__listwatch_input *input) {
  kin__verify *verify = &listwatch->verify;
  if (kin__version_reaches(input->version, listwatch->verify_target)) {
    verify->proof_connection = input->connection;
  }
}

/* The question has no answer. Returns whether a list answers in its place. That
 * list must not come from a watch cache that is behind. */
static bool give_up_question(kin__listwatch *listwatch, int code,
                             uint64_t now_ms, kin__listwatch_actions *actions) {
  kin__listwatch_end_verify(listwatch, code, actions);
  if (listwatch->verify.needs_answer) {
    kin__listwatch_doubt(listwatch, KIN__DOUBT_UNAVAILABLE);
    kin__listwatch_list_again(listwatch, now_ms, actions);
  }
  return listwatch->verify.needs_answer;
}

void kin__listwatch_on_verified_list(kin__listwatch *listwatch,
                                     const kin__listwatch_input *input,
                                     uint64_t now_ms,
                                     kin__listwatch_actions *actions) {
  kin__verify *verify = &listwatch->verify;
  listwatch->retries.failures = 0;
  if (verify->phase == KIN__VERIFY_PROVING) {
    on_proof(listwatch, input);
    kin__listwatch_to_opening(listwatch, now_ms, actions);
    return;
  }
  bool is_any = kin__listwatch_is_any_version(input->version);
  if (!is_any &&
      kin__version_is_before(input->version, listwatch->position.version)) {
    go_back(listwatch, input->version, now_ms, actions);
    return;
  }
  if (verify->phase == KIN__VERIFY_ASKING &&
      listwatch->verify_target[0] == '\0') {
    if (!is_any) {
      kin__listwatch_copy_version(listwatch->verify_target, input->version);
    } else if (give_up_question(listwatch, KIN_ENOTSUP, now_ms, actions)) {
      return; /* there was no version to compare */
    }
  }
  if (kin__listwatch_has_reached(listwatch)) {
    kin__listwatch_end_verify(listwatch, 0, actions);
  }
  /* A proof needs a connection that the watch can share. */
  bool is_proving = verify->phase == KIN__VERIFY_ASKING &&
                    input->connection != 0 &&
                    strcmp(listwatch->verify_target, "0") != 0;
  if (is_proving) {
    verify->phase = KIN__VERIFY_PROVING;
  }
  kin__listwatch_enter(
      listwatch, is_proving ? KIN__LISTWATCH_VERIFYING : KIN__LISTWATCH_OPENING,
      now_ms, actions);
}

bool kin__listwatch_verify_list_failed(kin__listwatch *listwatch,
                                       const kin__failure *failure,
                                       uint64_t now_ms,
                                       kin__listwatch_actions *actions) {
  kin__verify *verify = &listwatch->verify;
  bool is_refused =
      failure->is_rv_too_large || kin__failure_is_malformed(failure);
  if (verify->phase == KIN__VERIFY_NONE ||
      kin__failure_voids_versions(failure)) {
    return false;
  }
  if (verify->phase == KIN__VERIFY_PROVING &&
      (is_refused || failure->status == 403)) {
    /* The watch cache is behind, or the selector is forbidden. */
    kin__listwatch_to_opening(listwatch, now_ms, actions);
    return true;
  }
  if (!is_refused) {
    return false;
  }
  kin__listwatch_count_failure(listwatch, now_ms, actions); /* RF-08 */
  if (!give_up_question(listwatch, failure->code, now_ms, actions)) {
    kin__listwatch_enter(listwatch, KIN__LISTWATCH_VERIFYING, now_ms, actions);
  }
  return true;
}

bool kin__listwatch_take_proof_connection(kin__listwatch *listwatch,
                                          uint64_t connection) {
  kin__verify *verify = &listwatch->verify;
  bool is_same = connection != 0 && connection == verify->proof_connection;
  verify->proof_connection = 0;
  return is_same;
}

bool kin__listwatch_proves_verify(kin__listwatch *listwatch, uint64_t quiet_ms,
                                  uint64_t now_ms) {
  const kin__watching *watching = kin__listwatch_watching(listwatch);
  uint64_t age_ms = now_ms - watching->began_ms;
  return kin__listwatch_is_verifying(listwatch) &&
         watching->is_on_proof_connection && quiet_ms >= QUIET_MS &&
         age_ms + EARLY_MS >= KIN__SHORT_TIMEOUT_S * 1000u;
}

kin__listwatch_state
kin__listwatch_after_short_watch(kin__listwatch *listwatch, uint64_t now_ms,
                                 kin__listwatch_actions *actions) {
  kin__verify *verify = &listwatch->verify;
  if (++verify->watches < SHORT_WATCHES) {
    return verify->phase == KIN__VERIFY_PROVING ? KIN__LISTWATCH_VERIFYING
                                                : KIN__LISTWATCH_OPENING;
  }
  lose_position(listwatch, KIN__REPORT_NOT_REACHED, now_ms, actions);
  return KIN__LISTWATCH_LISTING;
}
