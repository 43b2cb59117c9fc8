/* SPDX-License-Identifier: MIT */
#include "election/elector_settings.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/host_name.h"
#include "base/str.h"
#include "listwatch/target.h"

/* CN-12. */
#define DEFAULT_LEASE_DURATION_S 15u
#define DEFAULT_RENEW_DEADLINE_MS 10000u
#define DEFAULT_RETRY_PERIOD_MS 2000u
#define MIN_REQUEST_TIMEOUT_MS 1000u

#define MAX_LEASE_DURATION_S 86400u
#define MAX_LABELS 64u

#define NS_PER_MS UINT64_C(1000000)

/* --- Checks --------------------------------------------------------------- */

static int check_callbacks(const kin_leader_elector_options *options,
                           const kin__log *log) {
  if (options->on_started == NULL || options->on_stopped == NULL) {
    return kin__log_problem(log, KIN_EINVAL, "%s: is required",
                            options->on_started == NULL ? "on_started"
                                                        : "on_stopped");
  }
  return 0;
}

static int check_labels(const kin_leader_elector_options *options,
                        const kin__log *log) {
  if (options->label_count > MAX_LABELS ||
      (options->label_count > 0 && options->labels == NULL)) {
    return kin__log_problem(log, KIN_EINVAL, "labels: NULL, or more than %u",
                            MAX_LABELS);
  }
  for (size_t i = 0; i < options->label_count; i++) {
    const char *name = options->labels[i].name;
    if (!kin__has_text(name) || strcmp(name, "*") == 0) {
      return kin__log_problem(log, KIN_EINVAL, "labels[%zu] has no name", i);
    }
  }
  return 0;
}

static int check_identity(const kin_leader_elector_options *options,
                          const kin__log *log) {
  const char *identity = options->identity;
  if (identity == NULL) {
    return 0;
  }
  if (identity[0] == '\0' ||
      strlen(identity) > KIN__ELECTOR_MAX_IDENTITY_BYTES) {
    return kin__log_problem(log, KIN_EINVAL,
                            "identity: is empty, or longer than %u bytes",
                            KIN__ELECTOR_MAX_IDENTITY_BYTES);
  }
  return 0;
}

/* The rules of object names. The recorder needs them for its Events, too. */
static int check_place(const kin_leader_elector_options *options,
                       const kin__log *log) {
  const char *const names[] = {options->namespace_, options->name};
  for (size_t i = 0; i < 2; i++) {
    const char *member = i == 0 ? "namespace_" : "name";
    if (!kin__has_text(names[i])) {
      return kin__log_problem(log, KIN_EINVAL, "%s: is required", member);
    }
    if (!kin__segment_is_valid(names[i])) {
      return kin__log_problem(log, KIN_EINVAL,
                              "%s: \"%.120s\" is no name of an object", member,
                              names[i]);
    }
  }
  return 0;
}

/* --- Times ---------------------------------------------------------------- */

static uint32_t number_or(uint32_t value, uint32_t fallback) {
  return value != 0 ? value : fallback;
}

/* LE-01. */
static int set_times(kin__elector_settings *settings,
                     const kin_leader_elector_options *options,
                     const kin__log *log) {
  uint32_t lease_s =
      number_or(options->lease_duration_s, DEFAULT_LEASE_DURATION_S);
  uint32_t renew_ms =
      number_or(options->renew_deadline_ms, DEFAULT_RENEW_DEADLINE_MS);
  uint32_t retry_ms =
      number_or(options->retry_period_ms, DEFAULT_RETRY_PERIOD_MS);
  if (lease_s > MAX_LEASE_DURATION_S) {
    return kin__log_problem(log, KIN_EINVAL,
                            "lease_duration_s: %" PRIu32 " is more than %u",
                            lease_s, MAX_LEASE_DURATION_S);
  }
  if ((uint64_t)lease_s * 1000 <= renew_ms) {
    return kin__log_problem(log, KIN_EINVAL,
                            "lease_duration_s: %" PRIu32
                            " s is not more than renew_deadline_ms (%" PRIu32
                            ")",
                            lease_s, renew_ms);
  }
  if ((uint64_t)renew_ms * 5 <= (uint64_t)retry_ms * 6) {
    return kin__log_problem(log, KIN_EINVAL,
                            "renew_deadline_ms: %" PRIu32
                            " is not more than 1.2 times retry_period_ms "
                            "(%" PRIu32 ")",
                            renew_ms, retry_ms);
  }
  settings->times =
      (kin__elector_times){.lease_ns = lease_s * 1000 * NS_PER_MS,
                           .renew_deadline_ns = renew_ms * NS_PER_MS,
                           .retry_ns = retry_ms * NS_PER_MS};
  settings->terms.duration_s = lease_s;
  settings->request_timeout_ms = renew_ms / 2 > MIN_REQUEST_TIMEOUT_MS
                                     ? renew_ms / 2
                                     : MIN_REQUEST_TIMEOUT_MS; /* LE-10 */
  return 0;
}

