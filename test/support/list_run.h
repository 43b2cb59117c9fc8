/* SPDX-License-Identifier: MIT */
#ifndef KIN_TEST_LIST_RUN_H
#define KIN_TEST_LIST_RUN_H

#include <stddef.h>

#include <yyjson.h>

#include "decode/list.h"
#include "support/decoded.h"

/* One list being decoded, in any spans. */
typedef struct list_run {
  decoded got;
  kin__list_decoder *decoder; /* made by the first list_run_decode or _open */
  kin__list_result result;
  kin__decode_limits limits;   /* may be changed before that */
  kin__projection *projection; /* likewise; NULL keeps everything; freed */
} list_run;

void list_run_init(list_run *r);
void list_run_finish(list_run *r);
void list_run_open(list_run *r);

/* Forgets the last body; what `got` was told to do stays. */
void list_run_again(list_run *r);

/* Everything but metadata.managedFields. */
kin__projection *list_run_default_projection(void);

/* Feeds bytes that are gone afterwards. */
int list_run_feed(list_run *r, const char *bytes, size_t length);

/* Feeds the text in two parts cut at an offset, or byte by byte, and ends it.
 * Returns the first error. */
int list_run_decode(list_run *r, kin_str text, int cut);

/* Empty if it is no string. */
kin_str json_str(yyjson_val *value);

void assert_str(kin_str s, kin_str expected);

/* Fails unless the object is what yyjson reads of an item, and its stored text
 * means the same as `expected`. */
void assert_object(const kin_object *object, yyjson_val *item,
                   const char *expected);

#endif /* KIN_TEST_LIST_RUN_H */
