/* SPDX-License-Identifier: MIT */
#ifndef KIN_TEST_COST_H
#define KIN_TEST_COST_H

#include <stdbool.h>
#include <stddef.h>

#include <kin/allocator.h>
#include <kin/object.h>
#include <kin/store.h>
#include <kin/str.h>

/* How the instructions of a call may grow with n. */
typedef enum cost_class {
  COST_ONE,
  COST_LOG,
  COST_LINEAR,
  COST_LINEAR_LOG,
  COST_CLASSES
} cost_class;

/* One promise, and a way to see whether it is kept. */
typedef struct cost_row {
  const char *function; /* the one that is called */
  const char *promise;  /* the header's words; NULL: none, which means O(1) */
  const char *grows;    /* what there are n of */
  cost_class allowed;
  /* Prepares for n, counts between cost_begin and cost_end, and cleans up. */
  void (*run)(size_t n);
  size_t least;   /* the smaller n; 0: COST_LEAST */
  const char *of; /* the declaration whose comment promises; NULL: function */
} cost_row;

#define COST_LEAST 64u
#define COST_FACTOR 64u
/* For what there may be 1,024 of. */
#define COST_FEW 15u
/* For bytes, of which hundreds cost as little as one. */
#define COST_BYTES 4096u
/* Here every table gets its next segment, with few and with many elements. So
 * many are made eight times as many, which is enough and takes less time. */
#define COST_SEGMENT 1024u
#define COST_SEGMENT_FACTOR 8u

/* The tables end with a row without a function. */
extern const cost_row cost_rows_planted[];
extern const cost_row cost_rows_store[];
extern const cost_row cost_rows_index[];
extern const cost_row cost_rows_object[];
extern const cost_row cost_rows_cache[];
extern const cost_row cost_rows_mutation[];
extern const cost_row cost_rows_queue[];
extern const cost_row cost_rows_process[];
extern const cost_row cost_rows_informer[];
extern const cost_row cost_rows_listener[];
extern const cost_row cost_rows_client[];
extern const cost_row cost_rows_change[];
extern const cost_row cost_rows_kubeconfig[];
extern const cost_row cost_rows_value[];
extern const cost_row cost_rows_work_queue[];
extern const cost_row cost_rows_writers[];

/* --- Counting: cost.c ----------------------------------------------------- */

/* The instructions from here to cost_end are one count. cost_next ends a count
 * and begins another. Of several counts of one run the largest is judged. */
void cost_begin(void);
void cost_next(void);
void cost_end(void);

#define COST(...)                                                              \
  do {                                                                         \
    cost_begin();                                                              \
    __VA_ARGS__;                                                               \
    cost_end();                                                                \
  } while (0)

/* Each call of a loop by itself, so that one slow call is seen. */
#define COST_EACH(i, count, ...)                                               \
  do {                                                                         \
    cost_begin();                                                              \
    for (size_t i = 0; i < (count); i++) {                                     \
      if (i > 0) {                                                             \
        cost_next();                                                           \
      }                                                                        \
      __VA_ARGS__;                                                             \
    }                                                                          \
    cost_end();                                                                \
  } while (0)

/* Calls of a COST_EACH. */
#define COST_CALLS 16u

/* --- Things to call with: cost_things.c ----------------------------------- */

/* Ends the program with a message unless the call has succeeded. */
#define cost_must(call) cost_check((call) == 0, #call, __FILE__, __LINE__)
#define cost_assert(it) cost_check((it), #it, __FILE__, __LINE__)
void cost_check(bool is_true, const char *what, const char *file, int line);

/* Blocks by powers of two, kept for the next of their size: a call of it costs
 * the same whatever was freed before, unlike malloc. */
const kin_allocator *cost_memory(void);
/* Blocks that have not been given back. */
size_t cost_memory_live(void);

/* The i-th pod, which lives as long as the program: "space/pod-<i>" of version
 * i + 1, with the labels app=all and own=o<i>, and a spec.nodeName "all". */
const kin_object *cost_pod(size_t i);
/* An array of the pods `first`, `first` + 1, ...; the caller frees it. */
const kin_object **cost_pods(size_t first, size_t count);
/* Room for a text and its end; the caller frees it. */
char *cost_text(size_t size);
/* An object of the text, which has ' for ". */
kin_object *cost_object(const char *json);
/* "{'metadata':{'name':'big', ...},'spec':{'x':'...'}}" with so many x. */
kin_object *cost_big_object(size_t bytes);
/* The same bytes in an annotation, before the rest of the metadata. */
kin_object *cost_annotated_object(size_t bytes);
/* An object with labels "l0" to "l<count - 1>", whose values are their
 * names. */
kin_object *cost_labelled_object(size_t count);

/* A store of the first n pods, with an index "own" of the label, where each
 * object has a value of its own, and one "app", where all have "all". */
kin_store *cost_store(size_t n);

#define COST_STR(literal) ((kin_str){(literal), sizeof(literal) - 1})

#endif /* KIN_TEST_COST_H */
