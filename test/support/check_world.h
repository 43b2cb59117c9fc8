/* SPDX-License-Identifier: MIT */
#ifndef KIN_TEST_CHECK_WORLD_H
#define KIN_TEST_CHECK_WORLD_H

#include "support/informer_world.h"

/* An informer whose lists come as watches and are checked, answered by hand. */
typedef struct check_world {
  iw_world w;
  kin__log log;
  char said[4096]; /* to the log, from WARN on */
  char told[1024]; /* to on_error with KIN_EINCONSISTENT */
  int times_told;
  int others_told;
  kin_retry answer;
  kin_informer_options options;
} check_world;

/* Everything but opening; `fail_at`: see fail_alloc. */
void ck_init(check_world *c, size_t fail_at);
/* Both; fails the test on an error. iw_finish(&c->w) ends it. */
void ck_open(check_world *c);

kin_status ck_status(check_world *c);
/* Asserts how many lists were compared, and differed, which is told. */
void ck_expect_counts(check_world *c, unsigned checked, unsigned inconsistent);

/* Answers the only stream. */
void ck_stream(check_world *c, const char *frames);
/* Whether the same is being listed, and an answer to that. */
bool ck_is_asked(check_world *c);
void ck_answer(check_world *c, int status, const char *body);

/* A transform: fails on objects called x... and on version 13; removes
 * /spec/secret. */
int ck_keep_text(const kin_object *in, kin_object_builder *out, void *data);

#define CK_OBJECT(name, uid, version)                                          \
  "{\"metadata\":{\"name\":\"" name "\",\"namespace\":\"ns\",\"uid\":\"" uid   \
  "\",\"resourceVersion\":\"" version "\"}}"
#define CK_ADDED(object) "{\"type\":\"ADDED\",\"object\":" object "}\n"
#define CK_END(version)                                                        \
  "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":"      \
  "\"" version                                                                 \
  "\",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}}}}\n"
#define CK_LIST_AT(version, items)                                             \
  "{\"metadata\":{\"resourceVersion\":\"" version "\"},\"items\":[" items "]}"
#define CK_LIST(items) CK_LIST_AT("9", items)
#define CK_A CK_OBJECT("a", "u1", "5")
#define CK_B CK_OBJECT("b", "u2", "6")
#define CK_C CK_OBJECT("c", "u3", "7")
#define CK_STATUS(code, reason)                                                \
  "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"" reason           \
  "\",\"message\":\"because\",\"code\":" code "}"

#endif /* KIN_TEST_CHECK_WORLD_H */
