/* SPDX-License-Identifier: MIT */
#include "listwatch/listwatch_core.h"

#include <assert.h>
#include <string.h>

#include "listwatch/version.h"

/* Whether the watch is up to date, when somebody asks (KIN__INPUT_VERIFY). The
 * watch is ended, for there is one request at a time; a list of one item finds
 * the version to come to, the target; then watches are opened for a short time.
 * States are the ordinary ones, so that what fails meanwhile is treated as
 * ever: `verify.is_open` says that they serve this.
 *
 * An event or a bookmark of the target's version, or a later one, is the
 * answer. But a server sends a bookmark only if its watch cache has moved since
 * the watch began, and where all is quiet it has not. So there is another
 * answer, that nothing was left: the watch is opened on the connection that has
 * just brought a list "not older than the target" from the watch cache
 * (KIN__REQUEST_PROOF), and brings nothing more until the server ends it in
 * good order when its time is over. The same server had everything up to the
 * target in memory when the watch began, and a watch begins with what is there.
 * The position stays where it is: if the proof is wrong, as behind a proxy that
 * spreads the requests of one connection over several servers, one of which is
 * stuck, the next watch still brings what this one did not.
 *
 * The list that proves has no limit but a selector that nothing matches: up to
 * version 1.31 or so a server reads a list with a limit from etcd, which says
 * nothing about its watch cache. */

#define SHORT_WATCHES 2u
/* A server that ends a watch in time does not look whether it has sent all that
 * there is; one that was still at it has not been quiet. */
#define QUIET_MS 1000u
/* Clocks differ, and one that was asked to end later has other reasons. */
#define EARLY_MS 500u

void kin__end_verify(kin__reflector *reflector, int code) {
  kin__verify *verify = &reflector->verify;
  if (verify->is_open) {
    verify->is_open = false;
    verify->has_verdict = true;
    verify->verdict = code;
  }
}

bool kin__reflector_take_verdict(kin__reflector *reflector, int *code) {
  kin__verify *verify = &reflector->verify;
  bool has_verdict = verify->has_verdict;
  verify->has_verdict = false;
  *code = verify->verdict;
  return has_verdict;
}

void kin__check_verify(kin__reflector *reflector) {
  kin__verify *verify = &reflector->verify;
  if (verify->is_open && verify->target[0] != '\0' &&
      kin__version_reaches(reflector->version, verify->target)) {
    kin__end_verify(reflector, 0);
  }
}

void kin__on_verify(kin__reflector *reflector, const char *target,
                    uint64_t now_ms, kin__reflector_actions *actions) {
  kin__verify *verify = &reflector->verify;
  if (reflector->state != KIN__REFLECTOR_WATCHING || verify->is_open ||
      reflector->is_watch_only) {
    return;
  }
  assert(strlen(target) < KIN__VERSION_SIZE);
  *verify = (kin__verify){.is_open = true};
  kin__copy_version(verify->target, target);
  actions->cancel_request = true;
  actions->stop_timer = true;
  if (reflector->is_unversioned) {
    kin__end_verify(reflector, KIN_ENOTSUP);
    kin__list_again(reflector, now_ms, actions);
  } else {
    kin__enter(reflector, KIN__REFLECTOR_VERIFYING, now_ms, actions);
  }
}

/* What comes next must not be older than the target, which a watch cache might
 * be that is behind. */
static void lose_position(kin__reflector *reflector) {
  reflector->is_verify_lost = true;
  reflector->version_unavailable = true;
  reflector->verify.is_lost = true;
  kin__lose_position(reflector, KIN__LOST_VERIFY);
}

void kin__tell_lost_verify(kin__reflector *reflector, uint64_t now_ms,
                           kin__reflector_actions *actions) {
  if (!reflector->verify.is_lost) {
    return;
  }
  reflector->verify.is_lost = false;
  actions->lost_verify = true;
  if (!actions->report) {
    kin__count_failure(reflector, now_ms, actions);
  }
}

/* The newest version is before the position: as after a restore from a
 * backup. */
static void go_back(kin__reflector *reflector, uint64_t now_ms,
                    kin__reflector_actions *actions) {
  reflector->verify.went_back = true;
  reflector->versions_repeat = true;
  lose_position(reflector);
  kin__enter(reflector, KIN__REFLECTOR_LISTING, now_ms, actions);
}

static void on_proof(kin__reflector *reflector,
                     const kin__reflector_input *input) {
  kin__verify *verify = &reflector->verify;
  if (kin__version_reaches(input->version, verify->target)) {
    verify->proof_connection = input->connection;
  }
}

void kin__on_verified_list(kin__reflector *reflector,
                           const kin__reflector_input *input, uint64_t now_ms,
                           kin__reflector_actions *actions) {
  kin__verify *verify = &reflector->verify;
  reflector->failures = 0;
  if (verify->is_open && verify->is_proving) {
    on_proof(reflector, input);
    kin__to_opening(reflector, now_ms, actions);
    return;
  }
  if (verify->is_open && verify->target[0] == '\0') {
    if (kin__is_any_version(input->version)) {
      kin__end_verify(reflector, KIN_ENOTSUP); /* nothing to compare */
    } else if (kin__version_is_before(input->version, reflector->version)) {
      kin__copy_version(verify->target, input->version);
      go_back(reflector, now_ms, actions);
      return;
    } else {
      kin__copy_version(verify->target, input->version);
    }
  }
  kin__check_verify(reflector);
  /* Without a connection there is nothing to prove it by. */
  verify->is_proving = verify->is_open && input->connection != 0 &&
                       strcmp(verify->target, "0") != 0;
  kin__enter(reflector,
             verify->is_proving ? KIN__REFLECTOR_VERIFYING
                                : KIN__REFLECTOR_OPENING,
             now_ms, actions);
}

bool kin__verify_list_failed(kin__reflector *reflector,
                             const kin__failure *failure, uint64_t now_ms,
                             kin__reflector_actions *actions) {
  kin__verify *verify = &reflector->verify;
  bool is_refused = failure->is_rv_too_large || failure->status == 400 ||
                    failure->status == 422;
  if (!verify->is_open) {
    return false;
  }
  if (verify->is_proving && (is_refused || failure->status == 403)) {
    /* Its watch cache is behind, or the selector is not for it. */
    kin__to_opening(reflector, now_ms, actions);
    return true;
  }
  if (!is_refused) {
    return false;
  }
  kin__end_verify(reflector, failure->code);
  kin__enter(reflector, KIN__REFLECTOR_VERIFYING, now_ms, actions);
  return true;
}

void kin__on_short_head(kin__reflector *reflector, uint64_t connection) {
  kin__verify *verify = &reflector->verify;
  verify->is_same_server =
      connection != 0 && connection == verify->proof_connection;
  verify->proof_connection = 0;
}

bool kin__proves_verify(kin__reflector *reflector, uint64_t quiet_ms,
                        uint64_t now_ms) {
  const kin__verify *verify = &reflector->verify;
  uint64_t age_ms = now_ms - reflector->watch_began_ms;
  return verify->is_open && verify->is_same_server && quiet_ms >= QUIET_MS &&
         age_ms + EARLY_MS >= KIN__SHORT_TIMEOUT_S * 1000u;
}

kin__reflector_state kin__after_short_watch(kin__reflector *reflector) {
  kin__verify *verify = &reflector->verify;
  if (++verify->watches < SHORT_WATCHES) {
    return verify->is_proving ? KIN__REFLECTOR_VERIFYING
                              : KIN__REFLECTOR_OPENING;
  }
  lose_position(reflector);
  return KIN__REFLECTOR_LISTING;
}
