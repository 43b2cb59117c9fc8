/* SPDX-License-Identifier: MIT */
#ifndef KIN_TEST_EVENT_LOG_H
#define KIN_TEST_EVENT_LOG_H

#include <stddef.h>

#include <kin/handler.h>

/* Events as text, so that a test says what it expects in one string. Objects
 * are shown by name and resourceVersion:
 *
 *   +a1        add of a at version 1       +a1!   the same, initial
 *   ~a1>2      update from 1 to 2          ~a2=   resync
 *   -a2:watch  delete with its reason
 *   S:7#3      synced, version and count   R:ns@7#3  relisted
 *
 * separated by spaces. */
typedef struct event_log {
  char text[16384];
  size_t length;
  size_t count;
} event_log;

void event_log_clear(event_log *log);
void event_log_add(event_log *log, const kin_event *event);

/* A kin_event_cb whose data is the log. */
void event_log_cb(struct kin_informer *informer, const kin_event *event,
                  void *data);

/* Compares the text and clears the log. */
#define event_log_expect(log, expected)                                        \
  do {                                                                         \
    assert_string_equal((log)->text, (expected));                              \
    event_log_clear(log);                                                      \
  } while (0)

#endif /* KIN_TEST_EVENT_LOG_H */
