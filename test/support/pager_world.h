/* SPDX-License-Identifier: MIT */
#ifndef KIN_TEST_PAGER_WORLD_H
#define KIN_TEST_PAGER_WORLD_H

#include "toolkit/pager.h"
#include "support/virtual_host.h"

/* A pager of pods on a virtual host, and what it says, in one line of text:
 *
 *   "a@1 b@2 ! end:0/7/2+ closed "
 *
 * items with key and version, "!" for each failure that on_error was told of,
 * the end with its code, the list's version and how many items were given, "+"
 * if it was paginated, the close. It fails the test at what is not legal:
 * anything after the end, anything after `is_over`, strings that are NULL. */
typedef struct pager_world {
  virtual_host vh;
  kin_informer_options resource;
  kin_pager_options options;
  kin_pager *pager;

  char text[8192];
  int calls; /* of any kind but closed */
  uint64_t items;
  int closed;
  uint64_t retry_in_ms; /* of the last failure */
  uint32_t attempt;     /* of the last failure */
  char message[256];    /* of the end */
  kin_error_class end_class;
  bool has_ended;
  bool is_over; /* set by the test when it closes: only "closed" may come */
  bool is_silent;
  uint64_t stop_at; /* on_item returns 77 for this item, from 1 */
  kin_retry answer; /* given to on_error */
  uint64_t retry_after_ms;
  void (*then)(struct pager_world *w); /* called last in each but closed */
  int at_call;                         /* for `then` */
} pager_world;

/* Everything but opening. `fail_at`: see fail_alloc. */
void pw_init(pager_world *w, size_t fail_at);
/* One list at a time, and `other` is the one: the pager waits until
 * kin__gate_leave. */
void pw_hold_lists(pager_world *w, kin__gate *gate, kin__gate_visitor *other);
int pw_try_open(pager_world *w);
/* Both; fails the test on an error. */
void pw_open(pager_world *w);
/* Closes the host and all, and fails the test if anything is left, or was said
 * except that the pager is closed. */
void pw_finish(pager_world *w);

/* Asserts what has been said since the last time. */
void pw_expect(pager_world *w, const char *text);

/* Bodies. `count` items from number `first`: "p0001@1" ..., at version 7;
 * `token` "" on the last page. */
const char *pw_page(char *buffer, size_t size, unsigned first, unsigned count,
                    const char *token);
/* Answers the only request that contains `part`; fails if there is none. */
void pw_respond(pager_world *w, const char *part, int status, const char *body);
void pw_respond_page(pager_world *w, const char *part, unsigned first,
                     unsigned count, const char *token);
#define PW_STATUS(code, reason)                                                \
  "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"" reason           \
  "\",\"message\":\"because\",\"code\":" code "}"
/* With a Retry-After field; -1: without. */
void pw_refuse(pager_world *w, const char *part, int status,
               int64_t retry_after_s, const char *body);
/* The same without a body. */
void pw_put_off(pager_world *w, const char *part, int status,
                int64_t retry_after_s);
void pw_break(pager_world *w, int code);

#endif /* KIN_TEST_PAGER_WORLD_H */
