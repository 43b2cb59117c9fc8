/* SPDX-License-Identifier: MIT */
#ifndef KIN_TEST_HAND_SOURCE_H
#define KIN_TEST_HAND_SOURCE_H

#include <kin/lister_watcher.h>

#include "support/script_env.h"

/* A lister-watcher that the test feeds by hand. What is asked of it is noted,
 * with blanks in between:
 *
 *   L:0      list, resourceVersion 0       L:0/500   with a limit
 *   L=c1     continue token c1             L:7>/1    NotOlderThan 7, limit 1
 *   W:5      watch after version 5         x         cancel
 *   I:>      watch with initial events
 *   p r      pause, resume
 *
 * A feed function that is called with it fails the test unless it returns what
 * is expected. After inside_open, all strings of the request must be as
 * before. */
typedef struct hand_source {
  kin_lister_watcher lister_watcher;
  script_env *script;
  kin_feed *feed; /* of the open answer, or of the last one */
  bool is_open;
  bool is_watch;
  int fail_opens; /* so many opens answer open_error */
  int open_error;
  void (*inside_open)(struct hand_source *source); /* may be NULL, as these: */
  void (*inside_cancel)(struct hand_source *source);
  void (*inside_pause)(struct hand_source *source);
  void (*inside_resume)(struct hand_source *source);
  char log[4096];
} hand_source;

/* `script` is run after each feeding; may be NULL. */
void hand_source_init(hand_source *source, script_env *script);

/* Asserts what was asked since the last time. */
void hand_source_expect(hand_source *source, const char *requests);

/* Feed and run, asserting that it returns 0. An object is "key@version", with
 * the uid "u-KEY". */
void hand_source_item(hand_source *source, const char *object);
void hand_source_list_end(hand_source *source, const char *version,
                          const char *token);
/* All items, separated by blanks, and the end. */
void hand_source_list(hand_source *source, const char *objects,
                      const char *version);
void hand_source_event(hand_source *source, kin_watch_event_type type,
                       const char *object);
void hand_source_bookmark(hand_source *source, const char *version);
void hand_source_watch_end(hand_source *source);
void hand_source_fail(hand_source *source, int status, const char *reason,
                      bool is_event);

/* The object of such a text. */
kin_object *hand_source_object(const char *text);

#endif /* KIN_TEST_HAND_SOURCE_H */
