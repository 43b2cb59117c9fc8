/* SPDX-License-Identifier: MIT */
#ifndef KIN_TEST_WATCH_LOG_H
#define KIN_TEST_WATCH_LOG_H

#include <stdbool.h>
#include <stddef.h>

#include <kin/watch.h>

/* What a watcher says, in one line of text:
 *
 *   "A:ns/x@5 M:ns/x@6 D:ns/x@7 B:@9 ! E:410/Expired end:EGONE closed "
 *
 * events with key and version, "!" for each failure that on_error was told of,
 * an ERROR event with status and reason, the end with its code, the close. It
 * fails the test at what is not legal: an event after ERROR, anything after the
 * end, an event with members it must not have, anything after `is_over`. */
typedef struct watch_log {
  char text[16384];
  int calls; /* of any kind */
  int events;
  int failures;
  int closed;
  uint64_t retry_in_ms; /* of the last failure */
  bool has_error;
  bool has_ended;
  bool is_over;     /* set by the test when it closes: only "closed" may come */
  kin_retry answer; /* given to on_error */
  uint64_t retry_after_ms;
  void (*then)(struct watch_log *log); /* called last in each but closed */
  void *data;                          /* of `then` */
} watch_log;

void watch_log_on_event(const kin_watch_event *event, void *log);
void watch_log_on_error(kin_error_event *event, void *log);
void watch_log_on_end(int code, void *log);
void watch_log_on_closed(void *log);

/* Fails the test unless the text is this, and empties it. */
void watch_log_expect(watch_log *log, const char *text);

#endif /* KIN_TEST_WATCH_LOG_H */
