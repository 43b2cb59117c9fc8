/* SPDX-License-Identifier: MIT */
#ifndef KIN_TEST_RECORDER_H
#define KIN_TEST_RECORDER_H

#include <stdbool.h>
#include <stddef.h>

#include <kin/informer.h>

/* A listener that writes down what it is told, one line an event, and folds it:
 * it fails the test at the first event that is not legal (an add of what is
 * there, an update whose old version is not the one last seen, a delete of what
 * is not there, an initial add after synced, synced twice). */

#define RECORDER_KEYS 64

typedef struct recorder {
  char log[8192];
  size_t used;
  struct {
    char key[64];
    char uid[64];
    char version[32];
  } seen[RECORDER_KEYS];
  int count; /* of seen */
  int adds;
  int initial_adds;
  int updates;
  int deletes;
  int synced;
  int relisted;
  int calls; /* of any kind */
  kin_listener *listener;
  void (*on_call)(struct recorder *rec, kin_informer *informer);
  void *data; /* on_call's */
} recorder;

void recorder_init(recorder *rec);
/* All callbacks are the recorder's; the rest may be changed. */
kin_listener_options recorder_options(recorder *rec);
/* 0 or the error of kin_informer_listen. */
int recorder_listen(recorder *rec, kin_informer *informer);
/* Fails the test unless the fold equals the store. */
void recorder_assert_folds_to(const recorder *rec, const kin_store *store);

#endif /* KIN_TEST_RECORDER_H */
