/* SPDX-License-Identifier: MIT */
/* Replaces the files of this folder if the library is built without checks. A
 * client then refuses the options that ask for a check. */
#include "check/list_check.h"
#include "check/mutation_check.h"
#include "check/mutation_detector.h"

#include <kin/error.h>

void kin__list_check_begin(kin__list_check **check,
                           const kin__list_check_subject *of) {
  (void)check;
  (void)of;
}

bool kin__list_check_step(kin__list_check *check) {
  (void)check;
  return false;
}

void kin__list_check_end(kin__list_check *check, const char *why) {
  (void)check;
  (void)why;
}

void kin__list_check_close(kin__list_check *check) {
  (void)check;
}

bool kin__list_check_free_step(kin__list_check *check) {
  (void)check;
  return false;
}

void kin__list_check_free(kin__list_check *check) {
  (void)check;
}

int kin__mutation_check_new(kin__mutation_check **out, const kin__env *env,
                            const kin_store *store, const char *plural,
                            kin__mutation_cb found_one, void *owner) {
  (void)env;
  (void)store;
  (void)plural;
  (void)found_one;
  (void)owner;
  *out = NULL;
  return 0;
}

void kin__mutation_check_free(kin__mutation_check *check) {
  (void)check;
}

void kin__mutation_check_start(kin__mutation_check *check) {
  (void)check;
}

void kin__mutation_check_stop(kin__mutation_check *check) {
  (void)check;
}

bool kin__mutation_check_free_step(kin__mutation_check *check, size_t count) {
  (void)check;
  (void)count;
  return false;
}

void kin__mutation_check_look(kin__mutation_check *check,
                              const kin_object *object) {
  (void)check;
  (void)object;
}

int kin_mutation_detector_new(kin_mutation_detector **out,
                              const kin_mutation_detector_options *options) {
  (void)options;
  if (out == NULL) {
    return KIN_EINVAL;
  }
  *out = NULL;
  return KIN_ENOTSUP;
}

/* No detector exists, so the functions below have nothing to do. */

void kin_mutation_detector_free(kin_mutation_detector *detector) {
  (void)detector;
}

int kin_mutation_detector_add(kin_mutation_detector *detector,
                              const kin_object *object) {
  (void)detector;
  (void)object;
  return KIN_EINVAL;
}

bool kin_mutation_detector_check(kin_mutation_detector *detector,
                                 size_t count) {
  (void)detector;
  (void)count;
  return false;
}

size_t kin_mutation_detector_count(const kin_mutation_detector *detector) {
  (void)detector;
  return 0;
}