/* --- Copies --------------------------------------------------------------- */

static char *make_identity(const kin_allocator *allocator,
                           kin__random *random) {
  char host[KIN__HOST_NAME_SIZE];
  char identity[sizeof host + 20];
  kin__host_name(host);
  snprintf(identity, sizeof identity, "%s_%016" PRIx64, host,
           kin__random_next(random));
  return kin__strdup(allocator, identity);
}

static int copy_labels(kin__elector_settings *settings,
                       const kin_leader_elector_options *options) {
  if (options->label_count == 0) {
    return 0;
  }
  kin_parameter *labels =
      kin__calloc(settings->allocator, options->label_count, sizeof *labels);
  if (labels == NULL) {
    return KIN_ENOMEM;
  }
  settings->terms.labels = labels;
  settings->terms.label_count = options->label_count;
  for (size_t i = 0; i < options->label_count; i++) {
    const kin_parameter *from = &options->labels[i];
    labels[i].name = kin__strdup(settings->allocator, from->name);
    labels[i].value =
        kin__strdup(settings->allocator, kin__or_default(from->value, ""));
    if (labels[i].name == NULL || labels[i].value == NULL) {
      return KIN_ENOMEM;
    }
  }
  return 0;
}

static int copy_names(kin__elector_settings *settings,
                      const kin_leader_elector_options *options,
                      kin__random *random) {
  const kin_allocator *allocator = settings->allocator;
  kin__lease_terms *terms = &settings->terms;
  terms->namespace_ = kin__strdup(allocator, options->namespace_);
  terms->name = kin__strdup(allocator, options->name);
  terms->identity = options->identity != NULL
                        ? kin__strdup(allocator, options->identity)
                        : make_identity(allocator, random);
  return terms->namespace_ != NULL && terms->name != NULL &&
                 terms->identity != NULL
             ? copy_labels(settings, options)
             : KIN_ENOMEM;
}

/* Composes a lease, to find texts that are not UTF-8. */
static int try_to_compose(const kin__elector_settings *settings,
                          const kin__log *log) {
  kin__buf body;
  const kin__lease none = {.object = NULL};
  kin__buf_init(&body, settings->allocator, 1u << 20);
  int err =
      kin__lease_compose(&body, settings->allocator, &none, &settings->terms,
                         KIN__ELECTOR_CREATE, (kin__timestamp){.s = 0});
  kin__buf_finish(&body);
  if (err == 0 || err == KIN_ENOMEM) {
    return err;
  }
  return kin__log_problem(log, KIN_EINVAL,
                          "identity, name, labels: no Lease can have them "
                          "(%s)",
                          kin_strerror(err));
}

/* --- Life ----------------------------------------------------------------- */

int kin__elector_settings_init(kin__elector_settings *settings,
                               const kin_allocator *allocator,
                               const kin_leader_elector_options *options,
                               kin__random *random, const kin__log *log) {
  *settings = (kin__elector_settings){.allocator = allocator};
  int err = check_place(options, log);
  if (err == 0) {
    err = check_identity(options, log);
  }
  if (err == 0) {
    err = check_labels(options, log);
  }
  if (err == 0) {
    err = check_callbacks(options, log);
  }
  if (err == 0) {
    err = set_times(settings, options, log);
  }
  if (err == 0) {
    err = copy_names(settings, options, random);
  }
  return err == 0 ? try_to_compose(settings, log) : err;
}

static void free_text(const kin_allocator *allocator, const char *text) {
  kin__free(allocator, (void *)(uintptr_t)text);
}

void kin__elector_settings_finish(kin__elector_settings *settings) {
  const kin_allocator *allocator = settings->allocator;
  const kin__lease_terms *terms = &settings->terms;
  for (size_t i = 0; i < terms->label_count; i++) {
    free_text(allocator, terms->labels[i].name);
    free_text(allocator, terms->labels[i].value);
  }
  kin__free(allocator, (void *)(uintptr_t)terms->labels);
  free_text(allocator, terms->namespace_);
  free_text(allocator, terms->name);
  free_text(allocator, terms->identity);
}
