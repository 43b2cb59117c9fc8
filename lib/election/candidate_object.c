/* SPDX-License-Identifier: MIT */
#include "election/candidate_object.h"

#include <stdio.h>
#include <string.h>

#include <kin/error.h>
#include <kin/object_builder.h>
#include <kin/value.h>

#include "base/ascii.h"
#include "base/str.h"
#include "election/lease.h"
#include "listwatch/target.h"
#include "object/object.h"

#define MICRO_DIGITS 6u

/* --- Checks --------------------------------------------------------------- */

/* As a key of a ConfigMap, which the server asks for. */
static bool is_candidate_name(const char *name) {
  size_t length = strlen(name);
  if (length == 0 || length > KIN__CANDIDATE_MAX_NAME_BYTES ||
      strcmp(name, ".") == 0 || strncmp(name, "..", 2) == 0) {
    return false;
  }
  for (const char *c = name; *c != '\0'; c++) {
    if (!kin__is_alphanumeric(*c) && *c != '-' && *c != '_' && *c != '.') {
      return false;
    }
  }
  return true;
}

static int check_names(const kin__candidate_terms *terms, const kin__log *log) {
  const struct {
    const char *member;
    const char *value;
    bool (*is_valid)(const char *value); /* NULL: any text */
  } names[] = {{"namespace_", terms->namespace_, kin__segment_is_valid},
               {"name", terms->name, is_candidate_name},
               {"lease_name", terms->lease_name, kin__segment_is_valid},
               {"version", terms->version, kin__segment_is_valid},
               {"binary_version", terms->binary_version, NULL}};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    if (!kin__has_text(names[i].value)) {
      return kin__log_problem(log, KIN_EINVAL, "%s: is required",
                              names[i].member);
    }
    if (names[i].is_valid != NULL && !names[i].is_valid(names[i].value)) {
      return kin__log_problem(log, KIN_EINVAL,
                              "%s: \"%.120s\" is no valid name",
                              names[i].member, names[i].value);
    }
  }
  return 0;
}

int kin__candidate_check(const kin__candidate_terms *terms,
                         const kin__log *log) {
  int err = check_names(terms, log);
  if (err == 0 && !kin__has_text(terms->emulation_version) &&
      strcmp(terms->strategy, KIN__CANDIDATE_DEFAULT_STRATEGY) == 0) {
    err = kin__log_problem(log, KIN_EINVAL,
                           "emulation_version: is required with the "
                           "strategy " KIN__CANDIDATE_DEFAULT_STRATEGY);
  }
  return err;
}

/* --- Reading and writing -------------------------------------------------- */

bool kin__candidate_is_pinged(const kin_object *object, kin_time *ping) {
  kin_time pinged;
  kin_time renewed;
  if (kin_value_time(kin_object_at(object, "/spec/pingTime"), &pinged) != 0 ||
      (kin_value_time(kin_object_at(object, "/spec/renewTime"), &renewed) ==
           0 &&
       kin_time_compare(pinged, renewed) <= 0)) {
    return false;
  }
  *ping = pinged;
  return true;
}

/* An item of a list has neither apiVersion nor kind. */
static void set_identity(kin_object_builder *builder,
                         const kin__candidate_terms *terms) {
  char api_version[sizeof KIN__LEASE_GROUP + 256];
  snprintf(api_version, sizeof api_version, KIN__LEASE_GROUP "/%s",
           terms->version);
  kin_object_builder_set_string(builder, "/apiVersion", api_version);
  kin_object_builder_set_string(builder, "/kind", "LeaseCandidate");
  kin_object_builder_set_string(builder, "/metadata/name", terms->name);
  kin_object_builder_set_string(builder, "/metadata/namespace",
                                terms->namespace_);
}

/* Errors of a builder stick, so only the last call is looked at. */
static int set_spec(kin_object_builder *builder,
                    const kin__candidate_terms *terms, kin_time renew_time) {
  char time[KIN_TIME_SIZE];
  (void)kin_time_format(time, renew_time, MICRO_DIGITS);
  kin_object_builder_set_string(builder, "/spec/leaseName", terms->lease_name);
  kin_object_builder_set_string(builder, "/spec/binaryVersion",
                                terms->binary_version);
  if (terms->emulation_version[0] != '\0') {
    kin_object_builder_set_string(builder, "/spec/emulationVersion",
                                  terms->emulation_version);
  } else {
    kin_object_builder_remove(builder, "/spec/emulationVersion");
  }
  kin_object_builder_set_string(builder, "/spec/strategy", terms->strategy);
  return kin_object_builder_set_string(builder, "/spec/renewTime", time);
}

int kin__candidate_compose(kin__buf *out, const kin_allocator *allocator,
                           const kin_object *base,
                           const kin__candidate_terms *terms,
                           kin_time renew_time) {
  if (base != NULL && kin_object_is_key_only(base)) {
    return KIN_ETOOBIG; /* a write would delete all else */
  }
  kin_object_builder *builder;
  int err = kin_object_builder_new(&builder, allocator, base);
  if (err != 0) {
    return err;
  }
  set_identity(builder, terms);
  return kin__lease_write(out, builder, set_spec(builder, terms, renew_time));
}
