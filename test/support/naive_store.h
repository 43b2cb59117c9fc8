/* SPDX-License-Identifier: MIT */
#ifndef KIN_TEST_NAIVE_STORE_H
#define KIN_TEST_NAIVE_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/random.h"
#include "store/store.h"
#include "support/fail_alloc.h"

/* A store and, beside it, an array that is as simple as can be. Each operation
 * is random in what it does and in what fails meanwhile, does the same to both,
 * and asserts that the results agree. Whether the contents do is the caller's
 * to check. */

#define NAIVE_KEYS 3000u
#define TAGS 6u  /* "a" to "f": several values of one object */
#define NODES 4u /* "n1" to "n3", or none */
#define SPACES 3u
#define SCANS 3u

/* What the naive store has for a key. */
typedef struct naive_row {
  kin_object *object;      /* NULL: not there */
  char tags[2 * TAGS + 1]; /* in any order, some twice */
  unsigned node;           /* 0: none */
} naive_row;

/* A scan, and what is known of each key since it began. */
typedef struct naive_scan_state {
  kin_cursor cursor;
  bool is_open;
  bool stays[NAIVE_KEYS];
  uint8_t met[NAIVE_KEYS];
} naive_scan_state;

/* The indices, of which some exist. */
enum { BY_TAG, BY_NODE, BY_SPACE, BY_NAME, INDICES };
extern const char *const naive_index_names[];

typedef struct naive_store {
  kin__random random;
  fail_alloc memory;  /* the store's */
  fail_alloc objects; /* the objects' */
  kin_store store;
  naive_row rows[NAIVE_KEYS];
  unsigned keys; /* of this run */
  unsigned count;
  bool has_index[INDICES];
  bool callback_fails;
  unsigned added;   /* calls of index_added */
  char version[16]; /* of the store, unless it is managed */
  naive_scan_state scans[SCANS];
} naive_store;

/* The one there is; filled by the test. */
extern naive_store naive;

/* What has happened since the program began. */
typedef struct naive_store_totals {
  uint64_t failures;
  uint64_t scans;
  uint64_t replacements;
} naive_store_totals;
extern naive_store_totals naive_totals;

unsigned naive_below(unsigned bound);
bool naive_chance(unsigned percent);

/* Static, until the next call. */
const char *naive_name_of(unsigned key);
const char *naive_key_of(unsigned key);
unsigned naive_number_of(const kin_object *object);

void naive_change_tags(naive_row *r);
kin_object *naive_make_object(unsigned key, const naive_row *r);

void naive_put(unsigned key);
void naive_delete(unsigned key);
void naive_delete_object(unsigned key);
void naive_replace(void);
void naive_transact(void);
void naive_add_index(unsigned which);
void naive_build(void);
void naive_scan(naive_scan_state *s);

#endif /* KIN_TEST_NAIVE_STORE_H */
